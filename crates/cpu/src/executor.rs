//! A plan and the threads to run it on.

use std::mem::MaybeUninit;

use turntile_plan::{Flaw, Offer, Plan, Stage, StageShape};
use turntile_simd::{Byte, LINE};

use crate::out_of_place::OutOfPlace;
use crate::permuted::Permuted;
use crate::transpose_into::{permute_into, transpose_into};
use crate::way::{self, HostWay};
use crate::{stages, views};

/// Runs one plan, as often as wanted.
///
/// Stages run one after the other, each over as many threads as the plan says (for another device's
/// plan, as many as given here), in the rayon pool that the call is made in; one thread runs
/// in the caller and touches no pool.
#[derive(Clone, Debug)]
pub struct Executor {
    plan: Plan,
    ways: Vec<HostWay>,
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
    /// The data end before the matrix does, where its rows lie apart.
    #[error("the plan is for a matrix that ends {expected} bytes on, the data have {got}")]
    Span {
        /// Bytes from the first element on that hold the matrix before and after.
        expected: usize,
        /// Bytes given.
        got: usize,
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

/// The way that runs stage `number` of a plan for elements of `elem_bytes` bytes: its own, or one in place of another
/// device's.
pub(crate) fn way_of(
    stage: &Stage,
    number: usize,
    elem_bytes: usize,
    threads: usize,
) -> Result<HostWay, RunError> {
    let (shape, method, elem_bytes) = (stage.shape, stage.offer.method, elem_bytes * stage.joined);
    match stage.offer.geometry.get::<HostWay>() {
        Some(way) if way.is_for(&shape, elem_bytes, method) => Ok(*way),
        Some(_) => Err(Flaw::Geometry { number, stage: stage.to_string() }.into()),
        None => HostWay::in_place_of(shape, elem_bytes, method, threads.max(1))
            .ok_or_else(|| Flaw::Method { number, stage: stage.to_string() }.into()),
    }
}

/// Runs a way on `data`, with as many of `words` as it needs.
pub(crate) fn run_way(way: &HostWay, data: &mut [Byte], words: &mut [MaybeUninit<u64>]) {
    let (flags, bytes) = views::split_flags(words, way.needs().flag_words);
    stages::run(way, data, flags, bytes);
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

    /// Its memory, as [`Executor::run_in`] takes it.
    pub fn words_mut(&mut self) -> &mut [MaybeUninit<u64>] {
        &mut self.words
    }

    /// Fills it with a pattern: no plan may depend on what a workspace held before.
    pub fn poison(&mut self, byte: u8) {
        self.words.fill(MaybeUninit::new(u64::from_ne_bytes([byte; 8])));
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
        Ok(Executor { plan, ways })
    }

    /// For a stage by itself, over as many elements as it reads or writes. Where it moves rows apart, no plan may have
    /// it: it runs on bytes alone, and leaves anything in the gaps.
    ///
    /// # Errors
    /// [`RunError::Plan`]: the method does not do the shape.
    pub fn of_stage(
        shape: StageShape,
        offer: Offer,
        elem_bytes: usize,
        threads: usize,
    ) -> Result<Self, RunError> {
        let uncounted = || Flaw::Uncounted { number: 1, stage: format!("{shape:?}") };
        shape.counted_len().ok_or_else(uncounted)?;
        let plan = Plan::of_stage("host", shape, offer, elem_bytes).map_err(|_| uncounted())?;
        let stage = &plan.legs[0].stages[0];
        stage.check()?;
        let ways = vec![way_of(stage, 1, elem_bytes, threads)?];
        Ok(Executor { plan, ways })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Bytes of workspace that a run needs: for a host's plan what the plan says, for another's the
    /// on-chip memory of the groups that run at a time besides.
    pub fn workspace_bytes(&self) -> usize {
        self.ways.iter().map(|way| way.needs().bytes()).max().unwrap_or(0)
    }

    /// Transposes `data` in place, with `workspace` if it is large enough.
    ///
    /// `data` are the matrices and nothing else. `done` is called after each stage with the number of stages that are done.
    ///
    /// # Errors
    /// [`RunError::Length`] and [`RunError::Workspace`], before anything is touched.
    pub fn run(
        &self,
        data: &mut [Byte],
        workspace: &mut Workspace,
        done: impl FnMut(usize),
    ) -> Result<(), RunError> {
        self.run_in(data, workspace.words_mut(), done)
    }

    /// The same with a workspace that lies in memory of any origin.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_in(
        &self,
        data: &mut [Byte],
        workspace: &mut [MaybeUninit<u64>],
        mut done: impl FnMut(usize),
    ) -> Result<(), RunError> {
        if self.plan.problem.is_out_of_place() {
            return Err(Flaw::Place { out_of_place: true }.into());
        }
        let (expected, got) = (self.plan.problem.bytes(), data.len());
        if got != expected {
            return Err(RunError::Length { expected, got });
        }
        let (need, have) = (self.workspace_bytes(), size_of_val(workspace));
        if need > have {
            return Err(RunError::Workspace { need, have });
        }
        self.run_checked(data, workspace, &mut done);
        Ok(())
    }

    /// The same once lengths and place have been compared.
    pub(crate) fn run_checked(
        &self,
        data: &mut [Byte],
        words: &mut [MaybeUninit<u64>],
        done: &mut dyn FnMut(usize),
    ) {
        for (k, way) in self.ways.iter().enumerate() {
            let (read, written) = way.shape().spans();
            let data = &mut data[..read.max(written) * way.elem_bytes()];
            run_way(way, data, words);
            done(k + 1);
        }
    }

    /// Writes what lies in `from` to `to`, moved as the plan says, which is out of place.
    ///
    /// # Errors
    /// [`RunError::Length`] when either is not as long as the problem, [`RunError::Plan`] when the plan is in
    /// place; before anything is touched.
    pub fn run_into(&self, to: &mut [Byte], from: &[Byte]) -> Result<(), RunError> {
        let problem = &self.plan.problem;
        for got in [to.len(), from.len()] {
            if got != problem.bytes() {
                return Err(RunError::Length { expected: problem.bytes(), got });
            }
        }
        if !problem.is_out_of_place() {
            return Err(Flaw::Place { out_of_place: false }.into());
        }
        for way in &self.ways {
            let (parts, elem_bytes) = (way.needs().parts, way.elem_bytes());
            let &StageShape::Axes(axes) = way.shape() else {
                unreachable!("{} goes nowhere else", way.shape())
            };
            let begins = to.as_ptr().addr() % LINE;
            match way::matrices(&axes, elem_bytes) {
                Some(matrices) => {
                    transpose_into(to, from, OutOfPlace { begins, ..matrices }, parts);
                }
                None => permute_into(to, from, &Permuted::new(&axes, elem_bytes), parts),
            }
        }
        Ok(())
    }
}
