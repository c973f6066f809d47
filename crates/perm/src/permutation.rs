//! Axis permutations of row-major arrays.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::elementary::{Elementary, SwapKind};
use crate::names::factorial_name;

/// Maximum rank of a permutation after fusion. 28 allows bit reversal of 2^28 elements.
///
/// Planning copies many permutations: compared with a limit of 8, planning takes 10% longer with a
/// limit of 24 and 25% longer with 32.
pub const MAX_FUSED_RANK: usize = 28;

/// A permutation of the axes of a row-major array: axis `i` of the result is axis `order[i]` of the
/// source. The result is row-major too.
///
/// Axes are stored *fused*: axes of extent 1 are removed, and adjacent axes that remain adjacent
/// and in order are merged into one. A first axis that remains first is the *batch*. A last axis
/// that remains last is the *super-element*. Permutations of arrays of the same length are equal if
/// their index maps are.
///
/// ```
/// use turntile_perm::AxisPermutation;
///
/// let transposed = AxisPermutation::new(&[3, 5], &[1, 0]).unwrap();
/// assert_eq!(transposed.dest(1), 3);
/// let fused = AxisPermutation::new(&[2, 3, 4, 1, 7], &[2, 3, 0, 1, 4]).unwrap();
/// assert_eq!((fused.extents(), fused.to_string().as_str()), (&[6, 4, 7][..], "100!(6x4, unit 7)"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AxisPermutation {
    rank: u8,
    order: [u8; MAX_FUSED_RANK],
    extents: [usize; MAX_FUSED_RANK],
}

/// A source axis of a permutation, with its row-major strides in the source and in the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StridedAxis {
    /// Number of indices along the axis.
    pub extent: usize,
    /// Stride in the source, in elements.
    pub src_stride: usize,
    /// Stride in the result, in elements.
    pub dst_stride: usize,
}

impl StridedAxis {
    /// Returns `true` if source and result stride are equal.
    pub fn stays(&self) -> bool {
        self.src_stride == self.dst_stride
    }

    /// Returns the axis with both strides multiplied by `count`.
    #[must_use]
    pub fn scaled(self, count: usize) -> Self {
        let [src_stride, dst_stride] = [self.src_stride * count, self.dst_stride * count];
        StridedAxis { src_stride, dst_stride, ..self }
    }
}

/// Reason why extents and an order of axes are not a valid permutation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PermutationError {
    /// The order of axes does not name every axis exactly once.
    #[error("{order:?} is not a permutation of 0..{axes}")]
    Order {
        /// Number of axes.
        axes: usize,
        /// Order of axes as given.
        order: Vec<usize>,
    },
    /// The number of elements overflows `usize`.
    #[error("shape {extents:?} has too many elements")]
    Overflow {
        /// Extents as given.
        extents: Vec<usize>,
    },
    /// The permutation has more than [`MAX_FUSED_RANK`] axes after fusion.
    #[error("permutation has {axes} axes after fusion; at most {MAX_FUSED_RANK} are supported")]
    TooMany {
        /// Number of axes after fusion.
        axes: usize,
    },
}

impl AxisPermutation {
    /// Creates the permutation whose result has `extents[order[i]]` as extent `i`, as NumPy's
    /// `transpose(order)`. Extents may be 0 or 1.
    ///
    /// # Errors
    /// [`PermutationError`] if `order` is not a permutation of the axes, the number of elements
    /// overflows `usize`, or more than [`MAX_FUSED_RANK`] axes remain after fusion. For the number
    /// of elements, extents of 0 count as 1.
    pub fn new(extents: &[usize], order: &[usize]) -> Result<Self, PermutationError> {
        Self::check(extents, order)?;
        Self::fused(extents, order)
    }

    /// Checks that `order` is a permutation of `0..axes`.
    ///
    /// # Errors
    /// [`PermutationError::Order`] if `order` is not one.
    pub fn check_order(axes: usize, order: &[usize]) -> Result<(), PermutationError> {
        let named = |axis: usize| order.iter().filter(|&&other| other == axis).count() == 1;
        if order.len() == axes && (0..axes).all(named) {
            return Ok(());
        }
        Err(PermutationError::Order { axes, order: order.to_vec() })
    }

    /// Checks that `order` names every axis once, and that the number of elements fits `usize` if
    /// extents of 0 count as 1.
    pub(crate) fn check(extents: &[usize], order: &[usize]) -> Result<(), PermutationError> {
        Self::check_order(extents.len(), order)?;
        // An extent of 0 must not hide an overflow of the others.
        let count = extents.iter().try_fold(1usize, |all, &e| all.checked_mul(e.max(1)));
        if count.is_none() {
            return Err(PermutationError::Overflow { extents: extents.to_vec() });
        }
        Ok(())
    }

    /// Creates the fused permutation of valid axes: removes axes of extent 1, and merges axes that
    /// remain adjacent and in order. Does not allocate.
    fn fused(extents: &[usize], order: &[usize]) -> Result<Self, PermutationError> {
        let mut all =
            AxisPermutation { rank: 0, order: [0; MAX_FUSED_RANK], extents: [0; MAX_FUSED_RANK] };
        if extents.contains(&0) {
            all.rank = 1;
            return Ok(all);
        }
        // Source position of the first axis of each run of fused axes, and the extent of the run,
        // in the order of the result.
        let mut runs = [(0, 0); MAX_FUSED_RANK];
        let mut count = 0;
        for (axis, position, is_first) in runs_of_axes(extents, order) {
            if !is_first {
                runs[(count - 1).min(MAX_FUSED_RANK - 1)].1 *= extents[axis];
                continue;
            }
            if let Some(run) = runs.get_mut(count) {
                *run = (position, extents[axis]);
            }
            count += 1;
        }
        let Some(runs) = runs.get(..count) else {
            return Err(PermutationError::TooMany { axes: count });
        };
        for (to, &(position, extent)) in runs.iter().enumerate() {
            let axis = runs.iter().filter(|run| run.0 < position).count();
            all.order[to] = axis as u8;
            all.extents[axis] = extent;
        }
        all.rank = count as u8;
        Ok(all)
    }

    /// Creates a permutation from axes that are already fused.
    pub(crate) fn from_fused(extents: &[usize], order: &[usize]) -> Self {
        let mut all = AxisPermutation {
            rank: extents.len() as u8,
            order: [0; MAX_FUSED_RANK],
            extents: [0; MAX_FUSED_RANK],
        };
        all.extents[..extents.len()].copy_from_slice(extents);
        all.order.iter_mut().zip(order).for_each(|(to, &axis)| *to = axis as u8);
        all
    }

    /// Returns the extents of the fused source axes; empty for a single element.
    #[inline]
    pub fn extents(&self) -> &[usize] {
        &self.extents[..usize::from(self.rank)]
    }

    /// Iterates over the fused axes of the result: yields the fused source axis of each.
    pub fn order(&self) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator + Clone + '_ {
        self.order[..usize::from(self.rank)].iter().map(|&axis| usize::from(axis))
    }

    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.extents().iter().product()
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if no element moves.
    #[inline]
    pub fn is_identity(&self) -> bool {
        self.rank <= 1
    }

    /// Returns `true` if the permutation is its own inverse: axes swap in pairs of equal extent or
    /// stay.
    pub fn is_involution(&self) -> bool {
        let order = &self.order[..usize::from(self.rank)];
        let of = |axis: &u8| usize::from(order[usize::from(*axis)]);
        order.iter().enumerate().all(|(to, axis)| {
            of(axis) == to && self.extents[to] == self.extents[usize::from(*axis)]
        })
    }

    /// Returns the number of contiguous instances that are permuted independently: the extent of
    /// the first axis if it remains first, else 1. For an identity, 1.
    #[inline]
    pub fn batch(&self) -> usize {
        if self.rank > 1 && self.order[0] == 0 { self.extents[0] } else { 1 }
    }

    /// Returns the number of elements of a super-element: the extent of the last axis if it remains
    /// last, else 1. For an identity, 1.
    #[inline]
    pub fn unit(&self) -> usize {
        let last = usize::from(self.rank).wrapping_sub(1);
        let stays = self.rank > 1 && usize::from(self.order[last]) == last;
        if stays { self.extents[last] } else { 1 }
    }

    /// Returns the permutation of super-elements: drops the last axis if `unit() > 1`.
    #[must_use]
    pub fn without_unit(&self) -> Self {
        let mut all = *self;
        if self.unit() > 1 {
            all.rank -= 1;
            all.extents[usize::from(all.rank)] = 0;
            all.order[usize::from(all.rank)] = 0;
        }
        // At least two axes remain: those that change their order.
        all
    }

    /// Returns the permutation of one instance: drops the first axis if `batch() > 1`.
    #[must_use]
    pub fn without_batch(&self) -> Self {
        if self.batch() == 1 {
            return *self;
        }
        let rank = usize::from(self.rank);
        let mut all = Self::from_fused(&self.extents[1..rank], &[]);
        all.order.iter_mut().zip(&self.order[1..rank]).for_each(|(to, &axis)| *to = axis - 1);
        all
    }

    /// Returns the inverse permutation.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut extents = Vec::with_capacity(MAX_FUSED_RANK);
        let mut order = vec![0; usize::from(self.rank)];
        for (to, from) in self.order().enumerate() {
            extents.push(self.extents[from]);
            order[from] = to;
        }
        Self::from_fused(&extents, &order)
    }

    /// Iterates over the fused source axes, outermost first, with their strides in elements. Does
    /// not allocate.
    pub fn strided_axes(
        &self,
    ) -> impl DoubleEndedIterator<Item = StridedAxis> + ExactSizeIterator + Clone + '_ {
        self.extents().iter().enumerate().map(|(axis, &extent)| {
            let after = self.order().rev().take_while(|&other| other != axis);
            StridedAxis {
                extent,
                src_stride: self.extents()[axis + 1..].iter().product(),
                dst_stride: after.map(|other| self.extents[other]).product(),
            }
        })
    }

    /// Returns the offset to which the element at `offset` moves. Offsets past the end are returned
    /// unchanged.
    #[inline]
    pub fn dest(&self, offset: usize) -> usize {
        let rank = usize::from(self.rank);
        let (mut digits, mut rest) = ([0; MAX_FUSED_RANK], offset);
        // An empty array has one axis of extent 0, which must not become a divisor.
        if self.extents[0] == 0 {
            return offset;
        }
        for axis in (0..rank).rev() {
            (rest, digits[axis]) = (rest / self.extents[axis], rest % self.extents[axis]);
        }
        if rest != 0 {
            return offset;
        }
        self.order().fold(0, |at, axis| at * self.extents[axis] + digits[axis])
    }

    /// Returns the permutation as a swap of two axes (010!, 100!, 0100!, 0210! or 2100!), or `None`
    /// if it is not one. An identity counts as a matrix of one row.
    #[inline]
    pub fn elementary(&self) -> Option<Elementary> {
        let (batch, unit) = (self.batch(), self.unit());
        // Up to three axes that are neither batch nor super-element are reversed: in any other
        // order, fusion would have merged them.
        let (rows, mid, cols) = match *self.moving() {
            [] => (1, 1, 1),
            [extent] => (1, 1, extent),
            [rows, cols] => (rows, 1, cols),
            [rows, mid, cols] => (rows, mid, cols),
            _ => return None,
        };
        Some(Elementary { batch, rows, mid, cols, unit })
    }

    /// Returns the class of the permutation, which decides the kernels that can perform it.
    #[inline]
    pub fn form(&self) -> SwapKind {
        match self.elementary() {
            Some(e) if e.mid == 1 => SwapKind::Transpose(e),
            Some(e) if e.is_squares() => SwapKind::SquareTiles(e),
            Some(e) => SwapKind::Strided(e),
            None => SwapKind::General,
        }
    }

    /// Returns the extents of the axes that are neither batch nor super-element.
    #[inline]
    fn moving(&self) -> &[usize] {
        let rank = usize::from(self.rank);
        let first = usize::from(self.batch() > 1);
        let last = rank - usize::from(self.unit() > 1);
        &self.extents[first..last.max(first)]
    }
}

/// Iterates over the axes of extents above 1, in the order of the result, as
/// `(axis, position, is_first)`. `position` is the number of the axis among them in the source.
/// `is_first` is `true` for the first axis of a run to fuse: axes that remain adjacent and in
/// order.
pub(crate) fn runs_of_axes(
    extents: &[usize],
    order: &[usize],
) -> impl Iterator<Item = (usize, usize, bool)> {
    let remaining = order.iter().copied().filter(|&axis| extents[axis] > 1);
    remaining.scan(None, |next, axis| {
        let position = extents[..axis].iter().filter(|&&extent| extent > 1).count();
        Some((axis, position, next.replace(position + 1) != Some(position)))
    })
}

impl AxisPermutation {
    /// Returns the parts that equality and hashing compare: the used entries of `order` and
    /// `extents`.
    fn key(&self) -> (&[u8], &[usize]) {
        (&self.order[..usize::from(self.rank)], self.extents())
    }
}

impl PartialEq for AxisPermutation {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for AxisPermutation {}

impl Hash for AxisPermutation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl From<Elementary> for AxisPermutation {
    /// # Panics
    /// If the number of elements overflows `usize`.
    fn from(e: Elementary) -> Self {
        let extents = [e.batch, e.rows, e.mid, e.cols, e.unit];
        let count = extents.iter().try_fold(1usize, |all, &extent| all.checked_mul(extent));
        let count = count.expect("the number of elements overflows usize");
        let moving = [e.rows, e.mid, e.cols].iter().filter(|&&extent| extent > 1).count();
        // An identity has one axis, or none if there is only one element.
        if moving < 2 || count == 0 {
            return Self::from_fused(&[count][..usize::from(count != 1)], &[0]);
        }
        // The moving axes are reversed, so no axes can be fused. Skipping fusion makes planning
        // faster.
        let mut all = Self::from_fused(&[], &[]);
        let first = usize::from(e.batch > 1);
        let reversed = first..first + moving;
        for (axis, extent) in extents.into_iter().filter(|&extent| extent > 1).enumerate() {
            let moves = reversed.contains(&axis);
            all.order[axis] = if moves { 2 * first + moving - 1 - axis } else { axis } as u8;
            all.extents[axis] = extent;
            all.rank += 1;
        }
        all
    }
}

impl fmt::Display for AxisPermutation {
    /// Formats in dimension notation: `100!(7200x50, unit 36)`, `2010!(2x3x4x5)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(e) = self.elementary() else {
            write!(f, "{}(", factorial_name(&self.order().collect::<Vec<_>>()))?;
            for (k, extent) in self.extents().iter().enumerate() {
                write!(f, "{}{extent}", if k == 0 { "" } else { "x" })?;
            }
            return write!(f, ")");
        };
        // A single matrix is named 010! too: its batch of 1 counts as an axis.
        let has_batch = usize::from(e.batch > 1 || (e.unit == 1 && e.mid == 1));
        let [has_mid, has_unit] = [e.mid, e.unit].map(|extent| usize::from(extent > 1));
        let mut axes: Vec<usize> = (0..has_batch + 2 + has_mid + has_unit).collect();
        axes.swap(has_batch, has_batch + 1 + has_mid);
        write!(f, "{}(", factorial_name(&axes))?;
        if e.batch > 1 {
            write!(f, "{}*", e.batch)?;
        }
        write!(f, "{}x", e.rows)?;
        if e.mid > 1 {
            write!(f, "{}x", e.mid)?;
        }
        write!(f, "{}", e.cols)?;
        if e.unit > 1 {
            write!(f, ", unit {}", e.unit)?;
        }
        write!(f, ")")
    }
}

#[cfg(test)]
#[path = "permutation_tests.rs"]
mod tests;
