//! Matrices with leading dimensions in a GPU's memory, moved and scaled in place.

use std::fmt;
use std::time::Duration;

use turntile_cuda::{Buffers, CudaError, Gpu, Number, Prepared, Scaling, Stopwatch, Work};
use turntile_plan::LeadingPlan;

use super::{DeviceMemory, StreamHandle};
use crate::Error;
use crate::imatcopy::{Operation, matrix};
use crate::leading::Leading;
use crate::scale::{Scalar, Scale};

/// A matrix with leading dimensions planned for a GPU, its kernels loaded: it can run any number of times, from any
/// thread.
///
/// `Display` prints the plan on a line, `{:#}` in full.
#[derive(Debug)]
pub struct LeadingOnGpu {
    plan: LeadingPlan,
    prepared: Prepared,
}

impl Leading {
    /// Plans it for `gpu` and loads the kernels.
    ///
    /// Workspace is at most the cap: the matrix itself where that fits it, else what the transposition in the middle takes
    /// and those elements of gaps that lie in its way; none where `lda = ldb`, 4 bytes a block and 4 more where rows slide
    /// alone. Where no cap was said it is 2% of the
    /// matrix, or 16 MiB where that is more, and those elements of gaps.
    ///
    /// # Errors
    /// As [`plan`](Self::plan); [`Error::Plan`] with [`PlanError::Gaps`](crate::plan::PlanError::Gaps), which says how
    /// much they are, where the cap has no room for the gaps; [`Error::Cuda`] when the driver refuses.
    pub fn plan_on(&self, gpu: &Gpu) -> Result<LeadingOnGpu, Error> {
        let problem = self.problem()?;
        let plan = self.transpose.planner_on(gpu.chip())?.plan_leading(&problem)?;
        let prepared = gpu.prepare_leading(&plan)?;
        // What numbers these are is said when they are scaled, perhaps within a capture, where nothing can be loaded.
        let limits = gpu.chip().limits();
        for number in Number::ALL.into_iter().filter(|n| n.bytes() == problem.elem_bytes()) {
            let (rows, alignment) = (problem.leading().result(), problem.alignment());
            gpu.prepare_work(Work::of_scale(number, rows, Scaling::Zeros, alignment, limits)?)?;
        }
        Ok(LeadingOnGpu { plan, prepared })
    }
}

impl LeadingOnGpu {
    /// The plan.
    pub fn plan(&self) -> &LeadingPlan {
        &self.plan
    }

    /// Bytes of device memory that a run needs beyond the matrix.
    pub fn workspace_bytes(&self) -> usize {
        self.prepared.work().workspace_bytes()
    }

    /// Elements from the first one on that the memory must have; see
    /// [`PlannedLeading::span`](crate::PlannedLeading::span).
    pub fn span(&self) -> usize {
        self.plan.problem.leading().span()
    }

    /// The same with a workspace of its own, allocated here; runs of it must not overlap.
    ///
    /// # Errors
    /// [`Error::Cuda`] when there is no memory for it.
    pub fn with_own_workspace(self) -> Result<Self, Error> {
        Ok(LeadingOnGpu { prepared: self.prepared.with_own_workspace()?, ..self })
    }

    /// Queues the move of the matrix at the start of `data` on `stream`, with a workspace of its own
    /// ([`with_own_workspace`](Self::with_own_workspace)). Allocates nothing, waits for nothing; errors of the kernels'
    /// runs show at the caller's next synchronisation.
    ///
    /// # Errors
    /// [`Error::Cuda`]: `data` ends before the matrix does, before or after, or is not as aligned as was said, otherwise
    /// to 16 bytes ([`Transpose::alignment`](crate::Transpose::alignment)); a workspace is needed and there is none of its
    /// own. Whatever is wrong with the arguments is found before anything is queued.
    ///
    /// # Safety
    /// Memory and stream are of the GPU's context; until the queued work has ended, nothing else uses the memory from the
    /// first element of the matrix to its last, gaps included unless `lda = ldb`, and this is not dropped. Work that was
    /// captured in a graph has ended when the graph can no longer be launched.
    pub unsafe fn run(
        &self,
        data: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
    ) -> Result<(), Error> {
        // SAFETY: the caller answers for all of it.
        unsafe { self.queue(data.into(), stream.into(), None) }
    }

    /// The same with a workspace of the caller's of at least [`workspace_bytes`](Self::workspace_bytes) bytes, at a
    /// multiple of 16, that overlaps no memory of the matrix.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Safety
    /// As of [`run`](Self::run), of the workspace too.
    pub unsafe fn run_with(
        &self,
        data: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
        workspace: impl Into<DeviceMemory>,
    ) -> Result<(), Error> {
        // SAFETY: the caller answers for all of it.
        unsafe { self.queue(data.into(), stream.into(), Some(workspace.into())) }
    }

    /// As [`run`](Self::run), every element of the result scaled, in a pass of its own; where `scale` is nothing it costs
    /// nothing, and where it is zero nothing is moved. Numbers are those of the host, bit by bit, but that of a NaN which
    /// a product or a sum makes nothing is said beyond its being one.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`Error::ElementSize`] when the plan is for elements of another size.
    ///
    /// # Safety
    /// As of [`run`](Self::run).
    pub unsafe fn run_scaled<S: Scalar>(
        &self,
        data: impl Into<DeviceMemory>,
        scale: &Scale<S>,
        stream: impl Into<StreamHandle>,
    ) -> Result<(), Error> {
        // SAFETY: the caller answers for all of it.
        unsafe { self.queue_scaled(data.into(), scale, stream.into(), None) }
    }

    /// The same with a workspace of the caller's, as [`run_with`](Self::run_with).
    ///
    /// # Errors
    /// As [`run_scaled`](Self::run_scaled).
    ///
    /// # Safety
    /// As of [`run_with`](Self::run_with).
    pub unsafe fn run_scaled_with<S: Scalar>(
        &self,
        data: impl Into<DeviceMemory>,
        scale: &Scale<S>,
        stream: impl Into<StreamHandle>,
        workspace: impl Into<DeviceMemory>,
    ) -> Result<(), Error> {
        // SAFETY: the caller answers for all of it.
        unsafe { self.queue_scaled(data.into(), scale, stream.into(), Some(workspace.into())) }
    }

    unsafe fn queue(
        &self,
        data: DeviceMemory,
        stream: StreamHandle,
        workspace: Option<DeviceMemory>,
    ) -> Result<(), Error> {
        let workspace = workspace.map(DeviceMemory::place);
        let buffers = Buffers { data: data.place(), source: None, workspace };
        // SAFETY: the caller of this function's caller answers for all of it.
        Ok(unsafe { self.prepared.run_raw(stream.0, buffers) }?)
    }

    unsafe fn queue_scaled<S: Scalar>(
        &self,
        data: DeviceMemory,
        scale: &Scale<S>,
        stream: StreamHandle,
        workspace: Option<DeviceMemory>,
    ) -> Result<(), Error> {
        let (expected, got) = (self.plan.problem.elem_bytes(), size_of::<S>());
        if expected != got {
            return Err(Error::ElementSize { expected, got });
        }
        if scale.is_nothing() {
            // SAFETY: the caller of this function's caller answers for all of it.
            return unsafe { self.queue(data, stream, workspace) };
        }
        let scaled = self.scaling(scale)?;
        // Both are known to be right before either is queued: the matrix's memory holds the result's.
        let buffers = Buffers { data: data.place(), ..Buffers::default() };
        scaled.work().check(&buffers)?;
        if scale.is_zero() {
            let need = self.plan.problem.span_bytes();
            if data.bytes < need {
                return Err(CudaError::Length { what: "matrix", need, have: data.bytes }.into());
            }
        } else {
            // SAFETY: as above.
            unsafe { self.queue(data, stream, workspace) }?;
        }
        // SAFETY: as above. The kernel's code is kept by the GPU that this has.
        Ok(unsafe { scaled.run_raw(stream.0, buffers) }?)
    }

    /// The pass over the result.
    fn scaling<S: Scalar>(&self, scale: &Scale<S>) -> Result<Prepared, Error> {
        let gpu = self.prepared.gpu();
        let (number, scaling) = scale.on_gpu();
        let problem = &self.plan.problem;
        let (rows, alignment) = (problem.leading().result(), problem.alignment());
        let work = Work::of_scale(number, rows, scaling, alignment, gpu.chip().limits())?;
        Ok(gpu.prepare_work(work)?)
    }

    /// Bytes of a [`Stopwatch`]'s memory that a run takes.
    pub fn measured_bytes(&self) -> usize {
        self.prepared.work().bytes()
    }

    /// Runs on a stopwatch's memory and workspace, and returns how long the device took.
    ///
    /// # Errors
    /// [`Error::Cuda`]: the memory is shorter than [`measured_bytes`](Self::measured_bytes) or of another GPU, or there is no
    /// memory for the workspace.
    pub fn time(&self, watch: &mut Stopwatch) -> Result<Duration, Error> {
        Ok(watch.time(&self.prepared)?)
    }
}

impl fmt::Display for LeadingOnGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

/// `A := alpha · op(A)` in place in device memory, as [`imatcopy`](crate::imatcopy()) on the host, for one time: it plans,
/// allocates the workspace, and waits for its work. To run often, or to wait for nothing, plan with
/// [`Leading::plan_on`].
///
/// The address is aligned to real numbers, or as far as it happens to be.
///
/// # Errors
/// As [`Leading::plan_on`] and [`LeadingOnGpu::run_scaled`]; the memory is then as it was, unless the device failed.
///
/// # Safety
/// Memory and stream are of the GPU's context, and nothing else uses the memory meanwhile.
#[allow(clippy::too_many_arguments, reason = "BLAS's own, and where")]
pub unsafe fn imatcopy<S: Scalar>(
    gpu: &Gpu,
    stream: impl Into<StreamHandle>,
    data: impl Into<DeviceMemory>,
    operation: Operation,
    rows: usize,
    cols: usize,
    alpha: S,
    lda: usize,
    ldb: usize,
) -> Result<(), Error> {
    let (data, stream) = (data.into(), stream.into());
    // An address of its own has an alignment of its own.
    let alignment = 1 << data.address.trailing_zeros().min(4);
    let leading = matrix::<S>(operation, rows, cols).alignment(alignment).leading(lda, ldb);
    let scale = Scale { alpha, conjugate: operation.conjugates() };
    let planned = leading.plan_on(gpu)?;
    // Zeros are put down without moving anything.
    let planned = if scale.is_zero() { planned } else { planned.with_own_workspace()? };
    // SAFETY: the caller answers for memory and stream; `planned` lives until the work has ended.
    unsafe {
        let queued = planned.run_scaled(data, &scale, stream);
        let ended = planned.prepared.wait_raw(stream.0);
        queued.and(ended.map_err(Error::from))
    }
}
