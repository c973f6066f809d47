//! Plans for a GPU.
//!
//! A `Gpu` holds the primary context of its device, which PyTorch and CuPy use too, and the kernels
//! loaded in it. No `Gpu` is dropped, so that queued and captured work outlives its plan.
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
use crate::layout::split_flips;
use crate::memory::Span;
use crate::moved::{Moved, once};
use crate::records;

static GPUS: Mutex<Option<HashMap<usize, Gpu>>> = Mutex::new(None);

/// Returns the device with this number, created once per process.
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

/// Converts an address to a stream.
pub fn handle(stream: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(stream)
}

/// Returns the number of GPUs; 0 without a driver or without the backend.
#[pyfunction]
pub fn cuda_devices(py: Python<'_>) -> usize {
    py.detach(gpu::device_count)
}

/// Returns the number of the device that owns the memory at `address`, or None.
#[pyfunction]
pub fn device_of(address: usize) -> Option<usize> {
    gpu::device_of(address as u64)
}

/// Returns whether work on this stream is being captured in a graph.
#[pyfunction]
pub fn is_capturing(stream: usize) -> bool {
    // SAFETY: the caller's array library created the stream.
    unsafe { gpu::is_capturing(handle(stream)) }
}

/// Plan of a permutation or a record conversion for a GPU, with its kernels loaded.
#[pyclass(frozen, module = "turntile._core")]
pub struct CudaPlan {
    ready: GpuTransposer<Dynamic>,
}

#[pymethods]
impl CudaPlan {
    /// Plans like `HostPlan`, for a device and for memory at multiples of `alignment` bytes.
    #[new]
    #[pyo3(signature = (ordinal, shape, axes, itemsize, alignment, cap=None, into=false))]
    #[allow(clippy::too_many_arguments, reason = "arguments of a Python call")]
    fn new(
        py: Python<'_>,
        ordinal: usize,
        shape: Vec<usize>,
        axes: Vec<isize>,
        itemsize: usize,
        alignment: usize,
        cap: Option<usize>,
        into: bool,
    ) -> PyResult<Self> {
        let (axes, flip) = split_flips(&axes);
        let what = asked(&shape, &axes, itemsize, cap, into).flip(&flip);
        CudaPlan::of(py, ordinal, what, alignment)
    }

    /// Plans a record conversion; arguments as for [`records::asked`].
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "arguments of a Python call")]
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

    /// Bytes of workspace that a run needs on the device.
    #[getter]
    fn workspace_bytes(&self) -> usize {
        self.ready.workspace_bytes()
    }

    fn __str__(&self) -> String {
        let plan = self.ready.plan();
        format!("{}\n{plan}", plan.summary())
    }

    /// Queues a run in place on the stream, with this workspace, at most once for each `moved`.
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
            // SAFETY: array, workspace and stream belong to the plan's device and its primary
            // context, as their libraries reported. These do not reuse freed memory before the
            // stream is done. The caller orders other work on the memory, as for every operation on
            // a stream. Loaded kernels are never dropped.
            unsafe { self.ready.run_with(place(data), handle(stream), place(beside)) }
        };
        once(moved, || py.detach(run).map_err(exception))
    }

    /// Queues a run out of place, between buffers of `nbytes` bytes.
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
            // SAFETY: as in `run`.
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
