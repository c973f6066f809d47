//! Matrices transposed from one buffer to another, tile by tile, and arrays with their axes in any order; what stays in
//! order is copied.
#![allow(unsafe_code)]

use std::ops::Range;

use turntile_simd::{self as simd, Block, Byte};

use crate::out_of_place::OutOfPlace;
use crate::parts::{self, Draws};
use crate::permuted::{Moved, Permuted};
use crate::shared::{Shared, Worker};

/// Transposes `from` into `to`, tile by tile, on up to `threads` threads.
///
/// # Panics
/// When a buffer is not as long as the matrices.
pub fn transpose_into(to: &mut [Byte], from: &[Byte], matrices: OutOfPlace, threads: usize) {
    assert_eq!((to.len(), from.len()), (matrices.bytes(), matrices.bytes()));
    let parts = matrices.parts(threads);
    if matrices.stay() {
        return copy(to, from, parts);
    }
    let shared = Shared::new(to);
    let draws = Draws::new(matrices.tiles(), parts);
    parts::run_on(0..parts, &mut [], 0, |_, _| {
        // SAFETY: a tile is drawn by one part, and tiles share no element.
        let worker = unsafe { shared.worker() };
        let buffered = if matrices.streams() { matrices.tile_bytes() } else { 0 };
        let mut buffer = Box::new_uninit_slice(buffered);
        while let Some(tiles) = draws.draw() {
            if matrices.streams() {
                stream_tiles(&worker, from, matrices, tiles, &mut buffer);
                continue;
            }
            for tile in tiles.map(|n| matrices.nth(n)) {
                let (source, elem_bytes) = (&from[tile.from..], matrices.elem_bytes);
                worker.write_transposed(source, tile.to, tile.block, elem_bytes);
            }
        }
    });
}

/// Permutes the axes of `from` into `to`, block by block, on up to `threads` threads.
///
/// # Panics
/// When a buffer is not as long as the array.
pub fn permute_into(to: &mut [Byte], from: &[Byte], permuted: &Permuted, threads: usize) {
    assert_eq!((to.len(), from.len()), (permuted.bytes(), permuted.bytes()));
    let (shared, parts) = (Shared::new(to), permuted.parts(threads));
    let draws = Draws::new(permuted.blocks(), parts);
    parts::run_on(0..parts, &mut [], 0, |_, _| {
        // SAFETY: a block is drawn by one part, and blocks share no element.
        let worker = unsafe { shared.worker() };
        for n in std::iter::from_fn(|| draws.draw()).flatten() {
            let Moved { from: source, to, block } = permuted.nth(n);
            worker.write_transposed(&from[source..], to, block, permuted.unit_bytes());
        }
    });
}

/// Copies `from` to `to`, as long, on `parts` threads.
fn copy(to: &mut [Byte], from: &[Byte], parts: usize) {
    let shares = || (0..parts).map(|part| parts::share(from.len(), parts, part));
    let pieces: Vec<_> = shares().zip(parts::cut(to, shares().map(|share| share.len()))).collect();
    parts::run_on(pieces, &mut [], 0, |(share, to), _| to.copy_from_slice(&from[share]));
}

/// Tiles through a buffer, whose rows are written past the caches.
fn stream_tiles(
    worker: &Worker,
    from: &[Byte],
    matrices: OutOfPlace,
    tiles: Range<usize>,
    buffer: &mut [Byte],
) {
    let elem_bytes = matrices.elem_bytes;
    for n in tiles.clone() {
        let tile = matrices.nth(n);
        let Block { rows, cols, from_pitch, to_pitch } = tile.block;
        if n + 1 < tiles.end {
            let ask = |at| simd::prefetch(from.as_ptr().wrapping_add(at));
            matrices.nth(n + 1).for_lines(elem_bytes, ask);
        }
        let turned = Block { rows, cols, from_pitch, to_pitch: rows };
        simd::transpose(&from[tile.from..], buffer, turned, elem_bytes);
        worker.stream_rows(tile.to, to_pitch * elem_bytes, buffer, rows * elem_bytes, cols);
    }
}
