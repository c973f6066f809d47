//! Ranks the candidates and picks one.

use crate::cost;
use crate::limits::{DeviceKind, Limits};
use crate::method::{self, Method};
use crate::plan::{Declined, Plan};
use crate::problem::Problem;
use crate::routes::{Ask, Infeasible, ROUTES, Route, Step, Tile, TileRule};
use crate::stage::Stage;

/// Makes plans for a device.
#[derive(Clone, Debug)]
#[must_use]
pub struct Planner {
    limits: Limits,
    rule: TileRule,
    route: Option<&'static Route>,
}

/// Every route's answer to a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// The best plan of each feasible route, or under [`TileRule::Exhaustive`] all of them,
    /// fastest first by estimate.
    pub candidates: Vec<Plan>,
    /// The routes that were not feasible, in the order of the table.
    pub declined: Vec<Declined>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The route that was asked for cannot serve the problem.
    #[error("route {route} cannot serve {problem} on {device}: {why}")]
    Infeasible {
        /// The route asked for.
        route: &'static str,
        /// The problem.
        problem: Box<Problem>,
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
        let ask = Ask::new(problem, &self.limits, self.rule);
        let (mut best, mut declined): (Option<Plan>, _) = (None, Vec::new());
        for route in self.routes() {
            let bound = best.as_ref().map_or(f64::INFINITY, |plan| plan.seconds);
            if self.least_seconds(route, problem) >= bound {
                continue;
            }
            match self.on_route(route, &ask, bound) {
                Ok(plans) => best = plans.into_iter().next().or(best),
                Err(why) => declined.push(Declined { route: route.name, why }),
            }
        }
        let Some(best) = best else {
            let Declined { route, why } = declined.swap_remove(0);
            let device = self.limits.name.to_string();
            return Err(PlanError::Infeasible { route, problem: Box::new(*problem), device, why });
        };
        let rank = |name| ROUTES.iter().position(|route| route.name == name);
        declined.retain(|other| {
            other.why != Infeasible::ElementsMove && rank(other.route) < rank(best.route)
        });
        Ok(Plan { declined, ..best })
    }

    /// Every route's answer, feasible ones ranked.
    pub fn survey(&self, problem: &Problem) -> Survey {
        let ask = Ask::new(problem, &self.limits, self.rule);
        let (mut candidates, mut declined) = (Vec::new(), Vec::new());
        for route in self.routes() {
            match self.on_route(route, &ask, f64::INFINITY) {
                Ok(plans) => candidates.extend(plans),
                Err(why) => declined.push(Declined { route: route.name, why }),
            }
        }
        candidates.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Survey { candidates, declined }
    }

    fn routes(&self) -> impl Iterator<Item = &'static Route> {
        ROUTES.iter().filter(|route| self.route.is_none_or(|only| only.name == route.name))
    }

    /// Less than any plan of `route` can take: its passes at the device's best rate.
    fn least_seconds(&self, route: &Route, problem: &Problem) -> f64 {
        let Limits { rates, units, kind, .. } = &self.limits;
        let threads = if *kind == DeviceKind::Host { *units } else { 1 };
        let pass = 2.0 * problem.bytes() as f64 / (rates.copy * threads as f64 * rates.peak());
        route.passes as f64 * (rates.start + pass)
    }

    /// The plans of `route` that take less than `bound` seconds: the best one, or under
    /// [`TileRule::Exhaustive`] all, fastest first. None of them, without an error, when the route is
    /// feasible but not within the bound.
    fn on_route(&self, route: &Route, ask: &Ask, bound: f64) -> Result<Vec<Plan>, Infeasible> {
        let tiles = (route.tiles)(ask)?;
        let (mut plans, mut why, mut bound) = (Vec::new(), None, bound);
        let mut feasible = false;
        for tile in tiles {
            match self.within(route, ask.problem, tile, bound) {
                Ok(Some(plan)) => {
                    if self.rule != TileRule::Exhaustive {
                        bound = plan.seconds;
                        plans.clear();
                    }
                    plans.push(plan);
                }
                Ok(None) => feasible = true,
                Err(reason) => why = Some(least_short(why, reason)),
            }
        }
        match why {
            Some(why) if plans.is_empty() && !feasible => Err(why),
            _ => {
                plans.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
                Ok(plans)
            }
        }
    }

    /// Every tile that `route` could use, whatever the planner's own rule.
    pub fn all_tiles(&self, route: &Route, problem: &Problem) -> Result<Vec<Tile>, Infeasible> {
        let mut tiles = (route.tiles)(&Ask::new(problem, &self.limits, TileRule::Exhaustive))?;
        // The thesis's slot lengths are no powers of two.
        if let Ok(more) = (route.tiles)(&Ask::new(problem, &self.limits, TileRule::Thesis)) {
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
        let plan = self.within(route, problem, tile, f64::INFINITY)?;
        Ok(plan.expect("every plan takes less than forever"))
    }

    /// The same, or nothing as soon as it is sure to take `bound` seconds or more.
    fn within(
        &self,
        route: &Route,
        problem: &Problem,
        tile: Tile,
        bound: f64,
    ) -> Result<Option<Plan>, Infeasible> {
        let (mut stages, mut seconds, mut workspace_bytes) = (Vec::new(), 0.0, 0);
        for step in (route.steps)(problem, self.limits.kind, tile) {
            if step.shape.is_identity() {
                continue;
            }
            let (cost, stage) = self.stage(&step, problem)?;
            seconds += cost;
            if seconds >= bound {
                return Ok(None);
            }
            workspace_bytes = stage.launch.workspace_bytes(self.limits.kind).max(workspace_bytes);
            stages.push(stage);
        }
        Ok(Some(Plan {
            problem: *problem,
            device: self.limits.name.clone(),
            kind: self.limits.kind,
            route: route.name,
            tile,
            workspace_bytes,
            seconds,
            stages,
            declined: Vec::new(),
        }))
    }

    /// The fastest method for a step within the cap, and its seconds.
    ///
    /// A host's scratch grows with its threads: where all of them need more than the cap, half of
    /// them may not.
    fn stage(&self, step: &Step, problem: &Problem) -> Result<(f64, Stage), Infeasible> {
        let (mut units, mut short) = (self.limits.units, None);
        let mut slow = None;
        loop {
            let fewer;
            let limits = if units == self.limits.units {
                &self.limits
            } else {
                fewer = Limits { units, ..self.limits.clone() };
                &fewer
            };
            match self.stage_on(limits, step, problem) {
                // Cycles without flags are for when nothing else is left.
                Ok(found) if found.1.method == Method::PerCycle => slow = slow.or(Some(found)),
                Ok(found) => return Ok(found),
                Err(why) => short = Some(short.map_or(why.clone(), |s| least_short(Some(s), why))),
            }
            if units == 1 || self.limits.kind == DeviceKind::Gpu {
                break;
            }
            units /= 2;
        }
        slow.ok_or_else(|| short.expect("an error, if not a stage"))
    }

    fn stage_on(
        &self,
        limits: &Limits,
        step: &Step,
        problem: &Problem,
    ) -> Result<(f64, Stage), Infeasible> {
        let (elem_bytes, cap) = (problem.elem_bytes(), self.limits.cap(problem));
        let workspace = |stage: &Stage| stage.launch.workspace_bytes(limits.kind);
        let mut options = method::stages(step.shape, elem_bytes, limits)?;
        options.retain(|stage| step.want.accepts(&stage.method));
        let Some(need) = options.iter().map(workspace).min() else {
            let need = step.shape.instance_len() * elem_bytes;
            let have = limits.group_bytes.max(limits.grid_bytes());
            return Err(Infeasible::OnChip { need, have });
        };
        options
            .into_iter()
            .filter(|stage| workspace(stage) <= cap)
            .map(|stage| (cost::seconds(&stage, elem_bytes, limits), stage))
            .min_by(|(a, _), (b, _)| a.total_cmp(b))
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
