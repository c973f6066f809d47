//! Stages timed one by one: what a table is moved to, of any device.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use turntile_plan::cost_table::Sample;
use turntile_plan::{CostTable, Device, Plan, Planner, Problem, Stage};

use crate::calibrate::fit;

/// A device with a table of costs that can be moved to what was measured.
pub trait Tabled: Device + Clone + 'static {
    /// What stages that took so many seconds say, beside a copy as the table has it.
    fn sample(&self, stage: &Stage, elem_bytes: usize, seconds: f64) -> Option<Sample>;
}

impl Tabled for turntile_cpu::CpuDevice {
    fn sample(&self, stage: &Stage, elem_bytes: usize, seconds: f64) -> Option<Sample> {
        self.sample(stage, elem_bytes, seconds)
    }
}

impl Tabled for turntile_cuda::GpuDevice {
    fn sample(&self, stage: &Stage, elem_bytes: usize, seconds: f64) -> Option<Sample> {
        self.sample(stage, elem_bytes, seconds)
    }
}

/// What runs plans of one stage and says how long they took.
pub trait Watch {
    /// The median of several runs, on memory of its own, after some that are not counted.
    fn seconds(&mut self, plan: &Plan) -> Result<f64>;
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

/// How long is measured for, from a moment on.
#[derive(Clone, Copy)]
pub struct Budget {
    start: Instant,
    time: Duration,
}

/// Longer than anybody waits, and not too long for a clock.
const LONGEST: Duration = Duration::from_secs(1 << 32);

impl Budget {
    /// Of so much time, from now on.
    pub fn new(time: Duration) -> Self {
        Budget { start: Instant::now(), time: time.min(LONGEST) }
    }

    /// When that share of it is over.
    pub fn after(self, share: f64) -> Instant {
        self.start + self.time.mul_f64(share)
    }

    /// The share of it that is over, up to 1.
    pub fn over(self) -> f64 {
        // Of no time at all too: `min` passes over what is no number.
        (self.start.elapsed().as_secs_f64() / self.time.as_secs_f64()).min(1.0)
    }
}

/// Of the plans of a problem, those that are estimated to take at most so many times as long as the best, and the first.
const REACH: f64 = 4.0;
const PLANS: usize = 16;
/// The same of plans that a device chooses.
const BEST_REACH: f64 = 1.4;
const BEST_PLANS: usize = 4;
/// Stages that are timed however little time there is.
const LEAST: usize = 8;
/// Quantities are distinguished in steps of a square root of two.
const STEPS: f64 = 2.0;

/// What decides how fast a stage is: its operation, and the quantities in steps.
type Key = (usize, Vec<i64>);

/// The stages that have been timed.
#[derive(Default)]
pub struct Tried(HashSet<Key>);

/// Stages to be timed, each by itself, and what decides how fast they are.
pub struct Stages(Vec<(Key, Plan)>);

impl Tried {
    /// The stages of the plans that a device makes for the problems, of those that decide alike the first, which has not been
    /// tried; the best plans' of all problems come before the others.
    pub fn first(&self, device: &impl Tabled, problems: &[Problem]) -> Stages {
        self.stages(device, problems, PLANS, REACH)
    }

    /// The same of the plans that a device may choose alone.
    pub fn best(&self, device: &impl Tabled, problems: &[Problem]) -> Stages {
        self.stages(device, problems, BEST_PLANS, BEST_REACH)
    }

    fn stages(
        &self,
        device: &impl Tabled,
        problems: &[Problem],
        most: usize,
        reach: f64,
    ) -> Stages {
        let planner = Planner::new(device.clone());
        let mut ranked: Vec<(usize, Plan)> = Vec::new();
        for problem in problems {
            let mut plans = planner.candidates(problem).candidates;
            let reach = reach * plans.first().map_or(0.0, |plan| plan.seconds);
            plans.retain(|plan| plan.seconds <= reach);
            plans.truncate(most);
            ranked.extend(plans.into_iter().enumerate());
        }
        ranked.sort_by_key(|entry| entry.0);
        let (mut seen, mut all) = (self.0.clone(), Vec::new());
        for (_, plan) in &ranked {
            for stage in plan.stages() {
                let Some(key) = key(device, plan, stage) else { continue };
                if seen.insert(key.clone()) {
                    all.extend(alone(plan, stage).map(|plan| (key, plan)));
                }
            }
        }
        Stages(all)
    }

    /// Times the stages of several lists, each list in its order, until the time is up, the first few of each in any case.
    /// Lists take turns, so that what else the machine does strikes all alike: the next is the one that has had the least
    /// time for its weight.
    pub fn time(
        &mut self,
        lists: Vec<(Stages, f64)>,
        device: &impl Tabled,
        watch: &mut dyn Watch,
        until: Instant,
        done: &mut dyn FnMut(),
    ) -> Result<Vec<Sample>> {
        let mut all = Vec::new();
        let queue = |(stages, weight): (Stages, f64)| Queue {
            stages: stages.0.into_iter(),
            timed: 0,
            had: 0.0,
            weight,
        };
        let mut queues: Vec<Queue> = lists.into_iter().map(queue).collect();
        loop {
            let late = Instant::now() >= until;
            queues.retain(|queue| queue.stages.len() > 0 && !(late && queue.timed >= LEAST));
            let next = queues.iter_mut().min_by(|a, b| a.had.total_cmp(&b.had));
            let Some(queue) = next else { return Ok(all) };
            let Some((key, plan)) = queue.stages.next() else { continue };
            let start = Instant::now();
            // Another list may have brought the same.
            if self.0.insert(key) {
                let seconds = watch.seconds(&plan)?;
                let elem_bytes = plan.problem.itemsize();
                all.extend(plan.stages().filter_map(|s| device.sample(s, elem_bytes, seconds)));
            }
            queue.timed += 1;
            queue.had += start.elapsed().as_secs_f64() / queue.weight;
            done();
        }
    }
}

/// A list that is being timed: what it has left, how many it has had timed, and how long that took for its weight.
struct Queue {
    stages: std::vec::IntoIter<(Key, Plan)>,
    timed: usize,
    had: f64,
    weight: f64,
}

fn key(device: &impl Tabled, plan: &Plan, stage: &Stage) -> Option<Key> {
    let sample = device.sample(stage, plan.problem.itemsize(), stage.implementation.seconds)?;
    let step = |quantity: &f64| (quantity.max(1e-9).log2() * STEPS).round() as i64;
    Some((sample.operation, sample.quantities.iter().map(step).collect()))
}

impl Stages {
    /// Those of a kind.
    pub fn only(self, is: impl Fn(&Stage) -> bool) -> Self {
        Stages(self.0.into_iter().filter(|(_, plan)| plan.stages().all(&is)).collect())
    }

    /// Each.
    #[cfg(test)]
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        self.0.iter().map(|(_, plan)| plan)
    }
}

/// A stage by itself; from one buffer to another every plan is of one.
fn alone(plan: &Plan, stage: &Stage) -> Option<Plan> {
    if plan.problem.is_out_of_place() {
        return (plan.passes() == 1).then(|| plan.clone());
    }
    let elem_bytes = plan.problem.itemsize() * stage.elems_per_unit;
    Plan::from_stage(&plan.device, stage.map.clone(), stage.implementation.clone(), elem_bytes).ok()
}

/// How many times as fast or as slow as a table says samples are: the geometric mean.
pub fn off(costs: &CostTable, samples: &[Sample]) -> f64 {
    let logarithms: f64 = samples.iter().map(|sample| fit::over(costs, sample).ln().abs()).sum();
    (logarithms / samples.len().max(1) as f64).exp()
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
        let again = new.rebuild(problem, &was.recipe()).ok().flatten()?;
        Some(Change { gain: again.seconds / is.seconds, before: was, after: is })
    };
    let changes: Vec<Change> = problems.iter().filter_map(change).collect();
    let logarithms: f64 = changes.iter().map(|change| change.gain.ln()).sum();
    (changes, (logarithms / problems.len().max(1) as f64).exp())
}
