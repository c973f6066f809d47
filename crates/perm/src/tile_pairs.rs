//! Permutations of axes of order two, as tiles that change places in pairs.
//!
//! Where axes of equal extent change places in pairs, every element goes to where another comes from. Let a *row* be the
//! last axes, the outermost of them split where that makes rows of a better length. A *tile* is a row and the axes that its
//! own change places with. All other digits number the tiles, and a tile's partner is the tile whose number has those
//! digits exchanged. Take a tile's rows in the order in which they will be columns, and a pair of tiles is what it is in a
//! square matrix: two tiles, each the other's transpose. Numbers of tiles are a square too: half of the digits are one
//! number, their partners the other.
//!
//! An axis within the row may stay, or change places with another of the row. Then an element's column afterwards is no
//! longer its row alone, but still a sum of two terms ([`TilePairs::origin`]).

use std::cmp::Ordering;

use num_integer::Integer;

use crate::permutation::AxisPermutation;

/// A digit of offsets: so many values, so many elements apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StridedAxis {
    /// Values.
    pub extent: usize,
    /// Elements from one value to the next.
    pub stride: usize,
    /// The same of the digit that it changes places with; of one that stays, its own.
    pub partner: usize,
}

impl StridedAxis {
    /// The value in a number of which this is a digit.
    fn of(&self, number: usize) -> usize {
        number / self.stride % self.extent
    }

    /// Whether it changes places with no other.
    pub fn stays(&self) -> bool {
        self.stride == self.partner
    }
}

/// A tile: where its first element lies, and its extents, all in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileSpan {
    /// Its first element.
    pub offset: usize,
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub cols: usize,
}

/// Where a tile's elements of one column come from: a row of its partner, and a column there, to which the
/// [shift](TilePairs::shift) of their row is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSource {
    /// The partner's row.
    pub row: usize,
    /// The column, of row 0.
    pub col: usize,
}

/// A permutation of axes of order two, as tiles that change places.
///
/// ```
/// use turntile_perm::{AxisPermutation, TilePairs};
///
/// let reversed = AxisPermutation::new(&[6, 5, 5, 6], &[3, 2, 1, 0]).unwrap();
/// // Tiles of 30 x 30 elements would be too large, so two or three of the third axis go into a row.
/// let tiles = TilePairs::new(&reversed, 400, 1).unwrap();
/// assert_eq!((tiles.cols(), tiles.rows(), tiles.across()), (18, 18, 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TilePairs {
    /// The axis that is split, and its values in a tile: all, where none is split.
    split: StridedAxis,
    piece: usize,
    /// The digits of a row whose partners are a tile's rows, the innermost first: strides in the row, and of the rows.
    turned: Vec<StridedAxis>,
    /// The other digits of a row: each changes places with another, or stays.
    within: Vec<StridedAxis>,
    /// Digits that number tiles, the innermost of those that change places, the split one first; and those that stay.
    pairs: Vec<StridedAxis>,
    fixed: Vec<StridedAxis>,
}

impl TilePairs {
    /// Tiles of at most `most` elements, or of one, and their rows multiples of `whole` elements where the axis that is
    /// split allows it; none where the permutation is not of order two, or moves nothing.
    pub fn new(axes: &AxisPermutation, most: usize, whole: usize) -> Option<Self> {
        let (extents, order): (_, Vec<usize>) = (axes.extents(), axes.order().collect());
        let rank = extents.len();
        if axes.is_identity() || axes.is_empty() || !axes.is_involution() {
            return None;
        }
        let whole = whole.max(1);
        let mut strides = vec![1; rank];
        for axis in (1..rank).rev() {
            strides[axis - 1] = strides[axis] * extents[axis];
        }
        // Rows and columns of a tile whose rows are the last axes, from `first` on.
        let sides = |first: usize| {
            let turned = (first..rank).filter(|&axis| order[axis] < first);
            let cols: usize = extents[first..].iter().product();
            (turned.map(|axis| extents[axis]).product::<usize>(), cols)
        };
        let fits = |first: &usize| {
            let (rows, cols) = sides(*first);
            rows.checked_mul(cols).is_some_and(|area| area <= most)
        };
        let first = (0..rank).find(fits).unwrap_or(rank);
        let (rows, below) = sides(first);
        let digit = |axis: usize, extent: usize, part: usize| StridedAxis {
            extent,
            stride: strides[axis] * part,
            partner: strides[order[axis]] * part,
        };
        let split = first.checked_sub(1);
        // Of the axis before a row's, as many values as there is room for.
        let piece = split.map_or(1, |axis| {
            let (extent, room) = (extents[axis], most / (rows * below));
            let most = match order[axis].cmp(&axis) {
                Ordering::Less => room.isqrt(),
                Ordering::Equal => room,
                // Its partner is in the row, and all of that.
                Ordering::Greater => 1,
            };
            let even = extent.div_ceil(extent.div_ceil(most.max(1)));
            let wide = even.next_multiple_of(whole / whole.gcd(&below));
            if wide <= most { wide } else { even }
        });
        let split = split.filter(|_| piece > 1);
        let mut tiles = TilePairs {
            split: StridedAxis { extent: 1, stride: below, partner: below },
            piece: 1,
            turned: Vec::new(),
            within: Vec::new(),
            pairs: Vec::new(),
            fixed: Vec::new(),
        };
        for axis in (first..rank).rev() {
            let other = order[axis];
            if other < first {
                tiles.turned.push(digit(axis, extents[axis], 1));
            } else {
                tiles.within.push(digit(axis, extents[axis], 1));
            }
        }
        if let Some(axis) = split {
            let (part, parts) =
                (digit(axis, piece, 1), digit(axis, extents[axis].div_ceil(piece), piece));
            let (inside, numbers) = if order[axis] < axis {
                (&mut tiles.turned, &mut tiles.pairs)
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

    /// Tiles across the square of tiles: each has a number of a row of tiles, and of a column, below this.
    pub fn across(&self) -> usize {
        product(&self.pairs)
    }

    /// Squares of tiles.
    pub fn squares(&self) -> usize {
        product(&self.fixed)
    }

    /// Columns of a tile that is not the last one.
    pub fn cols(&self) -> usize {
        product(&self.turned) * product(&self.within)
    }

    /// Rows of one.
    pub fn rows(&self) -> usize {
        product(&self.turned)
    }

    /// The axis that is split: its digit in all, of extent 1 where none is; of a tile that is not the last one
    /// [`piece`](Self::piece) values.
    pub fn split(&self) -> StridedAxis {
        self.split
    }

    /// Values of the split axis in a tile.
    pub fn piece(&self) -> usize {
        self.piece
    }

    /// The digits of a row whose partners are a tile's rows; the others of a row; those that number tiles and change
    /// places; and that stay. The fastest come first.
    pub fn digits(&self) -> [&[StridedAxis]; 4] {
        [&self.turned, &self.within, &self.pairs, &self.fixed]
    }

    /// Whether every tile's rows begin at multiples of so many elements, and are as long.
    pub fn is_multiple_of(&self, count: usize) -> bool {
        let short = self.split.extent % self.piece * (self.cols() / self.piece);
        let begin = self.turned.iter().map(|digit| digit.partner);
        let tiles = self.pairs.iter().flat_map(|digit| [digit.stride, digit.partner]);
        let fixed = self.fixed.iter().map(|digit| digit.stride);
        begin
            .chain(tiles)
            .chain(fixed)
            .chain([self.cols(), short])
            .all(|at| at.is_multiple_of(count))
    }

    /// Whether a tile's partner is its transpose, so that column `c` comes from row `c` and is shifted by the row.
    pub fn are_transposed(&self) -> bool {
        self.within.is_empty()
    }

    /// Columns from every multiple of their count on that come from neighbouring rows, and as many rows that come from
    /// neighbouring columns; all where tiles are transposed.
    pub fn together(&self) -> usize {
        let next =
            |all, digit: &StridedAxis| if digit.stride == all { all * digit.extent } else { all };
        self.turned.iter().fold(1, next)
    }

    /// The tile in row `y` and column `x` of a square. Its partner is that in row `x` and column `y`.
    pub fn tile(&self, square: usize, y: usize, x: usize) -> TileSpan {
        let offset = offset(&self.fixed, square, |digit| digit.stride)
            + offset(&self.pairs, x, |digit| digit.stride)
            + offset(&self.pairs, y, |digit| digit.partner);
        // The last tile of a split axis may have less of it.
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

    /// Rows of a tile that lie equally far apart, from every multiple of their count on, and how far.
    pub fn run(&self) -> (usize, usize) {
        self.turned.first().map_or((1, 0), |digit| (digit.extent, digit.partner))
    }

    /// Elements from a tile's first row to row `row`.
    pub fn row_offset(&self, row: usize) -> usize {
        offset(&self.turned, row, |digit| digit.partner)
    }

    /// Columns by which elements of row `row` are shifted in their [`ColumnSource`].
    pub fn shift(&self, row: usize) -> usize {
        offset(&self.turned, row, |digit| digit.stride)
    }

    /// Where column `col` of a tile comes from.
    pub fn origin(&self, col: usize) -> ColumnSource {
        let next = |(weight, row): (usize, usize), digit: &StridedAxis| {
            (weight * digit.extent, row + digit.of(col) * weight)
        };
        let row = self.turned.iter().fold((1, 0), next).1;
        let col = self.within.iter().map(|digit| digit.of(col) * digit.partner).sum();
        ColumnSource { row, col }
    }
}

/// Pairs of `across` things, those of a thing and itself among them.
pub fn pairs(across: usize) -> usize {
    if across.is_multiple_of(2) { across / 2 * (across + 1) } else { across.div_ceil(2) * across }
}

/// Pair `number` of those, the smaller first: the triangle folded into a rectangle, so that neighbouring numbers are
/// neighbours in a row.
pub fn pair(across: usize, number: usize) -> (usize, usize) {
    let odd = across % 2;
    let (y, x) = (number / (across | 1), number % (across | 1));
    if x + odd > y { (y, x + odd - 1) } else { (across - 1 + odd - y, across - 1 - x) }
}

/// What a number's digits add up to, the fastest first.
fn offset(digits: &[StridedAxis], number: usize, stride: fn(&StridedAxis) -> usize) -> usize {
    let add = |(rest, sum): (usize, usize), digit: &StridedAxis| {
        (rest / digit.extent, sum + rest % digit.extent * stride(digit))
    };
    digits.iter().fold((number, 0), add).1
}

fn product(digits: &[StridedAxis]) -> usize {
    digits.iter().map(|digit| digit.extent).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All orders of `rank` axes that are their own inverse.
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

    /// Moves every element as the tiles say, and compares.
    fn check(axes: &AxisPermutation, most: usize, whole: usize) {
        let Some(tiles) = TilePairs::new(axes, most, whole) else {
            assert!(axes.is_identity(), "{axes}");
            return;
        };
        let mut from = vec![usize::MAX; axes.len()];
        let area = tiles.rows() * tiles.cols();
        assert!(area <= most.max(1), "{axes}: {area} elements of {most}");
        let mut pairs: Vec<_> =
            (0..super::pairs(tiles.across())).map(|number| pair(tiles.across(), number)).collect();
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
                    assert_eq!(from[to], usize::MAX, "{axes}, {most}: {to} twice");
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
    fn involutions_are_as_many_as_there_are() {
        let counts: Vec<usize> = (0..=6).map(|rank| involutions(rank).len()).collect();
        assert_eq!(counts, [1, 1, 2, 4, 10, 26, 76]);
    }

    /// Every permutation of order two of up to five axes, small extents, primes among them, and rows of every length.
    #[test]
    fn every_element_is_in_one_tile_and_goes_where_it_belongs() {
        for rank in 2..=5 {
            for order in involutions(rank) {
                let free: Vec<usize> = (0..rank).filter(|&axis| order[axis] <= axis).collect();
                let sizes: &[usize] = if rank < 5 { &[2, 3, 4, 5] } else { &[2, 3, 4] };
                for code in 0..sizes.len().pow(free.len() as u32) {
                    let mut extents = vec![0; rank];
                    for (place, &axis) in free.iter().enumerate() {
                        let size = sizes[code / sizes.len().pow(place as u32) % sizes.len()];
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
    fn what_is_not_of_order_two_has_none() {
        for (extents, order) in
            [(&[4, 4, 4][..], &[1, 2, 0][..]), (&[3, 5], &[1, 0]), (&[3, 4, 5], &[0, 1, 2])]
        {
            let axes = AxisPermutation::new(extents, order).unwrap();
            assert_eq!(TilePairs::new(&axes, 8, 1), None, "{axes}");
        }
    }
}
