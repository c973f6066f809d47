//! Search for sequences of phases, for permutations that are not a transposition of matrices.
//!
//! The nodes of the search are orders of the fused axes. An edge is one phase, which permutes one
//! order to another by one route. The plan is the fastest path from the source's order to the
//! result's.
//!
//! For up to four axes every order is an intermediate candidate. For more axes there are two kinds
//! of candidates. In the first, the result's last axis is already last, or the source's last axis
//! still is: one phase then moves whole runs, and the other swaps two neighbouring groups of axes,
//! a transposition of matrices. A phase that is not a transposition of matrices is searched in the
//! same way, so every phase moves one more axis to its final position. In the second kind both
//! phases are involutions.
//!
//! For more than eight axes only involutions are tried, and paths that move a few axes at a time to
//! their final positions.

use std::cell::RefCell;
use std::collections::HashMap;

use turntile_perm::permutation::MAX_FUSED_RANK;
use turntile_perm::{AxisPermutation, FusedAxes, PermutationError};

use crate::phase_problem::PhaseProblem;
use crate::plan::RejectedRoute;
use crate::planner::{Candidate, Planner};
use crate::problem::Problem;

/// Maximum number of axes for which all orders are tried: 22 intermediate ones for four axes.
const FEW_AXES: usize = 4;
/// Maximum number of axes for which swaps of neighbouring groups are tried. Every device permutes
/// this many in one stage.
const MANY_AXES: usize = 8;
/// Maximum number of intermediate axis orders to try between two involutions.
const MAX_INVOLUTION_PAIRS: usize = 24;
/// Maximum number of phases of a path without waypoints.
const MAX_PHASES: usize = 3;

/// Returns the fastest candidate, and the routes that cannot do the whole permutation in one phase.
///
/// If there is no candidate and no phase permutes all axes, returns the routes that cannot permute
/// the axes of one segment.
pub fn fastest(planner: &Planner, problem: &Problem) -> (Option<Candidate>, Vec<RejectedRoute>) {
    let search = Search::new(planner, problem);
    let [from, to] = search.ends();
    let (found, mut rejected) = search.between(&from, &to, f64::INFINITY, MAX_PHASES);
    let bound = found.as_ref().map_or(f64::INFINITY, |found| found.seconds);
    let (segments, rejected_segment) = search.in_segments(bound);
    let best = segments.or(found);
    if best.is_none() && rejected.is_empty() {
        rejected = rejected_segment;
    }
    (best, rejected)
}

/// Returns the fastest candidate through each intermediate order and through waypoints. Candidates
/// of a single phase are not included.
pub fn all(planner: &Planner, problem: &Problem) -> Vec<Candidate> {
    let search = Search::new(planner, problem);
    let [from, to] = search.ends();
    let through = |via: Vec<usize>| search.through(&from, &via, &to, f64::INFINITY, MAX_PHASES);
    let vias = search.orders_between(&from, &to, MAX_PHASES).into_iter();
    vias.filter_map(through).chain(search.in_segments(f64::INFINITY).0).collect()
}

/// Search for one problem, with a cache of the phases estimated so far.
struct Search<'a> {
    planner: &'a Planner,
    problem: &'a Problem,
    fused: FusedAxes,
    /// Fastest candidate of each phase searched so far, or `Err(bound)` if none takes less than
    /// `bound` seconds.
    cache: RefCell<HashMap<(AxisPermutation, usize), Result<Candidate, f64>>>,
}

impl<'a> Search<'a> {
    fn new(planner: &'a Planner, problem: &'a Problem) -> Self {
        Search { planner, problem, fused: problem.fused(), cache: RefCell::default() }
    }

    /// Returns the fastest single phase that takes less than `bound` seconds.
    fn phase_candidate(
        &self,
        part: &PhaseProblem,
        order: &[usize],
        bound: f64,
    ) -> Option<Candidate> {
        match self.cache.borrow().get(&(part.axes, part.elems_per_unit)) {
            Some(Ok(found)) => {
                let found = (found.seconds < bound).then(|| found.clone());
                return found.map(|found| found.with_result_order(order));
            }
            Some(Err(least)) if *least >= bound => return None,
            _ => {}
        }
        let found = self.planner.fastest_phase(part, bound).0;
        let result = found.clone().ok_or(bound);
        self.cache.borrow_mut().insert((part.axes, part.elems_per_unit), result);
        found
    }

    /// Returns the axis orders of the source and of the result.
    fn ends(&self) -> [Vec<usize>; 2] {
        [(0..self.fused.order().len()).collect(), self.fused.order().to_vec()]
    }

    /// Returns the fastest path through the waypoints of more than [`MANY_AXES`] axes, if it takes
    /// less than `bound` seconds.
    ///
    /// Tries two lists of waypoints: segments permute at most [`MAX_FUSED_RANK`] axes, then at most
    /// [`MANY_AXES`], which every device permutes.
    ///
    /// Also returns the routes that are infeasible for the last segment that has no path.
    fn in_segments(&self, mut bound: f64) -> (Option<Candidate>, Vec<RejectedRoute>) {
        let (mut best, mut rejected) = (None, Vec::new());
        if self.fused.order().len() <= MANY_AXES {
            return (best, rejected);
        }
        let pass = self.planner.device.least_seconds(self.problem.bytes());
        for most in [MAX_FUSED_RANK, MANY_AXES] {
            let segments = self.fused.waypoints(most);
            let ([mut from, _], mut all) = (self.ends(), Candidate::default());
            let mut add = |(done, to): (usize, &Vec<usize>)| {
                let left = bound - all.seconds - (segments.len() - 1 - done) as f64 * pass;
                let (found, reasons) = self.between(&from, to, left, MAX_PHASES);
                let Some(found) = found else {
                    rejected = reasons;
                    return false;
                };
                from.clone_from(to);
                all = std::mem::take(&mut all).then(found);
                true
            };
            if segments.len() > 1 && segments.iter().enumerate().all(&mut add) {
                bound = all.seconds;
                best = Some(all);
            }
        }
        (best, rejected)
    }

    /// Returns the phase between two orders, or `None` if nothing moves.
    fn part(
        &self,
        from: &[usize],
        to: &[usize],
    ) -> Result<Option<PhaseProblem<'a>>, PermutationError> {
        Ok(self.planner.phase_problem(self.problem, &self.fused.between(from, to)?, to))
    }

    /// Returns the fastest path `from` one order `to` another, of at most `phases` phases and less
    /// than `bound` seconds.
    ///
    /// Also returns the routes that cannot permute `from` to `to` in one phase.
    fn between(
        &self,
        from: &[usize],
        to: &[usize],
        bound: f64,
        phases: usize,
    ) -> (Option<Candidate>, Vec<RejectedRoute>) {
        let part = match self.part(from, to) {
            Ok(Some(part)) => part,
            Ok(None) => return (Some(Candidate::default()), Vec::new()),
            Err(_) => return (None, Vec::new()),
        };
        let (mut best, rejected) = self.planner.fastest_phase(&part, bound);
        if phases > 1 && !part.is_matrices() {
            let pass = self.planner.device.least_seconds(self.problem.bytes());
            for via in self.vias(from, to, phases) {
                let bound = best.as_ref().map_or(bound, |plan| plan.seconds);
                // Two phases take at least two passes.
                if 2.0 * pass >= bound {
                    break;
                }
                best = self.through(from, &via, to, bound, phases).or(best);
            }
        }
        (best, rejected)
    }

    /// Returns the intermediate axis orders, sorted by the likely number of passes, fewest first.
    fn vias(&self, from: &[usize], to: &[usize], phases: usize) -> Vec<Vec<usize>> {
        let passes = |from: &[usize], to: &[usize]| {
            let part = self.part(from, to).ok()?;
            Some(part.map_or(0, |part| part.likely_passes()))
        };
        let all = self.orders_between(from, to, phases).into_iter();
        let mut all: Vec<_> =
            all.filter_map(|via| Some((passes(from, &via)? + passes(&via, to)?, via))).collect();
        all.sort_by_key(|&(passes, _)| passes);
        all.into_iter().map(|(_, via)| via).collect()
    }

    /// Returns the intermediate orders to try, in no particular order.
    ///
    /// A nested search returns only orders with a phase before or after that moves runs: each such
    /// phase moves one axis to its final position.
    fn orders_between(&self, from: &[usize], to: &[usize], phases: usize) -> Vec<Vec<usize>> {
        let exhaustive = phases == MAX_PHASES && from.len() <= FEW_AXES;
        let axes = self.fused.between(from, to).map_or(usize::MAX, |axes| axes.extents().len());
        let mut all = if axes <= MANY_AXES { vias(from, to, exhaustive) } else { Vec::new() };
        if phases == MAX_PHASES && !exhaustive {
            for via in self.fused.involution_midpoints(from, to, MAX_INVOLUTION_PAIRS) {
                if via != from && via != to && !all.contains(&via) {
                    all.push(via);
                }
            }
        }
        all
    }

    /// Returns the fastest path through the order `via`, with a single phase on one side.
    fn through(
        &self,
        from: &[usize],
        via: &[usize],
        to: &[usize],
        bound: f64,
        phases: usize,
    ) -> Option<Candidate> {
        let pass = self.planner.device.least_seconds(self.problem.bytes());
        let sides = [self.part(from, via).ok()??, self.part(via, to).ok()??];
        // Estimate first the phase that moves runs, else the phase that transposes matrices. It is
        // fast to estimate and shows whether time is left for the other side of `via`.
        let is_simple = |simple: fn(&PhaseProblem) -> bool| sides.iter().position(simple);
        let simple =
            is_simple(|part| part.is_runs()).or(is_simple(|part| part.is_matrices())).unwrap_or(0);
        let ends = [[from, via], [via, to]];
        let one = self.phase_candidate(&sides[simple], ends[simple][1], bound - pass)?;
        let left = bound - one.seconds;
        let [other_from, other_to] = ends[1 - simple];
        let other = if phases > 2 && !sides[1 - simple].is_matrices() {
            self.between(other_from, other_to, left, phases - 1).0?
        } else {
            self.phase_candidate(&sides[1 - simple], other_to, left)?
        };
        if other.seconds >= left {
            return None;
        }
        Some(if simple == 0 { one.then(other) } else { other.then(one) })
    }
}

/// Returns all intermediate orders if `exhaustive`. Otherwise returns the orders that a swap of two
/// neighbouring groups reaches from one end, and whose last axis is that of the other end.
fn vias(from: &[usize], to: &[usize], exhaustive: bool) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    let mut add = |via: Vec<usize>| {
        if via != from && via != to && !all.contains(&via) {
            all.push(via);
        }
    };
    if exhaustive {
        for_each_order(from.len(), &mut Vec::new(), &mut add);
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

/// Calls `take` for each order of `count` axes that begins with the axes in `first`.
fn for_each_order(count: usize, first: &mut Vec<usize>, take: &mut impl FnMut(Vec<usize>)) {
    if first.len() == count {
        return take(first.clone());
    }
    for axis in 0..count {
        if !first.contains(&axis) {
            first.push(axis);
            for_each_order(count, first, take);
            first.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Toy;
    use crate::{Infeasible, PlanError, Route};

    fn plan(extents: &[usize], order: &[usize]) -> crate::Plan {
        let problem = Problem::permuted(extents, order, 4).unwrap();
        Planner::new(Toy { held: 4096, ..Toy::default() }).plan(&problem).unwrap()
    }

    #[test]
    fn plans_reach_the_result_for_all_small_permutations() {
        for rank in 0..=4usize {
            for code in 0..4usize.pow(rank as u32) {
                let extents: Vec<usize> =
                    (0..rank).map(|axis| 1 + code / 4usize.pow(axis as u32) % 4).collect();
                for order in orders(rank) {
                    let problem = Problem::permuted(&extents, &order, 4).unwrap();
                    let planner = Planner::new(Toy { held: 64, ..Toy::default() });
                    for plan in planner.candidates(&problem).candidates {
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
        for_each_order(rank, &mut Vec::new(), &mut |order| all.push(order));
        all
    }

    /// Returns the least seconds of any path of at most `phases` phases over all orders.
    fn brute(search: &Search, from: &[usize], to: &[usize], phases: usize) -> f64 {
        let Ok(Some(part)) = search.part(from, to) else { return 0.0 };
        let one = search
            .planner
            .fastest_phase(&part, f64::INFINITY)
            .0
            .map_or(f64::INFINITY, |one| one.seconds);
        if phases == 1 {
            return one;
        }
        let via = |via: Vec<usize>| {
            if via == from || via == to {
                return f64::INFINITY;
            }
            brute(search, from, &via, 1) + brute(search, &via, to, phases - 1)
        };
        orders(from.len()).into_iter().map(via).fold(one, f64::min)
    }

    #[test]
    fn plan_is_as_fast_as_brute_force_over_four_axes() {
        let shapes = [[30, 7, 50, 11], [64, 3, 32, 16], [9, 40, 40, 9], [101, 2, 3, 64]];
        for extents in shapes {
            for order in orders(4) {
                let problem = Problem::permuted(&extents, &order, 4).unwrap();
                if problem.fused().order().len() < 3 {
                    continue;
                }
                let planner = Planner::new(Toy { held: 4096, ..Toy::default() });
                let plan = planner.plan(&problem).unwrap();
                if planner.as_single_phase(&problem).unwrap().unwrap().is_matrices() {
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
    fn prime_extents_use_aligned_slots_and_runs() {
        let plan = plan(&[509, 641, 1021], &[2, 1, 0]);
        assert_eq!(plan.route(), Route::SEVERAL, "{plan:#}");
        assert!(plan.phases.iter().any(|phase| phase.route == Route::ALIGNED_SLOTS), "{plan:#}");
        assert!((0..10_000).all(|k| plan.dest(k * 31_013) == plan.problem.dest(k * 31_013)));
    }

    #[test]
    fn square_tile_takes_two_passes_when_extents_share_a_divisor() {
        let problem = Problem::permuted(&[64, 48, 96], &[2, 1, 0], 4).unwrap();
        let planner = Planner::new(Toy { held: 4096, ..Toy::default() });
        let plan = planner.with_route(Route::SQUARE_TILE).plan(&problem).unwrap();
        assert_eq!(
            (plan.route(), plan.passes(), plan.tile().m),
            (Route::SQUARE_TILE, 2, 32),
            "{plan:#}"
        );
    }

    /// Checks both orientations, with runs that move by a permutation that is not a transposition
    /// of matrices.
    #[test]
    fn panel_route_works_when_few_elements_follow_an_axis() {
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
    fn twenty_axes_are_planned() {
        let order: Vec<usize> = (0..20).rev().collect();
        let problem = Problem::permuted(&[2; 20], &order, 1).unwrap();
        let plan = Planner::new(Toy::default()).plan(&problem).unwrap();
        assert!((0..1 << 20).step_by(97).all(|k| plan.dest(k) == problem.dest(k)), "{plan:#}");
    }

    #[test]
    fn error_names_the_device_limit_when_the_rank_is_high() {
        for rank in [12, 29, 32] {
            let order: Vec<usize> = (0..rank).rev().collect();
            let problem = Problem::permuted(&vec![2; rank], &order, 1).unwrap();
            let device = Toy { max_axes: 3, ..Toy::default() };
            let PlanError::Infeasible { why, route, .. } =
                Planner::new(device).plan(&problem).unwrap_err();
            let count = if rank > MAX_FUSED_RANK { MANY_AXES } else { rank };
            let limit = Infeasible::TooMany { what: "axes", count, most: 3 };
            assert_eq!((route, why), (Route::ONE_STAGE, limit));
        }
    }
}
