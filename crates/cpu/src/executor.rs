//! A plan and the threads to run it on.

use std::mem::MaybeUninit;

use turntile_plan::{Implementation, InvalidPlan, Plan, Stage, StageMap};
use turntile_simd::{Byte, CACHE_LINE};

use crate::epilogue::Epilogue;
use crate::kernel_config::{CpuKernel, CpuKernelConfig};
use crate::out_of_place::tiles_into;
use crate::plane_tiling::PlaneTiling;
use crate::workspace::{RunError, Workspace, buffer};
use crate::{dispatch, views};

/// Runs one plan, as often as wanted.
///
/// Stages run one after the other, each over as many threads as the plan says (for another device's
/// plan, as many as given here), where [`threads`](crate::threads) says; one thread runs
/// in the caller and touches no pool.
#[derive(Clone, Debug)]
pub struct Executor {
    plan: Plan,
    configs: Vec<CpuKernelConfig>,
    /// Of the workspace's start, for gaps.
    saved_gap_bytes: usize,
}

/// The way that runs stage `number` of a plan for elements of `elem_bytes` bytes: its own, or one in place of another
/// device's.
fn way_of(
    stage: &Stage,
    number: usize,
    elem_bytes: usize,
    threads: usize,
) -> Result<CpuKernelConfig, RunError> {
    let (shape, method, elem_bytes) =
        (stage.map, stage.implementation.method, elem_bytes * stage.elems_per_unit);
    match stage.implementation.launch_config.get::<CpuKernelConfig>() {
        Some(way) if way.is_for(&shape, elem_bytes, method) => Ok(*way),
        Some(_) => Err(InvalidPlan::Geometry { number, stage: stage.to_string() }.into()),
        None => CpuKernelConfig::substitute(shape, elem_bytes, method, threads.max(1))
            .ok_or_else(|| InvalidPlan::Method { number, stage: stage.to_string() }.into()),
    }
}

impl Executor {
    /// For `plan`; a plan made for another device runs as its shapes say, over at most `threads` threads, with
    /// scratch in place of what that device holds on chip.
    ///
    /// # Errors
    /// [`RunError::Plan`]: the plan was put together wrongly.
    pub fn new(plan: Plan, threads: usize) -> Result<Self, RunError> {
        plan.check()?;
        let way = |(number, stage): (usize, &Stage)| {
            way_of(stage, number, plan.problem.elem_bytes(), threads)
        };
        let ways = (1..).zip(plan.stages()).map(way).collect::<Result<_, _>>()?;
        let kept_bytes = plan.saved_gap_bytes();
        Ok(Executor { plan, configs: ways, saved_gap_bytes: kept_bytes })
    }

    /// Creates an executor of one stage, over as many elements as it reads or writes. A stage that moves rows apart leaves
    /// other bytes of the data in the gaps.
    ///
    /// An out-of-place stage runs by [`run_into`](Self::run_into).
    ///
    /// # Errors
    /// [`RunError::Plan`] if the method does not do the shape, if the shape has no elements, and if the stage saves or
    /// restores gaps: what a stage restores, another stage of the same run has saved.
    #[doc(hidden)]
    pub fn of_stage(
        shape: StageMap,
        offer: Implementation,
        elem_bytes: usize,
        threads: usize,
    ) -> Result<Self, RunError> {
        let uncounted = || InvalidPlan::Uncounted { number: 1, stage: format!("{shape:?}") };
        shape.counted_len().ok_or_else(uncounted)?;
        let plan = Plan::of_stage("host", shape, offer, elem_bytes).map_err(|_| uncounted())?;
        let stage = &plan.phases[0].stages[0];
        stage.check()?;
        let way = way_of(stage, 1, elem_bytes, threads)?;
        if way.saves_gaps() {
            let (problem, stages) = (Box::new(plan.problem), stage.to_string());
            return Err(InvalidPlan::Leading { problem, stages }.into());
        }
        Ok(Executor { plan, configs: vec![way], saved_gap_bytes: 0 })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Bytes of workspace that a run needs: for a host's plan what the plan says, for another's the
    /// on-chip memory of the groups that run at a time besides.
    pub fn workspace_bytes(&self) -> usize {
        let own = self.configs.iter().filter(|way| !way.saves_gaps());
        self.saved_gap_bytes + own.map(|way| way.resources().bytes()).max().unwrap_or(0)
    }

    /// The most threads that a stage runs on.
    pub fn threads(&self) -> usize {
        self.configs.iter().map(|way| way.resources().threads).max().unwrap_or(1)
    }

    /// Whether elements can be [finished](Epilogue) in the pass that brings them to their places.
    pub fn can_finish(&self) -> bool {
        matches!(&self.configs[..], [way] if matches!(way.kernel(), CpuKernel::TransposeRows(_)))
    }

    /// Transposes `data` in place, with `workspace` if it is large enough.
    ///
    /// `data` are the matrices and nothing else. With leading dimensions the matrix begins the data, which may go on behind
    /// its span: elements of the source's rows alone then hold elements of before, every other byte of the gaps is as it
    /// was.
    ///
    /// `done` is called after each stage with the passes done, of [`Plan::passes`].
    ///
    /// # Errors
    /// [`RunError::Length`], [`RunError::Span`], [`RunError::Workspace`], and [`RunError::OutOfMemory`] if a stage's buffers
    /// of some KB per thread cannot be allocated; before anything is touched.
    pub fn run(
        &self,
        data: &mut [Byte],
        workspace: &mut Workspace,
        done: impl FnMut(usize),
    ) -> Result<(), RunError> {
        self.run_in(data, workspace.words_mut(), None, done)
    }

    /// The same with a workspace that lies in memory of any origin. `finish` is called with every element of the result
    /// once, where [`can_finish`](Self::can_finish) allows it, and is ignored elsewhere.
    ///
    /// # Errors
    /// As [`run`](Self::run).
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
        let mut own =
            buffer(self.configs.iter().map(CpuKernelConfig::buffer_bytes).max().unwrap_or(0))?;
        let (kept, words) = words.split_at_mut(self.saved_gap_bytes / size_of::<u64>());
        let mut passes = 0;
        for (way, stage) in self.configs.iter().zip(self.plan.stages()) {
            let (read, written) = way.map.spans();
            let reach = read.max(written) * way.elem_bytes;
            let reach = reach.min(data.len());
            let data = &mut data[..reach];
            let words = if way.saves_gaps() { &mut *kept } else { &mut *words };
            let (flags, bytes) = views::split_flags(words, way.resources().flag_words);
            let bytes = if way.buffer_bytes() > 0 { &mut own } else { bytes };
            dispatch::run(way, data, flags, bytes, finish);
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
            return Err(InvalidPlan::Place { out_of_place: true }.into());
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

    /// Writes the elements of `from` to `to`, moved as the plan says, which is out of place.
    ///
    /// # Errors
    /// [`RunError::Length`] if either is not as long as the problem, [`RunError::Plan`] if the plan is in place or has
    /// stages in place, [`RunError::OutOfMemory`] if the threads' buffers cannot be allocated; before `to` is touched.
    pub fn run_into(&self, to: &mut [Byte], from: &[Byte]) -> Result<(), RunError> {
        let problem = &self.plan.problem;
        if !problem.is_out_of_place() {
            return Err(InvalidPlan::Place { out_of_place: false }.into());
        }
        for got in [to.len(), from.len()] {
            if got != problem.bytes() {
                return Err(RunError::Length { expected: problem.bytes(), got });
            }
        }
        let is_into =
            |way: &CpuKernelConfig| matches!(way.kernel(), CpuKernel::OutOfPlace | CpuKernel::Copy);
        let place = InvalidPlan::Place { out_of_place: false };
        self.configs.iter().all(is_into).then_some(()).ok_or(place)?;
        let begins = to.as_ptr().addr() % CACHE_LINE;
        self.configs.iter().try_for_each(|way| {
            let tiles = PlaneTiling::into_buffer(way.axes(), way.elem_bytes, begins);
            tiles_into(to, from, &tiles, way.resources().threads)
        })
    }
}
