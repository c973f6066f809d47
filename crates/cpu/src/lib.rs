//! The host backend: runs any plan on CPU threads, a GPU's included.
//!
//! | module | holds |
//! |---|---|
//! | [`executor`] | a plan and its threads: workspace, then stage after stage |
//! | `stages` | which mover runs which stage |
//! | `cycles` | super-elements along their cycles, by several workers that share nothing while they move |
//! | `queue` | their moves, settled and asked for ahead |
//! | `barrier` | tiles through scratch: read all, then write all |
//! | `gather` | the first aligned-slot pass and its inverse, chunk by chunk through scratch |
//! | `bands` | the same in row order: bands of chunks, cut in strips of columns |
//! | `runs` | which thread works on which of those chunks |
//! | `strips` | a strip, chunk by chunk through a ring |
//! | `shared` | movers in which several threads work on one matrix: the crate's only `unsafe` |
//! | `path` | where super-elements go, with the divisions prepared |
//! | `rows` | rows padded and unpadded, in steps or in shares |
//! | `gaps` | columns cut off and put back: what lies in the gaps of those rows |
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
mod cycles;
pub mod executor;
mod gaps;
mod gather;
pub mod oracle;
pub mod out_of_place;
mod parts;
mod path;
mod queue;
mod rows;
mod runs;
mod shared;
mod small;
mod squares;
mod stages;
mod strips;

pub use executor::{Executor, RunError, Workspace};
pub use shared::transpose_into;
pub use small::{SMALL_BYTES, transpose_small};

pub use turntile_simd::Byte;
