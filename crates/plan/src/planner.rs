//! Planning: enumerates candidate plans, ranks them by estimated time and returns the fastest.

use std::sync::Arc;

use turntile_perm::{AxisPermutation, LayoutChange, LeadingDims, PermutationError};

use crate::device::{Device, StageRequest};
use crate::flips::FlipPlanner;
use crate::implementation::{Implementation, Method, Stage};
use crate::infeasible::{Infeasible, least_short};
use crate::leading::LeadingPlanner;
use crate::phase_problem::PhaseProblem;
use crate::plan::{Phase, PhaseRecipe, Plan, Recipe, RejectedRoute};
use crate::problem::Problem;
use crate::records::RecordPlanner;
use crate::routes::{ROUTES, Route, RouteSpec, StageSpec, TileSize};
use crate::search;

/// Candidate plans for a problem, and the infeasible routes.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    /// Candidate plans, sorted by estimated time, fastest first.
    ///
    /// Of plans with one phase, contains the best of each feasible route, once mirrored and once
    /// not. Under [`TileRule::Exhaustive`] it contains the best plan of each tile, and every
    /// implementation of routes with a single stage.
    pub candidates: Vec<Plan>,
    /// Infeasible routes, in the order in which they were tried.
    pub rejected: Vec<RejectedRoute>,
}

/// A sequence of phases and its estimated time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidate {
    /// The phases, in execution order.
    pub(crate) legs: Vec<Phase>,
    /// Estimated seconds of all phases.
    pub(crate) seconds: f64,
}

impl Candidate {
    /// Appends the phases of `next`.
    pub(crate) fn then(mut self, next: Candidate) -> Self {
        self.legs.extend(next.legs);
        Candidate { seconds: self.seconds + next.seconds, ..self }
    }

    /// Replaces the axis order that every phase records as its result.
    ///
    /// Meaningful for a single phase, or with the empty order of record conversions.
    pub(crate) fn with_result_order(mut self, order: &[usize]) -> Self {
        self.legs.iter_mut().for_each(|phase| phase.order = order.to_vec());
        self
    }
}

/// Reason why no plan exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The requested route is infeasible for the problem, or every route is.
    #[error("route {route} cannot be used for {problem} on {device}: {why}")]
    Infeasible {
        /// Route that `why` rejects. Without leading dimensions: the requested route, else
        /// `one-stage`, else the first that was rejected.
        route: Route,
        /// The problem.
        problem: Box<Problem>,
        /// Name of the device.
        device: String,
        /// Reason for the rejection.
        why: Infeasible,
    },
}

/// Search width: the number of tiles and of implementations of a single stage to consider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TileRule {
    /// Only tiles that could be the fastest by estimate. The cost model ranks them.
    #[default]
    CostModel,
    /// Every tile that a route proposes, for a tuner to measure. Slots have a power of
    /// two elements, or every number from 2 to the number of rows if that is at most 64.
    Exhaustive,
}

/// Planner for one device.
#[derive(Clone, Debug)]
#[must_use]
pub struct Planner {
    pub(crate) device: Arc<dyn Device>,
    /// Caller-supplied routes, considered in addition to the built-in table.
    extra_routes: &'static [RouteSpec],
    pub(crate) rule: TileRule,
    /// The only route to consider, if set.
    pub(crate) route: Option<Route>,
    /// If set: `true` considers only mirrored routes, `false` only routes that are not mirrored.
    pub(crate) mirrored: Option<bool>,
}

impl Planner {
    /// Creates a planner that considers all routes, with tiles chosen by the cost model.
    pub fn new(device: impl Device + 'static) -> Self {
        Self::on(Arc::new(device))
    }

    /// Creates a planner like [`new`](Self::new), for a device that is shared with other planners.
    pub fn on(device: Arc<dyn Device>) -> Self {
        let (rule, route, mirrored) = (TileRule::default(), None, None);
        Planner { device, extra_routes: &[], rule, route, mirrored }
    }

    /// Adds caller-supplied routes to the built-in table.
    ///
    /// If estimates are equal, the built-in route is chosen.
    #[doc(hidden)]
    pub fn with_routes(self, more: &'static [RouteSpec]) -> Self {
        Planner { extra_routes: more, ..self }
    }

    /// Sets the search width.
    pub fn with_tiles(self, rule: TileRule) -> Self {
        Planner { rule, ..self }
    }

    /// Restricts planning to one route.
    pub fn with_route(self, route: Route) -> Self {
        Planner { route: Some(route), ..self }
    }

    /// Restricts planning to mirrored routes if `mirrored`, else to routes that are not mirrored.
    #[doc(hidden)]
    pub fn with_mirrored(self, mirrored: bool) -> Self {
        Planner { mirrored: Some(mirrored), ..self }
    }

    /// Returns the suffix of a wisdom key that names the planner's restrictions.
    ///
    /// Consists of ` by ROUTE`, then ` mirrored` or ` not mirrored`, each only if restricted.
    pub(crate) fn restrictions(&self) -> String {
        let route = self.route.map_or(String::new(), |route| format!(" by {route}"));
        match self.mirrored {
            Some(true) => route + " mirrored",
            Some(false) => route + " not mirrored",
            None => route,
        }
    }

    /// Returns the device.
    pub fn device(&self) -> &dyn Device {
        &*self.device
    }

    /// Returns the plan with the least estimated time.
    ///
    /// For a matrix with leading dimensions, tries three strategies and takes the first that fits
    /// the workspace cap: one stage, stages around the gaps, and swaps of rows with gaps. Returns
    /// the fastest plan of that strategy.
    ///
    /// For axes that are not a transposition of matrices, also searches sequences of several phases.
    /// If a route was requested, that route permutes all axes in one phase.
    ///
    /// # Errors
    /// [`PlanError::Infeasible`]: the requested route is infeasible for the problem or its
    /// workspace cap. With leading dimensions the route applies to the matrix without gaps.
    ///
    /// Without a requested route or orientation, in-place planning always succeeds: following
    /// cycles of single elements needs no workspace. The exception is a matrix with leading
    /// dimensions on a device that cannot swap rows with gaps. It needs workspace for the
    /// overwritten gaps, and the error reports the bytes.
    pub fn plan(&self, problem: &Problem) -> Result<Plan, PlanError> {
        let without_rejections = |found| (found, Vec::new());
        let found =
            self.known_route().and_then(|()| match (problem.leading(), problem.records()) {
                (Some(leading), _) => self
                    .with_leading_planner(problem, leading, &|leading| leading.first())
                    .map(without_rejections),
                (None, Some(change)) => self
                    .with_record_planner(problem, change, &|records| records.fastest())
                    .map(without_rejections),
                _ if problem.is_flipped() => {
                    FlipPlanner::new(self, problem)?.fastest().map(without_rejections)
                }
                (None, None) => self.fastest(problem),
            });
        match found {
            Ok((best, rejected)) => Ok(Plan { rejected, ..self.assemble(problem, best) }),
            Err(RejectedRoute { route, reason: why }) => {
                let device = self.device().name().to_owned();
                Err(PlanError::Infeasible {
                    route,
                    problem: Box::new(problem.clone()),
                    device,
                    why,
                })
            }
        }
    }

    /// Checks that the requested route, if any, is in the route table.
    fn known_route(&self) -> Result<(), RejectedRoute> {
        let unknown = |route: &Route| self.table().all(|spec| spec.route != *route);
        let reason = Infeasible::UnknownRoute;
        self.route.filter(unknown).map_or(Ok(()), |route| Err(RejectedRoute { route, reason }))
    }

    /// Returns the fastest candidate, and the infeasible routes that precede its route in the
    /// table, or all if it has several phases.
    fn fastest(&self, problem: &Problem) -> Result<(Candidate, Vec<RejectedRoute>), RejectedRoute> {
        let (found, mut rejected) = match self.search_scope(problem)? {
            (_, true) => search::fastest(self, problem),
            (Some(phase), _) => self.fastest_phase(&phase, f64::INFINITY),
            (None, _) => return Ok((Candidate::default(), Vec::new())),
        };
        let Some(best) = found else {
            // Report the reason of route `one-stage`, if there is one: the route supports any
            // permutation, so the reason is a limit of the device.
            let one_stage = rejected.iter().position(|one| one.route == Route::ONE_STAGE);
            let unestimated =
                RejectedRoute { route: Route::NOTHING, reason: Infeasible::Unestimated };
            return Err(rejected.into_iter().nth(one_stage.unwrap_or(0)).unwrap_or(unestimated));
        };
        let rank = |route| self.table().position(|spec| spec.route == route);
        let chosen = best.legs.first().filter(|_| best.legs.len() == 1).map(|phase| phase.route);
        rejected.retain(|other| chosen.is_none_or(|route| rank(other.route) < rank(route)));
        Ok((best, rejected))
    }

    /// Returns the problem as a single phase, and `true` if sequences of phases are searched too.
    ///
    /// The phase is `None` if nothing moves, or if a single phase cannot permute all axes.
    fn search_scope(
        &self,
        problem: &Problem,
    ) -> Result<(Option<PhaseProblem<'_>>, bool), RejectedRoute> {
        let (requested, out_of_place) = (self.route, problem.is_out_of_place());
        if let Some(route) = requested
            && (route == Route::OUT_OF_PLACE) != out_of_place
        {
            let reason = Infeasible::WrongDestination { out_of_place: !out_of_place };
            return Err(RejectedRoute { route, reason });
        }
        // Out of place, several phases would need a third buffer for the intermediate result.
        let several = requested.is_none() && !out_of_place;
        match self.as_single_phase(problem) {
            Ok(phase) => {
                let several = several && phase.as_ref().is_some_and(|phase| !phase.is_matrices());
                Ok((phase, several))
            }
            Err(_) if several => Ok((None, true)),
            Err(error) => {
                let only = if out_of_place { Route::OUT_OF_PLACE } else { Route::ONE_STAGE };
                Err(RejectedRoute { route: requested.unwrap_or(only), reason: error.into() })
            }
        }
    }

    /// Calls `query` with the planner for a matrix with leading dimensions.
    fn with_leading_planner<T>(
        &self,
        problem: &Problem,
        leading: &LeadingDims,
        query: &dyn Fn(&LeadingPlanner) -> T,
    ) -> T {
        let dense = |dense: &Problem| self.fastest(dense).map(|(found, _)| found);
        query(&LeadingPlanner { planner: self, problem, leading, dense: &dense })
    }

    /// Calls `query` with the planner for a change of record layout.
    fn with_record_planner<T>(
        &self,
        problem: &Problem,
        retile: &LayoutChange,
        query: &dyn Fn(&RecordPlanner) -> T,
    ) -> T {
        // Records planned as axes may use any route: the record planner filters the whole plan.
        let unrestricted = Planner { route: None, mirrored: None, ..self.clone() };
        let dense = |axes: &Problem| unrestricted.fastest(axes).map(|(found, _)| found);
        query(&RecordPlanner { planner: self, problem, retile, dense: &dense })
    }

    /// Returns the candidates of all routes, ranked by estimate, and the rejected routes.
    ///
    /// For axes that are not a transposition of matrices, the candidates include the best plan
    /// through each intermediate axis order of the search.
    pub fn candidates(&self, problem: &Problem) -> Candidates {
        let found =
            self.known_route().and_then(|()| match (problem.leading(), problem.records()) {
                (Some(leading), _) => {
                    Ok(self.with_leading_planner(problem, leading, &|leading| leading.all()))
                }
                (None, Some(change)) => {
                    Ok(self.with_record_planner(problem, change, &|records| records.all()))
                }
                _ if problem.is_flipped() => FlipPlanner::new(self, problem)?.all(),
                (None, None) => self.all(problem),
            });
        let (mut found, declined) = found.unwrap_or_else(|rejected| (Vec::new(), vec![rejected]));
        found.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let candidates = found.into_iter().map(|one| self.assemble(problem, one)).collect();
        Candidates { candidates, rejected: declined }
    }

    /// Returns all candidates for a problem with neither leading dimensions nor records, unsorted,
    /// and the rejected routes.
    pub(crate) fn all(
        &self,
        problem: &Problem,
    ) -> Result<(Vec<Candidate>, Vec<RejectedRoute>), RejectedRoute> {
        let (mut found, mut rejected) = (Vec::new(), Vec::new());
        match self.search_scope(problem)? {
            (None, false) => found.push(Candidate::default()),
            (phase, several) => {
                if let Some(phase) = phase {
                    (found, rejected) = self.single_phases(&phase);
                }
                if several {
                    found.extend(search::all(self, problem));
                }
            }
        }
        Ok((found, rejected))
    }

    /// Rebuilds the plan that `recipe` describes.
    ///
    /// Only tiles that the routes propose are accepted. Returns `None` if the recipe does not
    /// belong to this problem and device, or names a route that the planner does not have.
    /// Always returns `None` for problems with leading dimensions.
    ///
    /// # Errors
    /// The reason why a route or a stage of the recipe is infeasible.
    #[doc(hidden)]
    pub fn rebuild(&self, problem: &Problem, recipe: &Recipe) -> Result<Option<Plan>, Infeasible> {
        if problem.leading().is_some() {
            return Ok(None);
        }
        if problem.records().is_some() || problem.is_flipped() {
            let all = self.candidates(problem).candidates;
            return Ok(all.into_iter().find(|plan| plan.recipe() == *recipe));
        }
        let fused = problem.fused();
        let mut order: Vec<usize> = (0..fused.order().len()).collect();
        let mut rebuilt = Candidate::default();
        for choice in &recipe.phases {
            let Ok(axes) = fused.between(&order, &choice.order) else { return Ok(None) };
            let Some(phase) = self.phase_problem(problem, &axes, &choice.order) else {
                return Ok(None);
            };
            let Some(next) = self.rebuild_phase(&phase, choice)? else { return Ok(None) };
            rebuilt = rebuilt.then(next);
            order.clone_from(&choice.order);
        }
        // A recipe without phases is valid only if nothing moves.
        let lacks_phases =
            rebuilt.legs.is_empty() && !matches!(self.as_single_phase(problem), Ok(None));
        if order != fused.order() || lacks_phases {
            return Ok(None);
        }
        Ok(Some(self.assemble(problem, rebuilt)))
    }

    /// Builds a plan from a candidate: adds the problem, the device name and the workspace size.
    fn assemble(&self, problem: &Problem, Candidate { legs, seconds }: Candidate) -> Plan {
        let device = self.device().name().to_owned();
        let mut plan = Plan {
            problem: problem.clone(),
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

    /// Returns the whole problem as one phase, or `None` if nothing moves.
    ///
    /// # Errors
    /// [`PermutationError::TooMany`]: the fused rank exceeds what one phase can permute.
    pub(crate) fn as_single_phase(
        &self,
        problem: &Problem,
    ) -> Result<Option<PhaseProblem<'_>>, PermutationError> {
        let axes = problem.axes()?;
        Ok(self.phase_problem(problem, &axes, &axes.order().collect::<Vec<_>>()))
    }

    /// Returns the phase that permutes `axes` and leaves the problem's fused axes in `order`.
    ///
    /// Returns `None` if nothing moves.
    pub(crate) fn phase_problem(
        &self,
        problem: &Problem,
        axes: &AxisPermutation,
        order: &[usize],
    ) -> Option<PhaseProblem<'_>> {
        PhaseProblem::new(problem, axes, order, &*self.device, self.rule == TileRule::Exhaustive)
    }

    /// Returns the fastest single phase that takes less than `bound` seconds, and the routes found
    /// infeasible.
    pub(crate) fn fastest_phase(
        &self,
        phase: &PhaseProblem,
        bound: f64,
    ) -> (Option<Candidate>, Vec<RejectedRoute>) {
        let (mut best, mut rejected): (Option<Candidate>, _) = (None, Vec::new());
        for spec in self.applicable(phase) {
            let bound = best.as_ref().map_or(bound, |plan| plan.seconds);
            if spec.min_passes as f64 * phase.min_pass_seconds() >= bound {
                continue;
            }
            match self.on_route(spec, phase, bound) {
                // An exhaustive search also returns plans at or above the bound.
                Ok(plans) => best = plans.into_iter().find(|plan| plan.seconds < bound).or(best),
                Err(reason) => rejected.push(RejectedRoute { route: spec.route, reason }),
            }
        }
        (best, rejected)
    }

    /// Returns the single-phase candidates of all routes, and the infeasible routes.
    fn single_phases(&self, phase: &PhaseProblem) -> (Vec<Candidate>, Vec<RejectedRoute>) {
        let (mut found, mut rejected) = (Vec::new(), Vec::new());
        for spec in self.applicable(phase) {
            match self.on_route(spec, phase, f64::INFINITY) {
                Ok(plans) => found.extend(plans),
                Err(reason) => rejected.push(RejectedRoute { route: spec.route, reason }),
            }
        }
        (found, rejected)
    }

    /// Iterates over the built-in route table, then over the caller-supplied routes.
    fn table(&self) -> impl Iterator<Item = &'static RouteSpec> + use<> {
        ROUTES.iter().chain(self.extra_routes)
    }

    /// Iterates over the routes to consider for a phase.
    fn applicable(&self, phase: &PhaseProblem) -> impl Iterator<Item = &'static RouteSpec> {
        let (out_of_place, matrices) = (phase.request.out_of_place, phase.is_matrices());
        let requested = self.route;
        self.table().filter(move |spec| {
            let fits = (spec.route == Route::OUT_OF_PLACE) == out_of_place;
            // A requested route is never skipped, so that its reason is reported.
            fits && requested.map_or(matrices || spec.any_axes, |only| only == spec.route)
        })
    }

    /// Rebuilds the phase that `choice` describes.
    ///
    /// Returns `None` if the planner has no such route, tile or implementation for `phase`.
    fn rebuild_phase(
        &self,
        phase: &PhaseProblem,
        choice: &PhaseRecipe,
    ) -> Result<Option<Candidate>, Infeasible> {
        let Some(spec) = self.table().find(|spec| spec.route.name() == choice.route) else {
            return Ok(None);
        };
        if !spec.any_axes && !phase.is_matrices() {
            return Ok(None);
        }
        let mut phase = phase.oriented(choice.mirrored);
        phase.exhaustive = true;
        if !(spec.tiles)(&phase)?.contains(&choice.tile) {
            return Ok(None);
        }
        let stages = spec.stages_that_move(&phase, choice.tile);
        if stages.len() != choice.variants.len() {
            return Ok(None);
        }
        let mut chosen = Vec::new();
        for (stage, name) in stages.iter().zip(&choice.variants) {
            let all = self.device.implementations(&stage.map, &request(&phase, stage))?;
            let Some(named) = all.into_iter().find(|one| one.name() == *name) else {
                return Ok(None);
            };
            chosen.push(named);
        }
        Ok(Some(single_phase(&phase, spec.route, choice.tile, &stages, chosen)))
    }

    /// Returns the plans of a route that take less than `bound` seconds, fastest first.
    ///
    /// Contains the best plan of each orientation; with a finite bound, the mirrored plan only if
    /// it is faster. Under [`TileRule::Exhaustive`] it contains the plans of every tile, and
    /// ignores the bound. The result is empty if the route is feasible but has no plan within the
    /// bound.
    fn on_route(
        &self,
        spec: &RouteSpec,
        phase: &PhaseProblem,
        bound: f64,
    ) -> Result<Vec<Candidate>, Infeasible> {
        if !spec.any_axes && !phase.is_matrices() {
            return Err(Infeasible::MatricesOnly);
        }
        let allowed = (spec.orientations)(phase);
        let (mut plans, mut reason, mut feasible) = (Vec::<Candidate>::new(), None, false);
        for mirrored in [false, true].into_iter().filter(|&mirrored| allowed[usize::from(mirrored)])
        {
            if self.mirrored.is_some_and(|only| only != mirrored) {
                continue;
            }
            let found = plans.first().filter(|_| bound.is_finite()).map(|plan| plan.seconds);
            match self.in_orientation(spec, &phase.oriented(mirrored), found.unwrap_or(bound)) {
                Ok(found) => {
                    feasible = true;
                    plans.extend(found);
                }
                Err(why) => reason = Some(least_short(reason, why)),
            }
        }
        if !feasible {
            // No reason was collected: the route lacks the requested orientation.
            let combination = || format!("{} in that orientation", spec.route);
            return Err(
                reason.unwrap_or_else(|| Infeasible::NoImplementation { shape: combination() })
            );
        }
        plans.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Ok(plans)
    }

    /// Returns the plans of a route in the orientation of `phase`.
    ///
    /// Bounded and exhaustive like [`on_route`](Self::on_route).
    fn in_orientation(
        &self,
        spec: &RouteSpec,
        phase: &PhaseProblem,
        mut bound: f64,
    ) -> Result<Vec<Candidate>, Infeasible> {
        let (mut plans, mut reason, mut feasible) = (Vec::new(), None, false);
        for tile in (spec.tiles)(phase)? {
            let found = match phase.exhaustive {
                true => self.all_with_tile(spec, phase, tile),
                false => self.best_with_tile(spec, phase, tile, bound).map(Vec::from_iter),
            };
            match found {
                Ok(found) => {
                    feasible = true;
                    if let (false, Some(plan)) = (phase.exhaustive, found.first()) {
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

    /// Returns the best plan with `tile`.
    ///
    /// Returns `None` as soon as the plan is certain to take `bound` seconds or more.
    fn best_with_tile(
        &self,
        spec: &RouteSpec,
        phase: &PhaseProblem,
        tile: TileSize,
        bound: f64,
    ) -> Result<Option<Candidate>, Infeasible> {
        let stages = spec.stages_that_move(phase, tile);
        let least =
            |stage: &StageSpec| self.device.least_seconds(stage.map.len() * phase.itemsize());
        // `seconds` is the estimate of the stages seen so far, `left` a lower bound of the others.
        // Stages that move super-elements come first: short super-elements are the slowest, and end
        // the search early.
        let (mut seconds, mut left) = (0.0, stages.iter().map(least).sum::<f64>());
        if left >= bound {
            return Ok(None);
        }
        let mut chosen = vec![None; stages.len()];
        let moves_runs = |(_, stage): &(usize, &StageSpec)| stage.map.unit() > 1;
        let first = stages.iter().enumerate().filter(moves_runs);
        let then = stages.iter().enumerate().filter(|stage| !moves_runs(stage));
        for (k, stage) in first.chain(then) {
            left -= least(stage);
            let best = self.device.best(&stage.map, &request(phase, stage))?;
            seconds += best.seconds;
            if seconds + left >= bound {
                return Ok(None);
            }
            chosen[k] = Some(best);
        }
        let chosen = chosen.into_iter().flatten();
        Ok(Some(single_phase(phase, spec.route, tile, &stages, chosen)))
    }

    /// Returns the plans with `tile`: one per implementation if the route has a single stage, else
    /// only the best.
    fn all_with_tile(
        &self,
        spec: &RouteSpec,
        phase: &PhaseProblem,
        tile: TileSize,
    ) -> Result<Vec<Candidate>, Infeasible> {
        if let [stage] = &spec.stages_that_move(phase, tile)[..] {
            let all = self.device.implementations(&stage.map, &request(phase, stage))?;
            let stages = std::slice::from_ref(stage);
            let plan = |chosen| single_phase(phase, spec.route, tile, stages, [chosen]);
            return Ok(all.into_iter().map(plan).collect());
        }
        Ok(Vec::from_iter(self.best_with_tile(spec, phase, tile, f64::INFINITY)?))
    }
}

/// Returns the request to the device for one stage of `phase`.
fn request(phase: &PhaseProblem, stage: &StageSpec) -> StageRequest {
    StageRequest { methods: stage.methods, ..phase.request }
}

/// Creates a candidate of one phase from its stages and the implementation chosen for each.
fn single_phase(
    phase: &PhaseProblem,
    route: Route,
    tile: TileSize,
    stages: &[StageSpec],
    chosen: impl IntoIterator<Item = Implementation>,
) -> Candidate {
    let stage = |(stage, implementation): (&StageSpec, _)| Stage {
        map: stage.map.clone(),
        elems_per_unit: phase.elems_per_unit,
        implementation,
    };
    let stages: Vec<Stage> = stages.iter().zip(chosen).map(stage).collect();
    let seconds = stages.iter().map(|stage| stage.implementation.seconds).sum();
    let (order, mirrored) = (phase.order.clone(), phase.mirrored);
    Candidate { legs: vec![Phase { order, route, mirrored, tile, stages }], seconds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Toy;

    #[test]
    fn planner_prefers_first_route_of_table_when_estimates_tie() {
        let mut seen = Vec::new();
        for on_chip in [1 << 10, 1 << 20] {
            let planner =
                Planner::new(Toy { held: on_chip, speed: f64::INFINITY, ..Toy::default() });
            for (rows, cols) in [(240, 240), (720, 180), (101, 205), (127, 4096), (127, 131)] {
                let problem = Problem::new(rows, cols, 4).unwrap();
                let feasible = |route| planner.clone().with_route(route).plan(&problem).is_ok();
                let first = ROUTES.iter().map(|spec| spec.route).find(|&route| feasible(route));
                let plan = planner.plan(&problem).unwrap();
                assert_eq!((Some(plan.route()), plan.seconds), (first, 0.0), "{plan}");
                seen.extend(first.filter(|route| !seen.contains(route)));
            }
        }
        assert!(seen.len() > 3, "too few different routes: {seen:?}");
    }
}
