//! Quarter turns of square matrices in place: tiles rotate along orbits of four. A matrix that is
//! transposed with both axes reversed has orbits of two.
#![allow(unsafe_code)]

use turntile_simd::{BlockShape, Byte, CACHE_LINE, PrefetchCursor, StridedRegion};

use crate::parallel::{self, WorkCounter};
use crate::shared::{SharedBytes, Worker};
use crate::square::Submatrix;

/// Maximum bytes of a tile, unless it is a single element or the middle one. One thread of a Xeon
/// (260 MiB of L3 cache), 8000 x 8000 floats, quarter turn, % of a transposition with tiles of 4, 8,
/// 16 and 32 KiB: 59, 59, 70 and 70; 1000 x 1000 of 8 bytes: 64, 87, 91 and 50 (November 2026).
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

    /// Returns the scratch bytes per thread: one tile.
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
            let claimed = std::iter::from_fn(|| counter.claim()).flatten();
            let mut orbits = claimed.filter_map(|number| self.orbit(number)).peekable();
            while let Some((square, tiles, count)) = orbits.next() {
                let next = orbits.peek().copied();
                // While a tile moves, the lines of a tile of the next orbit are prefetched.
                let lines = |k: usize| {
                    let tile = next.map(|(square, tiles, _)| self.tile(square, tiles[k]));
                    self.lines(&worker, tile)
                };
                let last = self.tile(square, tiles[count - 1]);
                let row_bytes = last.cols * self.elem_bytes;
                for (row, to) in scratch.chunks_exact_mut(row_bytes).take(last.rows).enumerate() {
                    worker.read(last.offset + row * self.side * self.elem_bytes, to);
                }
                for k in (1..count).rev() {
                    let [from, to] = [k - 1, k].map(|k| self.tile(square, tiles[k]));
                    self.turn(&worker, from, to, None, lines(k));
                }
                self.turn(&worker, last, self.tile(square, tiles[0]), Some(scratch), lines(0));
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

    /// Moves the tile `from`, which is `held` in a buffer or in the memory, to `to`, its image.
    /// Meanwhile prefetches `lines`.
    fn turn(
        &self,
        worker: &Worker,
        from: Submatrix,
        to: Submatrix,
        held: Option<&[Byte]>,
        mut lines: PrefetchCursor,
    ) {
        let elem_bytes = self.elem_bytes;
        for first in (0..from.rows).step_by(STRIP) {
            let rows = STRIP.min(from.rows - first);
            let from_pitch = if held.is_some() { from.cols } else { self.side };
            let block = BlockShape { rows, cols: from.cols, from_pitch, to_pitch: self.side };
            lines.prefetch(rows * from.cols * elem_bytes / CACHE_LINE);
            let col = if self.flips[1] { from.rows - first - rows } else { first };
            let to = to.offset + col * elem_bytes;
            let start = first * from_pitch * elem_bytes;
            match held {
                Some(held) => {
                    worker.write_turned(&held[start..], to, block, elem_bytes, self.flips);
                }
                None => worker.turn(from.offset + start, to, block, elem_bytes, self.flips),
            }
        }
        lines.prefetch(usize::MAX);
    }
}
