//! Ranks the candidates and picks one.

use std::sync::Arc;

use crate::device::{Device, Request};
use crate::infeasible::{Infeasible, least_short};
use crate::offer::{Offer, Stage};
use crate::plan::{Declined, Plan};
use crate::problem::{Matrices, Problem};
use crate::recipe::Recipe;
use crate::routes::{self, Query, ROUTES, Route, RouteRow, Sides, Step, Tile};

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
    device: Arc<dyn Device>,
    rule: TileRule,
    route: Option<Route>,
    mirrored: Option<bool>,
}

/// Every route's answer to a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// The best plan of each feasible route, mirrored and not, or under [`TileRule::Exhaustive`] all of them,
    /// fastest first by estimate.
    pub candidates: Vec<Plan>,
    /// The routes that were not feasible, in the order of the table.
    pub declined: Vec<Declined>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The route that was asked for cannot serve the problem, or none can.
    #[error("route {route} cannot serve {problem} on {device}: {why}")]
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

impl Planner {
    /// For a device, with tiles by the cost model, over all routes.
    pub fn new(device: impl Device + 'static) -> Self {
        Self::on(Arc::new(device))
    }

    /// The same for a device that others plan for too.
    pub fn on(device: Arc<dyn Device>) -> Self {
        Planner { device, rule: TileRule::default(), route: None, mirrored: None }
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

    /// The device planned for.
    pub fn device(&self) -> &dyn Device {
        &*self.device
    }

    /// The plan of least estimated time.
    ///
    /// # Errors
    /// [`PlanError::Infeasible`] when one route was asked for and cannot serve the problem, its
    /// workspace cap included. Without such a choice there is always a plan in place: cycles of single
    /// elements need no workspace.
    pub fn plan(&self, problem: &Problem) -> Result<Plan, PlanError> {
        if let Some(Declined { route, why }) = self.misplaced(problem) {
            return Err(self.infeasible(problem, route, why));
        }
        let Some((matrices, sides)) = self.sides(problem) else { return Ok(self.nothing(problem)) };
        let query = self.query(problem, matrices, &sides);
        let pass = self.device.least_seconds(problem.bytes());
        let (mut best, mut declined): (Option<Plan>, _) = (None, Vec::new());
        for row in self.rows(problem) {
            let bound = best.as_ref().map_or(f64::INFINITY, |plan| plan.seconds);
            if row.passes as f64 * pass >= bound {
                continue;
            }
            match self.on_route(row, &query, bound) {
                Ok(plans) => best = plans.into_iter().next().or(best),
                Err(why) => declined.push(Declined { route: row.route, why }),
            }
        }
        let Some(best) = best else {
            let Declined { route, why } = declined.swap_remove(0);
            return Err(self.infeasible(problem, route, why));
        };
        let rank = |route| ROUTES.iter().position(|row| row.route == route);
        declined.retain(|other| rank(other.route) < rank(best.route));
        Ok(Plan { declined, ..best })
    }

    /// Every route's answer, feasible ones ranked.
    pub fn survey(&self, problem: &Problem) -> Survey {
        let (mut candidates, mut declined) = (Vec::new(), Vec::new());
        match self.sides(problem) {
            _ if self.misplaced(problem).is_some() => declined.extend(self.misplaced(problem)),
            None => candidates.push(self.nothing(problem)),
            Some((matrices, sides)) => {
                let query = self.query(problem, matrices, &sides);
                for row in self.rows(problem) {
                    match self.on_route(row, &query, f64::INFINITY) {
                        Ok(plans) => candidates.extend(plans),
                        Err(why) => declined.push(Declined { route: row.route, why }),
                    }
                }
            }
        }
        candidates.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Survey { candidates, declined }
    }

    /// The plan of a route with a tile, each stage by its fastest way within the cap.
    ///
    /// # Errors
    /// Why there is none.
    pub fn with_tile(
        &self,
        problem: &Problem,
        route: Route,
        mirrored: bool,
        tile: Tile,
    ) -> Result<Plan, Infeasible> {
        let Some(((matrices, sides), row)) = self.sides(problem).zip(routes::row(route)) else {
            return Ok(self.nothing(problem));
        };
        let query = self.query(problem, matrices, &sides);
        let plan = self.within(row, &query, mirrored, tile, f64::INFINITY)?;
        Ok(plan.expect("every plan takes less than forever"))
    }

    /// The plan that a recipe makes, of a tile that its route proposes; nothing when the recipe is of another
    /// problem, route or device.
    ///
    /// # Errors
    /// Why its route or its stages are not to be had.
    pub fn remake(&self, problem: &Problem, recipe: &Recipe) -> Result<Option<Plan>, Infeasible> {
        let Some((matrices, sides)) = self.sides(problem) else { return Ok(None) };
        let Some(row) = recipe.route.parse::<Route>().ok().and_then(routes::row) else {
            return Ok(None);
        };
        let every = Query { every: true, ..self.query(problem, matrices, &sides) };
        if !row.tiles(&every, recipe.mirrored)?.contains(&recipe.tile) {
            return Ok(None);
        }
        let mut stages = Vec::new();
        for (k, step) in moving(row, &every, recipe.mirrored, recipe.tile).enumerate() {
            let offers = self.device.offers(&step.shape, &self.request(problem, &step))?;
            let found = offers.into_iter().find(|offer| recipe.ways.get(k) == Some(&offer.way()));
            let Some(offer) = found else { return Ok(None) };
            stages.push(Stage { shape: step.shape, offer });
        }
        if stages.len() != recipe.ways.len() {
            return Ok(None);
        }
        Ok(Some(self.assemble(problem, row.route, recipe.mirrored, recipe.tile, stages)))
    }

    /// The matrices that routes are asked for, and the divisors of their sides; none when nothing moves. Out of
    /// place every element does.
    fn sides(&self, problem: &Problem) -> Option<(Matrices, Sides)> {
        let copied = problem.is_out_of_place() && !problem.is_empty();
        let one_row = Matrices { batch: 1, rows: 1, cols: problem.len() };
        let matrices = problem.matrices().or(copied.then_some(one_row))?;
        Some((matrices, Sides::new(&matrices)))
    }

    fn query<'a>(
        &'a self,
        problem: &'a Problem,
        matrices: Matrices,
        sides: &'a Sides,
    ) -> Query<'a> {
        let every = self.rule == TileRule::Exhaustive;
        Query::new(matrices, sides, problem, &*self.device, every)
    }

    fn request(&self, problem: &Problem, step: &Step) -> Request {
        Request::new(problem, &*self.device, step.want)
    }

    /// The rows of the table that are considered.
    fn rows(&self, problem: &Problem) -> impl Iterator<Item = &'static RouteRow> {
        let out_of_place = problem.is_out_of_place();
        ROUTES.iter().filter(move |row| {
            let serves = (row.route == Route::OutOfPlace) == out_of_place;
            self.route.map_or(serves, |only| only == row.route && serves)
        })
    }

    /// Why the one route asked for cannot serve any problem in that place.
    fn misplaced(&self, problem: &Problem) -> Option<Declined> {
        let out_of_place = self.route? == Route::OutOfPlace;
        let why = Infeasible::Place { out_of_place };
        let wrong = out_of_place != problem.is_out_of_place();
        self.route.filter(|_| wrong).map(|route| Declined { route, why })
    }

    fn infeasible(&self, problem: &Problem, route: Route, why: Infeasible) -> PlanError {
        let device = self.device.name().to_owned();
        PlanError::Infeasible { route, problem: Box::new(*problem), device, why }
    }

    /// The plan where nothing moves in place; out of place there is a copy to make.
    fn nothing(&self, problem: &Problem) -> Plan {
        let tile = Tile { m: problem.rows(), n: problem.cols() };
        self.assemble(problem, Route::Nothing, false, tile, Vec::new())
    }

    /// The plans of a route that take less than `bound` seconds: the best one of each way that it has, or under
    /// [`TileRule::Exhaustive`] all, fastest first. None of them, without an error, when the route is
    /// feasible but not within the bound.
    fn on_route(&self, row: &RouteRow, query: &Query, bound: f64) -> Result<Vec<Plan>, Infeasible> {
        let ways = (row.ways)(&query.matrices);
        let ways = [false, true].into_iter().filter(|&mirrored| ways[usize::from(mirrored)]);
        let (mut plans, mut why, mut feasible) = (Vec::new(), None, false);
        let mut least = bound;
        for mirrored in ways.filter(|&way| self.mirrored.is_none_or(|only| only == way)) {
            match self.one_way(row, query, mirrored, if bound.is_finite() { least } else { bound })
            {
                Ok(found) => {
                    feasible = true;
                    least = found.first().map_or(least, |plan| plan.seconds);
                    plans.extend(found);
                }
                Err(reason) => why = Some(least_short(why, reason)),
            }
        }
        match why {
            Some(why) if !feasible => Err(why),
            None if !feasible => {
                // Only the other way round was asked for.
                Err(Infeasible::NoWay { shape: format!("{} that way round", row.route) })
            }
            _ => {
                plans.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
                Ok(plans)
            }
        }
    }

    fn one_way(
        &self,
        row: &RouteRow,
        query: &Query,
        mirrored: bool,
        bound: f64,
    ) -> Result<Vec<Plan>, Infeasible> {
        let (mut plans, mut why, mut bound, mut feasible) = (Vec::new(), None, bound, false);
        for tile in row.tiles(query, mirrored)? {
            if query.every {
                match self.every_way(row, query, mirrored, tile) {
                    Ok(found) => plans.extend(found),
                    Err(reason) => why = Some(least_short(why, reason)),
                }
                continue;
            }
            match self.within(row, query, mirrored, tile, bound) {
                Ok(Some(plan)) => {
                    bound = plan.seconds;
                    plans.clear();
                    plans.push(plan);
                }
                Ok(None) => feasible = true,
                Err(reason) => why = Some(least_short(why, reason)),
            }
        }
        match why {
            Some(why) if plans.is_empty() && !feasible => Err(why),
            _ => Ok(plans),
        }
    }

    /// The plan with `tile`, or nothing as soon as it is sure to take `bound` seconds or more.
    fn within(
        &self,
        row: &RouteRow,
        query: &Query,
        mirrored: bool,
        tile: Tile,
        bound: f64,
    ) -> Result<Option<Plan>, Infeasible> {
        let steps: Vec<Step> = moving(row, query, mirrored, tile).collect();
        let least = |step: &Step| self.device.least_seconds(step.shape.len() * query.elem_bytes());
        // What steps take, and at least take while they are not looked at. Super-elements that are too short take
        // longest, and are looked at first.
        let (mut seconds, mut left) = (0.0, steps.iter().map(least).sum::<f64>());
        let mut offers = vec![None; steps.len()];
        let runs = |(_, step): &(usize, &Step)| step.shape.unit() > 1;
        let first = steps.iter().enumerate().filter(runs);
        let then = steps.iter().enumerate().filter(|step| !runs(step));
        for (k, step) in first.chain(then) {
            left -= least(step);
            let offer = self.device.best(&step.shape, &self.request(query.problem, step))?;
            seconds += offer.seconds;
            if seconds + left >= bound {
                return Ok(None);
            }
            offers[k] = Some(offer);
        }
        let stage = |(step, offer): (&Step, Offer)| Stage { shape: step.shape, offer };
        let stages = steps.iter().zip(offers.into_iter().flatten()).map(stage).collect();
        Ok(Some(self.assemble(query.problem, row.route, mirrored, tile, stages)))
    }

    /// The plans with `tile`: where it has one stage, one by each way of moving it.
    fn every_way(
        &self,
        row: &RouteRow,
        query: &Query,
        mirrored: bool,
        tile: Tile,
    ) -> Result<Vec<Plan>, Infeasible> {
        let mut steps = moving(row, query, mirrored, tile);
        if let (Some(step), None) = (steps.next(), steps.next()) {
            let offers = self.device.offers(&step.shape, &self.request(query.problem, &step))?;
            let plan = |offer| {
                let stages = vec![Stage { shape: step.shape, offer }];
                self.assemble(query.problem, row.route, mirrored, tile, stages)
            };
            return Ok(offers.into_iter().map(plan).collect());
        }
        let plan = self.within(row, query, mirrored, tile, f64::INFINITY)?;
        Ok(plan.into_iter().collect())
    }

    fn assemble(
        &self,
        problem: &Problem,
        route: Route,
        mirrored: bool,
        tile: Tile,
        stages: Vec<Stage>,
    ) -> Plan {
        let offers = || stages.iter().map(|stage: &Stage| &stage.offer);
        Plan {
            problem: *problem,
            device: self.device.name().to_owned(),
            route,
            mirrored,
            tile,
            workspace_bytes: offers().map(|o: &Offer| o.workspace_bytes).max().unwrap_or(0),
            seconds: offers().map(|offer| offer.seconds).sum(),
            stages,
            declined: Vec::new(),
        }
    }
}

/// The steps of a route that move something; out of place all do.
fn moving(
    row: &RouteRow,
    query: &Query,
    mirrored: bool,
    tile: Tile,
) -> impl Iterator<Item = Step> + use<> {
    let all = query.problem.is_out_of_place();
    let steps = row.steps(query, mirrored, tile).into_iter();
    steps.filter(move |step| all || !step.shape.is_identity())
}
