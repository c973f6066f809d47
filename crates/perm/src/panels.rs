//! Matrices whose columns are cut into panels of almost equal width, and their *core*: the same
//! number of rows and columns of every panel. The other elements are the *border*.
//!
//! A matrix over ranks has one panel per rank. If its parts differ, its core still consists of
//! equal blocks. Three layouts of one matrix are used:
//!
//! - *apart*: the rows of the whole matrix, where core and border are mixed;
//! - *together*: the core without gaps, as a matrix of `core rows` by `panels · core columns`;
//! - *border*: the border of one panel after another, transposed.

use std::ops::Range;

/// A matrix in panels, and the extents of its core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panels {
    rows: usize,
    /// First column of each panel, followed by the number of columns.
    begins: Vec<usize>,
    /// Rows, and columns of a panel.
    core: [usize; 2],
}

/// A rectangle of the border of one panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BorderPiece {
    /// Offset of its first element in the matrix.
    pub at: usize,
    /// Rows and columns in the matrix.
    pub sides: [usize; 2],
    /// Offset of its first element in the border.
    pub border: usize,
}

/// Side of a transposition on which the matrix is. It determines the order of the border's pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BorderSide {
    /// The matrix is the source. Pieces are stored transposed.
    Source,
    /// The matrix is the result. Pieces are stored row by row.
    Result,
}

impl Panels {
    /// Creates the panels whose first columns are `begins`, followed by the number of columns.
    ///
    /// Returns `None` if there is no panel, if the core is empty or exceeds the rows or a panel, if
    /// the number of elements overflows `usize`, or if a panel does not begin `step` columns after
    /// the one before, or `step + 1` for the first panels.
    pub fn new(rows: usize, begins: &[usize], core: [usize; 2]) -> Option<Self> {
        rows.checked_mul(*begins.last()?)?;
        let panels = Panels { rows, begins: begins.to_vec(), core };
        let fits = core[0] <= rows && panels.all().all(|panel| core[1] <= panels.width(panel));
        let [step, longer] = panels.steps();
        let even = || panels.all().all(|panel| begins[panel] == panel * step + panel.min(longer));
        (begins.len() > 1 && !core.contains(&0) && fits && even()).then_some(panels)
    }

    fn all(&self) -> Range<usize> {
        0..self.panels()
    }

    /// Returns the number of columns of a panel.
    fn width(&self, panel: usize) -> usize {
        self.begins[panel + 1].saturating_sub(self.begins[panel])
    }

    /// Returns `[step, longer]`: panel `p` begins at column `p·step + min(p, longer)`.
    pub fn steps(&self) -> [usize; 2] {
        let starts = &self.begins[..self.panels()];
        let [.., before, last] = starts else { return [0, 0] };
        let step = last.saturating_sub(*before);
        let longer = starts.windows(2).take_while(|pair| pair[1].saturating_sub(pair[0]) > step);
        [step, longer.count()]
    }

    /// Returns the number of panels.
    pub fn panels(&self) -> usize {
        self.begins.len() - 1
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn cols(&self) -> usize {
        self.begins[self.panels()]
    }

    /// Returns the rows of the core, and its columns of each panel.
    pub fn core(&self) -> [usize; 2] {
        self.core
    }

    /// Returns the number of elements of the core.
    pub fn core_len(&self) -> usize {
        self.core[0] * self.core[1] * self.panels()
    }

    /// Returns the number of elements of the border.
    pub fn border_len(&self) -> usize {
        self.border(self.panels())
    }

    /// Returns the offset of a panel in the border. For `panel = panels`, this is the length of the
    /// border.
    pub fn border(&self, panel: usize) -> usize {
        self.rows * self.begins[panel] - panel * self.core[0] * self.core[1]
    }

    /// Returns the offset in the matrix of element `k` of the core.
    pub fn offset(&self, k: usize) -> usize {
        let (run, along) = (k / self.core[1], k % self.core[1]);
        run / self.panels() * self.cols() + self.begins[run % self.panels()] + along
    }

    /// Iterates over the non-empty pieces of the border.
    ///
    /// Both sides of a transposition store the same elements in the same order. Counted in
    /// rows and columns of the source, the border of a panel has the rows after those of the core,
    /// then the other columns.
    pub fn pieces(&self, side: BorderSide) -> impl Iterator<Item = BorderPiece> + '_ {
        let [core_rows, core_cols] = self.core;
        self.all().flat_map(move |panel| {
            let (begin, width) = (self.begins[panel], self.width(panel));
            let (below, right) = (self.rows - core_rows, width - core_cols);
            let (first, sides) = match side {
                BorderSide::Source => {
                    (core_rows * self.cols(), [[below, width], [core_rows, right]])
                }
                BorderSide::Result => (core_cols, [[self.rows, right], [below, core_cols]]),
            };
            let second = match side {
                BorderSide::Source => core_cols,
                BorderSide::Result => core_rows * self.cols(),
            };
            let border = self.border(panel);
            let pieces = [
                BorderPiece { at: begin + first, sides: sides[0], border },
                BorderPiece {
                    at: begin + second,
                    sides: sides[1],
                    border: border + sides[0][0] * sides[0][1],
                },
            ];
            pieces.into_iter().filter(|piece| !piece.sides.contains(&0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balanced(extent: usize, panels: usize) -> Vec<usize> {
        (0..=panels).map(|p| extent / panels * p + p.min(extent % panels)).collect()
    }

    /// Checks that core and border together have every element of the matrix once.
    #[test]
    fn core_and_border_partition_the_matrix() {
        for (rows, cols, count) in (1..6)
            .flat_map(|rows| (1..14).map(move |cols| (rows, cols)))
            .flat_map(|(rows, cols)| (1..5).map(move |count| (rows, cols, count)))
        {
            let begins = balanced(cols, count);
            let least = cols / count;
            for core in (1..=rows).flat_map(|r| (1..=least).map(move |c| [r, c])) {
                let panels = Panels::new(rows, &begins, core).unwrap();
                for side in [BorderSide::Source, BorderSide::Result] {
                    let mut all: Vec<usize> =
                        (0..panels.core_len()).map(|k| panels.offset(k)).collect();
                    assert!(all.is_sorted());
                    let mut border = 0;
                    for piece in panels.pieces(side) {
                        let [down, across] = piece.sides;
                        assert_eq!(piece.border, border);
                        border += down * across;
                        let row = |r: usize| (0..across).map(move |c| piece.at + r * cols + c);
                        all.extend((0..down).flat_map(row));
                    }
                    assert_eq!(border, panels.border_len());
                    all.sort_unstable();
                    assert!(all.into_iter().eq(0..rows * cols), "{panels:?}");
                }
            }
        }
    }

    #[test]
    fn panels_begin_at_almost_equal_distances() {
        let steps = |begins: &[usize]| Some(Panels::new(9, begins, [1, 1])?.steps());
        assert_eq!(steps(&balanced(11, 4)), Some([3, 0]));
        assert_eq!(steps(&balanced(10, 4)), Some([2, 2]));
        assert_eq!(steps(&[0, 3, 6, 9, 10]), Some([3, 0]));
        assert_eq!(steps(&[0, 5, 10]), Some([5, 0]));
        assert_eq!(steps(&[0, 7]), Some([0, 0]));
        assert_eq!(steps(&[0, 5, 7, 10]), None);
        assert_eq!(steps(&[0, 2, 5, 7]), None);
        assert_eq!(steps(&[0, 0, 5]), None);
        assert_eq!(steps(&[]), None);
        assert_eq!(Panels::new(3, &[0, 4, 8], [4, 1]), None);
        assert_eq!(Panels::new(3, &[0, 4, 8], [3, 5]), None);
        assert_eq!(Panels::new(usize::MAX, &[0, 4], [1, 1]), None);
    }
}
