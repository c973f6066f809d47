//! Blocks of units transposed between two buffers, in vector registers where there are some.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | what others call; units of any other length |
//! | `table` | the kernels, a row for each instruction set, and the row in use |
//! | `sets` | what each instruction set runs |
//! | `vector` | words of 1, 2, 4, 8 and 16 bytes |
//! | `structures` | structures of at most 8 bytes, by shuffles |
//! | `exchange` | squares that change places |
//! | `copy` | runs copied while others are asked for; lines to and from a ring |
//! | `lanes` | what kernels are made of, for each instruction set |
//! | `stream` | runs written past the caches |
//! | `prefetch`, `lines` | a line asked for, and many one after the other |
//! | `block` | bytes, lines, blocks |
//! | `taken` | which way was taken, for tests |
//!
//! # Bytes that are not numbers
//!
//! Units may have padding, be uninitialised, or hold pointers. Copies, rings, streamed runs and units of other lengths than
//! words move such bytes as [`MaybeUninit<u8>`](Byte), which Rust defines. The kernels that interleave or shuffle words hold
//! them in vectors of integers, for which Rust has no uninitialised bytes and no provenance. These kernels rely on what all
//! compilers of Rust do: bytes go through loads, shuffles and stores unchanged, no value is computed from them and no branch
//! depends on them, and a pointer that is stored is the one that was loaded. Under Miri, which checks that, the portable
//! kernel is used, which does not rely on it; [`force`] takes the others there too, for integers.
//!
//! # Kernels
//!
//! A [`KernelSet`] is a row of the table [`KERNELS`]; the first that the machine can run is used,
//! found out once. [`force`] takes another, for tests and comparisons.

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
mod square_swap;
#[cfg(test)]
mod tests;
mod trace;
mod transpose;
mod vector;

pub use block::{BlockShape, Byte, CACHE_LINE};
pub use calls::{
    SquareSwap, copy_from_ring, copy_into_ring, copy_transfers_raw, transpose, transpose_raw,
};
pub use copy::CopyJob;
pub use dispatch::{KERNELS, KernelSet, active, force};
pub use nontemporal::{copy_nontemporal, fence};
pub use prefetch::{prefetch, prefetch_run};
pub use prefetch_cursor::{PrefetchCursor, StridedRegion};
