//! Axes that are no matrices, brought into their order in several parts.
//!
//! Orders of the fused axes are places, what one route does between two of them is a leg; the fastest way from the
//! source's order to the result's is the plan. Of up to four axes every order may lie between two legs. Of more, one in which
//! the result's last axis is last already, or the source's still is, so that one leg moves whole runs and the other
//! interchanges two neighbouring groups of axes, a transposition of matrices. A leg that is no matrices is looked for in
//! the same way, so that every leg brings one axis more to its place.

use std::cell::RefCell;
use std::collections::HashMap;

use turntile_perm::{AxesError, AxisPermutation, FusedAxes};

use crate::legs::{Candidate, LegPlanner, Part};
use crate::plan::Declined;
use crate::problem::Problem;

/// Axes up to which all orders are looked at: 22 of four axes.
const FEW_AXES: usize = 4;
/// Legs that are looked for one within the other.
const MOST_LEGS: usize = 3;

/// The fastest plan, and the routes that could not do the whole.
pub fn fastest(planner: &LegPlanner, problem: &Problem) -> (Option<Candidate>, Vec<Declined>) {
    let search = Search::new(planner, problem);
    let (mut all, mut declined) = (Candidate::default(), Vec::new());
    let pieces = search.pieces();
    for [from, to] in &pieces {
        let (found, not) = search.between(from, to, f64::INFINITY, MOST_LEGS);
        let Some(found) = found else { return (None, not) };
        all = all.then(found);
        if pieces.len() == 1 {
            declined = not;
        }
    }
    (Some(all), declined)
}

/// The fastest plan through each order between, besides those of one leg.
pub fn all(planner: &LegPlanner, problem: &Problem) -> Vec<Candidate> {
    let search = Search::new(planner, problem);
    let pieces = search.pieces();
    let [[from, to]] = &pieces[..] else {
        return fastest(planner, problem).0.into_iter().collect();
    };
    let through = |via: Vec<usize>| search.through(from, &via, to, f64::INFINITY, MOST_LEGS);
    vias(from, to, from.len() <= FEW_AXES).into_iter().filter_map(through).collect()
}

struct Search<'a> {
    planner: &'a LegPlanner,
    problem: &'a Problem,
    fused: FusedAxes,
    /// Legs that were looked for: the fastest, or none that takes less than so many seconds.
    known: RefCell<HashMap<(AxisPermutation, usize), Result<Candidate, f64>>>,
}

impl<'a> Search<'a> {
    fn new(planner: &'a LegPlanner, problem: &'a Problem) -> Self {
        Search { planner, problem, fused: problem.fused(), known: RefCell::default() }
    }

    /// The fastest single leg that takes less than `bound` seconds.
    fn leg(&self, part: &Part, order: &[usize], bound: f64) -> Option<Candidate> {
        match self.known.borrow().get(&part.key()) {
            Some(Ok(found)) => {
                let found = (found.seconds < bound).then(|| found.clone());
                return found.map(|found| found.leading_to(order));
            }
            Some(Err(least)) if *least >= bound => return None,
            _ => {}
        }
        let found = self.planner.fastest(part, bound).0;
        let known = found.clone().ok_or(bound);
        self.known.borrow_mut().insert(part.key(), known);
        found
    }

    /// From the source's order to the result's, in as few pieces as can be held.
    fn pieces(&self) -> Vec<[Vec<usize>; 2]> {
        let mut from: Vec<usize> = (0..self.fused.order().len()).collect();
        let step = |to: Vec<usize>| [std::mem::replace(&mut from, to.clone()), to];
        self.fused.waypoints().into_iter().map(step).collect()
    }

    /// What is to be done between two orders; none where nothing is.
    fn part(&self, from: &[usize], to: &[usize]) -> Result<Option<Part>, AxesError> {
        Ok(Part::of(self.problem, &self.fused.between(from, to)?, to))
    }

    /// The fastest way in at most `legs` legs that takes less than `bound` seconds.
    fn between(
        &self,
        from: &[usize],
        to: &[usize],
        bound: f64,
        legs: usize,
    ) -> (Option<Candidate>, Vec<Declined>) {
        let part = match self.part(from, to) {
            Ok(Some(part)) => part,
            Ok(None) => return (Some(Candidate::default()), Vec::new()),
            Err(_) => return (None, Vec::new()),
        };
        let (mut best, declined) = self.planner.fastest(&part, bound);
        if legs > 1 && !part.is_matrices() {
            let pass = self.planner.device.least_seconds(self.problem.bytes());
            // Within a leg only orders in which one side moves runs: each such leg puts an axis in its place.
            let few = legs == MOST_LEGS && from.len() <= FEW_AXES;
            for (passes, via) in self.vias(from, to, few) {
                let bound = best.as_ref().map_or(bound, |plan| plan.seconds);
                if passes as f64 * pass >= bound {
                    break;
                }
                best = self.through(from, &via, to, bound, legs).or(best);
            }
        }
        (best, declined)
    }

    /// The orders between two others, with the passes that it takes through each at least: few first.
    fn vias(&self, from: &[usize], to: &[usize], every: bool) -> Vec<(usize, Vec<usize>)> {
        let passes = |from: &[usize], to: &[usize]| {
            let part = self.part(from, to).ok()?;
            Some(part.map_or(0, |part| part.least_passes(&*self.planner.device)))
        };
        let all = vias(from, to, every).into_iter();
        let mut all: Vec<_> =
            all.filter_map(|via| Some((passes(from, &via)? + passes(&via, to)?, via))).collect();
        all.sort_by_key(|&(passes, _)| passes);
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
        let is_simple = |simple: fn(&Part) -> bool| sides.iter().position(simple);
        let simple = is_simple(Part::is_runs).or(is_simple(Part::is_matrices)).unwrap_or(0);
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
    use crate::testing::Toy;
    use crate::{Planner, Route, TileRule};
    use std::sync::Arc;

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
        let one =
            search.planner.fastest(&part, f64::INFINITY).0.map_or(f64::INFINITY, |one| one.seconds);
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
                if Part::whole(&problem).unwrap().unwrap().is_matrices() {
                    continue;
                }
                let legs = LegPlanner {
                    device: Arc::new(Toy { held: 4096, ..Toy::default() }),
                    more: &[],
                    rule: TileRule::CostModel,
                    route: None,
                    mirrored: None,
                };
                let search = Search::new(&legs, &problem);
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
        assert!(plan.legs.iter().any(|leg| leg.route == Route::ALIGNED_SLOTS), "{plan:#}");
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

    #[test]
    fn as_many_axes_as_there_can_be() {
        let order: Vec<usize> = (0..20).rev().collect();
        let problem = Problem::permuted(&[2; 20], &order, 1).unwrap();
        let plan = Planner::new(Toy::default()).plan(&problem).unwrap();
        assert!((0..1 << 20).step_by(97).all(|k| plan.dest(k) == problem.dest(k)), "{plan:#}");
    }
}
