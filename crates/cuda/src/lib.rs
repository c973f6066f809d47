//! Runs turntile's plans on NVIDIA GPUs.
//!
//! A [`Plan`](turntile_plan::Plan) for a GPU's [`device`](Gpu::device) is prepared once. This lowers each stage to launches,
//! loads their kernels and computes the workspace size. A [`Prepared`] plan runs on the caller's stream and device memory, with
//! the caller's workspace or its own. A run does not allocate or synchronise, so it can be captured in a CUDA graph.
//!
//! Safe code runs only launches that this crate lowered and checked, in memory that this crate allocated ([`Stopwatch`]). Running
//! a plan in the caller's memory is `unsafe` ([`Prepared::run_raw`]), and so is launching other device code
//! ([`Gpu::load_kernels`]).
//!
//! The driver's library is loaded at the first request for a GPU, so programs start without a driver. Without feature `cuda`, and
//! on systems other than Linux, the same items exist, and [`Gpu::primary`] returns [`CudaError::NoBackend`].
//!
//! Modules that are not listed here are public only for the tests and the lab of this repository.

mod archive;
#[doc(hidden)]
pub mod args;
#[doc(hidden)]
pub mod banks;
#[doc(hidden)]
pub mod buffers;
#[doc(hidden)]
pub mod check;
pub mod error;
mod estimate;
#[doc(hidden)]
pub mod family;
pub mod gpu_device;
#[doc(hidden)]
pub mod launch;
#[doc(hidden)]
pub mod launch_list;
#[doc(hidden)]
pub mod lower;
mod names;
pub mod peers;
mod strategies;
#[doc(hidden)]
pub mod strategy;
#[doc(hidden)]
pub mod sync;
#[doc(hidden)]
pub mod user_kernels;

mod driver;
mod gpu;
mod prepare;
mod run;
mod stopwatch;

pub use buffers::{BufferOffset, Buffers};
pub use error::{CudaError, LowerError};
pub use gpu::Gpu;
pub use gpu_device::GpuDevice;
pub use launch_list::LaunchList;
pub use lower::{BitMatrix, ScalarKind, Scaling};
pub use prepare::Work;
pub use run::Prepared;
pub use stopwatch::{BenchMemory, Stopwatch};
pub use user_kernels::UserKernels;

#[cfg(feature = "cust")]
pub use cust;
pub use driver::{device_count, device_of, is_capturing};
