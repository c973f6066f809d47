//! The CUDA driver: contexts, modules, memory, streams and events. Knows nothing of plans.
//!
//! Every call makes the context of its object current, and restores the thread's previous context. Without feature `cuda`, and
//! on systems other than Linux, `library::driver` returns [`CudaError::NoBackend`](crate::CudaError::NoBackend), so that no
//! object exists.

use std::ffi::CStr;

mod context;
mod functions;
mod library;
mod memory;
mod module;

pub(crate) use context::Context;
pub use context::{device_count, device_of, is_capturing};
pub use memory::Exported;
pub(crate) use memory::{Event, Mapping, Memory, Stream, allocation_id, clear, export, wait};
pub(crate) use module::{Function, Module};

/// Properties of a device. Sizes in bytes.
#[derive(Clone, Debug)]
pub(crate) struct DeviceProperties {
    pub name: String,
    /// Compute capability without its point: 90 is 9.0, 103 is 10.3.
    pub architecture: usize,
    /// Streaming multiprocessors that kernels of the context run on.
    pub units: usize,
    /// Opt-in shared memory per block.
    pub shared_bytes: usize,
    /// Shared memory per multiprocessor.
    pub unit_shared_bytes: usize,
    /// Maximum resident threads per multiprocessor.
    pub unit_threads: usize,
    /// Registers of 4 bytes per block.
    pub registers: usize,
    /// Whether cooperative launches are supported.
    pub cooperative: bool,
    /// Memory bandwidth in bytes per second, by clock and bus width; 0 if the driver does not report them.
    pub peak_bandwidth: f64,
}

/// Device code.
#[derive(Clone, Copy)]
pub(crate) enum Image<'a> {
    /// Text, for its target architecture and all newer ones.
    Ptx(&'a CStr),
    /// Whole cubin or fat binary.
    Machine(&'static [u8]),
}

/// Grid and blocks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDims {
    /// Number of blocks.
    pub groups: u32,
    /// Threads per block.
    pub threads: u32,
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// Blocks per cluster, a divisor of `groups`; 1 without clusters.
    pub cluster: u32,
    /// Whether the launch is cooperative: all blocks are co-resident, or the launch is rejected.
    pub cooperative: bool,
}
