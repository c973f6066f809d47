//! CPU SIMD kernels for matrices of units, which are elements or super-elements: transposition
//! between two buffers, square swaps, prefetching and nontemporal copies.
//!
//! | module | contents |
//! |---|---|
//! | `calls` | public entry points; units that are not words |
//! | `dispatch` | kernel sets, one per instruction set, and the active one |
//! | `isa` | the functions of each instruction set |
//! | `transpose` | words of 1, 2, 4, 8 and 16 bytes |
//! | `deinterleave` | structures of at most 8 bytes, by byte shuffles |
//! | `square_swap` | two squares swapped in place, each transposed |
//! | `reverse` | runs of units swapped in reverse order |
//! | `copy` | copies that prefetch other data; cache lines to and from a ring buffer |
//! | `vector` | vector operations of each instruction set |
//! | `nontemporal` | stores that bypass the caches |
//! | `prefetch`, `prefetch_cursor` | prefetch of one line, and of the lines of a region |
//! | `block` | bytes, cache lines, blocks |
//! | `trace` | record of the code path taken, for tests |
//!
//! # Bytes that are not numbers
//!
//! Units may have padding, be uninitialised, or hold pointers. Copies, rings, nontemporal copies
//! and units that are not words move such bytes as [`MaybeUninit<u8>`](Byte), which Rust defines.
//! The kernels that interleave or shuffle words load them into integer vectors, for which Rust has
//! neither uninitialised bytes nor provenance. These kernels rely on the behaviour of all Rust
//! compilers. Bytes go through loads, shuffles and stores unchanged; no value is computed from them
//! and no branch depends on them. A stored pointer is the one that was loaded. Miri checks these
//! rules, so the portable kernel is active there; it does not rely on them. Under Miri, [`force`]
//! may select another kernel for integer data.
//!
//! # Kernels
//!
//! [`KERNELS`] lists one [`KernelSet`] per instruction set. The first set that the machine can run
//! is detected once and then used. [`force`] selects another for tests and comparisons.

mod block;
mod calls;
mod copy;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod deinterleave;
mod dispatch;
mod isa;
mod nontemporal;
mod prefetch;
mod prefetch_cursor;
mod reverse;
mod square_swap;
#[cfg(test)]
mod tests;
mod trace;
mod transpose;
mod vector;

pub use block::{BlockShape, Byte, CACHE_LINE};
pub use calls::{
    SquareSwap, copy_from_ring, copy_into_ring, copy_jobs_raw, swap_reversed_raw, transpose,
    transpose_bytes, transpose_raw, turn_raw,
};
pub use copy::CopyJob;
#[doc(hidden)]
pub use dispatch::{KERNELS, KernelSet, force};
pub use dispatch::{active, is_word};
pub use nontemporal::{copy_nontemporal, fence};
pub use prefetch::{prefetch, prefetch_run};
pub use prefetch_cursor::{PrefetchCursor, StridedRegion};
pub use reverse::ReversedRows;
