//! A matrix with leading dimensions to be planned, and what is planned.

use std::fmt;
use std::mem::MaybeUninit;

use turntile_cpu::{LeadingExecutor, Workspace};
use turntile_plan::{Effort, LeadingError, LeadingPlan, LeadingProblem};

use crate::Error;
use crate::planned::Options;
use crate::scale::{Scalar, Scale};
use crate::transpose::Transpose;
use crate::view::{self, Data, Elements, Source};

/// A transposition of a matrix with leading dimensions, to be planned for the host or a GPU: see
/// [`Transpose::leading`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Leading {
    pub(crate) transpose: Transpose,
    lda: usize,
    ldb: usize,
}

impl Transpose {
    /// Of a matrix whose rows lie `lda` elements apart before and `ldb` after, in place, as BLAS's `imatcopy` has them:
    /// element `(i, j)` goes from offset `i · lda + j` to `j · ldb + i`. Rows may be part of a larger matrix.
    ///
    /// With axes `[0, 1]` ([`of_axes`](Transpose::of_axes)) rows stay rows and slide from one pitch to the other.
    ///
    /// What becomes of other elements:
    /// - One that is neither of the source nor of the result is as it was when the call returns. Where `lda = ldb`, where
    ///   rows slide and where the matrix goes through workspace it is not touched at all; otherwise those within the span
    ///   may be away meanwhile, so that nobody else may use them.
    /// - One of the source that is none of the result holds an element of before, of which nothing is said; where
    ///   `lda = ldb` it is as it was.
    ///
    /// ```
    /// // The left two columns of a 3 x 4 matrix become its first two rows' left three.
    /// let mut matrix = [ 1,  2,  3,  4,
    ///                    5,  6,  7,  8,
    ///                    9, 10, 11, 12];
    /// turntile::Transpose::of::<i32>(3, 2).leading(4, 4).plan()?.run(&mut matrix)?;
    /// assert_eq!(matrix, [1,  5,  9,  4,
    ///                     2,  6, 10,  8,
    ///                     9, 10, 11, 12]);
    /// # Ok::<(), turntile::Error>(())
    /// ```
    pub fn leading(self, lda: usize, ldb: usize) -> Leading {
        Leading { transpose: self, lda, ldb }
    }
}

impl Leading {
    /// Plans it for the host.
    ///
    /// Workspace is at most the cap: the matrix itself where that is small, else what the transposition in the middle
    /// takes and those elements of gaps that lie in its way; none where `lda = ldb`. A route or a rule for tiles that was
    /// asked for is for that transposition, if there is one.
    ///
    /// # Errors
    /// [`Error::Leading`] when a leading dimension is less than a row, the bytes exceed the address space, or a batch,
    /// other axes, another place, measuring or a wisdom file were asked for too; [`Error::Plan`] when a route that
    /// was asked for cannot serve.
    pub fn plan(&self) -> Result<PlannedLeading, Error> {
        let problem = self.problem()?;
        let plan = self.transpose.host_planner()?.plan_leading(&problem)?;
        let threads = self.transpose.host_threads();
        Ok(PlannedLeading { executor: LeadingExecutor::new(plan, threads)?, threads })
    }

    /// What is to be transposed, as planners are asked.
    ///
    /// # Errors
    /// [`Error::Leading`].
    pub fn problem(&self) -> Result<LeadingProblem, Error> {
        let Transpose { elem_bytes, batch, cap, out_of_place, alignment, .. } = self.transpose;
        let Transpose { shape, axes, effort, wisdom, .. } = &self.transpose;
        let unserved = [
            (batch != 1, "not for a batch"),
            (out_of_place, "not for another place"),
            (*effort != Effort::Estimate || wisdom.is_some(), "nothing is measured or remembered"),
        ];
        if let Some(&(_, what)) = unserved.iter().find(|(asked, _)| *asked) {
            return Err(LeadingError::Unserved { what }.into());
        }
        let make = match (&shape[..], &axes[..]) {
            ([_, _], [1, 0]) => LeadingProblem::transposed,
            ([_, _], [0, 1]) => LeadingProblem::slid,
            _ => return Err(LeadingError::Unserved { what: "not for other axes" }.into()),
        };
        let problem = make([shape[0], shape[1]], [self.lda, self.ldb], elem_bytes)?;
        let problem = alignment.map_or(problem, |bytes| problem.with_alignment(bytes));
        Ok(cap.map_or(problem, |cap| problem.with_cap(cap)))
    }
}

/// A matrix with leading dimensions planned for the host, to be run as often as wanted, from any thread.
///
/// `Display` prints the plan on a line, `{:#}` in full.
#[derive(Clone, Debug)]
pub struct PlannedLeading {
    executor: LeadingExecutor,
    threads: usize,
}

impl PlannedLeading {
    /// The plan.
    pub fn plan(&self) -> &LeadingPlan {
        self.executor.plan()
    }

    /// Bytes of workspace that a run needs; it never allocates more.
    pub fn workspace_bytes(&self) -> usize {
        self.executor.workspace_bytes()
    }

    /// A workspace of that size, to be used for many runs, one at a time.
    ///
    /// # Errors
    /// [`Error::Run`] when there is no memory for it.
    pub fn workspace(&self) -> Result<Workspace, Error> {
        Ok(Workspace::new(self.workspace_bytes())?)
    }

    /// Elements from the first one on that the data must have:
    /// `max((rows − 1) · lda + cols, (cols − 1) · ldb + rows)`; 0 where there is no element.
    pub fn span(&self) -> usize {
        self.plan().problem.leading().span()
    }

    /// Moves the matrix at the start of `data`: a slice, an array or a vector of elements that are `Copy`, or
    /// [`Bytes`](crate::Bytes). They may be longer than its [`span`](Self::span).
    ///
    /// # Errors
    /// [`Error::Short`] and [`Error::ElementSize`] when the data are not what was planned for ([`Error::Run`] when they
    /// are bytes), [`Error::Run`] when there is no memory for the workspace; `data` are then as they were.
    pub fn run(&self, data: &mut (impl Data + Source + ?Sized)) -> Result<(), Error> {
        self.run_with(data, Options::new())
    }

    /// The same with what `options` bring.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`Error::Run`] when the workspace is too small.
    ///
    /// # Panics
    /// When [`Options::progress`] does; the matrix has been moved then.
    pub fn run_with(
        &self,
        data: &mut (impl Data + Source + ?Sized),
        options: Options<'_>,
    ) -> Result<(), Error> {
        self.check(Elements::extent(data))?;
        self.in_workspace(options, |workspace, done| {
            Ok(view::run_leading(&self.executor, data, workspace, done)?)
        })
    }

    /// The same with every element of the result scaled: in the pass that moves it where there is one alone
    /// (`lda = ldb`), else in a pass of its own; where `scale` is nothing it costs nothing.
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
    /// As [`run_with`](Self::run_with).
    ///
    /// # Panics
    /// As [`run_with`](Self::run_with); the matrix has been moved and scaled then.
    pub fn run_scaled<S: Scalar>(
        &self,
        data: &mut [S],
        scale: &Scale<S>,
        options: Options<'_>,
    ) -> Result<(), Error> {
        if scale.is_nothing() {
            return self.run_with(data, options);
        }
        self.check(Elements::extent(data))?;
        let result = *self.plan().problem.leading();
        let result = result.result();
        let sides = [result.rows(), result.cols()];
        if !scale.is_zero() && self.executor.can_finish() {
            return self.in_workspace(options, |workspace, done| {
                Ok(view::run_scaled(&self.executor, data, scale, workspace, done)?)
            });
        }
        // The pass of its own comes before what is told of the last one, so that a panic then finds all done.
        let passes = self.plan().passes();
        self.in_workspace(options, |workspace, done| {
            if !scale.is_zero() {
                let mut before = |stages| {
                    if stages < passes {
                        done(stages)
                    }
                };
                view::run_leading(&self.executor, data, workspace, &mut before)?;
            }
            scale.rows(data, sides, result.pitch(), self.threads);
            done(passes);
            Ok(())
        })
    }

    /// Runs `run` in the workspace that there is, or in one of its own, with whom to tell.
    fn in_workspace(
        &self,
        mut options: Options<'_>,
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

    /// Whether so many elements of so many bytes hold the matrix; of bytes the executor finds out.
    fn check(&self, extent: Option<(usize, usize)>) -> Result<(), Error> {
        let Some((len, got)) = extent else { return Ok(()) };
        let expected = self.plan().problem.elem_bytes();
        if expected != got {
            return Err(Error::ElementSize { expected, got });
        }
        let expected = self.span();
        if len < expected { Err(Error::Short { expected, got: len }) } else { Ok(()) }
    }
}

impl fmt::Display for PlannedLeading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan().fmt(f)
    }
}
