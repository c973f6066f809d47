//! A plan and the threads to run it on.

use std::mem::MaybeUninit;

use turntile_plan::{Flaw, Offer, Plan, Stage, StageShape};
use turntile_simd::{Byte, LINE};

use crate::finish::Finish;
use crate::tiles::Tiles;
use crate::transpose_into::transpose_into;
use crate::way::{HostWay, Mover};
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
    /// Of the workspace's start, for gaps.
    kept_bytes: usize,
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
    /// The plan is none, or not for that.
    #[error("the plan cannot run: {0}")]
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
fn way_of(
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
        let kept_bytes = plan.kept_bytes();
        Ok(Executor { plan, ways, kept_bytes })
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
        let way = way_of(stage, 1, elem_bytes, threads)?;
        let kept_bytes = if way.keeps() { way.needs().bytes() } else { 0 };
        Ok(Executor { plan, ways: vec![way], kept_bytes })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Bytes of workspace that a run needs: for a host's plan what the plan says, for another's the
    /// on-chip memory of the groups that run at a time besides.
    pub fn workspace_bytes(&self) -> usize {
        let own = self.ways.iter().filter(|way| !way.keeps());
        self.kept_bytes + own.map(|way| way.needs().bytes()).max().unwrap_or(0)
    }

    /// The most threads that a stage runs on.
    pub fn threads(&self) -> usize {
        self.ways.iter().map(|way| way.needs().parts).max().unwrap_or(1)
    }

    /// Whether elements can be [finished](Finish) in the pass that brings them to their places.
    pub fn can_finish(&self) -> bool {
        matches!(&self.ways[..], [way] if matches!(way.mover(), Mover::Turn(_)))
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
    /// [`RunError::Length`], [`RunError::Span`] and [`RunError::Workspace`], before anything is touched.
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
        finish: Option<&Finish>,
        mut done: impl FnMut(usize),
    ) -> Result<(), RunError> {
        self.check_data(data.len())?;
        let (need, have) = (self.workspace_bytes(), size_of_val(words));
        if need > have {
            return Err(RunError::Workspace { need, have });
        }
        let (kept, words) = words.split_at_mut(self.kept_bytes / size_of::<u64>());
        let mut passes = 0;
        for (way, stage) in self.ways.iter().zip(self.plan.stages()) {
            let (read, written) = way.shape.spans();
            let reach = read.max(written) * way.elem_bytes;
            let reach = reach.min(data.len());
            let data = &mut data[..reach];
            let words = if way.keeps() { &mut *kept } else { &mut *words };
            let (flags, bytes) = views::split_flags(words, way.needs().flag_words);
            stages::run(way, data, flags, bytes, finish);
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
            return Err(Flaw::Place { out_of_place: true }.into());
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

    /// Writes what lies in `from` to `to`, moved as the plan says, which is out of place.
    ///
    /// # Errors
    /// [`RunError::Length`] when either is not as long as the problem, [`RunError::Plan`] when the plan is in
    /// place; before anything is touched.
    pub fn run_into(&self, to: &mut [Byte], from: &[Byte]) -> Result<(), RunError> {
        let problem = &self.plan.problem;
        if !problem.is_out_of_place() {
            return Err(Flaw::Place { out_of_place: false }.into());
        }
        for got in [to.len(), from.len()] {
            if got != problem.bytes() {
                return Err(RunError::Length { expected: problem.bytes(), got });
            }
        }
        for way in &self.ways {
            let begins = to.as_ptr().addr() % LINE;
            let tiles = Tiles::into_buffer(way.axes(), way.elem_bytes, begins);
            transpose_into(to, from, &tiles, way.needs().parts);
        }
        Ok(())
    }
}
