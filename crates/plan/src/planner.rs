//! Ranks the candidates and picks one.

use crate::cost;
use crate::limits::Limits;
use crate::method;
use crate::plan::{Declined, Plan};
use crate::problem::Problem;
use crate::routes::{Infeasible, ROUTES, Route, Step, Tile};
use crate::stage::Stage;

pub use crate::routes::TileRule;

/// Makes plans for a device.
#[derive(Clone, Debug)]
pub struct Planner {
    limits: Limits,
    rule: TileRule,
    route: Option<&'static Route>,
}

/// A feasible plan among others; its estimate is [`Plan::seconds`].
pub type Candidate = Plan;

/// Every route's answer to a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// The best plan of each feasible route, or under [`TileRule::Exhaustive`] all of them,
    /// fastest first by estimate.
    pub candidates: Vec<Candidate>,
    /// The routes that were not feasible, in the order of the table.
    pub declined: Vec<Declined>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The route that was asked for cannot serve the problem.
    #[error("route {route} cannot serve {problem} on {device}: {why}")]
    Infeasible {
        /// The route asked for.
        route: &'static str,
        /// The problem.
        problem: Problem,
        /// The device.
        device: String,
        /// What stands in the way.
        why: Infeasible,
    },
    /// No route of that name.
    #[error("no route is named {name:?}; there are {}", names())]
    UnknownRoute {
        /// The name asked for.
        name: String,
    },
}

fn names() -> String {
    ROUTES.iter().map(|route| route.name).collect::<Vec<_>>().join(", ")
}

impl Planner {
    /// For a device, with tiles by the cost model, over all routes.
    pub fn new(limits: Limits) -> Self {
        Planner { limits, rule: TileRule::default(), route: None }
    }

    /// With tiles chosen by another rule.
    pub fn with_tiles(self, rule: TileRule) -> Self {
        Planner { rule, ..self }
    }

    /// Over one route alone.
    pub fn with_route(self, name: &str) -> Result<Self, PlanError> {
        let route = crate::routes::by_name(name)
            .ok_or_else(|| PlanError::UnknownRoute { name: name.to_owned() })?;
        Ok(Planner { route: Some(route), ..self })
    }

    /// The device planned for.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The plan of least estimated time.
    ///
    /// # Errors
    /// [`PlanError::Infeasible`] when one route was asked for and cannot serve the problem, its
    /// workspace cap included. Without such a choice there is always a plan: cycles of single
    /// elements need no workspace.
    pub fn plan(&self, problem: &Problem) -> Result<Plan, PlanError> {
        let Survey { candidates, mut declined } = self.survey(problem);
        match candidates.into_iter().next() {
            Some(best) => {
                let rank = |name| ROUTES.iter().position(|route| route.name == name);
                declined.retain(|other| {
                    other.why != Infeasible::ElementsMove && rank(other.route) < rank(best.route)
                });
                Ok(Plan { declined, ..best })
            }
            None => {
                let Declined { route, why } = declined.swap_remove(0);
                let device = self.limits.name.to_string();
                Err(PlanError::Infeasible { route, problem: *problem, device, why })
            }
        }
    }

    /// Every route's answer, feasible ones ranked.
    pub fn survey(&self, problem: &Problem) -> Survey {
        let (mut candidates, mut declined) = (Vec::new(), Vec::new());
        let asked = |route: &&Route| self.route.is_none_or(|only| only.name == route.name);
        for route in ROUTES.iter().filter(asked) {
            match self.on_route(route, problem) {
                Ok(plans) => candidates.extend(plans),
                Err(why) => declined.push(Declined { route: route.name, why }),
            }
        }
        candidates.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Survey { candidates, declined }
    }

    fn on_route(&self, route: &Route, problem: &Problem) -> Result<Vec<Plan>, Infeasible> {
        let tiles = (route.tiles)(problem, &self.limits, self.rule)?;
        let (mut plans, mut why) = (Vec::new(), None);
        for tile in tiles {
            match self.with_tile(route, problem, tile) {
                Ok(plan) => plans.push(plan),
                Err(reason) => why = Some(least_short(why, reason)),
            }
        }
        if let Some(why) = why.filter(|_| plans.is_empty()) {
            return Err(why);
        }
        if self.rule != TileRule::Exhaustive {
            let best = plans.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
            return Ok(best.into_iter().collect());
        }
        Ok(plans)
    }

    /// Every tile that `route` could use, whatever the planner's own rule.
    pub fn all_tiles(&self, route: &Route, problem: &Problem) -> Result<Vec<Tile>, Infeasible> {
        let mut tiles = (route.tiles)(problem, &self.limits, TileRule::Exhaustive)?;
        // The thesis's slot lengths are no powers of two.
        if let Ok(more) = (route.tiles)(problem, &self.limits, TileRule::Thesis) {
            tiles.extend(more);
        }
        Ok(tiles)
    }

    /// The plan of `route` with `tile`, each stage by its fastest method that the cap allows.
    pub fn with_tile(
        &self,
        route: &Route,
        problem: &Problem,
        tile: Tile,
    ) -> Result<Plan, Infeasible> {
        let steps = (route.steps)(problem, tile);
        let moving = steps.iter().filter(|step| !step.shape.is_identity());
        let stages = moving.map(|step| self.stage(step, problem)).collect::<Result<Vec<_>, _>>()?;
        let workspace = |stage: &Stage| stage.launch.workspace_bytes(self.limits.kind);
        let seconds = |stage: &Stage| cost::seconds(stage, problem.elem_bytes(), &self.limits);
        Ok(Plan {
            problem: *problem,
            device: self.limits.name.clone(),
            kind: self.limits.kind,
            route: route.name,
            tile,
            workspace_bytes: stages.iter().map(workspace).max().unwrap_or(0),
            seconds: stages.iter().map(seconds).fold(0.0, |sum, next| sum + next),
            stages,
            declined: Vec::new(),
        })
    }

    fn stage(&self, step: &Step, problem: &Problem) -> Result<Stage, Infeasible> {
        let (elem_bytes, cap) = (problem.elem_bytes(), self.limits.cap(problem));
        let workspace = |stage: &Stage| stage.launch.workspace_bytes(self.limits.kind);
        let mut options = method::stages(step.shape, elem_bytes, &self.limits)?;
        options.retain(|stage| step.want.accepts(&stage.method));
        let Some(need) = options.iter().map(workspace).min() else {
            let need = step.shape.instance_len() * elem_bytes;
            let have = self.limits.group_bytes.max(self.limits.grid_bytes());
            return Err(Infeasible::OnChip { need, have });
        };
        options
            .into_iter()
            .filter(|stage| workspace(stage) <= cap)
            .map(|stage| (cost::seconds(&stage, elem_bytes, &self.limits), stage))
            .min_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, stage)| stage)
            .ok_or(Infeasible::Workspace { need, cap })
    }
}

/// Of two tiles' reasons, the one that asks for less: that is how far the route is from feasible.
fn least_short(a: Option<Infeasible>, b: Infeasible) -> Infeasible {
    let need = |why: &Infeasible| match why {
        Infeasible::Workspace { need, .. } | Infeasible::OnChip { need, .. } => *need,
        _ => usize::MAX,
    };
    match a {
        Some(a) if need(&a) <= need(&b) => a,
        _ => b,
    }
}
