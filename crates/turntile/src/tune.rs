//! Candidates measured on the host.

use std::time::{Duration, Instant};

use turntile_cpu::{Executor, RunError, Workspace};
use turntile_plan::{Measured, Plan, Planner, Problem, tuner};

use crate::Error;

/// Measures the planner's candidates for about `budget`, on memory of its own; fastest first, at
/// least one.
pub fn tune(
    planner: &Planner,
    problem: &Problem,
    threads: usize,
    budget: Duration,
) -> Result<Vec<Measured>, Error> {
    // Fails with the reason when no candidate serves the problem.
    planner.plan(problem)?;
    let candidates = planner.survey(problem).candidates;
    let bytes = candidates.iter().map(Plan::room_bytes).max().unwrap_or(0);
    let mut data = Vec::new();
    data.try_reserve_exact(bytes).map_err(|_| RunError::OutOfMemory { bytes })?;
    data.resize(bytes, 0xA5u8);
    let run = |plan: &Plan| {
        let executor = Executor::new(plan.clone(), threads)?;
        let mut workspace = Workspace::new(executor.workspace_bytes())?;
        let start = Instant::now();
        executor.run_bytes(&mut data[..plan.room_bytes()], &mut workspace)?;
        Ok(start.elapsed())
    };
    tuner::measure(candidates, budget, run).map_err(|error: RunError| error.into())
}
