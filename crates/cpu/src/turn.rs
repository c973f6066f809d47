//! Quarter turns of square matrices in place: tiles rotate along orbits of four. A matrix that is
//! transposed with both axes reversed has orbits of two.
#![allow(unsafe_code)]

use turntile_simd::{self as simd, BlockShape, Byte};

use crate::parallel::{self, WorkCounter};
use crate::shared::{SharedBytes, Worker};
use crate::square::Submatrix;

/// Maximum bytes of a tile, unless it is a single element or the middle one.
const TILE_BYTES: usize = 16 << 10;

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
            let orbits = std::iter::from_fn(|| counter.claim()).flatten();
            for (square, tiles, count) in orbits.filter_map(|number| self.orbit(number)) {
                self.read(&worker, self.tile(square, tiles[0]), strip, held);
                for &tile in &tiles[1..count] {
                    let tile = self.tile(square, tile);
                    self.read(&worker, tile, strip, next);
                    self.write(&worker, tile, held);
                    std::mem::swap(&mut held, &mut next);
                }
                self.write(&worker, self.tile(square, tiles[0]), held);
            }
        });
    }

    /// Reads a tile into `to`, transposed, with its columns reversed if the result's are.
    fn read(&self, worker: &Worker, tile: Submatrix, strip: &mut [Byte], to: &mut [Byte]) {
        let Submatrix { offset, rows, cols } = tile;
        let block = BlockShape { rows, cols, from_pitch: self.side, to_pitch: rows };
        if !self.flips[1] {
            worker.read_transposed(offset, to, block, self.elem_bytes);
            return;
        }
        let row_bytes = cols * self.elem_bytes;
        for (row, to) in strip.chunks_exact_mut(row_bytes).take(rows).enumerate() {
            worker.read(offset + (rows - 1 - row) * self.side * self.elem_bytes, to);
        }
        simd::transpose(strip, to, BlockShape { from_pitch: cols, ..block }, self.elem_bytes);
    }

    /// Writes a tile, with its rows reversed if the result's are.
    fn write(&self, worker: &Worker, tile: Submatrix, from: &[Byte]) {
        let Submatrix { offset, rows, cols } = tile;
        let (row_bytes, pitch) = (cols * self.elem_bytes, self.side * self.elem_bytes);
        for (row, from) in from.chunks_exact(row_bytes).take(rows).enumerate() {
            let row = if self.flips[0] { rows - 1 - row } else { row };
            worker.write(offset + row * pitch, from);
        }
    }
}
