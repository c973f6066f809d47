//! Matrices of elements of 1, 2 or 4 bits.
#![allow(unsafe_code)]

use pyo3::prelude::*;
use turntile::bits::{BitOrder, Bits, PackedMatrix};
use turntile::error::RunError;
use turntile::gpu::GpuPackedTransposer;
use turntile::mode::OutOfPlace;

use crate::errors::{exception, value};
use crate::gpu::{gpu, handle};
use crate::host::Workspace;
use crate::memory::Span;
use crate::moved::{Moved, once};

/// Transposition of packed matrices.
#[pyclass(frozen, module = "turntile._core")]
pub struct BitPlan(PackedMatrix);

#[pymethods]
impl BitPlan {
    /// Describes `batch` matrices of `rows` by `cols` elements. Without `into`, they must allow a
    /// transposition in place.
    #[new]
    fn new(
        batch: usize,
        rows: usize,
        cols: usize,
        bits: usize,
        bitorder: &str,
        threads: Option<usize>,
        into: bool,
    ) -> PyResult<Self> {
        let matrix = asked(batch, rows, cols, bits, bitorder)?;
        let matrix = threads.map_or(matrix, |threads| matrix.threads(threads));
        if !into {
            matrix.byte_permutation().map(drop).map_err(exception)?;
        }
        Ok(BitPlan(matrix))
    }

    /// Runs in place on the bytes at `address`, at most once for each `moved`. The workspace must be
    /// None.
    fn run(
        &self,
        py: Python<'_>,
        address: usize,
        nbytes: usize,
        _workspace: Option<&Workspace>,
        moved: &Moved,
    ) -> PyResult<()> {
        let span = Span::new(address, nbytes)?;
        // SAFETY: the package keeps the array alive during the call and does not access it. The
        // caller must not use it on other Python threads, as for every change in place.
        let data = unsafe { span.write() };
        once(Some(moved), || py.detach(|| self.0.transpose_in_place(data)).map_err(exception))
    }

    /// Runs out of place, from `nbytes` bytes at `from` to the bytes of the result at `to`.
    fn run_into(&self, py: Python<'_>, to: usize, from: usize, nbytes: usize) -> PyResult<()> {
        let (to, from) = spans(&self.0, to, from, nbytes)?;
        // SAFETY: as in `run`; the buffers do not overlap.
        let (to, from) = unsafe { (to.write(), from.read()) };
        py.detach(|| self.0.transpose_into(from, to)).map_err(exception)
    }
}

/// Returns the description of matrices.
fn asked(
    batch: usize,
    rows: usize,
    cols: usize,
    bits: usize,
    bitorder: &str,
) -> PyResult<PackedMatrix> {
    let Some(bits) = Bits::new(bits) else {
        return value(format!("bits is {bits}: expected 1, 2 or 4"));
    };
    let order = match bitorder {
        "big" => BitOrder::Big,
        "little" => BitOrder::Little,
        _ => return value("bitorder must be either 'little' or 'big'"),
    };
    Ok(PackedMatrix::new(rows, cols, bits, order).batch(batch))
}

/// Returns the memory of the result at `to` and of the source at `from`, after checking that the
/// source has `nbytes` bytes and that they do not overlap.
fn spans(matrix: &PackedMatrix, to: usize, from: usize, nbytes: usize) -> PyResult<(Span, Span)> {
    let (expected, got) = (matrix.bytes().map_err(exception)?, nbytes);
    if expected != got {
        return Err(exception(RunError::Length { expected, got }.into()));
    }
    let after = matrix.transposed().bytes().map_err(exception)?;
    let (to, from) = (Span::new(to, after)?, Span::new(from, nbytes)?);
    if to.overlaps(from) { value("out overlaps a") } else { Ok((to, from)) }
}

/// Transposition of packed matrices planned for a GPU, with its kernels loaded.
#[pyclass(frozen, module = "turntile._core")]
pub struct CudaBitPlan {
    matrix: PackedMatrix,
    ready: Ready,
}

enum Ready {
    InPlace(GpuPackedTransposer),
    Into(GpuPackedTransposer<OutOfPlace>),
}

#[pymethods]
impl CudaBitPlan {
    /// Plans the transposition that `BitPlan` describes.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "arguments of a Python call")]
    fn new(
        py: Python<'_>,
        ordinal: usize,
        batch: usize,
        rows: usize,
        cols: usize,
        bits: usize,
        bitorder: &str,
        into: bool,
    ) -> PyResult<Self> {
        let matrix = asked(batch, rows, cols, bits, bitorder)?;
        let plan = || {
            let gpu = gpu(ordinal)?;
            Ok(match into {
                false => Ready::InPlace(matrix.plan_on(&gpu)?),
                true => Ready::Into(matrix.plan_into_on(&gpu)?),
            })
        };
        let ready = py.detach(plan).map_err(exception)?;
        Ok(CudaBitPlan { matrix, ready })
    }

    /// Bytes of workspace that a run needs on the device.
    #[getter]
    fn workspace_bytes(&self) -> usize {
        match &self.ready {
            Ready::InPlace(ready) => ready.workspace_bytes(),
            Ready::Into(_) => 0,
        }
    }

    /// Queues a run in place on the stream, with this workspace, at most once for each `moved`.
    fn run(
        &self,
        py: Python<'_>,
        address: usize,
        nbytes: usize,
        stream: usize,
        workspace: (usize, usize),
        moved: &Moved,
    ) -> PyResult<()> {
        let Ready::InPlace(ready) = &self.ready else {
            return value("the plan is out of place");
        };
        let (data, beside) = (Span::new(address, nbytes)?, Span::new(workspace.0, workspace.1)?);
        let place = |span: Span| (span.address() as u64, span.bytes());
        let run = || {
            // SAFETY: array, workspace and stream belong to the plan's device and its primary
            // context, as their libraries reported. These do not reuse freed memory before the
            // stream is done. The caller orders other work on the memory, as for every operation on
            // a stream. Loaded kernels are never dropped.
            unsafe { ready.run_with(place(data), handle(stream), place(beside)) }
        };
        once(Some(moved), || py.detach(run).map_err(exception))
    }

    /// Queues a run out of place, from `nbytes` bytes at `from` to the bytes of the result at `to`.
    fn run_into(
        &self,
        py: Python<'_>,
        to: usize,
        from: usize,
        nbytes: usize,
        stream: usize,
    ) -> PyResult<()> {
        let Ready::Into(ready) = &self.ready else { return value("the plan is in place") };
        let (to, from) = spans(&self.matrix, to, from, nbytes)?;
        let place = |span: Span| (span.address() as u64, span.bytes());
        let run = || {
            // SAFETY: as in `run`.
            unsafe { ready.run(place(from), place(to), handle(stream)) }
        };
        py.detach(run).map_err(exception)
    }
}
