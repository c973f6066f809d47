//! Axis permutations that swap axes in pairs: swaps of pairs of tiles.
//!
//! Both tiles of a pair are transposed into scratch before either is written. Meanwhile the rows of
//! the next pair are prefetched. Pairs are ordered by pairs of *groups* of tiles, so that pages and
//! lines shared by tiles are reused soon. If columns have less than 16 bytes at a constant stride,
//! or a tile's partner is not its transpose, rows are first copied to a strip.
#![allow(unsafe_code)]

use turntile_perm::tile_pairs::{self, TileSpan};
use turntile_perm::{AxisPermutation, TilePairs};
use turntile_simd::{self as simd, BlockShape, Byte};

use crate::parallel::{self, WorkCounter};
use crate::shared::{SharedBytes, Worker};

/// Maximum bytes of a tile. Two tiles, and the next two, fit the second-level cache with scratch.
const TILE_BYTES: usize = 64 << 10;
/// Maximum number of tiles along each side of a group. One thread of an EPYC (Milan), floats, % of
/// a copy with groups of 1, 2, 4 and 8. Six axes of 20: 31-34, 36-38, 40-44, 41-44; of 16: 62-65,
/// 59-72, 73-75, 74. 40 x 50 x 50 x 40 x 12 with axes swapped in pairs: 63-65, 60-72, 68-73, 72-81.
const GROUP: usize = 4;
/// Minimum number of pairs of groups of tiles. With fewer, groups are smaller, so that threads have
/// enough pairs to share.
const LEAST_PAIRS: usize = 128;
/// Maximum number of tile rows in a strip of scratch.
const STRIP: usize = 32;
/// Minimum bytes of a column at a constant stride for direct reads. Shorter columns are read
/// through a strip.
const RUN_BYTES: usize = 16;

/// In-place swap of pairs of tiles, for an array whose axes are swapped in pairs.
#[derive(Debug)]
pub struct InvolutionSwap {
    tiles: TilePairs,
    /// Number of tiles along each side of a group.
    group: usize,
    /// Bytes of a unit.
    unit_bytes: usize,
    /// Number of adjacent units of a row that become adjacent in a column.
    together: usize,
    /// Byte offset of each row from a tile's first row.
    rows: Vec<usize>,
}

impl InvolutionSwap {
    /// Creates the swap. Returns `None` unless axes swap in pairs, the last one with an axis
    /// outside a tile's row, and a unit fits a tile.
    pub fn new(axes: &AxisPermutation, elem_bytes: usize) -> Option<Self> {
        let unit_bytes = axes.unit() * elem_bytes;
        let tiles = TilePairs::new(&axes.without_unit(), TILE_BYTES / unit_bytes, 1)?;
        let together = tiles.together();
        let rows = (0..tiles.rows()).map(|row| tiles.row_offset(row) * unit_bytes).collect();
        let pairs =
            |group| tiles.squares() * tile_pairs::triangle_len(tiles.across().div_ceil(group));
        let group = [GROUP, 2].into_iter().find(|&group| pairs(group) >= LEAST_PAIRS).unwrap_or(1);
        (together > 1).then_some(InvolutionSwap { tiles, group, unit_bytes, together, rows })
    }

    /// Returns the number of adjacent units of a row that become adjacent in a column.
    pub fn together(&self) -> usize {
        self.together
    }

    /// Returns the number of pairs of groups of tiles.
    pub fn pairs(&self) -> usize {
        self.tiles.squares() * tile_pairs::triangle_len(self.groups())
    }

    /// Returns the number of groups across a square of tiles.
    fn groups(&self) -> usize {
        self.tiles.across().div_ceil(self.group)
    }

    /// Returns the scratch bytes per thread: both tiles of a pair, and a strip.
    pub fn scratch_bytes(&self) -> usize {
        2 * self.tile_bytes() + self.strip_bytes()
    }

    fn tile_bytes(&self) -> usize {
        self.tiles.rows() * self.tiles.cols() * self.unit_bytes
    }

    fn strip_bytes(&self) -> usize {
        STRIP.min(self.tiles.rows()) * self.tiles.cols() * self.unit_bytes
    }

    /// Returns the pairs of tiles of pair `number` of groups. A tile that is its own partner is
    /// returned as `[tile, tile]`.
    fn pair(&self, number: usize) -> impl Iterator<Item = [TileSpan; 2]> {
        let (across, pairs) = (self.tiles.across(), tile_pairs::triangle_len(self.groups()));
        let (square, (down, right)) =
            (number / pairs, tile_pairs::triangle_index(self.groups(), number % pairs));
        let members = move |k: usize| k * self.group..((k + 1) * self.group).min(across);
        let tiles = members(down).flat_map(move |y| members(right).map(move |x| (y, x)));
        let tile = move |y, x| self.tiles.tile(square, y, x);
        tiles.filter(|(y, x)| y <= x).map(move |(y, x)| [tile(y, x), tile(x, y)])
    }

    /// Swaps all pairs of tiles.
    pub fn run(&self, data: &mut [Byte], threads: usize, scratch: &mut [Byte]) {
        let shared = SharedBytes::new(data);
        let counter = WorkCounter::new(self.pairs(), threads);
        parallel::for_each_thread(0..threads, scratch, self.scratch_bytes(), |_, scratch| {
            // SAFETY: each pair of tiles is claimed by one thread, and tiles of different pairs
            // share no element.
            let worker = unsafe { shared.worker() };
            let (strip, tiles) = scratch.split_at_mut(self.strip_bytes());
            let (first, second) = tiles.split_at_mut(self.tile_bytes());
            while let Some(pairs) = counter.claim() {
                let mut tiles = pairs.flat_map(|number| self.pair(number)).peekable();
                while let Some([upper, lower]) = tiles.next() {
                    let next = *tiles.peek().unwrap_or(&[upper, lower]);
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

    /// Returns the byte offset of a row of a tile.
    fn row(&self, tile: TileSpan, row: usize) -> usize {
        tile.offset * self.unit_bytes + self.rows[row]
    }

    /// Prefetches row `row` of a tile, if it exists.
    fn prefetch(&self, worker: &Worker, tile: TileSpan, row: usize) {
        if row < tile.rows {
            let start = worker.address(self.row(tile, row));
            simd::prefetch_run(start, tile.cols * self.unit_bytes);
        }
    }

    /// Copies a tile to a scratch buffer in its partner's layout. Meanwhile prefetches rows of the
    /// tile `next`.
    fn read(
        &self,
        worker: &Worker,
        [tile, partner, next]: [TileSpan; 3],
        strip: &mut [Byte],
        buffer: &mut [Byte],
    ) {
        let (run, pitch) = self.tiles.run();
        let is_direct = self.tiles.are_transposed() && run * self.unit_bytes >= RUN_BYTES;
        let (together, row_bytes) = (self.together.min(tile.cols), tile.cols * self.unit_bytes);
        let mut first = 0;
        while first < tile.rows {
            // Rows of a strip become adjacent columns.
            let most =
                if is_direct { run } else { STRIP.min(self.together - first % self.together) };
            let rows = most.min(tile.rows - first);
            (first..first + rows).for_each(|row| self.prefetch(worker, next, row));
            let block =
                BlockShape { rows, cols: together, from_pitch: pitch, to_pitch: partner.cols };
            if is_direct {
                let to = &mut buffer[first * self.unit_bytes..];
                worker.read_transposed(self.row(tile, first), to, block, self.unit_bytes);
            } else {
                for (row, to) in (first..first + rows).zip(strip.chunks_exact_mut(row_bytes)) {
                    worker.read(self.row(tile, row), to);
                }
                let (block, shift) =
                    (BlockShape { from_pitch: tile.cols, ..block }, self.tiles.shift(first));
                for col in (0..tile.cols).step_by(together) {
                    let to = self.tiles.origin(col);
                    let offset = to.row * partner.cols + to.col + shift;
                    let from = &strip[col * self.unit_bytes..];
                    let to = &mut buffer[offset * self.unit_bytes..];
                    simd::transpose(from, to, block, self.unit_bytes);
                }
            }
            first += rows;
        }
    }

    /// Writes a scratch buffer to a tile.
    fn write(&self, worker: &Worker, tile: TileSpan, buffer: &[Byte]) {
        let row_bytes = tile.cols * self.unit_bytes;
        for (row, from) in buffer.chunks_exact(row_bytes).take(tile.rows).enumerate() {
            worker.write(self.row(tile, row), from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that, for any group size, groups cover every pair of tiles once, and the swap moves
    /// every element.
    #[test]
    fn swap_moves_every_element_for_any_group_size() {
        for (extents, order) in [
            (&[17, 17][..], &[1, 0][..]),
            (&[2, 9, 3, 9], &[0, 3, 2, 1]),
            (&[4, 3, 2, 4, 3], &[3, 4, 2, 0, 1]),
        ] {
            let axes = AxisPermutation::new(extents, order).unwrap();
            // Tiles of four units per side, or as close as the axes allow.
            let elem_bytes = TILE_BYTES / 16;
            let swap = InvolutionSwap::new(&axes, elem_bytes).unwrap();
            let from: Vec<u8> = (0..axes.len() * elem_bytes)
                .map(|k| (k.wrapping_mul(2_654_435_761) >> 13) as u8)
                .collect();
            let dest = |k: usize| axes.dest(k / elem_bytes) * elem_bytes + k % elem_bytes;
            for group in [1, 2, 3, 4, 50] {
                let swap = InvolutionSwap {
                    group,
                    tiles: swap.tiles.clone(),
                    rows: swap.rows.clone(),
                    ..swap
                };
                let count = (0..swap.pairs()).flat_map(|number| swap.pair(number)).count();
                let all = swap.tiles.squares() * tile_pairs::triangle_len(swap.tiles.across());
                assert_eq!(count, all, "{axes} {group}");
                let mut data: Vec<Byte> = from.iter().map(|&byte| Byte::new(byte)).collect();
                let mut scratch = vec![Byte::new(0); 2 * swap.scratch_bytes()];
                swap.run(&mut data, 2, &mut scratch);
                // SAFETY: all bytes were initialised, and the run only permutes them.
                let value = |byte: &Byte| unsafe { byte.assume_init() };
                assert!(
                    (0..from.len()).all(|k| value(&data[dest(k)]) == from[k]),
                    "{axes} {group}"
                );
            }
        }
    }
}
