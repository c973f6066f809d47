//! The calls people make.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use turntile_cpu::{Executor, Host, Workspace};
use turntile_plan::wisdom::Refused;
use turntile_plan::{
    Advice, Device, Effort, Measured, Plan, Planner, Problem, Route, TileRule, Wisdom,
};

use crate::Error;
use crate::tune::tune;
use crate::view;

/// Transposes a row-major matrix of `rows` by `cols` elements in place.
///
/// Elements may be of any type, zero-sized ones included. Sides of 0 and 1 are fine. The workspace
/// is at most 2% of the matrix and 1 MiB for each thread; matrices up to 16 KiB use none.
///
/// # Errors
/// [`Error::Length`] when `data` does not have `rows · cols` elements, [`Error::Overflow`] when that
/// product overflows, [`Error::Run`] when there is no memory for the workspace. `data` is then as it
/// was.
pub fn transpose_in_place<T>(data: &mut [T], rows: usize, cols: usize) -> Result<(), Error> {
    check_length(data.len(), 1, rows, cols)?;
    if size_of::<T>() == 0 || rows <= 1 || cols <= 1 {
        return Ok(());
    }
    if view::run_small(data, rows, cols) {
        return Ok(());
    }
    Transpose::new(rows, cols).plan::<T>()?.run(data)
}

/// Transposes a row-major matrix of `rows` by `cols` elements from `src` into `dst`: for when there is memory
/// for two. (`Copy`, since the elements exist twice afterwards; the slices cannot overlap.)
///
/// ```
/// let mut columns = [0; 6];
/// turntile::transpose_into(&mut columns, &[1, 2, 3, 4, 5, 6], 2, 3)?;
/// assert_eq!(columns, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`Error::Length`] when `src` or `dst` does not have `rows · cols` elements, [`Error::Overflow`] when that
/// product overflows; `dst` is then as it was.
pub fn transpose_into<T: Copy>(
    dst: &mut [T],
    src: &[T],
    rows: usize,
    cols: usize,
) -> Result<(), Error> {
    Transpose::new(rows, cols).run_into(dst, src)
}

fn check_length(got: usize, batch: usize, rows: usize, cols: usize) -> Result<(), Error> {
    let expected = batch
        .checked_mul(rows)
        .and_then(|all_rows| all_rows.checked_mul(cols))
        .ok_or(Error::Overflow { batch, rows, cols })?;
    if got == expected { Ok(()) } else { Err(Error::Length { batch, rows, cols, expected, got }) }
}

/// A transposition to be planned: what is not said is chosen.
#[derive(Clone, Debug)]
#[must_use]
pub struct Transpose {
    batch: usize,
    rows: usize,
    cols: usize,
    threads: Option<usize>,
    cap: Option<usize>,
    room: usize,
    route: Option<Route>,
    tiles: TileRule,
    effort: Effort,
    wisdom: Option<PathBuf>,
}

impl Transpose {
    /// Of one row-major matrix of `rows` by `cols` elements.
    pub fn new(rows: usize, cols: usize) -> Self {
        Transpose {
            batch: 1,
            rows,
            cols,
            threads: None,
            cap: None,
            room: 0,
            route: None,
            tiles: TileRule::default(),
            effort: Effort::default(),
            wisdom: None,
        }
    }

    /// Of so many equal matrices, one after the other in memory.
    pub fn batch(self, batch: usize) -> Self {
        Transpose { batch, ..self }
    }

    /// On at most so many threads; otherwise as many as the rayon pool that plans has.
    pub fn threads(self, threads: usize) -> Self {
        Transpose { threads: Some(threads), ..self }
    }

    /// With at most so many bytes of workspace, down to 0; otherwise 2% of the matrices and 1 MiB
    /// for each thread.
    pub fn workspace_cap(self, bytes: usize) -> Self {
        Transpose { cap: Some(bytes), ..self }
    }

    /// In memory that goes on behind the matrices, to `elements` elements in all (a vector's capacity),
    /// and may be overwritten there: route `padded-square` needs it, and is then among those chosen
    /// from. Such a plan runs by [`Planned::run_vec`].
    ///
    /// ```
    /// let mut matrix: Vec<u32> = Vec::with_capacity(50 * 50);
    /// matrix.extend(0..50 * 43);
    /// let planned = turntile::Transpose::new(50, 43).room(matrix.capacity()).plan::<u32>()?;
    /// planned.run_vec(&mut matrix, &mut planned.workspace()?)?;
    /// assert_eq!(matrix[..3], [0, 43, 86]);
    /// # Ok::<(), turntile::Error>(())
    /// ```
    pub fn room(self, elements: usize) -> Self {
        Transpose { room: elements, ..self }
    }

    /// By that route ([`plan::ROUTES`](turntile_plan::ROUTES) says what each does); otherwise by the fastest.
    pub fn route(self, route: Route) -> Self {
        Transpose { route: Some(route), ..self }
    }

    /// With tiles chosen by another rule than the cost model.
    pub fn tiles(self, rule: TileRule) -> Self {
        Transpose { tiles: rule, ..self }
    }

    /// With so much effort: by the cost model, or by measuring candidates on memory of the
    /// planner's own, as large as the matrices.
    pub fn effort(self, effort: Effort) -> Self {
        Transpose { effort, ..self }
    }

    /// With a file of earlier measurements: what it knows is used before anything is estimated or
    /// measured, and what is measured is added to it.
    pub fn wisdom(self, file: impl Into<PathBuf>) -> Self {
        Transpose { wisdom: Some(file.into()), ..self }
    }

    /// Plans it for elements of type `T`.
    ///
    /// # Errors
    /// As [`plan_bytes`](Self::plan_bytes); zero-sized elements have nothing to plan.
    pub fn plan<T>(&self) -> Result<Planned, Error> {
        self.plan_bytes(size_of::<T>())
    }

    /// Plans it for elements of `elem_bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Problem`] when the matrices exceed the address space or `elem_bytes` is 0;
    /// [`Error::Plan`] when the route asked for does not exist or cannot serve the problem within
    /// the cap; [`Error::Wisdom`] when there is a wisdom file that cannot be used; [`Error::Run`]
    /// when there is no memory to measure on.
    pub fn plan_bytes(&self, elem_bytes: usize) -> Result<Planned, Error> {
        let problem = self.problem(elem_bytes)?;
        let threads = self.host_threads();
        let planner = self.planner_for(Host::here(threads));
        let (advised, refused) = self.advised(&planner, &problem)?;
        let plan = match (advised, self.measuring()) {
            (Some(plan), _) => plan,
            (None, None) => planner.plan(&problem)?,
            (None, Some(budget)) => self.tune_bytes(elem_bytes, budget)?.swap_remove(0).plan,
        };
        Ok(Planned { refused, ..Planned::new(plan, threads)? })
    }

    /// Measures candidates for elements of `elem_bytes` bytes for about `budget`, on memory of its
    /// own that is as large as the matrices, and returns them fastest first; at least one.
    ///
    /// # Errors
    /// As [`plan_bytes`](Self::plan_bytes).
    pub fn tune_bytes(&self, elem_bytes: usize, budget: Duration) -> Result<Vec<Measured>, Error> {
        let problem = self.problem(elem_bytes)?;
        let threads = self.host_threads();
        let planner = self.planner_for(Host::here(threads));
        let measured = tune(&planner, &problem, threads, budget)?;
        self.remember(&planner, &measured[0])?;
        Ok(measured)
    }

    /// Transposes from `src` into `dst`, without a plan and without a workspace: batch and thread count
    /// apply, the rest is for transpositions in place.
    ///
    /// # Errors
    /// As [`transpose_into`].
    pub fn run_into<T: Copy>(&self, dst: &mut [T], src: &[T]) -> Result<(), Error> {
        for got in [src.len(), dst.len()] {
            check_length(got, self.batch, self.rows, self.cols)?;
        }
        if size_of::<T>() > 0 {
            let shape = [self.batch, self.rows, self.cols];
            view::run_into(dst, src, shape, self.host_threads());
        }
        Ok(())
    }

    pub(crate) fn problem(&self, elem_bytes: usize) -> Result<Problem, Error> {
        let problem = Problem::with_batch(self.batch, self.rows, self.cols, elem_bytes)?;
        let problem = problem.with_room(self.room);
        Ok(self.cap.map_or(problem, |cap| problem.with_cap(cap)))
    }

    pub(crate) fn planner_for(&self, device: impl Device + 'static) -> Planner {
        let planner = Planner::new(device).with_tiles(self.tiles);
        match self.route {
            Some(route) => planner.with_route(route),
            None => planner,
        }
    }

    /// The plan that the wisdom file has for the problem, or why the one it has is not used.
    pub(crate) fn advised(
        &self,
        planner: &Planner,
        problem: &Problem,
    ) -> Result<(Option<Plan>, Option<Refused>), Error> {
        let Some(file) = &self.wisdom else { return Ok((None, None)) };
        Ok(match Wisdom::load(file)?.advise(planner, problem) {
            Advice::Plan(plan) => (Some(*plan).filter(|plan| self.serves(plan)), None),
            Advice::Unknown => (None, None),
            Advice::Refused(why) => (None, Some(why)),
        })
    }

    /// Writes a winner to the wisdom file, if there is one.
    pub(crate) fn remember(&self, planner: &Planner, winner: &Measured) -> Result<(), Error> {
        if let Some(file) = &self.wisdom {
            Wisdom::record(file, planner.device(), winner)?;
        }
        Ok(())
    }

    /// The budget, if candidates are to be measured.
    pub(crate) fn measuring(&self) -> Option<Duration> {
        match self.effort {
            Effort::Estimate => None,
            Effort::Measure(budget) => Some(budget),
        }
    }

    fn host_threads(&self) -> usize {
        self.threads.unwrap_or_else(rayon::current_num_threads)
    }

    /// Whether a remembered plan is of the route asked for.
    fn serves(&self, plan: &Plan) -> bool {
        self.route.is_none_or(|route| plan.route == route)
    }
}

/// A planned transposition, to be run as often as wanted, from any thread.
///
/// `Display` prints the plan on a line, `{:#}` in full.
#[derive(Clone, Debug)]
pub struct Planned {
    executor: Executor,
    refused: Option<Refused>,
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

    /// Bytes that a run uses beyond the matrices in all: workspace, and room behind them.
    pub fn extra_bytes(&self) -> usize {
        self.workspace_bytes() + self.plan().room_bytes() - self.plan().problem.bytes()
    }

    /// A workspace of that size, to be used for many runs.
    ///
    /// # Errors
    /// [`Error::Run`] when there is no memory for it.
    pub fn workspace(&self) -> Result<Workspace, Error> {
        Ok(Workspace::new(self.workspace_bytes())?)
    }

    /// Transposes `data` in place, with a workspace allocated for the run.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::ElementSize`], or [`Error::Run`] when there is no memory for the
    /// workspace or the plan needs room behind the matrices; `data` is then as it was.
    pub fn run<T>(&self, data: &mut [T]) -> Result<(), Error> {
        self.run_with(data, &mut self.workspace()?)
    }

    /// Transposes `data` in place, with a workspace of the caller's, and allocates nothing large.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::ElementSize`], or [`Error::Run`] when the workspace is too small;
    /// `data` is then as it was.
    pub fn run_with<T>(&self, data: &mut [T], workspace: &mut Workspace) -> Result<(), Error> {
        self.check(data)?;
        Ok(view::run(&self.executor, data, workspace, |_| ())?)
    }

    /// Transposes the elements of a vector in place, with its spare capacity as the room behind them
    /// that a plan may need ([`Plan::room`]), and a workspace of the caller's.
    ///
    /// # Errors
    /// As [`run_with`](Self::run_with); [`RunError::Room`](crate::RunError::Room) when the capacity is
    /// too small.
    pub fn run_vec<T>(&self, data: &mut Vec<T>, workspace: &mut Workspace) -> Result<(), Error> {
        self.check(data.as_slice())?;
        Ok(view::run_vec(&self.executor, data, workspace)?)
    }

    /// Whether `data` are the problem's.
    fn check<T>(&self, data: &[T]) -> Result<(), Error> {
        let problem = &self.plan().problem;
        let (expected, got) = (problem.elem_bytes(), size_of::<T>());
        if expected != got {
            return Err(Error::ElementSize { expected, got });
        }
        check_length(data.len(), problem.batch(), problem.rows(), problem.cols())
    }

    /// Transposes elements given as bytes, telling `done` after each stage how many are done. For a
    /// plan that needs room, `data` go on behind the matrices for as much as it needs.
    ///
    /// # Errors
    /// [`Error::Run`] when `data` or the workspace has the wrong length; `data` is then as it was.
    pub fn run_bytes(
        &self,
        data: &mut [u8],
        workspace: &mut Workspace,
        done: impl FnMut(usize),
    ) -> Result<(), Error> {
        Ok(view::run(&self.executor, data, workspace, done)?)
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan().fmt(f)
    }
}
