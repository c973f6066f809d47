//! Execution of a plan on CPU threads.

use std::mem::MaybeUninit;

use turntile_plan::{Implementation, InvalidPlan, Plan, Stage, StageMap};
use turntile_simd::{Byte, CACHE_LINE};

use crate::epilogue::Epilogue;
use crate::kernel_config::{CpuKernel, CpuKernelConfig};
use crate::out_of_place::tiles_into;
use crate::plane_tiling::PlaneTiling;
use crate::workspace::{RunError, Workspace, buffer};
use crate::{dispatch, views};

/// Executor of one plan, for any number of runs.
///
/// Stages run one after another. Each uses the number of threads in the plan, or for a plan of
/// another device at most the number given to [`new`](Self::new). [`pool`](crate::pool) describes
/// the threads. A single thread runs in the caller and uses no pool.
#[derive(Clone, Debug)]
pub struct Executor {
    plan: Plan,
    configs: Vec<CpuKernelConfig>,
    /// Bytes at the start of the workspace for saved gaps.
    saved_gap_bytes: usize,
}

/// Returns the configuration that runs stage `number` of a plan, counted from 1.
///
/// The configuration is the stage's own, or a substitute in a plan for another device. `elem_bytes`
/// is the element size of the problem.
fn config_of(
    stage: &Stage,
    number: usize,
    elem_bytes: usize,
    threads: usize,
) -> Result<CpuKernelConfig, RunError> {
    let (map, method, elem_bytes) =
        (&stage.map, stage.implementation.method, elem_bytes * stage.elems_per_unit);
    match stage.implementation.launch_config.get::<CpuKernelConfig>() {
        Some(config) if config.is_for(map, elem_bytes, method) => Ok(config.clone()),
        Some(_) => Err(InvalidPlan::LaunchConfig { number, stage: stage.to_string() }.into()),
        None => CpuKernelConfig::substitute(map, elem_bytes, method, threads.max(1))
            .ok_or_else(|| InvalidPlan::Method { number, stage: stage.to_string() }.into()),
    }
}

impl Executor {
    /// Creates an executor of `plan`.
    ///
    /// A plan for another device runs with the same index maps, on at most `threads` threads.
    /// Scratch replaces the on-chip memory of that device.
    ///
    /// # Errors
    /// [`RunError::Plan`]: the plan is invalid, or the CPU does not support one of its stages.
    pub fn new(plan: Plan, threads: usize) -> Result<Self, RunError> {
        plan.check()?;
        let config = |(number, stage): (usize, &Stage)| {
            config_of(stage, number, plan.problem.itemsize(), threads)
        };
        let configs = (1..).zip(plan.stages()).map(config).collect::<Result<_, _>>()?;
        let saved_gap_bytes = plan.saved_gap_bytes();
        Ok(Executor { plan, configs, saved_gap_bytes })
    }

    /// Creates an executor of one stage, over the elements that it reads or writes. If rows move
    /// to a larger pitch, the gaps then contain unspecified elements of the data.
    ///
    /// An out-of-place stage runs with [`run_into`](Self::run_into).
    ///
    /// # Errors
    /// [`RunError::Plan`]: the method does not support the map, the launch configuration belongs to
    /// another stage, the map has no elements or is too large, or the stage saves or restores gaps:
    /// gaps can only be restored in the run that saved them.
    #[doc(hidden)]
    pub fn of_stage(
        map: StageMap,
        implementation: Implementation,
        elem_bytes: usize,
        threads: usize,
    ) -> Result<Self, RunError> {
        let uncounted = || InvalidPlan::Overflow { number: 1, stage: format!("{map:?}") };
        map.counted_len().ok_or_else(uncounted)?;
        let plan = Plan::from_stage("host", map.clone(), implementation, elem_bytes)
            .map_err(|_| uncounted())?;
        let stage = &plan.phases[0].stages[0];
        stage.check()?;
        let config = config_of(stage, 1, elem_bytes, threads)?;
        if config.saves_gaps() {
            let (problem, stages) = (Box::new(plan.problem), stage.to_string());
            return Err(InvalidPlan::Leading { problem, stages }.into());
        }
        Ok(Executor { plan, configs: vec![config], saved_gap_bytes: 0 })
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the bytes of workspace that a run needs.
    ///
    /// For a CPU plan it is at most the plan's workspace. For a plan of another device it includes
    /// the scratch that replaces that device's on-chip memory.
    pub fn workspace_bytes(&self) -> usize {
        let others = self.configs.iter().filter(|config| !config.saves_gaps());
        self.saved_gap_bytes + others.map(|config| config.resources().bytes()).max().unwrap_or(0)
    }

    /// Returns the maximum number of threads of any stage.
    pub fn threads(&self) -> usize {
        self.configs.iter().map(|config| config.resources().threads).max().unwrap_or(1)
    }

    /// Returns `true` if an [epilogue](Epilogue) can be applied to elements in the pass that moves
    /// them.
    pub fn can_finish(&self) -> bool {
        matches!(&self.configs[..], [config] if matches!(config.kernel(), CpuKernel::TransposeRows(_)))
    }

    /// Runs the plan on `data` in place, with `workspace`.
    ///
    /// `data` must have the length of the problem. With leading dimensions, the matrix starts the
    /// data, which may extend beyond its span. Gap elements of the result that were in source rows
    /// then contain unspecified source elements; every other byte of the gaps is unchanged.
    ///
    /// `done` is called after each stage, except saves and restores of gaps, with the number of
    /// completed passes, of [`Plan::passes`].
    ///
    /// # Errors
    /// All errors are returned before anything is written. [`RunError::Plan`]: the plan is
    /// out-of-place. [`RunError::Length`], [`RunError::Span`]: the data have the wrong length.
    /// [`RunError::Workspace`]: the workspace is too small. [`RunError::OutOfMemory`]: the threads'
    /// buffers cannot be allocated.
    pub fn run(
        &self,
        data: &mut [Byte],
        workspace: &mut Workspace,
        done: impl FnMut(usize),
    ) -> Result<(), RunError> {
        self.run_in(data, workspace.words_mut(), None, done)
    }

    /// Runs the plan like [`run`](Self::run), with the workspace `words`, in any host memory.
    ///
    /// `finish` is applied once to every element of the result if [`can_finish`](Self::can_finish)
    /// returns `true`, and is ignored otherwise.
    ///
    /// # Errors
    /// Same as [`run`](Self::run).
    pub fn run_in(
        &self,
        data: &mut [Byte],
        words: &mut [MaybeUninit<u64>],
        finish: Option<&Epilogue>,
        mut done: impl FnMut(usize),
    ) -> Result<(), RunError> {
        self.check_data(data.len())?;
        let (need, have) = (self.workspace_bytes(), size_of_val(words));
        if need > have {
            return Err(RunError::Workspace { need, have });
        }
        let mut buffers =
            buffer(self.configs.iter().map(CpuKernelConfig::buffer_bytes).max().unwrap_or(0))?;
        let (saved_gaps, words) = words.split_at_mut(self.saved_gap_bytes / size_of::<u64>());
        let mut passes = 0;
        for (config, stage) in self.configs.iter().zip(self.plan.stages()) {
            let (read, written) = config.map.spans();
            let reach = read.max(written) * config.elem_bytes;
            let reach = reach.min(data.len());
            let data = &mut data[..reach];
            let words = if config.saves_gaps() { &mut *saved_gaps } else { &mut *words };
            let (flags, bytes) = views::split_flags(words, config.resources().flag_words);
            let bytes = if config.buffer_bytes() > 0 { &mut buffers } else { bytes };
            dispatch::run(config, data, flags, bytes, finish);
            if stage.passes() > 0 {
                passes += stage.passes();
                done(passes);
            }
        }
        Ok(())
    }

    fn check_data(&self, got: usize) -> Result<(), RunError> {
        let problem = &self.plan.problem;
        if problem.is_out_of_place() {
            return Err(InvalidPlan::WrongDestination { out_of_place: true }.into());
        }
        let expected = problem.span_bytes();
        if problem.leading().is_some() && got < expected {
            return Err(RunError::Span { expected, got });
        }
        if problem.leading().is_none() && got != expected {
            return Err(RunError::Length { expected, got });
        }
        Ok(())
    }

    /// Writes the elements of `from` to `to`, permuted according to the out-of-place plan.
    ///
    /// # Errors
    /// All errors are returned before `to` is written. [`RunError::Length`]: either slice does not
    /// have the length of the problem. [`RunError::Plan`]: the plan or a stage is in-place.
    /// [`RunError::OutOfMemory`]: the threads' buffers cannot be allocated.
    pub fn run_into(&self, to: &mut [Byte], from: &[Byte]) -> Result<(), RunError> {
        let problem = &self.plan.problem;
        if !problem.is_out_of_place() {
            return Err(InvalidPlan::WrongDestination { out_of_place: false }.into());
        }
        for got in [to.len(), from.len()] {
            if got != problem.bytes() {
                return Err(RunError::Length { expected: problem.bytes(), got });
            }
        }
        let is_into = |config: &CpuKernelConfig| {
            matches!(config.kernel(), CpuKernel::OutOfPlace | CpuKernel::Copy)
        };
        let place = InvalidPlan::WrongDestination { out_of_place: false };
        self.configs.iter().all(is_into).then_some(()).ok_or(place)?;
        let begins = to.as_ptr().addr() % CACHE_LINE;
        self.configs.iter().try_for_each(|config| {
            let tiles = PlaneTiling::into_buffer(config.axes(), config.elem_bytes, begins);
            tiles_into(to, from, &tiles, config.resources().threads)
        })
    }
}
