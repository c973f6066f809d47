//! The processor that this runs on.

use std::time::{Duration, Instant};

use turntile_cpu::{Host, start_seconds};
use turntile_plan::{Plan, Planner, Problem};

use super::problems;
use super::samples::{self, RUNS, Watch, median};
use super::{Calibration, HOST_BYTES, Measured};
use crate::Error;
use crate::planned::{Options, Planned};
use crate::tune::filled;
use crate::view::Bytes;

/// Shares of the bytes that caches may hold, and of the time that stages of each are timed for.
const SMALL: [usize; 4] = [192, 96, 48, 12];
const SMALL_SHARE: f64 = 0.03;
/// Bytes of the smallest.
const LEAST_BYTES: usize = 1 << 20;

/// Measures this machine's processor for about `budget`, with memory for some 600 MB: copies and how long threads take to
/// start by one, two, four and so on to `threads`, stages by one, which has half of the time, and by as many.
/// `progress` is told shares of the work, up to 1.
///
/// Nothing is written; [`Calibration::save`] does.
///
/// # Errors
/// [`Error::Run`]: there is no memory to measure on.
pub fn calibrate(
    threads: usize,
    budget: Duration,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration, Error> {
    calibrate_on(HOST_BYTES, threads, budget, progress)
}

pub(super) fn calibrate_on(
    bytes: usize,
    threads: usize,
    budget: Duration,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration, Error> {
    let (start, threads) = (Instant::now(), threads.max(1));
    let here = Host::here(threads);
    let from = format!("turntile calibrate, {threads} threads");
    let mut bench = HostBench { threads: 1, data: filled(bytes)?, other: filled(bytes)? };
    let counts = doubling(threads);
    let copies = counts.iter().map(|&count| Ok((count, bench.copy(count)?)));
    let copies: Result<Vec<_>, Error> = copies.collect();
    let starts: Vec<_> = counts
        .iter()
        .filter(|&&count| count > 1)
        .map(|&count| (count, start_seconds(count)))
        .collect();
    let base = Host::here(1).copying(&copies?, &from).starting(&starts);
    let problems = problems::both(bytes);
    let mut all = Vec::new();
    bench.threads = 1;
    for small in SMALL.map(|share| (bytes / share).max(LEAST_BYTES)) {
        let device = Host::here(1).with_costs(base.costs().clone());
        let stages = samples::stages(&device, &problems::in_place(small));
        let until = Instant::now() + budget.mul_f64(SMALL_SHARE);
        all.extend(samples::samples(&device, &mut bench, &stages, until, &mut || {})?);
    }
    for (number, &count) in counts.iter().enumerate() {
        bench.threads = count;
        let device = Host::here(count).with_costs(base.costs().clone());
        // One thread has half of the time, unless it is alone.
        let others = (counts.len() - 1).max(1) as f64;
        let share = if counts.len() == 1 { 1.0 } else { 0.5 + 0.5 * number as f64 / others };
        // What there is work for fewer in was timed by those.
        let mut stages = samples::stages(&device.clone().using_all(), &problems);
        stages.retain(|plan| plan.stages().all(|stage| Host::threads_of(stage) == count));
        let mut done =
            || progress((start.elapsed().as_secs_f64() / budget.as_secs_f64()).min(share));
        let until = start + budget.mul_f64(share);
        all.extend(samples::samples(&device, &mut bench, &stages, until, &mut done)?);
    }
    progress(1.0);
    let about = format!("{} by {from}: {} stages", here.processor(), all.len());
    let costs = base.fitted(&all, &from).costs().clone().named(here.processor(), &about);
    Ok(Calibration::new(Measured::Host(here), costs, all.len()))
}

/// Numbers of threads that are timed: one, two, four and so on, and all.
fn doubling(threads: usize) -> Vec<usize> {
    let doubling = std::iter::successors(Some(1), |count| Some(count * 2));
    doubling.take_while(|&count| count < threads).chain([threads]).collect()
}

struct HostBench {
    threads: usize,
    data: Vec<u8>,
    other: Vec<u8>,
}

impl HostBench {
    /// Bytes a second, read and written, of a copy by so many threads.
    fn copy(&mut self, threads: usize) -> Result<f64, Error> {
        let bytes = self.data.len();
        // A row out of place is a copy.
        let problem = Problem::new(1, bytes, 1)?.out_of_place();
        let by = Host::here(threads).using_all();
        let planned = Planned::new(Planner::new(by).plan(&problem)?, threads)?;
        let mut run = || {
            let start = Instant::now();
            planned.run_into(&mut Bytes(&mut self.other), &Bytes(&self.data))?;
            Ok(start.elapsed().as_secs_f64())
        };
        let runs: Result<Vec<f64>, Error> = (0..2 * RUNS).map(|_| run()).collect();
        Ok(2.0 * bytes as f64 / median(runs?))
    }
}

impl Watch for HostBench {
    fn seconds(&mut self, plan: &Plan) -> Result<f64, Error> {
        let planned = Planned::new(plan.clone(), self.threads)?;
        let room = plan.room_bytes();
        if self.data.len() < room {
            self.data = filled(room)?;
        }
        let data = &mut Bytes(&mut self.data[..room]);
        if plan.problem.is_out_of_place() {
            let to = &mut Bytes(&mut self.other[..room]);
            let start = Instant::now();
            planned.run_into(to, data)?;
            return Ok(start.elapsed().as_secs_f64());
        }
        let mut workspace = planned.workspace()?;
        let start = Instant::now();
        planned.run_with(data, Options::new().workspace(&mut workspace))?;
        Ok(start.elapsed().as_secs_f64())
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
    }
}
