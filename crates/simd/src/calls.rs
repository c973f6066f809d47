//! What others call: each asks the row in use.
#![allow(unsafe_code)]

use crate::block::{BlockShape, Byte, CACHE_LINE};
use crate::copy::CopyJob;
use crate::dispatch::active;
use crate::prefetch_cursor::PrefetchCursor;
use crate::square_swap::SquareSwapFn;
use crate::trace::trace_path;

/// `to[j][i] = from[i][j]` for units of `unit_bytes` bytes; both buffers start at unit (0, 0).
///
/// # Panics
/// When a buffer is shorter than the block says, or `unit_bytes` is 0.
pub fn transpose(from: &[Byte], to: &mut [Byte], block: BlockShape, unit_bytes: usize) {
    assert!(unit_bytes > 0 && block.from_len() <= from.len() / unit_bytes);
    assert!(block.to_len() <= to.len() / unit_bytes);
    // SAFETY: the lengths were compared above, and the borrows are exclusive of each other.
    unsafe { transpose_raw(from.as_ptr(), to.as_mut_ptr(), block, unit_bytes) };
}

/// `to[j][i] = from[i][j]` for units of `unit_bytes` bytes, between parts of arrays that other
/// threads work on.
///
/// # Safety
/// - `from` is valid for reads of every unit of the block, `to` for writes of every unit of the
///   transposed block, and the bytes between their first and last units are in bounds.
/// - The two do not overlap; nobody else writes what is read or touches what is written.
pub unsafe fn transpose_raw(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
    unit_bytes: usize,
) {
    // Its extents and pitches may be any numbers, which kernels do not expect.
    if block.is_empty() {
        return;
    }
    match active().of(unit_bytes) {
        // SAFETY: the row was found to be available; the rest is the caller's.
        Some(words) => unsafe { words(from, to, block) },
        None => {
            trace_path("units", unit_bytes);
            // SAFETY: the caller's.
            unsafe {
                match unit_bytes {
                    3 => units::<3>(from, to, block),
                    6 => units::<6>(from, to, block),
                    12 => units::<12>(from, to, block),
                    24 => units::<24>(from, to, block),
                    32 => units::<32>(from, to, block),
                    64 => units::<64>(from, to, block),
                    _ => runs(from, to, block, unit_bytes),
                }
            }
        }
    }
}

/// Rows of units that are read for a run of the other buffer.
const RUN: usize = 16;

/// The same for units of a length that is common, known to the compiler.
unsafe fn units<const W: usize>(from: *const Byte, to: *mut Byte, block: BlockShape) {
    let BlockShape { rows, cols, from_pitch, to_pitch } = block;
    let (from, to) = (from.cast::<[Byte; W]>(), to.cast::<[Byte; W]>());
    for i in (0..rows).step_by(RUN) {
        let height = RUN.min(rows - i);
        for j in 0..cols {
            // SAFETY: units of each block; arrays of bytes lie anywhere.
            unsafe {
                let (source, dest) = (from.add(i * from_pitch + j), to.add(j * to_pitch + i));
                if height == RUN {
                    let run: [_; RUN] = std::array::from_fn(|k| source.add(k * from_pitch).read());
                    dest.cast::<[[Byte; W]; RUN]>().write(run);
                } else {
                    (0..height).for_each(|k| dest.add(k).write(source.add(k * from_pitch).read()));
                }
            }
        }
    }
}

/// The same for units of any length.
unsafe fn runs(from: *const Byte, to: *mut Byte, block: BlockShape, unit_bytes: usize) {
    for i in 0..block.rows {
        for j in 0..block.cols {
            let source = (i * block.from_pitch + j) * unit_bytes;
            let dest = (j * block.to_pitch + i) * unit_bytes;
            // SAFETY: a unit of each block.
            unsafe { from.add(source).copy_to_nonoverlapping(to.add(dest), unit_bytes) };
        }
    }
}

/// Makes transfers of `len` bytes, one after the other; with every line copied one of those ahead is asked for.
///
/// Many in a call: what stands between two of them, stores that have to be waited for above all, costs as much as
/// a miss (20000x12000, runs of 640 bytes: 54% of a copy with a call for each, 68% so).
///
/// # Safety
/// Each `from` is valid for reads and `to` for writes of `len` bytes, and they do not overlap; nobody else writes
/// the one or touches the other meanwhile.
#[inline]
pub unsafe fn copy_transfers_raw(transfers: &[CopyJob], len: usize) {
    // SAFETY: the row was found to be available; the rest is the caller's.
    unsafe { (active().copy)(transfers, len) };
}

/// A way to have two squares of units change places, found once for as many as there are.
#[derive(Clone, Copy, Debug)]
pub struct SquareSwap {
    squares: SquareSwapFn,
    side: usize,
}

impl SquareSwap {
    /// That of the kernel in use for squares of `side` units of `unit_bytes` bytes, if it has one.
    pub fn of(side: usize, unit_bytes: usize) -> Option<Self> {
        active().squares_of(side, unit_bytes).map(|squares| SquareSwap { squares, side })
    }

    /// Units of a side.
    #[inline(always)]
    pub fn side(&self) -> usize {
        self.side
    }

    /// Two squares change places, each transposed; one is transposed in its own place when both are the same. As many
    /// `lines` are asked for meanwhile as are worked on.
    ///
    /// # Safety
    /// All units of both squares, in rows `pitch` bytes apart, are valid for reads and writes and nobody
    /// else's meanwhile; the squares are the same or share no unit.
    #[inline(always)]
    pub unsafe fn swap_raw(
        &self,
        [a, b]: [*mut Byte; 2],
        pitch: usize,
        lines: &mut PrefetchCursor,
    ) {
        // SAFETY: the row was found to be available and `side` fits it; the rest is the caller's.
        unsafe { (self.squares)(a, b, pitch, self.side, lines) };
    }
}

/// Fills `to` from the ring of `wrap` bytes at the start of `ring`, from its place `start` on. The [`CACHE_LINE`] bytes
/// after the ring repeat its first ones, so that a line can be read across its end; without them, or for
/// parts of lines, it is two copies.
///
/// # Panics
/// When `start` is not in the ring, or `ring` or `wrap` is too short.
#[inline]
pub fn copy_from_ring(ring: &[Byte], start: usize, wrap: usize, to: &mut [Byte]) {
    assert!(start < wrap && to.len() <= wrap && ring.len() >= wrap);
    if to.len().is_multiple_of(CACHE_LINE) && ring.len() >= wrap + CACHE_LINE {
        // SAFETY: the row was found to be available; lines are read from places below `wrap`, so up to
        // a line past it.
        unsafe { (active().from_ring)(ring.as_ptr(), start, wrap, to.as_mut_ptr(), to.len()) };
        return;
    }
    let (before, after) = to.split_at_mut(to.len().min(wrap - start));
    before.copy_from_slice(&ring[start..][..before.len()]);
    after.copy_from_slice(&ring[..after.len()]);
}

/// Puts `from` into the ring of `wrap` bytes that begins [`CACHE_LINE`] bytes after the start of `ring`, from its place
/// `start` on. The lines before and after the ring are overwritten with anything.
///
/// # Panics
/// When `start` is not in the ring, or `ring` or `wrap` is too short.
#[inline]
pub fn copy_into_ring(from: &[Byte], ring: &mut [Byte], start: usize, wrap: usize) {
    assert!(start < wrap && from.len() <= wrap);
    assert!(ring.len().checked_sub(2 * CACHE_LINE).is_some_and(|room| wrap <= room));
    if from.len().is_multiple_of(CACHE_LINE) {
        // SAFETY: the row was found to be available; lines are written at places from `-CACHE_LINE` on and
        // below `wrap`, a line before them.
        unsafe { (active().into_ring)(from.as_ptr(), ring.as_mut_ptr(), start, wrap, from.len()) };
        return;
    }
    let (before, after) = from.split_at(from.len().min(wrap - start));
    ring[CACHE_LINE + start..][..before.len()].copy_from_slice(before);
    ring[CACHE_LINE..][..after.len()].copy_from_slice(after);
}
