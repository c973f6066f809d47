//! Axes that are no matrices, brought into their order in several parts.
//!
//! Orders of the fused axes are places, what one route does between two of them is a leg; the fastest way from the
//! source's order to the result's is the plan. Of up to four axes every order may lie between two legs. Of more, one in which
//! the result's last axis is last already, or the source's still is, so that one leg moves whole runs and the other
//! interchanges two neighbouring groups of axes, a transposition of matrices. A leg that is no matrices is looked for in
//! the same way, so that every leg brings one axis more to its place. Or one from which axes change places in pairs on
//! either side; of very many axes these alone, beside bringing a few at a time to their places.

use std::cell::RefCell;
use std::collections::HashMap;

use turntile_perm::permutation::MAX_FUSED_RANK;
use turntile_perm::{AxisPermutation, FusedAxes, PermutationError};

use crate::phase_problem::PhaseProblem;
use crate::plan::RejectedRoute;
use crate::planner::{Candidate, Planner};
use crate::problem::Problem;

/// Axes up to which all orders are looked at: 22 of four axes.
const FEW_AXES: usize = 4;
/// Axes up to which orders are looked at that interchange neighbours, and that every device permutes.
const MANY_AXES: usize = 8;
/// Orders looked at from which axes change places in pairs on either side.
const MOST_HALVES: usize = 24;
/// Legs that are looked for one within the other.
const MOST_LEGS: usize = 3;

/// The fastest plan, and the routes that could not do the whole.
pub fn fastest(planner: &Planner, problem: &Problem) -> (Option<Candidate>, Vec<RejectedRoute>) {
    let search = Search::new(planner, problem);
    let [from, to] = search.ends();
    let (found, declined) = search.between(&from, &to, f64::INFINITY, MOST_LEGS);
    let bound = found.as_ref().map_or(f64::INFINITY, |found| found.seconds);
    (search.in_pieces(bound).or(found), declined)
}

/// The fastest plan through each order between, besides those of one leg.
pub fn all(planner: &Planner, problem: &Problem) -> Vec<Candidate> {
    let search = Search::new(planner, problem);
    let [from, to] = search.ends();
    let through = |via: Vec<usize>| search.through(&from, &via, &to, f64::INFINITY, MOST_LEGS);
    let vias = search.orders_between(&from, &to, MOST_LEGS).into_iter();
    vias.filter_map(through).chain(search.in_pieces(f64::INFINITY)).collect()
}

struct Search<'a> {
    planner: &'a Planner,
    problem: &'a Problem,
    fused: FusedAxes,
    /// Legs that were looked for: the fastest, or none that takes less than so many seconds.
    known: RefCell<HashMap<(AxisPermutation, usize), Result<Candidate, f64>>>,
}

impl<'a> Search<'a> {
    fn new(planner: &'a Planner, problem: &'a Problem) -> Self {
        Search { planner, problem, fused: problem.fused(), known: RefCell::default() }
    }

    /// The fastest single leg that takes less than `bound` seconds.
    fn leg(&self, part: &PhaseProblem, order: &[usize], bound: f64) -> Option<Candidate> {
        match self.known.borrow().get(&(part.axes, part.elems_per_unit)) {
            Some(Ok(found)) => {
                let found = (found.seconds < bound).then(|| found.clone());
                return found.map(|found| found.leading_to(order));
            }
            Some(Err(least)) if *least >= bound => return None,
            _ => {}
        }
        let found = self.planner.fastest_leg(part, bound).0;
        let known = found.clone().ok_or(bound);
        self.known.borrow_mut().insert((part.axes, part.elems_per_unit), known);
        found
    }

    /// The source's order and the result's.
    fn ends(&self) -> [Vec<usize>; 2] {
        [(0..self.fused.order().len()).collect(), self.fused.order().to_vec()]
    }

    /// Very many axes in several pieces, of as many as can be held or as every device permutes, where that takes less than
    /// `bound` seconds.
    fn in_pieces(&self, mut bound: f64) -> Option<Candidate> {
        if self.fused.order().len() <= MANY_AXES {
            return None;
        }
        let pass = self.planner.device.least_seconds(self.problem.bytes());
        let mut best = None;
        for most in [MAX_FUSED_RANK, MANY_AXES] {
            let pieces = self.fused.waypoints(most);
            let ([mut from, _], mut all) = (self.ends(), Candidate::default());
            let mut add = |(done, to): (usize, &Vec<usize>)| {
                let left = bound - all.seconds - (pieces.len() - 1 - done) as f64 * pass;
                let found = self.between(&from, to, left, MOST_LEGS).0?;
                from.clone_from(to);
                all = std::mem::take(&mut all).then(found);
                Some(())
            };
            if pieces.len() > 1 && pieces.iter().enumerate().all(|piece| add(piece).is_some()) {
                bound = all.seconds;
                best = Some(all);
            }
        }
        best
    }

    /// What is to be done between two orders; none where nothing is.
    fn part(
        &self,
        from: &[usize],
        to: &[usize],
    ) -> Result<Option<PhaseProblem<'a>>, PermutationError> {
        Ok(self.planner.part(self.problem, &self.fused.between(from, to)?, to))
    }

    /// The fastest way in at most `legs` legs that takes less than `bound` seconds.
    fn between(
        &self,
        from: &[usize],
        to: &[usize],
        bound: f64,
        legs: usize,
    ) -> (Option<Candidate>, Vec<RejectedRoute>) {
        let part = match self.part(from, to) {
            Ok(Some(part)) => part,
            Ok(None) => return (Some(Candidate::default()), Vec::new()),
            Err(_) => return (None, Vec::new()),
        };
        let (mut best, declined) = self.planner.fastest_leg(&part, bound);
        if legs > 1 && !part.is_matrices() {
            let pass = self.planner.device.least_seconds(self.problem.bytes());
            for via in self.vias(from, to, legs) {
                let bound = best.as_ref().map_or(bound, |plan| plan.seconds);
                if 2.0 * pass >= bound {
                    break;
                }
                best = self.through(from, &via, to, bound, legs).or(best);
            }
        }
        (best, declined)
    }

    /// Returns the orders between two others, those first from which matrices and runs are likely to take few passes.
    fn vias(&self, from: &[usize], to: &[usize], legs: usize) -> Vec<Vec<usize>> {
        let passes = |from: &[usize], to: &[usize]| {
            let part = self.part(from, to).ok()?;
            Some(part.map_or(0, |part| part.likely_passes()))
        };
        let all = self.orders_between(from, to, legs).into_iter();
        let mut all: Vec<_> =
            all.filter_map(|via| Some((passes(from, &via)? + passes(&via, to)?, via))).collect();
        all.sort_by_key(|&(passes, _)| passes);
        all.into_iter().map(|(_, via)| via).collect()
    }

    /// The same in any order. Within a leg only those in which one side moves runs: each such leg puts an axis in its
    /// place.
    fn orders_between(&self, from: &[usize], to: &[usize], legs: usize) -> Vec<Vec<usize>> {
        let every = legs == MOST_LEGS && from.len() <= FEW_AXES;
        let axes = self.fused.between(from, to).map_or(usize::MAX, |axes| axes.extents().len());
        let mut all = if axes <= MANY_AXES { vias(from, to, every) } else { Vec::new() };
        if legs == MOST_LEGS && !every {
            for via in self.fused.halves(from, to, MOST_HALVES) {
                if via != from && via != to && !all.contains(&via) {
                    all.push(via);
                }
            }
        }
        all
    }

    /// The fastest way through the order `via`, of which one side is a single leg.
    fn through(
        &self,
        from: &[usize],
        via: &[usize],
        to: &[usize],
        bound: f64,
        legs: usize,
    ) -> Option<Candidate> {
        let pass = self.planner.device.least_seconds(self.problem.bytes());
        let sides = [self.part(from, via).ok()??, self.part(via, to).ok()??];
        // Runs first, or else matrices: it is soon known whether they leave time for the other side.
        let is_simple = |simple: fn(&PhaseProblem) -> bool| sides.iter().position(simple);
        let simple =
            is_simple(|part| part.is_runs()).or(is_simple(|part| part.is_matrices())).unwrap_or(0);
        let ends = [[from, via], [via, to]];
        let one = self.leg(&sides[simple], ends[simple][1], bound - pass)?;
        let left = bound - one.seconds;
        let [other_from, other_to] = ends[1 - simple];
        let other = if legs > 2 && !sides[1 - simple].is_matrices() {
            self.between(other_from, other_to, left, legs - 1).0?
        } else {
            self.leg(&sides[1 - simple], other_to, left)?
        };
        if other.seconds >= left {
            return None;
        }
        Some(if simple == 0 { one.then(other) } else { other.then(one) })
    }
}

/// Orders between two others: every one, or those that are an interchange of neighbouring groups
/// away from one of the two and have the other's last axis last.
fn vias(from: &[usize], to: &[usize], every: bool) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    let mut add = |via: Vec<usize>| {
        if via != from && via != to && !all.contains(&via) {
            all.push(via);
        }
    };
    if every {
        every_order(from.len(), &mut Vec::new(), &mut add);
        return all;
    }
    for (order, other) in [(from, to), (to, from)] {
        for i in 0..order.len() {
            for j in i + 1..order.len() {
                let mut via = order.to_vec();
                via[i..].rotate_left(j - i);
                if via.last() == other.last() {
                    add(via);
                }
            }
        }
    }
    all
}

/// Hands all orders of `count` axes to `take`, those that begin with `first`.
fn every_order(count: usize, first: &mut Vec<usize>, take: &mut impl FnMut(Vec<usize>)) {
    if first.len() == count {
        return take(first.clone());
    }
    for axis in 0..count {
        if !first.contains(&axis) {
            first.push(axis);
            every_order(count, first, take);
            first.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Route;
    use crate::testing::Toy;

    fn plan(extents: &[usize], order: &[usize]) -> crate::Plan {
        let problem = Problem::permuted(extents, order, 4).unwrap();
        Planner::new(Toy { held: 4096, ..Toy::default() }).plan(&problem).unwrap()
    }

    #[test]
    fn all_small_permutations_arrive() {
        for rank in 0..=4usize {
            for code in 0..4usize.pow(rank as u32) {
                let extents: Vec<usize> =
                    (0..rank).map(|axis| 1 + code / 4usize.pow(axis as u32) % 4).collect();
                for order in orders(rank) {
                    let problem = Problem::permuted(&extents, &order, 4).unwrap();
                    let planner = Planner::new(Toy { held: 64, ..Toy::default() });
                    for plan in planner.survey(&problem).candidates {
                        assert_eq!(plan.check(), Ok(()), "{plan:#}");
                        let right = (0..problem.len()).all(|k| plan.dest(k) == problem.dest(k));
                        assert!(right, "{plan:#}");
                    }
                }
            }
        }
    }

    fn orders(rank: usize) -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        every_order(rank, &mut Vec::new(), &mut |order| all.push(order));
        all
    }

    /// Every way in up to three legs over all orders there are.
    fn brute(search: &Search, from: &[usize], to: &[usize], legs: usize) -> f64 {
        let Ok(Some(part)) = search.part(from, to) else { return 0.0 };
        let one = search
            .planner
            .fastest_leg(&part, f64::INFINITY)
            .0
            .map_or(f64::INFINITY, |one| one.seconds);
        if legs == 1 {
            return one;
        }
        let via = |via: Vec<usize>| {
            if via == from || via == to {
                return f64::INFINITY;
            }
            brute(search, from, &via, 1) + brute(search, &via, to, legs - 1)
        };
        orders(from.len()).into_iter().map(via).fold(one, f64::min)
    }

    #[test]
    fn no_order_of_four_axes_is_faster_than_what_is_found() {
        let shapes = [[30, 7, 50, 11], [64, 3, 32, 16], [9, 40, 40, 9], [101, 2, 3, 64]];
        for extents in shapes {
            for order in orders(4) {
                let problem = Problem::permuted(&extents, &order, 4).unwrap();
                if problem.fused().order().len() < 3 {
                    continue;
                }
                let planner = Planner::new(Toy { held: 4096, ..Toy::default() });
                let plan = planner.plan(&problem).unwrap();
                if planner.whole(&problem).unwrap().unwrap().is_matrices() {
                    continue;
                }
                let search = Search::new(&planner, &problem);
                let from: Vec<usize> = (0..search.fused.order().len()).collect();
                let best = brute(&search, &from, search.fused.order(), 2);
                assert!(plan.seconds <= 1.001 * best, "{plan:#}: {best}");
            }
        }
    }

    #[test]
    fn primes_go_by_slots_and_runs() {
        let plan = plan(&[509, 641, 1021], &[2, 1, 0]);
        assert_eq!(plan.route(), Route::SEVERAL, "{plan:#}");
        assert!(plan.phases.iter().any(|leg| leg.route == Route::ALIGNED_SLOTS), "{plan:#}");
        assert!((0..10_000).all(|k| plan.dest(k * 31_013) == plan.problem.dest(k * 31_013)));
    }

    #[test]
    fn axes_with_a_common_tile_take_two_passes() {
        let problem = Problem::permuted(&[64, 48, 96], &[2, 1, 0], 4).unwrap();
        let planner = Planner::new(Toy { held: 4096, ..Toy::default() });
        let plan = planner.with_route(Route::SQUARE_TILE).plan(&problem).unwrap();
        assert_eq!(
            (plan.route(), plan.passes(), plan.tile().m),
            (Route::SQUARE_TILE, 2, 32),
            "{plan:#}"
        );
    }

    /// Both ways: runs go to places that are no matrix transposed.
    #[test]
    fn few_elements_behind_an_axis_make_panels() {
        for (extents, order, mirrored) in
            [([96, 48, 7, 5], [3, 2, 0, 1], true), ([7, 5, 96, 48], [2, 3, 1, 0], false)]
        {
            let problem = Problem::permuted(&extents, &order, 4).unwrap();
            let plan =
                Planner::new(Toy::default()).with_route(Route::PANEL).plan(&problem).unwrap();
            let found = (plan.route(), plan.mirrored(), plan.passes());
            assert_eq!(found, (Route::PANEL, mirrored, 2), "{plan:#}");
            assert!((0..plan.problem.len()).all(|k| plan.dest(k) == plan.problem.dest(k)));
        }
    }

    #[test]
    fn as_many_axes_as_there_can_be() {
        let order: Vec<usize> = (0..20).rev().collect();
        let problem = Problem::permuted(&[2; 20], &order, 1).unwrap();
        let plan = Planner::new(Toy::default()).plan(&problem).unwrap();
        assert!((0..1 << 20).step_by(97).all(|k| plan.dest(k) == problem.dest(k)), "{plan:#}");
    }
}
