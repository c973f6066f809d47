//! Square transposition in place on the CPU: pairs of tiles to swap, their order, and the lines to
//! prefetch meanwhile.
//!
//! A square is divided into *blocks*. A pair of blocks across the diagonal and the next pair fit
//! the second-level cache together. Blocks are divided into *tiles*, usually of one cache line per
//! row. Pairs go *strip* by strip of columns, so that the pages of the rows below the diagonal are
//! also reused soon. While two tiles are swapped, the same number of lines of the next pair of
//! blocks are prefetched, row by row. Requests are then evenly spaced and sequential.

use turntile_simd::CACHE_LINE;

/// Tiling of squares of `side` x `side` elements, `mid` of them side by side in each of `batch`
/// panels: 010! for square matrices (`mid = 1`), 0210! for square tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SquareTiling {
    batch: usize,
    /// Elements per side.
    pub side: usize,
    /// Number of squares side by side.
    pub mid: usize,
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// Elements per side of a tile: the largest side with which a tile fits [`TILE_BYTES`]; for
    /// words and elements of 16 bytes or more at most [`SHORT_TILE`], or those of a cache line.
    /// Tiles at the end of a side may be smaller.
    pub tile: usize,
    /// Rows of a block above the diagonal; the last block may have fewer.
    block_rows: usize,
    /// Columns of a block that is not on the diagonal.
    block_cols: usize,
    /// Columns of a strip, a multiple of `block_rows`.
    strip: usize,
    /// Number of block pairs per square.
    pairs: usize,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

/// A block or a tile: the byte offset of its first element, and its extents in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submatrix {
    /// Byte offset of the first element.
    pub offset: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
}

/// Maximum bytes of a tile, unless it is a single element.
pub const TILE_BYTES: usize = 4 << 10;

/// Maximum side of a tile of words, or of elements of 16 bytes or more, unless a cache line
/// has more.
const SHORT_TILE: usize = 8;

/// Approximate bytes per row of a block: below the diagonal, and above it. Below, data that the
/// hardware prefetches past the end of a row are wasted, so rows are long. Above, the next block
/// continues the row.
const ROW_BYTES: [usize; 2] = [768, 384];
/// [`ROW_BYTES`] if rows share cache sets: for elements shorter than [`LONG_ELEM_BYTES`], and for
/// others. One thread of an EPYC (Milan), elements of 8 bytes, % of a copy with `ROW_BYTES` and
/// with `CONFLICTING_ROW_BYTES`: 4096 x 4096 67 and 100, 8192 x 8192 49 and 52.
const CONFLICTING_ROW_BYTES: [[usize; 2]; 2] = [[256, 256], [512, 256]];
/// Minimum element size in bytes for the second entry of [`CONFLICTING_ROW_BYTES`].
const LONG_ELEM_BYTES: usize = 8;
/// Address distance in bytes at which lines map to the same first-level cache set.
const SET_STRIDE: usize = 4096;
/// Approximate columns of a strip. One thread of an EPYC (Milan), % of a copy without strips, then
/// with strips of 512, 1024, 2048 and 4096 columns: 10000 x 10000 floats 50-57; 64-69, 70-71, 74,
/// 70-73. 5000 x 5000 79-87; 76-114, 104-108, 104-110, 104-106. 16000 x 16000 of 2 bytes
/// 38-42; 48-54, 53-56, 55-60, 46-53. Sides that are powers of two: 37-79 with any strip.
const STRIP: usize = 2048;
/// Maximum side of squares that are one strip. With strips, 3000 x 3000 elements of 8 bytes are 10%
/// slower on two threads and not faster on one.
const ONE_STRIP: usize = 4096;
/// Maximum bytes of a square that is a single block.
const WHOLE_BYTES: usize = 256 << 10;

impl SquareTiling {
    /// Creates the tiling of `batch` panels of `mid` squares of `side` x `side` elements.
    pub fn new(batch: usize, side: usize, mid: usize, elem_bytes: usize) -> Self {
        SquareTiling::with_pitch(batch, side, mid, elem_bytes, mid * side * elem_bytes)
    }

    /// Creates the tiling of one square whose rows are `pitch` bytes apart, a multiple of
    /// `elem_bytes`.
    pub fn pitched(side: usize, pitch: usize, elem_bytes: usize) -> Self {
        SquareTiling::with_pitch(1, side, 1, elem_bytes, pitch)
    }

    fn with_pitch(batch: usize, side: usize, mid: usize, elem_bytes: usize, pitch: usize) -> Self {
        let is_packed = elem_bytes < 16 && !turntile_simd::is_word(elem_bytes);
        let longest = if is_packed { TILE_BYTES } else { SHORT_TILE };
        let tile = (TILE_BYTES / elem_bytes).isqrt().clamp(1, longest).max(CACHE_LINE / elem_bytes);
        let whole = side * side * elem_bytes <= WHOLE_BYTES;
        let conflicting = pitch.is_multiple_of(SET_STRIDE);
        let conflicting =
            conflicting.then(|| CONFLICTING_ROW_BYTES[usize::from(elem_bytes >= LONG_ELEM_BYTES)]);
        let [lower, upper] = conflicting.unwrap_or(ROW_BYTES);
        let most = if whole { side } else { lower / elem_bytes };
        let blocks = side.div_ceil(most.max(tile)).max(1);
        let block_rows = side.div_ceil(blocks).next_multiple_of(tile).max(1);
        let block_cols = (upper / elem_bytes).max(1).next_multiple_of(tile);
        let strip = if side > ONE_STRIP { STRIP } else { side };
        let strip = strip.max(block_cols).next_multiple_of(block_rows);
        let pairs_in_row = |i: usize| 1 + side.saturating_sub(i + block_rows).div_ceil(block_cols);
        let pairs = (0..side).step_by(block_rows).map(pairs_in_row).sum();
        SquareTiling {
            batch,
            side,
            mid,
            elem_bytes,
            tile,
            block_rows,
            block_cols,
            strip,
            pairs,
            pitch,
        }
    }

    /// Returns the number of block pairs of all squares.
    pub fn pairs(&self) -> usize {
        self.batch * self.mid * self.pairs
    }

    /// Returns block pair `n`. Pairs are numbered square by square, strip by strip in a square, and
    /// row by row in a strip.
    pub fn pair(&self, n: usize) -> BlockPair<'_> {
        let (square, left) = (n / self.pairs, n % self.pairs);
        let first = BlockPair { squares: self, square, i: 0, j: 0 };
        (0..left).fold(first, |pair, _| pair.next())
    }
}

/// A pair of blocks of a square: one starts at row `i`, column `j`, the other at row `j`, column
/// `i`. On the diagonal both are one block.
#[derive(Clone, Copy, Debug)]
pub struct BlockPair<'a> {
    squares: &'a SquareTiling,
    square: usize,
    i: usize,
    j: usize,
}

impl BlockPair<'_> {
    /// Returns the pair after this one. After the last pair, the result has no
    /// [blocks](Self::blocks).
    pub fn next(&self) -> Self {
        let SquareTiling { side, block_rows, block_cols, strip, .. } = *self.squares;
        let width = if self.j == self.i { block_rows } else { block_cols };
        let (start, right) = (self.j / strip * strip, self.j + width);
        let end = start + strip;
        let along = (right < side.min(end)).then_some(BlockPair { j: right, ..*self });
        let below = || self.first(self.i + block_rows, start);
        let next_strip = || self.first(0, end);
        let next_square = BlockPair { square: self.square + 1, i: 0, j: 0, ..*self };
        along.or_else(below).or_else(next_strip).unwrap_or(next_square)
    }

    /// Returns the first pair at row `row` or below, down to the diagonal, in the strip that starts
    /// at column `start`, or `None` if there is none.
    fn first(&self, row: usize, start: usize) -> Option<Self> {
        let SquareTiling { side, block_rows, block_cols, strip, .. } = *self.squares;
        let col = |i: usize| {
            let right = i + block_rows;
            let left = start.saturating_sub(right).next_multiple_of(block_cols);
            if i < start { right + left } else { i }
        };
        let rows = (row..side.min(start + strip)).step_by(block_rows);
        rows.map(|i| BlockPair { i, j: col(i), ..*self }).find(|pair| pair.j < side)
    }

    fn offset(&self, row: usize, col: usize) -> usize {
        let SquareTiling { side, mid, elem_bytes, .. } = *self.squares;
        let (panel, within) = (self.square / mid, self.square % mid);
        (panel * side + row) * self.squares.pitch + (within * side + col) * elem_bytes
    }

    /// Returns the number of rows and of columns of the block at row `i`, column `j`. The other block
    /// of the pair has them swapped.
    fn extents(&self) -> (usize, usize) {
        let SquareTiling { side, block_rows, block_cols, .. } = *self.squares;
        let down = block_rows.min(side - self.i);
        (down, if self.i == self.j { down } else { block_cols.min(side - self.j) })
    }

    /// Returns the upper block and the lower one. The lower one is `None` on the diagonal; both are
    /// `None` past the last pair.
    pub fn blocks(&self) -> [Option<Submatrix>; 2] {
        let SquareTiling { batch, mid, .. } = *self.squares;
        if self.square >= batch * mid {
            return [None; 2];
        }
        let (rows, cols) = self.extents();
        let upper = Submatrix { offset: self.offset(self.i, self.j), rows, cols };
        let lower = Submatrix { offset: self.offset(self.j, self.i), rows: cols, cols: rows };
        [Some(upper), (self.i != self.j).then_some(lower)]
    }

    /// Calls `work` with every pair of tiles to swap. A tile on the diagonal has no partner.
    pub fn for_tile_pairs(&self, mut work: impl FnMut(Submatrix, Option<Submatrix>)) {
        let SquareTiling { tile, elem_bytes, .. } = *self.squares;
        let diagonal = self.i == self.j;
        let (down, across) = self.extents();
        let pitch = self.squares.pitch;
        let (upper, lower) = (self.offset(self.i, self.j), self.offset(self.j, self.i));
        for a in (0..down).step_by(tile) {
            for b in (if diagonal { a } else { 0 }..across).step_by(tile) {
                let (rows, cols) = (tile.min(down - a), tile.min(across - b));
                let at = |start, row, col| start + row * pitch + col * elem_bytes;
                let upper = Submatrix { offset: at(upper, a, b), rows, cols };
                let lower = Submatrix { offset: at(lower, b, a), rows: cols, cols: rows };
                work(upper, (!diagonal || a != b).then_some(lower));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every element is in one tile pair, and that a tile's partner is its mirror
    /// image.
    #[test]
    fn tile_pairs_cover_every_element_once() {
        for (batch, mid) in [(1, 1), (2, 3)] {
            for side in [1, 2, 31, 64, 65, 257, 300, 2100, 4099] {
                for elem_bytes in [1, 4, 16, 100, 20_000] {
                    if side * elem_bytes > 100_000 || side * mid > 6_000 {
                        continue;
                    }
                    let squares = SquareTiling::new(batch, side, mid, elem_bytes);
                    let mut seen = vec![0; batch * mid * side * side];
                    let pitch = mid * side;
                    let mut see = |tile: Submatrix| {
                        for r in 0..tile.rows {
                            for c in 0..tile.cols {
                                seen[tile.offset / elem_bytes + r * pitch + c] += 1;
                            }
                        }
                        let at = tile.offset / elem_bytes;
                        (at / pitch % side, at % side)
                    };
                    for n in 0..squares.pairs() {
                        let pair = squares.pair(n);
                        pair.for_tile_pairs(|upper, lower| {
                            let (row, col) = see(upper);
                            assert!(
                                upper.rows * upper.cols * elem_bytes <= TILE_BYTES.max(elem_bytes)
                            );
                            match lower {
                                Some(lower) => {
                                    assert_eq!((lower.rows, lower.cols), (upper.cols, upper.rows));
                                    assert_eq!(see(lower), (col, row));
                                }
                                None => assert_eq!(row, col),
                            }
                        });
                    }
                    assert!(seen.iter().all(|&times| times == 1), "{squares:?}");
                }
            }
        }
    }
}
