//! Arrays whose axes change places in pairs: pairs of tiles that take each other's places.
//!
//! Both tiles of a pair are transposed into scratch before either is written, and the rows of the next pair are asked for
//! meanwhile. Where few rows lie equally far apart, or digits of a row are no rows, some rows are first copied to a strip.
#![allow(unsafe_code)]

use turntile_perm::tile_pairs::Tile;
use turntile_perm::{AxisPermutation, TilePairs};
use turntile_simd::{self as simd, Block, Byte};

use crate::parts::{self, Draws};
use crate::shared::{Shared, Worker};

/// Bytes of a tile: two, and the next two, fit the second-level cache with their scratch.
const TILE_BYTES: usize = 64 << 10;
/// Rows of a strip.
const STRIP: usize = 32;
/// Bytes of a column that rows equally far apart make, from which they need no strip.
const RUN_BYTES: usize = 16;

/// An array whose axes change places in pairs, in tiles that do.
#[derive(Debug)]
pub struct AxisSwap {
    tiles: TilePairs,
    /// Bytes of a super-element.
    unit_bytes: usize,
    /// Columns that become neighbouring rows.
    together: usize,
    /// Bytes from a tile's first row to each.
    rows: Vec<usize>,
}

impl AxisSwap {
    /// None where a row's last axis changes place with another of the row, or super-elements fill a tile.
    pub fn new(axes: &AxisPermutation, elem_bytes: usize) -> Option<Self> {
        let unit_bytes = axes.unit() * elem_bytes;
        let tiles = TilePairs::new(&axes.without_unit(), TILE_BYTES / unit_bytes, 1)?;
        let together = tiles.together();
        let rows = (0..tiles.rows()).map(|row| tiles.row_offset(row) * unit_bytes).collect();
        (together > 1).then_some(AxisSwap { tiles, unit_bytes, together, rows })
    }

    /// Super-elements of a row that become neighbours of a column.
    pub fn together(&self) -> usize {
        self.together
    }

    /// Pairs of tiles.
    pub fn pairs(&self) -> usize {
        self.tiles.squares() * self.tiles.pairs()
    }

    /// Bytes that a thread needs beside the data: both tiles of a pair, and a strip.
    pub fn scratch_bytes(&self) -> usize {
        2 * self.tile_bytes() + self.strip_bytes()
    }

    fn tile_bytes(&self) -> usize {
        self.tiles.rows() * self.tiles.cols() * self.unit_bytes
    }

    fn strip_bytes(&self) -> usize {
        STRIP.min(self.tiles.rows()) * self.tiles.cols() * self.unit_bytes
    }

    /// The tiles of a pair; one that is its own partner twice.
    fn pair(&self, number: usize) -> [Tile; 2] {
        let (square, pair) = (number / self.tiles.pairs(), number % self.tiles.pairs());
        let (y, x) = self.tiles.pair(pair);
        [(y, x), (x, y)].map(|(y, x)| self.tiles.tile(square, y, x))
    }

    /// Moves all, pair by pair.
    pub fn run(&self, data: &mut [Byte], parts: usize, scratch: &mut [Byte]) {
        let shared = Shared::new(data);
        let draws = Draws::new(self.pairs(), parts);
        parts::run_on(0..parts, scratch, self.scratch_bytes(), |_, scratch| {
            // SAFETY: a pair of tiles is drawn by one part, and tiles of different pairs share no element.
            let worker = unsafe { shared.worker() };
            let (strip, tiles) = scratch.split_at_mut(self.strip_bytes());
            let (first, second) = tiles.split_at_mut(self.tile_bytes());
            while let Some(pairs) = draws.draw() {
                let mut next = self.pair(pairs.start);
                for number in pairs.clone() {
                    let [upper, lower] = next;
                    if number + 1 < pairs.end {
                        next = self.pair(number + 1);
                    }
                    self.read(&worker, [upper, lower, next[0]], strip, first);
                    if upper != lower {
                        self.read(&worker, [lower, upper, next[1]], strip, second);
                        self.write(&worker, upper, second);
                    }
                    self.write(&worker, lower, first);
                }
            }
        });
    }

    /// Where a row of a tile begins, in bytes.
    fn row(&self, tile: Tile, row: usize) -> usize {
        tile.offset * self.unit_bytes + self.rows[row]
    }

    /// Asks for a row of a tile, if it has so many.
    fn ask(&self, worker: &Worker, tile: Tile, row: usize) {
        if row < tile.rows {
            let start = worker.address(self.row(tile, row));
            simd::prefetch_run(start, tile.cols * self.unit_bytes);
        }
    }

    /// A tile to a buffer, as it will lie in its partner's place; rows of the tile `next` are asked for.
    fn read(
        &self,
        worker: &Worker,
        [tile, partner, next]: [Tile; 3],
        strip: &mut [Byte],
        buffer: &mut [Byte],
    ) {
        let (run, pitch) = self.tiles.run();
        let is_direct = self.tiles.are_transposed() && run * self.unit_bytes >= RUN_BYTES;
        let (together, row_bytes) = (self.together.min(tile.cols), tile.cols * self.unit_bytes);
        let mut first = 0;
        while first < tile.rows {
            // Rows of a strip become neighbouring columns.
            let most =
                if is_direct { run } else { STRIP.min(self.together - first % self.together) };
            let rows = most.min(tile.rows - first);
            (first..first + rows).for_each(|row| self.ask(worker, next, row));
            let block = Block { rows, cols: together, from_pitch: pitch, to_pitch: partner.cols };
            if is_direct {
                let to = &mut buffer[first * self.unit_bytes..];
                worker.read_transposed(self.row(tile, first), to, block, self.unit_bytes);
            } else {
                for (row, to) in (first..first + rows).zip(strip.chunks_exact_mut(row_bytes)) {
                    worker.read(self.row(tile, row), to);
                }
                let (block, shift) =
                    (Block { from_pitch: tile.cols, ..block }, self.tiles.shift(first));
                for col in (0..tile.cols).step_by(together) {
                    let to = self.tiles.origin(col);
                    let place = to.row * partner.cols + to.col + shift;
                    let from = &strip[col * self.unit_bytes..];
                    let to = &mut buffer[place * self.unit_bytes..];
                    simd::transpose(from, to, block, self.unit_bytes);
                }
            }
            first += rows;
        }
    }

    /// A buffer to a tile's place.
    fn write(&self, worker: &Worker, tile: Tile, buffer: &[Byte]) {
        let row_bytes = tile.cols * self.unit_bytes;
        for (row, from) in buffer.chunks_exact(row_bytes).take(tile.rows).enumerate() {
            worker.write(self.row(tile, row), from);
        }
    }
}
