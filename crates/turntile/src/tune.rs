//! Candidates measured on the host.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use turntile_cpu::{Executor, RunError, Workspace};
use turntile_plan::{Measured, Plan, Planner, Problem, tuner};

use crate::Error;

/// A route whose best plan is estimated to take so many times as long as the best of all waits its
/// turn like any other tile.
const IN_REACH: f64 = 5.0;

/// The candidates in the order in which they are tried: by estimate, but the best of each route in
/// reach before further tiles of any. At least one.
pub fn candidates(planner: &Planner, problem: &Problem) -> Result<Vec<Plan>, Error> {
    // Fails with the reason when no candidate serves the problem.
    planner.plan(problem)?;
    let all = planner.survey(problem).candidates;
    let (reach, mut seen) = (IN_REACH * all[0].seconds, HashSet::new());
    let (mut first, rest): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|plan| plan.seconds <= reach && seen.insert((plan.route, plan.mirrored)));
    first.extend(rest);
    Ok(first)
}

/// Measures the planner's candidates for about `budget`, on memory of its own; fastest first, at
/// least one.
pub fn tune(
    planner: &Planner,
    problem: &Problem,
    threads: usize,
    budget: Duration,
) -> Result<Vec<Measured>, Error> {
    let candidates = candidates(planner, problem)?;
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
