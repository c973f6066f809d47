//! Test data and workspaces between guard bytes, to detect writes outside them.

use std::mem::MaybeUninit;

/// Minimum number of guard bytes on each side of the data.
const GUARD: usize = 80;

/// Data of a run between guard bytes, at a chosen alignment.
pub struct Guarded {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

/// Returns the value of the guard byte at offset `k` of the allocation.
fn guard(k: usize) -> u8 {
    (k * 37 + 11) as u8
}

impl Guarded {
    /// Copies `data` to an address that is `skip` bytes past a multiple of 64.
    pub fn new(data: &[u8], skip: usize) -> Self {
        let mut bytes: Vec<u8> = Vec::with_capacity(data.len() + 2 * GUARD + 64 + skip);
        let start = GUARD + bytes.as_ptr().addr().wrapping_add(GUARD).wrapping_neg() % 64 + skip;
        bytes.extend((0..start).map(guard));
        bytes.extend_from_slice(data);
        let end = bytes.len();
        bytes.extend((end..end + GUARD).map(guard));
        Guarded { bytes, start, len: data.len() }
    }

    pub fn data(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..][..self.len]
    }

    /// Checks that the data equal `want` and that the guards are unchanged.
    #[track_caller]
    pub fn check(&self, want: &[u8], what: &str) {
        self.check_guards(what);
        let got = &self.bytes[self.start..][..self.len];
        if let Some(at) = (0..self.len).find(|&at| got[at] != want[at]) {
            panic!("{what}: byte {at} of {} is {}, not {}", self.len, got[at], want[at]);
        }
    }

    #[track_caller]
    pub fn check_guards(&self, what: &str) {
        let end = self.start + self.len;
        let mut guards = (0..self.start).chain(end..self.bytes.len());
        if let Some(at) = guards.find(|&at| self.bytes[at] != guard(at)) {
            panic!(
                "{what}: guard byte at offset {} from the data was overwritten",
                at as isize - self.start as isize
            );
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..][..self.len]
    }
}

/// Workspace of a run between guard words of 8 bytes.
pub struct Words {
    words: Vec<MaybeUninit<u64>>,
    len: usize,
}

/// Number of guard words on each side of the workspace.
const GUARD_WORDS: usize = 9;
/// Value of a guard word.
const KEPT: u64 = 0x0123_4567_89AB_CDEF;

impl Words {
    pub fn new(bytes: usize, poison: u8) -> Self {
        let len = bytes.div_ceil(8);
        let mut words = vec![MaybeUninit::new(KEPT); len + 2 * GUARD_WORDS];
        words[GUARD_WORDS..][..len].fill(MaybeUninit::new(u64::from_ne_bytes([poison; 8])));
        Words { words, len }
    }

    pub fn words(&mut self) -> &mut [MaybeUninit<u64>] {
        &mut self.words[GUARD_WORDS..][..self.len]
    }

    pub fn check(&self) {
        let guards = (0..GUARD_WORDS).chain(GUARD_WORDS + self.len..self.words.len());
        for at in guards {
            // SAFETY: guards are initialised. Only a run that writes outside its workspace could
            // write uninitialised bytes to them.
            #[expect(unsafe_code, reason = "looks at words that were initialised")]
            let word = unsafe { self.words[at].assume_init() };
            assert_eq!(word, KEPT, "a guard word next to the workspace was overwritten");
        }
    }
}
