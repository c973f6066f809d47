//! A GPU.

use std::time::Duration;

use turntile_cuda::{Chip, CudaError, Gpu, Stopwatch};
use turntile_plan::{Device, Plan, Problem};

use super::samples::{Budget, RUNS, Tried, Watch, median};
use super::{Calibration, GPU_BYTES, Measured, problems};
use crate::Error;

/// Bytes of the problems at least; where more are free, more than any second-level cache holds.
const LEAST_BYTES: usize = 16 << 20;
/// Memory for a problem from one buffer to another, for the padding of one in place, and a bit.
const ROOM: usize = 3;
/// Bytes for the workspace of a stage, which is a cap of 2% or less, and for modules of kernels.
const ASIDE: usize = 128 << 20;

/// Measures a GPU for about `budget`, with 3 GiB of its memory or as much as there is: a copy, and the stages of plans,
/// each by itself. `progress` is told shares of the work, up to 1.
///
/// Nothing is written; [`Calibration::save`] does.
///
/// # Errors
/// [`Error::Cuda`]: there is no memory to measure on, or the driver refuses.
pub fn calibrate_gpu(
    gpu: &Gpu,
    budget: Duration,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration, Error> {
    let (mut bytes, budget) = (GPU_BYTES, Budget::new(budget));
    let watch = loop {
        // What stages set aside has to have room beside it, and is taken stage by stage.
        let room = Stopwatch::new(gpu, ROOM * bytes + ASIDE).map(drop);
        match room.and_then(|()| Stopwatch::new(gpu, ROOM * bytes)) {
            Err(CudaError::OutOfMemory { .. }) if bytes > LEAST_BYTES => bytes /= 2,
            watch => break watch?,
        }
    };
    let mut bench = GpuBench { gpu: gpu.clone(), watch };
    let copies: Result<Vec<f64>, Error> = (0..=2 * RUNS).map(|_| bench.copy(bytes)).collect();
    let speed = 2.0 * bytes as f64 / median(copies?);
    let timed = Timed { budget, problems: problems::both(bytes), speed };
    fitted(gpu.chip(), &mut bench, &timed, progress)
}

/// How often a table is made whose own plans are measured.
const AGAIN: usize = 3;

/// What is timed, how long, beside which speed of a copy in bytes a second.
pub(super) struct Timed {
    pub budget: Budget,
    pub problems: Vec<Problem>,
    pub speed: f64,
}

/// The same with any watch.
pub(super) fn fitted(
    chip: &Chip,
    watch: &mut dyn Watch,
    timed: &Timed,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration, Error> {
    let Timed { budget, problems, speed } = timed;
    let from = format!("turntile calibrate, {}", chip.name());
    let base = chip.clone().copying(*speed);
    let mut done = || progress(budget.over());
    let (mut tried, until) = (Tried::default(), budget.after(1.0));
    let first = vec![(tried.first(&base, problems), 1.0)];
    let mut all = tried.time(first, &base, watch, until, &mut done)?;
    // What a table is wrong about is found by those who plan by it.
    for _ in 0..AGAIN {
        let device = base.clone().with_costs(base.costs().fitted(&all, &from));
        let best = vec![(tried.best(&device, problems), 1.0)];
        all.extend(tried.time(best, &device, watch, until, &mut done)?);
    }
    progress(1.0);
    let about = format!("{} by turntile calibrate: {} stages", chip.name(), all.len());
    let costs = base.costs().fitted(&all, &from).named(chip.name(), &about);
    Ok(Calibration::new(Measured::Chip(chip.clone()), costs, &all, base.costs()))
}

struct GpuBench {
    gpu: Gpu,
    watch: Stopwatch,
}

impl GpuBench {
    /// Seconds of a copy.
    fn copy(&mut self, bytes: usize) -> Result<f64, Error> {
        Ok(self.watch.time_copy(bytes)?.as_secs_f64())
    }
}

impl Watch for GpuBench {
    fn seconds(&mut self, plan: &Plan) -> Result<f64, Error> {
        let prepared = self.gpu.prepare(plan)?;
        Ok(self.watch.time(&prepared)?.as_secs_f64())
    }
}
