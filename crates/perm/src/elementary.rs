//! Swaps of two axes: the elementary transpositions of the thesis.

use std::fmt;

use crate::names::factorial_name;

/// A swap of two axes of a row-major view:
///
/// ```text
/// [batch][rows][mid][cols][unit]  ->  [batch][cols][mid][rows][unit]
/// ```
///
/// | batch | mid | unit | name |
/// |---|---|---|---|
/// | any | 1 | 1 | 010!: separate matrices (0010! with two axes folded into `batch`) |
/// | 1 | 1 | >1 | 100!: super-elements of `unit` moved across the matrix (1000! with `unit = m·n`) |
/// | >1 | 1 | >1 | 0100!: super-elements moved within each of `batch` panels |
/// | any | >1 | 1 | 0210!: if `rows = cols`, every square tile is transposed in place |
/// | any | >1 | >1 | 2100!: super-elements moved across the matrix; the middle axis stays |
///
/// All maps are closed forms of divisions and remainders. No product exceeds [`len`](Self::len).
/// Extents are in elements; a super-element is a run of `unit` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Elementary {
    /// Number of contiguous, independent instances.
    pub batch: usize,
    /// Extent of the outer of the two swapped axes.
    pub rows: usize,
    /// Extent of the axis between them, which stays in the middle.
    pub mid: usize,
    /// Extent of the inner of the two swapped axes.
    pub cols: usize,
    /// Elements of a super-element, which is contiguous before and after.
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
        // This case needs one division less.
        if self.mid == 1 {
            return col * self.rows + rest;
        }
        let (row, m) = (rest / self.mid, rest % self.mid);
        (col * self.mid + m) * self.rows + row
    }

    /// Returns the offset to which the element at `offset` moves. Offsets past the end are returned
    /// unchanged.
    pub fn dest(&self, offset: usize) -> usize {
        if offset >= self.len() {
            return offset;
        }
        let (position, within) = (offset / self.unit, offset % self.unit);
        let per_instance = self.instance_units();
        let (instance, s) = (position / per_instance, position % per_instance);
        (instance * per_instance + self.succ(s)) * self.unit + within
    }

    /// Returns the inverse transposition: `rows` and `cols` swapped.
    pub fn inverse(&self) -> Self {
        Elementary { rows: self.cols, cols: self.rows, ..*self }
    }

    /// Returns `true` if no element moves. Swapping with an axis of extent 1 moves nothing, unless
    /// `mid` is between the two.
    pub fn is_identity(&self) -> bool {
        let moving = [self.rows, self.mid, self.cols].iter().filter(|&&extent| extent > 1).count();
        self.is_empty() || (self.rows == 1 && self.cols == 1) || moving < 2
    }

    /// Returns `true` if the transposition is its own inverse, so that every cycle has one or two
    /// positions.
    pub fn is_involution(&self) -> bool {
        let Elementary { rows, mid, cols, .. } = *self;
        // If one of the axes has extent 1, the two others swap.
        rows == cols || rows == 1 && mid == cols || cols == 1 && mid == rows || self.is_identity()
    }

    /// Returns the side of the cubes `[side][side][side]` in which this transposition makes the
    /// first axis the last, or the last axis the first. `None` for other shapes.
    ///
    /// Such matrices are `side x side²` or `side² x side`. Their cycles have one or three
    /// positions.
    pub fn cube_side(&self) -> Option<usize> {
        let (side, other) = (self.rows.min(self.cols), self.rows.max(self.cols));
        (self.mid == 1 && side > 1 && side.checked_mul(side) == Some(other)).then_some(side)
    }

    /// Returns `true` if it transposes squares of single elements in place. The squares are
    /// separate matrices, or adjacent tiles of a wider one.
    pub fn is_squares(&self) -> bool {
        self.unit == 1 && self.rows == self.cols
    }

    /// Returns `true` if elements move in cycles of at most three positions, and square tiles do
    /// too: squares and cubes of single elements.
    pub fn is_of_tiles(&self) -> bool {
        self.is_squares() || (self.unit == 1 && self.cube_side().is_some())
    }

    /// Returns the name as a permutation of the axes that count (thesis table 4.1).
    ///
    /// `batch` counts as an axis if it exceeds 1, or if `unit` and `mid` are 1: a single matrix is
    /// named 010! too. `mid` and `unit` count if they exceed 1.
    pub fn name(&self) -> String {
        let has_batch = usize::from(self.batch > 1 || (self.unit == 1 && self.mid == 1));
        let has_mid = usize::from(self.mid > 1);
        let has_unit = usize::from(self.unit > 1);
        let mut axes: Vec<usize> = (0..has_batch + 2 + has_mid + has_unit).collect();
        axes.swap(has_batch, has_batch + 1 + has_mid);
        factorial_name(&axes)
    }
}

/// Class of a permutation of axes. It decides which kernels can perform it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapKind {
    /// Separate matrices of elements or super-elements: 010!, 100!, 0100!. `mid` is 1. An identity
    /// is a matrix of one row.
    Transpose(Elementary),
    /// Adjacent square tiles of single elements, each transposed in place: 0210!. `mid` is more
    /// than 1.
    SquareTiles(Elementary),
    /// Any other swap of two axes across a third: 0210! of rectangles, 2100!.
    Strided(Elementary),
    /// Any other permutation.
    General,
}

impl fmt::Display for Elementary {
    /// Formats in dimension notation: `100!(7200x50, unit 36)`, `0210!(8*64x3x64)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name())?;
        if self.batch > 1 {
            write!(f, "{}*", self.batch)?;
        }
        write!(f, "{}x", self.rows)?;
        if self.mid > 1 {
            write!(f, "{}x", self.mid)?;
        }
        write!(f, "{}", self.cols)?;
        if self.unit > 1 {
            write!(f, ", unit {}", self.unit)?;
        }
        write!(f, ")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cube_side` finds the shapes `side x side²` and `side² x side`, and three applications of
    /// such a transposition are the identity.
    #[test]
    fn three_applications_restore_cubes() {
        for (rows, cols) in (1..30).flat_map(|rows| (1..30).map(move |cols| (rows, cols))) {
            let e = Elementary { batch: 2, rows, mid: 1, cols, unit: 1 };
            let side = rows.min(cols);
            let is_cube = rows != cols && rows.max(cols) == side * side && side > 1;
            assert_eq!(e.cube_side(), is_cube.then_some(side), "{e}");
            let thrice = |s: usize| e.dest(e.dest(e.dest(s)));
            assert!(!is_cube || (0..e.len()).all(|s| thrice(s) == s), "{e}");
            assert_eq!(e.is_of_tiles(), is_cube || rows == cols);
        }
        let strided = Elementary { batch: 1, rows: 3, mid: 2, cols: 9, unit: 1 };
        assert_eq!(strided.cube_side(), None);
    }

    /// Computes all destinations from the definition, index by index.
    fn dest_by_loops(e: &Elementary) -> Vec<usize> {
        let mut dest = vec![0; e.len()];
        let mut from = 0;
        for b in 0..e.batch {
            for r in 0..e.rows {
                for m in 0..e.mid {
                    for c in 0..e.cols {
                        for u in 0..e.unit {
                            dest[from] = (((b * e.cols + c) * e.mid + m) * e.rows + r) * e.unit + u;
                            from += 1;
                        }
                    }
                }
            }
        }
        dest
    }

    #[test]
    fn closed_forms_match_the_definition() {
        for batch in 1..3 {
            for rows in 1..6 {
                for mid in 1..4 {
                    for cols in 1..6 {
                        for unit in 1..4 {
                            let e = Elementary { batch, rows, mid, cols, unit };
                            let dest = dest_by_loops(&e);
                            for (offset, &to) in dest.iter().enumerate() {
                                assert_eq!(e.dest(offset), to, "{e} at {offset}");
                                assert_eq!(e.inverse().dest(to), offset, "{e} at {to}");
                            }
                            let moves = dest.iter().enumerate().any(|(from, &to)| from != to);
                            assert_eq!(e.is_identity(), !moves, "{e}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn names_match_the_thesis() {
        let name =
            |batch, rows, mid, cols, unit| Elementary { batch, rows, mid, cols, unit }.name();
        assert_eq!(name(4, 3, 1, 5, 1), "010!");
        assert_eq!(name(1, 3, 1, 5, 1), "010!");
        assert_eq!(name(1, 3, 1, 5, 8), "100!");
        assert_eq!(name(6, 3, 1, 5, 8), "0100!");
        assert_eq!(name(6, 8, 3, 8, 1), "0210!");
        assert_eq!(name(1, 8, 3, 8, 4), "2100!");
        assert_eq!(name(2, 8, 3, 8, 4), "02100!");
    }
}
