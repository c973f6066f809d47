//! Public entry points of the SIMD kernels. Each dispatches to the active kernel set.
#![allow(unsafe_code)]

use crate::block::{BlockShape, Byte, CACHE_LINE};
use crate::copy::CopyJob;
use crate::dispatch::active;
use crate::prefetch_cursor::PrefetchCursor;
use crate::reverse::{self, ReversedRows};
use crate::square_swap::SquareSwapFn;
use crate::trace::trace_path;
use crate::transpose::units;

/// Transposes a block between two buffers: `to[j][i] = from[i][j]` for units of `unit_bytes` bytes.
/// Both buffers start at unit (0, 0).
///
/// # Panics
/// If a buffer is shorter than the block requires, or if `unit_bytes` is 0.
pub fn transpose(from: &[Byte], to: &mut [Byte], block: BlockShape, unit_bytes: usize) {
    assert!(unit_bytes > 0 && block.from_len() <= from.len() / unit_bytes);
    assert!(block.to_len() <= to.len() / unit_bytes);
    // SAFETY: the assertions compare the lengths with the block, and the two borrows cannot
    // overlap.
    unsafe { transpose_raw(from.as_ptr(), to.as_mut_ptr(), block, unit_bytes) };
}

/// Transposes a block of bytes that are numbers, like [`transpose`].
///
/// # Panics
/// If a buffer is shorter than the block requires.
pub fn transpose_bytes(from: &[u8], to: &mut [u8], block: BlockShape) {
    assert!(block.from_len() <= from.len() && block.to_len() <= to.len());
    // SAFETY: the assertion compares the lengths with the block, and the two borrows cannot overlap.
    // Every byte written is a byte of `from`, so `to` stays initialised.
    unsafe { transpose_raw(from.as_ptr().cast(), to.as_mut_ptr().cast(), block, 1) };
}

/// Transposes a block between arrays whose other parts other threads may use:
/// `to[j][i] = from[i][j]` for units of `unit_bytes` bytes.
///
/// # Safety
/// - `from` is valid for reads of every unit of the block, and `to` for writes of every unit of the
///   transposed block. All bytes between the first and the last unit of each are in bounds.
/// - The two do not overlap. No other thread writes the units read, or accesses the units written.
pub unsafe fn transpose_raw(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
    unit_bytes: usize,
) {
    // An empty block may have arbitrary extents and pitches, which kernels do not expect.
    if block.is_empty() {
        return;
    }
    match active().transpose_fn(unit_bytes) {
        // SAFETY: the active kernel set runs on this machine; the caller guarantees the rest.
        Some(words) => unsafe { words(from, to, block) },
        // SAFETY: guaranteed by the caller; each unit has more than `N / 2` and at most `N` bytes.
        None => unsafe {
            match unit_bytes {
                3 => units::<4, 2>(from, to, block, unit_bytes),
                5..=7 => units::<8, 4>(from, to, block, unit_bytes),
                9..=15 => units::<16, 8>(from, to, block, unit_bytes),
                17..=32 => units::<32, 16>(from, to, block, unit_bytes),
                33..=48 => units::<48, 24>(from, to, block, unit_bytes),
                49..=64 => units::<64, 32>(from, to, block, unit_bytes),
                _ => runs(from, to, block, unit_bytes),
            }
        },
    }
}

/// Transposes a block like [`transpose_raw`], and reverses the rows of the result if `flips[0]`, and
/// its columns if `flips[1]`.
///
/// # Safety
/// As for [`transpose_raw`].
pub unsafe fn turn_raw(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
    unit_bytes: usize,
    flips: [bool; 2],
) {
    if block.is_empty() {
        return;
    }
    let (mut from, mut to, mut turned) = (from, to, block);
    if flips[0] {
        to = block.dest(to, 0, block.cols - 1, unit_bytes);
        turned.to_pitch = block.to_pitch.wrapping_neg();
    }
    // The columns of the result are the rows of the source.
    if flips[1] {
        from = block.source(from, block.rows - 1, 0, unit_bytes);
        turned.from_pitch = block.from_pitch.wrapping_neg();
    }
    // SAFETY: guaranteed by the caller; a negative pitch leads to the same rows, the last one first.
    unsafe { transpose_raw(from, to, turned, unit_bytes) };
}

/// Transposes a block of units of any size, one copy per unit.
unsafe fn runs(from: *const Byte, to: *mut Byte, block: BlockShape, unit_bytes: usize) {
    trace_path("runs", unit_bytes);
    for i in 0..block.rows {
        for j in 0..block.cols {
            let source = block.source(from, i, j, unit_bytes);
            let dest = block.dest(to, i, j, unit_bytes);
            // SAFETY: one unit inside the source block and one inside the destination block.
            unsafe { source.copy_to_nonoverlapping(dest, unit_bytes) };
        }
    }
}

/// Makes copies of `len` bytes each, in order. For each cache line copied, prefetches one line from
/// the job's `ahead` on.
///
/// Pass many copies per call: the overhead of a call, above all draining the store buffer, costs
/// about one cache miss. 20000x12000, runs of 640 bytes: 54% of a copy's speed with one call
/// per run, 68% when batched.
///
/// # Safety
/// Each `from` is valid for reads and each `to` for writes of `len` bytes, and the two do not
/// overlap. Meanwhile no other thread writes the source or accesses the destination.
#[inline]
pub unsafe fn copy_jobs_raw(transfers: &[CopyJob], len: usize) {
    // SAFETY: the active kernel set runs on this machine; the caller guarantees the rest.
    unsafe { (active().copy)(transfers, len) };
}

/// Swaps rows of units of `unit_bytes` bytes at two addresses, each row in reverse order.
///
/// # Safety
/// All units at both addresses are valid for reads and writes, and no byte is part of both. No other
/// thread accesses them meanwhile.
pub unsafe fn swap_reversed_raw(a: *mut Byte, b: *mut Byte, rows: ReversedRows, unit_bytes: usize) {
    if let Some(words) = active().reverse_fn(unit_bytes) {
        // SAFETY: the active kernel set runs on this machine; the caller guarantees the rest.
        return unsafe { words(a, b, rows) };
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        match unit_bytes {
            3 => reverse::swap::<[Byte; 3]>(a, b, rows),
            6 => reverse::swap::<[Byte; 6]>(a, b, rows),
            12 => reverse::swap::<[Byte; 12]>(a, b, rows),
            _ => {
                let ReversedRows { rows, pitch, count } = rows;
                for (row, k) in (0..rows).flat_map(|row| (0..count).map(move |k| (row, k))) {
                    let (first, second) = (k * unit_bytes, (count - 1 - k) * unit_bytes);
                    let (a, b) = (a.add(row * pitch + first), b.add(row * pitch + second));
                    std::ptr::swap_nonoverlapping(a, b, unit_bytes);
                }
            }
        }
    }
}

/// Kernel that swaps two squares of units in place and transposes each, looked up once for any
/// number of swaps.
#[derive(Clone, Copy, Debug)]
pub struct SquareSwap {
    squares: SquareSwapFn,
    side: usize,
}

impl SquareSwap {
    /// Returns the kernel for squares of `side` units of `unit_bytes` bytes, or `None` if the
    /// active kernel set has none for these sizes.
    pub fn new(side: usize, unit_bytes: usize) -> Option<Self> {
        active().squares_of(side, unit_bytes).map(|squares| SquareSwap { squares, side })
    }

    /// Returns the side of the squares, in units.
    #[inline(always)]
    pub fn side(&self) -> usize {
        self.side
    }

    /// Swaps two squares and transposes each. If both are the same square, transposes it in place.
    /// Meanwhile prefetches other data: the next cache lines of `lines`, one per line of the
    /// squares.
    ///
    /// # Safety
    /// All units of both squares, in rows `pitch` bytes apart, are valid for reads and writes. No
    /// other thread accesses them meanwhile. The squares are identical or disjoint.
    #[inline(always)]
    pub unsafe fn swap_raw(
        &self,
        [a, b]: [*mut Byte; 2],
        pitch: usize,
        lines: &mut PrefetchCursor,
    ) {
        // SAFETY: the active kernel set runs on this machine and supports `side`; the caller
        // guarantees the rest.
        unsafe { (self.squares)(a, b, pitch, self.side, lines) };
    }
}

/// Copies `to.len()` bytes out of the ring buffer `ring[..wrap]`, from offset `start` on.
///
/// If the slice has [`CACHE_LINE`] bytes after `wrap`, they must repeat its first bytes: whole
/// lines are read across the ring's end. Without them, or if `to` is not whole lines, the copy is
/// done in two parts.
///
/// # Panics
/// If `start` is outside the ring, or if `ring` or `wrap` is too short.
#[inline]
pub fn copy_from_ring(ring: &[Byte], start: usize, wrap: usize, to: &mut [Byte]) {
    assert!(start < wrap && to.len() <= wrap && ring.len() >= wrap);
    if to.len().is_multiple_of(CACHE_LINE) && ring.len() >= wrap + CACHE_LINE {
        // SAFETY: the active kernel set runs on this machine. Lines are read from offsets below
        // `wrap`, so at most one line beyond it.
        unsafe { (active().from_ring)(ring.as_ptr(), start, wrap, to.as_mut_ptr(), to.len()) };
        return;
    }
    let (before, after) = to.split_at_mut(to.len().min(wrap - start));
    before.copy_from_slice(&ring[start..][..before.len()]);
    after.copy_from_slice(&ring[..after.len()]);
}

/// Copies `from` into the ring buffer of `wrap` bytes that starts [`CACHE_LINE`] bytes into `ring`,
/// from offset `start` on. The lines before and after the ring may be overwritten with unspecified
/// bytes.
///
/// # Panics
/// If `start` is outside the ring, or if `ring` or `wrap` is too short.
#[inline]
pub fn copy_into_ring(from: &[Byte], ring: &mut [Byte], start: usize, wrap: usize) {
    assert!(start < wrap && from.len() <= wrap);
    assert!(ring.len().checked_sub(2 * CACHE_LINE).is_some_and(|room| wrap <= room));
    if from.len().is_multiple_of(CACHE_LINE) {
        // SAFETY: the active kernel set runs on this machine. Lines are written at offsets at least
        // `-CACHE_LINE` and below `wrap`; one line before the ring and one after it are in bounds.
        unsafe { (active().into_ring)(from.as_ptr(), ring.as_mut_ptr(), start, wrap, from.len()) };
        return;
    }
    let (before, after) = from.split_at(from.len().min(wrap - start));
    ring[CACHE_LINE + start..][..before.len()].copy_from_slice(before);
    ring[CACHE_LINE..][..after.len()].copy_from_slice(after);
}
