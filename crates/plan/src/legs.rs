//! Single legs of a plan: which routes bring axes into another order, and the fastest of them.

use std::sync::Arc;

use turntile_perm::{AxisPermutation, PermutationError};

use crate::device::{Device, StageRequest};
use crate::implementation::{Implementation, Stage};
use crate::infeasible::{Infeasible, least_short};
use crate::phase_problem::PhaseProblem;
use crate::plan::{Phase, PhaseRecipe, RejectedRoute};
use crate::problem::Problem;
use crate::routes::{ROUTES, Route, RouteSpec, StageSpec, TileSize};

/// Legs, one after the other, and what they take.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    pub legs: Vec<Phase>,
    pub seconds: f64,
}

impl Candidate {
    /// These legs and then others.
    pub fn then(mut self, next: Candidate) -> Self {
        self.legs.extend(next.legs);
        Candidate { seconds: self.seconds + next.seconds, ..self }
    }

    /// The same single leg, after which the axes lie in this order.
    pub fn leading_to(mut self, order: &[usize]) -> Self {
        self.legs.iter_mut().for_each(|leg| leg.order = order.to_vec());
        self
    }
}

/// How many tiles, and ways of a single stage, are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TileRule {
    /// Those that could be best by estimate, which then ranks them.
    #[default]
    CostModel,
    /// Every feasible one, for a tuner to measure; slots of a power of two of elements.
    Exhaustive,
}

/// Makes plans for a device.
#[derive(Clone, Debug)]
#[must_use]
pub struct Planner {
    pub(crate) device: Arc<dyn Device>,
    /// Routes besides those of the table.
    pub(crate) more: &'static [RouteSpec],
    pub(crate) rule: TileRule,
    /// The only route that is asked for.
    pub(crate) route: Option<Route>,
    /// Whether only mirrored routes are, or only those that are not.
    pub(crate) mirrored: Option<bool>,
}

/// Of single legs.
impl Planner {
    /// The whole problem as one leg; none when nothing moves.
    ///
    /// # Errors
    /// [`PermutationError::TooMany`]: more axes move apart than one leg can permute.
    pub(crate) fn whole(
        &self,
        problem: &Problem,
    ) -> Result<Option<PhaseProblem<'_>>, PermutationError> {
        let axes = problem.axes()?;
        Ok(self.part(problem, &axes, &axes.order().collect::<Vec<_>>()))
    }

    /// A part of `problem`, after which its fused axes lie in `order`; none when nothing moves.
    pub(crate) fn part(
        &self,
        problem: &Problem,
        axes: &AxisPermutation,
        order: &[usize],
    ) -> Option<PhaseProblem<'_>> {
        PhaseProblem::new(problem, axes, order, &*self.device, self.rule == TileRule::Exhaustive)
    }

    /// The fastest route of a leg that takes less than `bound` seconds, if there is one; and those that are not feasible.
    pub(crate) fn fastest_leg(
        &self,
        part: &PhaseProblem,
        bound: f64,
    ) -> (Option<Candidate>, Vec<RejectedRoute>) {
        let (mut best, mut declined): (Option<Candidate>, _) = (None, Vec::new());
        for row in self.rows(part) {
            let bound = best.as_ref().map_or(bound, |plan| plan.seconds);
            if row.min_passes as f64 * part.min_pass_seconds() >= bound {
                continue;
            }
            match self.on_route(row, part, bound) {
                // With every tile asked for there are plans beyond the bound too.
                Ok(plans) => best = plans.into_iter().find(|plan| plan.seconds < bound).or(best),
                Err(why) => declined.push(RejectedRoute { route: row.route, reason: why }),
            }
        }
        (best, declined)
    }

    /// Every route's answer to a leg.
    pub(crate) fn all_legs(&self, part: &PhaseProblem) -> (Vec<Candidate>, Vec<RejectedRoute>) {
        let (mut found, mut declined) = (Vec::new(), Vec::new());
        for row in self.rows(part) {
            match self.on_route(row, part, f64::INFINITY) {
                Ok(plans) => found.extend(plans),
                Err(why) => declined.push(RejectedRoute { route: row.route, reason: why }),
            }
        }
        (found, declined)
    }

    /// The table of routes, then those that it was given besides.
    pub(crate) fn table(&self) -> impl Iterator<Item = &'static RouteSpec> + use<> {
        ROUTES.iter().chain(self.more)
    }

    /// The rows of the table that are considered.
    fn rows(&self, part: &PhaseProblem) -> impl Iterator<Item = &'static RouteSpec> {
        let (out_of_place, matrices) = (part.request.out_of_place, part.is_matrices());
        let asked = self.route;
        self.table().filter(move |row| {
            let fits = (row.route == Route::OUT_OF_PLACE) == out_of_place;
            // One that is asked for says why it cannot.
            fits && asked.map_or(matrices || row.any_axes, |only| only == row.route)
        })
    }

    /// The leg that a recipe makes.
    pub(crate) fn remake_leg(
        &self,
        part: &PhaseProblem,
        recipe: &PhaseRecipe,
    ) -> Result<Option<Candidate>, Infeasible> {
        let Some(row) = self.table().find(|row| row.route.name() == recipe.route) else {
            return Ok(None);
        };
        if !row.any_axes && !part.is_matrices() {
            return Ok(None);
        }
        let mut part = part.oriented(recipe.mirrored);
        part.exhaustive = true;
        if !(row.tiles)(&part)?.contains(&recipe.tile) {
            return Ok(None);
        }
        let steps = row.stages_that_move(&part, recipe.tile);
        if steps.len() != recipe.variants.len() {
            return Ok(None);
        }
        let mut offers = Vec::new();
        for (step, way) in steps.iter().zip(&recipe.variants) {
            let all = self.device.implementations(&step.map, &request(&part, step))?;
            let Some(offer) = all.into_iter().find(|offer| offer.name() == *way) else {
                return Ok(None);
            };
            offers.push(offer);
        }
        Ok(Some(leg(&part, row.route, recipe.tile, &steps, offers)))
    }

    /// The plans of a route that take less than `bound` seconds, fastest first: the best one mirrored and the best one
    /// not, or under [`TileRule::Exhaustive`] all. None of them, without an error, when the route is feasible but not
    /// within the bound.
    fn on_route(
        &self,
        row: &RouteSpec,
        part: &PhaseProblem,
        bound: f64,
    ) -> Result<Vec<Candidate>, Infeasible> {
        if !row.any_axes && !part.is_matrices() {
            return Err(Infeasible::MatricesOnly);
        }
        let ways = (row.orientations)(part);
        let (mut plans, mut reason, mut feasible) = (Vec::<Candidate>::new(), None, false);
        for mirrored in [false, true].into_iter().filter(|&way| ways[usize::from(way)]) {
            if self.mirrored.is_some_and(|only| only != mirrored) {
                continue;
            }
            let found = plans.first().filter(|_| bound.is_finite()).map(|plan| plan.seconds);
            match self.one_way(row, &part.oriented(mirrored), found.unwrap_or(bound)) {
                Ok(found) => {
                    feasible = true;
                    plans.extend(found);
                }
                Err(why) => reason = Some(least_short(reason, why)),
            }
        }
        if !feasible {
            // Without a reason only the other way round was asked for.
            let shape = || format!("{} that way round", row.route);
            return Err(reason.unwrap_or_else(|| Infeasible::NoWay { shape: shape() }));
        }
        plans.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Ok(plans)
    }

    /// The same for a part as it is seen, mirrored or not.
    fn one_way(
        &self,
        row: &RouteSpec,
        part: &PhaseProblem,
        mut bound: f64,
    ) -> Result<Vec<Candidate>, Infeasible> {
        let (mut plans, mut reason, mut feasible) = (Vec::new(), None, false);
        for tile in (row.tiles)(part)? {
            let found = match part.exhaustive {
                true => self.every_way(row, part, tile),
                false => self.within(row, part, tile, bound).map(Vec::from_iter),
            };
            match found {
                Ok(found) => {
                    feasible = true;
                    if let (false, Some(plan)) = (part.exhaustive, found.first()) {
                        bound = plan.seconds;
                        plans.clear();
                    }
                    plans.extend(found);
                }
                Err(why) => reason = Some(least_short(reason, why)),
            }
        }
        match reason {
            Some(why) if !feasible => Err(why),
            _ => Ok(plans),
        }
    }

    /// The plan with `tile`, or nothing as soon as it is sure to take `bound` seconds or more.
    fn within(
        &self,
        row: &RouteSpec,
        part: &PhaseProblem,
        tile: TileSize,
        bound: f64,
    ) -> Result<Option<Candidate>, Infeasible> {
        let steps = row.stages_that_move(part, tile);
        let least =
            |step: &StageSpec| self.device.least_seconds(step.map.len() * part.elem_bytes());
        // What steps take, and at least take while they are not looked at. Super-elements that are too short take
        // longest, and are looked at first.
        let (mut seconds, mut left) = (0.0, steps.iter().map(least).sum::<f64>());
        if left >= bound {
            return Ok(None);
        }
        let mut offers = vec![None; steps.len()];
        let runs = |(_, step): &(usize, &StageSpec)| step.map.unit() > 1;
        let first = steps.iter().enumerate().filter(runs);
        let then = steps.iter().enumerate().filter(|step| !runs(step));
        for (k, step) in first.chain(then) {
            left -= least(step);
            let offer = self.device.best(&step.map, &request(part, step))?;
            seconds += offer.seconds;
            if seconds + left >= bound {
                return Ok(None);
            }
            offers[k] = Some(offer);
        }
        Ok(Some(leg(part, row.route, tile, &steps, offers.into_iter().flatten())))
    }

    /// The plans with `tile`: where it has one stage, one by each way of moving it.
    fn every_way(
        &self,
        row: &RouteSpec,
        part: &PhaseProblem,
        tile: TileSize,
    ) -> Result<Vec<Candidate>, Infeasible> {
        if let [step] = row.stages_that_move(part, tile)[..] {
            let offers = self.device.implementations(&step.map, &request(part, &step))?;
            let plan = |offer| leg(part, row.route, tile, &[step], [offer]);
            return Ok(offers.into_iter().map(plan).collect());
        }
        Ok(Vec::from_iter(self.within(row, part, tile, f64::INFINITY)?))
    }
}

/// What a device is asked for a step.
fn request(part: &PhaseProblem, step: &StageSpec) -> StageRequest {
    StageRequest { methods: step.methods, ..part.request }
}

/// The leg of these steps, each by its offer.
fn leg(
    part: &PhaseProblem,
    route: Route,
    tile: TileSize,
    steps: &[StageSpec],
    offers: impl IntoIterator<Item = Implementation>,
) -> Candidate {
    let stage = |(step, offer): (&StageSpec, _)| Stage {
        map: step.map,
        elems_per_unit: part.elems_per_unit,
        implementation: offer,
    };
    let stages: Vec<Stage> = steps.iter().zip(offers).map(stage).collect();
    let seconds = stages.iter().map(|stage| stage.implementation.seconds).sum();
    let (order, mirrored) = (part.order.clone(), part.mirrored);
    Candidate { legs: vec![Phase { order, route, mirrored, tile, stages }], seconds }
}
