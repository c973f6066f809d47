//! Builder of transpositions, and functions that need no plan.

use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use turntile_cpu::{CpuDevice, pool};
use turntile_cuda::GpuDevice;
use turntile_perm::PermutationError;
use turntile_plan::tuner::OnMeasured;
use turntile_plan::wisdom::StaleWisdom;
use turntile_plan::{
    CostTable, Device, Effort, Measurement, Plan, Planner, Problem, ProblemError, Route, TileRule,
    Wisdom, WisdomLookup,
};

#[cfg(doc)]
use crate::ErrorKind;
use crate::error::{Reason, check_length};
use crate::mode::{Dynamic, InPlace, Leading, Mode, OutOfPlace};
use crate::record_conversion::{LayoutError, RecordConversion, RecordOrder};
use crate::transposer::Transposer;
use crate::tune::{candidates, measure_seen};
use crate::{Error, elements, plan_cache};

/// Transposes a row-major matrix of `rows` by `cols` elements in place.
///
/// Elements may have any type, including zero-sized types, and `rows` and `cols` may be 0 or 1. The
/// workspace is at most 2% of the matrix plus 1 MiB per thread; matrices up to 16 KiB use none. The
/// plans of the last 8 problems are cached, so that repeated calls do not plan again.
///
/// # Errors
/// [`ErrorKind::Length`] if `data` does not have `rows · cols` elements, [`ErrorKind::TooLarge`] if
/// that product overflows, [`ErrorKind::OutOfMemory`] if the workspace cannot be allocated.
///
/// # Aborts
/// [Aborts](crate#aborts) if a bug causes a panic. In a rayon pool, see [locks](crate#locks).
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

/// Permutes the axes of a row-major array in place, like NumPy's `transpose(axes)`.
///
/// Axis `i` of the result is axis `axes[i]` of `shape`, and the result is row-major too. The array
/// may have up to 64 axes, any extents, and elements of any type. The workspace is at most 2% of
/// the array plus 1 MiB per thread; arrays up to 16 KiB use none. The plans of the last 8 problems
/// are cached.
///
/// ```
/// // 2 x 3 pixels of (r, g, b) become three planes.
/// let mut image = [1, 101, 201, 2, 102, 202, 3, 103, 203, 4, 104, 204, 5, 105, 205, 6, 106, 206];
/// turntile::permute_in_place(&mut image, &[2, 3, 3], &[2, 0, 1])?;
/// assert_eq!(image, [1, 2, 3, 4, 5, 6, 101, 102, 103, 104, 105, 106, 201, 202, 203, 204, 205, 206]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Shape`] if `axes` is not a permutation of the axes or there are more than 64,
/// [`ErrorKind::Length`] if the length of `data` does not match `shape`, [`ErrorKind::TooLarge`] if
/// the number of elements overflows, [`ErrorKind::OutOfMemory`] if the workspace cannot be
/// allocated.
///
/// # Aborts
/// [Aborts](crate#aborts) if a bug causes a panic. In a rayon pool, see [locks](crate#locks).
pub fn permute_in_place<T>(data: &mut [T], shape: &[usize], axes: &[usize]) -> Result<(), Error> {
    let problem = axes_problem::<T>(&[data.len()], shape, axes)?;
    if size_of::<T>() == 0 {
        return Ok(());
    }
    plan_cache::run(data, problem)
}

/// Returns the problem of permuting an array of elements of type `T`, after checking that each of
/// `lens` equals the number of elements of `shape`. Zero-sized elements count as one byte.
fn axes_problem<T>(lens: &[usize], shape: &[usize], axes: &[usize]) -> Result<Problem, Error> {
    let problem = Problem::permuted(shape, axes, size_of::<T>().max(1));
    // If the size overflows, `check_length` reports the error.
    if let Err(error) = &problem
        && !matches!(error, ProblemError::TooLarge { .. })
    {
        return Err(error.clone().into());
    }
    lens.iter().try_for_each(|&len| check_length(len, shape))?;
    Ok(problem?)
}

/// Transposes a row-major matrix of `rows` by `cols` elements from `src` into `dst`.
///
/// `src` is unchanged, so elements must be `Copy`. Each thread may allocate a buffer of at most 128
/// KiB or one element. The function makes no plan. For a batch, a thread count or many runs, plan
/// with [`Transpose::out_of_place`].
///
/// ```
/// let mut columns = [0; 6];
/// turntile::transpose_into(&[1, 2, 3, 4, 5, 6], &mut columns, 2, 3)?;
/// assert_eq!(columns, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Length`] if `src` or `dst` does not have `rows · cols` elements,
/// [`ErrorKind::TooLarge`] if that product overflows, [`ErrorKind::OutOfMemory`] if the threads'
/// buffers cannot be allocated. In a rayon pool, see [locks](crate#locks).
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
        elements::run_through(src, dst, [rows, cols], size_of::<T>(), pool::thread_count())?;
    }
    Ok(())
}

/// Permutes the axes of a row-major array from `src` into `dst`, like NumPy's `transpose(axes)`.
///
/// Axis `i` of the result is axis `axes[i]` of `shape`, and the result is row-major too. Like
/// [`transpose_into`], it makes no plan and requires `Copy` elements.
///
/// ```
/// // 2 x 2 pixels of (r, g, b) become three planes.
/// let image = [1, 101, 201, 2, 102, 202, 3, 103, 203, 4, 104, 204];
/// let mut planes = [0; 12];
/// turntile::permute_into(&image, &mut planes, &[2, 2, 3], &[2, 0, 1])?;
/// assert_eq!(planes, [1, 2, 3, 4, 101, 102, 103, 104, 201, 202, 203, 204]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Shape`] if `axes` is not a permutation of the axes, if there are more than 64, or
/// if more than 28 remain after axes of extent 1 are removed and axes that stay adjacent are fused.
/// [`ErrorKind::Length`] if the length of `src` or `dst` does not match `shape`,
/// [`ErrorKind::TooLarge`] if the number of elements overflows, [`ErrorKind::OutOfMemory`] if the
/// threads' buffers cannot be allocated. In a rayon pool, see [locks](crate#locks).
pub fn permute_into<T: Copy>(
    src: &[T],
    dst: &mut [T],
    shape: &[usize],
    axes: &[usize],
) -> Result<(), Error> {
    let problem = axes_problem::<T>(&[src.len(), dst.len()], shape, axes)?;
    if size_of_val(src) == 0 {
        return Ok(());
    }
    elements::run_axes_through(src, dst, &problem, pool::thread_count())
}

/// Builder of a transposition or axis permutation. Options that are not set are chosen by the
/// planner.
///
/// [`plan`](Self::plan) plans it for the host, [`plan_on`](Self::plan_on) for a GPU. The type `M`
/// ([`mode`](crate::mode)) decides which data the plan runs on. The default, [`InPlace`],
/// transposes elements of any type in place.
#[derive(Clone, Debug)]
#[must_use]
pub struct Transpose<M = InPlace> {
    pub(crate) request: TransposeRequest,
    mode: PhantomData<M>,
}

/// Operation and options that a [`Transpose`] of any mode stores.
#[derive(Clone, Debug)]
pub struct TransposeRequest {
    pub elem_bytes: usize,
    pub batch: usize,
    /// Extents of the source axes, without the batch axis.
    pub shape: Vec<usize>,
    /// Source axis of each result axis.
    pub axes: Vec<usize>,
    /// Result axes to reverse, without the batch axis.
    pub flip: Vec<usize>,
    pub threads: Option<usize>,
    pub cap: Option<usize>,
    pub alignment: Option<usize>,
    pub out_of_place: bool,
    leading: Option<[usize; 2]>,
    /// Record conversion that replaces `shape`, `axes` and `elem_bytes`.
    records: Option<RecordConversion>,
    pub route: Option<Route>,
    pub tiles: TileRule,
    pub effort: Effort,
    pub wisdom: Option<PathBuf>,
    pub costs: Option<Arc<CostTable>>,
}

impl RecordConversion {
    /// Returns the builder of the conversion from the source order to record order `to`. The plan
    /// runs on [`RawElements`](crate::RawElements), or on elements whose size is the greatest
    /// common divisor of the sizes of all fields and of the gaps between fields.
    pub fn to(self, to: RecordOrder) -> Transpose {
        let mut transpose = Transpose::permute::<u8>(&[], &[]);
        transpose.request.records = Some(self.with_target(to));
        transpose
    }
}

impl Transpose {
    /// Creates the transposition of one row-major matrix of `rows` by `cols` elements of type `T`.
    pub fn new<T>(rows: usize, cols: usize) -> Self {
        Self::permute::<T>(&[rows, cols], &[1, 0])
    }

    /// Creates the axis permutation of one row-major array of elements of type `T`: axis `i` of the
    /// result is axis `axes[i]` of `shape`, as in NumPy's `transpose(axes)`.
    ///
    /// ```
    /// let planned = turntile::Transpose::permute::<u16>(&[8, 3, 50, 40], &[0, 2, 3, 1]).plan()?;
    /// let mut images = vec![0u16; 8 * 3 * 50 * 40];
    /// planned.run(&mut images)?;
    /// # Ok::<(), turntile::Error>(())
    /// ```
    pub fn permute<T>(shape: &[usize], axes: &[usize]) -> Self {
        let request = TransposeRequest {
            elem_bytes: size_of::<T>(),
            batch: 1,
            shape: shape.to_vec(),
            axes: axes.to_vec(),
            flip: Vec::new(),
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
        };
        Transpose { request, mode: PhantomData }
    }

    /// Sets the leading dimensions of the source (`lda`) and of the result (`ldb`), in elements, as
    /// BLAS's `imatcopy` extension does.
    ///
    /// Element `(i, j)` moves from offset `i · lda + j` to `j · ldb + i`. Rows may be part of a
    /// larger matrix.
    ///
    /// With axes `[0, 1]` ([`permute`](Transpose::permute)), the matrix is not transposed: its rows
    /// are only moved from leading dimension `lda` to `ldb`.
    ///
    /// Workspace: none if `lda == ldb`, and none required if rows are only moved. A small matrix is
    /// copied through the workspace. Otherwise the rows are packed, transposed as a dense matrix,
    /// and moved to `ldb`; the workspace is that of the dense transposition plus the padding
    /// elements that must be saved. A route or tile rule applies to the dense transposition, if
    /// there is one. [`plan`](Self::plan) returns an error if leading dimensions are combined with
    /// a batch, other axes, out-of-place operation, a wisdom file or measuring.
    ///
    /// Other elements of the data:
    /// - An element outside both the source and the result is unchanged when the call returns. It
    ///   is never accessed if `lda == ldb`, if rows are only moved, or if the matrix is copied
    ///   through the workspace. Otherwise such elements within the span may be overwritten
    ///   temporarily, so nothing else may use them during the call.
    /// - The position of a source element outside the result holds an unspecified element of the
    ///   original data afterwards; if `lda == ldb` it is unchanged.
    ///
    /// ```
    /// use turntile::Transpose;
    ///
    /// // The 3 x 2 matrix in the left columns becomes the 2 x 3 matrix in the top rows.
    /// let mut matrix = [ 1,  2,  3,  4,
    ///                    5,  6,  7,  8,
    ///                    9, 10, 11, 12];
    /// Transpose::new::<i32>(3, 2).leading(4, 4).plan()?.run(&mut matrix)?;
    /// assert_eq!(matrix, [1,  5,  9,  4,
    ///                     2,  6, 10,  8,
    ///                     9, 10, 11, 12]);
    /// # Ok::<(), turntile::Error>(())
    /// ```
    pub fn leading(self, lda: usize, ldb: usize) -> Transpose<Leading> {
        self.dynamic().leading(lda, ldb).with_mode()
    }

    /// Makes the operation out-of-place: from one buffer into another that does not overlap it. The
    /// plan needs no workspace.
    pub fn out_of_place(self) -> Transpose<OutOfPlace> {
        self.dynamic().out_of_place().with_mode()
    }

    /// Defers the choice of the [`mode`](crate::mode) to run time. The plan then runs on raw bytes.
    pub fn dynamic(self) -> Transpose<Dynamic> {
        self.with_mode()
    }
}

/// Conversion to mode [`Leading`] without leading dimensions, for lists of operations with and
/// without them.
impl From<Transpose> for Transpose<Leading> {
    fn from(transpose: Transpose) -> Self {
        transpose.with_mode()
    }
}

impl Transpose<Dynamic> {
    /// Sets the leading dimensions, in elements, like
    /// [`Transpose::leading`](Transpose::<InPlace>::leading).
    pub fn leading(mut self, lda: usize, ldb: usize) -> Self {
        self.request.leading = Some([lda, ldb]);
        self
    }

    /// Makes the operation out-of-place, like
    /// [`Transpose::out_of_place`](Transpose::<InPlace>::out_of_place).
    pub fn out_of_place(mut self) -> Self {
        self.request.out_of_place = true;
        self
    }
}

impl<M: Mode> Transpose<M> {
    fn with_mode<N>(self) -> Transpose<N> {
        Transpose { request: self.request, mode: PhantomData }
    }

    /// Sets the bytes per element, for elements whose type is only known at run time. The plan then
    /// runs on [`RawElements`](crate::RawElements), or on elements of this size.
    ///
    /// ```
    /// use turntile::{RawElements, Transpose};
    ///
    /// let mut pixels = *b"RGBrgb";
    /// let planned = Transpose::new::<u8>(2, 1).itemsize(3).plan()?;
    /// planned.run(&mut RawElements(&mut pixels))?;
    /// # Ok::<(), turntile::Error>(())
    /// ```
    pub fn itemsize(mut self, bytes: usize) -> Self {
        self.request.elem_bytes = bytes;
        self
    }

    /// Sets the number of contiguous matrices or arrays to process: default 1, at least 1. For an
    /// empty batch use an extent of 0.
    pub fn batch(mut self, batch: usize) -> Self {
        self.request.batch = batch;
        self
    }

    /// Limits the host threads of a run to at most `threads`, at least 1. The default is the
    /// [thread count](crate#threads) of the pool in which the plan is made.
    pub fn threads(mut self, threads: usize) -> Self {
        self.request.threads = Some(threads);
        self
    }

    /// Limits the workspace to `bytes` bytes; 0 is allowed. The default is 2% of the matrices plus
    /// 1 MiB per thread, for at most 32 threads. On a GPU it is the larger of 2% and 16 MiB, plus
    /// the padding elements that must be saved with leading dimensions.
    pub fn workspace_limit(mut self, bytes: usize) -> Self {
        self.request.cap = Some(bytes);
        self
    }

    /// Sets the alignment of GPU buffers that the caller guarantees, in bytes. The default is 16,
    /// which every device allocation has. Ignored on the host.
    pub fn alignment(mut self, bytes: usize) -> Self {
        self.request.alignment = Some(bytes);
        self
    }

    /// Sets the route, a named sequence of stages. The default is the fastest by estimate or
    /// measurement.
    pub fn route(mut self, route: Route) -> Self {
        self.request.route = Some(route);
        self
    }

    /// Sets the rule that chooses tile sizes. The default is the cost model.
    pub fn tiles(mut self, rule: TileRule) -> Self {
        self.request.tiles = rule;
        self
    }

    /// Sets the planning effort: estimates by the cost model, or measurements of candidates as in
    /// [`tune`](Self::tune).
    pub fn effort(mut self, effort: Effort) -> Self {
        self.request.effort = effort;
        self
    }

    /// Sets a wisdom file, which stores earlier measurements. A plan found there is used without
    /// estimating or measuring, and new measurements are added. If the planner measures, it creates
    /// a missing file, but not a missing folder; otherwise a missing file is an error.
    pub fn wisdom(mut self, file: impl Into<PathBuf>) -> Self {
        self.request.wisdom = Some(file.into());
        self
    }

    /// Sets the cost table. The default is the built-in table for the device. The table only
    /// affects which plan is chosen, never whether the result is correct.
    pub fn costs(mut self, costs: CostTable) -> Self {
        self.request.costs = Some(Arc::new(costs));
        self
    }

    /// Plans the operation for the host.
    ///
    /// # Errors
    /// - [`ErrorKind::TooLarge`]: the array exceeds the address space.
    /// - [`ErrorKind::Shape`]: elements have no bytes, `axes` is not a permutation of the axes of
    ///   the shape, or a leading dimension is too small.
    /// - [`ErrorKind::Options`]: the thread count or the batch is 0, or options cannot be combined.
    /// - [`ErrorKind::NoPlan`]: the requested route is not feasible within the workspace cap.
    /// - [`ErrorKind::Wisdom`]: the wisdom file cannot be used.
    /// - [`ErrorKind::CostTable`]: the cost table belongs to another device.
    /// - [`ErrorKind::Records`]: the record conversion is not valid.
    /// - [`ErrorKind::OutOfMemory`]: the memory for planning or measuring cannot be allocated.
    pub fn plan(&self) -> Result<Transposer<M>, Error> {
        plan_cache::spare_memory()?;
        let request = &self.request;
        let (problem, planner) = (request.problem()?, request.host_planner()?);
        let (plan, rejected_wisdom) = request.choose(&planner, &problem, |budget| {
            request.tuned(&planner, &problem, budget, &mut |_, _, _| {})
        })?;
        Ok(Transposer::new(plan, request.host_threads())?.with_rejected_wisdom(rejected_wisdom))
    }

    /// Measures candidate plans on the host for about `budget` and returns the measured ones, at
    /// least one, fastest first.
    ///
    /// Candidates run on host memory allocated here, as large as the matrices, or twice that
    /// out-of-place. The fastest is recorded in the wisdom file, if one is set.
    ///
    /// # Errors
    /// Those of [`plan`](Self::plan).
    pub fn tune(&self, budget: Duration) -> Result<Vec<Measurement>, Error> {
        self.tune_seen(budget, &mut |_, _, _| {})
    }

    /// Measures candidates like [`tune`](Self::tune) and reports progress. After each candidate's
    /// first run it calls `seen` with the plan, the time of that run and the number of candidates.
    ///
    /// # Errors
    /// Those of [`plan`](Self::plan).
    pub fn tune_seen(
        &self,
        budget: Duration,
        seen: &mut dyn FnMut(&Plan, Duration, usize),
    ) -> Result<Vec<Measurement>, Error> {
        let request = &self.request;
        let (planner, problem) = (request.host_planner()?, request.dense_problem("measuring")?);
        request.tuned(&planner, &problem, budget, seen)
    }

    /// Returns the problem that [`Planner::plan`] takes.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`], [`ErrorKind::Shape`], [`ErrorKind::Options`] and
    /// [`ErrorKind::Records`], as for [`plan`](Self::plan).
    pub fn problem(&self) -> Result<Problem, Error> {
        self.request.problem()
    }
}

impl TransposeRequest {
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

    pub fn problem(&self) -> Result<Problem, Error> {
        let numbers = [("batch", self.batch), ("threads", self.threads.unwrap_or(1))];
        if let Some(&(what, _)) = numbers.iter().find(|(_, number)| *number == 0) {
            return Err(Reason::Zero { what }.into());
        }
        let problem = match &self.records {
            Some(records) => self.records_problem(records)?,
            None => self.axes_problem()?,
        };
        let problem = self.cap.map_or(problem.clone(), |cap| problem.with_cap(cap));
        let problem = self.alignment.map_or(problem.clone(), |bytes| problem.with_alignment(bytes));
        let problem = if self.out_of_place { problem.out_of_place()? } else { problem };
        let Some([lda, ldb]) = self.leading else { return Ok(problem) };
        let excluded = [
            (self.effort != Effort::Estimate, "measuring"),
            (self.wisdom.is_some(), "a wisdom file"),
            (self.batch != 1, "a batch"),
        ];
        if let Some(&(_, with)) = excluded.iter().find(|(is_set, _)| *is_set) {
            return Err(ProblemError::Leading { with }.into());
        }
        Ok(problem.with_leading(lda, ldb)?)
    }

    fn records_problem(&self, records: &RecordConversion) -> Result<Problem, LayoutError> {
        let excluded = [
            (self.batch != 1, "a batch"),
            (self.leading.is_some(), "leading dimensions"),
            (!self.flip.is_empty(), "reversed axes"),
            (self.out_of_place, "an out-of-place result"),
        ];
        match excluded.iter().find(|(is_set, _)| *is_set) {
            Some(&(_, with)) => Err(LayoutError::With { with }),
            None => records.problem(),
        }
    }

    fn axes_problem(&self) -> Result<Problem, Error> {
        // A batch of one matrix adds no axis.
        let batch = usize::from(self.batch != 1);
        let extents = [&[self.batch][..batch], &self.shape].concat();
        let later = |&axis: &usize| axis.saturating_add(batch);
        let order: Vec<usize> = (0..batch).chain(self.axes.iter().map(later)).collect();
        // Report the axes as the caller gave them, without the batch axis.
        let as_given = |error| match error {
            ProblemError::Axes(PermutationError::Order { .. }) => {
                let order = self.axes.clone();
                ProblemError::Axes(PermutationError::Order { axes: self.shape.len(), order })
            }
            other => other,
        };
        let problem = Problem::permuted(&extents, &order, self.elem_bytes).map_err(as_given)?;
        let flip: Vec<usize> = self.flip.iter().map(later).collect();
        let as_given = |error| match error {
            ProblemError::FlippedAxes { .. } => {
                let (axes, rank) = (self.flip.clone(), self.shape.len());
                ProblemError::FlippedAxes { axes, rank }
            }
            other => other,
        };
        Ok(problem.with_flip(&flip).map_err(as_given)?)
    }

    /// Returns the problem for `with`, the name of an operation that does not support leading
    /// dimensions.
    ///
    /// # Errors
    /// Those of [`problem`](Self::problem), and [`ErrorKind::Options`] if leading dimensions are
    /// set.
    pub(crate) fn dense_problem(&self, with: &'static str) -> Result<Problem, Error> {
        let problem = self.problem()?;
        let dense = problem.leading().is_none().then_some(problem);
        dense.ok_or_else(|| ProblemError::Leading { with }.into())
    }

    /// Returns the caller's cost table, if set, after checking that it fits the device named
    /// `device`, whose default table is `own`.
    fn costs_for(&self, device: &str, own: &CostTable) -> Result<Option<Arc<CostTable>>, Error> {
        // The default table may have been measured on another processor or GPU model.
        let of = |costs: &CostTable| costs.device() == device || costs.device() == own.device();
        let fits = |costs: &CostTable| costs.names() == own.names() && of(costs);
        match &self.costs {
            Some(costs) if !fits(costs) => {
                Err(Reason::Costs { of: costs.device().into(), here: device.into() }.into())
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

    pub(crate) fn planner_on(&self, chip: &GpuDevice) -> Result<Planner, Error> {
        Ok(match self.costs_for(chip.name(), chip.costs())? {
            Some(costs) => self.planner_for(chip.clone().with_costs(costs)),
            None => self.planner_for(chip.clone()),
        })
    }

    pub(crate) fn host_threads(&self) -> usize {
        self.threads.unwrap_or_else(pool::thread_count).min(pool::MAX_THREADS)
    }

    /// Returns a plan, and why the wisdom file's entry was rejected, if it was. The plan is that of
    /// the wisdom file, or else, depending on the effort, the fastest that `tune` measures or the
    /// one with the best estimate.
    pub(crate) fn choose(
        &self,
        planner: &Planner,
        problem: &Problem,
        tune: impl FnOnce(Duration) -> Result<Vec<Measurement>, Error>,
    ) -> Result<(Plan, Option<StaleWisdom>), Error> {
        let (advised, rejected_wisdom) = self.advised(planner, problem)?;
        let plan = match (advised, self.effort) {
            (Some(plan), _) => plan,
            (None, Effort::Estimate) => planner.plan(problem)?,
            (None, Effort::Measure(budget)) => tune(budget)?.swap_remove(0).plan,
        };
        Ok((plan, rejected_wisdom))
    }

    /// Returns two options: the wisdom file's plan for the problem, if it has the requested route,
    /// and why the file's entry was rejected.
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
        Ok(match wisdom.lookup(planner, problem) {
            WisdomLookup::Plan(plan) => (Some(*plan).filter(|plan| self.allows(plan)), None),
            WisdomLookup::Unknown => (None, None),
            WisdomLookup::Stale(why) => (None, Some(why)),
        })
    }

    /// Checks, before measuring, that the wisdom file (if set) can be read.
    pub(crate) fn check_wisdom(&self) -> Result<(), Error> {
        self.wisdom.iter().try_for_each(|file| Wisdom::load(file).map(drop))?;
        Ok(())
    }

    /// Records the plan of the first of `measured`, which is the fastest, in the wisdom file, if
    /// one is set.
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

    /// Returns `true` if a plan from the wisdom file has the requested route, or no route is
    /// requested.
    fn allows(&self, plan: &Plan) -> bool {
        self.route.is_none_or(|route| plan.route() == route)
    }
}
