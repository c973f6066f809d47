//! Transposition of a matrix over ranks by swaps of blocks, followed by at most one local pass.
//!
//! Block `j` of rank `i` is the data that it sends to rank `j`. If rows and columns are partitioned
//! at the same indices, block `j` of rank `i` swaps with block `i` of rank `j`, its mirror image.
//! Both are transposed. Nothing is left to do.
//!
//! In equal parts, each of `P` ranks has `m` rows of `P·n` elements before, and `n` rows of `P·m`
//! after. Let `s` divide `m` and `n`, with `m = m'·s` and `n = n'·s`. A block has `m'` by `n'`
//! squares of `s` by `s` elements. With row `a'·s + a` and column `b'·s + b` of a block, rank `i`
//! stores `[a'][a][j][b'][b]`. The result of rank `j` is `[b'][b][i][a'][a]`.
//!
//! 1. Square `(a', b')` of block `j` of rank `i` swaps with square `(a', b')` of block `i` of rank
//!    `j`. Both are transposed. The squares of block `i` of rank `i` are transposed in place. Rank
//!    `j` then stores `[a'][b][i][b'][a]`.
//! 2. Each rank permutes its runs of `s` elements: axes `a'` and `b'` are exchanged. This pass is
//!    empty if `m = n = s`.
//!
//! In unequal parts, or without such an `s`, the first rows and columns of each block, equally many
//! on all ranks, are a *core* in equal parts. Each rank first moves its core together and sets the
//! rest, the *border*, aside ([`Panels`]). The core is transposed as above, while ranks fetch their
//! border from each other. Finally each rank moves its core apart and fills in the border.

use std::collections::BTreeSet;

use turntile_cuda::peers::{PeerBlock, Squares};
use turntile_perm::divisors::divisors;
use turntile_perm::{AxisPermutation, Panels};

use crate::partition::Partition;

/// Tiles of a matrix and of its transpose, both partitioned over the same ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerSquares {
    /// Parts of the columns.
    cols: Partition,
    /// Side of a square, and the numbers of squares of each block; `None` for blocks of one
    /// rectangle.
    pub squares: Option<Squares>,
    /// The border, if the squares are those of a core.
    pub border: Option<Border>,
}

/// Division of each rank's part, before and after, into core and border.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Border {
    /// Each rank's rows before in panels of columns, and its rows after in panels of rows before.
    panels: [Vec<Panels>; 2],
}

impl Border {
    /// Creates the division for a core of `core` rows and columns per block. Returns `None` if parts do
    /// not have almost equal sizes or are smaller than the core.
    fn new(rows: &Partition, cols: &Partition, core: [usize; 2]) -> Option<Self> {
        let panels = |rows: &Partition, cols: &Partition, core| {
            let begins: Vec<usize> = (0..=cols.ranks()).map(|rank| cols.begin(rank)).collect();
            rows.sizes().map(|len| Panels::new(len, &begins, core)).collect::<Option<_>>()
        };
        let [core_rows, core_cols] = core;
        let result = panels(cols, rows, [core_cols, core_rows])?;
        Some(Border { panels: [panels(rows, cols, core)?, result] })
    }

    /// Returns the panels of a rank's rows before.
    pub fn source(&self, rank: usize) -> &Panels {
        &self.panels[0][rank]
    }

    /// Returns the panels of a rank's rows after.
    pub fn result(&self, rank: usize) -> &Panels {
        &self.panels[1][rank]
    }

    /// Returns the largest number of elements that a rank sets aside.
    pub fn len(&self) -> usize {
        self.panels.iter().flatten().map(Panels::border_len).max().unwrap_or(0)
    }
}

/// Maximum number of squares across a block of a core that are tried.
const MAX_ACROSS: usize = 32;

/// Bytes of a memory line. Sides of a core's squares are multiples of it.
const LINE: usize = 128;

/// Smallest side of a core's squares in bytes: the swap of several squares per block needs it.
const MIN_SIDE: usize = 256;

impl PeerSquares {
    /// Returns one tiling per tile side that divides all parts, largest side first; or the tiling in
    /// whole blocks, if rows and columns have the same unequal parts. Returns no tiling of other or
    /// empty parts, or if the number of elements overflows `usize`.
    pub fn all(rows: &Partition, cols: &Partition) -> impl Iterator<Item = Self> + use<> {
        let (ranks, cols) = (rows.ranks(), cols.clone());
        let counted = rows.extent().checked_mul(cols.extent()).is_some_and(|all| all > 0);
        let equal = ranks == cols.ranks() && rows.are_equal() && cols.are_equal();
        let [m, n] = if equal && counted { [rows.len(0), cols.len(0)] } else { [0, 0] };
        let ragged = (counted && !equal && *rows == cols).then_some(None);
        let sides = divisors(m as u64).into_iter().rev().map(|side| side as usize);
        let squares = sides.filter(move |side| n.is_multiple_of(*side)).map(move |side| {
            Some(Squares { sides: [side; 2], across: [m / side, n / side], pitch: ranks * n })
        });
        let of = move |squares| PeerSquares { cols: cols.clone(), squares, border: None };
        squares.chain(ragged).map(of)
    }

    /// Returns tilings of the core of a matrix whose border has at most `border` elements on each
    /// rank, largest side first. Returns no tiling unless parts have almost equal sizes.
    pub fn of_core(
        rows: &Partition,
        cols: &Partition,
        elem_bytes: usize,
        border: usize,
    ) -> Vec<Self> {
        let least = |parts: &Partition| parts.sizes().min().unwrap_or(0);
        let (ranks, [m, n]) = (rows.ranks(), [least(rows), least(cols)]);
        let counted = rows.extent().checked_mul(cols.extent()).is_some();
        if ranks != cols.ranks() || !counted || elem_bytes == 0 {
            return Vec::new();
        }
        let line = LINE.div_ceil(elem_bytes);
        let sides = (1..=MAX_ACROSS).flat_map(|across| [m / across, n / across]);
        let sides: BTreeSet<usize> = sides
            .map(|side| side / line * line)
            .filter(|side| side * elem_bytes >= MIN_SIDE)
            .collect();
        let of_side = |side: usize| {
            let across = [m / side, n / side];
            let core = across.map(|across| across * side);
            let found = Border::new(rows, cols, core)
                .filter(|found| (1..=border).contains(&found.len()))?;
            let squares = Some(Squares { sides: [side; 2], across, pitch: ranks * core[1] });
            let cols = Partition::balanced(ranks * core[1], ranks);
            Some(PeerSquares { cols, squares, border: Some(found) })
        };
        let sides = sides.into_iter().rev().filter(|&side| side <= m.min(n));
        sides.filter_map(of_side).collect()
    }

    /// Returns block `j` of rank `i`, or `None` if it is empty.
    pub fn block(&self, i: usize, j: usize) -> Option<PeerBlock> {
        let sides = [i, j].map(|rank| self.cols.len(rank));
        let one = || Squares { sides, across: [1, 1], pitch: self.cols.extent() };
        let squares = self.squares.unwrap_or_else(one);
        (!sides.contains(&0)).then_some(PeerBlock::Squares(squares))
    }

    /// Returns the first column of the block for rank `rank`.
    pub fn begin(&self, rank: usize) -> usize {
        self.cols.begin(rank)
    }

    /// Returns the local permutation of each rank after the squares have been swapped, or `None` if
    /// a block is a single square.
    pub fn after(&self) -> Option<AxisPermutation> {
        let Squares { sides: [side, _], across: [rows, cols], .. } = self.squares?;
        let shape = [rows, side * self.cols.ranks(), cols, side];
        let moves = rows * cols > 1;
        moves.then(|| {
            AxisPermutation::new(&shape, &[2, 1, 0, 3])
                .expect("the elements of a part have been counted")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the algorithm of the module documentation by a simulation, element by element.
    fn check(squares: &PeerSquares, [m, n]: [usize; 2]) {
        let ranks = squares.cols.ranks();
        let Squares { sides: [side, _], across: [rows, cols], pitch } = squares.squares.unwrap();
        assert_eq!([rows * side, cols * side], [m, n]);
        let of_rank = |i: usize| (0..m * ranks * n).map(move |k| i * m * ranks * n + k);
        let mut data: Vec<Vec<usize>> = (0..ranks).map(|i| of_rank(i).collect()).collect();
        let mut touched = vec![0; ranks];
        for (i, j) in (0..ranks).flat_map(|i| (i..ranks).map(move |j| (i, j))) {
            for (r, c) in (0..m).flat_map(|r| (0..n).map(move |c| (r, c))) {
                let mirror = [r / side * side + c % side, c / side * side + r % side];
                if i == j && r % side >= c % side {
                    touched[i] += usize::from(r % side == c % side);
                    continue;
                }
                let at = |rank, [r, c]: [usize; 2]| r * pitch + squares.begin(rank) + c;
                let (here, there) = (at(j, [r, c]), at(i, mirror));
                let saved = data[i][here];
                data[i][here] = std::mem::replace(&mut data[j][there], saved);
                touched[i] += 1;
                touched[j] += 1;
            }
        }
        assert_eq!(touched, vec![m * ranks * n; ranks]);
        for (j, before) in data.iter().enumerate() {
            let mut part = before.clone();
            match squares.after() {
                Some(axes) => (0..part.len()).for_each(|k| part[axes.dest(k)] = before[k]),
                None => assert_eq!((m, n), (side, side)),
            }
            let transposed = |k| k % (ranks * m) * ranks * n + j * n + k / (ranks * m);
            assert!(part.into_iter().eq((0..n * ranks * m).map(transposed)), "{squares:?}");
        }
    }

    #[test]
    fn swaps_and_local_pass_transpose_small_matrices() {
        let side = |squares: &PeerSquares| squares.squares.unwrap().sides[0];
        for (ranks, m, n) in (1..=4)
            .flat_map(|ranks| (1..=12).flat_map(move |m| (1..=12).map(move |n| (ranks, m, n))))
        {
            let [rows, cols] = [m, n].map(|part| Partition::balanced(ranks * part, ranks));
            let all: Vec<PeerSquares> = PeerSquares::all(&rows, &cols).collect();
            assert!(all.windows(2).all(|pair| side(&pair[0]) > side(&pair[1])));
            let dividing = (1..=12).filter(|side| m % side + n % side == 0);
            assert_eq!(all.len(), dividing.count());
            all.iter().for_each(|squares| check(squares, [m, n]));
        }
    }

    #[test]
    fn unequal_parts_have_one_rectangle_per_block_if_both_are_the_same() {
        let parts = Partition::new(&[3, 0, 2]).unwrap();
        let [squares] = PeerSquares::all(&parts, &parts).collect::<Vec<_>>().try_into().unwrap();
        let block = |sides| Some(PeerBlock::Squares(Squares { sides, across: [1, 1], pitch: 5 }));
        assert_eq!([squares.block(0, 2), squares.block(2, 0)], [block([3, 2]), block([2, 3])]);
        assert_eq!((squares.block(0, 0), squares.block(0, 1)), (block([3, 3]), None));
        assert_eq!((squares.begin(2), squares.after()), (3, None));
    }

    #[test]
    fn unequal_empty_or_huge_parts_have_no_squares() {
        let parts = |extent, ranks| Partition::balanced(extent, ranks);
        for (rows, cols) in [
            (parts(9, 2), parts(8, 2)),
            (parts(8, 2), parts(9, 2)),
            (parts(8, 2), parts(8, 4)),
            (parts(0, 2), parts(8, 2)),
            (parts(8, 2), parts(0, 2)),
            (parts(0, 0), parts(0, 0)),
            // The number of elements overflows.
            (parts(8 << 31, 8), parts(8 << 31, 8)),
        ] {
            assert_eq!(PeerSquares::all(&rows, &cols).count(), 0, "{rows:?} {cols:?}");
        }
    }
}
