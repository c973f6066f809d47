//! Quarter turns of square matrices in place: tiles rotate along orbits of four. A matrix that is
//! transposed with both axes reversed has orbits of two.
#![allow(unsafe_code)]

use turntile_simd::{self as simd, BlockShape, Byte, CACHE_LINE, PrefetchCursor, StridedRegion};

use crate::parallel::{self, WorkCounter};
use crate::shared::{SharedBytes, Worker};
use crate::square::Submatrix;

/// Maximum bytes of a tile, unless it is a single element or the middle one. One thread of a Xeon
/// (260 MiB of L3 cache), 8000 x 8000 floats, quarter turn, % of a transposition with tiles of 1, 4,
/// 16 and 64 KiB: 36, 53, 61 and 62 (November 2026).
const TILE_BYTES: usize = 16 << 10;

/// Rows of a tile that are moved at a time, between prefetches of another tile.
const STRIP: usize = 16;

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
    /// Elements per side of a tile.
    tile: usize,
}

impl SquareTurn {
    /// Creates the turn of `batch` squares of elements of `elem_bytes` bytes.
    pub fn new(batch: usize, side: usize, elem_bytes: usize, flips: [bool; 2]) -> Self {
        let most = (TILE_BYTES / elem_bytes).isqrt().max(1);
        let tile = 1 << most.ilog2();
        SquareTurn { batch, side, elem_bytes, flips, tile }
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

    /// Returns the scratch bytes per thread: two tiles, and one whose rows are reversed.
    pub fn scratch_bytes(&self) -> usize {
        3 * self.most_bytes()
    }

    fn most_bytes(&self) -> usize {
        let most = self.tile.min(self.side).max(self.cuts().1);
        (most * most).saturating_mul(self.elem_bytes)
    }

    /// Returns the first element of tile `k` of a side.
    fn start(&self, k: usize) -> usize {
        let count = self.cuts().0;
        if k <= count / 2 { k * self.tile } else { self.side - (count - k) * self.tile }
    }

    /// Returns tile `(p, q)` of a square.
    fn tile(&self, square: usize, [p, q]: [usize; 2]) -> Submatrix {
        let (row, col) = (self.start(p), self.start(q));
        let offset = ((square * self.side + row) * self.side + col) * self.elem_bytes;
        Submatrix { offset, rows: self.start(p + 1) - row, cols: self.start(q + 1) - col }
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
            let (strip, tiles) = scratch.split_at_mut(self.most_bytes());
            let (mut held, mut next) = tiles.split_at_mut(self.most_bytes());
            let claimed = std::iter::from_fn(|| counter.claim()).flatten();
            let mut orbits = claimed.filter_map(|number| self.orbit(number)).peekable();
            while let Some((square, tiles, count)) = orbits.next() {
                for (k, &tile) in tiles[..count].iter().enumerate() {
                    let tile = self.tile(square, tile);
                    let next_orbit = orbits.peek();
                    let ahead = next_orbit.map(|(square, tiles, _)| self.tile(*square, tiles[k]));
                    let mut lines = self.lines(&worker, ahead);
                    self.read(&worker, tile, strip, next, &mut lines);
                    if k > 0 {
                        self.write(&worker, tile, held, &mut lines);
                    }
                    lines.prefetch(usize::MAX);
                    std::mem::swap(&mut held, &mut next);
                }
                let mut none = self.lines(&worker, None);
                self.write(&worker, self.tile(square, tiles[0]), held, &mut none);
            }
        });
    }

    /// Returns the cache lines of a tile, to be prefetched.
    fn lines(&self, worker: &Worker, tile: Option<Submatrix>) -> PrefetchCursor {
        let region = tile.map_or(StridedRegion::NONE, |tile| StridedRegion {
            start: worker.address(tile.offset),
            count: tile.rows,
            bytes: tile.cols * self.elem_bytes,
            pitch: self.side * self.elem_bytes,
        });
        PrefetchCursor::new(region, StridedRegion::NONE)
    }

    /// Reads a tile into `to`: transposed if the result's rows are reversed, and with its rows
    /// reversed if the result's columns are. Meanwhile prefetches some of `lines`.
    fn read(
        &self,
        worker: &Worker,
        tile: Submatrix,
        strip: &mut [Byte],
        to: &mut [Byte],
        lines: &mut PrefetchCursor,
    ) {
        let (elem_bytes, row_bytes) = (self.elem_bytes, tile.cols * self.elem_bytes);
        let [transposed, reversed] = self.flips;
        let offset = |row: usize| tile.offset + row * self.side * elem_bytes;
        for first in (0..tile.rows).step_by(STRIP) {
            let rows = STRIP.min(tile.rows - first);
            let block =
                BlockShape { rows, cols: tile.cols, from_pitch: self.side, to_pitch: tile.rows };
            lines.prefetch(rows * row_bytes / CACHE_LINE / 2);
            if !reversed {
                worker.read_transposed(
                    offset(first),
                    &mut to[first * elem_bytes..],
                    block,
                    elem_bytes,
                );
                continue;
            }
            let buffer = if transposed { &mut *strip } else { &mut to[first * row_bytes..] };
            for (row, to) in buffer.chunks_exact_mut(row_bytes).take(rows).enumerate() {
                worker.read(offset(tile.rows - 1 - first - row), to);
            }
            if transposed {
                let block = BlockShape { from_pitch: tile.cols, ..block };
                simd::transpose(strip, &mut to[first * elem_bytes..], block, elem_bytes);
            }
        }
    }

    /// Writes what [`read`](Self::read) has read to the image of its tile. Meanwhile prefetches some
    /// of `lines`.
    fn write(&self, worker: &Worker, tile: Submatrix, from: &[Byte], lines: &mut PrefetchCursor) {
        let (elem_bytes, row_bytes) = (self.elem_bytes, tile.cols * self.elem_bytes);
        let offset = |row: usize| tile.offset + row * self.side * elem_bytes;
        for first in (0..tile.rows).step_by(STRIP) {
            let rows = STRIP.min(tile.rows - first);
            lines.prefetch(rows * row_bytes / CACHE_LINE / 2);
            if !self.flips[0] {
                let (rows, cols) = (tile.cols, rows);
                let block = BlockShape { rows, cols, from_pitch: tile.rows, to_pitch: self.side };
                let from = &from[first * elem_bytes..];
                worker.write_transposed(from, offset(first), block, elem_bytes);
                continue;
            }
            let from = from[first * row_bytes..].chunks_exact(row_bytes);
            for (row, from) in from.take(rows).enumerate() {
                worker.write(offset(tile.rows - 1 - first - row), from);
            }
        }
    }
}
