//! The host backend: runs any plan on CPU threads, a GPU's included.
//!
//! | module | holds |
//! |---|---|
//! | `executor`, `initialised` | a plan and its threads: workspace, then stage after stage |
//! | `host` | CPU threads as a device: what they offer |
//! | `way` | a way to move a shape: which mover, with what memory |
//! | `estimate` | how long a way takes |
//! | `machine` | what this machine says of its processor |
//! | `stages` | which mover runs which stage |
//!
//! | mover | moves |
//! |---|---|
//! | `follow` | super-elements along their cycles: by several workers that share nothing while they move, or by swaps |
//! | `swaps` | tiles of squares that change places |
//! | `axis_swap` | tiles of arrays whose axes change places in pairs |
//! | `barrier` | tiles through scratch: read all, then write all |
//! | `gather` | the first aligned-slot pass and its inverse, chunk by chunk through scratch |
//! | `fields` | records through scratch: whole tiles, and the gather pass of their aligned slots |
//! | `banded`, `strips` | the same in row order: bands of chunks, cut in strips of columns, each through a ring |
//! | `rounds` | rows slid from one pitch to another, in rounds or in shares; columns cut off and put back |
//! | `blocks` | the same block by block |
//! | `pitched` | rows a pitch apart: transposed where they lie, through workspace; gaps kept |
//! | `exchange` | rows that change places with their gaps |
//! | `transpose_into` | tiles from one buffer to another; rows and columns alone are copied |
//! | `small` | arrays that fit a buffer on the stack |
//!
//! | what movers ask | says |
//! |---|---|
//! | `path` | where super-elements go, with the divisions prepared |
//! | `cycles`, `queue` | in which order they move, and by whom; moves settled and asked for ahead |
//! | `squares` | the order of the tiles of squares |
//! | `tiles` | the tiles of an array whose axes are permuted on the way to another place |
//! | `runs` | which thread works on which chunks |
//! | `bands` | how chunks are cut into bands and strips |
//! | `finish` | what is done to elements in the pass that moves them |
//! | `parts` | how work is split over threads |
//! | [`threads`] | those of the rayon pool that a call is made in, or of a pool that calls made in none share |
//!
//! | memory | is |
//! |---|---|
//! | `shared` | moved within by several workers: every call is checked but that the bytes are the worker's own |
//! | `strided` | rows of bytes equally far apart: whether they share a byte |
//! | `claims` | which worker has touched which byte, compared where debug assertions are on |
//! | `pieces` | borrowed piece by piece, found free or not when asked for |
//! | `views` | a workspace seen as flags and bytes |
//! | `workspace` | allocated for a run, or an error |
//!
//! `unsafe` is what `shared`, `pieces` and `views` are made of. A mover's only `unsafe` is the promise that a worker's
//! bytes are its own (`SharedBytes::worker`), which follows from its index map: a check while they move
//! would cost as much as the moves. One file more promises that plans leave no byte uninitialised.
//!
//! Data are bytes that may be uninitialised ([`Byte`]): elements of any type, padding included,
//! are moved and never looked at.

mod band_tiling;
mod banded_gather;
mod barrier;
mod blocks;
mod cells;
mod chunk_gather;
mod chunk_queue;
mod cost_model;
mod cpuinfo;
mod cycle_walk;
mod device;
mod dispatch;
mod epilogue;
mod executor;
mod follow;
mod gap_swap;
mod initialised;
mod involution;
#[doc(hidden)]
pub mod kernel_config;
mod leading;
mod lookahead;
mod out_of_place;
mod parallel;
mod plane_tiling;
pub mod pool;
mod race_check;
mod record_gather;
mod record_sections;
mod rounds;
mod shared;
mod small;
mod source_map;
mod square;
mod strided;
mod strip_ring;
mod swaps;
mod tile_runs;
mod views;
mod workspace;

pub use device::CpuDevice;
pub use epilogue::Epilogue;
pub use executor::Executor;
pub use out_of_place::transpose_into;
pub use small::{SMALL_BYTES, permute_small, transpose_small};
pub use workspace::{RunError, Workspace};

pub use turntile_simd::Byte;
