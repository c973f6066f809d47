//! Axes of any number, fused; and a permutation of more than can be held at once as several.

use crate::permutation::{AxisPermutation, PermutationError};

/// Axes that an array has at most: as many of extent 2 and more cannot be addressed.
pub const MOST_GIVEN: usize = 64;

/// The axes of a row-major array that a permutation tells apart.
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
    /// Of an array with these extents, any of them 0 or 1, to one whose axis `i` is axis `order[i]`. An array without
    /// elements has one axis of extent 0.
    ///
    /// # Errors
    /// [`PermutationError`].
    pub fn new(extents: &[usize], order: &[usize]) -> Result<Self, PermutationError> {
        AxisPermutation::check(extents, order)?;
        if extents.contains(&0) {
            let given = vec![(0..extents.len()).collect()];
            return Ok(FusedAxes { extents: vec![0], order: vec![0], given });
        }
        let left: Vec<usize> = (0..extents.len()).filter(|&axis| extents[axis] > 1).collect();
        let place = |axis: usize| left.iter().position(|&other| other == axis);
        // Runs of axes that stay adjacent and in order, as the result has them.
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for &axis in order.iter().filter(|&&axis| extents[axis] > 1) {
            match runs.last_mut() {
                Some(run) if place(axis) == run.last().and_then(|&a| place(a)).map(|p| p + 1) => {
                    run.push(axis);
                }
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

    /// Extents of the fused axes of the source.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// The source's fused axis that each of the result is.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The axes as given that fused axis `axis` is made of; those of extent 1 are in none.
    ///
    /// # Panics
    /// When there is no such axis.
    pub fn given(&self, axis: usize) -> &[usize] {
        &self.given[axis]
    }

    /// The permutation from axes that lie in the order `from` to the order `to`, both of fused axes by number.
    ///
    /// # Errors
    /// [`PermutationError`]: one of them is no order, or more axes move apart than can be held.
    pub fn between(
        &self,
        from: &[usize],
        to: &[usize],
    ) -> Result<AxisPermutation, PermutationError> {
        let axes = self.extents.len();
        let wrong = |order: &[usize]| PermutationError::Order { axes, order: order.to_vec() };
        let extent = |&axis: &usize| self.extents.get(axis).copied();
        let extents: Option<Vec<usize>> = from.iter().map(extent).collect();
        let place = |axis: &usize| from.iter().position(|other| other == axis);
        let order: Option<Vec<usize>> = to.iter().map(place).collect();
        let extents = extents.filter(|all| all.len() == axes).ok_or_else(|| wrong(from))?;
        AxisPermutation::new(&extents, &order.ok_or_else(|| wrong(to))?)
    }

    /// Orders between `from` and `to`, at most `most`, that lie in the middle of two permutations of order two: in each
    /// step axes of one extent change places in pairs. There are some where axes that follow each other on a cycle have one
    /// extent: a cycle turned on is two reflections, as many ways as it is long. None where an order is none.
    pub fn halves(&self, from: &[usize], to: &[usize], most: usize) -> Vec<Vec<usize>> {
        if self.between(from, to).is_err_and(|why| matches!(why, PermutationError::Order { .. })) {
            return Vec::new();
        }
        let place = |axis: &usize| from.iter().position(|other| other == axis);
        let next: Vec<usize> = to.iter().filter_map(place).collect();
        let (mut cycles, mut seen) = (Vec::new(), vec![false; next.len()]);
        // From the last place on, whose axis matters most: ways that differ there come first.
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
        let ways = cycles.iter().fold(1usize, |all, cycle| all.saturating_mul(cycle.len().max(1)));
        let half = |way: usize| {
            let (mut via, mut rest) = (from.to_vec(), way);
            for cycle in cycles.iter().filter(|cycle| !cycle.is_empty()) {
                let len = cycle.len();
                for (k, &at) in cycle.iter().enumerate() {
                    via[at] = from[cycle[(rest % len + len - k) % len]];
                }
                rest /= len;
            }
            via
        };
        (0..ways.min(most)).map(half).collect()
    }

    /// Orders of the fused axes from the first after the source's to the result's, so that each follows from the one
    /// before by a permutation of at most `most` axes, or of four where `most` is less: the result's alone, where they are
    /// few; otherwise as many axes of the result as possible are brought to their places from the first one on.
    pub fn waypoints(&self, most: usize) -> Vec<Vec<usize>> {
        let (count, most) = (self.order.len(), most.max(4));
        let (mut at, mut all): (Vec<usize>, _) = ((0..count).collect(), Vec::new());
        while at != self.order {
            let with = |placed: usize| {
                let first = &self.order[..placed];
                let rest = at.iter().filter(|&axis| !first.contains(axis));
                first.iter().chain(rest).copied().collect::<Vec<_>>()
            };
            // One more axis can always be placed, by four: what is placed, the axis, what lies before and behind it.
            let few = |to: &Vec<usize>| {
                let axes = self.between(&at, to);
                *to != at && axes.is_ok_and(|axes| axes.extents().len() <= most)
            };
            let next = (1..=count).rev().map(with).find(few);
            at = next.expect("one axis more can be placed");
            all.push(at.clone());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FEW: usize = 8;

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
        for to in fused.waypoints(FEW) {
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
        if let Some(whole) = whole.ok().filter(|whole| whole.extents().len() <= FEW) {
            assert!(steps.len() <= 1);
            assert_eq!(steps.is_empty(), whole.is_identity());
            assert!(steps.first().is_none_or(|step| *step == whole));
        }
    }

    proptest! {
        #[test]
        fn steps_make_the_whole(
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
    fn as_many_axes_as_memory_has_bits_reversed() {
        let (extents, order) = (vec![2; 62], (0..62).rev().collect::<Vec<_>>());
        check(
            &extents,
            &order,
            (0..200u64).map(|k| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2) as usize),
        );
        let fused = FusedAxes::new(&extents, &order).unwrap();
        assert!(fused.waypoints(FEW).len() < 62 / 2, "{}", fused.waypoints(FEW).len());
    }

    fn orders(rank: usize) -> Vec<Vec<usize>> {
        let Some(last) = rank.checked_sub(1) else { return vec![Vec::new()] };
        let with = |order: Vec<usize>| {
            (0..rank).map(move |at| [&order[..at], &[last], &order[at..]].concat())
        };
        orders(last).into_iter().flat_map(with).collect()
    }

    /// All orders of up to six axes of two extents: both steps through every order between change places in pairs, and
    /// there are as many as the cycles' lengths multiply to.
    #[test]
    fn halves_are_of_order_two() {
        for order in (0..=6).flat_map(orders) {
            let rank = order.len();
            let mut lens = vec![0; rank];
            for (start, len) in lens.iter_mut().enumerate() {
                let on = std::iter::successors(Some(order[start]), |&at| Some(order[at]));
                *len = 1 + on.take_while(|&at| at != start).count();
            }
            let ways = (0..rank).filter(|&start| {
                let mut on = std::iter::successors(Some(order[start]), |&at| Some(order[at]));
                on.by_ref().take(lens[start]).all(|at| at >= start)
            });
            let ways: usize = ways.map(|start| lens[start]).product();
            for code in 0..1usize << rank {
                let extents: Vec<usize> = (0..rank).map(|axis| 2 + (code >> axis & 1)).collect();
                let alike = (0..rank).all(|axis| extents[order[axis]] == extents[axis]);
                let all = FusedAxes {
                    extents: extents.clone(),
                    order: order.clone(),
                    given: vec![Vec::new(); rank],
                };
                let from: Vec<usize> = (0..rank).collect();
                let halves = all.halves(&from, &order, usize::MAX);
                assert_eq!(halves.len(), if alike { ways } else { 0 }, "{extents:?} {order:?}");
                for via in halves {
                    for [a, b] in [[&from, &via], [&via, &order]] {
                        let step = all.between(a, b).unwrap();
                        assert!(step.is_involution(), "{extents:?} {order:?} by {via:?}");
                    }
                }
            }
        }
        let reversed = FusedAxes::new(&[2, 2, 2], &[2, 1, 0]).unwrap();
        assert_eq!(reversed.halves(&[0, 1, 2], &[1, 2, 0], 2).len(), 2, "no more than asked for");
        assert!(reversed.halves(&[0, 1], &[0, 1, 2], 9).is_empty());
    }

    #[test]
    fn orders_that_are_none_are_errors() {
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
        assert!(FusedAxes::new(&[], &[]).unwrap().waypoints(FEW).is_empty());
    }
}
