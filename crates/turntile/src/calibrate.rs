//! A table of costs made from what this machine does.
//!
//! The stages of the candidates of some two dozen problems are timed, each by itself beside a copy, and the
//! curves of the device's table are moved to what they reached. Results never depend on it, only which plan is tried first.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use turntile_cpu::Host;
use turntile_plan::costs::Sample;
use turntile_plan::{Costs, Plan, Planner, Problem, Stage};

use crate::Error;
use crate::planned::{Options, Planned};
use crate::tune::filled;
use crate::view::Bytes;

/// A table that was made here, and what it changes.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The table.
    pub costs: Costs,
    /// Stages that were timed.
    pub stages: usize,
    /// The problems of those tried whose plan is another now.
    pub changes: Vec<Change>,
    /// Problems tried.
    pub problems: usize,
}

impl Calibration {
    /// Writes the table, whole or not at all, as [`Transpose::rates`](crate::Transpose::rates) reads it.
    ///
    /// # Errors
    /// What the system says of the file.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        fs::write(&beside, self.costs.text())?;
        fs::rename(&beside, path)
    }
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

/// Bytes of the problems: more than the caches of server processors hold.
const BYTES: usize = 192 << 20;
/// Of the plans of a problem, those that are estimated to take at most so many times as long as the best, and the first.
const REACH: f64 = 4.0;
const PLANS: usize = 16;
/// Runs of a stage that count, of which the middle one does.
const RUNS: usize = 3;
/// Stages that are timed however little time there is.
const LEAST: usize = 8;
/// Quantities in steps of a square root of two are told apart.
const STEPS: f64 = 2.0;

/// What is tried: sides, bytes of an element, and of some the axes.
fn problems(bytes: usize) -> Vec<Problem> {
    let elements = |elem_bytes: usize| bytes / elem_bytes;
    let mut all = Vec::new();
    let mut matrix = |rows: usize, cols: usize, elem_bytes| {
        all.extend(Problem::new(rows.max(1), cols.max(1), elem_bytes));
    };
    for elem_bytes in [4, 1, 2, 8, 16, 3, 12] {
        // The side of a square, as a multiple of 60.
        let side = elements(elem_bytes).isqrt() / 60 * 60;
        matrix(side, side, elem_bytes);
        matrix(side * 4 / 3, side * 3 / 4, elem_bytes);
        matrix(side + 1, side - 1, elem_bytes);
        matrix(elements(elem_bytes) / 8, 8, elem_bytes);
        matrix(6, elements(elem_bytes) / 6, elem_bytes);
    }
    for few in [3, 19, 64] {
        matrix(elements(4) / few, few, 4);
        matrix(few, elements(4) / few, 4);
    }
    let side = elements(4).isqrt();
    // Powers of two, whose cycles are short.
    matrix(side.next_power_of_two() / 2, side.next_power_of_two() / 2 * 3 / 4, 4);
    let images = (elements(4) / (96 * 56 * 56)).max(1);
    let cube = (1..).take_while(|k| k * k * k * 7 <= elements(4)).last().unwrap_or(1);
    for (extents, axes) in [
        (vec![images, 96, 56, 56], vec![0, 2, 3, 1]),
        (vec![images, 56, 56, 96], vec![0, 3, 1, 2]),
        (vec![cube, 2 * cube, 7 * cube / 2], vec![2, 1, 0]),
        (vec![elements(4) / (16 * 24 * 128), 16, 24, 128], vec![0, 2, 1, 3]),
        (vec![elements(4) / (395 * 32), 395, 32], vec![1, 0, 2]),
    ] {
        all.extend(Problem::permuted(&extents, &axes, 4));
    }
    all
}

/// The stages of the plans that a table makes for the problems, each by itself, of those that decide alike the first; the
/// best plans' of all problems come before the others.
fn stages(bench: &HostBench, costs: &Costs, problems: &[Problem]) -> Vec<Plan> {
    let planner = bench.planner(costs);
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
            let sample = bench.sample(costs, stage, elem_bytes, stage.offer.seconds);
            let Some(Sample { operation, quantities, .. }) = sample else { continue };
            let step = |quantity: &f64| (quantity.max(1e-9).log2() * STEPS).round() as i64;
            let key = (operation, quantities.iter().map(step).collect::<Vec<_>>());
            let (shape, offer) = (stage.shape, stage.offer.clone());
            let alone = Plan::of_stage(&plan.device, shape, offer, elem_bytes * stage.joined);
            if let Ok(alone) = alone
                && seen.insert(key)
            {
                all.push(alone);
            }
        }
    }
    all
}

/// Times stages one after the other until the time is up, the first few in any case.
fn samples(
    bench: &mut HostBench,
    costs: &Costs,
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
        bench.seconds(plan)?;
        let runs: Result<Vec<f64>, Error> = (0..RUNS).map(|_| bench.seconds(plan)).collect();
        let (stage, elem_bytes) = (&plan.legs[0].stages[0], plan.problem.elem_bytes());
        all.extend(bench.sample(costs, stage, elem_bytes, median(runs?)));
        done();
    }
    Ok(all)
}

fn median(mut runs: Vec<f64>) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs[runs.len() / 2]
}

/// What a table makes of the problems that another made.
fn changes(bench: &HostBench, before: &Costs, after: &Costs, problems: &[Problem]) -> Vec<Change> {
    let (old, new) = (bench.planner(before), bench.planner(after));
    let change = |problem: &Problem| {
        let (was, is) = (old.plan(problem).ok()?, new.plan(problem).ok()?);
        if was.recipe() == is.recipe() {
            return None;
        }
        // The old plan's seconds as the new table has them.
        let again = new.remake(problem, &was.recipe()).ok().flatten()?;
        Some(Change { gain: again.seconds / is.seconds, before: was, after: is })
    };
    problems.iter().filter_map(change).collect()
}

/// Measures this machine's processor for about `budget`, with memory for some 400 MB: with one thread, and with `threads`
/// and half as many how they share. `progress` is told shares of the work, up to 1.
///
/// # Errors
/// [`Error::Run`]: there is no memory to measure on.
pub fn calibrate(
    threads: usize,
    budget: Duration,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration, Error> {
    calibrate_on(BYTES, threads, budget, progress)
}

fn calibrate_on(
    bytes: usize,
    threads: usize,
    budget: Duration,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration, Error> {
    let start = Instant::now();
    let from = format!("turntile calibrate, {threads} threads");
    let mut bench = HostBench { threads: 1, data: filled(bytes)? };
    let speeds = doubling(threads).into_iter().map(|count| Ok((count, bench.copy(count)?)));
    let speeds: Result<Vec<_>, Error> = speeds.collect();
    let host = Host::here(1).copying(&speeds?, &from);
    let (base, problems) = (host.costs().clone(), problems(bytes));
    let (counts, mut all) = (sampled(threads), Vec::new());
    for (number, &count) in counts.iter().enumerate() {
        bench.threads = count;
        // One thread has half of the time, unless it is alone.
        let others = (counts.len() - 1).max(1) as f64;
        let share = if counts.len() == 1 { 1.0 } else { 0.5 + 0.5 * number as f64 / others };
        let stages = stages(&bench, &base, &problems);
        let mut done =
            || progress((start.elapsed().as_secs_f64() / budget.as_secs_f64()).min(share));
        all.extend(samples(&mut bench, &base, &stages, start + budget.mul_f64(share), &mut done)?);
    }
    let fitted = host.fitted(&all, &from);
    progress(1.0);
    bench.threads = threads;
    let about = format!("{} by {from}: {} stages", Host::here(1).processor(), all.len());
    let costs = fitted.costs().clone().named(Host::here(1).processor(), &about);
    let before = Host::here(threads);
    let changes = changes(&bench, before.costs(), &costs, &problems);
    Ok(Calibration { costs, stages: all.len(), changes, problems: problems.len() })
}

/// Numbers of threads that copies are timed by: one, two, four and so on, and all.
fn doubling(threads: usize) -> Vec<usize> {
    let doubling = std::iter::successors(Some(1), |count| Some(count * 2));
    doubling.take_while(|&count| count < threads).chain([threads.max(1)]).collect()
}

/// And stages: one, which the table's curves are of, half of all and all.
fn sampled(threads: usize) -> Vec<usize> {
    let mut counts = vec![1, threads / 2, threads];
    counts.retain(|&count| count > 0);
    counts.dedup();
    counts
}

struct HostBench {
    threads: usize,
    data: Vec<u8>,
}

impl HostBench {
    fn host(&self, costs: &Costs) -> Host {
        Host::here(self.threads).with_costs(costs.clone())
    }

    /// Bytes a second, read and written, of a copy by so many threads.
    fn copy(&mut self, threads: usize) -> Result<f64, Error> {
        let bytes = self.data.len();
        // A row out of place is a copy.
        let problem = Problem::new(1, bytes, 1)?.out_of_place();
        let planned = Planned::new(Planner::new(Host::here(threads)).plan(&problem)?, threads)?;
        let mut to = filled(bytes)?;
        let mut run = || {
            let start = Instant::now();
            planned.run_into(&mut Bytes(&mut to), &Bytes(&self.data))?;
            Ok(start.elapsed().as_secs_f64())
        };
        let runs: Result<Vec<f64>, Error> = (0..2 * RUNS).map(|_| run()).collect();
        Ok(2.0 * bytes as f64 / median(runs?))
    }

    /// Plans by a table.
    fn planner(&self, costs: &Costs) -> Planner {
        Planner::new(self.host(costs))
    }

    /// What a stage's seconds say, beside a copy as the table has it.
    fn sample(
        &self,
        costs: &Costs,
        stage: &Stage,
        elem_bytes: usize,
        seconds: f64,
    ) -> Option<Sample> {
        self.host(costs).sample(stage, elem_bytes, seconds)
    }

    /// Seconds of a plan of one stage.
    fn seconds(&mut self, plan: &Plan) -> Result<f64, Error> {
        let planned = Planned::new(plan.clone(), self.threads)?;
        let room = plan.room_bytes();
        if self.data.len() < room {
            self.data = filled(room)?;
        }
        let mut workspace = planned.workspace()?;
        let data = &mut Bytes(&mut self.data[..room]);
        let start = Instant::now();
        planned.run_with(data, Options::new().workspace(&mut workspace))?;
        Ok(start.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_made_that_plans_as_it_was_measured() {
        let (mut last, budget) = (0.0, Duration::from_millis(300));
        let mut progress = |share: f64| {
            assert!((last..=1.0).contains(&share), "{last} to {share}");
            last = share;
        };
        let made = calibrate_on(4 << 20, 2, budget, &mut progress).unwrap();
        assert_eq!(last, 1.0);
        assert!(made.stages > 0 && made.problems > 40);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rates.json");
        made.save(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let read = Host::costs_from(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read, made.costs);
        assert_eq!(read.device(), Host::here(2).processor());
        for Change { before, after, gain } in made.changes {
            assert!(gain >= 1.0 && before.problem == after.problem, "{before}, {after}: {gain}");
        }
    }

    #[test]
    fn problems_are_as_large_as_asked_for() {
        for bytes in [4 << 20, BYTES] {
            for problem in problems(bytes) {
                let share = problem.bytes() as f64 / bytes as f64;
                assert!((0.15..1.02).contains(&share), "{problem}: {share}");
            }
        }
    }

    #[test]
    fn one_thread_is_always_measured() {
        for (threads, copies, stages) in [
            (1, &[1][..], &[1][..]),
            (2, &[1, 2], &[1, 2]),
            (6, &[1, 2, 4, 6], &[1, 3, 6]),
            (16, &[1, 2, 4, 8, 16], &[1, 8, 16]),
        ] {
            assert_eq!((&*doubling(threads), &*sampled(threads)), (copies, stages));
        }
    }
}
