//! Squares transposed where they lie: tiles that change places.
#![allow(unsafe_code)]

use turntile_simd::{Block, Byte, Lines, Rows};

use crate::parts;
use crate::shared::{Shared, Worker};
use crate::squares::{Squares, TILE_BYTES, Tile};

/// Transposes all squares, block pair by block pair.
pub fn turn_squares(data: &mut [Byte], squares: Squares, parts: usize) {
    let shared = Shared::new(data);
    parts::run_on(0..parts, &mut [], 0, |part, _| {
        // SAFETY: a pair of blocks belongs to one part, and blocks of different pairs share no element.
        let worker = unsafe { shared.worker() };
        let mut buffer = [Byte::uninit(); TILE_BYTES];
        let pairs = parts::share(squares.pairs(), parts, part);
        let mut next = squares.pair(pairs.start);
        let rows = |block: Option<Tile>| {
            block.map_or(Rows::NONE, |Tile { offset, rows, cols }| Rows {
                start: worker.address(offset),
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
                let square = upper.rows == upper.cols;
                let places = [upper.offset, lower.unwrap_or(upper).offset];
                let (side, pitch, elem_bytes) = (upper.rows, squares.pitch(), squares.elem_bytes);
                if !square || !worker.swap_squares(places, pitch, side, elem_bytes, &mut lines) {
                    swap_tiles(&worker, squares, upper, lower, &mut buffer);
                    lines.ask(upper.rows + upper.cols);
                }
            });
            // Blocks on the diagonal are smaller than those beside it.
            lines.ask_rest();
        }
    });
}

/// Puts each of two tiles, transposed, in the other's place; `upper` in its own when it is alone.
fn swap_tiles(
    worker: &Worker,
    squares: Squares,
    upper: Tile,
    lower: Option<Tile>,
    buffer: &mut [Byte; TILE_BYTES],
) {
    let (pitch, elem_bytes) = (squares.pitch(), squares.elem_bytes);
    if elem_bytes > TILE_BYTES {
        // Tiles of one element; on the diagonal it stays.
        if let Some(lower) = lower {
            worker.swap(upper.offset, lower.offset, elem_bytes);
        }
        return;
    }
    let from_pitch = pitch / elem_bytes;
    let block =
        |from: Tile, to_pitch| Block { rows: from.rows, cols: from.cols, from_pitch, to_pitch };
    worker.read_transposed(upper.offset, buffer, block(upper, upper.rows), elem_bytes);
    if let Some(lower) = lower {
        worker.transpose(lower.offset, upper.offset, block(lower, from_pitch), elem_bytes);
    }
    let into = lower.unwrap_or(upper);
    for (r, line) in buffer.chunks_exact(into.cols * elem_bytes).take(into.rows).enumerate() {
        worker.write(into.offset + r * pitch, line);
    }
}
