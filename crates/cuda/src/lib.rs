//! Runs turntile's plans on NVIDIA GPUs.
//!
//! A [`Plan`](turntile_plan::Plan) made for a GPU's [`limits`](Gpu::limits) is *prepared* once: every
//! stage is lowered to a launch ([`lower`]), its kernel loaded, its workspace sized. A [`Prepared`] plan
//! then runs on the caller's stream, over the caller's device memory, with the caller's workspace or
//! one that was allocated when it was prepared: running allocates nothing, waits for nothing and
//! touches no other stream, so it can be captured in a CUDA graph.
//!
//! | module | holds |
//! |---|---|
//! | [`call`] | a launch as data; what of a device decides it |
//! | [`lower`] | from a stage to its launch: kernel, geometry, parameters |
//! | [`out_of_place`] | transpositions from one place to another, the literature's, a filter |
//! | [`family`] | the embedded device code |
//! | [`args`] | a kernel's parameter: the structures of the device code |
//! | [`error`] | what can go wrong |
//!
//! Without the feature `cuda` everything is there, and [`Gpu::current`] answers
//! [`CudaError::NoBackend`].

pub mod args;
pub mod call;
pub mod error;
pub mod family;
pub mod lower;
pub mod out_of_place;

#[cfg(feature = "cuda")]
mod driver;
#[cfg(not(feature = "cuda"))]
#[path = "absent.rs"]
mod driver;
mod prepare;

pub use driver::{Gpu, Loaded, Prepared, Stopwatch};
pub use error::{CudaError, Infeasible};
pub use prepare::Work;

#[cfg(feature = "cuda")]
pub use cust;
