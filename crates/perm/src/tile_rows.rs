//! Rows of square tiles that are transposed where they lie, on their way from rows a pitch apart to the rows of the
//! transpose, another pitch apart.
//!
//! Where all tiles of a matrix are transposed, the run of `side` elements from `(x, y·side)` on belongs to row
//! `y·side + x mod side` of the transpose, from column `⌊x/side⌋·side` on. Or runs go there first, and tiles are
//! transposed in their places. Pitches are whole runs; gaps are not touched.

use std::fmt;

use crate::leading::LeadingDims;

/// The runs of a matrix's tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileRows {
    rows: usize,
    cols: usize,
    side: usize,
    /// Runs from row to row, before and after.
    from: usize,
    to: usize,
}

impl TileRows {
    /// Of the matrix that `leading` transposes; `None` unless `side` divides both pitches and one of the matrix's sides.
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

    /// What undoes it.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let TileRows { rows, cols, side, from, to } = *self;
        TileRows { rows: cols, cols: rows, side, from: to, to: from }
    }

    /// Rows that runs leave.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows that they go to.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements of a run.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Runs from row to row, before and after.
    pub fn pitches(&self) -> [usize; 2] {
        [self.from, self.to]
    }

    /// Elements that move.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements from the first one on that hold all runs before, and after, with the gap behind the last row.
    pub fn spans(&self) -> [usize; 2] {
        [self.rows * self.from * self.side, self.cols * self.to * self.side]
    }

    /// Places of runs before they move, those in gaps too.
    pub fn places(&self) -> usize {
        self.rows * self.from
    }

    /// Where the run at a place goes; `None` where none lies there that moves.
    #[inline]
    pub fn succ(&self, s: usize) -> Option<usize> {
        let TileRows { rows, cols, side, from, to } = *self;
        let (x, y) = (s / from, s % from);
        let row = y * side + x % side;
        (x < rows && row < cols).then(|| row * to + x / side)
    }

    /// Where what lies at an offset goes; what is of no run stays.
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

    /// Runs and transposed tiles, in either order, bring every element to its place; runs go to rows of the result and
    /// back.
    #[test]
    fn runs_and_tiles_transpose() {
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
