//! A matrix in equal parts over ranks, transposed by squares that change places and one local pass.
//!
//! Each of `P` ranks has `m` rows of `P·n` elements, and will have `n` rows of `P·m`. Let `s` divide both, `m = m's` and
//! `n = n's`. What rank `i` has for rank `j`, block `j`, is `m'` by `n'` squares of `s` by `s` elements: rank `i` is
//! `[a'][a][j][b'][b]`, and rank `j` is to be `[b'][b][i][a'][a]`.
//!
//! 1. Square `(a', b')` of block `j` of rank `i` and square `(a', b')` of block `i` of rank `j` change places, both transposed;
//!    those of block `i` of rank `i` are transposed where they lie. Then rank `j` is `[a'][b][i][b'][a]`.
//! 2. Each rank brings runs of `s` elements to their places: `a'` and `b'` change places across `(b, i)`. Where `m = n = s`
//!    nothing is left to do.

use num_integer::Integer;

use crate::divisors::divisors;
use crate::partition::Partition;
use crate::permutation::AxisPermutation;

/// The squares of a matrix that is cut over ranks, and its transpose too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerSquares {
    ranks: usize,
    side: usize,
    rows: usize,
    cols: usize,
}

impl PeerSquares {
    /// Those of every side that divides all parts, the largest first; none where parts are not equal, are empty, or have
    /// more elements than can be counted.
    pub fn all(rows: &Partition, cols: &Partition) -> impl Iterator<Item = Self> + use<> {
        let ranks = rows.ranks();
        let equal = ranks == cols.ranks() && rows.are_equal() && cols.are_equal();
        let [m, n] = if equal && ranks > 0 { [rows.len(0), cols.len(0)] } else { [0, 0] };
        let counted = m.checked_mul(n).and_then(|area| area.checked_mul(ranks));
        let sides = divisors(if counted.is_some_and(|all| all > 0) { m.gcd(&n) as u64 } else { 0 });
        let of_side = move |side| PeerSquares { ranks, side, rows: m / side, cols: n / side };
        sides.into_iter().rev().map(move |side| of_side(side as usize))
    }

    /// Elements along a side.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Rows and columns of squares of a block.
    pub fn across(&self) -> [usize; 2] {
        [self.rows, self.cols]
    }

    /// Elements of a row of a rank.
    pub fn pitch(&self) -> usize {
        self.ranks * self.cols * self.side
    }

    /// Where the block for a rank begins.
    pub fn begin(&self, rank: usize) -> usize {
        rank * self.cols * self.side
    }

    /// What a rank does after the squares have changed places: axes of a shape in an order; nothing, of a square.
    pub fn after(&self) -> Option<AxisPermutation> {
        let shape = [self.rows, self.side * self.ranks, self.cols, self.side];
        let moves = self.rows * self.cols > 1;
        moves.then(|| AxisPermutation::new(&shape, &[2, 1, 0, 3]).expect("a counted part"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the module says, element by element.
    fn check(squares: &PeerSquares, [m, n]: [usize; 2]) {
        let (ranks, side) = (squares.ranks, squares.side);
        let [rows, cols] = squares.across();
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
                let at = |rank, [r, c]: [usize; 2]| r * squares.pitch() + squares.begin(rank) + c;
                let (here, there) = (at(j, [r, c]), at(i, mirror));
                let held = data[i][here];
                data[i][here] = std::mem::replace(&mut data[j][there], held);
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
    fn every_element_of_small_matrices() {
        for (ranks, m, n) in (1..=4)
            .flat_map(|ranks| (1..=12).flat_map(move |m| (1..=12).map(move |n| (ranks, m, n))))
        {
            let [rows, cols] = [m, n].map(|part| Partition::balanced(ranks * part, ranks));
            let all: Vec<PeerSquares> = PeerSquares::all(&rows, &cols).collect();
            assert!(all.windows(2).all(|pair| pair[0].side > pair[1].side));
            let dividing = (1..=12).filter(|side| m % side + n % side == 0);
            assert_eq!(all.len(), dividing.count());
            all.iter().for_each(|squares| check(squares, [m, n]));
        }
    }

    #[test]
    fn none_of_unequal_parts() {
        let parts = |extent, ranks| Partition::balanced(extent, ranks);
        for (rows, cols) in [
            (parts(9, 2), parts(8, 2)),
            (parts(8, 2), parts(9, 2)),
            (parts(8, 2), parts(8, 4)),
            (parts(0, 2), parts(8, 2)),
            (parts(8, 2), parts(0, 2)),
            (parts(0, 0), parts(0, 0)),
        ] {
            assert_eq!(PeerSquares::all(&rows, &cols).count(), 0, "{rows:?} {cols:?}");
        }
    }
}
