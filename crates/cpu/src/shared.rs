//! Movers in which several threads work on one matrix, and views of memory as bytes: the crate's
//! only `unsafe`.
//!
//! Who may touch which bytes is decided before they are touched: by the cycle or segment of one that a
//! worker has, by being the leader of a cycle, by being the one part that a pair of tiles belongs to, by having
//! drawn a band of chunks, or by a flag that says that a block has been read. Every span is checked against the
//! matrix's length before its pointer is made.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use turntile_perm::{Elementary, Padding, cycles};
use turntile_plan::{Direction, StageShape};

use crate::Byte;
use crate::cycles::{Cycles, Marks, Move, Ranks, Segments, kept, milestone};
use crate::executor::{Executor, RunError, Workspace};
use crate::out_of_place::Matrices;
use crate::parts;
use crate::path::Path;
use crate::queue::{BURST, Queue};
use crate::runs::{Drawn, Runs};
use crate::squares::{Squares, TILE_BYTES, Tile};
use turntile_simd::{self as simd, Block, Lines, Rows, Run};

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
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Super-elements along their cycles, on `parts` threads ([`crate::cycles`]).
///
/// `flags`, zero, are a plane of marks for each part; `scratch` holds a super-element for each part, and at
/// least as many again when there are several.
pub(crate) fn follow_cycles(
    data: &mut [Byte],
    path: Path,
    flags: &[AtomicU32],
    parts: usize,
    scratch: &mut [Byte],
) {
    let positions = path.positions();
    let mover = Mover { data: Shared::new(data), kept: Shared::new(scratch), path };
    let words = Marks::words(positions);
    let planes: Vec<Marks> = flags.chunks_exact(words).take(parts).map(Marks).collect();
    let ranks = Ranks::new(positions);
    let room = mover.kept.len / path.unit_bytes();
    if parts > 1 {
        // The parts' own super-elements come after those of the milestones.
        let milestones = room - parts;
        let starts = (0..milestones).filter_map(|rank| {
            let from = path.offset(milestone(&path, ranks, rank)?);
            Some(Move { from, to: kept(&path, rank) })
        });
        mover.run(starts);
        let drawn = AtomicUsize::new(0);
        parts::run_on(planes.iter(), &mut [], 0, |&marks, _| {
            let drawn = &drawn;
            mover.run(Segments { path: &path, ranks, milestones, drawn, marks, hole: None });
        });
    }
    parts::run_on(0..parts, &mut [], 0, |part, _| {
        let share = parts::share(positions, parts, part);
        mover.run(Cycles {
            path: &path,
            ranks: (parts > 1).then_some(ranks),
            all_marks: &planes,
            marks: planes[part],
            at: share.start,
            share,
            kept: kept(&path, room - parts + part),
            hole: None,
        });
    });
}

/// What makes the moves of [`follow_cycles`].
struct Mover<'a> {
    data: Shared<'a>,
    kept: Shared<'a>,
    path: Path,
}

impl Mover<'_> {
    fn run(&self, moves: impl Iterator<Item = Move>) {
        let bytes = self.path.unit_bytes();
        let mut queue = Queue::new(moves, bytes);
        queue.first().for_each(|from| self.ask(self.place(from)));
        let mut runs = [Run::default(); BURST];
        loop {
            let burst = queue.burst();
            if burst.is_empty() {
                return;
            }
            for (run, &(Move { from, to }, ahead)) in runs.iter_mut().zip(burst) {
                *run = Run { from: self.place(from), to: self.place(to), ahead: self.place(ahead) };
            }
            // SAFETY: a place is read and then filled by the one worker whose segment or cycle it belongs to,
            // except that a milestone is read before there are workers. What is kept of milestones is written
            // before there are workers too and only read after; the last ones are each a worker's own. No move
            // is from a place to itself.
            unsafe { self.make(&runs[..burst.len()]) };
        }
    }

    /// # Safety
    /// Places are super-elements, of the matrix or kept, that the caller may read or write, one after the other.
    unsafe fn make(&self, runs: &[Run]) {
        let bytes = self.path.unit_bytes();
        let Some(tile) = self.path.tile() else {
            // SAFETY: the caller's.
            return unsafe { simd::copy_runs_raw(runs, bytes) };
        };
        let kept = self.kept.start..self.kept.start.wrapping_add(self.kept.len);
        for run in runs {
            // SAFETY: the caller's; tiles are turned on the way into the matrix.
            unsafe {
                if kept.contains(&run.to) {
                    simd::copy_runs_raw(std::slice::from_ref(run), bytes);
                } else {
                    self.ask(run.ahead);
                    simd::transpose_raw(run.from, run.to, tile, self.path.elem_bytes());
                }
            }
        }
    }

    /// Asks for the lines of a super-element that will be read soon.
    fn ask(&self, start: *const Byte) {
        for at in (0..self.path.unit_bytes()).step_by(LINE) {
            simd::prefetch(start.wrapping_add(at));
        }
    }

    /// The start of a super-element of the matrix or, past its end, of one that is kept; checked.
    #[inline(always)]
    fn place(&self, at: usize) -> *mut Byte {
        let bytes = self.path.unit_bytes();
        match at.checked_sub(self.data.len) {
            None => self.data.span(at, bytes),
            Some(at) => self.kept.span(at, bytes),
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
                    // For as long as a copy takes, then a worker may run that the system has put aside.
                    if spins < 256 {
                        std::hint::spin_loop()
                    } else {
                        std::thread::yield_now()
                    }
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

/// Chunks of `chunk_bytes` bytes, worked on in the bands that every part draws from `runs`, with scratch of its own.
///
/// `work` is given a band, the chunk beside it or at the end of a run none, and what is kept; `keep` a chunk's
/// number and bytes.
pub(crate) fn over_bands<K: Send>(
    chunks: &mut [Byte],
    chunk_bytes: usize,
    runs: &Runs<K>,
    (scratch, each): (&mut [Byte], usize),
    keep: impl Fn(usize, &[Byte], &mut K) + Sync,
    work: impl Fn(&mut [Byte], Option<&[Byte]>, &mut Option<K>, &mut [Byte]) + Sync,
) {
    let shared = Shared::new(chunks);
    parts::run_on(0..runs.parts(), scratch, each, |part, scratch| {
        let mut kept = None;
        // SAFETY: asked for only what is kept, under the lock of the run that it is still drawn from, and for the chunk
        // beside a band, which only this part can draw, after that band.
        let chunk = |n: usize| unsafe { shared.slice(n * chunk_bytes, chunk_bytes) };
        let keep = |n: usize, kept: &mut K| keep(n, chunk(n), kept);
        while let Some(Drawn { chunks, beside }) = runs.draw(part, &mut kept, keep) {
            let bytes = chunks.len() * chunk_bytes;
            // SAFETY: a chunk is drawn once, and not while it is kept or lies beside another's band.
            let rows = unsafe { shared.slice_mut(chunks.start * chunk_bytes, bytes) };
            work(rows, beside.map(chunk), &mut kept, scratch);
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
                        lines.ask(upper.rows + upper.cols);
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
