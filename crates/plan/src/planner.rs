//! Ranks the candidates and picks one.

use std::sync::Arc;

use turntile_perm::{AxisPermutation, LayoutChange, LeadingDims, PermutationError};

use crate::device::{Device, StageRequest};
use crate::implementation::{Implementation, Method, Stage};
use crate::infeasible::{Infeasible, least_short};
use crate::leading::LeadingPlanner;
use crate::phase_problem::PhaseProblem;
use crate::plan::{Phase, PhaseRecipe, Plan, Recipe, RejectedRoute};
use crate::problem::Problem;
use crate::records::RecordPlanner;
use crate::routes::{ROUTES, Route, RouteSpec, StageSpec, TileSize};
use crate::search;

/// Every route's answer to a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    /// The best plan of each feasible route, mirrored and not, or under [`TileRule::Exhaustive`] all of them,
    /// fastest first by estimate.
    pub candidates: Vec<Plan>,
    /// The routes that were not feasible, in the order of the table.
    pub declined: Vec<RejectedRoute>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The route that was asked for cannot be used for the problem, or none can.
    #[error("route {route} cannot be used for {problem} on {device}: {why}")]
    Infeasible {
        /// The route asked for.
        route: Route,
        /// The problem.
        problem: Box<Problem>,
        /// The device.
        device: String,
        /// What stands in the way.
        why: Infeasible,
    },
}

/// Legs, one after the other, and what they take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidate {
    pub(crate) legs: Vec<Phase>,
    pub(crate) seconds: f64,
}

impl Candidate {
    /// These legs and then others.
    pub(crate) fn then(mut self, next: Candidate) -> Self {
        self.legs.extend(next.legs);
        Candidate { seconds: self.seconds + next.seconds, ..self }
    }

    /// The same single leg, after which the axes lie in this order.
    pub(crate) fn leading_to(mut self, order: &[usize]) -> Self {
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

impl Planner {
    /// For a device, with tiles by the cost model, over all routes.
    pub fn new(device: impl Device + 'static) -> Self {
        Self::on(Arc::new(device))
    }

    /// The same for a device that others plan for too.
    pub fn on(device: Arc<dyn Device>) -> Self {
        let (rule, route, mirrored) = (TileRule::default(), None, None);
        Planner { device, more: &[], rule, route, mirrored }
    }

    /// With routes of one's own besides those of the table, which come first where estimates are equal.
    pub fn with_routes(self, more: &'static [RouteSpec]) -> Self {
        Planner { more, ..self }
    }

    /// With tiles chosen by another rule.
    pub fn with_tiles(self, rule: TileRule) -> Self {
        Planner { rule, ..self }
    }

    /// Over one route alone.
    pub fn with_route(self, route: Route) -> Self {
        Planner { route: Some(route), ..self }
    }

    /// Over mirrored routes alone, or those that are not.
    pub fn with_mirrored(self, mirrored: bool) -> Self {
        Planner { mirrored: Some(mirrored), ..self }
    }

    /// What the planner is restricted to, for a key of wisdom: nothing, or ` by ROUTE`, ` mirrored`.
    pub(crate) fn asked(&self) -> String {
        let route = self.route.map_or(String::new(), |route| format!(" by {route}"));
        match self.mirrored {
            Some(true) => route + " mirrored",
            Some(false) => route + " not mirrored",
            None => route,
        }
    }

    /// The device planned for.
    pub fn device(&self) -> &dyn Device {
        &*self.device
    }

    /// The plan of least estimated time; with leading dimensions the fastest of the first way that fits the cap: one stage,
    /// around the gaps, by exchanging rows.
    ///
    /// Of axes that are no matrices, it is looked for among ways to bring them into their order one after the other
    /// (`search.rs`); where a route was asked for, that route does the whole.
    ///
    /// # Errors
    /// [`PlanError::Infeasible`] when one route was asked for and cannot be used for the problem, its
    /// workspace cap included; with leading dimensions it is for the matrix without gaps. Without such a choice there is always a plan in place:
    /// cycles of single elements need no workspace. But with leading dimensions a device that exchanges no rows needs
    /// workspace for the gaps in their way, and the error says how much.
    pub fn plan(&self, problem: &Problem) -> Result<Plan, PlanError> {
        let alone = |found| (found, Vec::new());
        let found =
            self.known_route().and_then(|()| match (problem.leading(), problem.records()) {
                (Some(leading), _) => {
                    self.apart(problem, leading, &|apart| apart.first()).map(alone)
                }
                (None, Some(retile)) => {
                    self.records(problem, *retile, &|ways| ways.fastest()).map(alone)
                }
                (None, None) => self.fastest(problem),
            });
        match found {
            Ok((best, declined)) => Ok(Plan { rejected: declined, ..self.assemble(problem, best) }),
            Err(RejectedRoute { route, reason: why }) => {
                let device = self.device().name().to_owned();
                Err(PlanError::Infeasible { route, problem: Box::new(*problem), device, why })
            }
        }
    }

    /// Checks that the route asked for, if there is one, is of the table.
    fn known_route(&self) -> Result<(), RejectedRoute> {
        let unknown = |route: &Route| self.table().all(|row| row.route != *route);
        let why = Infeasible::UnknownRoute;
        self.route.filter(unknown).map_or(Ok(()), |route| Err(RejectedRoute { route, reason: why }))
    }

    /// The legs of least estimated time, and the routes further up the table that were not feasible.
    fn fastest(&self, problem: &Problem) -> Result<(Candidate, Vec<RejectedRoute>), RejectedRoute> {
        let (found, mut declined) = match self.legs_for(problem)? {
            (_, true) => search::fastest(self, problem),
            (Some(part), _) => self.fastest_leg(&part, f64::INFINITY),
            (None, _) => return Ok((Candidate::default(), Vec::new())),
        };
        let Some(best) = found else {
            let unestimated =
                RejectedRoute { route: Route::NOTHING, reason: Infeasible::Unestimated };
            return Err(declined.into_iter().next().unwrap_or(unestimated));
        };
        let rank = |route| self.table().position(|row| row.route == route);
        let chosen = best.legs.first().filter(|_| best.legs.len() == 1).map(|leg| leg.route);
        declined.retain(|other| chosen.is_none_or(|route| rank(other.route) < rank(route)));
        Ok((best, declined))
    }

    /// The problem as one leg, if something moves and one leg can, and whether several legs are looked for too.
    fn legs_for(
        &self,
        problem: &Problem,
    ) -> Result<(Option<PhaseProblem<'_>>, bool), RejectedRoute> {
        let (asked, out_of_place) = (self.route, problem.is_out_of_place());
        if let Some(route) = asked
            && (route == Route::OUT_OF_PLACE) != out_of_place
        {
            let why = Infeasible::Place { out_of_place: !out_of_place };
            return Err(RejectedRoute { route, reason: why });
        }
        // Out of place several legs would need a third place to lie in between.
        let several = asked.is_none() && !out_of_place;
        match self.whole(problem) {
            Ok(part) => {
                let several = several && part.as_ref().is_some_and(|part| !part.is_matrices());
                Ok((part, several))
            }
            Err(_) if several => Ok((None, true)),
            Err(why) => {
                let only = if out_of_place { Route::OUT_OF_PLACE } else { Route::ONE_STAGE };
                Err(RejectedRoute { route: asked.unwrap_or(only), reason: why.into() })
            }
        }
    }

    /// Asks for the ways of a matrix with leading dimensions.
    fn apart<T>(
        &self,
        problem: &Problem,
        leading: &LeadingDims,
        ask: &dyn Fn(&LeadingPlanner) -> T,
    ) -> T {
        let dense = |dense: &Problem| self.fastest(dense).map(|(found, _)| found);
        ask(&LeadingPlanner { planner: self, problem, leading, dense: &dense })
    }

    /// Asks for the ways from one layout of records to another.
    fn records<T>(
        &self,
        problem: &Problem,
        retile: LayoutChange,
        ask: &dyn Fn(&RecordPlanner) -> T,
    ) -> T {
        // As axes the records may go by any route; which, is asked of the whole.
        let any = Planner { route: None, mirrored: None, ..self.clone() };
        let dense = |axes: &Problem| any.fastest(axes).map(|(found, _)| found);
        ask(&RecordPlanner { planner: self, problem, retile, dense: &dense })
    }

    /// Every route's answer, feasible ones ranked; of axes that are no matrices also the best plan of each way to bring
    /// them into their order in several parts.
    pub fn survey(&self, problem: &Problem) -> Candidates {
        let ways = self.known_route().and_then(|()| match (problem.leading(), problem.records()) {
            (Some(leading), _) => Ok(self.apart(problem, leading, &|apart| apart.all())),
            (None, Some(retile)) => Ok(self.records(problem, *retile, &|ways| ways.all())),
            (None, None) => self.all(problem),
        });
        let (mut found, declined) = ways.unwrap_or_else(|why| (Vec::new(), vec![why]));
        found.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let candidates = found.into_iter().map(|one| self.assemble(problem, one)).collect();
        Candidates { candidates, declined }
    }

    fn all(
        &self,
        problem: &Problem,
    ) -> Result<(Vec<Candidate>, Vec<RejectedRoute>), RejectedRoute> {
        let (mut found, mut declined) = (Vec::new(), Vec::new());
        match self.legs_for(problem)? {
            (None, false) => found.push(Candidate::default()),
            (part, several) => {
                if let Some(part) = part {
                    (found, declined) = self.all_legs(&part);
                }
                if several {
                    found.extend(search::all(self, problem));
                }
            }
        }
        Ok((found, declined))
    }

    /// The plan that a recipe makes, of tiles that its routes propose; nothing when the recipe is of another
    /// problem, route or device.
    ///
    /// # Errors
    /// Why its routes or its stages cannot be used.
    pub fn remake(&self, problem: &Problem, recipe: &Recipe) -> Result<Option<Plan>, Infeasible> {
        if problem.leading().is_some() {
            return Ok(None);
        }
        if problem.records().is_some() {
            let all = self.survey(problem).candidates;
            return Ok(all.into_iter().find(|plan| plan.recipe() == *recipe));
        }
        let fused = problem.fused();
        let mut at: Vec<usize> = (0..fused.order().len()).collect();
        let mut made = Candidate::default();
        for leg in &recipe.phases {
            let Ok(axes) = fused.between(&at, &leg.order) else { return Ok(None) };
            let Some(part) = self.part(problem, &axes, &leg.order) else { return Ok(None) };
            let Some(done) = self.remake_leg(&part, leg)? else { return Ok(None) };
            made = made.then(done);
            at.clone_from(&leg.order);
        }
        // No leg is a plan where nothing moves.
        let lacks_legs = made.legs.is_empty() && !matches!(self.whole(problem), Ok(None));
        if at != fused.order() || lacks_legs {
            return Ok(None);
        }
        Ok(Some(self.assemble(problem, made)))
    }

    fn assemble(&self, problem: &Problem, Candidate { legs, seconds }: Candidate) -> Plan {
        let device = self.device().name().to_owned();
        let mut plan = Plan {
            problem: *problem,
            device,
            phases: legs,
            workspace_bytes: 0,
            seconds,
            rejected: Vec::new(),
        };
        let own = plan.stages().filter(|stage| stage.implementation.method != Method::SaveGaps);
        let largest = own.map(|stage| stage.implementation.workspace_bytes).max().unwrap_or(0);
        plan.workspace_bytes = plan.saved_gap_bytes() + largest;
        plan
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Toy;

    /// Where every route takes as long, the first in the table that works is taken.
    #[test]
    fn ties_go_up_the_table() {
        let mut taken = Vec::new();
        for held in [1 << 10, 1 << 20] {
            let planner = Planner::new(Toy { held, speed: f64::INFINITY });
            for (rows, cols) in [(240, 240), (720, 180), (101, 205), (127, 4096), (127, 131)] {
                let problem = Problem::new(rows, cols, 4).unwrap();
                let works = |route| planner.clone().with_route(route).plan(&problem).is_ok();
                let first = ROUTES.iter().map(|row| row.route).find(|&route| works(route));
                let plan = planner.plan(&problem).unwrap();
                assert_eq!((Some(plan.route()), plan.seconds), (first, 0.0), "{plan}");
                taken.extend(first.filter(|route| !taken.contains(route)));
            }
        }
        assert!(taken.len() > 3, "{taken:?}");
    }
}
