//! Extension module of the Python package `turntile`: runs plans on memory that Python objects own.
//!
//! | file | holds |
//! |---|---|
//! | `layout` | order of an array's axes in memory |
//! | `array_struct` | address of a NumPy array |
//! | `dlpack` | memory of arrays on any device |
//! | `host` | plans for the host, and their workspace |
//! | `file` | the command, and arrays in files |
//! | `bits` | matrices of elements of less than a byte |
//! | `records` | record conversions |
//! | `gpu` | plans for a GPU |
//! | `distributed`, `distributed_gpu` | sharded arrays, whose ranks Python objects connect |
//! | `jax`, `xla_ffi` | handlers of the custom call for XLA, and the structures of its interface |
//! | `memory` | addresses as memory |
//! | `moved` | whether an array's elements have moved |
//! | `errors` | Python exceptions |
//!
//! The package's Python modules (`python/turntile`) read addresses and shapes of arrays, and check
//! the objects. Shapes, sizes and lengths are checked here again. Addresses are trusted.

mod array_struct;
mod bits;
mod distributed;
mod distributed_gpu;
mod dlpack;
mod errors;
mod file;
mod gpu;
mod host;
mod jax;
mod layout;
mod memory;
mod moved;
mod records;
mod xla_ffi;

use pyo3::prelude::*;

/// Plans that run on memory at an address.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::array_struct::address_of;
    #[pymodule_export]
    use crate::bits::{BitPlan, CudaBitPlan};
    #[pymodule_export]
    use crate::distributed::{LostError, RefusedError, redistribute};
    #[pymodule_export]
    use crate::distributed_gpu::{Mapped, connect_on_gpu, redistribute_on_gpu};
    #[pymodule_export]
    use crate::dlpack::Dlpack;
    #[pymodule_export]
    use crate::errors::{CaptureError, CudaError, PlanError};
    #[pymodule_export]
    use crate::file::{command, transpose_file};
    #[pymodule_export]
    use crate::gpu::{CudaPlan, cuda_devices, device_of, is_capturing};
    #[pymodule_export]
    use crate::host::{HostPlan, Workspace, permute_if_small};
    #[pymodule_export]
    use crate::jax::{jax_handler, jax_interface};
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
