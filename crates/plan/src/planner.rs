//! Ranks the candidates and picks one.

use std::sync::Arc;

use turntile_perm::{LayoutChange, LeadingDims};

use crate::device::Device;
use crate::implementation::Method;
use crate::infeasible::Infeasible;
use crate::leading::LeadingPlanner;
use crate::legs::Candidate;
pub use crate::legs::{Planner, TileRule};
use crate::phase_problem::PhaseProblem;
use crate::plan::{Plan, Recipe, RejectedRoute};
use crate::problem::Problem;
use crate::records::RecordPlanner;
use crate::routes::{Route, RouteSpec};
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::ROUTES;
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
