//! Stages timed one by one: what a table is moved to, of any device.

use std::collections::HashSet;
use std::time::Instant;

use turntile_plan::costs::Sample;
use turntile_plan::{Device, Plan, Planner, Problem, Stage};

use crate::Error;

/// A device with a table of costs that can be moved to what was measured.
pub trait Tabled: Device + Clone + 'static {
    /// What stages that took so many seconds say, beside a copy as the table has it.
    fn sample(&self, stage: &Stage, elem_bytes: usize, seconds: f64) -> Option<Sample>;
}

impl Tabled for turntile_cpu::Host {
    fn sample(&self, stage: &Stage, elem_bytes: usize, seconds: f64) -> Option<Sample> {
        self.sample(stage, elem_bytes, seconds)
    }
}

impl Tabled for turntile_cuda::Chip {
    fn sample(&self, stage: &Stage, elem_bytes: usize, seconds: f64) -> Option<Sample> {
        self.sample(stage, elem_bytes, seconds)
    }
}

/// What runs plans of one stage and says how long they took.
pub trait Watch {
    /// Seconds of a run, on memory of its own.
    fn seconds(&mut self, plan: &Plan) -> Result<f64, Error>;
}

/// A problem whose plan is another under the new table.
#[derive(Clone, Debug)]
pub struct Change {
    /// The plan before.
    pub before: Plan,
    /// The plan now.
    pub after: Plan,
    /// How many times as fast it is expected to be, by the new table.
    pub gain: f64,
}

/// Of the plans of a problem, those that are estimated to take at most so many times as long as the best, and the first.
const REACH: f64 = 4.0;
const PLANS: usize = 16;
/// Runs of a stage that count, of which the middle one does.
pub const RUNS: usize = 3;
/// Stages that are timed however little time there is.
const LEAST: usize = 8;
/// Quantities in steps of a square root of two are told apart.
const STEPS: f64 = 2.0;

/// The stages of the plans that a device makes for the problems, each by itself, of those that decide alike the first; the
/// best plans' of all problems come before the others.
pub fn stages(device: &impl Tabled, problems: &[Problem]) -> Vec<Plan> {
    let planner = Planner::new(device.clone());
    let mut ranked: Vec<(usize, Plan)> = Vec::new();
    for problem in problems {
        let mut plans = planner.survey(problem).candidates;
        let reach = REACH * plans.first().map_or(0.0, |plan| plan.seconds);
        plans.retain(|plan| plan.seconds <= reach);
        plans.truncate(PLANS);
        ranked.extend(plans.into_iter().enumerate());
    }
    ranked.sort_by_key(|entry| entry.0);
    let (mut seen, mut all) = (HashSet::new(), Vec::new());
    for (_, plan) in &ranked {
        let elem_bytes = plan.problem.elem_bytes();
        for stage in plan.stages() {
            let sample = device.sample(stage, elem_bytes, stage.offer.seconds);
            let Some(Sample { operation, quantities, .. }) = sample else { continue };
            let step = |quantity: &f64| (quantity.max(1e-9).log2() * STEPS).round() as i64;
            let key = (operation, quantities.iter().map(step).collect::<Vec<_>>());
            if seen.insert(key) {
                all.extend(alone(plan, stage));
            }
        }
    }
    all
}

/// A stage by itself; from one buffer to another every plan is of one.
fn alone(plan: &Plan, stage: &Stage) -> Option<Plan> {
    if plan.problem.is_out_of_place() {
        return (plan.passes() == 1).then(|| plan.clone());
    }
    let elem_bytes = plan.problem.elem_bytes() * stage.joined;
    Plan::of_stage(&plan.device, stage.shape, stage.offer.clone(), elem_bytes).ok()
}

/// Times stages one after the other until the time is up, the first few in any case.
pub fn samples(
    device: &impl Tabled,
    watch: &mut dyn Watch,
    stages: &[Plan],
    until: Instant,
    done: &mut dyn FnMut(),
) -> Result<Vec<Sample>, Error> {
    let mut all = Vec::new();
    for (number, plan) in stages.iter().enumerate() {
        if number >= LEAST && Instant::now() >= until {
            break;
        }
        // The first run finds no pages and cold caches.
        watch.seconds(plan)?;
        let runs: Result<Vec<f64>, Error> = (0..RUNS).map(|_| watch.seconds(plan)).collect();
        for stage in plan.stages() {
            all.extend(device.sample(stage, plan.problem.elem_bytes(), median(runs.clone()?)));
        }
        done();
    }
    Ok(all)
}

/// The middle one.
pub fn median(mut runs: Vec<f64>) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs[runs.len() / 2]
}

/// What a table makes of the problems that another made, and how many times as fast all are expected to be, on average.
pub fn changes(
    before: &impl Tabled,
    after: &impl Tabled,
    problems: &[Problem],
) -> (Vec<Change>, f64) {
    let (old, new) = (Planner::new(before.clone()), Planner::new(after.clone()));
    let change = |problem: &Problem| {
        let (was, is) = (old.plan(problem).ok()?, new.plan(problem).ok()?);
        if was.recipe() == is.recipe() {
            return None;
        }
        // The old plan's seconds as the new table has them.
        let again = new.remake(problem, &was.recipe()).ok().flatten()?;
        Some(Change { gain: again.seconds / is.seconds, before: was, after: is })
    };
    let changes: Vec<Change> = problems.iter().filter_map(change).collect();
    let logarithms: f64 = changes.iter().map(|change| change.gain.ln()).sum();
    (changes, (logarithms / problems.len().max(1) as f64).exp())
}
