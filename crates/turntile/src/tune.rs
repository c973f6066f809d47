//! Measuring candidate plans on the host.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use turntile_cpu::{RunError, Workspace};
use turntile_plan::tuner::{self, OnMeasured};
use turntile_plan::{Measurement, Plan, Planner, Problem};

use crate::Error;
#[cfg(doc)]
use crate::ErrorKind;
use crate::mode::Dynamic;
use crate::run::RunOptions;
use crate::transposer::Transposer;

/// Maximum ratio of estimated seconds to the best estimate of all plans, with which the best plan
/// of a route is among those measured first. Other plans are measured in the order of estimates.
const MAX_FIRST_RATIO: f64 = 5.0;

/// Returns the candidate plans in the order in which they are measured; at least one.
///
/// The best plan of each route, mirrored and not, comes first if it is within `MAX_FIRST_RATIO`.
/// All others follow. Both groups are sorted by estimate.
pub fn candidates(planner: &Planner, problem: &Problem) -> Result<Vec<Plan>, Error> {
    // If the problem has no candidate plan, this returns the reason.
    planner.plan(problem)?;
    let all = planner.candidates(problem).candidates;
    let (limit, mut seen) = (MAX_FIRST_RATIO * all[0].seconds, HashSet::new());
    let (mut first, rest): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|plan| plan.seconds <= limit && seen.insert((plan.route(), plan.mirrored())));
    first.extend(rest);
    Ok(first)
}

/// Runs `plans` on up to `threads` host threads for about `budget` and returns the measured ones,
/// fastest first. Returns at least one unless `plans` is empty.
///
/// Plans run on host memory allocated here, of the size that the largest needs. The first plan runs
/// uncounted warm-ups. Then each plan runs once, in the given order, until half of the budget is
/// spent, and the fastest run again, up to five times in total.
///
/// # Errors
/// [`ErrorKind::Plan`] if a plan is invalid, [`ErrorKind::OutOfMemory`].
#[cfg(feature = "measure")]
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
    let result_bytes =
        |plan: &Plan| if plan.problem.is_out_of_place() { plan.problem.bytes() } else { 0 };
    let mut result = filled(most(result_bytes))?;
    let run = |plan: &Plan| {
        let planned = Transposer::<Dynamic>::new(plan.clone(), threads)?;
        let mut workspace = Workspace::new(planned.workspace_bytes())?;
        let data = &mut data[..plan.problem.bytes()];
        let start = Instant::now();
        if plan.problem.is_out_of_place() {
            planned.run_into(data, &mut result[..plan.problem.bytes()])?;
        } else {
            planned.run(data, RunOptions::new().workspace(&mut workspace))?;
        }
        Ok(start.elapsed())
    };
    tuner::measure(plans, budget, run, seen)
}

/// Returns `bytes` bytes of host memory that has been written to, so that its pages are resident.
pub fn filled(bytes: usize) -> Result<Vec<u8>, Error> {
    let mut data = Vec::new();
    data.try_reserve_exact(bytes).map_err(|_| RunError::OutOfMemory { bytes })?;
    data.resize(bytes, 0xA5u8);
    Ok(data)
}
