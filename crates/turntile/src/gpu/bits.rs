//! Transposition of packed matrices on GPUs.

use std::marker::PhantomData;

use turntile_cuda::{BitMatrix, Buffers, CudaError, Gpu, Prepared, Work};
use turntile_plan::Planner;

use super::{DeviceMemory, DeviceSource, StreamHandle};
use crate::Error;
#[cfg(doc)]
use crate::ErrorKind;
use crate::bits::{BitOrder, PackedMatrix};
use crate::mode::{InPlace, Mode, OutOfPlace};

/// Alignments of the addresses that kernels are loaded for, in bytes.
const ALIGNMENTS: [usize; 2] = [16, 1];

/// A transposition of packed matrices planned for a GPU, with its kernels loaded. It can run any
/// number of times, from any thread, on memory at any address. Addresses that are multiples of 16
/// bytes are fastest.
#[derive(Debug)]
pub struct GpuPackedTransposer<M = InPlace> {
    prepared: Prepared,
    mode: PhantomData<M>,
}

impl PackedMatrix {
    /// Plans the transposition in place for `gpu` and loads the kernels.
    ///
    /// Square matrices and those of at most 8 bytes take one pass over the data. Others take one pass that transposes squares,
    /// then permute their rows in one or more passes. The sides of these squares are the greatest
    /// common divisor of the sides of the matrix. The workspace is at most the larger of 2% of the
    /// matrices and 16 MiB.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if a side is not a multiple of the elements per byte,
    /// [`ErrorKind::TooLarge`] if the number of bytes overflows, [`ErrorKind::Gpu`] if the driver
    /// reports an error, and those of
    /// [`Transpose::plan`](crate::Transpose::plan).
    pub fn plan_on(&self, gpu: &Gpu) -> Result<GpuPackedTransposer, Error> {
        self.whole_sides()?;
        let matrix = self.on_device()?;
        let planner = Planner::new(gpu.device().clone());
        let works = ALIGNMENTS.map(|alignment| {
            let squares = Work::of_bits(&matrix, false, alignment, gpu.device().limits())?;
            let Some(runs) = matrix.runs(alignment)? else { return Ok(squares) };
            Ok(squares.then(Work::of_plan(&planner.plan(&runs)?)?))
        });
        prepare(gpu, works)
    }

    /// Plans the transposition from one buffer into another for `gpu` and loads the kernels.
    ///
    /// The sides may have any extents below 2^32. The padding bits of the source are ignored, those
    /// of the result become 0. There is no workspace.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`] if the number of bytes overflows, [`ErrorKind::Gpu`] if the driver
    /// reports an error, [`ErrorKind::Plan`] if no kernel supports the sides.
    pub fn plan_into_on(&self, gpu: &Gpu) -> Result<GpuPackedTransposer<OutOfPlace>, Error> {
        let matrix = self.on_device()?;
        prepare(
            gpu,
            ALIGNMENTS.map(|alignment| {
                Ok(Work::of_bits(&matrix, true, alignment, gpu.device().limits())?)
            }),
        )
    }

    /// Returns the matrix in the terms of the kernels, after checking that both buffers' bytes can
    /// be counted.
    fn on_device(&self) -> Result<BitMatrix, Error> {
        self.bytes()?;
        self.transposed().bytes()?;
        let [rows, cols] = self.sides;
        let (per_byte, big) = (self.bits.per_byte(), self.order == BitOrder::Big);
        Ok(BitMatrix { batch: self.batch, rows, cols, per_byte, big })
    }
}

/// Loads the kernels of the same operation for each of [`ALIGNMENTS`].
fn prepare<M: Mode>(
    gpu: &Gpu,
    works: [Result<Work, Error>; 2],
) -> Result<GpuPackedTransposer<M>, Error> {
    let [aligned, any] = works;
    let (aligned, any) = (aligned?, any?);
    let prepared = gpu.prepare_work(aligned)?.or_work(any)?;
    Ok(GpuPackedTransposer { prepared, mode: PhantomData })
}

impl<M: Mode> GpuPackedTransposer<M> {
    /// Returns the bytes of device memory that a run needs in addition to the matrices. It is 0 for
    /// square matrices and out of place.
    pub fn workspace_bytes(&self) -> usize {
        self.prepared.workspace_bytes()
    }

    /// Returns the names of the kernels for addresses that are multiples of 16 bytes, in order.
    pub fn kernels(&self) -> impl Iterator<Item = String> {
        self.prepared.work().calls().iter().map(|call| call.kernel())
    }

    unsafe fn queue(&self, stream: StreamHandle, buffers: Buffers) -> Result<(), CudaError> {
        // SAFETY: the public functions that call this pass the caller's guarantee on.
        unsafe { self.prepared.run_raw(stream.0, buffers) }
    }
}

impl GpuPackedTransposer {
    /// Allocates a workspace in device memory that the result owns. Runs that use it must not
    /// overlap in time.
    ///
    /// # Errors
    /// [`ErrorKind::GpuOutOfMemory`].
    pub fn with_own_workspace(self) -> Result<Self, Error> {
        Ok(GpuPackedTransposer { prepared: self.prepared.with_own_workspace()?, ..self })
    }

    /// Queues the in-place transposition of the matrices in `data` on `stream`, with the owned
    /// workspace. Allocates nothing and does not wait.
    ///
    /// # Errors
    /// Those of [`GpuTransposer::run`](super::GpuTransposer::<InPlace>::run), except for the
    /// alignment.
    ///
    /// # Safety
    /// As for that function.
    pub unsafe fn run(
        &self,
        data: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
    ) -> Result<(), Error> {
        let buffers = Buffers { data: data.into().place(), source: None, workspace: None };
        // SAFETY: the caller guarantees it.
        Ok(unsafe { self.queue(stream.into(), buffers) }?)
    }

    /// Queues the in-place transposition like [`run`](Self::run), with a workspace that the caller
    /// provides. The workspace has at least [`workspace_bytes`](Self::workspace_bytes) bytes,
    /// starts at a multiple of 16 and does not overlap the matrices.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    ///
    /// # Safety
    /// As for [`run`](Self::run), for the data and for the workspace.
    pub unsafe fn run_with(
        &self,
        data: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
        workspace: impl Into<DeviceMemory>,
    ) -> Result<(), Error> {
        let workspace = Some(workspace.into().place());
        let buffers = Buffers { data: data.into().place(), source: None, workspace };
        // SAFETY: the caller guarantees it.
        Ok(unsafe { self.queue(stream.into(), buffers) }?)
    }
}

impl GpuPackedTransposer<OutOfPlace> {
    /// Queues the transposition of the matrices in `src` into `dst` on `stream`. Allocates nothing
    /// and does not wait.
    ///
    /// # Errors
    /// Those of an [in-place run](GpuPackedTransposer::<InPlace>::run), for both buffers, which must
    /// not overlap.
    ///
    /// # Safety
    /// Memory and stream must belong to the GPU's context. Until the queued work has ended, nothing
    /// else may use `dst` or write `src`, and `self` must not be dropped.
    pub unsafe fn run(
        &self,
        src: impl Into<DeviceSource>,
        dst: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
    ) -> Result<(), Error> {
        let (data, source) = (dst.into().place(), Some(src.into().0.place()));
        // SAFETY: the caller guarantees it.
        Ok(unsafe { self.queue(stream.into(), Buffers { data, source, workspace: None }) }?)
    }
}
