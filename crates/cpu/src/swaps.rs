//! In-place transposition of square matrices on the CPU by swapping tiles.
#![allow(unsafe_code)]

use turntile_simd::{BlockShape, Byte, PrefetchCursor, StridedRegion};

use crate::epilogue::Epilogue;
use crate::parallel::{self, WorkCounter};
use crate::shared::{SharedBytes, Worker};
use crate::square::{SquareTiling, Submatrix, TILE_BYTES};

/// Transposes all squares in place, block pair by block pair. The epilogue, if any, is applied to
/// each pair while it is cached.
pub fn turn_squares(
    data: &mut [Byte],
    squares: SquareTiling,
    threads: usize,
    epilogue: Option<&Epilogue>,
) {
    let shared = SharedBytes::new(data);
    let counter = WorkCounter::new(squares.pairs(), threads);
    parallel::for_each_thread(0..threads, &mut [], 0, |_, _| {
        // SAFETY: each pair of blocks is claimed by one thread, and blocks of different pairs share
        // no element.
        let worker = unsafe { shared.worker() };
        let mut buffer = [Byte::uninit(); TILE_BYTES];
        let rows = |block: Option<Submatrix>| {
            block.map_or(StridedRegion::NONE, |Submatrix { offset, rows, cols }| StridedRegion {
                start: worker.address(offset),
                count: rows,
                bytes: cols * squares.elem_bytes,
                pitch: squares.pitch,
            })
        };
        let (pitch, elem_bytes) = (squares.pitch, squares.elem_bytes);
        // Nearly all tiles have this size, so their kernel is looked up once.
        let side = squares.tile;
        let any = side <= squares.side && squares.pairs() > 0;
        let whole = any.then(|| worker.squares(pitch, side, elem_bytes));
        let whole = whole.flatten();
        while let Some(pairs) = counter.claim() {
            let mut next = squares.pair(pairs.start);
            for _ in pairs {
                let here = next;
                next = here.next();
                let [upper, lower] = next.blocks().map(rows);
                let mut lines = PrefetchCursor::new(upper, lower);
                here.for_tile_pairs(|upper, lower| {
                    let offsets = [upper.offset, lower.unwrap_or(upper).offset];
                    let side = (upper.rows == upper.cols).then_some(upper.rows);
                    match &whole {
                        Some(whole) if side == Some(whole.side()) => {
                            whole.swap(offsets, &mut lines)
                        }
                        _ => match side.and_then(|side| worker.squares(pitch, side, elem_bytes)) {
                            Some(squares) => squares.swap(offsets, &mut lines),
                            None => {
                                swap_tiles(&worker, squares, upper, lower, &mut buffer);
                                lines.prefetch(upper.rows + upper.cols);
                            }
                        },
                    }
                });
                // A block on the diagonal may have fewer tiles than the prefetched pair.
                lines.prefetch_rest();
                if let Some(epilogue) = epilogue {
                    for Submatrix { offset, rows, cols } in here.blocks().into_iter().flatten() {
                        (0..rows).for_each(|r| {
                            epilogue.row(&worker, offset + r * pitch, cols * elem_bytes)
                        });
                    }
                }
            }
        }
    });
}

/// Swaps two tiles and transposes each. If `lower` is `None`, transposes `upper` in place.
fn swap_tiles(
    worker: &Worker,
    squares: SquareTiling,
    upper: Submatrix,
    lower: Option<Submatrix>,
    buffer: &mut [Byte; TILE_BYTES],
) {
    let (pitch, elem_bytes) = (squares.pitch, squares.elem_bytes);
    if elem_bytes > TILE_BYTES {
        // Each tile is one element; on the diagonal it is unchanged.
        if let Some(lower) = lower {
            worker.swap(upper.offset, lower.offset, elem_bytes);
        }
        return;
    }
    let from_pitch = pitch / elem_bytes;
    let block = |from: Submatrix, to_pitch| BlockShape {
        rows: from.rows,
        cols: from.cols,
        from_pitch,
        to_pitch,
    };
    worker.read_transposed(upper.offset, buffer, block(upper, upper.rows), elem_bytes);
    if let Some(lower) = lower {
        worker.transpose(lower.offset, upper.offset, block(lower, from_pitch), elem_bytes);
    }
    let into = lower.unwrap_or(upper);
    worker.write_rows(into.offset, pitch, buffer, into.cols * elem_bytes, into.rows);
}
