//! Movers in which several threads work on one matrix, and views of memory as bytes: the crate's
//! only `unsafe`.
//!
//! Who may touch which bytes is decided before they are touched: by a claim ([`Claims`]), by being
//! the leader of a cycle, by being the one part that a pair of tiles belongs to, or by a flag that says
//! that a block has been read. Every span is
//! checked against the matrix's length before its pointer is made.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use turntile_perm::{Elementary, Padding, cycles};
use turntile_plan::{Direction, StageShape};

use crate::Byte;
use crate::claims::Claims;
use crate::executor::{Executor, RunError, Workspace};
use crate::out_of_place::Matrices;
use crate::parts;
use crate::path::Path;
use crate::squares::{Squares, TILE_BYTES, Tile};
use turntile_simd::{self as simd, Block, Lines, Rows};

/// Runs `executor` on initialised bytes.
pub(crate) fn run_on_bytes(
    executor: &Executor,
    data: &mut [u8],
    workspace: &mut Workspace,
) -> Result<(), RunError> {
    // SAFETY: the layout is the same, and an executor permutes the bytes that it is given, so that
    // all of them are initialised again when the borrow ends.
    let bytes = unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), data.len()) };
    executor.run(bytes, workspace, |_| ())
}

/// The first `count` 32-bit words of a workspace, zeroed, as flags, and its other bytes.
pub(crate) fn split_flags(
    workspace: &mut [MaybeUninit<u64>],
    count: usize,
) -> (&[AtomicU32], &mut [Byte]) {
    let bytes = size_of_val(workspace);
    assert!(count <= bytes / 4, "the workspace holds the flags");
    let start = workspace.as_mut_ptr();
    // SAFETY: `start` is valid for `bytes` bytes and aligned to 8; the words are zeroed, hence
    // initialised, before a reference to them exists; the two slices do not overlap and both borrow
    // the workspace exclusively.
    unsafe {
        start.cast::<u32>().write_bytes(0, count);
        let flags = std::slice::from_raw_parts(start.cast::<AtomicU32>(), count);
        let rest = start.cast::<Byte>().add(count * 4);
        (flags, std::slice::from_raw_parts_mut(rest, bytes - count * 4))
    }
}

/// A matrix that several threads work on.
#[derive(Clone, Copy)]
struct Shared<'a> {
    start: *mut Byte,
    len: usize,
    life: PhantomData<&'a mut [Byte]>,
}

// SAFETY: it is a `&mut [Byte]` in parts; bytes have no thread affinity, and which thread touches
// which of them is settled by the movers of this file.
unsafe impl Send for Shared<'_> {}
// SAFETY: as above.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    fn new(data: &'a mut [Byte]) -> Self {
        Shared { start: data.as_mut_ptr(), len: data.len(), life: PhantomData }
    }

    /// The start of `bytes` bytes at `offset`, checked.
    fn span(&self, offset: usize, bytes: usize) -> *mut Byte {
        assert!(offset <= self.len && bytes <= self.len - offset, "a span lies in the matrix");
        // SAFETY: in bounds of the slice that `start` was made from, by the line above.
        unsafe { self.start.add(offset) }
    }

    /// Swaps two spans.
    ///
    /// # Safety
    /// - The spans do not overlap.
    /// - No other thread touches either meanwhile.
    unsafe fn swap(&self, a: usize, b: usize, bytes: usize) {
        // SAFETY: both are in bounds; the rest is the caller's.
        unsafe {
            std::ptr::swap_nonoverlapping(self.span(a, bytes), self.span(b, bytes), bytes);
        }
    }

    /// The span as a slice.
    ///
    /// # Safety
    /// No other thread writes the span while the slice lives.
    unsafe fn slice(&self, offset: usize, bytes: usize) -> &[Byte] {
        // SAFETY: in bounds; the rest is the caller's.
        unsafe { std::slice::from_raw_parts(self.span(offset, bytes), bytes) }
    }

    /// The span as a slice to write.
    ///
    /// # Safety
    /// No other thread touches the span while the slice lives, and no other slice overlaps it.
    #[expect(clippy::mut_from_ref, reason = "exclusive by the caller's promise")]
    unsafe fn slice_mut(&self, offset: usize, bytes: usize) -> &mut [Byte] {
        // SAFETY: in bounds; the rest is the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.span(offset, bytes), bytes) }
    }

    /// Asks for the first lines of a span that will be read or written soon.
    #[inline]
    fn prefetch(&self, offset: usize, bytes: usize) {
        let start = self.span(offset, bytes);
        for at in (0..bytes.min(MOST_PREFETCHED)).step_by(LINE) {
            simd::prefetch(start.wrapping_add(at));
        }
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Bytes of a super-element that are asked for ahead: from there on the hardware sees a stream.
const MOST_PREFETCHED: usize = 4096;

/// PTTWAC: `parts` threads, each with as many chains in flight as its scratch holds super-elements
/// less one, start at their own share of the positions and follow the cycles until they arrive
/// where another chain started.
///
/// `flags` must be zero; `scratch` holds at least two super-elements for each part.
pub(crate) fn follow_chains(
    data: &mut [Byte],
    path: Path,
    claims: Claims,
    parts: usize,
    scratch: &mut [Byte],
) {
    let shared = Shared::new(data);
    let claims = if parts == 1 { claims.alone() } else { claims };
    let each = scratch.len() / parts;
    parts::run_on(0..parts, scratch, each, |part, scratch| {
        let starters = parts::share(path.positions(), parts, part);
        Worker { shared, path, claims }.run(starters, scratch);
    });
}

/// What a thread of [`follow_chains`] works with.
struct Worker<'a> {
    shared: Shared<'a>,
    path: Path,
    claims: Claims<'a>,
}

/// Chains of a worker at most; scratch usually sets fewer.
const MOST_CHAINS: usize = 16;

/// Steps that are settled before the first of them is made: flags and divisions in a burst, so that
/// neither stands between two moves (20000x12000, super-elements of 640 bytes: 48% of a copy with
/// each step settled as it is made, 54% in bursts).
const BURST: usize = 64;

/// Bytes of super-elements whose lines are asked for ahead of the one that moves.
const AHEAD: usize = 24 << 10;

/// Longest super-element that is asked for line by line while another moves, the longer ones all at
/// once (20000x12000: 320 bytes 48% of a copy, 38% at once; 640 bytes 57%, 44%; 1600 bytes 32%, 46%).
const EVENLY: usize = 1 << 10;

/// A step of a chain, settled: it brings what the chain carries to `to`, whose bytes begin at `offset`.
#[derive(Clone, Copy, Default)]
struct Step {
    to: usize,
    offset: usize,
    chain: usize,
    /// Another chain started there, and this one ends.
    ends: bool,
}

/// Settled steps, first in first out, on the stack; counted from the first that was ever settled.
struct Steps {
    ring: [Step; Steps::ROOM],
    made: usize,
    asked: usize,
    settled: usize,
}

impl Default for Steps {
    fn default() -> Self {
        Steps { ring: [Step::default(); Steps::ROOM], made: 0, asked: 0, settled: 0 }
    }
}

impl Steps {
    /// A power of two: a burst more than are ever asked for ahead.
    const ROOM: usize = 4 * BURST;

    fn waiting(&self) -> usize {
        self.settled - self.made
    }

    fn settle(&mut self, step: Step) {
        self.ring[self.settled % Steps::ROOM] = step;
        self.settled += 1;
    }

    /// Where the next step goes that is to be asked for, among the `ahead` first.
    fn ask(&mut self, ahead: usize) -> Option<usize> {
        let more = self.asked < self.settled && self.asked < self.made + ahead;
        more.then(|| {
            self.asked += 1;
            self.ring[(self.asked - 1) % Steps::ROOM].offset
        })
    }

    fn make(&mut self) -> Option<Step> {
        (self.made < self.settled).then(|| {
            self.made += 1;
            self.ring[(self.made - 1) % Steps::ROOM]
        })
    }
}

impl Worker<'_> {
    fn run(&self, mut starters: Range<usize>, scratch: &mut [Byte]) {
        let unit_bytes = self.path.unit_bytes();
        let (spare, carried) = scratch.split_at_mut(unit_bytes);
        let count = (carried.len() / unit_bytes).min(MOST_CHAINS);
        let ahead = (AHEAD / unit_bytes).clamp(1, 2 * BURST);
        // Where each chain goes next.
        let mut next = [None; MOST_CHAINS];
        let next = &mut next[..count];
        let mut steps = Steps::default();
        loop {
            self.start(next, &mut starters, carried);
            let mut going = next.iter().flatten().count();
            let enough = going / 2;
            // Settled, asked for, made: each some way ahead of the next. Chains that have ended wait
            // until half of them have, and all steps are made.
            loop {
                if steps.waiting() <= ahead && going > enough {
                    going -= self.settle(next, &mut steps);
                    // What the moves below do not keep up with.
                    while steps.asked + 1 < steps.settled.min(steps.made + ahead) {
                        let ask = steps.ask(ahead);
                        ask.inspect(|&offset| self.shared.prefetch(offset, unit_bytes));
                    }
                }
                let Some(step) = steps.make() else { break };
                let carried = &mut carried[step.chain * unit_bytes..][..unit_bytes];
                let ask = steps.ask(ahead).unwrap_or(step.offset);
                self.arrive(&step, carried, spare, ask);
            }
            if starters.is_empty() && next.iter().all(Option::is_none) {
                return;
            }
        }
    }

    fn prefetch(&self, p: usize) {
        self.shared.prefetch(self.path.offset(p), self.path.unit_bytes());
    }

    /// Starts a chain in every place of `next` that has none, while there are starters.
    fn start(&self, next: &mut [Option<usize>], starters: &mut Range<usize>, carried: &mut [Byte]) {
        let unit_bytes = self.path.unit_bytes();
        // Tiles that stay where they are have to be turned all the same.
        let turns = self.path.tile().is_some();
        let free = |&s: &usize| !self.claims.is_taken(s) && (turns || self.path.succ(s) != s);
        let mut found = [None; MOST_CHAINS];
        for (found, _) in found.iter_mut().zip(&*next).filter(|(_, next)| next.is_none()) {
            *found = starters.find(free);
            found.inspect(|&s| self.prefetch(s));
        }
        let chains = next.iter_mut().zip(carried.chunks_exact_mut(unit_bytes));
        for (s, (next, carried)) in found.into_iter().zip(chains) {
            let Some(s) = s else { continue };
            let at = self.path.offset(s);
            // SAFETY: this worker has taken `s`; whoever writes it waits for `s` to be marked read.
            let read = || self.take_up(unsafe { self.shared.slice(at, unit_bytes) }, carried);
            if self.claims.start(s, read) {
                *next = Some(self.path.succ(s));
            }
        }
    }

    /// Takes the places of the next steps of all chains, in turn; says how many ended.
    fn settle(&self, next: &mut [Option<usize>], steps: &mut Steps) -> usize {
        let mut ended = 0;
        for _ in 0..BURST.div_ceil(next.len()) {
            for (chain, next) in next.iter_mut().enumerate() {
                let Some(to) = *next else { continue };
                let ends = !self.claims.take(to);
                *next = (!ends).then(|| self.path.succ(to));
                ended += usize::from(ends);
                steps.settle(Step { to, offset: self.path.offset(to), chain, ends });
            }
        }
        ended
    }

    /// Brings what is carried to its place, and takes up what lay there unless the chain ends; asks for
    /// the super-element at `ask` meanwhile.
    fn arrive(&self, step: &Step, carried: &mut [Byte], spare: &mut [Byte], ask: usize) {
        let bytes = self.path.unit_bytes();
        if step.ends {
            self.claims.wait_read(step.to);
        }
        // SAFETY: only the carrier of its predecessor's content writes `to`, and that is this worker;
        // nobody reads it any more: this worker has taken it, or its starter has marked it read.
        let place = unsafe { self.shared.slice_mut(step.offset, bytes) };
        let swaps = !step.ends && self.path.tile().is_none();
        let evenly = swaps && bytes <= EVENLY;
        if !evenly {
            self.shared.prefetch(ask, bytes);
        }
        if swaps {
            let ahead = evenly.then(|| self.shared.start.wrapping_add(ask).cast_const());
            simd::swap(carried, place, ahead);
        } else if step.ends {
            place.copy_from_slice(carried);
        } else {
            self.take_up(place, spare);
            place.copy_from_slice(carried);
            carried.copy_from_slice(spare);
        }
    }

    /// Reads the content of a place, transposed if tiles are transposed on the way.
    fn take_up(&self, place: &[Byte], into: &mut [Byte]) {
        match self.path.tile() {
            None => into.copy_from_slice(place),
            Some(tile) => simd::transpose(place, into, tile, self.path.elem_bytes()),
        }
    }
}

/// Transposes `from` into `to`, tile by tile, on up to `threads` threads.
///
/// # Panics
/// When a buffer is not as long as the matrices.
pub fn transpose_into(to: &mut [Byte], from: &[Byte], matrices: Matrices, threads: usize) {
    assert_eq!((to.len(), from.len()), (matrices.bytes(), matrices.bytes()));
    let (shared, parts) = (Shared::new(to), matrices.parts(threads));
    parts::run_on(0..parts, &mut [], 0, |part, _| {
        let tiles = parts::share(matrices.tiles(), parts, part);
        if matrices.streams() {
            stream_tiles(shared, from, matrices, tiles);
        } else {
            for tile in tiles.map(|n| matrices.nth(n)) {
                let (block, bytes) = (tile.block, matrices.elem_bytes);
                let source = &from[tile.from..][..block.from_len() * bytes];
                let place = shared.span(tile.to, block.to_len() * bytes);
                // SAFETY: both lie in bounds, by the lines above; `to` is borrowed exclusively, and its bytes
                // of this tile are written by this part alone.
                unsafe { simd::transpose_raw(source.as_ptr(), place, block, bytes) };
            }
        }
    });
}

/// Tiles through a buffer, whose rows are written past the caches.
fn stream_tiles(shared: Shared, from: &[Byte], matrices: Matrices, tiles: Range<usize>) {
    let elem_bytes = matrices.elem_bytes;
    let mut buffer = Box::new_uninit_slice(matrices.tile_bytes());
    for n in tiles.clone() {
        let tile = matrices.nth(n);
        let Block { rows, cols, from_pitch, to_pitch } = tile.block;
        if n + 1 < tiles.end {
            let ask = |at| simd::prefetch(from.as_ptr().wrapping_add(at));
            matrices.nth(n + 1).for_lines(elem_bytes, ask);
        }
        let turned = Block { rows, cols, from_pitch, to_pitch: rows };
        simd::transpose(&from[tile.from..], &mut buffer, turned, elem_bytes);
        let row_bytes = rows * elem_bytes;
        for (j, row) in buffer.chunks_exact(row_bytes).take(cols).enumerate() {
            let place = shared.span(tile.to + j * to_pitch * elem_bytes, row_bytes);
            // SAFETY: in bounds, and written by the part alone that this tile belongs to.
            unsafe { simd::stream_raw(row, place) };
        }
    }
    simd::fence();
}

/// P-IPT: every cycle is moved by the thread whose share its leader lies in. No flags, no scratch:
/// contents are swapped through the leader's own place.
pub(crate) fn rotate_cycles(data: &mut [Byte], all: Path, parts: usize) {
    let shared = Shared::new(data);
    parts::run_on(0..parts, &mut [], 0, |part, _| {
        for leader in parts::share(all.positions(), parts, part) {
            if !cycles::is_leader(leader, |p| all.succ(p)) {
                continue;
            }
            let mut p = all.succ(leader);
            while p != leader {
                // SAFETY: two positions of one cycle, which only the finder of its leader moves.
                unsafe { shared.swap(all.offset(leader), all.offset(p), all.unit_bytes()) };
                p = all.succ(p);
            }
        }
    });
    if let Some(Block { rows, cols, .. }) = all.tile() {
        let batch = all.positions();
        let shape = StageShape::Elementary(Elementary { batch, rows, mid: 1, cols, unit: 1 });
        rotate_cycles(data, Path::new(shape, all.elem_bytes()), parts);
    }
}

/// Data sliding: the rows of `padding`, counted in bytes, padded or unpadded block by block. A block
/// goes to whichever part asks first, in the order in which they free each other's places; it is
/// written once the blocks that lie there have been read.
///
/// `flags`, zero, are a count of the blocks begun and a flag for each that it has been read. A
/// part waits only for blocks begun before its own, and those wait for earlier ones still: the first of
/// all waits for none. `scratch` holds a block for each part.
pub(crate) fn slide(
    data: &mut [Byte],
    padding: Padding,
    direction: Direction,
    block: usize,
    flags: &[AtomicU32],
    parts: usize,
    scratch: &mut [Byte],
) {
    let shared = Shared::new(data);
    let blocks = padding.blocks(block);
    let Some((begun, read)) = flags.split_first() else { return };
    let waits = |b| match direction {
        Direction::Forward => padding.pad_waits(block, b),
        Direction::Backward => padding.unpad_waits(block, b),
    };
    parts::run_on(0..parts, scratch, block, |_, scratch| {
        loop {
            let number = begun.fetch_add(1, Ordering::Relaxed) as usize;
            if number >= blocks {
                return;
            }
            let b = match direction {
                Direction::Forward => blocks - 1 - number,
                Direction::Backward => number,
            };
            let own = padding.block(block, b);
            for (k, offset, bytes) in padding.runs(own.clone()) {
                let from = if direction == Direction::Forward { k } else { offset };
                // SAFETY: whoever writes here waits for the flag that is set below.
                let from = unsafe { shared.slice(from, bytes) };
                scratch[k - own.start..][..bytes].copy_from_slice(from);
            }
            read[b].store(1, Ordering::Release);
            for other in waits(b) {
                let mut spins = 0;
                while read[other].load(Ordering::Acquire) == 0 {
                    crate::sync::pause(spins);
                    spins += 1;
                }
            }
            for (k, offset, bytes) in padding.runs(own.clone()) {
                let to = if direction == Direction::Forward { offset } else { k };
                // SAFETY: blocks go to places of their own, and what lay here has been read: it was
                // this block's, or one's whose flag has been seen.
                let to = unsafe { shared.slice_mut(to, bytes) };
                to.copy_from_slice(&scratch[k - own.start..][..bytes]);
            }
        }
    });
}

/// Transposes all squares where they lie, block pair by block pair.
pub(crate) fn turn_squares(data: &mut [Byte], squares: Squares, parts: usize) {
    let shared = Shared::new(data);
    parts::run_on(0..parts, &mut [], 0, |part, _| {
        let mut buffer = [Byte::uninit(); TILE_BYTES];
        let pairs = parts::share(squares.pairs(), parts, part);
        let mut next = squares.pair(pairs.start);
        let rows = |block: Option<Tile>| {
            block.map_or(Rows::NONE, |Tile { offset, rows, cols }| Rows {
                start: shared.start.wrapping_add(offset),
                count: rows,
                bytes: cols * squares.elem_bytes,
                pitch: squares.pitch(),
            })
        };
        for _ in pairs {
            let here = next;
            next = here.next();
            let [upper, lower] = next.blocks().map(rows);
            let mut lines = Lines::new(upper, lower);
            here.for_tile_pairs(|upper, lower| {
                // SAFETY: the tiles are of a pair of blocks that belongs to this part alone.
                unsafe {
                    if !swap_squares(shared, squares, upper, lower, &mut lines) {
                        swap_tiles(shared, squares, upper, lower, &mut buffer);
                        (0..upper.rows + upper.cols).for_each(|_| lines.ask());
                    }
                }
            });
            // Blocks on the diagonal are smaller than those beside it.
            lines.ask_rest();
        }
    });
}

/// Swaps two square tiles, transposed, and asks for as many `lines`; false when they are not square or
/// of no word.
///
/// # Safety
/// As for [`swap_tiles`].
unsafe fn swap_squares(
    shared: Shared,
    squares: Squares,
    upper: Tile,
    lower: Option<Tile>,
    lines: &mut Lines,
) -> bool {
    if upper.rows != upper.cols {
        return false;
    }
    let (side, pitch, elem_bytes) = (upper.rows, squares.pitch(), squares.elem_bytes);
    let span = (side - 1) * pitch + side * elem_bytes;
    let starts = [upper, lower.unwrap_or(upper)].map(|tile| shared.span(tile.offset, span));
    // SAFETY: all of both is in bounds by the line above, and theirs by the caller's promise; tiles of a
    // pair share no element.
    unsafe { simd::swap_squares_raw(starts, pitch, side, elem_bytes, lines) }
}

/// Puts each of two tiles, transposed, in the other's place; `upper` in its own when it is alone.
///
/// # Safety
/// No other thread touches either tile meanwhile.
unsafe fn swap_tiles(
    shared: Shared,
    squares: Squares,
    upper: Tile,
    lower: Option<Tile>,
    buffer: &mut [Byte; TILE_BYTES],
) {
    let Squares { elem_bytes, .. } = squares;
    let pitch = squares.pitch();
    if elem_bytes > TILE_BYTES {
        // Tiles of one element; on the diagonal it stays.
        if let Some(lower) = lower {
            // SAFETY: two different elements; the rest is the caller's.
            unsafe { shared.swap(upper.offset, lower.offset, elem_bytes) };
        }
        return;
    }
    let start =
        |tile: Tile| shared.span(tile.offset, (tile.rows - 1) * pitch + tile.cols * elem_bytes);
    let turn = |from: Tile, to: *mut Byte, to_pitch| {
        let from_pitch = pitch / elem_bytes;
        let block = Block { rows: from.rows, cols: from.cols, from_pitch, to_pitch };
        // SAFETY: `start` has checked the tile, and `to` is the buffer, which holds one, or the other
        // tile, checked too; both are the caller's.
        unsafe { simd::transpose_raw(start(from), to, block, elem_bytes) };
    };
    let into = lower.unwrap_or(upper);
    turn(upper, buffer.as_mut_ptr(), upper.rows);
    if let Some(lower) = lower {
        turn(lower, start(upper), pitch / elem_bytes);
    }
    let bytes = into.cols * elem_bytes;
    for (r, line) in buffer.chunks_exact(bytes).take(into.rows).enumerate() {
        // SAFETY: part of one of the two tiles, which are the caller's.
        unsafe { shared.slice_mut(into.offset + r * pitch, bytes) }.copy_from_slice(line);
    }
}
