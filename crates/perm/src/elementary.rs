//! The one shape of every elementary transposition.

use std::fmt;

use crate::names::factorial_name;

/// Two axes of a row-major view change places:
///
/// ```text
/// [batch][rows][mid][cols][unit]  ->  [batch][cols][mid][rows][unit]
/// ```
///
/// | batch | mid | unit | name |
/// |---|---|---|---|
/// | any | 1 | 1 | 010!: tiles transposed on their own (0010! with two axes folded into `batch`) |
/// | 1 | 1 | >1 | 100!: super-elements of `unit` moved across the matrix (1000! with `unit = m·n`) |
/// | >1 | 1 | >1 | 0100!: the same inside each panel |
/// | any | >1 | 1 | 0210!: with `rows = cols`, every square tile transposed where it lies |
/// | any | >1 | >1 | 2100!: super-elements moved across the matrix, an axis between them staying put |
///
/// All maps are closed forms of divisions and remainders, with no product that could exceed
/// [`len`](Self::len). Extents are in elements; a super-element is a run of `unit` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Elementary {
    /// Independent instances, one after the other in memory.
    pub batch: usize,
    /// The outer of the two axes that change places.
    pub rows: usize,
    /// The axis between them, which stays where it is.
    pub mid: usize,
    /// The inner of the two axes that change places.
    pub cols: usize,
    /// Elements of a super-element, contiguous before and after.
    pub unit: usize,
}

impl Elementary {
    /// Elements the transposition covers: `batch · rows · mid · cols · unit`.
    pub fn len(&self) -> usize {
        self.batch * self.instance_len()
    }

    /// Whether it covers no element at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements of one instance: `rows · mid · cols · unit`.
    pub fn instance_len(&self) -> usize {
        self.instance_units() * self.unit
    }

    /// Super-elements of one instance: `rows · mid · cols`.
    pub fn instance_units(&self) -> usize {
        self.rows * self.mid * self.cols
    }

    /// Where super-element `s` of an instance goes: its successor on its cycle.
    pub fn succ(&self, s: usize) -> usize {
        let (rest, col) = (s / self.cols, s % self.cols);
        // Saves a division.
        if self.mid == 1 {
            return col * self.rows + rest;
        }
        let (row, m) = (rest / self.mid, rest % self.mid);
        (col * self.mid + m) * self.rows + row
    }

    /// Where the element at `offset` goes; offsets behind the end stay.
    pub fn dest(&self, offset: usize) -> usize {
        if offset >= self.len() {
            return offset;
        }
        let (position, within) = (offset / self.unit, offset % self.unit);
        let per_instance = self.instance_units();
        let (instance, s) = (position / per_instance, position % per_instance);
        (instance * per_instance + self.succ(s)) * self.unit + within
    }

    /// The transposition that undoes this one: `rows` and `cols` swapped.
    pub fn inverse(&self) -> Self {
        Elementary { rows: self.cols, cols: self.rows, ..*self }
    }

    /// Whether nothing moves: an axis of extent 1 leaves the order as it is, unless `mid` lies between.
    pub fn is_identity(&self) -> bool {
        let moving = [self.rows, self.mid, self.cols].iter().filter(|&&extent| extent > 1).count();
        self.is_empty() || (self.rows == 1 && self.cols == 1) || moving < 2
    }

    /// Whether it is its own inverse, so that every cycle is a swap or a fixed point.
    pub fn is_involution(&self) -> bool {
        let Elementary { rows, mid, cols, .. } = *self;
        // An axis of extent 1 leaves the two others to swap.
        rows == cols || rows == 1 && mid == cols || cols == 1 && mid == rows || self.is_identity()
    }

    /// Side of the cubes `[side][side][side]` whose first axis it makes the last, or the last the first: matrices of
    /// `side x side²` and `side² x side`, whose cycles have three positions or one.
    pub fn cube_side(&self) -> Option<usize> {
        let (side, other) = (self.rows.min(self.cols), self.rows.max(self.cols));
        (self.mid == 1 && side > 1 && side.checked_mul(side) == Some(other)).then_some(side)
    }

    /// Whether it transposes squares of single elements where they lie: matrices on their own, or side by side.
    pub fn is_squares(&self) -> bool {
        self.unit == 1 && self.rows == self.cols
    }

    /// Whether its elements go to each other's places in twos or threes, so that tiles of them can: squares and cubes of
    /// single elements.
    pub fn is_of_tiles(&self) -> bool {
        self.is_squares() || (self.unit == 1 && self.cube_side().is_some())
    }

    /// Its name as an order of the axes that it really has (thesis table 4.1).
    ///
    /// `batch` counts as an axis when it exceeds 1 or when `unit` is 1 (so that tiles are always
    /// named 010!); `mid` and `unit` count when they exceed 1.
    pub fn name(&self) -> String {
        let has_batch = usize::from(self.batch > 1 || (self.unit == 1 && self.mid == 1));
        let has_mid = usize::from(self.mid > 1);
        let has_unit = usize::from(self.unit > 1);
        let mut axes: Vec<usize> = (0..has_batch + 2 + has_mid + has_unit).collect();
        axes.swap(has_batch, has_batch + 1 + has_mid);
        factorial_name(&axes)
    }
}

/// What an order of axes is, which decides how it can be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapKind {
    /// Matrices of elements or super-elements, each on its own: 010!, 100!, 0100!. `mid` is 1. An order that moves
    /// nothing is a matrix of one row.
    Transpose(Elementary),
    /// Square tiles of single elements side by side, each transposed where it lies: 0210!. `mid` is more than 1.
    SquareTiles(Elementary),
    /// Any other two axes that change places across a third: 0210! of rectangles, 2100!.
    Strided(Elementary),
    /// Any other order.
    General,
}

impl fmt::Display for Elementary {
    /// Dimension notation: `100!(7200x50, unit 36)`, `0210!(8*64x3x64)`.
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

    /// Cubes are those that are done after three times and not after one, where a side and its square are the extents.
    #[test]
    fn cubes_come_back_after_three_times() {
        for (rows, cols) in (1..30).flat_map(|rows| (1..30).map(move |cols| (rows, cols))) {
            let e = Elementary { batch: 2, rows, mid: 1, cols, unit: 1 };
            let side = rows.min(cols);
            let is_cube = rows != cols && rows.max(cols) == side * side && side > 1;
            assert_eq!(e.cube_side(), is_cube.then_some(side), "{e}");
            let thrice = |s: usize| e.dest(e.dest(e.dest(s)));
            assert!(!is_cube || (0..e.len()).all(|s| thrice(s) == s), "{e}");
            assert_eq!(e.is_of_tiles(), is_cube || rows == cols);
        }
        let apart = Elementary { batch: 1, rows: 3, mid: 2, cols: 9, unit: 1 };
        assert_eq!(apart.cube_side(), None);
    }

    /// The definition, index by index.
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
    fn names_are_the_thesis_names() {
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
