//! Quarter turns of square matrices in place: tiles rotate along orbits of four. A matrix that is
//! transposed with both axes reversed has orbits of two.
#![allow(unsafe_code)]

use turntile_simd::{BlockShape, Byte, CACHE_LINE, PrefetchCursor, StridedRegion};

use crate::parallel::{self, WorkCounter};
use crate::shared::{SharedBytes, Worker};

/// Maximum bytes of a tile, unless it is a single element or the middle one. One thread of a Xeon
/// (260 MiB of L3 cache), 8000 x 8000 floats, quarter turn, % of a transposition with tiles of 4, 8,
/// 16 and 32 KiB: 59, 59, 70 and 70; 1000 x 1000 of 8 bytes: 64, 87, 91 and 50 (November 2026).
const TILE_BYTES: usize = 16 << 10;

/// Maximum bytes of a piece of a tile, which moves with its three images. One thread of that Xeon,
/// quarter turn, % of a transposition with whole tiles and with pieces: 1000 x 1000 floats 59 and 83,
/// 2000 x 2000 55 and 75, 1000 x 1000 of 8 bytes 86 and 85 (November 2026).
const PIECE_BYTES: usize = 8 << 10;

/// Transposition of squares of `side` x `side` elements that reverses axes of the result.
///
/// Tiles are cut symmetrically from both ends of a side, so that the image of a tile is a tile. A
/// tile in the middle of a side has up to twice the side of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SquareTurn {
    batch: usize,
    side: usize,
    elem_bytes: usize,
    /// Whether the rows and the columns of the result are reversed. At least one is.
    flips: [bool; 2],
    /// Elements per side of a tile, and of a piece of a tile.
    tile: usize,
    piece: usize,
}

/// A rectangle of a square: first row and column, and their numbers.
#[derive(Clone, Copy)]
struct Rectangle {
    row: usize,
    col: usize,
    rows: usize,
    cols: usize,
}

impl SquareTurn {
    /// Creates the turn of `batch` squares of elements of `elem_bytes` bytes.
    pub fn new(batch: usize, side: usize, elem_bytes: usize, flips: [bool; 2]) -> Self {
        let within = |bytes: usize| 1 << (bytes / elem_bytes).isqrt().max(1).ilog2();
        let [tile, piece] = [TILE_BYTES, PIECE_BYTES].map(within);
        SquareTurn { batch, side, elem_bytes, flips, tile, piece }
    }

    /// Returns the number of elements per side.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Returns the number of tiles per side, and the elements per side of the middle tile, or 0
    /// without a middle tile.
    fn cuts(&self) -> (usize, usize) {
        let half = self.side / (2 * self.tile);
        let middle = self.side - 2 * half * self.tile;
        (2 * half + usize::from(middle > 0), middle)
    }

    /// Returns the number of tiles of all squares.
    pub fn tiles(&self) -> usize {
        self.batch * self.cuts().0 * self.cuts().0
    }

    /// Returns the scratch bytes per thread: one tile, since a tile may be its own image.
    pub fn scratch_bytes(&self) -> usize {
        let most = self.tile.min(self.side).max(self.cuts().1);
        (most * most).saturating_mul(self.elem_bytes)
    }

    /// Returns the first element of tile `k` of a side.
    fn start(&self, k: usize) -> usize {
        let count = self.cuts().0;
        if k <= count / 2 { k * self.tile } else { self.side - (count - k) * self.tile }
    }

    /// Returns tile `(p, q)` of a square.
    fn tile(&self, [p, q]: [usize; 2]) -> Rectangle {
        let (row, col) = (self.start(p), self.start(q));
        Rectangle { row, col, rows: self.start(p + 1) - row, cols: self.start(q + 1) - col }
    }

    /// Returns the pieces of the first tile of an orbit of `count` tiles. A tile that is its own
    /// image is one piece.
    fn pieces(&self, tile: Rectangle, count: usize) -> impl Iterator<Item = Rectangle> {
        let step = if count > 1 { self.piece } else { self.tile.max(self.cuts().1) };
        let cut = move |len: usize| (0..len).step_by(step).map(move |at| (at, step.min(len - at)));
        cut(tile.rows).flat_map(move |(row, rows)| {
            cut(tile.cols).map(move |(col, cols)| Rectangle {
                row: tile.row + row,
                col: tile.col + col,
                rows,
                cols,
            })
        })
    }

    /// Returns the rectangle to which a rectangle moves.
    fn moved(&self, from: Rectangle) -> Rectangle {
        let Rectangle { row, col, rows, cols } = from;
        let place = |flip, at, len| if flip { self.side - at - len } else { at };
        let (to, from) = (place(self.flips[0], col, cols), place(self.flips[1], row, rows));
        Rectangle { row: to, col: from, rows: cols, cols: rows }
    }

    /// Returns the offset of a rectangle of a square in bytes.
    fn offset(&self, square: usize, at: Rectangle) -> usize {
        ((square * self.side + at.row) * self.side + at.col) * self.elem_bytes
    }

    /// Returns the tile to which tile `(p, q)` moves.
    fn image(&self, [p, q]: [usize; 2]) -> [usize; 2] {
        let last = self.cuts().0 - 1;
        let place = |flip, k| if flip { last - k } else { k };
        [place(self.flips[0], q), place(self.flips[1], p)]
    }

    /// Returns the orbit that starts at tile `number`, as the square and the tiles, and their
    /// number, if no tile of the orbit has a lower number.
    fn orbit(&self, number: usize) -> Option<(usize, [[usize; 2]; 4], usize)> {
        let count = self.cuts().0;
        let (square, first) = (number / (count * count), number % (count * count));
        let mut tiles = [[first / count, first % count]; 4];
        for k in 1..4 {
            tiles[k] = self.image(tiles[k - 1]);
            if tiles[k] == tiles[0] {
                return Some((square, tiles, k));
            }
            if tiles[k] < tiles[0] {
                return None;
            }
        }
        Some((square, tiles, 4))
    }

    /// Turns all squares, on `threads` threads.
    pub fn run(&self, data: &mut [Byte], threads: usize, scratch: &mut [Byte]) {
        let shared = SharedBytes::new(data);
        let counter = WorkCounter::new(self.tiles(), threads);
        parallel::for_each_thread(0..threads, scratch, self.scratch_bytes(), |_, scratch| {
            // SAFETY: each tile is claimed by one thread, which moves the orbit of the tile if no
            // tile of it has a lower number. Orbits share no element.
            let worker = unsafe { shared.worker() };
            let claimed = std::iter::from_fn(|| counter.claim()).flatten();
            let mut orbits = claimed.filter_map(|number| self.orbit(number)).peekable();
            let pitch = self.side * self.elem_bytes;
            while let Some((square, tiles, count)) = orbits.next() {
                // While a tile moves, the lines of a tile of the next orbit are prefetched.
                let next = orbits.peek().copied();
                let mut lines = [0, 1, 2, 3].map(|k| {
                    let region = next.map_or(StridedRegion::NONE, |(square, tiles, _)| {
                        let tile = self.tile(tiles[k]);
                        StridedRegion {
                            start: worker.address(self.offset(square, tile)),
                            count: tile.rows,
                            bytes: tile.cols * self.elem_bytes,
                            pitch,
                        }
                    });
                    PrefetchCursor::new(region, StridedRegion::NONE)
                });
                for piece in self.pieces(self.tile(tiles[0]), count) {
                    let mut pieces = [piece; 4];
                    for k in 1..count {
                        pieces[k] = self.moved(pieces[k - 1]);
                    }
                    let last = pieces[count - 1];
                    let (at, row_bytes) = (self.offset(square, last), last.cols * self.elem_bytes);
                    for (row, to) in scratch.chunks_exact_mut(row_bytes).take(last.rows).enumerate()
                    {
                        worker.read(at + row * pitch, to);
                    }
                    let count_lines = piece.rows * row_bytes / CACHE_LINE;
                    for k in (1..count).rev() {
                        lines[k].prefetch(count_lines);
                        self.turn(&worker, square, pieces[k - 1], pieces[k], None);
                    }
                    lines[0].prefetch(count_lines);
                    self.turn(&worker, square, last, piece, Some(scratch));
                }
                lines.iter_mut().for_each(|lines| lines.prefetch(usize::MAX));
            }
        });
    }

    /// Moves the rectangle `from`, which is `held` in a buffer or in the memory, to `to`, its image.
    fn turn(
        &self,
        worker: &Worker,
        square: usize,
        from: Rectangle,
        to: Rectangle,
        held: Option<&[Byte]>,
    ) {
        let Rectangle { rows, cols, .. } = from;
        let from_pitch = if held.is_some() { cols } else { self.side };
        let block = BlockShape { rows, cols, from_pitch, to_pitch: self.side };
        let [from, to] = [from, to].map(|at| self.offset(square, at));
        match held {
            Some(held) => worker.write_turned(held, to, block, self.elem_bytes, self.flips),
            None => worker.turn(from, to, block, self.elem_bytes, self.flips),
        }
    }
}
