//! On a GPU, by its own clock.

use anyhow::{Result, bail};
use turntile::Transpose;
use turntile::gpu::{CudaError, Gpu, Stopwatch};
use turntile::plan::Problem;

use turntile_plan::tuner::median;

use super::figures::{Figures, How, planning};

/// Runs of each, unless otherwise asked, and runs before that are not counted.
const RUNS: usize = 21;
const WARM_UP: usize = 2;
/// Memory at least, several times the second-level cache: a run does not find there what the one
/// before it left.
const LEAST_BYTES: usize = 1 << 30;

/// Verifies every element and times a transposition.
pub fn measure(gpu: &Gpu, transpose: &Transpose, problem: &Problem, how: How) -> Result<Figures> {
    let (elem_bytes, bytes) = (problem.elem_bytes(), problem.bytes());
    let planned = transpose.plan_on(gpu)?;
    let planning = planning(|| transpose.plan_on(gpu))?;
    let (mut watch, copied) = memory(gpu, bytes, planned.measured_bytes())?;

    let wrong = planned.wrong_elements(&mut watch)?;
    if wrong > 0 {
        let (elements, plan) = (bytes / elem_bytes, planned.plan());
        bail!("{wrong} of {elements} elements are wrong after {plan}");
    }
    let (mut copies, mut turns, mut queueing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..how.runs.map_or(RUNS, usize::from).saturating_add(WARM_UP) {
        copies.push(watch.time_copy(copied)?);
        turns.push(planned.time(&mut watch)?);
        queueing.push(watch.queueing());
    }
    for times in [&mut copies, &mut turns, &mut queueing] {
        times.drain(..WARM_UP);
    }
    Ok(Figures {
        workspace_bytes: planned.workspace_bytes(),
        seconds: median(&turns).as_secs_f64(),
        copy_seconds_per_byte: median(&copies).as_secs_f64() / copied as f64,
        planning,
        queueing: Some(median(&queueing)),
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
