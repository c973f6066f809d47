//! The host backend: runs any plan on CPU threads, a GPU's included.
//!
//! | module | holds |
//! |---|---|
//! | [`executor`] | a plan and its threads: workspace, then stage after stage |
//! | `stages` | which mover runs which stage |
//! | [`claims`] | the claim protocol of PTTWAC and its memory order |
//! | `barrier` | tiles through scratch: read all, then write all |
//! | `gather` | the aligned-slot passes over chunks |
//! | `kernel` | the one kernel that transposes a small block of words between two buffers |
//! | `shared` | movers in which several threads work on one matrix: the crate's only `unsafe` |
//! | `parts` | splitting work over rayon's threads |
//! | `small` | matrices that fit a buffer on the stack |
//! | [`oracle`] | the naive transposition that everything is tested against |
//!
//! Data are bytes that may be uninitialised ([`Byte`]): elements of any type, padding included,
//! are moved and never looked at.

mod barrier;
pub mod claims;
pub mod executor;
mod gather;
mod kernel;
pub mod oracle;
mod parts;
mod shared;
mod small;
mod stages;

/// What `claims` is made of; its model-checking test puts a model checker's in their place.
mod sync {
    pub use std::hint::spin_loop as pause;
    pub use std::sync::atomic::{AtomicU32, Ordering};
}

pub use executor::{Executor, RunError, Workspace};
pub use small::{SMALL_BYTES, transpose_small};

/// A byte that is moved but never looked at.
pub type Byte = std::mem::MaybeUninit<u8>;
