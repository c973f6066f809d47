//! Fusion of any number of axes, and permutations of high rank as a sequence of permutations of
//! lower rank.

use crate::permutation::{AxisPermutation, PermutationError, runs_of_axes};

/// Maximum rank of an array before fusion. An array with more axes of extent 2 or above cannot be
/// addressed.
pub const MAX_RANK: usize = 64;

/// The axes of a row-major array after fusion of axes that a permutation keeps together.
///
/// ```
/// use turntile_perm::FusedAxes;
///
/// let fused = FusedAxes::new(&[64, 256, 112, 1, 112], &[0, 2, 3, 4, 1]).unwrap();
/// assert_eq!((fused.extents(), fused.order()), (&[64, 256, 12544][..], &[0, 2, 1][..]));
/// assert_eq!(fused.given(2), [2, 4]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FusedAxes {
    extents: Vec<usize>,
    order: Vec<usize>,
    given: Vec<Vec<usize>>,
}

impl FusedAxes {
    /// Fuses the axes of the permutation whose result has `extents[order[i]]` as extent `i`.
    /// Extents may be 0 or 1. An empty array has one fused axis, of extent 0.
    ///
    /// # Errors
    /// [`PermutationError`] if `order` is not a permutation of the axes, or if the number of
    /// elements, with extents of 0 counted as 1, overflows `usize`.
    pub fn new(extents: &[usize], order: &[usize]) -> Result<Self, PermutationError> {
        AxisPermutation::check(extents, order)?;
        if extents.contains(&0) {
            let given = vec![(0..extents.len()).collect()];
            return Ok(FusedAxes { extents: vec![0], order: vec![0], given });
        }
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for (axis, _, is_first) in runs_of_axes(extents, order) {
            match runs.last_mut() {
                Some(run) if !is_first => run.push(axis),
                _ => runs.push(vec![axis]),
            }
        }
        let mut given = runs.clone();
        given.sort_unstable_by_key(|run| run[0]);
        let number = |run: &Vec<usize>| given.iter().position(|other| other == run);
        let order = runs.iter().filter_map(number).collect();
        let extent = |run: &Vec<usize>| run.iter().map(|&axis| extents[axis]).product();
        Ok(FusedAxes { extents: given.iter().map(extent).collect(), order, given })
    }

    /// Returns the extents of the fused source axes.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// Returns, for each fused axis of the result, its fused source axis.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the original axes that form fused axis `axis`. Axes of extent 1 belong to no fused
    /// axis, unless the array is empty.
    ///
    /// # Panics
    /// If the fused axis does not exist.
    pub fn given(&self, axis: usize) -> &[usize] {
        &self.given[axis]
    }

    /// Returns the permutation that moves data from axis order `from` to axis order `to`. Both are
    /// lists of fused axis numbers.
    ///
    /// # Errors
    /// [`PermutationError`] if `from` or `to` is not a permutation of the fused axes, or if too
    /// many axes remain after fusion.
    pub fn between(
        &self,
        from: &[usize],
        to: &[usize],
    ) -> Result<AxisPermutation, PermutationError> {
        let axes = self.extents.len();
        let wrong = |order: &[usize]| PermutationError::Order { axes, order: order.to_vec() };
        let extent = |&axis: &usize| self.extents.get(axis).copied();
        let extents: Option<Vec<usize>> = from.iter().map(extent).collect();
        let position = |axis: &usize| from.iter().position(|other| other == axis);
        let order: Option<Vec<usize>> = to.iter().map(position).collect();
        let extents = extents.filter(|all| all.len() == axes).ok_or_else(|| wrong(from))?;
        AxisPermutation::new(&extents, &order.ok_or_else(|| wrong(to))?)
    }

    /// Returns at most `most` intermediate orders `v` such that both `from → v` and `v → to` are
    /// involutions whose swapped axes have equal extents.
    ///
    /// Such orders exist if the axes on each cycle of the permutation have equal extents: a
    /// rotation of a cycle of length `n` is the product of two reflections, in `n` ways. Otherwise,
    /// or if `from` or `to` is not a valid order, the result is empty.
    pub fn involution_midpoints(
        &self,
        from: &[usize],
        to: &[usize],
        most: usize,
    ) -> Vec<Vec<usize>> {
        if self
            .between(from, to)
            .is_err_and(|error| matches!(error, PermutationError::Order { .. }))
        {
            return Vec::new();
        }
        let position = |axis: &usize| from.iter().position(|other| other == axis);
        let next: Vec<usize> = to.iter().filter_map(position).collect();
        let (mut cycles, mut seen) = (Vec::new(), vec![false; next.len()]);
        // Starts with the cycle of the last axis, which affects performance most, so that the first
        // results differ there.
        for start in (0..next.len()).rev() {
            let (mut cycle, mut at) = (Vec::new(), start);
            while !std::mem::replace(&mut seen[at], true) {
                cycle.push(at);
                at = next[at];
            }
            let extent = |at: &usize| self.extents[from[*at]];
            if cycle.iter().any(|at| extent(at) != extent(&start)) {
                return Vec::new();
            }
            cycles.push(cycle);
        }
        let count = cycles.iter().fold(1usize, |all, cycle| all.saturating_mul(cycle.len().max(1)));
        let half = |variant: usize| {
            let (mut via, mut rest) = (from.to_vec(), variant);
            for cycle in cycles.iter().filter(|cycle| !cycle.is_empty()) {
                let len = cycle.len();
                for (k, &at) in cycle.iter().enumerate() {
                    via[at] = from[cycle[(rest % len + len - k) % len]];
                }
                rest /= len;
            }
            via
        };
        (0..count.min(most)).map(half).collect()
    }

    /// Returns a list of steps from the source's order to the result's: the order of the fused axes
    /// after each step.
    ///
    /// Each step permutes at most `max(most, 4)` axes after fusion. If one step is enough, it is
    /// the only one; an identity has no steps. Otherwise each step moves the largest possible
    /// number of leading axes of the result to their final positions.
    pub fn waypoints(&self, most: usize) -> Vec<Vec<usize>> {
        let (count, most) = (self.order.len(), most.max(4));
        let (mut at, mut all): (Vec<usize>, _) = ((0..count).collect(), Vec::new());
        while at != self.order {
            let with = |placed: usize| {
                let first = &self.order[..placed];
                let rest = at.iter().filter(|&axis| !first.contains(axis));
                first.iter().chain(rest).copied().collect::<Vec<_>>()
            };
            // Four axes are enough to place one more axis: the placed axes, the axis itself, and
            // the axes before and after it.
            let fits = |to: &Vec<usize>| {
                let axes = self.between(&at, to);
                *to != at && axes.is_ok_and(|axes| axes.extents().len() <= most)
            };
            let next = (1..=count).rev().map(with).find(fits);
            at = next.expect("four axes are enough to place one more axis");
            all.push(at.clone());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAX_RANK: usize = 8;

    fn dest(extents: &[usize], order: &[usize], offset: usize) -> usize {
        let mut digits = vec![0; extents.len()];
        let mut rest = offset;
        for axis in (0..extents.len()).rev() {
            (rest, digits[axis]) = (rest / extents[axis], rest % extents[axis]);
        }
        order.iter().fold(0, |at, &axis| at * extents[axis] + digits[axis])
    }

    fn check(extents: &[usize], order: &[usize], offsets: impl Iterator<Item = usize>) {
        let fused = FusedAxes::new(extents, order).unwrap();
        let mut steps = Vec::new();
        let mut from: Vec<usize> = (0..fused.order().len()).collect();
        for to in fused.waypoints(MAX_RANK) {
            steps.push(fused.between(&from, &to).unwrap());
            from = to;
        }
        for offset in offsets {
            let to = dest(extents, order, offset);
            assert_eq!(dest(fused.extents(), fused.order(), offset), to, "{extents:?} {order:?}");
            let by_steps = steps.iter().fold(offset, |at, step| step.dest(at));
            assert_eq!(by_steps, to, "{extents:?} {order:?} at {offset}");
        }
        let whole = AxisPermutation::new(extents, order);
        if let Some(whole) = whole.ok().filter(|whole| whole.extents().len() <= MAX_RANK) {
            assert!(steps.len() <= 1);
            assert_eq!(steps.is_empty(), whole.is_identity());
            assert!(steps.first().is_none_or(|step| *step == whole));
        }
    }

    proptest! {
        #[test]
        fn steps_compose_to_the_permutation(
            (extents, order) in (0..14usize).prop_flat_map(|rank| {
                let axes: Vec<usize> = (0..rank).collect();
                (prop::collection::vec(1..4usize, rank), Just(axes).prop_shuffle())
            }),
        ) {
            let len: usize = extents.iter().product();
            check(&extents, &order, (0..len).step_by(1 + len / 500));
        }
    }

    #[test]
    fn reversal_of_62_axes_takes_few_steps() {
        let (extents, order) = (vec![2; 62], (0..62).rev().collect::<Vec<_>>());
        check(
            &extents,
            &order,
            (0..200u64).map(|k| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2) as usize),
        );
        let fused = FusedAxes::new(&extents, &order).unwrap();
        assert!(fused.waypoints(MAX_RANK).len() < 62 / 2, "{}", fused.waypoints(MAX_RANK).len());
    }

    fn orders(rank: usize) -> Vec<Vec<usize>> {
        let Some(last) = rank.checked_sub(1) else { return vec![Vec::new()] };
        let with = |order: Vec<usize>| {
            (0..rank).map(move |at| [&order[..at], &[last], &order[at..]].concat())
        };
        orders(last).into_iter().flat_map(with).collect()
    }

    /// Checks all orders of up to six axes with extents 2 and 3. Both steps through every
    /// intermediate order are involutions. The number of intermediate orders is the product of the
    /// cycle lengths, or 0 if a cycle has axes of unequal extents.
    #[test]
    fn halves_are_involutions() {
        for order in (0..=6).flat_map(orders) {
            let rank = order.len();
            let mut lens = vec![0; rank];
            for (start, len) in lens.iter_mut().enumerate() {
                let on = std::iter::successors(Some(order[start]), |&at| Some(order[at]));
                *len = 1 + on.take_while(|&at| at != start).count();
            }
            let count = (0..rank).filter(|&start| {
                let mut on = std::iter::successors(Some(order[start]), |&at| Some(order[at]));
                on.by_ref().take(lens[start]).all(|at| at >= start)
            });
            let count: usize = count.map(|start| lens[start]).product();
            for code in 0..1usize << rank {
                let extents: Vec<usize> = (0..rank).map(|axis| 2 + (code >> axis & 1)).collect();
                let alike = (0..rank).all(|axis| extents[order[axis]] == extents[axis]);
                let all = FusedAxes {
                    extents: extents.clone(),
                    order: order.clone(),
                    given: vec![Vec::new(); rank],
                };
                let from: Vec<usize> = (0..rank).collect();
                let halves = all.involution_midpoints(&from, &order, usize::MAX);
                assert_eq!(halves.len(), if alike { count } else { 0 }, "{extents:?} {order:?}");
                for via in halves {
                    for [a, b] in [[&from, &via], [&via, &order]] {
                        let step = all.between(a, b).unwrap();
                        assert!(step.is_involution(), "{extents:?} {order:?} by {via:?}");
                    }
                }
            }
        }
        let reversed = FusedAxes::new(&[2, 2, 2], &[2, 1, 0]).unwrap();
        assert_eq!(
            reversed.involution_midpoints(&[0, 1, 2], &[1, 2, 0], 2).len(),
            2,
            "at most two were requested"
        );
        assert!(reversed.involution_midpoints(&[0, 1], &[0, 1, 2], 9).is_empty());
    }

    #[test]
    fn invalid_orders_are_rejected() {
        let fused = FusedAxes::new(&[2, 3, 4], &[2, 1, 0]).unwrap();
        for (from, to) in [
            (vec![0, 1], vec![0, 1, 2]),
            (vec![0, 1, 2], vec![0, 0, 1]),
            (vec![0, 1, 3], vec![0, 1, 3]),
        ] {
            assert!(fused.between(&from, &to).is_err());
        }
        assert!(FusedAxes::new(&[2, 3], &[0, 0]).is_err());
        assert_eq!(FusedAxes::new(&[2, 0, 3], &[2, 1, 0]).unwrap().extents(), [0]);
        assert!(FusedAxes::new(&[], &[]).unwrap().waypoints(MAX_RANK).is_empty());
    }
}
