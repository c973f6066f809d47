//! Candidates measured on the host.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use turntile_cpu::{RunError, Workspace};
use turntile_plan::tuner::{self, OnMeasured};
use turntile_plan::{Measurement, Plan, Planner, Problem};

use crate::Error;
use crate::elements::RawElements;
use crate::transposer::{RunOptions, Transposer};

/// A route whose best plan is estimated to take so many times as long as the best of all waits its
/// turn like any other tile.
const IN_REACH: f64 = 5.0;

/// The candidates in the order in which they are tried: by estimate, but the best of each route,
/// mirrored and not, in reach before further tiles of any. At least one.
pub fn candidates(planner: &Planner, problem: &Problem) -> Result<Vec<Plan>, Error> {
    // Fails with the reason when the problem has no candidate.
    planner.plan(problem)?;
    let all = planner.survey(problem).candidates;
    let (reach, mut seen) = (IN_REACH * all[0].seconds, HashSet::new());
    let (mut first, rest): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|plan| plan.seconds <= reach && seen.insert((plan.route(), plan.mirrored())));
    first.extend(rest);
    Ok(first)
}

/// Runs `plans` on up to `threads` threads of the host for about `budget`, on memory of its own
/// that is as large as what they need, and returns those that ran, fastest first: at least one,
/// unless there is none.
///
/// Each runs once in the order given while half of the budget lasts, then the fastest up to five
/// times; see [`Measurement`].
///
/// # Errors
/// [`Error::Run`] when a plan was put together wrongly, or there is no memory for it.
pub fn measure(
    plans: Vec<Plan>,
    threads: usize,
    budget: Duration,
) -> Result<Vec<Measurement>, Error> {
    measure_seen(plans, threads, budget, &mut |_, _, _| {})
}

pub(crate) fn measure_seen(
    plans: Vec<Plan>,
    threads: usize,
    budget: Duration,
    seen: OnMeasured<'_>,
) -> Result<Vec<Measurement>, Error> {
    let most = |bytes: fn(&Plan) -> usize| plans.iter().map(bytes).max().unwrap_or(0);
    let mut data = filled(most(|plan| plan.problem.bytes()))?;
    let copied =
        |plan: &Plan| if plan.problem.is_out_of_place() { plan.problem.bytes() } else { 0 };
    let mut other = filled(most(copied))?;
    let run = |plan: &Plan| {
        let planned = Transposer::new(plan.clone(), threads)?;
        let mut workspace = Workspace::new(planned.workspace_bytes())?;
        let data = &mut data[..plan.problem.bytes()];
        let start = Instant::now();
        if plan.problem.is_out_of_place() {
            planned.run_into(
                &RawElements(data),
                &mut RawElements(&mut other[..plan.problem.bytes()]),
            )?;
        } else {
            let options = RunOptions::new().workspace(&mut workspace);
            planned.run_with(&mut RawElements(data), options)?;
        }
        Ok(start.elapsed())
    };
    tuner::measure(plans, budget, run, seen)
}

/// Memory that has been written to.
pub fn filled(bytes: usize) -> Result<Vec<u8>, Error> {
    let mut data = Vec::new();
    data.try_reserve_exact(bytes).map_err(|_| RunError::OutOfMemory { bytes })?;
    data.resize(bytes, 0xA5u8);
    Ok(data)
}
