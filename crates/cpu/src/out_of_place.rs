//! Arrays written from one buffer to another with their axes in another order, tile by tile; what stays in order is copied.
#![allow(unsafe_code)]

use std::ops::Range;

use turntile_simd::{self as simd, BlockShape, Byte, CACHE_LINE};

use crate::parallel::{self, WorkCounter};
use crate::plane_tiling::PlaneTiling;
use crate::shared::{SharedBytes, Worker};
use crate::workspace::{RunError, buffer};

/// Transposes a row-major matrix of `rows` by `cols` elements of `elem_bytes` bytes from `from` into `to`, on up to
/// `threads` threads.
///
/// # Errors
/// [`RunError::Length`] if a buffer is not as long as the matrix, [`RunError::OutOfMemory`] if the threads' buffers
/// cannot be allocated; before `to` is touched.
pub fn transpose_into(
    to: &mut [Byte],
    from: &[Byte],
    [rows, cols]: [usize; 2],
    elem_bytes: usize,
    threads: usize,
) -> Result<(), RunError> {
    let bytes = rows.checked_mul(cols).and_then(|len| len.checked_mul(elem_bytes));
    for got in [to.len(), from.len()] {
        if bytes != Some(got) {
            return Err(RunError::Length { expected: bytes.unwrap_or(usize::MAX), got });
        }
    }
    let begins = to.as_ptr().addr() % CACHE_LINE;
    tiles_into(to, from, &PlaneTiling::of_matrices(1, rows, cols, elem_bytes, begins), threads)
}

/// Writes the tiles of `from` to `to`, on up to `threads` threads.
///
/// # Errors
/// [`RunError::OutOfMemory`], before `to` is touched.
///
/// # Panics
/// If a buffer is not as long as all tiles.
pub fn tiles_into(
    to: &mut [Byte],
    from: &[Byte],
    tiles: &PlaneTiling,
    threads: usize,
) -> Result<(), RunError> {
    assert_eq!((to.len(), from.len()), (tiles.bytes(), tiles.bytes()));
    let parts = tiles.parts(threads);
    if tiles.stay() {
        copy(to, from, parts);
        return Ok(());
    }
    let each = if tiles.streams() { tiles.tile_bytes() } else { 0 };
    let mut buffers = buffer(parts.saturating_mul(each))?;
    let shared = SharedBytes::new(to);
    let draws = WorkCounter::new(tiles.count(), parts);
    parallel::for_each_thread(0..parts, &mut buffers, each, |_, buffer| {
        // SAFETY: a tile is drawn by one part, and tiles share no element.
        let worker = unsafe { shared.worker() };
        while let Some(drawn) = draws.draw() {
            if tiles.streams() {
                stream_tiles(&worker, from, tiles, drawn, buffer);
                continue;
            }
            for tile in drawn.map(|n| tiles.nth(n)) {
                let source = &from[tile.from..];
                worker.write_transposed(source, tile.to, tile.block, tiles.unit_bytes());
            }
        }
    });
    Ok(())
}

/// Copies `from` to `to`, as long, on `parts` threads.
fn copy(to: &mut [Byte], from: &[Byte], parts: usize) {
    let shares = || (0..parts).map(|part| parallel::share(from.len(), parts, part));
    let pieces: Vec<_> =
        shares().zip(parallel::cut(to, shares().map(|share| share.len()))).collect();
    parallel::for_each_thread(pieces, &mut [], 0, |(share, to), _| {
        to.copy_from_slice(&from[share])
    });
}

/// Tiles through a buffer, whose rows are written past the caches.
fn stream_tiles(
    worker: &Worker,
    from: &[Byte],
    tiles: &PlaneTiling,
    drawn: Range<usize>,
    buffer: &mut [Byte],
) {
    let unit_bytes = tiles.unit_bytes();
    for n in drawn.clone() {
        let tile = tiles.nth(n);
        let BlockShape { rows, cols, from_pitch, to_pitch } = tile.block;
        if n + 1 < drawn.end {
            let ask = |at| simd::prefetch(from.as_ptr().wrapping_add(at));
            tiles.nth(n + 1).for_lines(unit_bytes, ask);
        }
        let turned = BlockShape { rows, cols, from_pitch, to_pitch: rows };
        simd::transpose(&from[tile.from..], buffer, turned, unit_bytes);
        worker.stream_rows(tile.to, to_pitch * unit_bytes, buffer, rows * unit_bytes, cols);
    }
}
