//! The host backend: runs any plan on CPU threads, a GPU's included.
//!
//! | module | holds |
//! |---|---|
//! | [`executor`] | a plan and its threads: workspace, then stage after stage |
//! | `stages` | which mover runs which stage |
//! | [`claims`] | the claim protocol of PTTWAC and its memory order |
//! | `barrier` | tiles through scratch: read all, then write all |
//! | `gather` | the first aligned-slot pass and its inverse, chunk by chunk through scratch |
//! | `bands` | the same in row order, in strips of columns |
//! | `shared` | movers in which several threads work on one matrix: the crate's only `unsafe` |
//! | `path` | where super-elements go, with the divisions prepared |
//! | `rows` | rows padded and unpadded in steps |
//! | `parts` | splitting work over rayon's threads |
//! | `squares` | squares transposed where they lie: the order of their tiles |
//! | [`out_of_place`] | the tiles of a transposition from one buffer to another |
//! | `small` | matrices that fit a buffer on the stack |
//! | [`oracle`] | the naive transposition that everything is tested against |
//!
//! Data are bytes that may be uninitialised ([`Byte`]): elements of any type, padding included,
//! are moved and never looked at.

mod bands;
mod barrier;
pub mod claims;
pub mod executor;
mod gather;
pub mod oracle;
pub mod out_of_place;
mod parts;
mod path;
mod rows;
mod shared;
mod small;
mod squares;
mod stages;

/// What `claims` is made of; its model-checking test puts a model checker's in their place.
mod sync {
    pub use std::sync::atomic::{AtomicU32, Ordering};

    /// Spins for as long as a copy takes, then lets a worker run that the system has put aside.
    pub fn pause(spins: usize) {
        if spins < 256 {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

pub use executor::{Executor, RunError, Workspace};
pub use shared::transpose_into;
pub use small::{SMALL_BYTES, transpose_small};

pub use turntile_simd::Byte;
