//! Axis permutations that are involutions, as swaps of pairs of tiles.
//!
//! If axes of equal extent swap in pairs, elements do too. A *row* consists of
//! the last axes; the outermost of them may be split so that rows have a suitable length. A *tile*
//! consists of a row and of the axes with which the axes of the row swap. All other axes number the
//! tiles. The partner of a tile is the tile whose number has these axes swapped.
//!
//! If the rows of a tile are ordered as they become columns, each tile of a pair becomes the
//! transpose of the other. The axes that number tiles arrange them in squares, one per index of
//! those that stay: half of the others give the row of a tile in its square, their partners give
//! its column.
//!
//! Tiles are not transposed if an axis within the row stays, or swaps with another axis of the row.
//! The source column of an element then depends on both its row and its column, as a sum of two
//! terms ([`TilePairs::origin`]).

use std::cmp::Ordering;

use num_integer::Integer;

use crate::permutation::{AxisPermutation, StridedAxis};

/// Position and extents of a tile, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileSpan {
    /// Offset of the first element.
    pub offset: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
}

/// Source of one column of a tile: a row of its partner tile, and a column there. For an element in
/// row `r`, [`shift(r)`](TilePairs::shift) is added to the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSource {
    /// Row of the partner tile.
    pub row: usize,
    /// Column of the partner tile, for row 0.
    pub col: usize,
}

/// An axis permutation that is an involution, as swaps of pairs of tiles.
///
/// ```
/// use turntile_perm::{AxisPermutation, TilePairs};
///
/// let reversed = AxisPermutation::new(&[6, 5, 5, 6], &[3, 2, 1, 0]).unwrap();
/// // Tiles of 30 x 30 elements would be too large: a row contains only 2 or 3 indices of axis 2.
/// let tiles = TilePairs::new(&reversed, 400, 1).unwrap();
/// assert_eq!((tiles.cols(), tiles.rows(), tiles.across()), (18, 18, 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TilePairs {
    /// Axis that is split over tiles, with extent 1 if no axis is split.
    split: StridedAxis,
    /// Number of indices of the split axis in a full tile.
    piece: usize,
    /// Axes of a row that swap with axes outside it, innermost first. Their partners number the rows
    /// of a tile.
    transposed: Vec<StridedAxis>,
    /// Other axes of a row: each swaps with another axis of the row, or stays.
    within: Vec<StridedAxis>,
    /// Axes that number tiles and swap, innermost first; the split axis precedes the others.
    pairs: Vec<StridedAxis>,
    /// Axes that number tiles and stay, innermost first; the split axis precedes the others.
    fixed: Vec<StridedAxis>,
}

impl TilePairs {
    /// Creates tiles of at most `most` elements, or of one element if `most` is 0. Full rows are
    /// multiples of `whole` elements if the split of an axis allows it. Returns `None` if the
    /// permutation is not an involution, or if it moves nothing.
    pub fn new(axes: &AxisPermutation, most: usize, whole: usize) -> Option<Self> {
        let (extents, order): (_, Vec<usize>) = (axes.extents(), axes.order().collect());
        let rank = extents.len();
        if axes.is_identity() || axes.is_empty() || !axes.is_involution() {
            return None;
        }
        let whole = whole.max(1);
        // The destination stride of an axis is the source stride of its partner.
        let strided: Vec<StridedAxis> = axes.strided_axes().collect();
        // Rows and columns of a tile whose rows are the last axes, starting with axis `first`.
        let sides = |first: usize| {
            let transposed = (first..rank).filter(|&axis| order[axis] < first);
            let cols: usize = extents[first..].iter().product();
            (transposed.map(|axis| extents[axis]).product::<usize>(), cols)
        };
        let fits = |first: &usize| {
            let (rows, cols) = sides(*first);
            rows.checked_mul(cols).is_some_and(|area| area <= most)
        };
        let first = (0..rank).find(fits).unwrap_or(rank);
        let (rows, below) = sides(first);
        let digit = |axis: usize, extent: usize, part: usize| StridedAxis {
            extent,
            ..strided[axis].scaled(part)
        };
        let split = first.checked_sub(1);
        // Number of indices of the split axis in a full tile: the largest even split that fits,
        // rounded up to `whole` if that fits.
        let piece = split.map_or(1, |axis| {
            let (extent, room) = (extents[axis], most / (rows * below));
            let most = match order[axis].cmp(&axis) {
                Ordering::Less => room.isqrt(),
                Ordering::Equal => room,
                // The partner of the axis is in the row, with its whole extent.
                Ordering::Greater => 1,
            };
            let even = extent.div_ceil(extent.div_ceil(most.max(1)));
            let wide = even.next_multiple_of(whole / whole.gcd(&below));
            if wide <= most { wide } else { even }
        });
        let split = split.filter(|_| piece > 1);
        let mut tiles = TilePairs {
            split: StridedAxis { extent: 1, src_stride: below, dst_stride: below },
            piece: 1,
            transposed: Vec::new(),
            within: Vec::new(),
            pairs: Vec::new(),
            fixed: Vec::new(),
        };
        for axis in (first..rank).rev() {
            let other = order[axis];
            if other < first {
                tiles.transposed.push(digit(axis, extents[axis], 1));
            } else {
                tiles.within.push(digit(axis, extents[axis], 1));
            }
        }
        if let Some(axis) = split {
            let (part, parts) =
                (digit(axis, piece, 1), digit(axis, extents[axis].div_ceil(piece), piece));
            let (inside, numbers) = if order[axis] < axis {
                (&mut tiles.transposed, &mut tiles.pairs)
            } else {
                (&mut tiles.within, &mut tiles.fixed)
            };
            inside.push(part);
            numbers.push(parts);
            (tiles.split, tiles.piece) = (digit(axis, extents[axis], 1), piece);
        }
        let numbers = |axis: &usize| Some(*axis) != split && order[*axis] < first;
        for axis in (0..first).rev().filter(numbers) {
            match order[axis].cmp(&axis) {
                Ordering::Less => tiles.pairs.push(digit(axis, extents[axis], 1)),
                Ordering::Equal => tiles.fixed.push(digit(axis, extents[axis], 1)),
                Ordering::Greater => {}
            }
        }
        Some(tiles)
    }

    /// Returns the number of tiles along each side of a square of tiles.
    pub fn across(&self) -> usize {
        product(&self.pairs)
    }

    /// Returns the number of squares of tiles.
    pub fn squares(&self) -> usize {
        product(&self.fixed)
    }

    /// Returns the number of columns of a full tile.
    pub fn cols(&self) -> usize {
        product(&self.transposed) * product(&self.within)
    }

    /// Returns the number of rows of a full tile.
    pub fn rows(&self) -> usize {
        product(&self.transposed)
    }

    /// Returns the split axis with its whole extent, which is 1 if no axis is split. A full tile
    /// contains [`piece`](Self::piece) of its indices.
    pub fn split(&self) -> StridedAxis {
        self.split
    }

    /// Returns the number of indices of the split axis in a full tile.
    pub fn piece(&self) -> usize {
        self.piece
    }

    /// Returns the axes in four groups, each innermost first: axes of a row that become rows, its
    /// other axes, axes that number tiles and swap, and those that number tiles and stay.
    pub fn digits(&self) -> [&[StridedAxis]; 4] {
        [&self.transposed, &self.within, &self.pairs, &self.fixed]
    }

    /// Returns `true` if the rows of every tile start at multiples of `count` elements, and their
    /// lengths are multiples of `count`.
    pub fn is_multiple_of(&self, count: usize) -> bool {
        let short = self.split.extent % self.piece * (self.cols() / self.piece);
        let begin = self.transposed.iter().map(|digit| digit.dst_stride);
        let tiles = self.pairs.iter().flat_map(|digit| [digit.src_stride, digit.dst_stride]);
        let fixed = self.fixed.iter().map(|digit| digit.src_stride);
        begin
            .chain(tiles)
            .chain(fixed)
            .chain([self.cols(), short])
            .all(|at| at.is_multiple_of(count))
    }

    /// Returns `true` if each tile becomes the transpose of its partner: element `(r, c)` comes
    /// from element `(c, r)`.
    pub fn are_transposed(&self) -> bool {
        self.within.is_empty()
    }

    /// Returns a count `n`: each aligned group of `n` columns of a tile comes from `n` adjacent
    /// rows of its partner, and each aligned group of `n` rows from `n` adjacent columns. If tiles
    /// are transposed, `n` is the number of columns.
    pub fn together(&self) -> usize {
        let next = |all, digit: &StridedAxis| {
            if digit.src_stride == all { all * digit.extent } else { all }
        };
        self.transposed.iter().fold(1, next)
    }

    /// Returns the tile in row `y` and column `x` of a square. Its partner is in row `x` and column
    /// `y`.
    pub fn tile(&self, square: usize, y: usize, x: usize) -> TileSpan {
        let offset = offset(&self.fixed, square, |digit| digit.src_stride)
            + offset(&self.pairs, x, |digit| digit.src_stride)
            + offset(&self.pairs, y, |digit| digit.dst_stride);
        // The last tile along a split axis may contain fewer of its indices.
        let parts = self.split.extent.div_ceil(self.piece);
        let left = |number: usize| self.piece.min(self.split.extent - number % parts * self.piece);
        let (tall, wide) =
            if self.split.stays() { (self.piece, left(square)) } else { (left(y), left(x)) };
        TileSpan {
            offset,
            rows: self.rows() * tall / self.piece,
            cols: self.cols() * wide / self.piece,
        }
    }

    /// Returns `(n, stride)`: in each aligned group of `n` rows of a tile, the rows are `stride`
    /// elements apart.
    pub fn run(&self) -> (usize, usize) {
        self.transposed.first().map_or((1, 0), |digit| (digit.extent, digit.dst_stride))
    }

    /// Returns the number of elements from the first row of a tile to row `row`.
    pub fn row_offset(&self, row: usize) -> usize {
        offset(&self.transposed, row, |digit| digit.dst_stride)
    }

    /// Returns the number of columns to add to a [`ColumnSource`] for elements of row `row`.
    pub fn shift(&self, row: usize) -> usize {
        offset(&self.transposed, row, |digit| digit.src_stride)
    }

    /// Returns the source of column `col` of a tile in its partner.
    pub fn origin(&self, col: usize) -> ColumnSource {
        let next = |(weight, row): (usize, usize), digit: &StridedAxis| {
            (weight * digit.extent, row + value_in(digit, col) * weight)
        };
        let row = self.transposed.iter().fold((1, 0), next).1;
        let col = self.within.iter().map(|digit| value_in(digit, col) * digit.dst_stride).sum();
        ColumnSource { row, col }
    }
}

/// Returns the number of unordered pairs of `across` items, including the pair of each item with
/// itself.
pub fn triangle_len(across: usize) -> usize {
    if across.is_multiple_of(2) { across / 2 * (across + 1) } else { across.div_ceil(2) * across }
}

/// Returns unordered pair number `number` of the items `0..across`, the smaller item first.
///
/// The triangle of pairs is folded into a rectangle, so that consecutive numbers are adjacent in a
/// row of the rectangle.
pub fn triangle_index(across: usize, number: usize) -> (usize, usize) {
    let odd = across % 2;
    let (y, x) = (number / (across | 1), number % (across | 1));
    if x + odd > y { (y, x + odd - 1) } else { (across - 1 + odd - y, across - 1 - x) }
}

/// Returns the sum of the mixed-radix digits of `number`, each multiplied by its stride. `digits`
/// lists the lowest first.
fn offset(digits: &[StridedAxis], number: usize, stride: fn(&StridedAxis) -> usize) -> usize {
    let add = |(rest, sum): (usize, usize), digit: &StridedAxis| {
        (rest / digit.extent, sum + rest % digit.extent * stride(digit))
    };
    digits.iter().fold((number, 0), add).1
}

/// Returns the index along an axis of the element at `offset`.
fn value_in(axis: &StridedAxis, offset: usize) -> usize {
    offset / axis.src_stride % axis.extent
}

fn product(digits: &[StridedAxis]) -> usize {
    digits.iter().map(|digit| digit.extent).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all orders of `rank` axes that are their own inverse.
    fn involutions(rank: usize) -> Vec<Vec<usize>> {
        let Some(last) = rank.checked_sub(1) else { return vec![Vec::new()] };
        let with = |mut order: Vec<usize>| {
            order.push(last);
            order
        };
        let mut all: Vec<_> = involutions(last).into_iter().map(with).collect();
        for other in 0..last {
            for mut order in involutions(last).into_iter().filter(|order| order[other] == other) {
                order[other] = last;
                order.push(other);
                all.push(order);
            }
        }
        all
    }

    /// Checks that the tiles move every element to its destination in the permutation.
    fn check(axes: &AxisPermutation, most: usize, whole: usize) {
        let Some(tiles) = TilePairs::new(axes, most, whole) else {
            assert!(axes.is_identity(), "{axes}");
            return;
        };
        let mut from = vec![usize::MAX; axes.len()];
        let area = tiles.rows() * tiles.cols();
        assert!(area <= most.max(1), "{axes}: {area} elements of {most}");
        let mut pairs: Vec<_> = (0..super::triangle_len(tiles.across()))
            .map(|number| triangle_index(tiles.across(), number))
            .collect();
        pairs.sort_unstable();
        let across = tiles.across();
        assert!(pairs.into_iter().eq((0..across).flat_map(|y| (y..across).map(move |x| (y, x)))));
        for square in 0..tiles.squares() {
            for (y, x) in (0..tiles.across()).flat_map(|y| (0..tiles.across()).map(move |x| (y, x)))
            {
                let (tile, partner) = (tiles.tile(square, y, x), tiles.tile(square, x, y));
                for (row, col) in (0..tile.rows).flat_map(|r| (0..tile.cols).map(move |c| (r, c))) {
                    let to = tile.offset + tiles.row_offset(row) + col;
                    let ColumnSource { row: other, col: first } = tiles.origin(col);
                    let column = first + tiles.shift(row);
                    assert!(
                        other < partner.rows && column < partner.cols,
                        "{axes} {most} {tile:?} {partner:?}"
                    );
                    if tiles.are_transposed() {
                        assert_eq!((other, column), (col, row), "{axes}");
                    }
                    assert_eq!(from[to], usize::MAX, "{axes}, {most}: {to} written twice");
                    from[to] = partner.offset + tiles.row_offset(other) + column;
                }
            }
        }
        for (to, &from) in from.iter().enumerate() {
            assert_ne!(from, usize::MAX, "{axes}, {most}: {to} in no tile");
            assert_eq!(axes.dest(from), to, "{axes}, tiles of {most}");
        }
    }

    #[test]
    fn involutions_have_the_known_counts() {
        let counts: Vec<usize> = (0..=6).map(|rank| involutions(rank).len()).collect();
        assert_eq!(counts, [1, 1, 2, 4, 10, 26, 76]);
    }

    /// Checks every involution of two to five axes, with extents of 2 to 5 (at most 4 for five
    /// axes) and several tile sizes.
    #[test]
    fn tiles_move_every_element_once_to_its_destination() {
        for rank in 2..=5 {
            for order in involutions(rank) {
                let one_of_each_pair: Vec<usize> =
                    (0..rank).filter(|&axis| order[axis] <= axis).collect();
                let sizes: &[usize] = if rank < 5 { &[2, 3, 4, 5] } else { &[2, 3, 4] };
                for code in 0..sizes.len().pow(one_of_each_pair.len() as u32) {
                    let mut extents = vec![0; rank];
                    for (k, &axis) in one_of_each_pair.iter().enumerate() {
                        let size = sizes[code / sizes.len().pow(k as u32) % sizes.len()];
                        (extents[axis], extents[order[axis]]) = (size, size);
                    }
                    let axes = AxisPermutation::new(&extents, &order).unwrap();
                    let mosts: &[usize] = if rank < 5 {
                        &[1, 2, 4, 6, 9, 16, 25, 50, 100, 300, 100_000]
                    } else {
                        &[4, 9, 16, 36, 100, 1000]
                    };
                    for &most in mosts {
                        check(&axes, most, 1);
                        check(&axes, most, 2);
                    }
                }
            }
        }
    }

    #[test]
    fn tiles_are_rejected_unless_axes_swap() {
        for (extents, order) in
            [(&[4, 4, 4][..], &[1, 2, 0][..]), (&[3, 5], &[1, 0]), (&[3, 4, 5], &[0, 1, 2])]
        {
            let axes = AxisPermutation::new(extents, order).unwrap();
            assert_eq!(TilePairs::new(&axes, 8, 1), None, "{axes}");
        }
    }
}
