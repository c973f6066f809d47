//! Squares transposed where they lie: which tiles change places, in which order, and which lines
//! are asked for meanwhile.
//!
//! A square is cut into *blocks*, two of which, with the next two, fit the second-level cache; a pair
//! of blocks across the diagonal is cut into *tiles* of a cache line a row. Pairs go *strip* by strip of columns, so that
//! the pages of the rows below the diagonal, too, are met again soon. While two tiles change
//! places as many lines of the next pair of blocks are asked for, row by row of the blocks: requests come
//! evenly, and in the order in which memory is fast.

use turntile_simd::CACHE_LINE;

/// Squares of `side` elements, `mid` of them side by side in each of `batch` panels: 010! for one
/// square matrix (`mid = 1`), 0210! for square tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SquareTiling {
    batch: usize,
    /// Elements of a side.
    pub side: usize,
    /// Squares side by side.
    pub mid: usize,
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// Elements of a side of a tile: a line of them, or as many as keep a tile small. Those at the ends may have less.
    pub tile: usize,
    /// Rows of a block above the diagonal, the last one's perhaps less.
    block_rows: usize,
    /// Columns of one that is not on the diagonal.
    block_cols: usize,
    /// Columns of a strip, a multiple of a block's rows.
    strip: usize,
    /// Block pairs of a square.
    pairs: usize,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

/// A block or a tile: where its first element lies, in bytes, and its extents in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submatrix {
    /// Byte offset of its first element.
    pub offset: usize,
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub cols: usize,
}

/// Most bytes of a tile of words, and of several elements of other lengths.
pub const TILE_BYTES: usize = 4 << 10;

/// Bytes of a row of a block below the diagonal, roughly: what the hardware fetches beyond the end
/// of a row is wasted there, so rows are long. Of a row above the diagonal, where the next block continues it.
const ROW_BYTES: [usize; 2] = [768, 384];
/// The same where rows that begin alike share the caches' sets, of short and of long elements. One thread of an EPYC
/// (Milan), 8 bytes, % of a copy, with the former and the latter: 4096 x 4096 67 and 100, 8192 x 8192 49 and 52.
const ALIKE_ROW_BYTES: [[usize; 2]; 2] = [[256, 256], [512, 256]];
/// Bytes of a long element.
const LONG: usize = 8;
/// Bytes after which addresses meet the same sets of the first-level cache.
const PAGE: usize = 4096;
/// Columns of a strip, roughly. One thread of an EPYC (Milan), % of a copy without strips and with those of 512, 1024, 2048 and
/// 4096 columns: 10000 x 10000 floats 50-57; 64-69, 70-71, 74, 70-73; 5000 x 5000 79-87; 76-114, 104-108, 104-110, 104-106;
/// 16000 x 16000 of 2 bytes 38-42; 48-54, 53-56, 55-60, 46-53; sides of powers of two 37-79, the same with any.
const STRIP: usize = 2048;
/// Squares up to this side are one strip: strips of 3000 x 3000, 8 bytes, lost a tenth on two threads, gained nothing on one.
const ONE_STRIP: usize = 4096;
/// Bytes of a square that is a single block.
const WHOLE_BYTES: usize = 256 << 10;

impl SquareTiling {
    /// `batch` panels of `mid` squares of `side` elements of `elem_bytes` bytes.
    pub fn new(batch: usize, side: usize, mid: usize, elem_bytes: usize) -> Self {
        SquareTiling::apart(batch, side, mid, elem_bytes, mid * side * elem_bytes)
    }

    /// One square whose rows lie `pitch` bytes apart, a multiple of an element's.
    pub fn pitched(side: usize, pitch: usize, elem_bytes: usize) -> Self {
        SquareTiling::apart(1, side, 1, elem_bytes, pitch)
    }

    fn apart(batch: usize, side: usize, mid: usize, elem_bytes: usize, pitch: usize) -> Self {
        let tile = (CACHE_LINE / elem_bytes).max((TILE_BYTES / elem_bytes).isqrt().clamp(1, 8));
        let whole = side * side * elem_bytes <= WHOLE_BYTES;
        let alike = pitch.is_multiple_of(PAGE);
        let alike = alike.then(|| ALIKE_ROW_BYTES[usize::from(elem_bytes >= LONG)]);
        let [lower, upper] = alike.unwrap_or(ROW_BYTES);
        let most = if whole { side } else { lower / elem_bytes };
        let blocks = side.div_ceil(most.max(tile)).max(1);
        let block_rows = side.div_ceil(blocks).next_multiple_of(tile).max(1);
        let block_cols = (upper / elem_bytes).max(1).next_multiple_of(tile);
        let strip = if side > ONE_STRIP { STRIP } else { side };
        let strip = strip.max(block_cols).next_multiple_of(block_rows);
        let beside = |i: usize| 1 + side.saturating_sub(i + block_rows).div_ceil(block_cols);
        let pairs = (0..side).step_by(block_rows).map(beside).sum();
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

    /// Block pairs of all squares.
    pub fn pairs(&self) -> usize {
        self.batch * self.mid * self.pairs
    }

    /// Block pair `n`: square by square, strip by strip, and row of blocks by row of blocks.
    pub fn pair(&self, n: usize) -> BlockPair<'_> {
        let (square, left) = (n / self.pairs, n % self.pairs);
        let first = BlockPair { squares: self, square, i: 0, j: 0 };
        (0..left).fold(first, |pair, _| pair.next())
    }
}

/// The blocks at rows `i`, columns `j` and at rows `j`, columns `i` of a square.
#[derive(Clone, Copy, Debug)]
pub struct BlockPair<'a> {
    squares: &'a SquareTiling,
    square: usize,
    i: usize,
    j: usize,
}

impl BlockPair<'_> {
    /// The pair after this one; past the last one, in no square.
    pub fn next(&self) -> Self {
        let SquareTiling { side, block_rows, block_cols, strip, .. } = *self.squares;
        let width = if self.j == self.i { block_rows } else { block_cols };
        let (start, right) = (self.j / strip * strip, self.j + width);
        let end = start + strip;
        let along = (right < side.min(end)).then_some(BlockPair { j: right, ..*self });
        let below = || self.first(self.i + block_rows, start);
        let beside = || self.first(0, end);
        let next_square = BlockPair { square: self.square + 1, i: 0, j: 0, ..*self };
        along.or_else(below).or_else(beside).unwrap_or(next_square)
    }

    /// The first pair of the strip from column `start` on, from row `row` down to the diagonal.
    fn first(&self, row: usize, start: usize) -> Option<Self> {
        let SquareTiling { side, block_rows, block_cols, strip, .. } = *self.squares;
        let col = |i: usize| {
            let beside = i + block_rows;
            let left = start.saturating_sub(beside).next_multiple_of(block_cols);
            if i < start { beside + left } else { i }
        };
        let rows = (row..side.min(start + strip)).step_by(block_rows);
        rows.map(|i| BlockPair { i, j: col(i), ..*self }).find(|pair| pair.j < side)
    }

    fn offset(&self, row: usize, col: usize) -> usize {
        let SquareTiling { side, mid, elem_bytes, .. } = *self.squares;
        let (panel, within) = (self.square / mid, self.square % mid);
        (panel * side + row) * self.squares.pitch + (within * side + col) * elem_bytes
    }

    /// Rows of the upper block, and its columns.
    fn extents(&self) -> (usize, usize) {
        let SquareTiling { side, block_rows, block_cols, .. } = *self.squares;
        let down = block_rows.min(side - self.i);
        (down, if self.i == self.j { down } else { block_cols.min(side - self.j) })
    }

    /// The upper block and the lower one, if there is one; none past the last pair.
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

    /// Every pair of tiles that change places; a tile of the diagonal comes alone.
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

    /// Every element is in one tile pair, and a tile's partner is its mirror image.
    #[test]
    fn tiles_cover_every_square_once() {
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
