//! Transpositions from one buffer to another: which tiles, in which order, on which thread.
//!
//! Tiles are transposed into a buffer that stays in cache, whose rows are then written past the caches, while
//! the lines of the next tile are asked for. Matrices that fit the caches are transposed straight across.

use turntile_simd::{Block, LINE};

/// What goes from one buffer to another: equal row-major matrices, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct OutOfPlace {
    /// How many.
    pub batch: usize,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub cols: usize,
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// Where in a line of memory the destination begins: its address modulo 64, or as far as it is known.
    pub begins: usize,
}

/// Bytes of a column of a tile, which is written as a row, and of its row, where columns are whole lines and
/// where not. One thread of a Xeon (Sapphire Rapids), huge pages, f32, % of a copy: 8192 x 8192 59 and 33,
/// 20000 x 12000 57 and 47; 4093 x 8191 53 and 79. Without the buffer, or without writing past the caches,
/// 13 to 30.
const WHOLE_LINES: [usize; 2] = [256, 512];
const PARTIAL_LINES: [usize; 2] = [1024, 128];

/// Matrices beyond so many bytes are written past the caches.
const STREAM_BYTES: usize = 2 << 20;

/// Bytes that are worth a thread.
const SHARE_BYTES: usize = 1 << 20;

/// A tile on its way: the bytes before it in the source and in the destination, and its units.
#[derive(Clone, Copy, Debug)]
pub struct TileMove {
    /// Byte offset of its first element before.
    pub from: usize,
    /// The same after.
    pub to: usize,
    /// Extents and pitches in elements.
    pub block: Block,
}

impl OutOfPlace {
    /// Bytes of all.
    ///
    /// # Panics
    /// When they do not fit a `usize`.
    pub fn bytes(&self) -> usize {
        let len = |a: usize, b: usize| a.checked_mul(b).expect("fits the address space");
        [self.rows, self.cols, self.elem_bytes].into_iter().fold(self.batch, len)
    }

    /// Whether they are written as they are read: rows or columns alone.
    pub fn stay(&self) -> bool {
        self.rows <= 1 || self.cols <= 1
    }

    /// Rows and columns of a tile; a short side leaves the other one more.
    pub fn tile(&self) -> [usize; 2] {
        let most = |bytes: usize| (bytes / self.elem_bytes.max(1)).max(1);
        let [tall, wide] = (if self.whole() { WHOLE_LINES } else { PARTIAL_LINES }).map(most);
        let area = tall * wide;
        if self.cols < wide {
            [(area / self.cols.max(1)).max(1).min(self.rows.max(1)), self.cols.max(1)]
        } else if self.rows < tall {
            [self.rows.max(1), (area / self.rows.max(1)).max(1).min(self.cols)]
        } else {
            [tall, wide]
        }
    }

    /// Whether the rows of the destination are whole lines.
    fn whole(&self) -> bool {
        (self.rows * self.elem_bytes).is_multiple_of(LINE)
    }

    /// Rows by which the first row of tiles is lower than the others, so that these begin on lines of the
    /// destination.
    fn short_of(&self) -> usize {
        let lead = (LINE - self.begins % LINE) % LINE;
        let lines = self.streams() && self.whole() && lead.is_multiple_of(self.elem_bytes.max(1));
        let tall = self.tile()[0];
        if lines && lead > 0 { tall - lead / self.elem_bytes % tall } else { 0 }
    }

    /// Whether tiles go through a buffer and past the caches.
    pub fn streams(&self) -> bool {
        self.bytes() > STREAM_BYTES
    }

    /// Bytes of that buffer.
    pub fn tile_bytes(&self) -> usize {
        self.tile()[0] * self.tile()[1] * self.elem_bytes
    }

    /// Tiles of a matrix, down and across.
    fn across(&self) -> [usize; 2] {
        let [tall, wide] = self.tile();
        [(self.rows + self.short_of()).div_ceil(tall), self.cols.div_ceil(wide)]
    }

    /// Tiles of all matrices.
    pub fn tiles(&self) -> usize {
        if self.bytes() == 0 { 0 } else { self.batch * self.across()[0] * self.across()[1] }
    }

    /// Threads that pay, of at most `threads`.
    pub fn parts(&self, threads: usize) -> usize {
        let work = if self.stay() { self.bytes() } else { self.tiles() };
        threads.min(self.bytes() / SHARE_BYTES).min(work).max(1)
    }

    /// TileMove `n`: matrix by matrix, and along rows of tiles.
    pub fn nth(&self, n: usize) -> TileMove {
        let ([tall, wide], [down, across]) = (self.tile(), self.across());
        let (matrix, n) = (n / (down * across), n % (down * across));
        let (above, j) = (n / across * tall, n % across * wide);
        let i = above.saturating_sub(self.short_of());
        let end = (above + tall - self.short_of()).min(self.rows);
        let first = matrix * self.rows * self.cols;
        let block = Block {
            rows: end - i,
            cols: wide.min(self.cols - j),
            from_pitch: self.cols,
            to_pitch: self.rows,
        };
        TileMove {
            from: (first + i * self.cols + j) * self.elem_bytes,
            to: (first + j * self.rows + i) * self.elem_bytes,
            block,
        }
    }
}

impl TileMove {
    /// Tells `ask` the byte offsets of the lines of the source.
    pub fn for_lines(&self, elem_bytes: usize, mut ask: impl FnMut(usize)) {
        let bytes = self.block.cols * elem_bytes;
        for r in 0..self.block.rows {
            let row = self.from + r * self.block.from_pitch * elem_bytes;
            (0..bytes).step_by(LINE).for_each(|at| ask(row + at));
            ask(row + bytes - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_every_element_once() {
        for (batch, rows, cols) in
            [(1, 1, 1), (2, 3, 700), (1, 700, 3), (3, 130, 257), (1, 1000, 64), (2, 1024, 3)]
        {
            for (elem_bytes, begins) in [
                (1, 0),
                (1, 37),
                (4, 0),
                (4, 16),
                (4, 60),
                (16, 16),
                (16, 4),
                (64, 8),
                (100, 0),
                (5000, 16),
            ] {
                let all = OutOfPlace { batch, rows, cols, elem_bytes, begins };
                let mut seen = vec![0; batch * rows * cols];
                for n in 0..all.tiles() {
                    let TileMove { from, to, block } = all.nth(n);
                    let (from, to) = (from / elem_bytes, to / elem_bytes);
                    for r in 0..block.rows {
                        for c in 0..block.cols {
                            let k = from + r * block.from_pitch + c;
                            let (m, i, j) = (k / (rows * cols), k / cols % rows, k % cols);
                            assert_eq!(to + c * block.to_pitch + r, (m * cols + j) * rows + i);
                            seen[k] += 1;
                        }
                    }
                }
                assert!(seen.iter().all(|&times| times == 1), "{all:?}");
            }
        }
    }

    #[test]
    fn tiles_begin_on_lines() {
        for begins in [0, 16, 32, 48] {
            let all = OutOfPlace { batch: 2, rows: 1600, cols: 300, elem_bytes: 4, begins };
            assert!(all.streams());
            let on_lines = |n: usize| (all.nth(n).to + begins).is_multiple_of(LINE);
            let tiles = (0..all.tiles()).filter(|&n| all.nth(n).block.rows == all.tile()[0]);
            assert!(tiles.clone().count() > 100 && tiles.into_iter().all(on_lines));
        }
    }

    #[test]
    fn threads_where_they_pay() {
        let parts =
            |rows, cols| OutOfPlace { batch: 1, rows, cols, elem_bytes: 4, begins: 0 }.parts(8);
        assert_eq!((parts(64, 48), parts(300, 300), parts(4000, 3000)), (1, 1, 8));
        assert_eq!((parts(1, 12_000_000), parts(12_000_000, 1), parts(1, 300)), (8, 8, 1));
        let none = OutOfPlace { batch: 0, rows: 3, cols: 3, elem_bytes: 4, begins: 0 };
        assert_eq!(none.tiles(), 0);
    }
}
