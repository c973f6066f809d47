//! Any permutation of axes from one buffer to another: which blocks, or runs, go where.
//!
//! Where the last axis stays, runs of it are copied, in the order of the source. Elsewhere the last axis of the source and
//! the last of the result span planes, whose tiles are transposed; all other axes number the planes.

use turntile_perm::AxisPermutation;
use turntile_perm::axes::MOST_AXES;
use turntile_simd::Block;

/// Bytes of a row of a tile, before and after: a few lines.
const TILE_ROW_BYTES: usize = 512;
/// Bytes that are worth a thread.
const SHARE_BYTES: usize = 1 << 20;

/// An array whose axes are permuted on the way to another place, in blocks of elements or in runs.
#[derive(Clone, Copy, Debug)]
pub struct Permuted {
    /// Axes that number the planes, or the runs, from the last one of the source on.
    outer: [Outer; MOST_AXES],
    count: usize,
    /// A plane: a single one of a run's bytes where the last axis stays.
    plane: Block,
    /// Rows and columns of a tile.
    tile: [usize; 2],
    /// Bytes of what is moved as one: an element, or a run.
    unit_bytes: usize,
    len: usize,
}

/// An axis, and what its numbers count before and after, in units.
#[derive(Clone, Copy, Debug, Default)]
struct Outer {
    extent: usize,
    from: usize,
    to: usize,
}

/// A block of units, and the byte offsets of its first before and after.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// Before.
    pub from: usize,
    /// After.
    pub to: usize,
    /// Extents and pitches in units.
    pub block: Block,
}

impl Permuted {
    /// Of elements of `elem_bytes` bytes.
    pub fn new(axes: &AxisPermutation, elem_bytes: usize) -> Self {
        let unit = axes.unit();
        let units = if unit > 1 { axes.without_unit() } else { *axes };
        let (extents, rank) = (units.extents(), units.extents().len());
        let mut all = [Outer::default(); MOST_AXES];
        let (mut from, mut to) = (1, 1);
        for axis in (0..rank).rev() {
            all[axis].extent = extents[axis];
            all[axis].from = from;
            from *= extents[axis];
        }
        let mut last = None;
        // From the last axis of the result on.
        let order = units.order();
        for place in (0..rank).rev() {
            let axis = order.clone().nth(place).unwrap_or(0);
            last = last.or(Some(axis));
            all[axis].to = to;
            to *= extents[axis];
        }
        let unit_bytes = unit * elem_bytes;
        let mut permuted = Permuted {
            outer: all,
            count: 0,
            plane: Block { rows: 1, cols: 1, from_pitch: 1, to_pitch: 1 },
            tile: [1, 1],
            unit_bytes,
            len: units.len(),
        };
        let (g, f) = (last.unwrap_or(0), rank.saturating_sub(1));
        let planes = unit == 1 && g != f;
        if planes {
            permuted.plane = Block {
                rows: all[g].extent,
                cols: all[f].extent,
                from_pitch: all[g].from,
                to_pitch: all[f].to,
            };
            let most = (TILE_ROW_BYTES / unit_bytes).max(1);
            permuted.tile = [most.min(all[g].extent), most.min(all[f].extent)];
        }
        for axis in (0..rank).rev().filter(|&axis| !planes || (axis != g && axis != f)) {
            permuted.outer[permuted.count] = all[axis];
            permuted.count += 1;
        }
        permuted
    }

    /// Bytes of what is moved as one.
    pub fn unit_bytes(&self) -> usize {
        self.unit_bytes
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        self.len * self.unit_bytes
    }

    /// Threads that pay, of at most `threads`.
    pub fn parts(&self, threads: usize) -> usize {
        threads.min(self.bytes() / SHARE_BYTES).min(self.blocks()).max(1)
    }

    fn tiles(&self) -> [usize; 2] {
        let [tall, wide] = self.tile;
        [self.plane.rows.div_ceil(tall), self.plane.cols.div_ceil(wide)]
    }

    /// Tiles of all planes, or runs.
    pub fn blocks(&self) -> usize {
        let [down, across] = self.tiles();
        if self.len == 0 {
            0
        } else {
            self.len / (self.plane.rows * self.plane.cols) * down * across
        }
    }

    /// Block `n`: plane by plane in the order of the source, and along rows of tiles.
    pub fn nth(&self, n: usize) -> Moved {
        let ([down, across], [tall, wide]) = (self.tiles(), self.tile);
        let (mut plane, tile) = (n / (down * across), n % (down * across));
        let (i, j) = (tile / across * tall, tile % across * wide);
        let Block { rows, cols, from_pitch, to_pitch } = self.plane;
        let (mut from, mut to) = (i * from_pitch + j, j * to_pitch + i);
        for outer in &self.outer[..self.count] {
            let digit = plane % outer.extent;
            plane /= outer.extent;
            from += digit * outer.from;
            to += digit * outer.to;
        }
        let block =
            Block { rows: tall.min(rows - i), cols: wide.min(cols - j), from_pitch, to_pitch };
        Moved { from: from * self.unit_bytes, to: to * self.unit_bytes, block }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_goes_where_it_belongs() {
        for (extents, order) in [
            (&[7][..], &[0][..]),
            (&[5, 7], &[1, 0]),
            (&[3, 4, 5], &[2, 1, 0]),
            (&[3, 300, 2, 170], &[2, 3, 0, 1]),
            (&[2, 3, 4, 5, 6], &[0, 2, 1, 3, 4]),
            (&[2, 3, 4, 5, 6], &[3, 1, 4, 0, 2]),
            (&[2, 3, 2, 3, 2, 3, 2, 3], &[7, 6, 5, 4, 3, 2, 1, 0]),
        ] {
            let axes = AxisPermutation::new(extents, order).unwrap();
            for elem_bytes in [1, 4, 12, 700] {
                let permuted = Permuted::new(&axes, elem_bytes);
                let unit = permuted.unit_bytes() / elem_bytes;
                let mut seen = vec![0; axes.len()];
                for n in 0..permuted.blocks() {
                    let Moved { from, to, block } = permuted.nth(n);
                    for (r, c) in (0..block.rows).flat_map(|r| (0..block.cols).map(move |c| (r, c)))
                    {
                        let from = from / elem_bytes + (r * block.from_pitch + c) * unit;
                        let to = to / elem_bytes + (c * block.to_pitch + r) * unit;
                        for k in 0..unit {
                            assert_eq!(axes.dest(from + k), to + k, "{axes} of {elem_bytes}");
                            seen[from + k] += 1;
                        }
                    }
                }
                assert!(seen.iter().all(|&times| times == 1), "{axes} of {elem_bytes}");
            }
        }
    }
}
