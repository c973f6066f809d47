//! Conversion of errors to Python exceptions.

use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};
use turntile::error::Reason;
use turntile::gpu::CudaError as Cuda;
use turntile::{Error, ErrorKind};

create_exception!(
    turntile,
    CudaError,
    PyRuntimeError,
    "There is no NVIDIA GPU or driver, or the driver returned an error. If a part of a run failed, \
     the message says that the data are incomplete."
);
create_exception!(
    turntile,
    CaptureError,
    CudaError,
    "A CUDA graph is being captured and the kernels are not loaded: run the call once, or make a \
     Plan, before."
);

create_exception!(turntile, PlanError, PyValueError, "No kernel supports the problem.");

/// Error codes of the driver about captures: 900 (not allowed while capturing) to 908.
const OF_CAPTURES: std::ops::RangeInclusive<u32> = 900..=908;

/// Returns the exception for an error. The data are unchanged, except after
/// `ErrorKind::Incomplete`, whose text says so.
pub fn exception(error: Error) -> PyErr {
    let text = error.to_string();
    match (error.kind(), error.reason()) {
        (ErrorKind::OutOfMemory { .. }, _) => PyMemoryError::new_err(text),
        (ErrorKind::NoPlan, _) => PlanError::new_err(text),
        (_, Reason::Cuda(Cuda::Driver { code, .. } | Cuda::Launch { code, .. }))
            if OF_CAPTURES.contains(code) =>
        {
            CaptureError::new_err(text)
        }
        (ErrorKind::Gpu | ErrorKind::GpuOutOfMemory { .. } | ErrorKind::Incomplete, _) => {
            CudaError::new_err(text)
        }
        _ => PyValueError::new_err(text),
    }
}

/// Returns a `ValueError`.
pub fn value<T>(text: impl Into<String>) -> PyResult<T> {
    Err(PyValueError::new_err(text.into()))
}
