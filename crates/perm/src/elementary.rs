//! Swaps of two axes: the elementary transpositions of the thesis.

/// A swap of two axes of a row-major view:
///
/// ```text
/// [batch][rows][mid][cols][unit]  ->  [batch][cols][mid][rows][unit]
/// ```
///
/// | batch | mid | unit | name |
/// |---|---|---|---|
/// | any | 1 | 1 | 010!: separate matrices (0010! with two axes folded into `batch`) |
/// | 1 | 1 | >1 | 100!: super-elements of `unit` moved across the matrix (1000! with two axes folded into `unit`) |
/// | >1 | 1 | >1 | 0100!: super-elements moved within each of `batch` panels |
/// | any | >1 | 1 | 0210!: if `rows = cols`, every square tile is transposed in place |
/// | any | >1 | >1 | 2100!: super-elements moved across the matrix; the middle axis stays in the middle |
///
/// No intermediate product of [`succ`](Self::succ) exceeds [`len`](Self::len). Extents are in
/// elements; a super-element is a run of `unit` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Elementary {
    /// Number of contiguous, independent instances.
    pub batch: usize,
    /// Extent of the outer of the two swapped axes.
    pub rows: usize,
    /// Extent of the axis between the two swapped axes, or 1.
    pub mid: usize,
    /// Extent of the inner of the two swapped axes.
    pub cols: usize,
    /// Number of elements of a super-element: a contiguous run that moves as one.
    pub unit: usize,
}

impl Elementary {
    /// Returns the number of elements: `batch · rows · mid · cols · unit`.
    pub fn len(&self) -> usize {
        self.batch * self.instance_len()
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of elements of one instance: `rows · mid · cols · unit`.
    pub fn instance_len(&self) -> usize {
        self.instance_units() * self.unit
    }

    /// Returns the number of super-elements of one instance: `rows · mid · cols`.
    pub fn instance_units(&self) -> usize {
        self.rows * self.mid * self.cols
    }

    /// Returns the position to which super-element `s` of an instance moves: its successor on its
    /// cycle.
    pub fn succ(&self, s: usize) -> usize {
        let (rest, col) = (s / self.cols, s % self.cols);
        // Without a middle axis, one division is saved.
        if self.mid == 1 {
            return col * self.rows + rest;
        }
        let (row, m) = (rest / self.mid, rest % self.mid);
        (col * self.mid + m) * self.rows + row
    }

    /// Returns `side` if the matrices are `side x side²` or `side² x side`, with `side > 1` and no
    /// middle axis, else `None`.
    ///
    /// Such a transposition rotates the three axes of cubes `[side][side][side]`. Its cycles have
    /// one or three positions.
    pub fn cube_side(&self) -> Option<usize> {
        let (side, other) = (self.rows.min(self.cols), self.rows.max(self.cols));
        (self.mid == 1 && side > 1 && side.checked_mul(side) == Some(other)).then_some(side)
    }

    /// Returns `true` if the swap transposes squares of single elements in place: separate
    /// matrices, or adjacent tiles of a wider one.
    pub fn is_squares(&self) -> bool {
        self.unit == 1 && self.rows == self.cols
    }

    /// Returns `true` for squares and [cubes](Self::cube_side) of single elements: their elements
    /// and square tiles move in cycles of at most three positions.
    pub fn is_of_tiles(&self) -> bool {
        self.is_squares() || (self.unit == 1 && self.cube_side().is_some())
    }
}

/// Class of an axis permutation, which decides the kernels that can perform it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapKind {
    /// Separate matrices of elements or super-elements: 010!, 100!, 0100!. `mid` is 1. An identity
    /// counts as a matrix of one row.
    Transpose(Elementary),
    /// Adjacent square tiles of single elements, each transposed in place: 0210!. `mid` is more
    /// than 1.
    SquareTiles(Elementary),
    /// Any other swap of two axes across a third: 0210! of rectangles, 2100!.
    Strided(Elementary),
    /// Any other permutation.
    General,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that `cube_side` finds the shapes `side x side²` and `side² x side`, and that three
    /// applications of such a transposition are the identity.
    #[test]
    fn three_applications_restore_cubes() {
        for (rows, cols) in (1..30).flat_map(|rows| (1..30).map(move |cols| (rows, cols))) {
            let e = Elementary { batch: 2, rows, mid: 1, cols, unit: 1 };
            let side = rows.min(cols);
            let is_cube = rows != cols && rows.max(cols) == side * side && side > 1;
            assert_eq!(e.cube_side(), is_cube.then_some(side), "{e:?}");
            let thrice = |s: usize| e.succ(e.succ(e.succ(s)));
            assert!(!is_cube || (0..e.instance_units()).all(|s| thrice(s) == s), "{e:?}");
            assert_eq!(e.is_of_tiles(), is_cube || rows == cols);
        }
        let strided = Elementary { batch: 1, rows: 3, mid: 2, cols: 9, unit: 1 };
        assert_eq!(strided.cube_side(), None);
    }

    #[test]
    fn succ_matches_the_definition() {
        for code in 0..6 * 4 * 6 {
            let (rows, mid, cols) = (code % 6, code / 6 % 4, code / 24);
            let e = Elementary { batch: 1, rows, mid, cols, unit: 1 };
            for (r, m, c) in (0..rows)
                .flat_map(|r| (0..mid).flat_map(move |m| (0..cols).map(move |c| (r, m, c))))
            {
                let to = (c * mid + m) * rows + r;
                assert_eq!(e.succ((r * mid + m) * cols + c), to, "{e:?}");
            }
        }
    }
}
