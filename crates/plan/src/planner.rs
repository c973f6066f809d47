//! Ranks the candidates and picks one.

use std::sync::Arc;

use turntile_perm::{AxesError, Leading};

use crate::apart::Apart;
use crate::device::Device;
use crate::infeasible::Infeasible;
pub use crate::legs::TileRule;
use crate::legs::{Candidate, LegPlanner, Part};
use crate::offer::Method;
use crate::plan::{Declined, Plan};
use crate::problem::Problem;
use crate::recipe::Recipe;
use crate::routes::{Route, RouteRow, Tile};
use crate::search;

/// Makes plans for a device.
#[derive(Clone, Debug)]
#[must_use]
pub struct Planner {
    legs: LegPlanner,
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
        let (rule, route, mirrored) = (TileRule::default(), None, None);
        Planner { legs: LegPlanner { device, more: &[], rule, route, mirrored } }
    }

    /// With routes of one's own besides those of the table, which come first where estimates are equal.
    pub fn with_routes(self, more: &'static [RouteRow]) -> Self {
        Planner { legs: LegPlanner { more, ..self.legs } }
    }

    /// With tiles chosen by another rule.
    pub fn with_tiles(self, rule: TileRule) -> Self {
        Planner { legs: LegPlanner { rule, ..self.legs } }
    }

    /// Over one route alone.
    pub fn with_route(self, route: Route) -> Self {
        Planner { legs: LegPlanner { route: Some(route), ..self.legs } }
    }

    /// Over mirrored routes alone, or those that are not.
    pub fn with_mirrored(self, mirrored: bool) -> Self {
        Planner { legs: LegPlanner { mirrored: Some(mirrored), ..self.legs } }
    }

    /// The device planned for.
    pub fn device(&self) -> &dyn Device {
        &*self.legs.device
    }

    /// The plan of least estimated time; with leading dimensions that of fewest passes within the cap.
    ///
    /// Of axes that are no matrices, it is looked for among ways to bring them into their order one after the other
    /// (`search.rs`); where a route was asked for, that route does the whole.
    ///
    /// # Errors
    /// [`PlanError::Infeasible`] when one route was asked for and cannot serve the problem, its
    /// workspace cap included; it is for the matrix without gaps. Without such a choice there is always a plan in place:
    /// cycles of single elements need no workspace. But with leading dimensions a device that exchanges no rows needs
    /// workspace for the gaps in their way, and the error says how much.
    pub fn plan(&self, problem: &Problem) -> Result<Plan, PlanError> {
        let found = match problem.leading() {
            Some(leading) => self
                .apart(problem, leading, &|apart| apart.first())
                .map(|found| (found, Vec::new())),
            None => self.fastest(problem),
        };
        match found {
            Ok((best, declined)) => Ok(Plan { declined, ..self.assemble(problem, best) }),
            Err(Declined { route, why }) => {
                let device = self.device().name().to_owned();
                Err(PlanError::Infeasible { route, problem: Box::new(*problem), device, why })
            }
        }
    }

    /// The legs of least estimated time, and the routes further up the table that were not feasible.
    fn fastest(&self, problem: &Problem) -> Result<(Candidate, Vec<Declined>), Declined> {
        self.misplaced(problem).map_or(Ok(()), Err)?;
        let (found, mut declined) = match Part::whole(problem) {
            Ok(None) => return Ok((Candidate::default(), Vec::new())),
            // Several legs would need a third place to lie in between.
            Ok(Some(part))
                if part.is_matrices() || self.legs.route.is_some() || problem.is_out_of_place() =>
            {
                self.legs.fastest(&part, f64::INFINITY)
            }
            Ok(Some(_)) => search::fastest(&self.legs, problem),
            Err(_) if self.legs.route.is_none() && !problem.is_out_of_place() => {
                search::fastest(&self.legs, problem)
            }
            Err(why) => (None, vec![self.too_many(problem, &why)]),
        };
        let Some(best) = found else { return Err(declined.swap_remove(0)) };
        let rank = |route| self.legs.table().position(|row| row.route == route);
        let chosen = best.legs.first().filter(|_| best.legs.len() == 1).map(|leg| leg.route);
        declined.retain(|other| chosen.is_none_or(|route| rank(other.route) < rank(route)));
        Ok((best, declined))
    }

    /// Asks for the ways of a matrix with leading dimensions.
    fn apart<T>(&self, problem: &Problem, leading: &Leading, ask: &dyn Fn(&Apart) -> T) -> T {
        let dense = |dense: &Problem| self.fastest(dense).map(|(found, _)| found);
        ask(&Apart { planner: &self.legs, problem, leading, dense: &dense })
    }

    /// Every route's answer, feasible ones ranked; of axes that are no matrices also the best plan of each way to bring
    /// them into their order in several parts.
    pub fn survey(&self, problem: &Problem) -> Survey {
        let (mut found, mut declined) = match problem.leading() {
            Some(leading) => self.apart(problem, leading, &|apart| apart.all()),
            None => (Vec::new(), Vec::new()),
        };
        match Part::whole(problem) {
            _ if problem.leading().is_some() => {}
            _ if self.misplaced(problem).is_some() => declined.extend(self.misplaced(problem)),
            Ok(None) => found.push(Candidate::default()),
            Ok(Some(part)) => {
                (found, declined) = self.legs.all(&part);
                if !part.is_matrices() && self.legs.route.is_none() && !problem.is_out_of_place() {
                    found.extend(search::all(&self.legs, problem));
                }
            }
            Err(_) if self.legs.route.is_none() && !problem.is_out_of_place() => {
                found = search::all(&self.legs, problem);
            }
            Err(why) => declined.push(self.too_many(problem, &why)),
        }
        found.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let candidates = found.into_iter().map(|one| self.assemble(problem, one)).collect();
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
        let part = Part::whole(problem).map_err(|why| too_many(&why))?;
        let Some((part, row)) = part.zip(self.legs.table().find(|row| row.route == route)) else {
            return Ok(self.assemble(problem, Candidate::default()));
        };
        let plan = self.legs.within(row, &part.query(&self.legs), mirrored, tile, f64::INFINITY)?;
        Ok(self.assemble(problem, plan.expect("every plan takes less than forever")))
    }

    /// The plan that a recipe makes, of tiles that its routes propose; nothing when the recipe is of another
    /// problem, route or device.
    ///
    /// # Errors
    /// Why its routes or its stages are not to be had.
    pub fn remake(&self, problem: &Problem, recipe: &Recipe) -> Result<Option<Plan>, Infeasible> {
        if problem.leading().is_some() {
            return Ok(None);
        }
        let fused = problem.fused();
        let mut at: Vec<usize> = (0..fused.order().len()).collect();
        let mut made = Candidate::default();
        for leg in &recipe.legs {
            let Ok(axes) = fused.between(&at, &leg.order) else { return Ok(None) };
            let Some(part) = Part::of(problem, &axes, &leg.order) else { return Ok(None) };
            let Some(done) = self.legs.remake(&part, leg)? else { return Ok(None) };
            made = made.then(done);
            at.clone_from(&leg.order);
        }
        if at != fused.order() || made.legs.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.assemble(problem, made)))
    }

    /// Why the one route asked for cannot serve any problem in that place.
    fn misplaced(&self, problem: &Problem) -> Option<Declined> {
        let out_of_place = self.legs.route? == Route::OUT_OF_PLACE;
        let why = Infeasible::Place { out_of_place };
        let wrong = out_of_place != problem.is_out_of_place();
        self.legs.route.filter(|_| wrong).map(|route| Declined { route, why })
    }

    fn too_many(&self, problem: &Problem, why: &AxesError) -> Declined {
        let only = if problem.is_out_of_place() { Route::OUT_OF_PLACE } else { Route::ONE_STAGE };
        Declined { route: self.legs.route.unwrap_or(only), why: too_many(why) }
    }

    fn assemble(&self, problem: &Problem, Candidate { legs, seconds }: Candidate) -> Plan {
        let device = self.device().name().to_owned();
        let mut plan = Plan {
            problem: *problem,
            device,
            legs,
            workspace_bytes: 0,
            seconds,
            declined: Vec::new(),
        };
        let own = plan.stages().filter(|stage| stage.offer.method != Method::Keep);
        let largest = own.map(|stage| stage.offer.workspace_bytes).max().unwrap_or(0);
        plan.workspace_bytes = plan.kept_bytes() + largest;
        plan
    }
}

fn too_many(why: &AxesError) -> Infeasible {
    match *why {
        AxesError::TooMany { axes } => {
            Infeasible::TooManyAxes { axes, most: turntile_perm::axes::MOST_AXES }
        }
        _ => unreachable!("a problem's axes were checked"),
    }
}
