//! What the Python package `turntile` is over: plans run on memory that Python's objects own.
//!
//! | file | holds |
//! |---|---|
//! | `layout` | which axes an array's memory has, in which order |
//! | `array_struct` | where a NumPy array is |
//! | `host` | plans of the host, and a workspace for them |
//! | `file` | the command, and arrays in files |
//! | `records` | records from layout to layout |
//! | `gpu` | plans of a GPU |
//! | `distributed` | arrays over ranks that objects of Python connect |
//! | `driver` | what the driver is asked beside plans |
//! | `memory` | addresses as memory |
//! | `moved` | whether an array's elements have moved |
//! | `errors` | errors as Python's exceptions |
//!
//! The package's own modules (`python/turntile`) ask arrays where and what they are. They check everything that has to do
//! with objects; shapes, sizes and lengths are checked here again. Addresses are believed.

mod array_struct;
mod distributed;
mod distributed_gpu;
mod errors;
mod file;
mod gpu;
mod host;
mod layout;
mod memory;
mod moved;
mod records;

use pyo3::prelude::*;

/// Plans that run on memory given by its address.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::array_struct::address_of;
    #[pymodule_export]
    use crate::distributed::{LostError, RefusedError, redistribute};
    #[pymodule_export]
    use crate::distributed_gpu::redistribute_on_gpu;
    #[pymodule_export]
    use crate::errors::{CaptureError, CudaError, PlanError};
    #[pymodule_export]
    use crate::file::{command, transpose_file};
    #[pymodule_export]
    use crate::gpu::{CudaPlan, cuda_devices, device_of, is_capturing};
    #[pymodule_export]
    use crate::host::{HostPlan, Workspace, permute_if_small};
    #[pymodule_export]
    use crate::layout::{Pattern, arrange};
    #[pymodule_export]
    use crate::moved::Moved;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
