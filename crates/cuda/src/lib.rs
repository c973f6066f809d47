//! Runs turntile's plans on NVIDIA GPUs.
//!
//! A [`Plan`](turntile_plan::Plan) made for a GPU's [`chip`](Gpu::chip) is *prepared* once: every
//! stage is lowered to a launch ([`lower`]), its kernel loaded, its workspace sized. A [`Prepared`] plan
//! then runs on the caller's stream, over the caller's device memory, with the caller's workspace or
//! one that was allocated when it was prepared: running allocates nothing, waits for nothing and
//! touches no other stream, so it can be captured in a CUDA graph.
//!
//! | module | holds |
//! |---|---|
//! | [`call`] | a launch as data; what of a device decides it |
//! | [`sync`] | which kernels synchronise across blocks, and what guarantees that the awaited blocks are running |
//! | [`lower`] | from a stage to its launch: kernel, geometry, parameters |
//! | [`buffers`] | the memory of a run, and where in it a launch has its addresses |
//! | [`family`] | the embedded device code |
//! | [`args`] | a kernel's parameter: the structures of the device code |
//! | [`check`] | permutations as the checking kernels take them |
//! | [`peers`] | streams, events and memory for work of several GPUs |
//! | [`kernels`] | the door for device code that is not this crate's |
//! | [`error`] | what can go wrong |
//!
//! Safe code can run only what this crate lowered and checked, on memory of its own ([`Stopwatch`]); running on
//! the caller's memory is `unsafe` ([`Prepared::run_raw`]), and so is launching other code
//! ([`Gpu::load_kernels`]).
//!
//! The driver's library is looked for when it is first needed: programs start without one, and [`Gpu::primary`] says so.
//! Without the feature `cuda`, and on other systems than Linux, everything is there, and [`Gpu::current`] answers
//! [`CudaError::NoBackend`].

mod archive;
pub mod args;
pub mod banks;
pub mod buffers;
pub mod call;
pub mod check;
pub mod chip;
pub mod error;
mod estimate;
pub mod family;
pub mod kernels;
pub mod launches;
pub mod lower;
mod names;
mod offers;
pub mod peers;
pub mod sync;
pub mod way;

mod driver;
mod gpu;
mod prepare;
mod run;
mod stopwatch;

pub use buffers::{Buffers, Spot};
pub use chip::Chip;
pub use error::{CudaError, LowerError};
pub use gpu::Gpu;
pub use kernels::Kernels;
pub use launches::Launches;
pub use lower::{ScalarKind, Scaling};
pub use prepare::Work;
pub use run::Prepared;
pub use stopwatch::{Ground, Stopwatch};

#[cfg(feature = "cust")]
pub use cust;
pub use driver::{device_count, device_of, is_capturing};
