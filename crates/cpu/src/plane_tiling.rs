//! Tiles of an axis permutation on the CPU: their extents, their order, and the number of threads.
//!
//! The last axis of the source and the last axis of the result span *planes*. A unit, a run of
//! elements that move together, counts as one element. Tiles of planes are transposed; all other
//! axes number the planes.
//!
//! Tiles of large matrices are transposed into a buffer that stays in cache. The buffer's rows are
//! then written with nontemporal stores. The lines of the next tile are prefetched meanwhile. Other
//! tiles are transposed directly, except those of pitched matrices, which go through a buffer.

use turntile_perm::permutation::MAX_FUSED_RANK;
use turntile_perm::{AxisPermutation, StridedAxis, SwapKind};
use turntile_simd::{self as simd, BlockShape, Byte, CACHE_LINE};

/// Tiles of an array whose axes are permuted out of place. Lengths not in bytes are in units:
/// elements, or runs of elements that move together.
#[derive(Clone, Copy, Debug)]
pub struct PlaneTiling {
    /// Axes that number the planes, last axis of the source first. Strides are in units.
    outer: [StridedAxis; MAX_FUSED_RANK],
    /// Number of axes in `outer`.
    count: usize,
    /// Shape of a plane.
    plane: BlockShape,
    /// Number of planes.
    planes: usize,
    /// Rows and columns of a tile.
    tile: [usize; 2],
    /// Source rows by which the first row of tiles is shorter than the others. The others then
    /// start at cache lines of the destination.
    shorter_by: usize,
    /// `true` if tiles go through a buffer and are written with nontemporal stores.
    streams: bool,
    unit_bytes: usize,
    bytes: usize,
    /// Byte offsets of the first unit in the source and in the result.
    start: [usize; 2],
}

/// A tile, with its offsets in the source and in the result.
#[derive(Clone, Copy, Debug)]
pub struct PlaneTile {
    /// Byte offset of the first unit in the source.
    pub from: usize,
    /// Byte offset of the first unit in the result.
    pub to: usize,
    /// Extents and pitches in units.
    pub block: BlockShape,
}

/// Bytes of a matrix tile's column and row if destination rows are whole cache lines.
///
/// One thread of a Xeon (Sapphire Rapids), huge pages, f32, % of a copy with `WHOLE_LINES` and with
/// `PARTIAL_LINES`: 8192 x 8192 59 and 33, 20000 x 12000 57 and 47; with partial lines, 4093 x 8191
/// 53 and 79. Without the buffer, or without nontemporal stores, 13 to 30.
const WHOLE_LINES: [usize; 2] = [256, 512];
/// Bytes of a matrix tile's column and row if destination rows are not whole cache lines.
const PARTIAL_LINES: [usize; 2] = [1024, 128];
/// Bytes of a tile's column and row in tilings made by [`PlaneTiling::of_axes`].
const PLANE_LINES: [usize; 2] = [512, 512];

/// Maximum bytes of a batch of matrices written with ordinary stores, not nontemporal ones.
const STREAM_BYTES: usize = 2 << 20;

/// Minimum bytes of the array per thread.
const SHARE_BYTES: usize = 1 << 20;

impl PlaneTiling {
    fn of_plane(plane: BlockShape, planes: usize, unit_bytes: usize) -> Self {
        let len = |a: usize, b: usize| a.checked_mul(b).expect("array exceeds the address space");
        PlaneTiling {
            outer: [StridedAxis::default(); MAX_FUSED_RANK],
            count: 0,
            plane,
            planes,
            tile: [1, 1],
            shorter_by: 0,
            streams: false,
            unit_bytes,
            bytes: [plane.rows, plane.cols, unit_bytes].into_iter().fold(planes, len),
            start: [0, 0],
        }
    }

    /// Creates the tiles of `batch` consecutive row-major matrices. `alignment` is the
    /// destination's address modulo 64, or 0 if it is not known.
    ///
    /// # Panics
    /// If their bytes overflow `usize`.
    pub fn of_matrices(
        batch: usize,
        rows: usize,
        cols: usize,
        elem_bytes: usize,
        alignment: usize,
    ) -> Self {
        let plane = BlockShape { rows, cols, from_pitch: cols, to_pitch: rows };
        let mut all = PlaneTiling::of_plane(plane, batch, elem_bytes);
        if all.bytes > 0 {
            all.outer[0] =
                StridedAxis { extent: batch, src_stride: rows * cols, dst_stride: rows * cols };
            all.count = 1;
            all.divide_matrix(alignment);
        }
        all
    }

    /// Creates the tiles of a matrix with row pitches in elements. The source starts at byte offset
    /// `from`, the result at byte offset `to`.
    ///
    /// # Panics
    /// If rows of the source or of the destination overlap: tiles of different threads would then
    /// share bytes.
    pub fn of_pitched(plane: BlockShape, elem_bytes: usize, [from, to]: [usize; 2]) -> Self {
        let BlockShape { rows, cols, from_pitch, to_pitch } = plane;
        assert!(from_pitch >= cols && to_pitch >= rows, "rows overlap: {plane:?}");
        let mut all = PlaneTiling::of_plane(plane, 1, elem_bytes);
        if all.bytes > 0 {
            all.divide_matrix(0);
        }
        PlaneTiling { start: [from, to], ..all }
    }

    /// Creates the tiles of an array whose axes are permuted.
    pub fn of_axes(axes: &AxisPermutation, elem_bytes: usize) -> Self {
        let one = StridedAxis { extent: 1, src_stride: 1, dst_stride: 1 };
        let units = axes.without_unit();
        let mut outer = units.strided_axes();
        let across = outer.next_back().unwrap_or(one);
        // An array with one axis is one row.
        let is_last = |axis: &StridedAxis| axis.dst_stride == 1;
        let last = outer.clone().find(is_last).unwrap_or(one);
        let plane = BlockShape {
            rows: last.extent,
            cols: across.extent,
            from_pitch: last.src_stride,
            to_pitch: across.dst_stride,
        };
        let outer = outer.rev().filter(|axis| !is_last(axis));
        let planes = outer.clone().map(|axis| axis.extent).product();
        let mut all = PlaneTiling::of_plane(plane, planes, axes.unit() * elem_bytes);
        for axis in outer {
            all.outer[all.count] = axis;
            all.count += 1;
        }
        all.divide(PLANE_LINES);
        all
    }

    /// Creates the tiles of an array permuted into another buffer, whose address modulo 64 is
    /// `alignment`.
    pub fn into_buffer(axes: &AxisPermutation, elem_bytes: usize, alignment: usize) -> Self {
        match axes.form() {
            SwapKind::Transpose(e) => {
                PlaneTiling::of_matrices(e.batch, e.rows, e.cols, e.unit * elem_bytes, alignment)
            }
            _ => PlaneTiling::of_axes(axes, elem_bytes),
        }
    }

    /// Returns the same planes with one tile per plane.
    #[must_use]
    pub fn whole_planes(self) -> Self {
        PlaneTiling { tile: [self.plane.rows.max(1), self.plane.cols.max(1)], ..self }
    }

    /// Divides planes into tiles of at most `lines[0]` bytes per column and `lines[1]` per row, at
    /// least one unit.
    fn divide(&mut self, lines: [usize; 2]) {
        let units = |bytes: usize| (bytes / self.unit_bytes.max(1)).max(1);
        let BlockShape { rows, cols, .. } = self.plane;
        self.tile = [units(lines[0]).min(rows.max(1)), units(lines[1]).min(cols.max(1))];
    }

    /// Divides matrices into tiles. If one side of a matrix is short, the other side of its tiles
    /// is longer.
    fn divide_matrix(&mut self, alignment: usize) {
        let (BlockShape { rows, cols, .. }, unit_bytes) = (self.plane, self.unit_bytes);
        let whole = (rows * unit_bytes).is_multiple_of(CACHE_LINE);
        let lines = if whole { WHOLE_LINES } else { PARTIAL_LINES };
        let [tall, wide] = lines.map(|bytes| (bytes / unit_bytes).max(1));
        self.tile = if cols < wide {
            [(tall * wide / cols).min(rows), cols]
        } else if rows < tall {
            [rows, (tall * wide / rows).min(cols)]
        } else {
            [tall, wide]
        };
        self.streams = self.bytes > STREAM_BYTES;
        let lead = (CACHE_LINE - alignment % CACHE_LINE) % CACHE_LINE;
        if self.streams && whole && lead > 0 && lead.is_multiple_of(unit_bytes) {
            self.shorter_by = self.tile[0] - lead / unit_bytes % self.tile[0];
        }
    }

    /// Returns the bytes of all planes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes of a unit.
    pub fn unit_bytes(&self) -> usize {
        self.unit_bytes
    }

    /// Returns `true` if each plane is a single row or column. The result of a dense array then
    /// equals the source.
    pub fn stay(&self) -> bool {
        self.plane.rows <= 1 || self.plane.cols <= 1
    }

    /// Returns `true` if tiles go through a buffer and are written with nontemporal stores.
    pub fn streams(&self) -> bool {
        self.streams
    }

    /// Returns the bytes of a tile's buffer.
    pub fn tile_bytes(&self) -> usize {
        self.tile[0] * self.tile[1] * self.unit_bytes
    }

    /// Returns the two numbers of tiles of a plane: down and across the source.
    fn tiles_per_plane(&self) -> [usize; 2] {
        let [tall, wide] = self.tile;
        [(self.plane.rows + self.shorter_by).div_ceil(tall), self.plane.cols.div_ceil(wide)]
    }

    /// Returns the number of tiles of all planes.
    pub fn count(&self) -> usize {
        if self.bytes == 0 {
            0
        } else {
            self.tiles_per_plane().into_iter().product::<usize>() * self.planes
        }
    }

    /// Returns the number of useful threads, at least 1 and at most `threads`.
    pub fn parts(&self, threads: usize) -> usize {
        let work = if self.stay() { self.bytes } else { self.count() };
        threads.min(self.bytes / SHARE_BYTES).min(work).max(1)
    }

    /// Returns tile `n`. Tiles are numbered plane by plane in source order, and row by row within a
    /// plane.
    pub fn nth(&self, n: usize) -> PlaneTile {
        let ([down, across], [tall, wide]) = (self.tiles_per_plane(), self.tile);
        let (mut plane, tile) = (n / (down * across), n % (down * across));
        let (above, j) = (tile / across * tall, tile % across * wide);
        let i = above.saturating_sub(self.shorter_by);
        let BlockShape { rows, cols, from_pitch, to_pitch } = self.plane;
        let (mut from, mut to) = (i * from_pitch + j, j * to_pitch + i);
        for outer in &self.outer[..self.count] {
            let digit = plane % outer.extent;
            plane /= outer.extent;
            from += digit * outer.src_stride;
            to += digit * outer.dst_stride;
        }
        let end = (above + tall - self.shorter_by).min(rows);
        let block = BlockShape { rows: end - i, cols: wide.min(cols - j), from_pitch, to_pitch };
        let [from, to] = [from, to].map(|units| units * self.unit_bytes);
        PlaneTile { from: self.start[0] + from, to: self.start[1] + to, block }
    }

    /// Transposes all tiles of `from` into `to`.
    pub fn transpose(&self, from: &[Byte], to: &mut [Byte]) {
        for PlaneTile { from: source, to: dest, block } in (0..self.count()).map(|n| self.nth(n)) {
            simd::transpose(&from[source..], &mut to[dest..], block, self.unit_bytes);
        }
    }
}

impl PlaneTile {
    /// Calls `visit` with byte offsets that cover every cache line of the tile's source.
    pub fn for_lines(&self, unit_bytes: usize, mut visit: impl FnMut(usize)) {
        let bytes = self.block.cols * unit_bytes;
        for r in 0..self.block.rows {
            let row = self.from + r * self.block.from_pitch * unit_bytes;
            (0..bytes).step_by(CACHE_LINE).for_each(|at| visit(row + at));
            visit(row + bytes - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every element is in one tile and moves to the offset that `dest` returns.
    fn check(tiles: &PlaneTiling, elem_bytes: usize, len: usize, dest: impl Fn(usize) -> usize) {
        let unit = tiles.unit_bytes() / elem_bytes;
        let mut seen = vec![0; len];
        for n in 0..tiles.count() {
            let PlaneTile { from, to, block } = tiles.nth(n);
            for (r, c) in (0..block.rows).flat_map(|r| (0..block.cols).map(move |c| (r, c))) {
                let from = from / elem_bytes + (r * block.from_pitch + c) * unit;
                let to = to / elem_bytes + (c * block.to_pitch + r) * unit;
                for k in 0..unit {
                    assert_eq!(dest(from + k), to + k, "{tiles:?}");
                    seen[from + k] += 1;
                }
            }
        }
        assert!(seen.iter().all(|&times| times == 1), "{tiles:?}");
    }

    #[test]
    fn tiles_of_axes_cover_every_element_once() {
        for (extents, order) in [
            (&[7][..], &[0][..]),
            (&[5, 7], &[1, 0]),
            (&[3, 4, 5], &[2, 1, 0]),
            (&[3, 300, 2, 170], &[2, 3, 0, 1]),
            (&[2, 3, 4, 5, 6], &[0, 2, 1, 3, 4]),
            (&[2, 3, 4, 5, 6], &[3, 1, 4, 0, 2]),
            (&[40, 3, 50, 2], &[2, 1, 0, 3]),
            (&[2, 3, 2, 3, 2, 3, 2, 3], &[7, 6, 5, 4, 3, 2, 1, 0]),
        ] {
            let axes = AxisPermutation::new(extents, order).unwrap();
            for elem_bytes in [1, 4, 12, 700] {
                let tiles = PlaneTiling::of_axes(&axes, elem_bytes);
                for tiles in [tiles, tiles.whole_planes()] {
                    check(&tiles, elem_bytes, axes.len(), |from| axes.dest(from));
                }
            }
        }
    }

    #[test]
    fn tiles_of_matrices_cover_every_element_once() {
        for (batch, rows, cols) in
            [(1, 1, 1), (2, 3, 700), (1, 700, 3), (3, 130, 257), (1, 1000, 64), (2, 1024, 3)]
        {
            let alignment = [(1, 0), (1, 37), (4, 0), (4, 16), (4, 60), (16, 16), (16, 4), (64, 8)];
            for (elem_bytes, alignment) in alignment.into_iter().chain([(100, 0), (5000, 16)]) {
                let all = PlaneTiling::of_matrices(batch, rows, cols, elem_bytes, alignment);
                check(&all, elem_bytes, batch * rows * cols, |k| {
                    let (m, i, j) = (k / (rows * cols), k / cols % rows, k % cols);
                    (m * cols + j) * rows + i
                });
            }
        }
        assert_eq!(PlaneTiling::of_matrices(0, 3, 3, 4, 0).count(), 0);
        assert_eq!(PlaneTiling::of_matrices(1, usize::MAX, 0, 4, 0).parts(3), 1);
    }

    /// Checks that overlapping rows are rejected: threads would write the same bytes.
    #[test]
    fn of_pitched_panics_when_rows_overlap() {
        for [from_pitch, to_pitch] in [[1024, 0], [1024, 2047], [1023, 2048]] {
            let plane = BlockShape { rows: 2048, cols: 1024, from_pitch, to_pitch };
            let tiles = || PlaneTiling::of_pitched(plane, 1, [0, 0]);
            assert!(std::panic::catch_unwind(tiles).is_err(), "{plane:?}");
        }
    }

    #[test]
    fn tiles_start_on_destination_lines_when_rows_are_whole_lines() {
        for alignment in [0, 16, 32, 48] {
            let all = PlaneTiling::of_matrices(2, 1600, 300, 4, alignment);
            assert!(all.streams());
            let on_lines = |n: usize| (all.nth(n).to + alignment).is_multiple_of(CACHE_LINE);
            let tiles = (0..all.count()).filter(|&n| all.nth(n).block.rows == all.tile[0]);
            assert!(tiles.clone().count() > 100 && tiles.into_iter().all(on_lines));
        }
    }

    #[test]
    fn parts_is_one_when_the_array_is_small() {
        let parts = |rows, cols| PlaneTiling::of_matrices(1, rows, cols, 4, 0).parts(8);
        assert_eq!((parts(64, 48), parts(300, 300), parts(4000, 3000)), (1, 1, 8));
        assert_eq!((parts(1, 12_000_000), parts(12_000_000, 1), parts(1, 300)), (8, 8, 1));
    }
}
