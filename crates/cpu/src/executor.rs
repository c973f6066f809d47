//! A plan and the threads to run it on.

use std::mem::MaybeUninit;

use turntile_plan::{Flaw, Plan};

use crate::Byte;
use crate::shared;
use crate::stages::{self, Needs};

/// Runs one plan, as often as wanted.
///
/// Stages run one after the other, each over as many threads as the plan's launch says (for a
/// GPU's plan, as many as given here), in the rayon pool that the call is made in; one thread runs
/// in the caller and touches no pool.
#[derive(Clone, Debug)]
pub struct Executor {
    plan: Plan,
    needs: Vec<Needs>,
}

/// Memory that a plan needs beyond the matrix, allocated once.
#[derive(Debug)]
pub struct Workspace {
    words: Vec<MaybeUninit<u64>>,
}

/// Why a plan did not run; the data are as they were.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The plan is none.
    #[error("not a plan: {0}")]
    Plan(#[from] Flaw),
    /// The data are not as long as the problem says.
    #[error("the plan is for {expected} bytes, the data have {got}")]
    Length {
        /// Bytes of the problem.
        expected: usize,
        /// Bytes given.
        got: usize,
    },
    /// The plan needs memory behind the matrices.
    #[error("the plan needs room for {need} bytes from the first one on, there are {have}")]
    Room {
        /// Bytes needed, the matrices' included.
        need: usize,
        /// Bytes given.
        have: usize,
    },
    /// The workspace is too small.
    #[error("the plan needs {need} bytes of workspace, there are {have}")]
    Workspace {
        /// Bytes needed.
        need: usize,
        /// Bytes given.
        have: usize,
    },
    /// The workspace, or data to measure on, could not be allocated.
    #[error("no memory for {bytes} bytes")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
}

impl Workspace {
    /// Room for `bytes` bytes.
    ///
    /// # Errors
    /// [`RunError::OutOfMemory`].
    pub fn new(bytes: usize) -> Result<Self, RunError> {
        let count = bytes.div_ceil(8);
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| RunError::OutOfMemory { bytes })?;
        words.resize(count, MaybeUninit::uninit());
        Ok(Workspace { words })
    }

    /// Bytes there.
    pub fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// Fills it with a pattern: no plan may depend on what a workspace held before.
    pub fn poison(&mut self, byte: u8) {
        self.words.fill(MaybeUninit::new(u64::from_ne_bytes([byte; 8])));
    }
}

impl Executor {
    /// For `plan`; a plan made for a GPU runs over at most `threads` threads.
    ///
    /// # Errors
    /// [`RunError::Plan`]: the plan was put together wrongly.
    pub fn new(plan: Plan, threads: usize) -> Result<Self, RunError> {
        plan.check()?;
        let elem_bytes = plan.problem.elem_bytes();
        let needs = |stage| Needs::of(stage, plan.kind, elem_bytes, threads.max(1));
        Ok(Executor { needs: plan.stages.iter().map(needs).collect(), plan })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Bytes of workspace that a run needs: for a host's plan what the plan says, for a GPU's the
    /// on-chip memory of the groups that run at a time besides.
    pub fn workspace_bytes(&self) -> usize {
        self.needs.iter().map(Needs::bytes).max().unwrap_or(0)
    }

    /// Transposes `data` in place, with `workspace` if it is large enough.
    ///
    /// `data` are the matrices and nothing else, or for a plan that pads them as much more as its
    /// [`room`](Plan::room) says, with the matrices at the start; what lies behind them is lost.
    ///
    /// `done` is told after each stage how many stages are done.
    ///
    /// # Errors
    /// [`RunError::Length`], [`RunError::Room`] and [`RunError::Workspace`], before anything is touched.
    pub fn run(
        &self,
        data: &mut [Byte],
        workspace: &mut Workspace,
        mut done: impl FnMut(usize),
    ) -> Result<(), RunError> {
        let (expected, room, got) = (self.plan.problem.bytes(), self.plan.room_bytes(), data.len());
        if room > expected && got < room {
            return Err(RunError::Room { need: room, have: got });
        }
        if room == expected && got != expected {
            return Err(RunError::Length { expected, got });
        }
        let (need, have) = (self.workspace_bytes(), workspace.bytes());
        if need > have {
            return Err(RunError::Workspace { need, have });
        }
        for (k, (stage, &needs)) in self.plan.stages.iter().zip(&self.needs).enumerate() {
            let (flags, bytes) = shared::split_flags(&mut workspace.words, needs.flag_words);
            let elem_bytes = self.plan.problem.elem_bytes();
            let (read, written) = stage.shape.spans();
            let data = &mut data[..read.max(written) * elem_bytes];
            stages::run(stage, elem_bytes, needs, data, flags, bytes);
            done(k + 1);
        }
        Ok(())
    }

    /// [`run`](Self::run) on initialised bytes.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_bytes(&self, data: &mut [u8], workspace: &mut Workspace) -> Result<(), RunError> {
        shared::run_on_bytes(self, data, workspace)
    }
}
