//! Timing on a host's threads.

use std::time::{Duration, Instant};

use anyhow::Result;
use turntile::Transposer;
use turntile::error::RunError;
use turntile::mode::Dynamic;
use turntile::plan::{InvalidPlan, Plan, Problem, Stage};
use turntile::run::RunOptions;
use turntile_cli::measure::{copy, fill, gb_per_s};
use turntile_cli::memory::{AnonymousMap, Pages};
use turntile_cpu::kernel_config::CpuKernelConfig;
use turntile_cpu::{Executor, Workspace};
use turntile_cuda::strategy::Strategy;
use turntile_plan::tuner::median;
use turntile_plan::{
    Device as _, Implementation, LaunchConfig, Method, MethodFilter, StageMap, StageRequest,
};

use super::timing::{Speed, Timing, right};
use crate::turned::OnHost;
use crate::wider::Wider;

/// Bytes that a timed piece of work moves at least: a clock and sleeping threads would make up most of less.
const LEAST_BYTES: usize = 8 << 20;

/// A plan on the host's threads, all of it or one of its stages, every element compared with `dest`;
/// copies before and after every run, since a host that others use is not the same from minute to minute.
pub fn plan(
    timing: Timing,
    plan: Plan,
    threads: usize,
    dest: impl Fn(usize) -> usize,
    only: Option<usize>,
) -> Result<Speed> {
    let problem = plan.problem.clone();
    let its_own = |stage: &Stage| stage.implementation.launch_config.get::<OnHost>().is_some();
    if plan.stages().any(its_own) {
        let stages: Vec<_> =
            plan.stages().map(|s| (s.map.clone(), s.implementation.clone())).collect();
        return self::stages(timing, &stages, &problem, threads, dest, only);
    }
    let planned = Transposer::<Dynamic>::new(plan, threads)?;
    let mut workspace = planned.workspace()?;
    let name = planned.plan().to_string();
    timed(timing, (&name, &problem, problem.bytes(), threads), dest, only, |data, ended| {
        let mut progress = |_| ended();
        let options = RunOptions::new().workspace(&mut workspace).progress(&mut progress);
        Ok(planned.run(data, options)?)
    })
}

/// The same of stages that no plan has: rows moved apart, and tiles that are transposed on the way.
pub fn stages(
    timing: Timing,
    stages: &[(StageMap, Implementation)],
    problem: &Problem,
    threads: usize,
    dest: impl Fn(usize) -> usize,
    only: Option<usize>,
) -> Result<Speed> {
    enum Run {
        Turned(OnHost),
        Stage(Box<Executor>),
    }
    let elem_bytes = problem.itemsize();
    let run =
        |(shape, offer): &(StageMap, Implementation)| match offer.launch_config.get::<OnHost>() {
            Some(&turned) => Ok(Run::Turned(turned)),
            None => Executor::of_stage(shape.clone(), offer.clone(), elem_bytes, threads)
                .map(|executor| Run::Stage(Box::new(executor))),
        };
    let runs: Vec<Run> = stages.iter().map(run).collect::<Result<_, _>>()?;
    let workspace = |run: &Run| match run {
        Run::Turned(_) => 0,
        Run::Stage(executor) => executor.workspace_bytes(),
    };
    let workspace = runs.iter().map(workspace).max().unwrap_or(0);
    let mut workspace = Workspace::new(workspace)?;
    let spans = |(shape, _): &(StageMap, Implementation)| shape.spans().0.max(shape.spans().1);
    let bytes = stages.iter().map(spans).max().unwrap_or(0) * elem_bytes;
    let names: Vec<String> = stages.iter().map(|(shape, _)| shape.to_string()).collect();
    let name = names.join(" -> ");
    timed(timing, (&name, problem, bytes, threads), dest, only, |data, ended| {
        for run in &runs {
            match run {
                Run::Turned(turned) => turned.run(&mut data[..problem.bytes()], elem_bytes)?,
                Run::Stage(executor) => {
                    let data = &mut data[..executor.plan().problem.bytes()];
                    executor.run_bytes(data, &mut workspace)?;
                }
            }
            ended();
        }
        Ok(())
    })
}

/// What `run` does to the elements of a problem, in memory of so many bytes: compared with `dest`, then timed, all of it or
/// one of its stages, after each of which `run` makes a call.
fn timed(
    timing: Timing,
    (name, problem, bytes, threads): (&String, &Problem, usize, usize),
    dest: impl Fn(usize) -> usize,
    only: Option<usize>,
    mut run: impl FnMut(&mut [u8], &mut dyn FnMut()) -> Result<()>,
) -> Result<Speed> {
    let mut own = memory(bytes)?;
    let data = &mut own.bytes()[..bytes];
    let elem_bytes = problem.itemsize();
    for (k, element) in data[..problem.bytes()].chunks_exact_mut(elem_bytes).enumerate() {
        fill(k, element);
    }
    run(data, &mut || {})?;
    let mut want = vec![0; elem_bytes];
    let mut wrong = 0;
    for k in 0..problem.len() {
        fill(k, &mut want);
        wrong += u64::from(data[dest(k) * elem_bytes..][..elem_bytes] != want);
    }
    right(name, wrong)?;
    let mut other = memory(problem.bytes())?;
    // Each run starts from what the last one left: other elements, as many, as far apart.
    between_copies(timing, data, other.bytes(), problem.bytes(), threads, |data, _| {
        let start = Instant::now();
        let mut ends = vec![Duration::ZERO];
        run(data, &mut || ends.push(start.elapsed()))?;
        Ok(match only {
            Some(stage) => ends[stage + 1] - ends[stage],
            None => start.elapsed(),
        })
    })
}

/// A transposition of f32 from one place to another, every element compared; `run` is given destination and source.
pub fn into(
    timing: Timing,
    rows: usize,
    cols: usize,
    mut run: impl FnMut(&mut [f32], &[f32]) -> Result<()>,
) -> Result<Speed> {
    let bytes = rows * cols * 4;
    let (mut from, mut to) = (memory(bytes)?, memory(bytes)?);
    let (from, to) = (&mut from.bytes()[..bytes], &mut to.bytes()[..bytes]);
    from.chunks_exact_mut(4).enumerate().for_each(|(k, element)| fill(k, element));
    let mut turn = |from: &mut [u8], to: &mut [u8]| -> Result<Duration> {
        let start = Instant::now();
        run(bytemuck::cast_slice_mut(to), bytemuck::cast_slice(from))?;
        Ok(start.elapsed())
    };
    turn(from, to)?;
    let wrong = (0..rows * cols).filter(|k| {
        let at = k % cols * rows + k / cols;
        from[k * 4..][..4] != to[at * 4..][..4]
    });
    right(&format!("{rows}x{cols} out of place"), wrong.count() as u64)?;
    between_copies(timing, from, to, bytes, 1, turn)
}

/// The speed of work on two pieces of memory, and of copies of the first to the second before and after it.
fn between_copies(
    timing: Timing,
    data: &mut [u8],
    other: &mut [u8],
    bytes: usize,
    threads: usize,
    mut work: impl FnMut(&mut [u8], &mut [u8]) -> Result<Duration>,
) -> Result<Speed> {
    let times = if timing.quick { 1 } else { LEAST_BYTES.div_ceil(bytes.max(1)).min(256) };
    let mut copies = Vec::new();
    let seconds = timing.median(|| {
        let mut took = Duration::ZERO;
        for side in 0..2 {
            let start = Instant::now();
            for _ in 0..times {
                copy(&data[..bytes], &mut other[..bytes], threads);
            }
            copies.push(start.elapsed() / times as u32);
            if side == 0 {
                for _ in 0..times {
                    took += work(data, other)?;
                }
            }
        }
        Ok(took / times as u32)
    })?;
    let copied = median(&copies[2 * timing.runs().1..]).as_secs_f64().max(1e-9);
    let rate = |seconds| gb_per_s(bytes as f64, seconds);
    Ok(Speed { gb_per_s: rate(seconds), copy_gb_per_s: rate(copied) })
}

/// Touched memory, in huge pages where there are some.
pub fn memory(bytes: usize) -> Result<AnonymousMap> {
    Ok(AnonymousMap::touched(bytes, Pages::Huge)?)
}

/// A stage by itself, with as much workspace as it likes.
pub fn request(elem_bytes: usize) -> StageRequest {
    let (alignment, cap) = (16, usize::MAX);
    StageRequest { elem_bytes, alignment, out_of_place: false, cap, methods: MethodFilter::Any }
}

/// What moves a stage by a method on so many threads: as the host would offer it or, where it would not, as it can.
pub fn offered(
    shape: &StageMap,
    method: Method,
    elem_bytes: usize,
    threads: usize,
) -> Result<Implementation> {
    let offers =
        Wider::host(threads).implementations(shape, &request(elem_bytes)).unwrap_or_default();
    if let Some(offer) = offers.into_iter().find(|offer| offer.method == method) {
        return Ok(offer);
    }
    let way = CpuKernelConfig::substitute(shape, elem_bytes, method, threads);
    let stage = format!("{shape} {method}");
    let way = way.ok_or(RunError::Plan(InvalidPlan::Method { number: 1, stage }));
    let way = way?;
    let workspace_bytes = way.resources().bytes();
    Ok(Implementation::new(method, LaunchConfig::new(way), workspace_bytes, 1.0))
}

/// A host's plan of one stage, over elements in a row.
pub fn alone(shape: &StageMap, way: Strategy, elem_bytes: usize, threads: usize) -> Result<Plan> {
    let offer = offered(shape, way.method(), elem_bytes, threads)?;
    Ok(Plan::from_stage("host", shape.clone(), offer, elem_bytes)?)
}
