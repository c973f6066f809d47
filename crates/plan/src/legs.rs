//! Single legs of a plan: which routes bring axes into another order, and the fastest of them.

use std::cell::OnceCell;
use std::sync::Arc;

use turntile_perm::{AxesError, AxisPermutation};

use crate::device::{Device, Request};
use crate::infeasible::{Infeasible, least_short};
use crate::offer::{Offer, Stage};
use crate::plan::{Declined, Leg};
use crate::problem::{Matrices, Problem};
use crate::recipe::LegRecipe;
use crate::routes::{Query, ROUTES, Route, RouteRow, Sides, Step, Tile};

/// Legs, one after the other, and what they take.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    pub legs: Vec<Leg>,
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

/// Plans single legs.
#[derive(Clone, Debug)]
pub struct LegPlanner {
    pub device: Arc<dyn Device>,
    /// Routes besides those of the table.
    pub more: &'static [RouteRow],
    pub rule: TileRule,
    /// The only route that is asked for.
    pub route: Option<Route>,
    /// Whether only mirrored routes are, or only those that are not.
    pub mirrored: Option<bool>,
}

/// What one leg is to do.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its axes as a problem of its own.
    pub problem: Problem,
    axes: AxisPermutation,
    matrices: Option<Matrices>,
    /// What routes see as matrices.
    seen: Matrices,
    sides: OnceCell<Sides>,
    /// Elements of the whole problem that are one here.
    joined: usize,
    /// The order in which the whole problem's fused axes lie afterwards.
    order: Vec<usize>,
}

/// A last axis of so many bytes and more that stays moves in runs, one by one; a shorter one joins the element.
const RUN_BYTES: usize = 128;

impl Part {
    /// The whole problem; none when nothing moves. Out of place every element does.
    ///
    /// # Errors
    /// [`AxesError::TooMany`]: more axes move apart than one leg can permute.
    pub fn whole(problem: &Problem) -> Result<Option<Part>, AxesError> {
        let axes = problem.axes()?;
        Ok(Part::of(problem, &axes, &axes.order().collect::<Vec<_>>()))
    }

    /// A part of `problem`, after which its fused axes lie in `order`; none when nothing moves, as of the whole.
    pub fn of(problem: &Problem, axes: &AxisPermutation, order: &[usize]) -> Option<Part> {
        let copied = problem.is_out_of_place() && !problem.is_empty();
        if axes.is_identity() && !copied {
            return None;
        }
        let short = axes.unit() * problem.elem_bytes() < RUN_BYTES;
        let joined = if short { axes.unit() } else { 1 };
        let axes = if joined > 1 { axes.without_unit() } else { *axes };
        let part = problem.part(&axes, problem.elem_bytes() * joined);
        Some(Part::with(part, axes, joined, order.to_vec()))
    }

    fn with(problem: Problem, axes: AxisPermutation, joined: usize, order: Vec<usize>) -> Part {
        let matrices = Matrices::of(&axes);
        let last = || {
            let g = axes.order().last().map_or(1, |axis| axes.extents()[axis]);
            let f = axes.extents().last().copied().unwrap_or(1);
            Matrices { batch: 1, rows: g, cols: f }
        };
        let one_row = Matrices { batch: 1, rows: 1, cols: problem.len() };
        let seen = if axes.is_identity() { one_row } else { matrices.unwrap_or_else(last) };
        Part { problem, axes, matrices, seen, sides: OnceCell::new(), joined, order }
    }

    /// Whether it is a transposition of matrices, or a copy.
    pub fn is_matrices(&self) -> bool {
        self.matrices.is_some() || self.axes.is_identity()
    }

    /// Whether its last axis stays and is so long that it moves in runs, which is soon estimated.
    pub fn is_runs(&self) -> bool {
        self.axes.unit() > 1 || (!self.is_matrices() && self.joined > 1)
    }

    /// The axes, and how many of the whole problem's elements are one of theirs.
    pub fn key(&self) -> (AxisPermutation, usize) {
        (self.axes, self.joined)
    }

    /// Passes that it takes at least: one where axes of one extent change places or go round, an instance fits on chip, or whole runs
    /// move; two otherwise.
    pub fn least_passes(&self, device: &dyn Device) -> usize {
        let elem_bytes = self.problem.elem_bytes();
        let instance = self.axes.len() / self.axes.batch() * elem_bytes;
        let one = self.axes.unit() > 1
            || instance <= device.holds()[1]
            || elem_bytes >= RUN_BYTES
            || self.axes.elementary().is_some_and(|e| e.is_of_tiles());
        if one { 1 } else { 2 }
    }

    /// What routes are asked.
    pub fn query<'a>(&'a self, planner: &'a LegPlanner) -> Query<'a> {
        let (seen, sides) = (self.seen, self.sides.get_or_init(|| Sides::new(&self.seen)));
        let every = planner.rule == TileRule::Exhaustive;
        let (axes, order) = (self.axes, &self.order);
        Query::new(axes, seen, sides, &self.problem, &*planner.device, every)
            .as_part(self.joined, order)
    }
}

impl LegPlanner {
    /// The fastest route of a leg that takes less than `bound` seconds, if there is one; and those that are not feasible.
    pub fn fastest(&self, part: &Part, bound: f64) -> (Option<Candidate>, Vec<Declined>) {
        let query = part.query(self);
        let pass = self.device.least_seconds(part.problem.bytes());
        let (mut best, mut declined): (Option<Candidate>, _) = (None, Vec::new());
        for row in self.rows(part) {
            let bound = best.as_ref().map_or(bound, |plan| plan.seconds);
            if row.passes as f64 * pass >= bound {
                continue;
            }
            match self.on_route(row, &query, bound) {
                Ok(plans) => best = plans.into_iter().next().or(best),
                Err(why) => declined.push(Declined { route: row.route, why }),
            }
        }
        (best, declined)
    }

    /// Every route's answer to a leg.
    pub fn all(&self, part: &Part) -> (Vec<Candidate>, Vec<Declined>) {
        let (query, mut found, mut declined) = (part.query(self), Vec::new(), Vec::new());
        for row in self.rows(part) {
            match self.on_route(row, &query, f64::INFINITY) {
                Ok(plans) => found.extend(plans),
                Err(why) => declined.push(Declined { route: row.route, why }),
            }
        }
        (found, declined)
    }

    /// The table of routes, then those that it was given besides.
    pub fn table(&self) -> impl Iterator<Item = &'static RouteRow> + use<> {
        ROUTES.iter().chain(self.more)
    }

    /// The rows of the table that are considered.
    fn rows(&self, part: &Part) -> impl Iterator<Item = &'static RouteRow> {
        let (out_of_place, matrices) = (part.problem.is_out_of_place(), part.is_matrices());
        let asked = self.route.is_some();
        self.table().filter(move |row| {
            let fits = (row.route == Route::OUT_OF_PLACE) == out_of_place;
            // One that is asked for says why it cannot.
            let fits = fits && (matrices || row.any_axes || asked);
            self.route.map_or(fits, |only| only == row.route && fits)
        })
    }

    /// The leg that a recipe makes.
    pub fn remake(&self, part: &Part, recipe: &LegRecipe) -> Result<Option<Candidate>, Infeasible> {
        let Some(row) = self.table().find(|row| row.route.name() == recipe.route) else {
            return Ok(None);
        };
        if !row.any_axes && !part.is_matrices() {
            return Ok(None);
        }
        let every = Query { every: true, ..part.query(self) };
        if !row.tiles(&every, recipe.mirrored)?.contains(&recipe.tile) {
            return Ok(None);
        }
        let mut stages = Vec::new();
        for (k, step) in moving(row, &every, recipe.mirrored, recipe.tile).into_iter().enumerate() {
            let offers = self.device.offers(&step.shape, &self.request(&every, &step))?;
            let found = offers.into_iter().find(|offer| recipe.ways.get(k) == Some(&offer.way()));
            let Some(offer) = found else { return Ok(None) };
            stages.push(Stage { shape: step.shape, joined: every.joined, offer });
        }
        if stages.len() != recipe.ways.len() {
            return Ok(None);
        }
        Ok(Some(leg(&every, row.route, recipe.mirrored, recipe.tile, stages)))
    }

    fn request(&self, query: &Query, step: &Step) -> Request {
        Request::new(query.problem, &*self.device, step.want)
    }

    /// The plans of a route that take less than `bound` seconds: the best one of each way that it has, or under
    /// [`TileRule::Exhaustive`] all, fastest first. None of them, without an error, when
    /// the route is feasible but not within the bound.
    fn on_route(
        &self,
        row: &RouteRow,
        query: &Query,
        bound: f64,
    ) -> Result<Vec<Candidate>, Infeasible> {
        if query.is_general() && !row.any_axes && !query.axes.is_identity() {
            return Err(Infeasible::MatricesOnly);
        }
        let ways = (row.ways)(query);
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
    ) -> Result<Vec<Candidate>, Infeasible> {
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
    pub fn within(
        &self,
        row: &RouteRow,
        query: &Query,
        mirrored: bool,
        tile: Tile,
        bound: f64,
    ) -> Result<Option<Candidate>, Infeasible> {
        let steps = moving(row, query, mirrored, tile);
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
            let offer = self.device.best(&step.shape, &self.request(query, step))?;
            seconds += offer.seconds;
            if seconds + left >= bound {
                return Ok(None);
            }
            offers[k] = Some(offer);
        }
        let stage = |(step, offer): (&Step, Offer)| Stage {
            shape: step.shape,
            joined: query.joined,
            offer,
        };
        let stages = steps.iter().zip(offers.into_iter().flatten()).map(stage).collect();
        Ok(Some(leg(query, row.route, mirrored, tile, stages)))
    }

    /// The plans with `tile`: where it has one stage, one by each way of moving it.
    fn every_way(
        &self,
        row: &RouteRow,
        query: &Query,
        mirrored: bool,
        tile: Tile,
    ) -> Result<Vec<Candidate>, Infeasible> {
        if let [step] = moving(row, query, mirrored, tile)[..] {
            let offers = self.device.offers(&step.shape, &self.request(query, &step))?;
            let plan = |offer| {
                let stage = Stage { shape: step.shape, joined: query.joined, offer };
                leg(query, row.route, mirrored, tile, vec![stage])
            };
            return Ok(offers.into_iter().map(plan).collect());
        }
        let plan = self.within(row, query, mirrored, tile, f64::INFINITY)?;
        Ok(plan.into_iter().collect())
    }
}

fn leg(query: &Query, route: Route, mirrored: bool, tile: Tile, stages: Vec<Stage>) -> Candidate {
    let seconds = stages.iter().map(|stage| stage.offer.seconds).sum();
    let order = query.order.to_vec();
    Candidate { legs: vec![Leg { order, route, mirrored, tile, stages }], seconds }
}

/// The steps of a route that move something; out of place all do.
fn moving(row: &RouteRow, query: &Query, mirrored: bool, tile: Tile) -> Vec<Step> {
    let all = query.problem.is_out_of_place();
    let mut steps = row.steps(query, mirrored, tile);
    steps.retain(|step| all || !step.shape.is_identity());
    steps
}
