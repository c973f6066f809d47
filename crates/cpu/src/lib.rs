//! CPU backend: executes any plan on CPU threads, including plans that were made for a GPU.
//!
//! | module | contents |
//! |---|---|
//! | `executor`, `initialised` | executes the stages of a plan one after another |
//! | `device` | CPU threads as a planning device |
//! | `kernel_config` | configuration of a stage: kernel, threads and workspace |
//! | `cost_model` | estimated seconds of a stage |
//! | `cpuinfo` | processor model and cache size |
//! | `dispatch` | calls the kernel of a stage |
//!
//! | kernel module | moves |
//! |---|---|
//! | `follow` | super-elements along their cycles, with independent workers or by swaps; rows of tiles along chains |
//! | `swaps` | pairs of tiles of squares |
//! | `involution` | pairs of tiles of arrays with a self-inverse axis permutation |
//! | `flip` | runs, by swaps with their mirror images, for reversed axes |
//! | `turn` | tiles of squares in quarter turns |
//! | `scratch` | whole instances through scratch, and arrays that fit a buffer on the stack |
//! | `chunk_gather` | chunks of the first aligned-slot pass and its inverse, through scratch |
//! | `banded_gather`, `strip_ring` | slots in row order: bands of chunks, in strips of columns, each through a ring |
//! | `record_gather`, `record_sections` | records through scratch: whole tiles, and the gather pass of aligned slots |
//! | `rounds` | rows from one pitch to another, in rounds or shares; cuts off and inserts columns |
//! | `blocks` | rows from one pitch to another, block by block |
//! | `leading` | matrices with leading dimensions: in place or through workspace; saves gaps |
//! | `gap_swap` | rows, by swaps with their gaps |
//! | `out_of_place` | tiles to another buffer; copies rows and columns |
//! | `bits` | elements of 1, 2 or 4 bits: micro-blocks in place, matrices to another buffer |
//!
//! | module for kernels | contents |
//! |---|---|
//! | `source_map` | index map of a stage, with precomputed divisions |
//! | `cycle_walk`, `lookahead` | order in which workers move super-elements; moves prefetched ahead |
//! | `square` | order of the tiles of squares |
//! | `plane_tiling` | tiles of an array that is permuted out of place |
//! | `chunk_pass` | pass over chunks, one after another through scratch |
//! | `chunk_queue` | assignment of bands of chunks to threads |
//! | `band_tiling` | division of chunks into bands and strips |
//! | `epilogue` | operation on elements in the pass that moves them |
//! | `parallel` | division of work among threads |
//! | [`pool`] | threads: the caller's rayon pool, or a pool shared by all other calls |
//!
//! | memory module | contents |
//! |---|---|
//! | `shared` | bytes that several workers move: every access is bounds-checked |
//! | `strided` | rows of bytes at a constant stride: span and overlap |
//! | `race_check` | worker that touched each byte, compared if debug assertions are on |
//! | `cells` | cells of a buffer, with run-time borrow checks |
//! | `views` | splits a workspace into flags and bytes |
//! | `workspace` | workspace of a run, and the errors of a run |
//!
//! `unsafe` code is in `shared`, `cells` and `views`. A kernel's only `unsafe` code promises that
//! two workers never touch the same byte (`SharedBytes::worker`). The index maps guarantee that; a
//! check during the moves would double their cost. `initialised` also promises that plans
//! leave no byte uninitialised.
//!
//! Data are bytes that may be uninitialised ([`Byte`]): elements of any type, including padding,
//! are moved but never read as values.

mod band_tiling;
mod banded_gather;
mod bits;
mod blocks;
mod cells;
mod chunk_gather;
mod chunk_pass;
mod chunk_queue;
mod cost_model;
mod cpuinfo;
mod cycle_walk;
mod device;
mod dispatch;
mod epilogue;
mod executor;
mod flip;
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
mod scratch;
mod shared;
mod source_map;
mod square;
mod strided;
mod strip_ring;
mod swaps;
mod turn;
mod views;
mod workspace;

pub use bits::{BitOrder, Bits, SmallMatrices, transpose_bits_into, turn_blocks};
pub use device::CpuDevice;
pub use epilogue::Epilogue;
pub use executor::Executor;
pub use out_of_place::{permute_into, transpose_into};
pub use scratch::{SMALL_BYTES, permute_flipped_small, permute_small, transpose_small};
pub use workspace::{RunError, Workspace};

pub use turntile_simd::Byte;
