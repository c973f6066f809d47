//! In-place transposition and scaling of matrices in device memory.

use turntile_cuda::{Buffers, Gpu};

use super::{DeviceMemory, GpuTransposer, StreamHandle};
use crate::Error;
#[cfg(doc)]
use crate::ErrorKind;
use crate::blas::{MatrixOp, matrix};
use crate::error::Reason;
use crate::mode::InPlaceMode;
use crate::scale::{Scalar, Scale};

impl<M: InPlaceMode> GpuTransposer<M> {
    /// Queues the in-place transposition like [`run`](Self::run), and scales each element of the
    /// result.
    ///
    /// Scaling is fused with in-place swaps of the tiles of a square, as for square matrices and
    /// `lda == ldb`. Other elements are scaled in an extra pass. An identity `scale` costs nothing;
    /// if `alpha` is 0, only zeros are written. Results equal the host's bit for bit, except the
    /// bits of a NaN.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and [`ErrorKind::ElementSize`] if the plan is for elements of
    /// another size.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub unsafe fn run_scaled<S: Scalar>(
        &self,
        data: impl Into<DeviceMemory>,
        scale: &Scale<S>,
        stream: impl Into<StreamHandle>,
    ) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        unsafe { self.queue_scaled(data.into(), scale, stream.into(), None) }
    }

    /// Queues the transposition and scaling like [`run_scaled`](Self::run_scaled), with a workspace
    /// that the caller provides, as in [`run_with`](Self::run_with).
    ///
    /// # Errors
    /// Those of [`run_scaled`](Self::run_scaled).
    ///
    /// # Safety
    /// As for [`run_with`](Self::run_with).
    pub unsafe fn run_scaled_with<S: Scalar>(
        &self,
        data: impl Into<DeviceMemory>,
        scale: &Scale<S>,
        stream: impl Into<StreamHandle>,
        workspace: impl Into<DeviceMemory>,
    ) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        unsafe { self.queue_scaled(data.into(), scale, stream.into(), Some(workspace.into())) }
    }

    unsafe fn queue_scaled<S: Scalar>(
        &self,
        data: DeviceMemory,
        scale: &Scale<S>,
        stream: StreamHandle,
        workspace: Option<DeviceMemory>,
    ) -> Result<(), Error> {
        let (expected, got) = (self.plan.problem.itemsize(), size_of::<S>());
        if expected != got {
            return Err(Reason::ElementSize { expected, got }.into());
        }
        if scale.is_nothing() {
            // SAFETY: the public functions that call this pass the caller's guarantee on.
            return unsafe { self.queue(stream, data, None, workspace) };
        }
        let ((number, scaling), workspace) = (scale.on_gpu(), workspace.map(DeviceMemory::place));
        let buffers = Buffers { data: data.place(), source: None, workspace };
        // SAFETY: the public functions that call this pass the caller's guarantee on.
        Ok(unsafe { self.prepared.run_scaled_raw(stream.0, buffers, number, scaling) }?)
    }
}

/// Computes `A := alpha · op(A)` once, in place in device memory, like
/// [`imatcopy`](crate::blas::imatcopy()) on the host.
///
/// The call plans, allocates the workspace and waits for the result. For repeated or asynchronous
/// runs, plan with [`Transpose::plan_on`](crate::Transpose::plan_on). The address must be a
/// multiple of the size of the elements' real numbers, 4 or 8 bytes. A larger alignment is detected
/// and used.
///
/// # Errors
/// Those of [`Transpose::plan_on`](crate::Transpose::plan_on) and [`GpuTransposer::run_scaled`].
/// After [`ErrorKind::Gpu`] the memory is unchanged unless the device failed.
///
/// # Safety
/// Memory and stream must belong to the GPU's context, and nothing else may use the memory during
/// the call.
#[allow(
    clippy::too_many_arguments,
    reason = "BLAS's parameters, and the device, stream and memory"
)]
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
    // Plan for the alignment that this address has, at most 16 bytes.
    let alignment = 1 << data.address.trailing_zeros().min(4);
    let transpose = matrix::<S>(operation, rows, cols).alignment(alignment).leading(lda, ldb);
    let scale = Scale { alpha, conjugate: operation.conjugates() };
    let planned = transpose.plan_on(gpu)?;
    // If `alpha` is 0, only zeros are written, which needs no workspace.
    let planned = if scale.is_zero() { planned } else { planned.with_own_workspace()? };
    // SAFETY: the caller guarantees memory and stream; `planned` lives until the work has ended.
    unsafe {
        let queued = planned.run_scaled(data, &scale, stream);
        let ended = planned.prepared.wait_raw(stream.0);
        queued.and(ended.map_err(Error::from))
    }
}
