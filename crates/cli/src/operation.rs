//! Operations of the subcommands on an array: shape and order of the result, and the permutation of the data in memory.

use anyhow::{Result, anyhow, bail, ensure};
use turntile::Transpose;
use turntile::bits::{BitOrder, Bits, PackedMatrix};
use turntile::layout::Rearrangement;

use crate::array::{Array, AxisOrder, volume};
use crate::values::{PatternArg, distinct, joined, permutation};

/// Change of the axes of an array.
#[derive(Clone, Copy, Debug)]
pub enum Axes<'a> {
    /// They are permuted as NumPy's transpose does, with `--axes` or without.
    Transpose(Option<&'a [isize]>),
    /// Their order is reversed.
    Reverse,
    /// The last two are swapped.
    Matrices,
    /// Two are rotated by quarter turns, as NumPy's rot90 does.
    Rotate(i64, &'a [isize]),
    /// They are split, permuted and joined by a pattern.
    Rearrange(PatternArg<'a>),
    /// They stay.
    Keep,
    /// The last two are swapped, of elements of less than a byte.
    Packed {
        /// Bits per element.
        bits: Bits,
        /// Order of the elements in a byte.
        order: BitOrder,
        /// Elements per row; `None` if the last byte of a row is full.
        cols: Option<usize>,
    },
}

/// Operation on an array.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// The subcommand.
    pub name: &'static str,
    /// Change of the axes.
    pub axes: Axes<'a>,
    /// Axes of the result that are reversed.
    pub flip: &'a [isize],
    /// Memory order of the result; `None` keeps the source's.
    pub order: Option<AxisOrder>,
}

impl Operation<'_> {
    /// Returns the memory order of a headerless source: that of the result, or for `reorder` the other one.
    pub fn raw_order(&self) -> Option<AxisOrder> {
        self.order.map(|order| match self.axes {
            Axes::Keep => order.other(),
            _ => order,
        })
    }

    fn rearrangement(&self, shape: &[usize]) -> Result<Rearrangement> {
        let ndim = shape.len();
        let mut order: Vec<usize> = (0..ndim).collect();
        match self.axes {
            Axes::Keep | Axes::Packed { .. } => {}
            Axes::Transpose(Some(axes)) => {
                order = permutation(axes, ndim).map_err(|what| anyhow!(what))?
            }
            Axes::Transpose(None) if ndim > 2 => {
                let all = joined((0..ndim).rev(), ",");
                bail!(
                    "{ndim} axes need --axes, for example --axes {all} to reverse them, or --matrices to swap the last two"
                )
            }
            Axes::Transpose(None) | Axes::Reverse => order.reverse(),
            Axes::Matrices => {
                ensure!(ndim >= 2, "--matrices needs at least 2 axes, the array has {ndim}");
                order.swap(ndim - 2, ndim - 1);
            }
            Axes::Rotate(k, _) => {
                let [from, to] = self.plane(ndim)?;
                if k % 2 != 0 {
                    order.swap(from, to);
                }
            }
            Axes::Rearrange(pattern) => return Ok(pattern.of(shape)?),
        }
        Ok(Rearrangement::of_axes(shape, &order))
    }

    /// Returns the axes of a rotation.
    fn plane(&self, ndim: usize) -> Result<[usize; 2]> {
        let Axes::Rotate(_, axes) = self.axes else { bail!("the axes are not rotated") };
        let found = distinct(axes, ndim).map_err(|what| anyhow!("--axes {what}"))?;
        <[usize; 2]>::try_from(found)
            .map_err(|axes| anyhow!("--axes of rot90 needs 2 axes, got {}", axes.len()))
    }

    /// Returns the reversed axes of a result of `ndim` axes.
    fn flips(&self, ndim: usize) -> Result<Vec<usize>> {
        let Axes::Rotate(k, _) = self.axes else {
            return distinct(self.flip, ndim).map_err(|what| anyhow!("--flip {what}"));
        };
        let [from, to] = self.plane(ndim)?;
        Ok(match k.rem_euclid(4) {
            0 => vec![],
            1 => vec![from],
            2 => vec![from, to],
            _ => vec![to],
        })
    }

    /// Returns the result and the matrices of a transposition of elements of less than a byte; `None` for other operations.
    pub fn packed(&self, array: &Array) -> Result<Option<(Array, PackedMatrix)>> {
        let Axes::Packed { bits, order, cols } = self.axes else { return Ok(None) };
        let [batch @ .., rows, row] = &array.shape[..] else {
            bail!("--bits needs at least 2 axes, the array has {}", array.shape.len())
        };
        let per_byte = bits.per_byte();
        ensure!(
            array.itemsize == 1,
            "--bits needs elements of 1 byte, {} has {}",
            array.dtype,
            array.itemsize
        );
        // A NumPy or safetensors array of booleans has a byte per element.
        ensure!(
            !["b1", "bool", "BOOL"].contains(&array.dtype.as_str()),
            "--bits needs packed elements, {} has a byte per element: numpy.packbits packs them",
            array.dtype
        );
        ensure!(array.order == AxisOrder::C, "--bits needs an array in C order");
        let cols = cols.unwrap_or(row.saturating_mul(per_byte));
        ensure!(
            cols.div_ceil(per_byte) == *row,
            "--cols {cols} has {} bytes per row, the array has {row}",
            cols.div_ceil(per_byte)
        );
        let count = volume(batch).ok_or_else(|| anyhow!("the array has too many axes"))?;
        let shape = [batch, &[cols, rows.div_ceil(per_byte)]].concat();
        let matrix = PackedMatrix::new(*rows, cols, bits, order).batch(count);
        Ok(Some((Array { shape, ..array.clone() }, matrix)))
    }

    /// Returns the result, and the permutation of the data in memory.
    pub fn of(&self, array: &Array) -> Result<(Array, Transpose)> {
        let axes = self.rearrangement(&array.shape)?;
        let order = self.order.unwrap_or(array.order);
        let result = Array { shape: axes.shape(), order, ..array.clone() };
        // In F order the last axis comes first in memory.
        let in_memory = |array: &Array| -> Vec<usize> {
            let ndim = array.shape.len();
            if array.order == AxisOrder::C {
                (0..ndim).collect()
            } else {
                (0..ndim).rev().collect()
            }
        };
        let (from, to) = (in_memory(array), in_memory(&result));
        let flip: Vec<usize> =
            self.flips(result.shape.len())?.into_iter().map(|axis| to[axis]).collect();
        let axes = axes.in_memory(&from, &to);
        let transpose = Transpose::permute::<u8>(axes.extents(), axes.order()).flip(&flip);
        Ok((result, transpose.itemsize(array.itemsize.max(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile::plan::Problem;

    fn of(
        axes: Axes<'_>,
        shape: &[usize],
        order: AxisOrder,
        to: Option<AxisOrder>,
    ) -> Result<(Array, Problem)> {
        let array = Array { shape: shape.into(), dtype: "f4".into(), itemsize: 4, order };
        let operation = Operation { name: "transpose", axes, flip: &[], order: to };
        operation.of(&array).map(|(result, transpose)| (result, transpose.problem().unwrap()))
    }

    /// The axes are as NumPy has them, whatever the memory order; the permutation in memory follows.
    #[test]
    fn axes_follow_numpy_in_both_orders() {
        use AxisOrder::{C, F};
        let sizes = [("c".to_string(), 3)];
        let pattern = Axes::Rearrange(PatternArg { text: "a (b c) d -> (d b) c a", sizes: &sizes });
        let permute = Axes::Transpose(Some(&[1, 2, 0]));
        for (axes, shape, from, to, result, (extents, order)) in [
            (Axes::Transpose(None), &[3, 5][..], C, None, &[5, 3][..], (&[3, 5][..], &[1, 0][..])),
            (Axes::Transpose(None), &[3, 5], F, None, &[5, 3], (&[5, 3], &[1, 0])),
            (Axes::Transpose(None), &[3], C, None, &[3], (&[3], &[0])),
            (Axes::Transpose(None), &[], C, None, &[], (&[], &[])),
            // No element moves: reversed axes in the other order.
            (Axes::Transpose(None), &[3, 5], F, Some(C), &[5, 3], (&[5, 3], &[0, 1])),
            (Axes::Reverse, &[2, 3, 5], F, Some(C), &[5, 3, 2], (&[5, 3, 2], &[0, 1, 2])),
            (Axes::Reverse, &[2, 3, 5], C, None, &[5, 3, 2], (&[2, 3, 5], &[2, 1, 0])),
            (permute, &[2, 3, 5], C, None, &[3, 5, 2], (&[2, 3, 5], &[1, 2, 0])),
            // [5][3][2] in memory; the result, 3 x 5 x 2, is stored as [2][5][3].
            (permute, &[2, 3, 5], F, None, &[3, 5, 2], (&[5, 3, 2], &[2, 0, 1])),
            (Axes::Matrices, &[2, 7, 3, 5], C, None, &[2, 7, 5, 3], (&[2, 7, 3, 5], &[0, 1, 3, 2])),
            (Axes::Matrices, &[2, 7, 3, 5], F, None, &[2, 7, 5, 3], (&[5, 3, 7, 2], &[1, 0, 2, 3])),
            (Axes::Keep, &[2, 3, 5], F, Some(C), &[2, 3, 5], (&[5, 3, 2], &[2, 1, 0])),
            (pattern, &[2, 6, 5], C, None, &[10, 3, 2], (&[2, 2, 3, 5], &[3, 1, 2, 0])),
            (pattern, &[2, 6, 5], F, None, &[10, 3, 2], (&[5, 2, 3, 2], &[3, 2, 0, 1])),
        ] {
            let (after, problem) = of(axes, shape, from, to).unwrap();
            assert_eq!((&*after.shape, after.order), (result, to.unwrap_or(from)), "{axes:?}");
            assert_eq!(
                Some(problem),
                Problem::permuted(extents, order, 4).ok(),
                "{axes:?} {shape:?}"
            );
        }
    }

    /// Flips and turns name the axes of the result as NumPy has them, in both memory orders.
    #[test]
    fn flips_follow_numpy_in_both_orders() {
        use AxisOrder::{C, F};
        let permute = Axes::Transpose(Some(&[2, 0, 1]));
        for (axes, flip, order, permuted, reversed) in [
            (permute, &[0, -1][..], C, &[2, 0, 1][..], &[0, 2][..]),
            // [5][3][2] in memory; the result, 5 x 2 x 3, is stored as [3][2][5].
            (permute, &[1], F, &[1, 2, 0], &[1]),
            (permute, &[0], F, &[1, 2, 0], &[2]),
            (Axes::Rotate(1, &[0, 1]), &[], C, &[1, 0, 2], &[0]),
            (Axes::Rotate(-1, &[0, -1]), &[], C, &[2, 1, 0], &[2]),
            (Axes::Rotate(6, &[1, 2]), &[], C, &[0, 1, 2], &[1, 2]),
            (Axes::Rotate(5, &[0, 1]), &[], F, &[0, 2, 1], &[2]),
        ] {
            let array = Array { shape: [2, 3, 5].into(), dtype: "f4".into(), itemsize: 4, order };
            let operation = Operation { name: "transpose", axes, flip, order: None };
            let problem = operation.of(&array).unwrap().1.problem().unwrap();
            let shape = if order == C { [2, 3, 5] } else { [5, 3, 2] };
            let expected = Problem::permuted(&shape, permuted, 4).unwrap();
            assert_eq!(
                problem,
                expected.with_flip(reversed).unwrap(),
                "{axes:?} {flip:?} {order:?}"
            );
        }
    }

    #[test]
    fn axes_that_are_ambiguous_or_wrong_are_rejected() {
        for (axes, shape, words) in [
            (Axes::Transpose(None), &[2, 3, 5][..], "3 axes need --axes, for example --axes 2,1,0"),
            (Axes::Matrices, &[3], "--matrices needs at least 2 axes, the array has 1"),
            (Axes::Transpose(Some(&[1, 0])), &[2, 3, 5], "axes don't match array"),
            (Axes::Rotate(1, &[0, 0]), &[2, 3], "--axes 0,0: repeated axis 0"),
            (Axes::Rotate(1, &[0]), &[2, 3], "--axes of rot90 needs 2 axes, got 1"),
            (Axes::Rotate(2, &[0, 2]), &[2, 3], "--axes 0,2: axis 2 is out of bounds"),
        ] {
            let error = of(axes, shape, AxisOrder::C, None).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
