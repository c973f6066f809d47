//! The result of planning.

use std::fmt;

use crate::infeasible::Infeasible;
use crate::offer::Stage;

use crate::problem::Problem;
use crate::recipe::Recipe;
use crate::routes::{Route, Tile};

/// A route that the planner would have preferred, and why it could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declined {
    /// The route.
    pub route: Route,
    /// What stood in the way.
    pub why: Infeasible,
}

/// A full transposition as a sequence of stages: inert data, for any backend to run.
///
/// `Display` prints it on a line in dimension notation; `{:#}` prints everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it transposes.
    pub problem: Problem,
    /// The device it was made for.
    pub device: String,
    /// The route.
    pub route: Route,
    /// Whether that is the route of the transposed problem, run backwards.
    pub mirrored: bool,
    /// The route's tile; of a mirrored route, for the transposed problem.
    pub tile: Tile,
    /// The stages, in order; none when nothing moves.
    pub stages: Vec<Stage>,
    /// Bytes beyond the matrix while it runs: the largest of the stages' workspaces, which share
    /// one allocation.
    pub workspace_bytes: usize,
    /// Estimated seconds.
    pub seconds: f64,
    /// Routes further up the table that were not feasible.
    pub declined: Vec<Declined>,
}

impl Plan {
    /// Trips of the whole matrix through memory.
    pub fn passes(&self) -> usize {
        self.stages.len()
    }

    /// What makes it again.
    pub fn recipe(&self) -> Recipe {
        Recipe {
            route: self.route.name().to_owned(),
            mirrored: self.mirrored,
            tile: self.tile,
            ways: self.stages.iter().map(|stage| stage.offer.way()).collect(),
        }
    }

    /// Elements from the first one on that it uses while it runs: the problem's, or more where it
    /// pads them. What lies behind the problem's is lost.
    pub fn room(&self) -> usize {
        let spans = self.stages.iter().map(|stage| stage.shape.spans());
        spans.fold(self.problem.len(), |room, (read, written)| room.max(read).max(written))
    }

    /// Bytes of that room.
    pub fn room_bytes(&self) -> usize {
        self.room().saturating_mul(self.problem.elem_bytes())
    }

    /// Where the element at `offset` of the batch ends: the stages' maps one after the other.
    pub fn dest(&self, offset: usize) -> usize {
        self.stages.iter().fold(offset, |at, stage| stage.shape.dest(at))
    }

    /// Estimated GB/s: twice the matrix's bytes over the estimated seconds; no number where nothing
    /// moves.
    pub fn gb_per_s(&self) -> f64 {
        2.0 * self.problem.bytes() as f64 / self.seconds / 1e9
    }

    /// The route as it is printed: `panel`, `panel mirrored`.
    pub fn route_name(&self) -> String {
        format!("{}{}", self.route, if self.mirrored { " mirrored" } else { "" })
    }

    /// The plan's line without the problem and the device: route and stages.
    fn write_stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.route_name())?;
        for (k, stage) in self.stages.iter().enumerate() {
            write!(f, "{} {stage}", if k == 0 { ":" } else { " ->" })?;
        }
        Ok(())
    }

    fn write_in_full(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "problem    {}, {} bytes", self.problem, self.problem.bytes())?;
        writeln!(f, "device     {}", self.device)?;
        writeln!(f, "route      {} (tile {} x {})", self.route_name(), self.tile.m, self.tile.n)?;
        writeln!(f, "passes     {}", self.passes())?;
        writeln!(f, "workspace  {} bytes", self.workspace_bytes)?;
        if self.room() > self.problem.len() {
            writeln!(f, "room       {} bytes, the matrix's included", self.room_bytes())?;
        }
        write!(f, "estimate   {:.3} ms", self.seconds * 1e3)?;
        if self.passes() > 0 {
            write!(f, ", {:.1} GB/s", self.gb_per_s())?;
        }
        for (k, stage) in self.stages.iter().enumerate() {
            write!(f, "\nstage {}    {stage}", k + 1)?;
            for line in stage.offer.geometry.to_string().lines() {
                write!(f, "\n           {line}")?;
            }
        }
        for Declined { route, why } in &self.declined {
            write!(f, "\nnot        {route}: {why}")?;
        }
        Ok(())
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
        write!(f, "; {passes} pass{plural}, workspace {} bytes", self.workspace_bytes)?;
        if self.room() > self.problem.len() {
            write!(f, ", room {} bytes", self.room_bytes())?;
        }
        Ok(())
    }
}
