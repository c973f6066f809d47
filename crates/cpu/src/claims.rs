//! Who moves what: the claim protocol of PTTWAC, and its memory order.
//!
//! Every place has two flags. *Taken*: a worker has claimed the place's content. *Read*: a worker
//! that started there has finished reading it. A worker carries the content of one place to the
//! next one on the cycle:
//!
//! - It **starts** at a place by taking it, reading its content, and marking it read.
//! - It **arrives** at the next place. If it takes that too, nobody else ever reads it, so it swaps
//!   what it carries for what lies there and goes on. If another worker took it, that one started
//!   there: this worker waits until the place is read, leaves what it carries, and ends.
//!
//! A worker may take a run of places before it gets to the first of them: nobody waits for a place
//! that was taken by arriving. What it starts it reads at once.
//!
//! Every content is read once, by whoever took it, and every place is written once, by the one
//! worker that carries its predecessor's content. The only two accesses of a place by different
//! workers are a starter's read and an arrival's write, and mark-read (release) to wait-read
//! (acquire) orders them; taking needs no order at all. The wait is for a worker that is between
//! two of its own steps, never for one that waits.
//!
//! This departs from the thesis's Algorithm 1, where a flag says that a place *has been written*
//! and a starter may read a place while it is being written, to drop what it read: there a fence
//! must keep the starter's read before its test. Here no read is ever dropped, and there is no
//! race to argue about. `tests/claims.rs` explores both under a model checker.

use super::sync::{AtomicU32, Ordering, pause};
use turntile_plan::FlagLayout;

/// The flags of a set of positions: both planes, in the layout that the plan asks for.
#[derive(Clone, Copy, Debug)]
pub struct Claims<'a> {
    words: &'a [AtomicU32],
    layout: FlagLayout,
    positions: usize,
    alone: bool,
}

impl<'a> Claims<'a> {
    /// Over `words`, all zero, of `FLAG_PLANES · layout.words(positions)`.
    ///
    /// # Panics
    /// When there are fewer words than that.
    pub fn new(words: &'a [AtomicU32], layout: FlagLayout, positions: usize) -> Self {
        assert!(words.len() >= turntile_plan::flags::FLAG_PLANES * layout.words(positions));
        Claims { words, layout, positions, alone: false }
    }

    /// For one worker alone: plain loads and stores instead of locked instructions, which would wait
    /// for every store before them, and no second plane, since what a worker starts it has read.
    pub fn alone(self) -> Self {
        Claims { alone: true, ..self }
    }

    /// Starts at `p`: takes it, has `read` read its content, and marks it read. False, with nothing
    /// read, when it is taken already.
    #[inline]
    pub fn start(&self, p: usize, read: impl FnOnce()) -> bool {
        if self.is_taken(p) || !self.take(p) {
            return false;
        }
        read();
        self.mark_read(p);
        true
    }

    /// Arrives at `p` carrying its predecessor's content: `swap`s it for the content of `p` and
    /// goes on (true), or `put`s it there after the starter at `p` and ends (false).
    #[inline]
    pub fn arrive(&self, p: usize, swap: impl FnOnce(), put: impl FnOnce()) -> bool {
        let taken = self.take(p);
        if taken {
            swap();
        } else {
            self.wait_read(p);
            put();
        }
        taken
    }

    /// Whether the content of `p` has been claimed; may lag behind.
    #[inline]
    pub fn is_taken(&self, p: usize) -> bool {
        let (word, bit) = self.layout.place(p, self.positions);
        self.words[word].load(Ordering::Relaxed) & bit_mask(bit) != 0
    }

    /// Claims the content of `p`; true for the one who gets it.
    #[inline]
    pub fn take(&self, p: usize) -> bool {
        let (word, bit) = self.layout.place(p, self.positions);
        if self.alone {
            let before = self.words[word].load(Ordering::Relaxed);
            self.words[word].store(before | bit_mask(bit), Ordering::Relaxed);
            return before & bit_mask(bit) == 0;
        }
        self.words[word].fetch_or(bit_mask(bit), Ordering::Relaxed) & bit_mask(bit) == 0
    }

    /// Says that the starter at `p` has read its content.
    #[inline]
    pub fn mark_read(&self, p: usize) {
        if self.alone {
            return;
        }
        let (word, bit) = self.read_place(p);
        self.words[word].fetch_or(bit_mask(bit), Ordering::Release);
    }

    /// Waits for the starter at `p` to have read its content.
    #[inline]
    pub fn wait_read(&self, p: usize) {
        if self.alone {
            return;
        }
        let (word, bit) = self.read_place(p);
        let mut spins = 0;
        while self.words[word].load(Ordering::Acquire) & bit_mask(bit) == 0 {
            pause(spins);
            spins += 1;
        }
    }

    fn read_place(&self, p: usize) -> (usize, u32) {
        let (word, bit) = self.layout.place(p, self.positions);
        (self.layout.words(self.positions) + word, bit)
    }
}

fn bit_mask(bit: u32) -> u32 {
    1 << bit
}
