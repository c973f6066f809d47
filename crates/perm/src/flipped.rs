//! Axis permutations that reverse some axes: flips and quarter turns.

use std::fmt;

use crate::names::factorial_name;
use crate::permutation::{AxisPermutation, MAX_FUSED_RANK, PermutationError, StridedAxis};

/// An axis permutation of a row-major array that reverses some of its axes, as NumPy's
/// `flip(transpose(a, order), axes)`.
///
/// Axes of extent 1 are removed. Adjacent axes that remain adjacent and in order are fused if both
/// are reversed or neither is. A last axis that remains last and is not reversed is the
/// *super-element*.
///
/// ```
/// use turntile_perm::FlippedAxes;
///
/// // A quarter turn: 2 x 3 becomes 3 x 2, and the last column the first row.
/// let turned = FlippedAxes::new(&[2, 3], &[1, 0], &[true, false]).unwrap();
/// assert_eq!([0, 1, 2, 3, 4, 5].map(|k| turned.dest(k)), [4, 2, 0, 5, 3, 1]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlippedAxes {
    axes: AxisPermutation,
    /// One bit per fused source axis: 1 if the axis is reversed.
    reversed: u32,
}

impl FlippedAxes {
    /// Creates the permutation whose result has `extents[order[i]]` as extent `i`, and axis `i`
    /// reversed if `flipped[i]`. Extents may be 0 or 1.
    ///
    /// # Errors
    /// The errors of [`AxisPermutation::new`], where only axes that are fused here count as one.
    ///
    /// # Panics
    /// If `flipped` and `order` have different lengths.
    pub fn new(
        extents: &[usize],
        order: &[usize],
        flipped: &[bool],
    ) -> Result<Self, PermutationError> {
        assert_eq!(flipped.len(), order.len(), "one entry for each axis of the result");
        AxisPermutation::check(extents, order)?;
        if extents.contains(&0) {
            return Ok(FlippedAxes { axes: AxisPermutation::from_fused(&[0], &[0]), reversed: 0 });
        }
        // Position in the source, extent and reversal of each fused axis, in the result's order.
        let mut runs: Vec<(usize, usize, bool)> = Vec::new();
        let mut next = None;
        for (&axis, &flip) in order.iter().zip(flipped).filter(|&(&axis, _)| extents[axis] > 1) {
            let position = extents[..axis].iter().filter(|&&extent| extent > 1).count();
            match runs.last_mut() {
                Some(run) if next == Some(position) && run.2 == flip => run.1 *= extents[axis],
                _ => runs.push((position, extents[axis], flip)),
            }
            next = Some(position + 1);
        }
        if runs.len() > MAX_FUSED_RANK {
            return Err(PermutationError::TooMany { axes: runs.len() });
        }
        let mut sorted = runs.clone();
        sorted.sort_unstable();
        let number = |run| sorted.iter().position(|other| other == run);
        let order: Vec<usize> = runs.iter().filter_map(number).collect();
        let extents: Vec<usize> = sorted.iter().map(|run| run.1).collect();
        let bit = |(axis, run): (usize, &(usize, usize, bool))| u32::from(run.2) << axis;
        let reversed = sorted.iter().enumerate().map(bit).sum();
        Ok(FlippedAxes { axes: AxisPermutation::from_fused(&extents, &order), reversed })
    }

    /// Returns the extents of the fused source axes; empty for a single element.
    pub fn extents(&self) -> &[usize] {
        self.axes.extents()
    }

    /// Iterates over the fused axes of the result: yields the fused source axis of each.
    pub fn order(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.axes.order()
    }

    /// Returns `true` if fused source axis `axis` is reversed.
    pub fn is_reversed(&self, axis: usize) -> bool {
        self.reversed >> axis & 1 == 1
    }

    /// Returns the permutation without reversed axes.
    pub fn permutation(&self) -> AxisPermutation {
        let order: Vec<usize> = self.order().collect();
        AxisPermutation::new(self.extents(), &order).expect("the axes are fused")
    }

    /// Returns the reversal of axes that remains to be done after the
    /// [`permutation`](Self::permutation).
    #[must_use]
    pub fn flip(&self) -> Self {
        let extents: Vec<usize> = self.order().map(|axis| self.extents()[axis]).collect();
        let order: Vec<usize> = (0..extents.len()).collect();
        let flipped: Vec<bool> = self.order().map(|axis| self.is_reversed(axis)).collect();
        FlippedAxes::new(&extents, &order, &flipped).expect("the axes are fused")
    }

    /// Returns `true` if every axis remains in its place, so that axes are only reversed.
    pub fn is_flip(&self) -> bool {
        self.order().enumerate().all(|(to, from)| to == from)
    }

    /// Returns `true` if no element moves.
    pub fn is_identity(&self) -> bool {
        self.reversed == 0 && self.is_flip()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.axes.len()
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of elements of a super-element: the extent of the last axis if it remains
    /// last and is not reversed, else 1.
    pub fn unit(&self) -> usize {
        let last = self.extents().len().wrapping_sub(1);
        let stays = self.order().last() == Some(last) && !self.is_reversed(last);
        if stays { self.extents()[last] } else { 1 }
    }

    /// Returns the permutation of super-elements: drops the last axis if `unit() > 1`.
    #[must_use]
    pub fn without_unit(&self) -> Self {
        if self.unit() == 1 {
            return *self;
        }
        let rank = self.extents().len() - 1;
        let order: Vec<usize> = self.order().take(rank).collect();
        let axes = AxisPermutation::from_fused(&self.extents()[..rank], &order);
        FlippedAxes { axes, ..*self }
    }

    /// Returns the batch, the side and the super-element of the square matrices that the
    /// permutation transposes and flips, and whether it reverses the rows and the columns of the
    /// result. Returns `None` for other permutations.
    pub fn squares(&self) -> Option<([usize; 3], [bool; 2])> {
        let units = self.without_unit();
        let first = match (units.extents().len(), units.order().next()) {
            (3, Some(0)) if !units.is_reversed(0) => 1,
            (2, _) => 0,
            _ => return None,
        };
        let (extents, is_square) = (units.extents(), units.extents()[first]);
        let swapped = units.order().skip(first).eq([first + 1, first]);
        (swapped && extents[first + 1] == is_square).then(|| {
            let batch = if first == 1 { extents[0] } else { 1 };
            let flips = [units.is_reversed(first + 1), units.is_reversed(first)];
            ([batch, is_square, self.unit()], flips)
        })
    }

    /// Returns the inverse permutation.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let bit = |(to, from)| u32::from(self.is_reversed(from)) << to;
        let reversed = self.order().enumerate().map(bit).sum();
        FlippedAxes { axes: self.axes.inverse(), reversed }
    }

    /// Iterates over the fused source axes, outermost first: yields their strides and whether they
    /// are reversed.
    pub fn strided_axes(
        &self,
    ) -> impl DoubleEndedIterator<Item = (StridedAxis, bool)> + ExactSizeIterator + '_ {
        let axes = self.axes.strided_axes().enumerate();
        axes.map(|(number, axis)| (axis, self.is_reversed(number)))
    }

    /// Returns the offset to which the element at `offset` moves. Offsets past the end are returned
    /// unchanged.
    pub fn dest(&self, offset: usize) -> usize {
        if offset >= self.len() {
            return offset;
        }
        let place = |(axis, reversed): (StridedAxis, bool)| {
            let digit = offset / axis.src_stride % axis.extent;
            axis.dst_stride * if reversed { axis.extent - 1 - digit } else { digit }
        };
        self.strided_axes().map(place).sum()
    }
}

impl fmt::Display for FlippedAxes {
    /// Formats the permutation and the source axes, with a minus sign before each reversed one:
    /// `flip(4x-5x2)`, `10!(-3x4)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.is_flip() {
            true => "flip".to_owned(),
            false => factorial_name(&self.order().collect::<Vec<_>>()),
        };
        let sign = |axis| if self.is_reversed(axis) { "-" } else { "" };
        let extents = self.extents().iter().enumerate();
        let extents: Vec<String> =
            extents.map(|(axis, extent)| format!("{}{extent}", sign(axis))).collect();
        write!(f, "{name}({})", extents.join("x"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks every order and every set of reversed axes of shapes of up to four axes, against
    /// indices computed axis by axis.
    #[test]
    fn dest_and_inverse_match_axis_by_axis_indices() {
        let orders = |rank: usize| {
            (0..rank.pow(rank as u32)).map(move |code| {
                (0..rank).map(|k| code / rank.pow(k as u32) % rank).collect::<Vec<_>>()
            })
        };
        let mut seen = 0;
        for shape in [&[][..], &[4], &[3, 4], &[3, 3], &[2, 1, 3], &[2, 3, 4], &[2, 3, 2, 2]] {
            for order in orders(shape.len()) {
                if AxisPermutation::check_order(shape.len(), &order).is_err() {
                    continue;
                }
                for set in 0..1 << shape.len() {
                    let flipped: Vec<bool> = (0..shape.len()).map(|k| set >> k & 1 == 1).collect();
                    let axes = FlippedAxes::new(shape, &order, &flipped).unwrap();
                    let mut moves = false;
                    for offset in 0..axes.len() {
                        let mut rest = offset;
                        let mut index = vec![0; shape.len()];
                        for (at, extent) in index.iter_mut().zip(shape).rev() {
                            (rest, *at) = (rest / extent, rest % extent);
                        }
                        let expected = order.iter().zip(&flipped).fold(0, |at, (&axis, &flip)| {
                            let (extent, digit) = (shape[axis], index[axis]);
                            at * extent + if flip { extent - 1 - digit } else { digit }
                        });
                        assert_eq!(axes.dest(offset), expected, "{axes} of {shape:?} {order:?}");
                        assert_eq!(axes.inverse().dest(expected), offset, "{axes}");
                        let (plain, flip) = (axes.permutation(), axes.flip());
                        assert_eq!(flip.dest(plain.dest(offset)), expected, "{axes}");
                        let (unit, units) = (axes.unit(), axes.without_unit());
                        let by_unit = units.dest(offset / unit) * unit + offset % unit;
                        assert_eq!(by_unit, expected, "{axes}");
                        moves |= offset != expected;
                        seen += 1;
                    }
                    assert_eq!(axes.is_identity(), !moves, "{axes}");
                }
            }
        }
        assert!(seen > 10_000, "{seen}");
    }

    #[test]
    fn squares_are_found_with_batch_unit_and_flips() {
        let of = |shape: &[usize], order: &[usize], flipped: &[bool]| {
            FlippedAxes::new(shape, order, flipped).unwrap().squares()
        };
        let (yes, no) = (true, false);
        assert_eq!(of(&[5, 5], &[1, 0], &[yes, no]), Some(([1, 5, 1], [yes, no])));
        assert_eq!(
            of(&[2, 5, 5, 3], &[0, 2, 1, 3], &[no, no, yes, no]),
            Some(([2, 5, 3], [no, yes]))
        );
        assert_eq!(of(&[2, 5, 5], &[0, 2, 1], &[yes, no, yes]), None, "a reversed batch");
        assert_eq!(of(&[5, 5, 3], &[1, 0, 2], &[no, yes, yes]), None, "a reversed last axis");
        assert_eq!(of(&[4, 5], &[1, 0], &[yes, no]), None);
        assert_eq!(of(&[5, 5], &[0, 1], &[yes, no]), None);
    }
}
