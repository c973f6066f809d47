//! Axis permutations on the CPU from one buffer to another, tile by tile. If the order of the
//! elements does not change, the array is copied.
#![allow(unsafe_code)]

use std::ops::Range;

use turntile_perm::AxisPermutation;
use turntile_simd::{self as simd, BlockShape, Byte, CACHE_LINE};

use crate::epilogue::Epilogue;
use crate::parallel::{self, WorkCounter};
use crate::plane_tiling::{PlaneTile, PlaneTiling};
use crate::shared::{SharedBytes, Worker};
use crate::workspace::{RunError, buffer};

/// Transposes a row-major matrix of `rows` by `cols` elements of `elem_bytes` bytes from `from`
/// into `to`, on at most `threads` threads.
///
/// # Errors
/// [`RunError::Length`] if a buffer does not have the matrix's length. [`RunError::OutOfMemory`] if
/// the threads' buffers cannot be allocated. Errors are returned before `to` is written.
pub fn transpose_into(
    to: &mut [Byte],
    from: &[Byte],
    [rows, cols]: [usize; 2],
    elem_bytes: usize,
    threads: usize,
) -> Result<(), RunError> {
    let bytes = rows.checked_mul(cols).and_then(|len| len.checked_mul(elem_bytes));
    check_lengths(to, from, bytes)?;
    let alignment = to.as_ptr().addr() % CACHE_LINE;
    tiles_into(to, from, &PlaneTiling::of_matrices(1, rows, cols, elem_bytes, alignment), threads)
}

/// Permutes the axes of a row-major array of elements of `elem_bytes` bytes from `from` into `to`,
/// on at most `threads` threads.
///
/// # Errors
/// Returns the errors of [`transpose_into`].
pub fn permute_into(
    to: &mut [Byte],
    from: &[Byte],
    axes: &AxisPermutation,
    elem_bytes: usize,
    threads: usize,
) -> Result<(), RunError> {
    let bytes = axes.len().checked_mul(elem_bytes);
    check_lengths(to, from, bytes)?;
    let alignment = to.as_ptr().addr() % CACHE_LINE;
    tiles_into(to, from, &PlaneTiling::into_buffer(axes, elem_bytes, alignment), threads)
}

fn check_lengths(to: &[Byte], from: &[Byte], bytes: Option<usize>) -> Result<(), RunError> {
    match [to.len(), from.len()].into_iter().find(|&got| bytes != Some(got)) {
        Some(got) => Err(RunError::Length { expected: bytes.unwrap_or(usize::MAX), got }),
        None => Ok(()),
    }
}

/// Transposes the tiles of `from` into `to`, on at most `threads` threads. If the order of the
/// elements does not change, copies the array.
///
/// # Errors
/// [`RunError::OutOfMemory`] if the threads' buffers cannot be allocated. Nothing is written then.
///
/// # Panics
/// If `to` or `from` does not have the length of all tiles.
pub fn tiles_into(
    to: &mut [Byte],
    from: &[Byte],
    tiles: &PlaneTiling,
    threads: usize,
) -> Result<(), RunError> {
    assert_eq!((to.len(), from.len()), (tiles.bytes(), tiles.bytes()));
    let threads = tiles.parts(threads);
    if tiles.stay() {
        copy(to, from, threads);
        return Ok(());
    }
    let each = if tiles.streams() { tiles.tile_bytes() } else { 0 };
    let mut buffers = buffer(threads.saturating_mul(each))?;
    let shared = SharedBytes::new(to);
    let counter = WorkCounter::new(tiles.count(), threads);
    parallel::for_each_thread(0..threads, &mut buffers, each, |_, buffer| {
        // SAFETY: each tile is claimed by one thread, and tiles share no element.
        let worker = unsafe { shared.worker() };
        while let Some(claimed) = counter.claim() {
            if tiles.streams() {
                transpose_tiles(&worker, Some(from), tiles, claimed, None, buffer);
                continue;
            }
            for tile in claimed.map(|n| tiles.nth(n)) {
                let source = &from[tile.from..];
                worker.write_transposed(source, tile.to, tile.block, tiles.unit_bytes());
            }
        }
    });
    Ok(())
}

/// Copies `from` to `to` on `threads` threads.
fn copy(to: &mut [Byte], from: &[Byte], threads: usize) {
    let shares = || (0..threads).map(|thread| parallel::split_evenly(from.len(), threads, thread));
    let shares: Vec<_> =
        shares().zip(parallel::cut(to, shares().map(|share| share.len()))).collect();
    parallel::for_each_thread(shares, &mut [], 0, |(share, to), _| {
        to.copy_from_slice(&from[share])
    });
}

/// Transposes the tiles `numbers` into the worker's memory, each through `buffer`, where the
/// epilogue is applied. If `source` is `None`, that memory is also the source. Large arrays are
/// written with nontemporal stores.
pub fn transpose_tiles(
    worker: &Worker,
    source: Option<&[Byte]>,
    tiles: &PlaneTiling,
    numbers: Range<usize>,
    epilogue: Option<&Epilogue>,
    buffer: &mut [Byte],
) {
    let unit_bytes = tiles.unit_bytes();
    for n in numbers.clone() {
        let PlaneTile { from, to, block } = tiles.nth(n);
        if n + 1 < numbers.end {
            // Calls `worker.address` for every line of the next tile: with one base address per
            // tile, 3000x5000 floats in rows of 5008 move at 31 GB/s, not 38 (EPYC, one thread,
            // November 2026).
            tiles.nth(n + 1).for_lines(unit_bytes, |at| {
                simd::prefetch(match source {
                    Some(source) => source.as_ptr().wrapping_add(at),
                    None => worker.address(at),
                })
            });
        }
        let transposed = BlockShape { to_pitch: block.rows, ..block };
        match source {
            Some(source) => simd::transpose(&source[from..], buffer, transposed, unit_bytes),
            None => worker.read_transposed(from, buffer, transposed, unit_bytes),
        }
        let (row, pitch) = (block.rows * unit_bytes, block.to_pitch * unit_bytes);
        if let Some(epilogue) = epilogue {
            epilogue.bytes(&mut buffer[..block.cols * row]);
        }
        match tiles.streams() {
            true => worker.stream_rows(to, pitch, buffer, row, block.cols),
            false => worker.write_rows(to, pitch, buffer, row, block.cols),
        }
    }
}
