//! Plans of a GPU.
//!
//! A `Gpu` holds its device's primary context, which is the one that PyTorch and CuPy use, and the kernels loaded in it.
//! None is ever dropped, so that what a plan has queued, or a graph has captured, outlives the plan.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use turntile::gpu::{self, Gpu, GpuTransposer};
use turntile::mode::Dynamic;
use turntile::{Error, Transpose};

use crate::errors::{exception, value};
use crate::host::asked;
use crate::memory::Span;
use crate::moved::{Moved, once};
use crate::records;

static GPUS: Mutex<Option<HashMap<usize, Gpu>>> = Mutex::new(None);

/// The device of that number, made once a process.
pub fn gpu(ordinal: usize) -> Result<Gpu, Error> {
    let mut gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
    let gpus = gpus.get_or_insert_default();
    if let Some(gpu) = gpus.get(&ordinal) {
        return Ok(gpu.clone());
    }
    let gpu = Gpu::primary(ordinal)?;
    gpus.insert(ordinal, gpu.clone());
    Ok(gpu)
}

/// A stream by its address.
pub fn handle(stream: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(stream)
}

/// How many GPUs the driver has; 0 without one, or without the backend.
#[pyfunction]
pub fn cuda_devices(py: Python<'_>) -> usize {
    py.detach(gpu::device_count)
}

/// The number of the device that memory at this address is of, None if the driver knows of no device's.
#[pyfunction]
pub fn device_of(address: usize) -> Option<usize> {
    gpu::device_of(address as u64)
}

/// Whether work on this stream is being captured in a graph.
#[pyfunction]
pub fn is_capturing(stream: usize) -> bool {
    // SAFETY: the caller's framework made the stream.
    unsafe { gpu::is_capturing(handle(stream)) }
}

/// An order of axes, or a layout of records, planned for a GPU, its kernels loaded.
#[pyclass(frozen, module = "turntile._core")]
pub struct CudaPlan {
    ready: GpuTransposer<Dynamic>,
}

#[pymethods]
impl CudaPlan {
    /// As `HostPlan`, for the device of that number and memory at multiples of `alignment` bytes.
    #[new]
    #[pyo3(signature = (ordinal, shape, axes, itemsize, alignment, cap=None, into=false))]
    #[allow(clippy::too_many_arguments, reason = "each is one of Python's")]
    fn new(
        py: Python<'_>,
        ordinal: usize,
        shape: Vec<usize>,
        axes: Vec<usize>,
        itemsize: usize,
        alignment: usize,
        cap: Option<usize>,
        into: bool,
    ) -> PyResult<Self> {
        CudaPlan::of(py, ordinal, asked(&shape, &axes, itemsize, cap, into), alignment)
    }

    /// Of records, as [`records::asked`] has them.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "each is one of Python's")]
    fn of_records(
        py: Python<'_>,
        ordinal: usize,
        records: usize,
        record_bytes: usize,
        fields: Vec<(usize, usize)>,
        from: &str,
        to: &str,
        alignment: usize,
    ) -> PyResult<Self> {
        let what = records::asked(records, record_bytes, &fields, from, to)?;
        CudaPlan::of(py, ordinal, what, alignment)
    }

    /// Bytes of device memory that a run needs beside the array.
    #[getter]
    fn workspace_bytes(&self) -> usize {
        self.ready.workspace_bytes()
    }

    fn __str__(&self) -> String {
        let plan = self.ready.plan();
        format!("{}\n{plan}", plan.summary())
    }

    /// Queues a run in place on the stream, with the workspace given, once for each `moved`.
    #[pyo3(signature = (address, nbytes, stream, workspace, moved=None, /))]
    fn run(
        &self,
        py: Python<'_>,
        address: usize,
        nbytes: usize,
        stream: usize,
        workspace: (usize, usize),
        moved: Option<&Moved>,
    ) -> PyResult<()> {
        let (data, beside) = (Span::new(address, nbytes)?, Span::new(workspace.0, workspace.1)?);
        if data.overlaps(beside) {
            return value("the workspace overlaps the array");
        }
        let run = || {
            let place = |span: Span| (span.address() as u64, span.bytes());
            // SAFETY: array, workspace and stream are of the plan's device, in its primary context, as the caller has
            // asked their frameworks; these keep memory that is freed from being used before the stream is done. What
            // else is queued meanwhile is the caller's business, as of every operation on a stream. Nothing that was
            // loaded is ever dropped.
            unsafe { self.ready.run_with(place(data), handle(stream), place(beside)) }
        };
        once(moved, || py.detach(run).map_err(exception))
    }

    /// Queues a run from one address to another; both are `nbytes` long.
    fn run_into(
        &self,
        py: Python<'_>,
        to: usize,
        from: usize,
        nbytes: usize,
        stream: usize,
    ) -> PyResult<()> {
        Span::new(to, nbytes)?;
        Span::new(from, nbytes)?;
        let run = || {
            let (to, from) = ((to as u64, nbytes), (from as u64, nbytes));
            // SAFETY: as of `run`.
            unsafe { self.ready.run_into(from, to, handle(stream)) }
        };
        py.detach(run).map_err(exception)
    }
}

impl CudaPlan {
    fn of(
        py: Python<'_>,
        ordinal: usize,
        what: Transpose<Dynamic>,
        alignment: usize,
    ) -> PyResult<CudaPlan> {
        if !alignment.is_power_of_two() {
            return value(format!("alignment is {alignment}, not a power of two"));
        }
        let what = what.alignment(alignment);
        let ready = py.detach(|| what.plan_on(&gpu(ordinal)?)).map_err(exception)?;
        Ok(CudaPlan { ready })
    }
}
