//! Axes that are no matrices, brought into their order in several parts.
//!
//! Orders of the fused axes are places, what one route does between two of them is a leg; the fastest way from the
//! source's order to the result's is the plan. Two legs, of which the first, or the last, interchanges two neighbouring blocks
//! of axes: a transposition of matrices, or runs that move. Between them lies an order in which the result's last axis is
//! last already, or the source's still is, so that one of the two moves whole runs; with up to four axes all
//! others too. Where the second leg is neither it is looked for in the same way, so that every leg brings one axis
//! more to its place.

use turntile_perm::{AxesError, FusedAxes};

use crate::direct::{Candidate, Part};
use crate::plan::Declined;
use crate::planner::Planner;
use crate::problem::Problem;

/// Axes up to which all interchanges are looked at: twice ten.
const FEW_AXES: usize = 4;
/// What is left out when orders between are compared by their passes alone: passes that are faster than a device's
/// fastest by this factor slower.
const SLOWER: f64 = 1.25;
/// Legs that are looked for one within the other.
const MOST_LEGS: usize = 3;

/// The fastest plan, and the routes that could not do the whole.
pub fn fastest(planner: &Planner, problem: &Problem) -> (Option<Candidate>, Vec<Declined>) {
    let search = Search::new(planner, problem);
    let (mut all, mut declined) = (Candidate::default(), Vec::new());
    for [from, to] in search.pieces() {
        let (found, not) = search.between(&from, &to, f64::INFINITY, MOST_LEGS);
        declined.extend(not);
        let Some(found) = found else { return (None, declined) };
        all = all.then(found);
    }
    (Some(all), declined)
}

/// The fastest plan through each order between, besides those of one leg.
pub fn all(planner: &Planner, problem: &Problem) -> Vec<Candidate> {
    let search = Search::new(planner, problem);
    let pieces = search.pieces();
    let [[from, to]] = &pieces[..] else {
        return fastest(planner, problem).0.into_iter().collect();
    };
    let through = |via: Vec<usize>| search.through(from, &via, to, f64::INFINITY, MOST_LEGS);
    vias(from, to).into_iter().filter_map(through).collect()
}

struct Search<'a> {
    planner: &'a Planner,
    problem: &'a Problem,
    fused: FusedAxes,
}

impl<'a> Search<'a> {
    fn new(planner: &'a Planner, problem: &'a Problem) -> Self {
        Search { planner, problem, fused: problem.fused() }
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
            let pass = SLOWER * self.planner.device().least_seconds(self.problem.bytes());
            for (passes, via) in self.vias(from, to) {
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
    fn vias(&self, from: &[usize], to: &[usize]) -> Vec<(usize, Vec<usize>)> {
        let passes = |from: &[usize], to: &[usize]| {
            let part = self.part(from, to).ok()?;
            Some(part.map_or(0, |part| part.least_passes(self.planner.device())))
        };
        let all = vias(from, to).into_iter();
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
        let pass = self.planner.device().least_seconds(self.problem.bytes());
        let sides = [self.part(from, via).ok()??, self.part(via, to).ok()??];
        // The simple one first: it is soon known whether it is too slow.
        let simple = sides.iter().position(Part::is_matrices).unwrap_or(0);
        let one = self.planner.fastest(&sides[simple], bound - pass).0?;
        let [other_from, other_to] = if simple == 0 { [via, to] } else { [from, via] };
        let left = bound - one.seconds;
        let other = self.between(other_from, other_to, left, legs - 1).0?;
        if other.seconds >= left {
            return None;
        }
        Some(if simple == 0 { one.then(other) } else { other.then(one) })
    }
}

/// Orders between two others: `from` with neighbouring blocks interchanged, or from which `to` is an interchange
/// away.
fn vias(from: &[usize], to: &[usize]) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    for (order, other) in [(from, to), (to, from)] {
        let count = order.len();
        for i in 0..count {
            for j in i + 1..count {
                for k in j + 1..=count {
                    let mut via = order.to_vec();
                    via[i..k].rotate_left(j - i);
                    let runs = k == count && via.last() == other.last();
                    let useful = runs || count <= FEW_AXES;
                    if useful && via != from && via != to && !all.contains(&via) {
                        all.push(via);
                    }
                }
            }
        }
    }
    all
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
        (0..rank).fold(vec![vec![]], |all, axis| {
            let longer = |order: &Vec<usize>, at: usize| {
                let mut order = order.clone();
                order.insert(at, axis);
                order
            };
            all.iter()
                .flat_map(|order| (0..=order.len()).map(move |at| longer(order, at)))
                .collect()
        })
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
        assert_eq!(plan.route(), Route::Several, "{plan:#}");
        assert!(plan.legs.iter().any(|leg| leg.route == Route::AlignedSlots), "{plan:#}");
        assert!((0..10_000).all(|k| plan.dest(k * 31_013) == plan.problem.dest(k * 31_013)));
    }

    #[test]
    fn axes_with_a_common_tile_take_two_passes() {
        let problem = Problem::permuted(&[64, 48, 96], &[2, 1, 0], 4).unwrap();
        let planner = Planner::new(Toy { held: 4096, ..Toy::default() });
        let plan = planner.with_route(Route::SquareTile).plan(&problem).unwrap();
        assert_eq!(
            (plan.route(), plan.passes(), plan.tile().m),
            (Route::SquareTile, 2, 32),
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
