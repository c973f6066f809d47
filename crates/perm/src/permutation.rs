//! The one shape of everything that permutes whole axes: of a stage, of a problem.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::elementary::{Elementary, SwapKind};
use crate::names::factorial_name;

/// Axes that a permutation has at most, once those that stay together are fused: the bits of 2^28 places, reversed. Planning
/// copies many permutations: with 24 it takes a tenth longer than with 8, with 32 a quarter.
pub const MAX_FUSED_RANK: usize = 28;

/// The axes of a row-major array, permuted: axis `i` of the result is axis `order[i]` of the source, both row-major.
///
/// It is held *fused*: axes of extent 1 are left out, and adjacent axes that stay adjacent and in order
/// are one. A first axis that stays first is the *batch*; a last axis that stays last is the
/// *super-element*. Two permutations that move the same elements are equal.
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

/// Why axes and their order make no permutation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PermutationError {
    /// The order does not name every axis once.
    #[error("{order:?} is no order of {axes} axes")]
    Order {
        /// Axes there are.
        axes: usize,
        /// The order as given.
        order: Vec<usize>,
    },
    /// The elements cannot be counted.
    #[error("{extents:?} elements are too many to count")]
    Overflow {
        /// The extents as given.
        extents: Vec<usize>,
    },
    /// More axes than can be held.
    #[error("{axes} axes move apart, at most {MAX_FUSED_RANK} can")]
    TooMany {
        /// Axes once fused.
        axes: usize,
    },
}

impl AxisPermutation {
    /// Of an array with these extents, any of them 0 or 1, to one whose axis `i` is axis `order[i]`.
    ///
    /// # Errors
    /// [`PermutationError`].
    pub fn new(extents: &[usize], order: &[usize]) -> Result<Self, PermutationError> {
        Self::check(extents, order)?;
        Self::fused(extents, order)
    }

    /// Whether `order` names each of `axes` axes once.
    ///
    /// # Errors
    /// [`PermutationError::Order`].
    pub fn check_order(axes: usize, order: &[usize]) -> Result<(), PermutationError> {
        let named = |axis: usize| order.iter().filter(|&&other| other == axis).count() == 1;
        if order.len() == axes && (0..axes).all(named) {
            return Ok(());
        }
        Err(PermutationError::Order { axes, order: order.to_vec() })
    }

    /// Whether the order names every axis once, and elements can be counted.
    pub(crate) fn check(extents: &[usize], order: &[usize]) -> Result<(), PermutationError> {
        Self::check_order(extents.len(), order)?;
        // An extent of 0 must not hide an overflow of the others.
        let count = extents.iter().try_fold(1usize, |all, &e| all.checked_mul(e.max(1)));
        if count.is_none() {
            return Err(PermutationError::Overflow { extents: extents.to_vec() });
        }
        Ok(())
    }

    /// The same of axes and an order that are known to be right: axes of extent 1 left out, and runs of axes that
    /// stay adjacent and in order made one. Takes no memory.
    fn fused(extents: &[usize], order: &[usize]) -> Result<Self, PermutationError> {
        let mut all =
            AxisPermutation { rank: 0, order: [0; MAX_FUSED_RANK], extents: [0; MAX_FUSED_RANK] };
        if extents.contains(&0) {
            all.rank = 1;
            return Ok(all);
        }
        // Of each run, in the order of the result: its first axis among those left, and its extent.
        let mut runs = [(0, 0); MAX_FUSED_RANK];
        let (mut count, mut next) = (0, None);
        for &axis in order.iter().filter(|&&axis| extents[axis] > 1) {
            let place = extents[..axis].iter().filter(|&&extent| extent > 1).count();
            if next == Some(place) {
                runs[(count - 1).min(MAX_FUSED_RANK - 1)].1 *= extents[axis];
            } else {
                if let Some(run) = runs.get_mut(count) {
                    *run = (place, extents[axis]);
                }
                count += 1;
            }
            next = Some(place + 1);
        }
        let Some(runs) = runs.get(..count) else {
            return Err(PermutationError::TooMany { axes: count });
        };
        for (to, &(place, extent)) in runs.iter().enumerate() {
            let axis = runs.iter().filter(|run| run.0 < place).count();
            all.order[to] = axis as u8;
            all.extents[axis] = extent;
        }
        all.rank = count as u8;
        Ok(all)
    }

    fn held(extents: &[usize], order: &[usize]) -> Self {
        let mut all = AxisPermutation {
            rank: extents.len() as u8,
            order: [0; MAX_FUSED_RANK],
            extents: [0; MAX_FUSED_RANK],
        };
        all.extents[..extents.len()].copy_from_slice(extents);
        all.order.iter_mut().zip(order).for_each(|(to, &axis)| *to = axis as u8);
        all
    }

    /// Extents of the source's axes, fused; none for a single element.
    #[inline]
    pub fn extents(&self) -> &[usize] {
        &self.extents[..usize::from(self.rank)]
    }

    /// The source's axis that each axis of the result is.
    pub fn order(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.order[..usize::from(self.rank)].iter().map(|&axis| usize::from(axis))
    }

    /// Elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.extents().iter().product()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nothing moves.
    #[inline]
    pub fn is_identity(&self) -> bool {
        self.rank <= 1
    }

    /// Whether it is its own inverse: axes of equal extent change places in pairs, or stay.
    pub fn is_involution(&self) -> bool {
        let order = &self.order[..usize::from(self.rank)];
        let of = |axis: &u8| usize::from(order[usize::from(*axis)]);
        order.iter().enumerate().all(|(to, axis)| {
            of(axis) == to && self.extents[to] == self.extents[usize::from(*axis)]
        })
    }

    /// Equal instances that are permuted each on its own, one after the other: the first axis where it stays.
    #[inline]
    pub fn batch(&self) -> usize {
        if self.rank > 1 && self.order[0] == 0 { self.extents[0] } else { 1 }
    }

    /// Elements of a super-element: the last axis where it stays.
    #[inline]
    pub fn unit(&self) -> usize {
        let last = usize::from(self.rank).wrapping_sub(1);
        let stays = self.rank > 1 && usize::from(self.order[last]) == last;
        if stays { self.extents[last] } else { 1 }
    }

    /// The same with super-elements as single elements.
    #[must_use]
    pub fn without_unit(&self) -> Self {
        let mut all = *self;
        if self.unit() > 1 {
            all.rank -= 1;
            all.extents[usize::from(all.rank)] = 0;
            all.order[usize::from(all.rank)] = 0;
        }
        // Two axes or more are left: those that moved apart.
        all
    }

    /// The permutation of one instance.
    #[must_use]
    pub fn without_batch(&self) -> Self {
        if self.batch() == 1 {
            return *self;
        }
        let rank = usize::from(self.rank);
        let mut all = Self::held(&self.extents[1..rank], &[]);
        all.order.iter_mut().zip(&self.order[1..rank]).for_each(|(to, &axis)| *to = axis - 1);
        all
    }

    /// The permutation that undoes it.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut extents = Vec::with_capacity(MAX_FUSED_RANK);
        let mut order = vec![0; usize::from(self.rank)];
        for (to, from) in self.order().enumerate() {
            extents.push(self.extents[from]);
            order[from] = to;
        }
        Self::held(&extents, &order)
    }

    /// Elements that a step along each of the source's axes goes over, before and after.
    pub fn strides(&self) -> [[usize; MAX_FUSED_RANK]; 2] {
        let rank = usize::from(self.rank);
        let along = |axes: &mut dyn Iterator<Item = usize>| {
            let (mut steps, mut step) = ([1; MAX_FUSED_RANK], 1);
            for axis in axes {
                steps[axis] = step;
                step *= self.extents[axis];
            }
            steps
        };
        let mut result = self.order[..rank].iter().rev().map(|&axis| usize::from(axis));
        [along(&mut (0..rank).rev()), along(&mut result)]
    }

    /// Where the element at `offset` goes; offsets behind the end stay.
    #[inline]
    pub fn dest(&self, offset: usize) -> usize {
        let rank = usize::from(self.rank);
        let (mut digits, mut rest) = ([0; MAX_FUSED_RANK], offset);
        // Nothing is to be divided by the one extent of an empty array.
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

    /// The same as two groups of axes that change places, if that is what it is: 010!, 100!, 0100!, 0210!,
    /// 2100!. An identity is one of a single row.
    #[inline]
    pub fn elementary(&self) -> Option<Elementary> {
        let (batch, unit) = (self.batch(), self.unit());
        // Up to three axes that are neither can only be reversed: in any other order some would be fused.
        let (rows, mid, cols) = match *self.moving() {
            [] => (1, 1, 1),
            [extent] => (1, 1, extent),
            [rows, cols] => (rows, 1, cols),
            [rows, mid, cols] => (rows, mid, cols),
            _ => return None,
        };
        Some(Elementary { batch, rows, mid, cols, unit })
    }

    /// What the order is.
    #[inline]
    pub fn form(&self) -> SwapKind {
        match self.elementary() {
            Some(e) if e.mid == 1 => SwapKind::Transpose(e),
            Some(e) if e.is_squares() => SwapKind::SquareTiles(e),
            Some(e) => SwapKind::Strided(e),
            None => SwapKind::General,
        }
    }

    /// Extents of the axes that are neither batch nor super-element.
    #[inline]
    fn moving(&self) -> &[usize] {
        let rank = usize::from(self.rank);
        let first = usize::from(self.batch() > 1);
        let last = rank - usize::from(self.unit() > 1);
        &self.extents[first..last.max(first)]
    }
}

impl AxisPermutation {
    /// What makes it what it is: not the room for more axes.
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
    /// When its elements cannot be counted.
    fn from(e: Elementary) -> Self {
        let extents = [e.batch, e.rows, e.mid, e.cols, e.unit];
        let count = extents.iter().try_fold(1usize, |all, &extent| all.checked_mul(extent));
        let count = count.expect("elements that can be counted");
        let moving = [e.rows, e.mid, e.cols].iter().filter(|&&extent| extent > 1).count();
        // What moves nothing is one axis, or none.
        if moving < 2 || count == 0 {
            return Self::held(&[count][..usize::from(count != 1)], &[0]);
        }
        // Those that move are reversed; nothing else is to be fused, and planning takes time.
        let mut all = Self::held(&[], &[]);
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
    /// Dimension notation: `100!(7200x50, unit 36)`, `2310!(2x3x4x5)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(e) = self.elementary() {
            return e.fmt(f);
        }
        write!(f, "{}(", factorial_name(&self.order().collect::<Vec<_>>()))?;
        for (k, extent) in self.extents().iter().enumerate() {
            write!(f, "{}{extent}", if k == 0 { "" } else { "x" })?;
        }
        write!(f, ")")
    }
}

#[cfg(test)]
#[path = "axes_tests.rs"]
mod tests;
