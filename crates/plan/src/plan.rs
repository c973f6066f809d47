//! The result of planning.

use std::fmt;

use turntile_perm::FusedAxes;

use crate::implementation::{Implementation, Method, Stage};
use crate::infeasible::Infeasible;
use crate::problem::{Problem, ProblemError};
use crate::routes::{Route, TileSize};
use crate::stage_map::StageMap;
use crate::units;

/// A route that the planner would have preferred, and why it is not possible.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectedRoute {
    /// The route.
    pub route: Route,
    /// What stood in the way.
    pub reason: Infeasible,
}

/// A permutation of axes as a sequence of stages: inert data, for any backend to run.
///
/// `Display` prints it on a line in dimension notation; `{:#}` prints everything.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// What it permutes.
    pub problem: Problem,
    /// The device it was made for.
    pub device: String,
    /// The parts that it is done in, in order: of matrices one; none when nothing moves.
    pub phases: Vec<Phase>,
    /// Bytes beyond the data while it runs: what is [kept](Self::kept_bytes) of gaps, and the largest of the stages'
    /// workspaces, which share one allocation.
    pub workspace_bytes: usize,
    /// Estimated seconds.
    pub seconds: f64,
    /// Routes further up the table that were not feasible for the whole.
    pub rejected: Vec<RejectedRoute>,
}

/// A part of a plan: the axes brought into another order by one route.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Phase {
    /// The order in which the problem's fused axes lie after it.
    pub order: Vec<usize>,
    /// The route.
    pub route: Route,
    /// Whether that is the route of the inverse, run backwards.
    pub mirrored: bool,
    /// The route's tile; of a mirrored route, for the inverse.
    pub tile: TileSize,
    /// The stages, in order.
    pub stages: Vec<Stage>,
}

impl Phase {
    /// The route as it is printed: `panel`, `panel mirrored`.
    pub fn route_name(&self) -> String {
        format!("{}{}", self.route, if self.mirrored { " mirrored" } else { "" })
    }
}

/// A plan's choices, without what follows from them: those of each leg.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Recipe {
    /// The legs, in order.
    pub phases: Vec<PhaseRecipe>,
}

/// The choices of a leg.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PhaseRecipe {
    /// The order in which the problem's fused axes lie after it.
    pub order: Vec<usize>,
    /// The route's name.
    pub route: String,
    /// Whether it is mirrored.
    pub mirrored: bool,
    /// Its tile.
    pub tile: TileSize,
    /// The way of each stage, as [`Implementation::way`] has it.
    pub variants: Vec<String>,
}

impl Recipe {
    /// The routes' names, as they are printed.
    pub fn routes(&self) -> String {
        let names: Vec<&str> = self.phases.iter().map(|leg| leg.route.as_str()).collect();
        names.join(" + ")
    }

    /// The ways of all stages.
    pub fn variants(&self) -> String {
        let ways: Vec<&str> =
            self.phases.iter().flat_map(|leg| &leg.variants).map(String::as_str).collect();
        ways.join(", ")
    }
}

impl Plan {
    /// Of one stage over elements in a row, so that any shape can be run by itself.
    ///
    /// # Errors
    /// [`ProblemError`]: the shape's bytes do not fit the address space.
    pub fn of_stage(
        device: impl Into<String>,
        shape: StageMap,
        offer: Implementation,
        elem_bytes: usize,
    ) -> Result<Self, ProblemError> {
        // Counted before spans are multiplied out.
        let too_large = || ProblemError::TooLarge {
            extents: vec![shape.batch(), shape.instance_len()],
            elem_bytes,
        };
        shape.counted_len().ok_or_else(too_large)?;
        let (read, written) = shape.spans();
        let problem = Problem::new(1, read.max(written), elem_bytes)?;
        let problem = match offer.method {
            Method::OutOfPlace => problem.out_of_place()?,
            _ => problem,
        };
        let (workspace_bytes, seconds) = (offer.workspace_bytes, offer.seconds);
        let tile = TileSize { m: 1, n: 1 };
        let stages = vec![Stage::new(shape, offer)];
        let leg = Phase { order: Vec::new(), route: Route::NOTHING, mirrored: false, tile, stages };
        let device = device.into();
        Ok(Plan {
            problem,
            device,
            phases: vec![leg],
            workspace_bytes,
            seconds,
            rejected: Vec::new(),
        })
    }

    /// All stages, in order.
    pub fn stages(&self) -> impl Iterator<Item = &Stage> + Clone {
        self.phases.iter().flat_map(|leg| &leg.stages)
    }

    /// Trips of the whole array through memory.
    pub fn passes(&self) -> usize {
        self.stages().map(Stage::passes).sum()
    }

    /// Bytes at the workspace's start that hold what is kept of gaps: the stages' own workspace begins behind them.
    pub fn saved_gap_bytes(&self) -> usize {
        let kept = |stage: &Stage| match stage.map {
            StageMap::Gaps { leading, .. } => self.problem.kept_bytes_of(&leading),
            _ => 0,
        };
        self.stages().map(kept).max().unwrap_or(0)
    }

    /// The route, where there is one leg; `nothing` where there is none, `several` otherwise.
    pub fn route(&self) -> Route {
        match &self.phases[..] {
            [] => Route::NOTHING,
            [leg] => leg.route,
            _ => Route::SEVERAL,
        }
    }

    /// Whether the one leg is mirrored.
    pub fn mirrored(&self) -> bool {
        matches!(&self.phases[..], [leg] if leg.mirrored)
    }

    /// The first leg's tile; the whole as one row where nothing moves.
    pub fn tile(&self) -> TileSize {
        let whole = TileSize { m: self.problem.rows(), n: self.problem.cols() };
        self.phases.first().map_or(whole, |leg| leg.tile)
    }

    /// What makes it again.
    pub fn recipe(&self) -> Recipe {
        let recipe = |leg: &Phase| PhaseRecipe {
            order: leg.order.clone(),
            route: leg.route.name().to_owned(),
            mirrored: leg.mirrored,
            tile: leg.tile,
            variants: leg.stages.iter().map(|stage| stage.implementation.name()).collect(),
        };
        Recipe { phases: self.phases.iter().map(recipe).collect() }
    }

    /// Where the element at `offset` ends: the stages' maps one after the other.
    pub fn dest(&self, offset: usize) -> usize {
        self.stages().fold(offset, |at, stage| stage.dest(at))
    }

    /// Estimated GB/s: twice the matrix's bytes over the estimated seconds; no number where nothing
    /// moves.
    pub fn gb_per_s(&self) -> f64 {
        2.0 * self.problem.bytes() as f64 / self.seconds / 1e9
    }

    /// The routes as they are printed: `panel`, `panel mirrored`, `panel + one-stage`.
    pub fn route_name(&self) -> String {
        if self.phases.is_empty() {
            return Route::NOTHING.to_string();
        }
        let names: Vec<String> = self.phases.iter().map(Phase::route_name).collect();
        names.join(" + ")
    }

    /// What it comes to, in a sentence: `Moves 51.8 MB in 2 passes, about 4.7 ms, 937.8 KB of extra memory.`
    pub fn summary(&self) -> String {
        if self.passes() == 0 {
            return "Moves nothing.".to_owned();
        }
        let plural = if self.passes() == 1 { "" } else { "es" };
        let memory = match self.workspace_bytes {
            0 => "no".to_owned(),
            some => format!("{} of", units::bytes(some)),
        };
        format!(
            "Moves {} in {} pass{plural}, about {}, {memory} extra memory.",
            units::bytes(self.problem.bytes()),
            self.passes(),
            units::duration(self.seconds),
        )
    }

    /// The plan's line without the problem and the device: routes and stages.
    fn write_stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.route_name())?;
        for (k, stage) in self.stages().enumerate() {
            write!(f, "{} {stage}", if k == 0 { ":" } else { " ->" })?;
        }
        Ok(())
    }

    fn write_in_full(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "problem    {}, {} bytes", self.problem, self.problem.bytes())?;
        writeln!(f, "device     {}", self.device)?;
        match &self.phases[..] {
            [] => writeln!(f, "route      nothing")?,
            [Phase { tile, .. }] => {
                writeln!(f, "route      {} (tile {} x {})", self.route_name(), tile.m, tile.n)?;
            }
            _ => writeln!(f, "routes     {}", self.route_name())?,
        }
        writeln!(f, "passes     {}", self.passes())?;
        writeln!(f, "workspace  {} bytes", self.workspace_bytes)?;
        write!(f, "estimate   {:.3} ms", self.seconds * 1e3)?;
        if self.passes() > 0 {
            write!(f, ", {:.1} GB/s", self.gb_per_s())?;
        }
        let (fused, mut number) = (self.problem.fused(), 0);
        for (k, leg) in self.phases.iter().enumerate() {
            if self.phases.len() > 1 {
                let TileSize { m, n } = leg.tile;
                write!(f, "\nleg {:<7}", k + 1)?;
                // Records lie in tiles, not in axes.
                if self.problem.records().is_none() {
                    write!(f, "to axes {} ", self.axes_in(&fused, &leg.order))?;
                }
                write!(f, "by {} (tile {m} x {n})", leg.route_name())?;
            }
            for stage in &leg.stages {
                number += 1;
                write!(f, "\nstage {number}    {stage}")?;
                for line in stage.implementation.launch_config.to_string().lines() {
                    write!(f, "\n           {line}")?;
                }
            }
        }
        for RejectedRoute { route, reason: why } in &self.rejected {
            write!(f, "\nnot        {route}: {why}")?;
        }
        Ok(())
    }

    /// The axes as given in an order of the fused ones: `0, 2 3, 1`.
    fn axes_in(&self, fused: &FusedAxes, order: &[usize]) -> String {
        let given = |&axis: &usize| {
            let axes: Vec<String> = fused.given(axis).iter().map(usize::to_string).collect();
            axes.join(" ")
        };
        order.iter().map(given).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return self.write_in_full(f);
        }
        write!(f, "{} on {}: ", self.problem, self.device)?;
        self.write_stages(f)?;
        let passes = self.passes();
        let plural = if passes == 1 { "" } else { "es" };
        write!(f, "; {passes} pass{plural}, workspace {} bytes", self.workspace_bytes)
    }
}
