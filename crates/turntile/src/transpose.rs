//! A transposition to be planned, and the calls that need no plan.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use turntile_cpu::{CpuDevice, pool};
use turntile_cuda::Chip;
use turntile_perm::PermutationError;
use turntile_plan::tuner::OnMeasured;
use turntile_plan::wisdom::StaleWisdom;
use turntile_plan::{
    CostTable, Device, Effort, Measurement, Plan, Planner, Problem, ProblemError, Route, TileRule,
    Wisdom, WisdomLookup,
};

use crate::error::check_length;
use crate::record_conversion::{LayoutError, RecordConversion, RecordOrder};
use crate::transposer::Transposer;
use crate::tune::{candidates, measure_seen};
use crate::{Error, elements, plan_cache};

/// Transposes a row-major matrix of `rows` by `cols` elements in place.
///
/// Elements may be of any type, zero-sized ones included. Sides of 0 and 1 are fine. The workspace
/// is at most 2% of the matrix and 1 MiB for each thread; matrices up to 16 KiB use none. The plans of the
/// last 8 problems are kept, so that calls after the first cost little beside their runs.
///
/// # Errors
/// [`Error::Length`] if `data` does not have `rows · cols` elements, [`Error::Overflow`] if that product
/// overflows, [`Error::Run`] if there is no memory for the workspace. `data` is then unchanged.
///
/// # Aborts
/// If a fault of this library makes it panic while elements move: [aborts](crate#aborts). In a rayon pool: [locks](crate#locks).
pub fn transpose_in_place<T>(data: &mut [T], rows: usize, cols: usize) -> Result<(), Error> {
    check_length(data.len(), &[rows, cols])?;
    if size_of::<T>() == 0 || rows <= 1 || cols <= 1 {
        return Ok(());
    }
    if elements::run_small(data, rows, cols, size_of::<T>()) {
        return Ok(());
    }
    plan_cache::planned(Problem::new(rows, cols, size_of::<T>())?)?.run(data)
}

/// Permutes the axes of a row-major array in place: axis `i` of the result is axis `axes[i]` of `shape`, as NumPy's
/// `transpose(axes)` has it, and the result is row-major too.
///
/// Any number of axes to 64, any extents, elements of any type. The workspace is at most 2% of the array and 1 MiB for
/// each thread; arrays up to 16 KiB use none. The plans of the last 8 problems are kept.
///
/// ```
/// // Two pixels by three of (r, g, b) become three planes.
/// let mut image = [1, 101, 201, 2, 102, 202, 3, 103, 203, 4, 104, 204, 5, 105, 205, 6, 106, 206];
/// turntile::permute_in_place(&mut image, &[2, 3, 3], &[2, 0, 1])?;
/// assert_eq!(image, [1, 2, 3, 4, 5, 6, 101, 102, 103, 104, 105, 106, 201, 202, 203, 204, 205, 206]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`Error::Problem`] when `axes` does not name each axis once or there are more than 64; [`Error::Length`] when `data`
/// are not as long as the shape says, [`Error::Overflow`] when that cannot be counted; [`Error::Run`] when there is no
/// memory for the workspace. `data` are then as they were.
///
/// # Aborts
/// As [`transpose_in_place`].
pub fn permute_in_place<T>(data: &mut [T], shape: &[usize], axes: &[usize]) -> Result<(), Error> {
    let problem = Problem::permuted(shape, axes, size_of::<T>().max(1));
    // What cannot be counted is no length.
    if let Err(error) = &problem
        && !matches!(error, ProblemError::TooLarge { .. })
    {
        return Err(error.clone().into());
    }
    check_length(data.len(), shape)?;
    let problem = problem?;
    if size_of::<T>() == 0 || elements::run_small_axes(data, &problem) {
        return Ok(());
    }
    plan_cache::planned(problem)?.run(data)
}

/// Transposes a row-major matrix of `rows` by `cols` elements from `src` into `dst`: for when there is memory
/// for two. (`Copy`, since the elements exist twice afterwards; the slices cannot overlap.)
///
/// Nothing is planned, which would take longer than small matrices do. [`Transpose::out_of_place`] plans for a batch, for
/// a number of threads or for many runs.
///
/// ```
/// let mut columns = [0; 6];
/// turntile::transpose_into(&[1, 2, 3, 4, 5, 6], &mut columns, 2, 3)?;
/// assert_eq!(columns, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`Error::Length`] when `src` or `dst` does not have `rows · cols` elements, [`Error::Overflow`] when that
/// product overflows, [`Error::Run`] when there is no memory for buffers of at most 128 KiB, or an element, per thread; `dst`
/// is then as it was. In a rayon pool: [locks](crate#locks).
pub fn transpose_into<T: Copy>(
    src: &[T],
    dst: &mut [T],
    rows: usize,
    cols: usize,
) -> Result<(), Error> {
    for got in [src.len(), dst.len()] {
        check_length(got, &[rows, cols])?;
    }
    if size_of::<T>() > 0 {
        elements::run_through(src, dst, [rows, cols], size_of::<T>(), pool::count())?;
    }
    Ok(())
}

/// A transposition to be planned: what is not set is chosen.
///
/// Planned for the host by [`plan`](Self::plan), for a GPU by [`plan_on`](Self::plan_on).
#[derive(Clone, Debug)]
#[must_use]
pub struct Transpose {
    pub(crate) elem_bytes: usize,
    pub(crate) batch: usize,
    /// Extents of the axes behind the batch, and which of them each of the result is.
    pub(crate) shape: Vec<usize>,
    pub(crate) axes: Vec<usize>,
    threads: Option<usize>,
    pub(crate) cap: Option<usize>,
    pub(crate) alignment: Option<usize>,
    pub(crate) out_of_place: bool,
    leading: Option<[usize; 2]>,
    /// In place of shape, axes and element.
    records: Option<RecordConversion>,
    pub(crate) route: Option<Route>,
    pub(crate) tiles: TileRule,
    pub(crate) effort: Effort,
    pub(crate) wisdom: Option<PathBuf>,
    pub(crate) costs: Option<Arc<CostTable>>,
}

impl RecordConversion {
    /// To records that lie so: what is to be planned. It runs on [`RawElements`](crate::RawElements), or on elements of as many bytes
    /// as the greatest common divisor of all fields and gaps.
    pub fn to(self, to: RecordOrder) -> Transpose {
        let records = Some(self.towards(to));
        Transpose { records, ..Transpose::of_axes_bytes(&[], &[], 1) }
    }
}

impl Transpose {
    /// Of one row-major matrix of `rows` by `cols` elements of type `T`.
    pub fn of<T>(rows: usize, cols: usize) -> Self {
        Self::of_bytes(rows, cols, size_of::<T>())
    }

    /// Of one row-major matrix of `rows` by `cols` elements of `elem_bytes` bytes.
    pub fn of_bytes(rows: usize, cols: usize, elem_bytes: usize) -> Self {
        Self::of_axes_bytes(&[rows, cols], &[1, 0], elem_bytes)
    }

    /// Of one row-major array of elements of type `T`: axis `i` of the result is axis `axes[i]` of `shape`, as NumPy's
    /// `transpose(axes)` has it.
    ///
    /// ```
    /// let planned = turntile::Transpose::of_axes::<u16>(&[8, 3, 50, 40], &[0, 2, 3, 1]).plan()?;
    /// let mut images = vec![0u16; 8 * 3 * 50 * 40];
    /// planned.run(&mut images)?;
    /// # Ok::<(), turntile::Error>(())
    /// ```
    pub fn of_axes<T>(shape: &[usize], axes: &[usize]) -> Self {
        Self::of_axes_bytes(shape, axes, size_of::<T>())
    }

    /// The same of elements of `elem_bytes` bytes.
    pub fn of_axes_bytes(shape: &[usize], axes: &[usize], elem_bytes: usize) -> Self {
        Transpose {
            elem_bytes,
            batch: 1,
            shape: shape.to_vec(),
            axes: axes.to_vec(),
            threads: None,
            cap: None,
            alignment: None,
            out_of_place: false,
            leading: None,
            records: None,
            route: None,
            tiles: TileRule::default(),
            effort: Effort::default(),
            wisdom: None,
            costs: None,
        }
    }

    /// Of so many equal matrices or arrays, one after the other in memory; 1 or more. None at all are an extent of 0.
    pub fn batch(self, batch: usize) -> Self {
        Transpose { batch, ..self }
    }

    /// On at most so many threads of the host, 1 or more; otherwise as many as calls [made there](crate#threads) run on.
    pub fn threads(self, threads: usize) -> Self {
        Transpose { threads: Some(threads), ..self }
    }

    /// With at most so many bytes of workspace, down to 0; otherwise 2% of the matrices and 1 MiB
    /// for each thread, on a GPU 2% or 16 MiB where that is more, and with leading dimensions those elements of gaps that are
    /// in the way.
    pub fn workspace_cap(self, bytes: usize) -> Self {
        Transpose { cap: Some(bytes), ..self }
    }

    /// In a GPU's memory at addresses that are multiples of `bytes` bytes; otherwise of 16, as those of every
    /// allocation are. Ignored on the host.
    pub fn alignment(self, bytes: usize) -> Self {
        Transpose { alignment: Some(bytes), ..self }
    }

    /// From one buffer into another, which must not overlap, instead of in place. What is planned runs by
    /// [`Transposer::run_into`] or [`GpuTransposer::run_into`](crate::gpu::GpuTransposer::run_into) and needs no workspace.
    pub fn out_of_place(self) -> Self {
        Transpose { out_of_place: true, ..self }
    }

    /// Of a matrix whose rows lie `lda` elements apart before and `ldb` after, in place, as BLAS's `imatcopy` has them:
    /// element `(i, j)` goes from offset `i · lda + j` to `j · ldb + i`. Rows may be part of a larger matrix. What is
    /// planned runs by [`Transposer::run_within`] and [`Transposer::run_scaled`].
    ///
    /// With axes `[0, 1]` ([`of_axes`](Transpose::of_axes)) rows stay rows and slide from one pitch to the other.
    ///
    /// Workspace is at most the cap: the matrix itself where that is small, else what the transposition in the middle
    /// takes and those elements of gaps that lie in its way; none where `lda = ldb`, and none needed where rows slide. A route or a rule for tiles is for
    /// that transposition, if there is one. It goes with no batch, other axes, other place or measuring:
    /// [`plan`](Self::plan) says so.
    ///
    /// What becomes of other elements:
    /// - One that is neither of the source nor of the result is as it was when the call returns. Where `lda = ldb`, where
    ///   rows slide and where the matrix goes through workspace it is not touched at all; otherwise those within the span
    ///   may be overwritten temporarily, so nothing else may use them.
    /// - One of the source that is none of the result holds an element of before, which one is not specified; where
    ///   `lda = ldb` it is as it was.
    ///
    /// ```
    /// use turntile::{Options, Transpose};
    ///
    /// // The left two columns of a 3 x 4 matrix become its first two rows' left three.
    /// let mut matrix = [ 1,  2,  3,  4,
    ///                    5,  6,  7,  8,
    ///                    9, 10, 11, 12];
    /// Transpose::of::<i32>(3, 2).leading(4, 4).plan()?.run_within(&mut matrix, Options::new())?;
    /// assert_eq!(matrix, [1,  5,  9,  4,
    ///                     2,  6, 10,  8,
    ///                     9, 10, 11, 12]);
    /// # Ok::<(), turntile::Error>(())
    /// ```
    pub fn leading(self, lda: usize, ldb: usize) -> Self {
        Transpose { leading: Some([lda, ldb]), ..self }
    }

    /// By that route; otherwise by the fastest.
    pub fn route(self, route: Route) -> Self {
        Transpose { route: Some(route), ..self }
    }

    /// With tiles chosen by another rule than the cost model.
    pub fn tiles(self, rule: TileRule) -> Self {
        Transpose { tiles: rule, ..self }
    }

    /// With so much effort: by the cost model, or by measuring candidates on the planner's own memory, as large as the matrices.
    pub fn effort(self, effort: Effort) -> Self {
        Transpose { effort, ..self }
    }

    /// With a file of earlier measurements: what it knows is used before anything is estimated or
    /// measured, and what is measured is added to it. Measuring makes a file that is not there yet, in a folder that is;
    /// without measuring it is an error.
    pub fn wisdom(self, file: impl Into<PathBuf>) -> Self {
        Transpose { wisdom: Some(file.into()), ..self }
    }

    /// Planned by this table of costs; otherwise by the one that turntile has for the device. No table decides whether a
    /// result is right, only which plan is chosen.
    pub fn costs(self, costs: CostTable) -> Self {
        Transpose { costs: Some(Arc::new(costs)), ..self }
    }

    /// Plans it for the host.
    ///
    /// # Errors
    /// [`Error::Problem`] when the array exceeds the address space, elements have no bytes or the axes do not name each
    /// of the shape's once; [`Error::Zero`] of no threads or no matrices; [`Error::Plan`] when the route asked for is not
    /// feasible within the cap; [`Error::Wisdom`] when the wisdom file cannot be used; [`Error::Costs`] when the table of
    /// costs is of another device; [`Error::Run`] when there is no memory to measure on.
    pub fn plan(&self) -> Result<Transposer, Error> {
        plan_cache::spare_memory()?;
        let (problem, planner) = (self.problem()?, self.host_planner()?);
        let (plan, refused) = self.choose(&planner, &problem, |budget| {
            self.tuned(&planner, &problem, budget, &mut |_, _, _| {})
        })?;
        Ok(Transposer::new(plan, self.host_threads())?.with_refused(refused))
    }

    /// Measures candidates on the host for about `budget`, on memory of its own that is as large as the matrices, and
    /// returns them fastest first; at least one. The wisdom file, if there is one, remembers the fastest.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn tune(&self, budget: Duration) -> Result<Vec<Measurement>, Error> {
        self.tune_seen(budget, &mut |_, _, _| {})
    }

    /// The same; `seen` is called with each candidate's plan and first run as soon as that is over, and with how many
    /// candidates there are.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn tune_seen(
        &self,
        budget: Duration,
        seen: &mut dyn FnMut(&Plan, Duration, usize),
    ) -> Result<Vec<Measurement>, Error> {
        self.tuned(&self.host_planner()?, &self.dense_problem("measuring")?, budget, seen)
    }

    fn tuned(
        &self,
        planner: &Planner,
        problem: &Problem,
        budget: Duration,
        seen: OnMeasured<'_>,
    ) -> Result<Vec<Measurement>, Error> {
        self.check_wisdom()?;
        let plans = candidates(planner, problem)?;
        let measured = measure_seen(plans, self.host_threads(), budget, seen)?;
        self.remember(planner, &measured)?;
        Ok(measured)
    }

    /// What is to be transposed, as planners are asked.
    ///
    /// # Errors
    /// [`Error::Problem`] when the matrices exceed the address space or elements have no bytes; [`Error::Zero`] of no
    /// threads or no matrices.
    pub fn problem(&self) -> Result<Problem, Error> {
        let numbers = [("batch", self.batch), ("threads", self.threads.unwrap_or(1))];
        if let Some(&(what, _)) = numbers.iter().find(|(_, number)| *number == 0) {
            return Err(Error::Zero { what });
        }
        let problem = match &self.records {
            Some(records) => self.records_problem(records)?,
            None => self.axes_problem()?,
        };
        let problem = self.cap.map_or(problem, |cap| problem.with_cap(cap));
        let problem = self.alignment.map_or(problem, |bytes| problem.with_alignment(bytes));
        let problem = if self.out_of_place { problem.out_of_place()? } else { problem };
        let Some([lda, ldb]) = self.leading else { return Ok(problem) };
        let excluded = [
            (self.effort != Effort::Estimate, "measuring"),
            (self.wisdom.is_some(), "a wisdom file"),
            (self.batch != 1, "a batch"),
        ];
        if let Some(&(_, with)) = excluded.iter().find(|(asked, _)| *asked) {
            return Err(ProblemError::Leading { with }.into());
        }
        Ok(problem.with_leading(lda, ldb)?)
    }

    fn records_problem(&self, records: &RecordConversion) -> Result<Problem, LayoutError> {
        let excluded = [
            (self.batch != 1, "a batch"),
            (self.leading.is_some(), "leading dimensions"),
            (self.out_of_place, "another place"),
        ];
        match excluded.iter().find(|(asked, _)| *asked) {
            Some(&(_, with)) => Err(LayoutError::With { with }),
            None => records.problem(),
        }
    }

    fn axes_problem(&self) -> Result<Problem, Error> {
        // A batch of one is no axis.
        let batch = usize::from(self.batch != 1);
        let extents = [&[self.batch][..batch], &self.shape].concat();
        let later = |&axis: &usize| axis.saturating_add(batch);
        let order: Vec<usize> = (0..batch).chain(self.axes.iter().map(later)).collect();
        // Reported as they were given, without the batch.
        let as_given = |error| match error {
            ProblemError::Axes(PermutationError::Order { .. }) => {
                let order = self.axes.clone();
                ProblemError::Axes(PermutationError::Order { axes: self.shape.len(), order })
            }
            other => other,
        };
        Ok(Problem::permuted(&extents, &order, self.elem_bytes).map_err(as_given)?)
    }

    /// The same for what goes with no leading dimensions.
    ///
    /// # Errors
    /// As [`problem`](Self::problem), and [`Error::Problem`] with leading dimensions.
    pub(crate) fn dense_problem(&self, with: &'static str) -> Result<Problem, Error> {
        let problem = self.problem()?;
        let dense = problem.leading().is_none().then_some(problem);
        dense.ok_or_else(|| ProblemError::Leading { with }.into())
    }

    /// The table of costs that was given, for the device of that name, whose own is `own`.
    fn costs_for(&self, device: &str, own: &CostTable) -> Result<Option<Arc<CostTable>>, Error> {
        // The device's own table may have been measured on another model.
        let of = |costs: &CostTable| costs.device() == device || costs.device() == own.device();
        let fits = |costs: &CostTable| costs.names() == own.names() && of(costs);
        match &self.costs {
            Some(costs) if !fits(costs) => {
                Err(Error::Costs { of: costs.device().into(), here: device.into() })
            }
            costs => Ok(costs.clone()),
        }
    }

    fn planner_for(&self, device: impl Device + 'static) -> Planner {
        let planner = Planner::new(device).with_tiles(self.tiles);
        match self.route {
            Some(route) => planner.with_route(route),
            None => planner,
        }
    }

    pub(crate) fn host_planner(&self) -> Result<Planner, Error> {
        let host = CpuDevice::here(self.host_threads());
        Ok(match self.costs_for(host.processor(), host.costs())? {
            Some(costs) => self.planner_for(host.with_costs(costs)),
            None => self.planner_for(host),
        })
    }

    pub(crate) fn planner_on(&self, chip: &Chip) -> Result<Planner, Error> {
        Ok(match self.costs_for(chip.name(), chip.costs())? {
            Some(costs) => self.planner_for(chip.clone().with_costs(costs)),
            None => self.planner_for(chip.clone()),
        })
    }

    pub(crate) fn host_threads(&self) -> usize {
        self.threads.unwrap_or_else(pool::count).min(pool::MOST)
    }

    /// The plan that is remembered, or that `tune` finds, or of the best estimate; and why what is remembered is not
    /// used.
    pub(crate) fn choose(
        &self,
        planner: &Planner,
        problem: &Problem,
        tune: impl FnOnce(Duration) -> Result<Vec<Measurement>, Error>,
    ) -> Result<(Plan, Option<StaleWisdom>), Error> {
        let (advised, refused) = self.advised(planner, problem)?;
        let plan = match (advised, self.effort) {
            (Some(plan), _) => plan,
            (None, Effort::Estimate) => planner.plan(problem)?,
            (None, Effort::Measure(budget)) => tune(budget)?.swap_remove(0).plan,
        };
        Ok((plan, refused))
    }

    /// The plan that the wisdom file has for the problem, or why the one it has is not used.
    fn advised(
        &self,
        planner: &Planner,
        problem: &Problem,
    ) -> Result<(Option<Plan>, Option<StaleWisdom>), Error> {
        let Some(file) = &self.wisdom else { return Ok((None, None)) };
        let wisdom = match self.effort {
            Effort::Estimate => Wisdom::load_existing(file)?,
            Effort::Measure(_) => Wisdom::load(file)?,
        };
        Ok(match wisdom.advise(planner, problem) {
            WisdomLookup::Plan(plan) => (Some(*plan).filter(|plan| self.allows(plan)), None),
            WisdomLookup::Unknown => (None, None),
            WisdomLookup::Refused(why) => (None, Some(why)),
        })
    }

    /// Before something is measured: that the wisdom file, if there is one, can take it.
    pub(crate) fn check_wisdom(&self) -> Result<(), Error> {
        self.wisdom.iter().try_for_each(|file| Wisdom::load(file).map(drop))?;
        Ok(())
    }

    /// Writes the first of those measured to the wisdom file, if there is one.
    pub(crate) fn remember(
        &self,
        planner: &Planner,
        measured: &[Measurement],
    ) -> Result<(), Error> {
        if let (Some(file), Some(winner)) = (&self.wisdom, measured.first()) {
            Wisdom::record(file, planner, winner)?;
        }
        Ok(())
    }

    /// Whether a remembered plan is of the route asked for.
    fn allows(&self, plan: &Plan) -> bool {
        self.route.is_none_or(|route| plan.route() == route)
    }
}
