//! What is asked of the driver, and nothing of plans: contexts, code, memory, streams, events.
//!
//! Everything public of this crate is written once, over these few types. They exist twice: over the driver's API
//! (`present.rs`), and without values where it is not built in (`absent.rs`). The two cannot drift: what one
//! lacks does not compile with the rest of the crate, and what one has too much is never used, which is a warning.
//!
//! Every call makes the context current that its object belongs to, and restores what was there.

use std::ffi::CStr;

#[cfg(backend)]
#[path = "driver/present.rs"]
mod backend;
#[cfg(not(backend))]
#[path = "driver/absent.rs"]
mod backend;

pub(crate) use backend::{Context, Event, Function, Memory, Module, Stream, clear, wait};

/// What a device says of itself. Sizes in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub name: String,
    /// 10 times the major number of the compute capability, and the minor one: 90 is 9.0, 103 is 10.3.
    pub architecture: usize,
    /// Streaming multiprocessors that the context's kernels run on.
    pub units: usize,
    /// Opt-in shared memory of a block.
    pub shared_bytes: usize,
    /// Shared memory of a multiprocessor.
    pub unit_shared_bytes: usize,
    /// Registers of 4 bytes of a block.
    pub registers: usize,
    /// Whether launches can be cooperative.
    pub cooperative: bool,
    /// Bytes a second that the memory's clock and bus make; 0 where the driver does not say.
    pub peak_bandwidth: f64,
}

/// Device code.
#[derive(Clone, Copy)]
#[cfg_attr(not(backend), allow(dead_code, reason = "nothing reads it"))]
pub(crate) enum Image<'a> {
    /// Text, for any architecture from the one that it names on.
    Ptx(&'a CStr),
    /// A whole cubin or fat binary.
    Machine(&'static [u8]),
}

/// Blocks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDims {
    /// Blocks.
    pub groups: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Whether blocks may wait for any others: all are then at work together, or the launch is refused.
    pub cooperative: bool,
}
