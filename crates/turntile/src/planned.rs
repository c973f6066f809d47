//! A plan and what it runs on.

use std::fmt;
use std::mem::MaybeUninit;

use turntile_cpu::{Executor, Workspace};
use turntile_plan::wisdom::Refused;
use turntile_plan::{Plan, Problem};

use crate::Error;
use crate::error::check_length;
use crate::view::{self, Data, Source};

/// A permutation of axes planned for the host, most often a transposition, to be run as often as wanted, from any thread.
///
/// `Display` prints the plan on a line, `{:#}` in full.
#[derive(Clone, Debug)]
pub struct Planned {
    executor: Executor,
    refused: Option<Refused>,
}

/// What a run may be given beside the data.
#[derive(Default)]
#[must_use]
pub struct Options<'a> {
    pub(crate) workspace: Option<&'a mut [MaybeUninit<u64>]>,
    pub(crate) progress: Option<&'a mut dyn FnMut(usize)>,
}

impl<'a> Options<'a> {
    /// A workspace allocated for the run, nothing told.
    pub fn new() -> Self {
        Options::default()
    }

    /// In a workspace of the caller's ([`Planned::workspace`]): the run then allocates nothing large.
    pub fn workspace(self, workspace: &'a mut Workspace) -> Self {
        self.workspace_in(workspace.words_mut())
    }

    /// The same in memory of any origin, of at least [`Planned::workspace_bytes`] bytes.
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
        Options { workspace: Some(words), ..self }
    }

    /// Telling `done` after each stage how many are done, of [`Plan::passes`](crate::plan::Plan::passes).
    ///
    /// If it panics it is told no more, the transposition is completed, and then the panic goes on: the data are
    /// transposed.
    pub fn progress(self, done: &'a mut dyn FnMut(usize)) -> Self {
        Options { progress: Some(done), ..self }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("workspace_bytes", &self.workspace.as_deref().map(size_of_val))
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

impl Planned {
    /// Runs any plan on the host, one made for a GPU included: it then runs on `threads` threads,
    /// with scratch in place of the GPU's on-chip memory.
    ///
    /// # Errors
    /// [`Error::Run`]: the plan was put together wrongly. The planner's are right.
    pub fn new(plan: Plan, threads: usize) -> Result<Self, Error> {
        Ok(Planned { executor: Executor::new(plan, threads)?, refused: None })
    }

    pub(crate) fn with_refused(self, refused: Option<Refused>) -> Self {
        Planned { refused, ..self }
    }

    /// Why what the wisdom file says of this problem was not used, if it says something.
    pub fn refused_wisdom(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
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

    /// Transposes `data`, or permutes their axes, in place: a slice, a vector or [`Bytes`](crate::Bytes). The workspace is allocated for the
    /// run.
    ///
    /// # Errors
    /// [`Error::Length`] and [`Error::ElementSize`] when the data are not what was planned for, [`Error::Run`]
    /// when there is no memory for the workspace, or when the plan is out of place; `data` are then as they were.
    pub fn run(&self, data: &mut (impl Data + ?Sized)) -> Result<(), Error> {
        self.run_with(data, Options::new())
    }

    /// The same with what `options` bring.
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
    /// When [`Options::progress`] does; the data are transposed then.
    pub fn run_with(
        &self,
        data: &mut (impl Data + ?Sized),
        mut options: Options<'_>,
    ) -> Result<(), Error> {
        self.check(data.extent())?;
        let mut own;
        let workspace = match options.workspace.take() {
            Some(workspace) => workspace,
            None => {
                own = self.workspace()?;
                own.words_mut()
            }
        };
        let done = |stages| {
            if let Some(done) = &mut options.progress {
                done(stages);
            }
        };
        Ok(view::run(&self.executor, data, workspace, done)?)
    }

    /// Transposes what lies in `src` into `dst`, by a plan that is out of place
    /// ([`Transpose::out_of_place`](crate::Transpose::out_of_place)). No workspace is needed.
    ///
    /// ```
    /// let planned = turntile::Transpose::of::<i32>(2, 3).out_of_place().plan()?;
    /// let mut columns = [0; 6];
    /// planned.run_into(&mut columns, &[1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(columns, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), turntile::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] and [`Error::ElementSize`] when either is not what was planned for, [`Error::Run`] when the
    /// plan is in place; `dst` is then as it was.
    pub fn run_into<D, S>(&self, dst: &mut D, src: &S) -> Result<(), Error>
    where
        D: Data + ?Sized,
        S: Source<Element = D::Element> + ?Sized,
    {
        self.check(src.extent())?;
        self.check(dst.extent())?;
        Ok(view::run_into(&self.executor, dst, src)?)
    }

    /// Whether so many elements of so many bytes are the problem's; of bytes the executor finds out.
    fn check(&self, extent: Option<(usize, usize)>) -> Result<(), Error> {
        let Some((len, got)) = extent else { return Ok(()) };
        let problem: &Problem = &self.plan().problem;
        let expected = problem.elem_bytes();
        if expected != got {
            return Err(Error::ElementSize { expected, got });
        }
        check_length(len, problem.extents())
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan().fmt(f)
    }
}
