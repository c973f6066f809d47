//! The processor that this runs on.

use std::time::{Duration, Instant};

use anyhow::Result;
use turntile::Transposer;
use turntile::mode::Dynamic;
use turntile::plan::{CostTable, CpuDevice, Plan, Planner, Problem};
use turntile::run::{RunOptions, Workspace, pool};
use turntile_plan::tuner::median;

use super::calibration::{Calibration, FEW_BYTES, HOST_BYTES};
use super::problems;
use super::processor::{copying, fitted, starting, using_all};
use super::samples::{Budget, Tried, Watch};

/// What parts of the bytes are tried too, which caches may hold some of.
const SMALL: [usize; 5] = [192, 96, 48, 12, 4];
/// Bytes of the smallest.
const LEAST_BYTES: usize = 1 << 20;
/// Weights of what one thread does with what is small, of each size, and with what is large, and of what more threads do.
const SMALL_WEIGHT: f64 = 0.04;
const LARGE_WEIGHT: f64 = 0.4;
const SHARED_WEIGHT: f64 = 0.4;
/// The share of the time after which a table is made, whose own plans are measured, and how often that is.
const FIRST: f64 = 0.6;
const AGAIN: usize = 3;

/// Measures this machine's processor for about `budget`, with memory for some 600 MB: copies and how long threads take to
/// start by one, two, four and so on to `threads`, stages by as many; then those of the plans that are made from
/// what was measured. `progress` is called with shares of the work, up to 1.
///
/// # Errors
/// What the engine cannot do: there is no memory to measure on.
pub fn calibrate(
    threads: usize,
    budget: Duration,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration> {
    calibrate_on(HOST_BYTES, threads, budget, progress)
}

pub(super) fn calibrate_on(
    bytes: usize,
    threads: usize,
    budget: Duration,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration> {
    let (budget, threads) = (Budget::new(budget), threads.max(1));
    let here = CpuDevice::here(threads);
    let from = format!("turntile-lab calibrate, {threads} threads");
    let workspace = Workspace::new(0)?;
    let mut bench = HostBench { data: vec![0xA5; bytes], other: vec![0xA5; bytes], workspace };
    let counts = doubling(threads);
    let copies = counts.iter().map(|&count| Ok((count, bench.copy(count)?)));
    let copies: Result<Vec<_>> = copies.collect();
    let starts: Vec<_> = counts
        .iter()
        .filter(|&&count| count > 1)
        .map(|&count| (count, start_seconds(count)))
        .collect();
    // From the table that was made by hand, not from what another machine measured.
    let base = starting(&copying(CpuDevice::new(1).costs(), &copies?, &from), &starts);
    let sizes = SMALL.map(|part| (bytes / part).max(LEAST_BYTES));
    let (small, large) = (sizes.map(problems::in_place), problems::both(bytes));
    let mut done = || progress(budget.over());
    let (mut tried, mut all) = (Tried::default(), Vec::new());
    let on = |count: usize, costs: &CostTable| CpuDevice::here(count).with_costs(costs.clone());
    let alone = on(1, &base);
    let mut lists: Vec<_> =
        small.iter().map(|problems| (tried.first(&alone, problems), SMALL_WEIGHT)).collect();
    lists.push((tried.first(&alone, &large), LARGE_WEIGHT));
    let every: Vec<_> = small.iter().chain([&large]).flatten().cloned().collect();
    for &count in &counts[1..] {
        // What there is work for fewer in is timed by those.
        let stages = tried.first(&on(count, &using_all(&base, count)), &every);
        let stages = stages.only(|stage| CpuDevice::threads_of(stage) == count);
        lists.push((stages, SHARED_WEIGHT / (counts.len() - 1) as f64));
    }
    all.extend(tried.time(lists, &alone, &mut bench, budget.after(FIRST), &mut done)?);
    // What a table is wrong about is found by those who plan by it.
    for again in 1..=AGAIN {
        let made = fitted(&base, &all, &from);
        let best = |&count: &usize| (tried.best(&on(count, &made), &every), 1.0);
        let lists = counts.iter().map(best).collect();
        let share = FIRST + (1.0 - FIRST) * again as f64 / AGAIN as f64;
        all.extend(tried.time(lists, &alone, &mut bench, budget.after(share), &mut done)?);
    }
    progress(1.0);
    let about = format!("{} by {from}: {} stages", here.processor(), all.len());
    let costs = fitted(&base, &all, &from).named(here.processor(), &about);
    let mut problems = problems::both(HOST_BYTES);
    problems.extend(problems::in_place(FEW_BYTES));
    let by = |costs: &CostTable| here.clone().with_costs(costs.clone());
    Ok(Calibration::new([here.costs(), &base], costs, &all, &problems, by))
}

/// Numbers of threads that are timed: one, two, four and so on, and all.
fn doubling(threads: usize) -> Vec<usize> {
    let doubling = std::iter::successors(Some(1), |count: &usize| count.checked_mul(2));
    doubling.take_while(|&count| count < threads).chain([threads]).collect()
}

/// Pauses between starts that are timed, long enough for threads to fall asleep as they do between calls.
const PAUSE: Duration = Duration::from_millis(1);
/// Starts that are timed, of which the middle one counts.
const STARTS: usize = 41;
/// Runs of a stage that are timed, after one that finds no pages and cold caches; twice as many copies.
const RUNS: usize = 3;

/// Seconds that `threads` threads of the pool take to start and to be waited for, with nothing to do.
fn start_seconds(threads: usize) -> f64 {
    let start = |_| {
        // A caller is awake, its threads are not.
        let pause = Instant::now();
        while pause.elapsed() < PAUSE {
            std::hint::spin_loop();
        }
        let start = Instant::now();
        pool::for_each(0..threads, |_| {});
        start.elapsed()
    };
    median(&(0..STARTS).map(start).collect::<Vec<_>>()).as_secs_f64()
}

struct HostBench {
    data: Vec<u8>,
    other: Vec<u8>,
    /// The largest that was needed: its pages are there.
    workspace: Workspace,
}

impl HostBench {
    /// Bytes a second, read and written, of a copy by so many threads.
    fn copy(&mut self, threads: usize) -> Result<f64> {
        let bytes = self.data.len();
        // A row out of place is a copy.
        let problem = Problem::new(1, bytes, 1)?.out_of_place()?;
        let here = CpuDevice::here(threads);
        let by = here.clone().with_costs(using_all(here.costs(), threads));
        let plan = Planner::new(by).plan(&problem)?;
        let planned = Transposer::new(plan, threads)?;
        let runs: Result<Vec<_>> = (0..2 * RUNS).map(|_| self.run(&planned, bytes)).collect();
        Ok(2.0 * bytes as f64 / median(&runs?).as_secs_f64())
    }

    fn run(&mut self, planned: &Transposer<Dynamic>, bytes: usize) -> Result<Duration> {
        let (data, out_of_place) =
            (&mut self.data[..bytes], planned.plan().problem.is_out_of_place());
        let start = Instant::now();
        if out_of_place {
            planned.run_into(data, &mut self.other[..bytes])?;
        } else {
            planned.run(data, RunOptions::new().workspace(&mut self.workspace))?;
        }
        Ok(start.elapsed())
    }
}

impl Watch for HostBench {
    fn seconds(&mut self, plan: &Plan) -> Result<f64> {
        let threads = plan.stages().map(CpuDevice::threads_of).max().unwrap_or(1);
        let planned = Transposer::new(plan.clone(), threads)?;
        let bytes = plan.problem.bytes();
        if self.data.len() < bytes {
            self.data.resize(bytes, 0xA5);
        }
        if self.workspace.bytes() < planned.workspace_bytes() {
            self.workspace = planned.workspace()?;
        }
        self.run(&planned, bytes)?;
        let runs: Result<Vec<_>> = (0..RUNS).map(|_| self.run(&planned, bytes)).collect();
        Ok(median(&runs?).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_is_always_measured() {
        for (threads, counts) in
            [(1, &[1][..]), (2, &[1, 2]), (6, &[1, 2, 4, 6]), (16, &[1, 2, 4, 8, 16])]
        {
            assert_eq!(&*doubling(threads), counts);
        }
        assert_eq!(doubling(usize::MAX).len(), 1 + usize::BITS as usize);
    }
}
