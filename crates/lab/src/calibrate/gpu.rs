//! A GPU.

use std::time::Duration;

use anyhow::Result;
use turntile::gpu::{CudaError, Gpu, Stopwatch, measure_on};
use turntile::plan::{CostTable, GpuDevice, Plan, Problem};
use turntile_plan::Device as _;
use turntile_plan::tuner::median;

use super::calibration::{Calibration, GPU_BYTES};
use super::samples::{Budget, Tried, Watch};
use super::{fit, problems};

/// Bytes of the problems at least; where more are free, more than any second-level cache holds.
const LEAST_BYTES: usize = 16 << 20;
/// Memory for a problem from one buffer to another, for the padding of one in place, and a bit.
const ROOM: usize = 3;
/// Bytes for the workspace of a stage, which is a cap of 2% or less, and for modules of kernels.
const ASIDE: usize = 128 << 20;
/// Copies that are timed.
const COPIES: usize = 7;
/// Time for the runs of a stage.
const EACH: Duration = Duration::from_millis(30);

/// Measures a GPU for about `budget`, with 3 GiB of its memory or as much as there is: a copy, and the stages of plans,
/// each by itself. `progress` is called with shares of the work, up to 1.
///
/// # Errors
/// The driver's errors: there is no memory to measure on, or the driver refuses.
pub fn calibrate(
    gpu: &Gpu,
    budget: Duration,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration> {
    let (mut bytes, budget) = (GPU_BYTES, Budget::new(budget));
    let mut watch = loop {
        match Stopwatch::new(gpu, ROOM * bytes + ASIDE) {
            Err(CudaError::OutOfMemory { .. }) if bytes > LEAST_BYTES => bytes /= 2,
            watch => break watch?,
        }
    };
    let copies: Result<Vec<Duration>, CudaError> =
        (0..COPIES).map(|_| watch.time_copy(bytes)).collect();
    let speed = 2.0 * bytes as f64 / median(&copies?).as_secs_f64();
    // The stages' own memory takes its place.
    drop(watch);
    let timed = Timed { budget, problems: problems::both(bytes), speed };
    fitted(gpu.device(), &mut OnGpu(gpu.clone()), &timed, progress)
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
    chip: &GpuDevice,
    watch: &mut dyn Watch,
    timed: &Timed,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration> {
    let Timed { budget, problems, speed } = timed;
    let from = format!("turntile-lab calibrate, {}", chip.name());
    let base = chip.clone().copying(*speed);
    let mut done = || progress(budget.over());
    let (mut tried, until) = (Tried::default(), budget.after(1.0));
    let first = vec![(tried.first(&base, problems), 1.0)];
    let mut all = tried.time(first, &base, watch, until, &mut done)?;
    // What a table is wrong about is found by those who plan by it.
    for _ in 0..AGAIN {
        let device = base.clone().with_costs(fit::fitted(base.costs(), &all, &from));
        let best = vec![(tried.best(&device, problems), 1.0)];
        all.extend(tried.time(best, &device, watch, until, &mut done)?);
    }
    progress(1.0);
    let about = format!("{} by turntile-lab calibrate: {} stages", chip.name(), all.len());
    let costs = fit::fitted(base.costs(), &all, &from).named(chip.name(), &about);
    let by = |costs: &CostTable| chip.clone().with_costs(costs.clone());
    Ok(Calibration::new([chip.costs(), base.costs()], costs, &all, &problems::both(GPU_BYTES), by))
}

struct OnGpu(Gpu);

impl Watch for OnGpu {
    fn seconds(&mut self, plan: &Plan) -> Result<f64> {
        let measured = measure_on(&self.0, vec![plan.clone()], EACH)?;
        Ok(measured[0].time.as_secs_f64())
    }
}
