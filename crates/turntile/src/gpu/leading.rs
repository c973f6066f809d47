//! Matrices moved and scaled in place in a GPU's memory.

use turntile_cuda::{Buffers, CudaError, Gpu};
use turntile_plan::InvalidPlan;

use super::{DeviceMemory, GpuTransposer, StreamHandle};
use crate::Error;
use crate::imatcopy::{MatrixOp, matrix};
use crate::scale::{Scalar, Scale};

impl GpuTransposer {
    /// As [`run`](Self::run), every element of the result scaled: squares that change places with their mirror images on the
    /// way, others in a pass of its own. Where `scale` is nothing it costs nothing, and where it is zero nothing is moved. Numbers are those of the host, bit by bit, but which NaN
    /// a product or a sum makes is not specified.
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
            return unsafe { self.queue(stream, data, None, workspace) };
        }
        if self.plan.problem.is_out_of_place() {
            return Err(CudaError::from(InvalidPlan::Place { out_of_place: true }).into());
        }
        let ((number, scaling), workspace) = (scale.on_gpu(), workspace.map(DeviceMemory::place));
        let buffers = Buffers { data: data.place(), source: None, workspace };
        // SAFETY: the caller of this function's caller answers for all of it.
        Ok(unsafe { self.prepared.run_scaled_raw(stream.0, buffers, number, scaling) }?)
    }
}

/// `A := alpha · op(A)` in place in device memory, as [`imatcopy`](crate::imatcopy()) on the host, for one time: it plans,
/// allocates the workspace, and waits for its work. To run often, or to wait for nothing, plan with
/// [`Transpose::plan_on`](crate::Transpose::plan_on).
///
/// The address is aligned to real numbers, or as far as it happens to be.
///
/// # Errors
/// As [`Transpose::plan_on`](crate::Transpose::plan_on) and [`GpuTransposer::run_scaled`]; the memory is then unchanged, unless the device failed
/// or it is [`CudaError::Partial`].
///
/// # Safety
/// Memory and stream are of the GPU's context, and nothing else uses the memory meanwhile.
#[allow(clippy::too_many_arguments, reason = "BLAS's own, and where")]
pub unsafe fn imatcopy<S: Scalar>(
    gpu: &Gpu,
    stream: impl Into<StreamHandle>,
    data: impl Into<DeviceMemory>,
    operation: MatrixOp,
    rows: usize,
    cols: usize,
    alpha: S,
    lda: usize,
    ldb: usize,
) -> Result<(), Error> {
    let (data, stream) = (data.into(), stream.into());
    // An address of its own has an alignment of its own.
    let alignment = 1 << data.address.trailing_zeros().min(4);
    let transpose = matrix::<S>(operation, rows, cols).alignment(alignment).leading(lda, ldb);
    let scale = Scale { alpha, conjugate: operation.conjugates() };
    let planned = transpose.plan_on(gpu)?;
    // Zeros are put down without moving anything.
    let planned = if scale.is_zero() { planned } else { planned.with_own_workspace()? };
    // SAFETY: the caller answers for memory and stream; `planned` lives until the work has ended.
    unsafe {
        let queued = planned.run_scaled(data, &scale, stream);
        let ended = planned.prepared.wait_raw(stream.0);
        queued.and(ended.map_err(Error::from))
    }
}
