//! A plan and what it runs on.

use std::fmt;
use std::mem::MaybeUninit;

use turntile_cpu::{Executor, RunError, Workspace};
use turntile_perm::PitchedRows;
use turntile_plan::wisdom::StaleWisdom;
use turntile_plan::{InvalidPlan, Plan, Problem};

use crate::Error;
use crate::elements::{self, Data, Source};
use crate::error::check_length;
use crate::scale::{Scalar, Scale};

/// A permutation of axes planned for the host, most often a transposition, to be run as often as wanted, from any thread.
///
/// `Display` prints the plan on a line, `{:#}` in full.
#[derive(Clone, Debug)]
pub struct Transposer {
    executor: Executor,
    threads: usize,
    refused: Option<StaleWisdom>,
}

/// Options of a run.
#[derive(Default)]
#[must_use]
pub struct RunOptions<'a> {
    pub(crate) workspace: Option<&'a mut [MaybeUninit<u64>]>,
    pub(crate) progress: Option<&'a mut dyn FnMut(usize)>,
}

impl<'a> RunOptions<'a> {
    /// A workspace allocated for the run, and no progress reported.
    pub fn new() -> Self {
        RunOptions::default()
    }

    /// In a workspace of the caller's ([`Transposer::workspace`]): the run then allocates nothing large.
    pub fn workspace(self, workspace: &'a mut Workspace) -> Self {
        self.workspace_in(workspace.words_mut())
    }

    /// The same in memory of any origin, of at least [`Transposer::workspace_bytes`] bytes.
    ///
    /// ```
    /// use std::mem::MaybeUninit;
    /// use turntile::{Options, Transpose};
    ///
    /// let planned = Transpose::of::<u16>(300, 200).plan()?;
    /// let mut words = vec![MaybeUninit::<u64>::uninit(); planned.workspace_bytes().div_ceil(8)];
    /// planned.run_with(&mut vec![0u16; 300 * 200], Options::new().workspace_in(&mut words))?;
    /// # Ok::<(), turntile::Error>(())
    /// ```
    pub fn workspace_in(self, words: &'a mut [MaybeUninit<u64>]) -> Self {
        RunOptions { workspace: Some(words), ..self }
    }

    /// Calls `done` after each stage with the number of stages done, of [`Plan::passes`](crate::plan::Plan::passes).
    ///
    /// If it panics it is not called again, the transposition is completed, and then the panic goes on: the data are
    /// transposed.
    pub fn progress(self, done: &'a mut dyn FnMut(usize)) -> Self {
        RunOptions { progress: Some(done), ..self }
    }
}

impl fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("workspace_bytes", &self.workspace.as_deref().map(size_of_val))
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

impl Transposer {
    /// Runs any plan on the host, one made for a GPU included: it then runs on `threads` threads,
    /// with scratch in place of the GPU's on-chip memory.
    ///
    /// # Errors
    /// [`Error::Run`]: the plan was put together wrongly. The planner's are right.
    pub fn new(plan: Plan, threads: usize) -> Result<Self, Error> {
        Ok(Transposer { executor: Executor::new(plan, threads)?, threads, refused: None })
    }

    pub(crate) fn with_refused(self, refused: Option<StaleWisdom>) -> Self {
        Transposer { refused, ..self }
    }

    /// Why what the wisdom file says of this problem was not used, if it says something.
    pub fn refused_wisdom(&self) -> Option<&StaleWisdom> {
        self.refused.as_ref()
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.executor.plan()
    }

    /// Bytes of workspace that a run needs. Besides it a run allocates lists and jobs of some KB, and with equal leading
    /// dimensions a buffer of at most 128 KiB, or an element, per thread.
    pub fn workspace_bytes(&self) -> usize {
        self.executor.workspace_bytes()
    }

    /// The most threads that a run works on, the calling one included. One alone touches no thread pool.
    pub fn threads(&self) -> usize {
        self.executor.threads()
    }

    /// A workspace of that size, to be used for many runs, one at a time.
    ///
    /// # Errors
    /// [`Error::Run`] when there is no memory for it.
    pub fn workspace(&self) -> Result<Workspace, Error> {
        Ok(Workspace::new(self.workspace_bytes())?)
    }

    /// Transposes `data`, or permutes their axes, in place: a slice, a vector or [`RawElements`](crate::RawElements). The workspace is allocated for the
    /// run.
    ///
    /// # Errors
    /// [`Error::Length`] and [`Error::ElementSize`] when the data are not what was planned for, [`Error::Run`]
    /// when there is no memory for the workspace, or when the plan is out of place or has leading dimensions
    /// ([`run_within`](Self::run_within)); `data` are then as they were.
    ///
    /// # Aborts
    /// If a fault of this library makes it panic while elements move: [aborts](crate#aborts). In a rayon pool: [locks](crate#locks).
    pub fn run(&self, data: &mut (impl Data + ?Sized)) -> Result<(), Error> {
        self.run_with(data, RunOptions::new())
    }

    /// The same with a workspace or progress reports ([`RunOptions`]).
    ///
    /// ```
    /// use turntile::{Options, Transpose};
    ///
    /// let planned = Transpose::of::<u16>(300, 200).plan()?;
    /// let mut workspace = planned.workspace()?;
    /// let mut matrices = vec![0u16; 10 * 300 * 200];
    /// for matrix in matrices.chunks_exact_mut(300 * 200) {
    ///     planned.run_with(matrix, Options::new().workspace(&mut workspace))?;
    /// }
    /// # Ok::<(), turntile::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`Error::Run`] when the workspace is too small.
    ///
    /// # Panics
    /// When [`RunOptions::progress`] does; the data are transposed then.
    ///
    /// # Aborts
    /// As [`run`](Self::run).
    pub fn run_with(
        &self,
        data: &mut (impl Data + ?Sized),
        options: RunOptions<'_>,
    ) -> Result<(), Error> {
        self.check(elements::extent(data))?;
        self.in_workspace(options, |workspace, done| {
            Ok(elements::run(&self.executor, data, workspace, done)?)
        })
    }

    /// The same by a plan with leading dimensions ([`Transpose::leading`](crate::Transpose::leading)), of the matrix at
    /// the start of `data`: a slice, an array or a vector of elements that are `Copy`, or [`RawElements`](crate::RawElements). They
    /// may go on behind the matrix's [`span`](Problem::span). By other plans it is [`run_with`](Self::run_with).
    ///
    /// # Errors
    /// As [`run_with`](Self::run_with); [`Error::Short`] when the data end before the matrix does, before or after
    /// ([`Error::Run`] when they are bytes).
    ///
    /// # Panics
    /// As [`run_with`](Self::run_with); the matrix has been moved then.
    pub fn run_within(
        &self,
        data: &mut (impl Data + Source + ?Sized),
        options: RunOptions<'_>,
    ) -> Result<(), Error> {
        self.check(elements::extent(data))?;
        self.in_workspace(options, |workspace, done| {
            Ok(elements::run_within(&self.executor, data, workspace, done)?)
        })
    }

    /// The same with every element of the result scaled: in the pass that moves it where the leading dimensions are equal,
    /// else in a pass of its own; where `scale` is nothing it costs nothing.
    ///
    /// ```
    /// use turntile::{Complex, Options, Scale, Transpose};
    ///
    /// let mut matrix = [Complex { re: 1.0f32, im: 2.0 }, Complex { re: 3.0, im: 4.0 }];
    /// let planned = Transpose::of::<Complex<f32>>(1, 2).leading(2, 1).plan()?;
    /// let twice = Scale::conjugated(Complex { re: 2.0, im: 0.0 });
    /// planned.run_scaled(&mut matrix, &twice, Options::new())?;
    /// assert_eq!(matrix, [Complex { re: 2.0, im: -4.0 }, Complex { re: 6.0, im: -8.0 }]);
    /// # Ok::<(), turntile::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run_within`](Self::run_within).
    ///
    /// # Panics
    /// As [`run_within`](Self::run_within); the matrix has been moved and scaled then.
    pub fn run_scaled<S: Scalar>(
        &self,
        data: &mut [S],
        scale: &Scale<S>,
        options: RunOptions<'_>,
    ) -> Result<(), Error> {
        if scale.is_nothing() {
            return self.run_within(data, options);
        }
        self.check(elements::extent(data))?;
        if self.plan().problem.is_out_of_place() {
            return Err(RunError::from(InvalidPlan::Place { out_of_place: true }).into());
        }
        let rows = scaled_rows(&self.plan().problem);
        let sides = [rows.rows(), rows.cols()];
        if !scale.is_zero() && self.executor.can_finish() {
            return self.in_workspace(options, |workspace, done| {
                Ok(elements::run_scaled(&self.executor, data, scale, workspace, done)?)
            });
        }
        // The pass of its own comes before the last call of `done`, so that a panic then finds all done.
        let passes = self.plan().passes();
        self.in_workspace(options, |workspace, done| {
            if !scale.is_zero() {
                let mut before = |stages| {
                    if stages < passes {
                        done(stages)
                    }
                };
                elements::run_within(&self.executor, data, workspace, &mut before)?;
            }
            scale.rows(data, sides, rows.pitch(), self.threads);
            done(passes);
            Ok(())
        })
    }

    /// Runs `run` in the workspace that there is, or in one of its own, with what is to be called after each stage.
    fn in_workspace(
        &self,
        mut options: RunOptions<'_>,
        run: impl FnOnce(&mut [MaybeUninit<u64>], &mut dyn FnMut(usize)) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut own;
        let workspace = match options.workspace.take() {
            Some(workspace) => workspace,
            None => {
                own = self.workspace()?;
                own.words_mut()
            }
        };
        let mut done = |stages| {
            if let Some(done) = &mut options.progress {
                done(stages);
            }
        };
        run(workspace, &mut done)
    }

    /// Transposes what lies in `src` into `dst`, by a plan that is out of place
    /// ([`Transpose::out_of_place`](crate::Transpose::out_of_place)). No workspace is needed; large tiles go through a buffer of at
    /// most 128 KiB, or an element, per thread.
    ///
    /// ```
    /// let planned = turntile::Transpose::of::<i32>(2, 3).out_of_place().plan()?;
    /// let mut columns = [0; 6];
    /// planned.run_into(&[1, 2, 3, 4, 5, 6], &mut columns)?;
    /// assert_eq!(columns, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), turntile::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] and [`Error::ElementSize`] when either is not what was planned for, [`Error::Run`] when the
    /// plan is in place, or there is no memory for the buffers; `dst` is then as it was.
    pub fn run_into<S, D>(&self, src: &S, dst: &mut D) -> Result<(), Error>
    where
        S: Source<Element = D::Element> + ?Sized,
        D: Data + ?Sized,
    {
        self.check(elements::source_extent(src))?;
        self.check(elements::extent(dst))?;
        Ok(elements::run_into(&self.executor, src, dst)?)
    }

    /// Whether so many elements of so many bytes are the problem's; of bytes the executor finds out.
    fn check(&self, extent: Option<(usize, usize)>) -> Result<(), Error> {
        let Some((len, got)) = extent else { return Ok(()) };
        let problem: &Problem = &self.plan().problem;
        let expected = problem.elem_bytes();
        if expected != got {
            return Err(Error::ElementSize { expected, got });
        }
        if problem.leading().is_none() {
            return check_length(len, problem.extents());
        }
        let expected = problem.span();
        if len < expected { Err(Error::Short { expected, got: len }) } else { Ok(()) }
    }
}

/// Where the result's elements lie, to be scaled.
fn scaled_rows(problem: &Problem) -> PitchedRows {
    let dense = PitchedRows::new(1, problem.len(), problem.len());
    problem.leading().map_or(dense.expect("a row"), |leading| leading.result())
}

impl fmt::Display for Transposer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan().fmt(f)
    }
}
