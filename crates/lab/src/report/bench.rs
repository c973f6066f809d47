//! A device to verify and to time on.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use turntile::gpu::{CudaError, Gpu};
use turntile::plan::{CpuDevice, Plan, Planner, Problem};
use turntile_cli::device::BenchDevice;
use turntile_cli::measure::{copy, gb_per_s};
use turntile_cuda::gpu_device::strategy_of;
use turntile_cuda::strategy::Strategy;
use turntile_cuda::{Prepared, Work};
use turntile_perm::Elementary;
use turntile_plan::{Device as _, Implementation, Method, StageMap};

use super::host::{self, request};
use super::timing::{Timing, right};
use crate::applications::State;
use crate::error::{Refused, is_infeasible};
use crate::flags::FlagLayout;
use crate::layout::{Flattening, conversion};
use crate::moved::{self, Held};
use crate::program::{Program, Step};
use crate::samples::{difference, image, load};
use crate::saxpy;
use crate::staged::FOUR_STAGES;
use crate::turned::OnGpu;
use crate::watch::Watch;
use crate::wider::Wider;

pub use super::timing::Speed;

/// The columns that [`cells`] fills.
pub const SPEED: [&str; 3] = ["gb_per_s", "copy_gb_per_s", "percent_of_copy"];

/// A speed as cells; empty ones for what the device cannot do, and why is no failure.
pub fn cells(speed: Result<Speed>) -> Result<[String; 3]> {
    match speed {
        Ok(Speed { gb_per_s, copy_gb_per_s }) => {
            let percent = 100.0 * gb_per_s / copy_gb_per_s;
            Ok([number(gb_per_s), number(copy_gb_per_s), format!("{percent:.1}")])
        }
        Err(error) if is_infeasible(&error) => Ok([const { String::new() }; 3]),
        Err(other) => Err(other),
    }
}

/// A rate with three digits or more.
pub fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

enum Place {
    Host { threads: usize },
    Gpu { gpu: Box<Gpu>, watch: Option<Watch> },
}

/// Super-elements of words of 4 bytes that are moved in place.
fn problem(e: Elementary) -> Result<Problem> {
    let extents = [e.batch, e.rows, e.mid, e.cols, e.unit];
    Ok(Problem::permuted(&extents, &[0, 3, 2, 1, 4], 4)?)
}

/// The device.
pub struct Bench {
    place: Place,
    quick: bool,
    copies: HashMap<usize, f64>,
}

/// Device memory: twice the largest matrix, and enough that small ones are not found in the cache.
const GPU_BYTES: usize = 4 << 30;

impl Bench {
    /// On `device`, a host with so many threads.
    pub fn new(device: BenchDevice, threads: Option<NonZeroUsize>, quick: bool) -> Self {
        let threads = threads.map_or_else(rayon::current_num_threads, usize::from);
        let place = match device {
            BenchDevice::Cpu => Place::Host { threads },
            BenchDevice::Gpu(gpu) => Place::Gpu { gpu: Box::new(gpu), watch: None },
        };
        Bench { place, quick, copies: HashMap::new() }
    }

    /// Whether it is a GPU.
    pub fn is_gpu(&self) -> bool {
        matches!(self.place, Place::Gpu { .. })
    }

    /// The GPU, where it is one.
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.place {
            Place::Host { .. } => None,
            Place::Gpu { gpu, .. } => Some(gpu),
        }
    }

    /// Whether sizes are to be small.
    pub fn quick(&self) -> bool {
        self.quick
    }

    /// Threads of a host; 1 for a GPU.
    pub fn threads(&self) -> usize {
        match self.place {
            Place::Host { threads } => threads,
            Place::Gpu { .. } => 1,
        }
    }

    /// Makes plans for it.
    pub fn planner(&self) -> Planner {
        match &self.place {
            Place::Host { threads } => Planner::new(CpuDevice::here(*threads)),
            Place::Gpu { gpu, .. } => Planner::new(gpu.device().clone()),
        }
    }

    /// The same with the lab's routes and ways besides.
    pub fn wider(&self) -> Planner {
        let device = match &self.place {
            Place::Host { threads } => Wider::host(*threads),
            Place::Gpu { gpu, .. } => Wider::gpu(gpu.device().clone()),
        };
        Planner::new(device).with_routes(&FOUR_STAGES)
    }

    /// What moves a stage by a method: as it would offer it itself or, a host, as it can; nothing where it cannot.
    pub fn offer(
        &self,
        shape: &StageMap,
        method: Method,
        elem_bytes: usize,
    ) -> Option<Implementation> {
        let mut offers = self.offers(shape, elem_bytes).into_iter();
        match self.place {
            Place::Host { threads } => host::offered(shape, method, elem_bytes, threads).ok(),
            Place::Gpu { .. } => offers.find(|offer| offer.method == method),
        }
    }

    /// All that it offers for a stage by itself; nothing where it has no way.
    pub fn offers(&self, shape: &StageMap, elem_bytes: usize) -> Vec<Implementation> {
        self.wider().device().implementations(shape, &request(elem_bytes)).unwrap_or_default()
    }

    /// Elements of 4 bytes that fill the device without taking long.
    pub fn elements(&self) -> usize {
        match (self.quick, self.is_gpu()) {
            (true, _) => 1 << 14,
            (_, true) => 1 << 26,
            (_, false) => 1 << 22,
        }
    }

    /// A side, or a twentieth of it.
    pub fn side(&self, side: usize) -> usize {
        if self.quick { (side / 20).max(2) } else { side }
    }

    /// The device in words, with its driver or system.
    pub fn about(&self) -> String {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        match &self.place {
            Place::Host { threads } => {
                let cpu = read("/proc/cpuinfo");
                let model = cpu.lines().find_map(|line| line.strip_prefix("model name"));
                let model =
                    model.map_or("unknown processor", |m| m.trim_start_matches([' ', '\t', ':']));
                let plural = if *threads == 1 { "" } else { "s" };
                format!("{model}; {threads} thread{plural}")
            }
            Place::Gpu { gpu, .. } => {
                let version = read("/proc/driver/nvidia/version");
                let mut words = version.split_whitespace();
                let numeric =
                    |w: &&str| w.contains('.') && w.starts_with(|c: char| c.is_ascii_digit());
                let driver = words.find(numeric).unwrap_or("unknown");
                format!("{}; driver {driver}", gpu.device().name())
            }
        }
    }

    fn timing(&self) -> Timing {
        Timing { quick: self.quick }
    }

    /// A plan on the host's threads, all of it or one of its stages, every element compared with `dest`.
    pub fn host(
        &self,
        plan: Plan,
        threads: usize,
        dest: impl Fn(usize) -> usize,
        only: Option<usize>,
    ) -> Result<Speed> {
        host::plan(self.timing(), plan, threads, dest, only)
    }

    /// A transposition of f32 on the host from one place to another, every element compared; `run` is given destination
    /// and source.
    pub fn host_into(
        &self,
        rows: usize,
        cols: usize,
        run: impl FnMut(&mut [f32], &[f32]) -> Result<()>,
    ) -> Result<Speed> {
        host::into(self.timing(), rows, cols, run)
    }

    /// A matrix by stages that no plan has, every element of its transpose compared.
    pub fn stages(
        &mut self,
        stages: &[(StageMap, Implementation)],
        problem: &Problem,
    ) -> Result<Speed> {
        let Some(gpu) = self.gpu() else {
            let dest = |k| problem.dest(k);
            return host::stages(self.timing(), stages, problem, self.threads(), dest, None);
        };
        let mut work: Option<Work> = None;
        for (shape, offer) in stages {
            let way = strategy_of(offer).expect("a GPU's");
            let next = Work::of_stage(shape, way, problem.itemsize(), 16, gpu.device().limits())?;
            work = Some(work.map_or(next.clone(), |work| work.then(next)));
        }
        let (rows, cols) = (problem.rows(), problem.cols());
        let whole = Elementary { batch: problem.batch(), rows, mid: 1, cols, unit: 1 };
        let seconds = self.calls(work.expect("stages"), whole.into(), problem.itemsize())?;
        self.speed(problem.bytes(), seconds)
    }

    /// One of those stages, on the host.
    pub fn host_stage(
        &self,
        stages: &[(StageMap, Implementation)],
        problem: &Problem,
        only: usize,
    ) -> Result<Speed> {
        let dest = |k| problem.dest(k);
        host::stages(self.timing(), stages, problem, self.threads(), dest, Some(only))
    }

    /// What `run` makes of a GPU and its memory.
    fn on_gpu<T>(&mut self, run: impl FnOnce(&Gpu, &mut Watch) -> Result<T>) -> Result<T> {
        let Place::Gpu { gpu, watch } = &mut self.place else { unreachable!("called on a GPU") };
        let watch = match watch {
            Some(watch) => watch,
            None => watch.insert(Watch::new(gpu, GPU_BYTES)?),
        };
        run(gpu, watch)
    }

    /// A copy of so many bytes by the whole device.
    pub fn copy(&mut self, bytes: usize) -> Result<f64> {
        if let Some(&rate) = self.copies.get(&bytes) {
            return Ok(rate);
        }
        let timing = self.timing();
        let seconds = match self.place {
            Place::Host { threads } => {
                let (mut from, mut to) = (host::memory(bytes)?, host::memory(bytes)?);
                timing.median(|| {
                    let start = Instant::now();
                    copy(from.bytes(), to.bytes(), threads);
                    Ok(start.elapsed())
                })?
            }
            Place::Gpu { .. } => {
                self.on_gpu(|_, watch| timing.median(|| Ok(watch.time_copy(bytes)?)))?
            }
        };
        let rate = gb_per_s(bytes as f64, seconds);
        self.copies.insert(bytes, rate);
        Ok(rate)
    }

    /// Of a GPU, whose copies are alike throughout a run.
    fn speed(&mut self, bytes: usize, seconds: f64) -> Result<Speed> {
        let copy_gb_per_s = self.copy(bytes)?;
        Ok(Speed { gb_per_s: gb_per_s(bytes as f64, seconds), copy_gb_per_s })
    }

    /// A plan for this device, verified.
    pub fn plan(&mut self, plan: &Plan) -> Result<Speed> {
        let problem = &plan.problem;
        if self.is_gpu() && plan.stages().any(|stage| strategy_of(&stage.implementation).is_none())
        {
            return self.plan_with_others(plan);
        }
        if let Place::Host { threads } = self.place {
            return self.host(plan.clone(), threads, |k| problem.dest(k), None);
        }
        let seconds = self.prepared(|gpu| gpu.prepare(plan), plan, Some(problem))?;
        self.speed(problem.bytes(), seconds)
    }

    /// A stage by itself, verified; `threads` of a group where the way leaves them open, or of a
    /// host, which moves it by the same method.
    pub fn stage(
        &mut self,
        shape: StageMap,
        way: Strategy,
        elem_bytes: usize,
        threads: usize,
    ) -> Result<Speed> {
        let bytes = shape.len() * elem_bytes;
        let seconds = match &self.place {
            Place::Host { .. } => {
                let plan = host::alone(&shape, way, elem_bytes, threads)?;
                return self.host(plan, threads, |k| shape.dest(k), None);
            }
            Place::Gpu { gpu, .. } => {
                let work = Work::of_stage(&shape, way, elem_bytes, 16, gpu.device().limits())?;
                self.calls(work, shape, elem_bytes)?
            }
        };
        self.speed(bytes, seconds)
    }

    /// A plan of which the lab's own kernels move some stages, on a GPU.
    fn plan_with_others(&mut self, plan: &Plan) -> Result<Speed> {
        let problem = &plan.problem;
        let limits = *self.gpu().expect("asked of a GPU").device().limits();
        let mut program = Program::new(&[problem.bytes(), plan.workspace_bytes]);
        for stage in plan.stages() {
            let elem_bytes = problem.itemsize() * stage.elems_per_unit;
            program = match (
                strategy_of(&stage.implementation),
                stage.implementation.launch_config.get::<OnGpu>(),
            ) {
                (Some(way), _) => {
                    let work = Work::of_stage(&stage.map, way, elem_bytes, 16, &limits)?;
                    program.then(Step::Work(work.into(), [0, 1]))
                }
                (None, Some(turned)) => {
                    let steps = moved::turned(turned.tiles, &limits);
                    let none = || Refused(format!("no kernel for {stage}"));
                    steps.ok_or_else(none)?.into_iter().fold(program, Program::then)
                }
                (None, None) => bail!(Refused(format!("{stage} is not a GPU's"))),
            };
        }
        self.program(program, problem)
    }

    /// 010! by PTTWAC with flags on chip, elements of 4 bytes; on a host by its threads, whatever the layout.
    pub fn on_chip(&mut self, e: Elementary, flags: FlagLayout, threads: usize) -> Result<Speed> {
        let Some(gpu) = self.gpu() else {
            return self.stage(e.into(), Strategy::OnChipMoves { threads }, 4, threads);
        };
        let program = moved::on_chip(e, flags, threads, gpu.device().limits());
        let none = || Refused(format!("no kernel for {e:?}"));
        self.program(program.ok_or_else(none)?, &problem(e)?)
    }

    /// Super-elements moved by a GPU's kernels that hold them in one way or another.
    pub fn held(&mut self, e: Elementary, held: Held) -> Result<Speed> {
        let gpu = self.gpu().expect("an item of GPUs");
        let program = moved::program(e, 4, held, gpu.device().limits());
        let none = || Refused(format!("no kernel for {e:?}"));
        self.program(program.ok_or_else(none)?, &problem(e)?)
    }

    /// Seconds of a step, on a GPU of `program`, on a host of `step`; `state` is then what it ends with.
    pub fn application(
        &mut self,
        program: impl FnOnce() -> Result<Program>,
        state: &mut State,
        step: impl Fn(&mut State),
    ) -> Result<f64> {
        let timing = self.timing();
        if self.is_gpu() {
            let program = program()?;
            return self.on_gpu(|_, watch| {
                let mut ready = load(watch, &program, state)?;
                let seconds = timing.median(|| Ok(ready.time()?))?;
                Ok(ready.take(0, bytemuck::cast_slice_mut(&mut state.to)).map(|()| seconds)?)
            });
        }
        timing.median(|| {
            let start = Instant::now();
            step(state);
            Ok(start.elapsed())
        })
    }

    /// Seconds to bring records to another layout, a host's by one thread; every word compared with the same problem as axes.
    pub fn relayout(&mut self, records: &Problem, axes: &Problem) -> Result<f64> {
        if self.is_gpu() {
            let plan = self.planner().plan(records)?;
            return self.prepared(|gpu| gpu.prepare(&plan), &plan, Some(axes));
        }
        let plan = Planner::new(CpuDevice::here(1)).plan(records)?;
        let speed = self.host(plan, 1, |k| records.dest(k), None)?;
        Ok(2.0 * records.bytes() as f64 / (1e9 * speed.gb_per_s))
    }

    /// Seconds to bring a grid of floats from layout to layout on a GPU, step by step; elements compared, but of rows that
    /// move apart.
    pub fn converting(&mut self, from: &Flattening, to: &Flattening) -> Result<f64> {
        let mut seconds = 0.0;
        for (step, _) in conversion(from, to, 4)? {
            let problem = step.problem()?;
            let plan = self.planner().plan(&problem)?;
            let compared = problem.leading().is_none().then_some(&problem);
            seconds += self.prepared(|gpu| gpu.prepare(&plan), &plan, compared)?;
        }
        Ok(seconds)
    }

    /// Launches on a GPU: the elements compared where a stage's shape says what they do.
    pub fn calls(&mut self, work: Work, shape: StageMap, elem_bytes: usize) -> Result<f64> {
        let problem = |Elementary { batch, rows, mid, cols, unit }| {
            Problem::permuted(&[batch, rows, mid, cols, unit], &[0, 3, 2, 1, 4], elem_bytes)
        };
        let problem = shape.elementary().map(problem).transpose()?;
        self.prepared(|gpu| gpu.prepare_work(work), &shape, problem.as_ref())
    }

    /// Seconds of what was prepared on a GPU, the elements compared with `problem` where there is one.
    fn prepared(
        &mut self,
        prepare: impl FnOnce(&Gpu) -> Result<Prepared, CudaError>,
        what: &impl ToString,
        problem: Option<&Problem>,
    ) -> Result<f64> {
        let timing = self.timing();
        self.on_gpu(|gpu, watch| {
            let prepared = prepare(gpu)?;
            if let Some(problem) = problem {
                right(what, watch.wrong_elements(problem, &prepared)?)?;
            }
            timing.median(|| Ok(watch.time(&prepared)?))
        })
    }

    /// A GPU's program from one place to another, buffers `[destination, source]`, or in place of the
    /// first, compared with what `problem` asks for.
    pub fn program(&mut self, program: Program, problem: &Problem) -> Result<Speed> {
        let timing = self.timing();
        let seconds = self.on_gpu(|_, watch| {
            let mut ready = watch.load(&program)?;
            right(problem, ready.wrong(problem)?)?;
            timing.median(|| Ok(ready.time_in_turn()?))
        })?;
        self.speed(problem.bytes(), seconds)
    }

    /// A SAXPY of so many elements `stride` words apart on a GPU, compared with the host's; GB/s of the three words of each.
    pub fn saxpy(&mut self, elements: usize, stride: usize) -> Result<Speed> {
        let timing = self.timing();
        let seconds = self.on_gpu(|_, watch| {
            let none = || Refused(format!("no SAXPY of stride {stride}"));
            let few = elements.min(10_007);
            let (x, mut y) = (image(few, stride), image(stride, few));
            y.reverse();
            let mut ready = watch.load(&saxpy::program(few, stride).ok_or_else(none)?)?;
            ready.put(0, bytemuck::cast_slice(&y))?;
            ready.put(1, bytemuck::cast_slice(&x))?;
            ready.time()?;
            let mut got = vec![0f32; y.len()];
            ready.take(0, bytemuck::cast_slice_mut(&mut got))?;
            saxpy::on_host(&mut y, &x, stride);
            ensure!(got == y, "SAXPY of stride {stride}: other elements than the host's");
            let mut ready = watch.load(&saxpy::program(elements, stride).ok_or_else(none)?)?;
            timing.median(|| Ok(ready.time_in_turn()?))
        })?;
        // A speed is of bytes that are read and written once: half of these.
        self.speed(3 * 4 * elements / 2, seconds)
    }

    /// Seconds of a filter's program, buffers `[image, filtered, ..]`, compared with `want` where given.
    pub fn filter(&mut self, program: Program, image: &[f32], want: Option<&[f32]>) -> Result<f64> {
        let timing = self.timing();
        self.on_gpu(|_, watch| {
            let mut ready = watch.load(&program)?;
            match want {
                // Single precision, summed in another order.
                Some(want) => {
                    let worst = difference(&mut ready, image, want)?;
                    ensure!(worst <= 1e-3, "recursive filter: differs by {worst:e}");
                }
                None => ready.put(0, bytemuck::cast_slice(image))?,
            }
            timing.median(|| Ok(ready.time()?))
        })
    }
}
