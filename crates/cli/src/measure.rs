//! Verifies a transposition, then times it and a copy of the same bytes in the same run: for
//! `turntile bench` and the lab's benchmarks.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use turntile::gpu::{CudaError, Gpu, Stopwatch};
use turntile::mode::Dynamic;
use turntile::plan::{Plan, Problem};
use turntile::run::{RunOptions, Workspace};
use turntile::{Transpose, Transposer};
use turntile_plan::tuner::median;

use crate::device::BenchDevice;
use crate::memory::{AnonymousMap, Pages};

/// Settings of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Threads of a host; all unless said.
    pub threads: Option<NonZeroUsize>,
    /// The pages of a host's memory.
    pub pages: Pages,
    /// Number of runs; the median counts. Default: 7 on a host, 21 on a GPU.
    pub runs: Option<NonZeroUsize>,
}

impl How {
    /// Threads that work.
    pub fn threads(self) -> usize {
        self.threads.map_or_else(turntile::run::pool::thread_count, usize::from)
    }
}

/// Result of a measurement; times are medians.
pub struct Figures {
    /// Bytes of workspace.
    pub workspace_bytes: usize,
    /// Seconds per run.
    pub seconds: f64,
    /// Seconds per byte of a copy.
    pub copy_seconds_per_byte: f64,
    /// To make the plan again once the device is known and the kernels are loaded.
    pub planning: Duration,
    /// The host's share of a run on a GPU: what it takes to queue it.
    pub queueing: Option<Duration>,
    /// Plan that ran.
    pub plan: Plan,
}

/// Verifies every element, then times.
///
/// # Errors
/// Elements that are not where they should be; what planning and running may end with.
pub fn measure(device: &BenchDevice, transpose: &Transpose<Dynamic>, how: How) -> Result<Figures> {
    match device {
        BenchDevice::Cpu => on_host(transpose, how),
        BenchDevice::Gpu(gpu) => on_gpu(gpu, transpose, how),
    }
}

/// GB/s (10^9 bytes) of a transposition or a copy of `bytes` bytes: each is read once and written once.
pub fn gb_per_s(bytes: f64, seconds: f64) -> f64 {
    2.0 * bytes / seconds / 1e9
}

/// Returns the median time of five plannings.
fn planning<T, E>(plan: impl Fn() -> Result<T, E>) -> Result<Duration, E> {
    let time = |_| {
        let start = Instant::now();
        plan().map(|_| start.elapsed())
    };
    Ok(median(&(0..5).map(time).collect::<Result<Vec<_>, E>>()?))
}

/// Bytes that caches of one core or of several may hold.
const CACHED: usize = 32 << 20;

/// By the system's clock.
fn on_host(transpose: &Transpose<Dynamic>, how: How) -> Result<Figures> {
    let planned = transpose.plan()?;
    let planning = planning(|| transpose.plan())?;
    let bytes = planned.plan().problem.bytes();
    let mut matrix = AnonymousMap::touched(bytes, how.pages)?;
    let mut other = AnonymousMap::touched(bytes, how.pages)?;
    let mut workspace = planned.workspace()?;
    verify(&planned, matrix.bytes(), other.bytes(), &mut workspace)?;

    let (mut copies, mut turns) = (Vec::new(), Vec::new());
    // Small data may be in the caches of another core: the first of two runs fetches it.
    let times = if bytes <= CACHED { 2 } else { 1 };
    for _ in 0..how.runs.map_or(7, usize::from) {
        let mut took = Duration::ZERO;
        for _ in 0..times {
            let start = Instant::now();
            copy(&matrix.bytes()[..bytes], other.bytes(), how.threads());
            took = start.elapsed();
        }
        copies.push(took);
        for _ in 0..times {
            let start = Instant::now();
            turn(&planned, matrix.bytes(), other.bytes(), &mut workspace)?;
            took = start.elapsed();
        }
        turns.push(took);
    }
    Ok(Figures {
        workspace_bytes: planned.workspace_bytes(),
        seconds: median(&turns).as_secs_f64(),
        copy_seconds_per_byte: median(&copies).as_secs_f64() / bytes as f64,
        planning,
        queueing: None,
        plan: planned.plan().clone(),
    })
}

/// Runs a plan on `data`, in place or into `other`.
fn turn(
    planned: &Transposer<Dynamic>,
    data: &mut [u8],
    other: &mut [u8],
    workspace: &mut Workspace,
) -> Result<()> {
    Ok(if planned.plan().problem.is_out_of_place() {
        planned.run_into(data, other)
    } else {
        planned.run(data, RunOptions::new().workspace(workspace))
    }?)
}

/// Transposes numbered elements and compares every one.
fn verify(
    planned: &Transposer<Dynamic>,
    data: &mut [u8],
    other: &mut [u8],
    workspace: &mut Workspace,
) -> Result<()> {
    let problem = &planned.plan().problem;
    let (elem_bytes, bytes) = (problem.itemsize(), problem.bytes());
    for (number, element) in data[..bytes].chunks_exact_mut(elem_bytes).enumerate() {
        fill(number, element);
    }
    turn(planned, data, other, workspace)?;
    compare(problem, if problem.is_out_of_place() { &*other } else { &*data })
}

/// Compares every element with what the problem makes of numbered ones.
fn compare(problem: &Problem, turned: &[u8]) -> Result<()> {
    let elem_bytes = problem.itemsize();
    if let Some(retile) = problem.records() {
        let back = retile.inverse();
        let mut want = vec![0; elem_bytes];
        for (place, word) in turned[..problem.bytes()].chunks_exact(elem_bytes).enumerate() {
            fill(back.dest(place), &mut want);
            ensure!(word == want, "{problem}: word {place} of the result is wrong");
        }
        return Ok(());
    }
    // The inverse moves an element of the result to its source: along the last axis by the same distance each.
    let order: Vec<usize> = problem.order().collect();
    let extents: Vec<usize> = order.iter().map(|&axis| problem.extents()[axis]).collect();
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
    let back = Problem::permuted(&extents, &inverse, elem_bytes)?;
    let row = extents.last().copied().unwrap_or(1).max(1);
    let distance = if row > 1 { back.dest(1) } else { 0 };
    let mut want = vec![0; elem_bytes];
    for (number, elements) in turned[..problem.bytes()].chunks_exact(row * elem_bytes).enumerate() {
        let first = back.dest(number * row);
        for (k, element) in elements.chunks_exact(elem_bytes).enumerate() {
            fill(first + k * distance, &mut want);
            let place = number * row + k;
            ensure!(element == want, "{problem}: element {place} of the result is wrong");
        }
    }
    Ok(())
}

/// Fills an element with its number, or its low bytes if it does not fit.
pub fn fill(number: usize, element: &mut [u8]) {
    // Multiplied by an odd number whose upper bits depend on all lower ones.
    let bytes = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    for part in element.chunks_mut(bytes.len()) {
        part.copy_from_slice(&bytes[..part.len()]);
    }
}

/// Bytes that a thread copies at least: to wake another for less takes longer than to copy them.
const LEAST_SHARE: usize = 256 << 10;

/// A plain copy, shared out over `threads` threads.
pub fn copy(from: &[u8], to: &mut [u8], threads: usize) {
    let share = from.len().div_ceil(threads).max(LEAST_SHARE);
    if share >= from.len() {
        return to.copy_from_slice(from);
    }
    let shares = from.chunks(share).zip(to.chunks_mut(share));
    turntile::run::pool::for_each(shares, |(from, to)| to.copy_from_slice(from));
}

/// Runs on a GPU that come first and do not count.
const WARM_UP: usize = 2;

/// Memory at least, several times the second-level cache: a run does not find there what the one
/// before it left.
const LEAST_BYTES: usize = 1 << 30;

/// By the GPU's own clock.
fn on_gpu(gpu: &Gpu, transpose: &Transpose<Dynamic>, how: How) -> Result<Figures> {
    let planned = transpose.plan_on(gpu)?;
    let planning = planning(|| transpose.plan_on(gpu))?;
    let problem = &planned.plan().problem;
    let (mut watch, copied) = memory(gpu, problem.bytes(), planned.measured_bytes())?;

    let wrong = planned.wrong_elements(&mut watch)?;
    if wrong > 0 {
        let (elements, plan) = (problem.bytes() / problem.itemsize(), planned.plan());
        bail!("{wrong} of {elements} elements are wrong after {plan}");
    }
    let (mut copies, mut turns, mut queueing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..how.runs.map_or(21, usize::from).saturating_add(WARM_UP) {
        copies.push(watch.time_copy(copied)?);
        turns.push(planned.time(&mut watch)?);
        queueing.push(watch.queueing());
    }
    Ok(Figures {
        workspace_bytes: planned.workspace_bytes(),
        seconds: median(&turns[WARM_UP..]).as_secs_f64(),
        copy_seconds_per_byte: median(&copies[WARM_UP..]).as_secs_f64() / copied as f64,
        planning,
        queueing: Some(median(&queueing[WARM_UP..])),
        plan: planned.plan().clone(),
    })
}

/// Memory for the matrices with what a run takes and a copy of them, or without the copy where
/// there is no more: then half of them is copied onto the other half. And how many bytes are copied.
fn memory(gpu: &Gpu, bytes: usize, least: usize) -> Result<(Stopwatch, usize), CudaError> {
    match Stopwatch::new(gpu, LEAST_BYTES.max(2 * bytes).max(least)) {
        Ok(watch) => Ok((watch, bytes)),
        Err(CudaError::OutOfMemory { .. }) => {
            Ok((Stopwatch::new(gpu, least)?, (bytes / 2) & !4095))
        }
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile::layout::{RecordConversion, RecordOrder};

    #[test]
    fn bytes_are_read_and_written() {
        assert_eq!(gb_per_s(1.5e9, 2.0), 1.5);
        assert_eq!(gb_per_s(0.0, 1.0), 0.0);
    }

    #[test]
    fn every_element_is_verified() {
        let planned = |axes| {
            Transpose::permute::<u8>(&[3, 4, 2, 5], axes).itemsize(4).dynamic().plan().unwrap()
        };
        let (right, of_another) = (planned(&[2, 0, 3, 1]), planned(&[2, 0, 1, 3]));
        let (mut data, mut other) = (vec![0; 480], vec![0; 480]);
        verify(&right, &mut data, &mut other, &mut right.workspace().unwrap()).unwrap();
        let error = compare(&of_another.plan().problem, &data).unwrap_err().to_string();
        assert!(error.contains("element 1 of the result is wrong"), "{error}");

        let records = |to| RecordConversion::new(40, &[4, 12, 1]).to(to).dynamic().plan().unwrap();
        let (right, of_another) = (records(RecordOrder::Soa), records(RecordOrder::Asta(8)));
        let mut data = vec![0; 40 * 17];
        verify(&right, &mut data, &mut [], &mut right.workspace().unwrap()).unwrap();
        let error = compare(&of_another.plan().problem, &data).unwrap_err().to_string();
        assert!(error.contains("of the result is wrong"), "{error}");
    }
}
