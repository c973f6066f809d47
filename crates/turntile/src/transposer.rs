//! Plans that are ready to run on the host.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use turntile_cpu::{Executor, RunError, Workspace};
use turntile_perm::PitchedRows;
use turntile_plan::wisdom::StaleWisdom;
use turntile_plan::{Plan, Problem};

use crate::Error;
#[cfg(doc)]
use crate::ErrorKind;
use crate::elements::{self, Data, RawElements, Source};
use crate::error::{Reason, check_length};
use crate::mode::{Dynamic, InPlace, Leading, Mode, OutOfPlace};
use crate::run::RunOptions;
use crate::scale::{Scalar, Scale};

/// A transposition or axis permutation planned for the host. It can be run any number of times,
/// from any thread.
///
/// The type `M` ([`mode`](crate::mode)) decides which data it runs on. `Display` prints the plan on
/// one line, with `{:#}` in full.
#[derive(Clone, Debug)]
pub struct Transposer<M = InPlace> {
    executor: Executor,
    threads: usize,
    rejected_wisdom: Option<StaleWisdom>,
    mode: PhantomData<M>,
}

impl<M: Mode> Transposer<M> {
    /// Creates a transposer that runs `plan` on the host with at most `threads` threads. A plan for
    /// a GPU is allowed: host scratch then replaces the GPU's on-chip memory.
    ///
    /// # Errors
    /// [`ErrorKind::Plan`] if the plan is invalid or not of mode `M`. Plans made by the planner are
    /// valid.
    pub fn new(plan: Plan, threads: usize) -> Result<Self, Error> {
        M::check(&plan.problem).map_err(RunError::from)?;
        let executor = Executor::new(plan, threads)?;
        Ok(Transposer { executor, threads, rejected_wisdom: None, mode: PhantomData })
    }

    pub(crate) fn with_rejected_wisdom(self, rejected_wisdom: Option<StaleWisdom>) -> Self {
        Transposer { rejected_wisdom, ..self }
    }

    /// Returns why the wisdom file's entry for this problem was rejected, if it was.
    pub fn rejected_wisdom(&self) -> Option<&StaleWisdom> {
        self.rejected_wisdom.as_ref()
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        self.executor.plan()
    }

    /// Returns the bytes of host workspace that a run needs. A run also allocates a few KB for
    /// lists and for jobs of the thread pool. If it is out-of-place or its leading dimensions are
    /// equal, it also allocates, per thread, a buffer of at most 128 KiB or one element.
    pub fn workspace_bytes(&self) -> usize {
        self.executor.workspace_bytes()
    }

    /// Returns the maximum number of threads of a run, including the calling thread. With 1, a run
    /// does not use the thread pool.
    pub fn threads(&self) -> usize {
        self.executor.threads()
    }

    /// Allocates a workspace of [`workspace_bytes`](Self::workspace_bytes) bytes, for any number of
    /// runs, one at a time.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn workspace(&self) -> Result<Workspace, Error> {
        Ok(Workspace::new(self.workspace_bytes())?)
    }

    /// Calls `run` with the workspace of `options`, or one allocated here, and a callback that
    /// forwards to the progress callback of `options`, if set.
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

    /// Checks the number and size of the elements against the plan's problem. Accepts `None`, which
    /// stands for raw bytes, whose length the executor checks.
    fn check(&self, extent: Option<(usize, usize)>) -> Result<(), Error> {
        let Some((len, got)) = extent else { return Ok(()) };
        let problem: &Problem = &self.plan().problem;
        let expected = problem.itemsize();
        if expected != got {
            return Err(Reason::ElementSize { expected, got }.into());
        }
        if problem.leading().is_none() {
            return check_length(len, problem.extents());
        }
        let expected = problem.span();
        if len < expected { Err(Reason::Short { expected, got: len }.into()) } else { Ok(()) }
    }
}

impl Transposer {
    /// Transposes `data`, or permutes its axes, in place. `data` is a slice, an array, a vector or
    /// [`RawElements`](crate::RawElements). The workspace is allocated for the run.
    ///
    /// # Errors
    /// - [`ErrorKind::Length`] and [`ErrorKind::ElementSize`]: `data` does not match the plan.
    /// - [`ErrorKind::OutOfMemory`]: the workspace cannot be allocated.
    ///
    /// # Aborts
    /// [Aborts](crate#aborts) if a bug causes a panic. In a rayon pool, see [locks](crate#locks).
    pub fn run(&self, data: &mut (impl Data + ?Sized)) -> Result<(), Error> {
        self.run_with(data, RunOptions::new())
    }

    /// Transposes `data` like [`run`](Self::run), with a given workspace or progress reports
    /// ([`RunOptions`]).
    ///
    /// ```
    /// use turntile::Transpose;
    /// use turntile::run::RunOptions;
    ///
    /// let planned = Transpose::new::<u16>(300, 200).plan()?;
    /// let mut workspace = planned.workspace()?;
    /// let mut matrices = vec![0u16; 10 * 300 * 200];
    /// for matrix in matrices.chunks_exact_mut(300 * 200) {
    ///     planned.run_with(matrix, RunOptions::new().workspace(&mut workspace))?;
    /// }
    /// # Ok::<(), turntile::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and [`ErrorKind::Workspace`] if the workspace is too small.
    ///
    /// # Panics
    /// If [`RunOptions::progress`] panics; the data are transposed by then.
    ///
    /// # Aborts
    /// Like [`run`](Self::run).
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
}

impl Transposer<Leading> {
    /// Transposes the matrix at the start of `data`, or only moves its rows, in place, from leading
    /// dimension `lda` to `ldb` ([`Transpose::leading`](crate::Transpose::leading)). The workspace
    /// is allocated for the run.
    ///
    /// `data` is a slice, an array or a vector of `Copy` elements, or
    /// [`RawElements`](crate::RawElements). It may be longer than the matrix's
    /// [`span`](Problem::span).
    ///
    /// # Errors
    /// - [`ErrorKind::Length`]: `data` is shorter than the span.
    /// - [`ErrorKind::ElementSize`]: the element size differs from the plan's.
    /// - [`ErrorKind::OutOfMemory`]: the workspace cannot be allocated.
    ///
    /// In a rayon pool, see [locks](crate#locks).
    pub fn run(&self, data: &mut (impl Data + Source + ?Sized)) -> Result<(), Error> {
        self.run_with(data, RunOptions::new())
    }

    /// Transposes the matrix like [`run`](Self::run), with a given workspace or progress reports
    /// ([`RunOptions`]).
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and [`ErrorKind::Workspace`] if the workspace is too small.
    ///
    /// # Panics
    /// If [`RunOptions::progress`] panics; the matrix is transposed by then.
    pub fn run_with(
        &self,
        data: &mut (impl Data + Source + ?Sized),
        options: RunOptions<'_>,
    ) -> Result<(), Error> {
        self.check(elements::extent(data))?;
        self.in_workspace(options, |workspace, done| {
            Ok(elements::run_within(&self.executor, data, workspace, done)?)
        })
    }

    /// Runs the plan like [`run_with`](Self::run_with) and scales each element of the result.
    ///
    /// Scaling is fused with the transposition if the leading dimensions are equal, and is
    /// otherwise one extra pass. An identity `scale` costs nothing; if `alpha` is 0, only zeros are
    /// written.
    ///
    /// ```
    /// use turntile::Transpose;
    /// use turntile::blas::{Complex, Scale};
    /// use turntile::run::RunOptions;
    ///
    /// let mut matrix = [Complex { re: 1.0f32, im: 2.0 }, Complex { re: 3.0, im: 4.0 }];
    /// let planned = Transpose::new::<Complex<f32>>(1, 2).leading(2, 1).plan()?;
    /// let twice = Scale::conjugated(Complex { re: 2.0, im: 0.0 });
    /// planned.run_scaled(&mut matrix, &twice, RunOptions::new())?;
    /// assert_eq!(matrix, [Complex { re: 2.0, im: -4.0 }, Complex { re: 6.0, im: -8.0 }]);
    /// # Ok::<(), turntile::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`run_with`](Self::run_with).
    ///
    /// # Panics
    /// If [`RunOptions::progress`] panics; the matrix is transposed and scaled by then.
    pub fn run_scaled<S: Scalar>(
        &self,
        data: &mut [S],
        scale: &Scale<S>,
        options: RunOptions<'_>,
    ) -> Result<(), Error> {
        if scale.is_nothing() {
            return self.run_with(data, options);
        }
        self.check(elements::extent(data))?;
        let rows = scaled_rows(&self.plan().problem);
        let sides = [rows.rows(), rows.cols()];
        if !scale.is_zero() && self.executor.can_finish() {
            return self.in_workspace(options, |workspace, done| {
                Ok(elements::run_scaled(&self.executor, data, scale, workspace, done)?)
            });
        }
        // Scale before the last call of `done`, so that the result is complete if that call panics.
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
}

impl Transposer<OutOfPlace> {
    /// Transposes `src` into `dst`, or permutes its axes.
    ///
    /// A run needs no workspace. Elements of large arrays pass through one buffer per thread, of at
    /// most 128 KiB or one element.
    ///
    /// ```
    /// let planned = turntile::Transpose::new::<i32>(2, 3).out_of_place().plan()?;
    /// let mut columns = [0; 6];
    /// planned.run(&[1, 2, 3, 4, 5, 6], &mut columns)?;
    /// assert_eq!(columns, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), turntile::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Length`] and [`ErrorKind::ElementSize`] if `src` or `dst` does not match the
    /// plan, [`ErrorKind::OutOfMemory`] if the buffers cannot be allocated.
    pub fn run<S, D>(&self, src: &S, dst: &mut D) -> Result<(), Error>
    where
        S: Source<Element = D::Element> + ?Sized,
        D: Data + ?Sized,
    {
        self.check(elements::source_extent(src))?;
        self.check(elements::extent(dst))?;
        Ok(elements::run_into(&self.executor, src, dst)?)
    }
}

impl Transposer<Dynamic> {
    /// Runs an in-place plan on the elements at the start of the bytes `data`, with or without
    /// leading dimensions.
    ///
    /// # Errors
    /// - [`ErrorKind::Length`]: the length of `data` does not match. With leading dimensions it may
    ///   be longer than the span.
    /// - [`ErrorKind::Workspace`]: the given workspace is too small.
    /// - [`ErrorKind::OutOfMemory`]: the workspace cannot be allocated.
    /// - [`ErrorKind::Plan`]: the plan is out-of-place.
    pub fn run(&self, data: &mut [u8], options: RunOptions<'_>) -> Result<(), Error> {
        self.in_workspace(options, |workspace, done| {
            Ok(elements::run_within(&self.executor, &mut RawElements(data), workspace, done)?)
        })
    }

    /// Runs an out-of-place plan from the bytes `src` into the bytes `dst`.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if the length of `src` or `dst` does not match,
    /// [`ErrorKind::OutOfMemory`] if the buffers cannot be allocated, [`ErrorKind::Plan`] if the
    /// plan is in-place.
    pub fn run_into(&self, src: &[u8], dst: &mut [u8]) -> Result<(), Error> {
        Ok(elements::run_into(&self.executor, &RawElements(src), &mut RawElements(dst))?)
    }
}

/// Returns the number, length and pitch of the result's rows, in elements, for the extra scaling
/// pass. A dense result counts as one row.
fn scaled_rows(problem: &Problem) -> PitchedRows {
    let dense = PitchedRows::new(1, problem.len(), problem.len());
    problem.leading().map_or(dense.expect("a row"), |leading| leading.result())
}

impl<M: Mode> fmt::Display for Transposer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan().fmt(f)
    }
}
