//! Moves of tile rows between the leading dimensions of a matrix and of its transpose, for square
//! tiles that are transposed in place.
//!
//! A *run* is a row of a tile: `side` elements. After all tiles of a matrix have been transposed,
//! the run that starts in row `x` and column `y·side` belongs to row `y·side + x mod side` of the
//! transpose, from column `⌊x/side⌋·side` on. Alternatively the runs move first, and the tiles are
//! transposed in the result. Pitches are multiples of `side`. Elements outside all runs, before and
//! after, are unchanged.

use std::fmt;

use crate::leading::LeadingDims;

/// Index map of the runs of the tiles of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileRows {
    rows: usize,
    cols: usize,
    side: usize,
    /// Pitch before the move, in runs.
    from: usize,
    /// Pitch after the move, in runs.
    to: usize,
}

impl TileRows {
    /// Creates the map for the matrix that `leading` transposes. Returns `None` unless `side`
    /// divides both pitches and at least one side of the matrix, which must not be empty.
    pub fn new(leading: &LeadingDims, side: usize) -> Option<Self> {
        let (source, result) = (leading.source(), leading.result());
        let (rows, cols) = (source.rows(), source.cols());
        let whole = |length: usize| side > 0 && length.is_multiple_of(side);
        let pitches = whole(source.pitch()) && whole(result.pitch());
        let fits = leading.is_transposed() && !leading.is_empty() && pitches;
        (fits && (whole(rows) || whole(cols))).then(|| {
            let [from, to] = [source.pitch() / side, result.pitch() / side];
            TileRows { rows, cols, side, from, to }
        })
    }

    /// Returns the inverse map.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let TileRows { rows, cols, side, from, to } = *self;
        TileRows { rows: cols, cols: rows, side, from: to, to: from }
    }

    /// Returns the number of rows before the move.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of rows after the move, which is that of columns before it.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the number of elements of a run.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Returns the pitches before and after the move, in runs.
    pub fn pitches(&self) -> [usize; 2] {
        [self.from, self.to]
    }

    /// Returns the number of elements of all runs.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the lengths, in elements, of the memory of all runs before and after the move. Both
    /// include the gap after the last row.
    pub fn spans(&self) -> [usize; 2] {
        [self.rows * self.from * self.side, self.cols * self.to * self.side]
    }

    /// Returns the number of run positions before the move, including positions in gaps.
    pub fn places(&self) -> usize {
        self.rows * self.from
    }

    /// Returns the position to which the run at position `s` moves, or `None` if no run is there.
    #[inline]
    pub fn succ(&self, s: usize) -> Option<usize> {
        let TileRows { rows, cols, side, from, to } = *self;
        let (x, y) = (s / from, s % from);
        let row = y * side + x % side;
        (x < rows && row < cols).then(|| row * to + x / side)
    }

    /// Returns the offset to which the element at `offset` moves. Offsets outside the runs are
    /// returned unchanged.
    pub fn dest(&self, offset: usize) -> usize {
        let (s, within) = (offset / self.side, offset % self.side);
        self.succ(s).map_or(offset, |to| to * self.side + within)
    }
}

impl fmt::Display for TileRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TileRows { rows, cols, side, from, to } = *self;
        write!(f, "{rows}x{cols}, pitch {} to {}, tile {side}", from * side, to * side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that runs and transposed tiles, in either order, move every element to its
    /// destination, and that the inverse map restores the runs.
    #[test]
    fn runs_and_transposed_tiles_transpose_the_matrix() {
        let mut found = 0;
        let sides = (0..7).flat_map(|rows| (0..7).map(move |cols| (rows, cols)));
        for (rows, cols) in sides {
            for (lda, ldb) in (cols..13).flat_map(|a| (rows..13).map(move |b| (a, b))) {
                let leading = LeadingDims::transposed(rows, cols, lda, ldb).unwrap();
                for side in 0..7 {
                    let Some(runs) = TileRows::new(&leading, side) else { continue };
                    found += 1;
                    assert_eq!(runs.inverse().inverse(), runs);
                    assert_eq!(
                        (0..runs.places()).filter_map(|s| runs.succ(s)).count() * side,
                        runs.len()
                    );
                    let tile = |at: usize, pitch: usize| {
                        let (r, c) = (at / pitch, at % pitch);
                        let (a, b) = (r % side, c % side);
                        (r - a + b) * pitch + c - b + a
                    };
                    for k in 0..leading.len() {
                        let (from, to) =
                            (leading.source().offset(k), leading.dest(leading.source().offset(k)));
                        if rows % side == 0 {
                            assert_eq!(runs.dest(tile(from, lda)), to, "{runs:?}");
                        }
                        if cols % side == 0 {
                            assert_eq!(tile(runs.dest(from), ldb), to, "{runs:?}");
                        }
                    }
                    for s in 0..runs.places() + runs.pitches()[0] {
                        let to = runs.succ(s);
                        assert!(
                            to.is_none_or(|to| runs.inverse().succ(to) == Some(s)),
                            "{runs:?} {s}"
                        );
                        assert!(to.is_none_or(|to| (to + 1) * side <= runs.spans()[1]));
                        assert!(to.is_none() || (s + 1) * side <= runs.spans()[0]);
                    }
                }
            }
        }
        assert!(found > 1000, "{found}");
        assert!(TileRows::new(&LeadingDims::row_slide(4, 4, 4, 8).unwrap(), 2).is_none());
        assert!(TileRows::new(&LeadingDims::transposed(0, 4, 4, 8).unwrap(), 2).is_none());
    }
}
