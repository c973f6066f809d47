//! Plans for permutations that reverse axes.
//!
//! A reversed axis is reversed digit by digit: if the axis is split into parts, each part can be
//! reversed in another stage. So the planner takes the plans without reversed axes and fuses each
//! part into a stage that moves runs along that part. What is left takes one pass, before or after.

use turntile_perm::{AxisPermutation, FlippedAxes, PermutationError};

use crate::device::{MethodFilter, StageRequest};
use crate::implementation::{Method, Stage};
use crate::phase_problem::RUN_BYTES;
use crate::plan::{Phase, RejectedRoute};
use crate::planner::{Candidate, Planner};
use crate::problem::Problem;
use crate::routes::{Route, TileSize};
use crate::stage_map::StageMap;

/// Part of an axis: its extent, and `true` if it is reversed.
type Digit = (usize, bool);

/// Planner for one problem with reversed axes.
pub(crate) struct FlipPlanner<'a> {
    planner: &'a Planner,
    problem: &'a Problem,
    axes: FlippedAxes,
}

impl<'a> FlipPlanner<'a> {
    /// Creates the planner.
    ///
    /// # Errors
    /// The problem has more axes after fusion than a stage can permute.
    pub(crate) fn new(planner: &'a Planner, problem: &'a Problem) -> Result<Self, RejectedRoute> {
        let too_many = |why: PermutationError| rejected(planner, why.into());
        let axes = problem.flipped_axes().map_err(too_many)?;
        Ok(FlipPlanner { planner, problem, axes })
    }

    /// Returns the candidate with the least estimated time.
    pub(crate) fn fastest(&self) -> Result<Candidate, RejectedRoute> {
        let (found, declined) = self.all()?;
        let best = found.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let none = crate::Infeasible::NoImplementation { shape: self.axes.to_string() };
        best.ok_or_else(|| declined.into_iter().next().unwrap_or(rejected(self.planner, none)))
    }

    /// Returns all candidates, unsorted, and the routes that are infeasible without reversed axes.
    pub(crate) fn all(&self) -> Result<(Vec<Candidate>, Vec<RejectedRoute>), RejectedRoute> {
        let (plain, declined) = self.planner.all(self.problem)?;
        let mut found = Vec::from_iter(self.one_stage());
        if !self.axes.is_flip() {
            for candidate in &plain {
                found.extend(self.fused(candidate.clone()));
                found.extend(
                    self.flip(&self.digits(), false).map(|flip| candidate.clone().then(flip)),
                );
            }
        }
        Ok((found, declined))
    }

    /// Returns the plan of one stage that permutes and reverses, if the planner may choose a route.
    fn one_stage(&self) -> Option<Candidate> {
        let is_free = self.planner.route.is_none() && self.planner.mirrored.is_none();
        if self.axes.is_flip() || is_free { self.stage(self.axes, true) } else { None }
    }

    /// Returns the phase of one stage that performs `axes`. If `last`, it leaves the fused axes of
    /// the problem in their final order, else in the source's.
    fn stage(&self, axes: FlippedAxes, last: bool) -> Option<Candidate> {
        let fused = self.problem.fused();
        let order = if last { fused.order().to_vec() } else { (0..fused.order().len()).collect() };
        if axes.is_empty() {
            return Some(Candidate::default());
        }
        // A flip moves runs of any length, other stages move short ones as elements.
        let is_short = axes.unit() * self.problem.itemsize() < RUN_BYTES && !axes.is_flip();
        let (elems_per_unit, axes) =
            if is_short { (axes.unit(), axes.without_unit()) } else { (1, axes) };
        let map = StageMap::Flipped(axes);
        let implementation =
            self.planner.device().best(&map, &self.request(elems_per_unit)).ok()?;
        let route = match (axes.is_flip(), implementation.method) {
            (true, _) => Route::FLIP,
            (false, Method::TileSwap) => Route::SQUARE,
            (false, _) => Route::ONE_STAGE,
        };
        let seconds = implementation.seconds;
        let tile = TileSize { m: 1, n: map.unit() };
        let stages = vec![Stage { map, elems_per_unit, implementation }];
        Some(Candidate {
            legs: vec![Phase { order, route, mirrored: false, tile, stages }],
            seconds,
        })
    }

    /// Returns the phase that reverses `digits` and permutes nothing. If `first`, it is the first
    /// phase of a plan, else the last.
    fn flip(&self, digits: &[Digit], first: bool) -> Option<Candidate> {
        let extents: Vec<usize> = digits.iter().map(|digit| digit.0).collect();
        let order: Vec<usize> = (0..digits.len()).collect();
        let flipped: Vec<bool> = digits.iter().map(|digit| digit.1).collect();
        self.stage(FlippedAxes::new(&extents, &order, &flipped).ok()?, !first)
    }

    fn request(&self, elems_per_unit: usize) -> StageRequest {
        let request = StageRequest::new(self.problem, self.planner.device(), MethodFilter::Any);
        StageRequest { elem_bytes: request.elem_bytes * elems_per_unit, ..request }
    }

    /// Returns the axes of the result.
    fn digits(&self) -> Vec<Digit> {
        let (extents, order) = (self.problem.extents(), self.problem.order());
        order.zip(self.problem.flipped()).map(|(axis, flip)| (extents[axis], flip)).collect()
    }

    /// Fuses reversals into the stages of `candidate`, the last stage first. What is left is
    /// reversed by a first stage. Returns `None` if a stage is not an axis permutation or splits
    /// an axis at a boundary that does not divide a reversed part.
    fn fused(&self, mut candidate: Candidate) -> Option<Candidate> {
        let bytes = self.problem.bytes();
        let pass = self.planner.device().least_seconds(bytes);
        let mut digits = self.digits();
        for stage in candidate.legs.iter_mut().rev().flat_map(|phase| phase.stages.iter_mut().rev())
        {
            if digits.iter().all(|digit| !digit.1) {
                return Some(candidate);
            }
            let StageMap::Axes(axes) = stage.map else { return None };
            let parts = Parts::new(&digits, &axes, stage.elems_per_unit)?;
            let before = stage.implementation.seconds;
            let request = self.request(stage.elems_per_unit);
            let fused = parts.fused(&axes).and_then(|(map, left)| {
                let best = self.planner.device().best(&map, &request).ok()?;
                // A swap of tiles is found as a plan of one stage.
                let moves_runs = best.method != Method::TileSwap;
                (moves_runs && best.seconds < before + pass).then_some((map, best, left))
            });
            if let Some((map, best, left)) = fused {
                candidate.seconds += best.seconds - before;
                (stage.map, stage.implementation, digits) = (map, best, left);
            } else {
                digits = parts.source();
            }
        }
        if digits.iter().all(|digit| !digit.1) {
            return Some(candidate);
        }
        Some(self.flip(&digits, true)?.then(candidate))
    }
}

/// Reports a reason that concerns no single route.
fn rejected(planner: &Planner, reason: crate::Infeasible) -> RejectedRoute {
    RejectedRoute { route: planner.route.unwrap_or(Route::FLIP), reason }
}

/// Source axes of a stage, and its element as a last one, each cut into digits.
struct Parts(Vec<Vec<Digit>>);

impl Parts {
    /// Cuts the axes of a stage so that each is a list of the digits of its result. Returns `None`
    /// if an axis ends inside a digit that its extent does not divide.
    fn new(digits: &[Digit], axes: &AxisPermutation, elems: usize) -> Option<Self> {
        let rank = axes.extents().len();
        let mut parts = vec![Vec::new(); rank + 1];
        // Adjacent digits that are both reversed, or both not, can be cut anywhere.
        let mut rest: Vec<Digit> = Vec::new();
        for &(size, flip) in digits {
            match rest.last_mut() {
                Some(digit) if digit.1 == flip => digit.0 *= size,
                _ => rest.push((size, flip)),
            }
        }
        for axis in axes.order().chain([rank]).collect::<Vec<_>>().into_iter().rev() {
            let mut extent = if axis == rank { elems } else { axes.extents()[axis] };
            while extent > 1 {
                let (size, flip) = rest.pop()?;
                let part = if extent.is_multiple_of(size) { size } else { extent };
                if !size.is_multiple_of(part) {
                    return None;
                }
                rest.extend((part < size).then_some((size / part, flip)));
                parts[axis].insert(0, (part, flip));
                extent /= part;
            }
        }
        Some(Parts(parts))
    }

    /// Returns the axes of the source.
    fn source(&self) -> Vec<Digit> {
        self.0.concat()
    }

    /// Returns the stage that also reverses all digits except those of a last axis that stays last,
    /// which moves as runs, and the digits of the source that are left to reverse. Returns `None` if
    /// it would reverse none.
    fn fused(&self, axes: &AxisPermutation) -> Option<(StageMap, Vec<Digit>)> {
        let rank = axes.extents().len();
        let run = if axes.unit() > 1 { rank - 1 } else { rank };
        let starts: Vec<usize> = self
            .0
            .iter()
            .scan(0, |at, axis| {
                let start = *at;
                *at += axis.len();
                Some(start)
            })
            .collect();
        let extents: Vec<usize> = self.0[..rank].concat().iter().map(|digit| digit.0).collect();
        let numbers = |axis: usize| (0..self.0[axis].len()).map(move |k| (axis, k));
        let result: Vec<(usize, usize)> = axes.order().flat_map(numbers).collect();
        let order: Vec<usize> = result.iter().map(|&(axis, k)| starts[axis] + k).collect();
        let flipped: Vec<bool> =
            result.iter().map(|&(axis, k)| axis < run && self.0[axis][k].1).collect();
        if !flipped.contains(&true) {
            return None;
        }
        let map = FlippedAxes::new(&extents, &order, &flipped).ok()?.into();
        let left = |(axis, part): (usize, &Vec<Digit>)| {
            part.iter()
                .map(move |&(extent, flip)| (extent, flip && axis >= run))
                .collect::<Vec<_>>()
        };
        Some((map, self.0.iter().enumerate().flat_map(left).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Toy;

    /// Checks every candidate of drawn problems: its index maps, folded, are the problem's.
    #[test]
    fn candidates_reverse_the_axes_of_the_problem() {
        let (mut fused, mut extra, mut single) = (0, 0, 0);
        for (shape, orders) in [
            (&[24, 36][..], &[&[1, 0][..], &[0, 1]][..]),
            (&[13, 17], &[&[1, 0]]),
            (&[32, 32], &[&[1, 0]]),
            (&[3, 16, 24], &[&[0, 2, 1], &[2, 0, 1], &[2, 1, 0], &[1, 0, 2]]),
            (&[4, 6, 2, 10], &[&[3, 1, 0, 2], &[2, 3, 0, 1], &[0, 2, 1, 3]]),
        ] {
            for order in orders {
                for set in 1..1usize << shape.len() {
                    let axes: Vec<usize> = (0..shape.len()).filter(|k| set >> k & 1 == 1).collect();
                    let problem = Problem::permuted(shape, order, 4).unwrap();
                    let problem = problem.with_flip(&axes).unwrap();
                    let planner = Planner::new(Toy { held: 1 << 12, ..Toy::default() });
                    let best = planner.plan(&problem).unwrap();
                    let found = planner.candidates(&problem).candidates;
                    assert_eq!(found[0].seconds, best.seconds, "{best}");
                    for plan in &found {
                        assert_eq!(plan.check(), Ok(()), "{plan}");
                        let offsets = 0..problem.len();
                        assert!(offsets.clone().all(|k| plan.dest(k) == problem.dest(k)), "{plan}");
                        let of_flips = |stage: &&Stage| matches!(stage.map, StageMap::Flipped(axes) if axes.is_flip());
                        let flips = plan.stages().filter(of_flips).count();
                        let all =
                            plan.stages().filter(|stage| matches!(stage.map, StageMap::Flipped(_)));
                        assert!(flips <= 1 && all.clone().count() > 0, "{plan}");
                        match (flips, plan.passes()) {
                            (_, 1) => single += 1,
                            (0, _) => fused += 1,
                            _ => extra += 1,
                        }
                        let rebuilt = planner.rebuild(&problem, &plan.recipe());
                        assert_eq!(rebuilt.unwrap().map(|plan| plan.recipe()), Some(plan.recipe()));
                    }
                }
            }
        }
        assert!(fused > 40 && extra > 1000 && single > 100, "{fused} {extra} {single}");
    }
}
