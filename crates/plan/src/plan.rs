//! Plans: the result of planning.

use std::fmt;

use turntile_perm::FusedAxes;

use crate::implementation::{Implementation, Method, Stage};
use crate::infeasible::Infeasible;
use crate::problem::{Problem, ProblemError};
use crate::routes::{Route, TileSize};
use crate::stage_map::StageMap;
use crate::units;

/// Infeasible route, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectedRoute {
    /// The route.
    pub route: Route,
    /// Reason for the rejection.
    pub reason: Infeasible,
}

/// Sequence of stages that solves a problem: plain data that any backend can execute.
///
/// `Display` prints one line in dimension notation; `{:#}` prints all details.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// Problem that the plan solves.
    pub problem: Problem,
    /// Name of the device that the plan was made for.
    pub device: String,
    /// Phases in execution order. Empty if nothing moves; one phase for contiguous matrices.
    pub phases: Vec<Phase>,
    /// Workspace in bytes: the [saved gaps](Self::saved_gap_bytes) plus the largest workspace of
    /// any other stage. All stages share one allocation.
    pub workspace_bytes: usize,
    /// Estimated seconds.
    pub seconds: f64,
    /// Infeasible routes that precede the chosen one in the route table, or all for several phases.
    /// Empty for leading dimensions and records, and unless [`Planner::plan`](crate::Planner::plan)
    /// made the plan.
    pub rejected: Vec<RejectedRoute>,
}

/// Phase of a plan: the stages of one route. For axis permutations, they permute the axes to an
/// intermediate or to the final order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Phase {
    /// Order of the problem's fused axes after the phase. Empty for record conversions and plans of a
    /// single stage.
    pub order: Vec<usize>,
    /// Route of the phase.
    pub route: Route,
    /// `true` if the route is mirrored: its stages are those of the inverse permutation, inverted
    /// and in reverse order, or its own mirrored stages.
    pub mirrored: bool,
    /// Tile of the route. For a mirrored route, the tile for the inverse permutation.
    pub tile: TileSize,
    /// Stages in execution order.
    pub stages: Vec<Stage>,
}

impl Phase {
    /// Returns the route name as printed: `panel`, `panel mirrored`.
    pub fn route_name(&self) -> String {
        format!("{}{}", self.route, if self.mirrored { " mirrored" } else { "" })
    }
}

/// Recipe of a plan: the choices from which the planner can rebuild it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Recipe {
    /// Choices of each phase, in execution order.
    pub phases: Vec<PhaseRecipe>,
}

/// Choices of one phase.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PhaseRecipe {
    /// Order of the problem's fused axes after the phase.
    pub order: Vec<usize>,
    /// Name of the route.
    pub route: String,
    /// `true` if the route is mirrored.
    pub mirrored: bool,
    /// Tile of the route.
    pub tile: TileSize,
    /// Implementation of each stage, by [name](Implementation::name).
    pub variants: Vec<String>,
}

impl Recipe {
    /// Returns the names of all routes, as printed: `panel + one-stage`.
    pub fn routes(&self) -> String {
        let names: Vec<&str> = self.phases.iter().map(|phase| phase.route.as_str()).collect();
        names.join(" + ")
    }

    /// Returns the implementation names of all stages, separated by commas.
    pub fn variants(&self) -> String {
        let names: Vec<&str> =
            self.phases.iter().flat_map(|phase| &phase.variants).map(String::as_str).collect();
        names.join(", ")
    }
}

impl Plan {
    /// Creates a plan of one stage over a flat array, to execute an index map on its own.
    ///
    /// # Errors
    /// [`ProblemError::TooLarge`]: the elements of the map exceed the address space.
    /// [`ProblemError::ZeroSizedElement`]: `elem_bytes` is 0.
    pub fn from_stage(
        device: impl Into<String>,
        map: StageMap,
        implementation: Implementation,
        elem_bytes: usize,
    ) -> Result<Self, ProblemError> {
        // The length is checked first, because spans are computed without overflow checks.
        let too_large = || ProblemError::TooLarge {
            extents: vec![map.batch(), map.instance_len()],
            elem_bytes,
        };
        map.counted_len().ok_or_else(too_large)?;
        let (read, written) = map.spans();
        let problem = Problem::new(1, read.max(written), elem_bytes)?;
        let problem = match implementation.method {
            Method::OutOfPlace => problem.out_of_place()?,
            _ => problem,
        };
        let Implementation { workspace_bytes, seconds, .. } = implementation;
        let tile = TileSize { m: 1, n: 1 };
        let stages = vec![Stage::new(map, implementation)];
        let phase =
            Phase { order: Vec::new(), route: Route::NOTHING, mirrored: false, tile, stages };
        let device = device.into();
        Ok(Plan {
            problem,
            device,
            phases: vec![phase],
            workspace_bytes,
            seconds,
            rejected: Vec::new(),
        })
    }

    /// Iterates over all stages in execution order.
    pub fn stages(&self) -> impl Iterator<Item = &Stage> + Clone {
        self.phases.iter().flat_map(|phase| &phase.stages)
    }

    /// Returns the number of times that the plan reads and writes the whole array.
    pub fn passes(&self) -> usize {
        self.stages().map(Stage::passes).sum()
    }

    /// Returns the number of bytes at the start of the workspace that store saved gap elements.
    pub fn saved_gap_bytes(&self) -> usize {
        let saved = |stage: &Stage| match stage.map {
            StageMap::Gaps { gaps, .. } => self.problem.saved_gap_bytes_of(&gaps),
            _ => 0,
        };
        self.stages().map(saved).max().unwrap_or(0)
    }

    /// Returns the route of a plan with one phase.
    ///
    /// Returns [`Route::NOTHING`] without phases and [`Route::SEVERAL`] for several phases.
    pub fn route(&self) -> Route {
        match &self.phases[..] {
            [] => Route::NOTHING,
            [phase] => phase.route,
            _ => Route::SEVERAL,
        }
    }

    /// Returns `true` if the plan has a single phase and it is mirrored.
    pub fn mirrored(&self) -> bool {
        matches!(&self.phases[..], [phase] if phase.mirrored)
    }

    /// Returns the tile of the first phase, or the whole matrix if nothing moves.
    pub fn tile(&self) -> TileSize {
        let whole = TileSize { m: self.problem.rows(), n: self.problem.cols() };
        self.phases.first().map_or(whole, |phase| phase.tile)
    }

    /// Returns the recipe from which [`Planner::rebuild`](crate::Planner::rebuild) rebuilds the plan.
    #[doc(hidden)]
    pub fn recipe(&self) -> Recipe {
        let recipe = |phase: &Phase| PhaseRecipe {
            order: phase.order.clone(),
            route: phase.route.name().to_owned(),
            mirrored: phase.mirrored,
            tile: phase.tile,
            variants: phase.stages.iter().map(|stage| stage.implementation.name()).collect(),
        };
        Recipe { phases: self.phases.iter().map(recipe).collect() }
    }

    /// Returns the final offset of the element at `offset`: composes the index maps of all stages.
    pub fn dest(&self, offset: usize) -> usize {
        self.stages().fold(offset, |at, stage| stage.dest(at))
    }

    /// Returns the estimated GB/s: twice the bytes of the problem divided by the estimated seconds.
    ///
    /// NaN or infinite if nothing moves.
    pub fn gb_per_s(&self) -> f64 {
        2.0 * self.problem.bytes() as f64 / self.seconds / 1e9
    }

    /// Returns the routes as printed: `panel`, `panel mirrored`, `panel + one-stage`.
    pub fn route_name(&self) -> String {
        if self.phases.is_empty() {
            return Route::NOTHING.to_string();
        }
        let names: Vec<String> = self.phases.iter().map(Phase::route_name).collect();
        names.join(" + ")
    }

    /// Summarises the plan in one sentence.
    ///
    /// Example: `Moves 51.8 MB in 2 passes, about 4.7 ms, 937.8 KB of extra memory.`
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

    /// Writes routes and stages on one line.
    fn write_stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.route_name())?;
        for (k, stage) in self.stages().enumerate() {
            write!(f, "{} {stage}", if k == 0 { ":" } else { " ->" })?;
        }
        Ok(())
    }

    /// Writes all details, on several lines.
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
        for (k, phase) in self.phases.iter().enumerate() {
            if self.phases.len() > 1 {
                let TileSize { m, n } = phase.tile;
                write!(f, "\nleg {:<7}", k + 1)?;
                // Phases of record conversions have no axis order.
                if self.problem.records().is_none() {
                    write!(f, "to axes {} ", self.axes_in(&fused, &phase.order))?;
                }
                write!(f, "by {} (tile {m} x {n})", phase.route_name())?;
            }
            for stage in &phase.stages {
                number += 1;
                write!(f, "\nstage {number}    {stage}")?;
                for line in stage.implementation.launch_config.to_string().lines() {
                    write!(f, "\n           {line}")?;
                }
            }
        }
        for RejectedRoute { route, reason } in &self.rejected {
            write!(f, "\nnot        {route}: {reason}")?;
        }
        Ok(())
    }

    /// Formats `order`, an order of fused axes, as the caller's axes: `0, 2 3, 1`.
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
