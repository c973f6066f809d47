//! Squares transposed where they lie: which tiles change places, in which order, and which lines
//! are asked for meanwhile.
//!
//! A square is cut into *blocks*, two of which, with the next two, fit the second-level cache; a pair
//! of blocks across the diagonal is cut into *tiles* that fit the first level twice. Block pairs are
//! read from memory row by row, long runs at a time, and their tiles change places in cache.

/// Squares of `side` elements, `mid` of them side by side in each of `batch` bands: 010! for one
/// square matrix (`mid = 1`), 0210! for square tiles.
#[derive(Clone, Copy, Debug)]
pub struct Squares {
    /// Bands.
    pub batch: usize,
    /// Rows and columns of a square.
    pub side: usize,
    /// Squares of a band.
    pub mid: usize,
    /// Bytes of an element.
    pub elem_bytes: usize,
}

/// A tile: where its first element lies, in bytes, and its extents in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Byte offset of its first element.
    pub offset: usize,
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub cols: usize,
}

/// Most bytes of a tile: two buffers of it take a third of a 48 KiB first-level cache.
pub const TILE_BYTES: usize = 8 << 10;

/// Bytes of a row of a block below the diagonal, roughly: what the hardware fetches beyond the end
/// of a row is wasted there, so rows are long.
const LOWER_ROW_BYTES: usize = 2048;
/// The same above the diagonal, where the next block continues each row.
const UPPER_ROW_BYTES: usize = 256;
/// Bytes of a square that is a single block.
const WHOLE_BYTES: usize = 256 << 10;

impl Squares {
    /// Bytes from one row to the next.
    pub fn pitch(&self) -> usize {
        self.mid * self.side * self.elem_bytes
    }

    /// Elements of a side of a tile: a multiple of every vector's words where there are vectors.
    fn tile(&self) -> usize {
        match self.elem_bytes {
            1 | 2 => 64,
            3..=8 => 32,
            w => (TILE_BYTES / w).isqrt().clamp(1, 16),
        }
    }

    /// Rows of a block above the diagonal, the last one's perhaps less.
    fn block_rows(&self) -> usize {
        let tile = self.tile();
        let whole = self.side * self.side * self.elem_bytes <= WHOLE_BYTES;
        let most = if whole { self.side } else { LOWER_ROW_BYTES / self.elem_bytes };
        let blocks = self.side.div_ceil(most.max(tile));
        self.side.div_ceil(blocks).next_multiple_of(tile)
    }

    /// Columns of one that is not on the diagonal.
    fn block_cols(&self) -> usize {
        (UPPER_ROW_BYTES / self.elem_bytes).max(1).next_multiple_of(self.tile())
    }

    /// Block pairs whose upper block begins in row `i`: that on the diagonal, then those beside it.
    fn pairs_beside(&self, i: usize) -> usize {
        1 + self.side.saturating_sub(i + self.block_rows()).div_ceil(self.block_cols())
    }

    /// Block pairs of a square.
    fn pairs_of_one(&self) -> usize {
        (0..self.side).step_by(self.block_rows()).map(|i| self.pairs_beside(i)).sum()
    }

    /// Block pairs of all squares.
    pub fn pairs(&self) -> usize {
        self.batch * self.mid * self.pairs_of_one()
    }

    /// Block pair `n`: square by square, and row of blocks by row of blocks.
    pub fn pair(&self, n: usize) -> Pair {
        let (square, mut left) = (n / self.pairs_of_one(), n % self.pairs_of_one());
        let mut i = 0;
        while left >= self.pairs_beside(i) {
            left -= self.pairs_beside(i);
            i += self.block_rows();
        }
        let first = square / self.mid * self.side * self.pitch()
            + square % self.mid * self.side * self.elem_bytes;
        let down = self.block_rows().min(self.side - i);
        // The block on the diagonal is square; the others follow it.
        let (j, across) = match left {
            0 => (i, down),
            _ => (i + self.block_rows() + (left - 1) * self.block_cols(), self.block_cols()),
        };
        Pair { squares: *self, first, i, j, down, across: across.min(self.side - j) }
    }
}

/// The blocks at rows `i`, columns `j` and at rows `j`, columns `i` of a square.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    squares: Squares,
    first: usize,
    i: usize,
    j: usize,
    down: usize,
    across: usize,
}

impl Pair {
    fn offset(&self, row: usize, col: usize) -> usize {
        self.first + row * self.squares.pitch() + col * self.squares.elem_bytes
    }

    /// The parts of memory that the pair covers.
    pub fn areas(&self) -> [Option<Area>; 2] {
        let area = |row, col, rows, cols| Area {
            offset: self.offset(row, col),
            pitch: self.squares.pitch(),
            rows,
            bytes: cols * self.squares.elem_bytes,
        };
        let upper = area(self.i, self.j, self.down, self.across);
        let lower = || area(self.j, self.i, self.across, self.down);
        [Some(upper), (self.i != self.j).then(lower)]
    }

    /// Tile pairs of this pair of blocks, tiles of the diagonal counted.
    pub fn tile_pairs(&self) -> usize {
        let tile = self.squares.tile();
        let (down, across) = (self.down.div_ceil(tile), self.across.div_ceil(tile));
        if self.i == self.j { down * (down + 1) / 2 } else { down * across }
    }

    /// Every pair of tiles that change places; a tile of the diagonal comes alone.
    pub fn for_tile_pairs(&self, mut work: impl FnMut(Tile, Option<Tile>)) {
        let tile = self.squares.tile();
        let (down, across) = (self.down, self.across);
        for a in (0..down).step_by(tile) {
            let start = if self.i == self.j { a } else { 0 };
            for b in (start..across).step_by(tile) {
                let (rows, cols) = (tile.min(down - a), tile.min(across - b));
                let (row, col) = (self.i + a, self.j + b);
                let upper = Tile { offset: self.offset(row, col), rows, cols };
                let lower = Tile { offset: self.offset(col, row), rows: cols, cols: rows };
                work(upper, (row != col).then_some(lower));
            }
        }
    }
}

/// Rows of `bytes` bytes, `pitch` bytes apart.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    offset: usize,
    pitch: usize,
    rows: usize,
    bytes: usize,
}

const LINE: usize = 64;

impl Area {
    /// Lines of a row, wherever in a line it begins.
    fn row_lines(&self) -> usize {
        self.bytes.div_ceil(LINE) + 1
    }
}

/// The lines of up to two areas, row by row.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    areas: [Option<Area>; 2],
    row: usize,
    line: usize,
}

impl Ahead {
    /// Of `areas`.
    pub fn new(areas: [Option<Area>; 2]) -> Self {
        Ahead { areas, row: 0, line: 0 }
    }

    /// Lines in all.
    pub fn lines(&self) -> usize {
        self.areas.iter().flatten().map(|area| area.rows * area.row_lines()).sum()
    }

    /// Tells `ask` the byte offsets of the next `lines` lines.
    pub fn next_lines(&mut self, lines: usize, mut ask: impl FnMut(usize)) {
        for _ in 0..lines {
            let Some(area) = self.areas[0] else { return };
            // The last line of a row is that of its last byte.
            let within = (self.line * LINE).min(area.bytes - 1);
            ask(area.offset + self.row * area.pitch + within);
            self.line += 1;
            if self.line == area.row_lines() {
                self.line = 0;
                self.row += 1;
                if self.row == area.rows {
                    self.row = 0;
                    self.areas = [self.areas[1], None];
                }
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
            for side in [1, 2, 31, 64, 65, 257, 300] {
                for elem_bytes in [1, 4, 16, 100, 20_000] {
                    if side * elem_bytes > 100_000 {
                        continue;
                    }
                    let squares = Squares { batch, side, mid, elem_bytes };
                    let mut seen = vec![0; batch * mid * side * side];
                    let pitch = mid * side;
                    let mut see = |tile: Tile| {
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
                        let mut count = 0;
                        pair.for_tile_pairs(|upper, lower| {
                            count += 1;
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
                        assert_eq!(count, pair.tile_pairs());
                    }
                    assert!(seen.iter().all(|&times| times == 1), "{squares:?}");
                }
            }
        }
    }

    #[test]
    fn every_line_of_the_areas_is_asked_for() {
        let area = |offset| Some(Area { offset, pitch: 1000, rows: 3, bytes: 130 });
        let mut ahead = Ahead::new([area(70), area(7001)]);
        let mut asked = std::collections::HashSet::new();
        for _ in 0..ahead.lines().div_ceil(5) {
            ahead.next_lines(5, |offset| {
                asked.insert(offset / LINE);
            });
        }
        for first in [70, 7001] {
            for row in 0..3 {
                let lines = (first + row * 1000) / LINE..=(first + row * 1000 + 129) / LINE;
                assert!(lines.into_iter().all(|line| asked.contains(&line)));
            }
        }
        ahead.next_lines(1, |_| panic!("all lines were told"));
    }
}
