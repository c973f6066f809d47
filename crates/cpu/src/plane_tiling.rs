//! What goes from one place to another with its axes in another order: which tiles, in which order, on how many threads.
//!
//! The last axis of the source and the last of the result, a super-element counted as one, span *planes*, whose tiles are
//! transposed; all other axes number the planes.
//!
//! Tiles of large matrices are transposed into a buffer that stays in cache, whose rows are then written past the caches,
//! while the lines of the next tile are asked for. Others are transposed straight across.

use turntile_perm::permutation::MAX_FUSED_RANK;
use turntile_perm::{AxisPermutation, SwapKind};
use turntile_simd::{self as simd, BlockShape, Byte, CACHE_LINE};

/// Tiles of an array whose axes are permuted on the way to another place, in units: elements or super-elements.
#[derive(Clone, Copy, Debug)]
pub struct PlaneTiling {
    /// Axes that number the planes, from the last one of the source on.
    outer: [Outer; MAX_FUSED_RANK],
    count: usize,
    /// A plane, and how many there are.
    plane: BlockShape,
    planes: usize,
    /// Rows and columns of a tile.
    tile: [usize; 2],
    /// Rows by which the first row of tiles is lower than the others, so that these begin on lines of the
    /// destination.
    short: usize,
    /// Whether tiles go through a buffer and past the caches.
    streams: bool,
    unit_bytes: usize,
    bytes: usize,
    /// Byte offsets of the first unit before and after.
    start: [usize; 2],
}

/// An axis, and what its numbers count before and after, in units.
#[derive(Clone, Copy, Debug, Default)]
struct Outer {
    extent: usize,
    from: usize,
    to: usize,
}

/// A tile on its way.
#[derive(Clone, Copy, Debug)]
pub struct PlaneTile {
    /// Byte offset of its first unit before.
    pub from: usize,
    /// The same after.
    pub to: usize,
    /// Extents and pitches in units.
    pub block: BlockShape,
}

/// Bytes of a column of a matrix' tile, which is written as a row, and of its row, where columns are whole lines and
/// where not. One thread of a Xeon (Sapphire Rapids), huge pages, f32, % of a copy: 8192 x 8192 59 and 33,
/// 20000 x 12000 57 and 47; 4093 x 8191 53 and 79. Without the buffer, or without writing past the caches,
/// 13 to 30.
const WHOLE_LINES: [usize; 2] = [256, 512];
const PARTIAL_LINES: [usize; 2] = [1024, 128];
/// The same of other planes: a few lines.
const PLANE_LINES: [usize; 2] = [512, 512];

/// Matrices beyond so many bytes are written past the caches.
const STREAM_BYTES: usize = 2 << 20;

/// Bytes that are worth a thread.
const SHARE_BYTES: usize = 1 << 20;

impl PlaneTiling {
    fn of_plane(plane: BlockShape, planes: usize, unit_bytes: usize) -> Self {
        let len = |a: usize, b: usize| a.checked_mul(b).expect("fits the address space");
        PlaneTiling {
            outer: [Outer::default(); MAX_FUSED_RANK],
            count: 0,
            plane,
            planes,
            tile: [1, 1],
            short: 0,
            streams: false,
            unit_bytes,
            bytes: [plane.rows, plane.cols, unit_bytes].into_iter().fold(planes, len),
            start: [0, 0],
        }
    }

    /// Of `batch` row-major matrices, one after the other. `begins` is where in a line of memory the destination begins:
    /// its address modulo 64, or as far as it is known.
    ///
    /// # Panics
    /// When their bytes do not fit a `usize`.
    pub fn of_matrices(
        batch: usize,
        rows: usize,
        cols: usize,
        elem_bytes: usize,
        begins: usize,
    ) -> Self {
        let plane = BlockShape { rows, cols, from_pitch: cols, to_pitch: rows };
        let mut all = PlaneTiling::of_plane(plane, batch, elem_bytes);
        if all.bytes > 0 {
            all.outer[0] = Outer { extent: batch, from: rows * cols, to: rows * cols };
            all.count = 1;
            all.cut_matrix(begins);
        }
        all
    }

    /// Creates the tiles of a matrix whose rows are a pitch apart, in elements, from byte `from` of some memory to byte `to`.
    ///
    /// # Panics
    /// If rows of the source or of the destination overlap: tiles of different threads would then share bytes.
    pub fn of_pitched(plane: BlockShape, elem_bytes: usize, [from, to]: [usize; 2]) -> Self {
        let BlockShape { rows, cols, from_pitch, to_pitch } = plane;
        assert!(from_pitch >= cols && to_pitch >= rows, "rows do not overlap: {plane:?}");
        let mut all = PlaneTiling::of_plane(plane, 1, elem_bytes);
        if all.bytes > 0 {
            all.cut_matrix(0);
        }
        PlaneTiling { start: [from, to], ..all }
    }

    /// Of an array whose axes are permuted.
    pub fn of_axes(axes: &AxisPermutation, elem_bytes: usize) -> Self {
        let units = axes.without_unit();
        let (extents, [from, to]) = (units.extents(), units.strides());
        let rank = extents.len();
        // What is not moved is a row.
        let last = units.order().last().filter(|_| rank > 1);
        let extent = |axis: Option<usize>| axis.map_or(1, |axis| extents[axis]);
        let across = rank.checked_sub(1);
        let plane = BlockShape {
            rows: extent(last),
            cols: extent(across),
            from_pitch: last.map_or(1, |axis| from[axis]),
            to_pitch: across.map_or(1, |axis| to[axis]),
        };
        let outer = (0..rank).rev().filter(|&axis| Some(axis) != across && Some(axis) != last);
        let planes = outer.clone().map(|axis| extents[axis]).product();
        let mut all = PlaneTiling::of_plane(plane, planes, axes.unit() * elem_bytes);
        for axis in outer {
            all.outer[all.count] = Outer { extent: extents[axis], from: from[axis], to: to[axis] };
            all.count += 1;
        }
        all.cut(PLANE_LINES);
        all
    }

    /// The same on the way to another buffer, which begins at `begins` of a line.
    pub fn into_buffer(axes: &AxisPermutation, elem_bytes: usize, begins: usize) -> Self {
        match axes.form() {
            SwapKind::Transpose(e) => {
                PlaneTiling::of_matrices(e.batch, e.rows, e.cols, e.unit * elem_bytes, begins)
            }
            _ => PlaneTiling::of_axes(axes, elem_bytes),
        }
    }

    /// The same planes, a tile each.
    #[must_use]
    pub fn whole_planes(self) -> Self {
        PlaneTiling { tile: [self.plane.rows.max(1), self.plane.cols.max(1)], ..self }
    }

    /// Cuts planes into tiles of at most so many bytes a column and a row.
    fn cut(&mut self, lines: [usize; 2]) {
        let most = |bytes: usize| (bytes / self.unit_bytes.max(1)).max(1);
        let BlockShape { rows, cols, .. } = self.plane;
        self.tile = [most(lines[0]).min(rows.max(1)), most(lines[1]).min(cols.max(1))];
    }

    /// Cuts matrices into tiles; a short side leaves the other one more.
    fn cut_matrix(&mut self, begins: usize) {
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
        let lead = (CACHE_LINE - begins % CACHE_LINE) % CACHE_LINE;
        if self.streams && whole && lead > 0 && lead.is_multiple_of(unit_bytes) {
            self.short = self.tile[0] - lead / unit_bytes % self.tile[0];
        }
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of what is moved as one.
    pub fn unit_bytes(&self) -> usize {
        self.unit_bytes
    }

    /// Whether all is written as it is read: rows or columns alone.
    pub fn stay(&self) -> bool {
        self.plane.rows <= 1 || self.plane.cols <= 1
    }

    /// Whether tiles go through a buffer and past the caches.
    pub fn streams(&self) -> bool {
        self.streams
    }

    /// Bytes of that buffer.
    pub fn tile_bytes(&self) -> usize {
        self.tile[0] * self.tile[1] * self.unit_bytes
    }

    /// Tiles of a plane, down and across.
    fn of_each(&self) -> [usize; 2] {
        let [tall, wide] = self.tile;
        [(self.plane.rows + self.short).div_ceil(tall), self.plane.cols.div_ceil(wide)]
    }

    /// Tiles of all planes.
    pub fn count(&self) -> usize {
        if self.bytes == 0 {
            0
        } else {
            self.of_each().into_iter().product::<usize>() * self.planes
        }
    }

    /// Threads that pay, of at most `threads`.
    pub fn parts(&self, threads: usize) -> usize {
        let work = if self.stay() { self.bytes } else { self.count() };
        threads.min(self.bytes / SHARE_BYTES).min(work).max(1)
    }

    /// Tile `n`: plane by plane in the order of the source, and along rows of tiles.
    pub fn nth(&self, n: usize) -> PlaneTile {
        let ([down, across], [tall, wide]) = (self.of_each(), self.tile);
        let (mut plane, tile) = (n / (down * across), n % (down * across));
        let (above, j) = (tile / across * tall, tile % across * wide);
        let i = above.saturating_sub(self.short);
        let BlockShape { rows, cols, from_pitch, to_pitch } = self.plane;
        let (mut from, mut to) = (i * from_pitch + j, j * to_pitch + i);
        for outer in &self.outer[..self.count] {
            let digit = plane % outer.extent;
            plane /= outer.extent;
            from += digit * outer.from;
            to += digit * outer.to;
        }
        let end = (above + tall - self.short).min(rows);
        let block = BlockShape { rows: end - i, cols: wide.min(cols - j), from_pitch, to_pitch };
        let [from, to] = [from, to].map(|units| units * self.unit_bytes);
        PlaneTile { from: self.start[0] + from, to: self.start[1] + to, block }
    }

    /// Writes all tiles of `from` to `to`.
    pub fn transpose(&self, from: &[Byte], to: &mut [Byte]) {
        for PlaneTile { from: source, to: place, block } in (0..self.count()).map(|n| self.nth(n)) {
            simd::transpose(&from[source..], &mut to[place..], block, self.unit_bytes);
        }
    }
}

impl PlaneTile {
    /// Passes `ask` the byte offsets of the lines of the source.
    pub fn for_lines(&self, unit_bytes: usize, mut ask: impl FnMut(usize)) {
        let bytes = self.block.cols * unit_bytes;
        for r in 0..self.block.rows {
            let row = self.from + r * self.block.from_pitch * unit_bytes;
            (0..bytes).step_by(CACHE_LINE).for_each(|at| ask(row + at));
            ask(row + bytes - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element is in one tile, and goes where `dest` says.
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
            let begins = [(1, 0), (1, 37), (4, 0), (4, 16), (4, 60), (16, 16), (16, 4), (64, 8)];
            for (elem_bytes, begins) in begins.into_iter().chain([(100, 0), (5000, 16)]) {
                let all = PlaneTiling::of_matrices(batch, rows, cols, elem_bytes, begins);
                check(&all, elem_bytes, batch * rows * cols, |k| {
                    let (m, i, j) = (k / (rows * cols), k / cols % rows, k % cols);
                    (m * cols + j) * rows + i
                });
            }
        }
        assert_eq!(PlaneTiling::of_matrices(0, 3, 3, 4, 0).count(), 0);
        assert_eq!(PlaneTiling::of_matrices(1, usize::MAX, 0, 4, 0).parts(3), 1);
    }

    /// Threads would write the same bytes.
    #[test]
    fn rows_that_overlap_have_no_tiles() {
        for [from_pitch, to_pitch] in [[1024, 0], [1024, 2047], [1023, 2048]] {
            let plane = BlockShape { rows: 2048, cols: 1024, from_pitch, to_pitch };
            let tiles = || PlaneTiling::of_pitched(plane, 1, [0, 0]);
            assert!(std::panic::catch_unwind(tiles).is_err(), "{plane:?}");
        }
    }

    #[test]
    fn tiles_begin_on_lines() {
        for begins in [0, 16, 32, 48] {
            let all = PlaneTiling::of_matrices(2, 1600, 300, 4, begins);
            assert!(all.streams());
            let on_lines = |n: usize| (all.nth(n).to + begins).is_multiple_of(CACHE_LINE);
            let tiles = (0..all.count()).filter(|&n| all.nth(n).block.rows == all.tile[0]);
            assert!(tiles.clone().count() > 100 && tiles.into_iter().all(on_lines));
        }
    }

    #[test]
    fn threads_where_they_pay() {
        let parts = |rows, cols| PlaneTiling::of_matrices(1, rows, cols, 4, 0).parts(8);
        assert_eq!((parts(64, 48), parts(300, 300), parts(4000, 3000)), (1, 1, 8));
        assert_eq!((parts(1, 12_000_000), parts(12_000_000, 1), parts(1, 300)), (8, 8, 1));
    }
}
