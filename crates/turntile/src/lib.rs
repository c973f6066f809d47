//! Rectangular matrices transposed, and axes of arrays permuted, in place.
//!
//! A row-major matrix of `rows` by `cols` elements becomes the row-major matrix of `cols` by `rows`
//! elements at the same address, with a small, bounded workspace instead of a second matrix.
//!
//! ```
//! let mut matrix = [1, 2, 3,
//!                   4, 5, 6];
//! turntile::transpose_in_place(&mut matrix, 2, 3)?;
//! assert_eq!(matrix, [1, 4, 2, 5, 3, 6]);
//! # Ok::<(), turntile::Error>(())
//! ```
//!
//! For repeated problems, batches, a thread count, a workspace cap or a route of your choice, plan
//! once and run as often as you like:
//!
//! ```
//! use turntile::Transpose;
//!
//! let planned = Transpose::of::<f32>(300, 200).batch(2).workspace_cap(64 << 10).plan()?;
//! println!("{planned}, {} bytes of workspace", planned.workspace_bytes());
//! let mut matrices = vec![0.0f32; 2 * 300 * 200];
//! planned.run(&mut matrices)?;
//! # Ok::<(), turntile::Error>(())
//! ```
//!
//! | to | call |
//! |---|---|
//! | transpose in place, or into another buffer, once | [`transpose_in_place`], [`transpose_into`] |
//! | permute the axes of an array in place, once | [`permute_in_place`]; of ndarray's `Array`, with feature `ndarray`, `ndarray::permute` |
//! | split, permute and join axes by a pattern, once | [`rearrange`]; of ndarray's `Array`, `ndarray::rearrange` |
//! | transpose rows that lie a leading dimension apart, scaled and conjugated, as BLAS extensions have it, once | [`imatcopy`] |
//! | bring records from one layout to another: AoS, SoA, ASTA | of a type [`layout::Records`], of bytes [`layout::RecordConversion`] |
//! | choose a grid's layout, bring it there | [`layout::parallel`], [`layout::Grid`] |
//! | say what is to be transposed or permuted, and how | [`Transpose`] |
//! | plan it | [`Transpose::plan`], on a GPU [`plan_on`](Transpose::plan_on) |
//! | run it in place | [`Transposer::run`], on a GPU [`GpuTransposer::run`](gpu::GpuTransposer::run) |
//! | run it with leading dimensions ([`Transpose::leading`]) | [`Transposer::run_within`], on a GPU [`GpuTransposer::run`](gpu::GpuTransposer::run) |
//! | run it into another buffer | [`Transposer::run_into`], on a GPU [`GpuTransposer::run_into`](gpu::GpuTransposer::run_into) |
//! | move what is larger than memory, from one file or memory map into another | [`Transpose::stored`] |
//! | plan by a table of costs of your own | [`Transpose::costs`] |
//! | measure instead of estimating | [`Transpose::effort`], [`Transpose::tune`], [`Transpose::wisdom`] |
//! | see what would run, for any device | [`plan`](mod@plan) |
//!
//! # Order
//! Matrices are row-major. A column-major matrix of `rows` by `cols` is the same bytes as a
//! row-major one of `cols` by `rows`: swap the two arguments. To turn a row-major array into the
//! same array in column-major order, transpose it.
//!
//! # Elements
//! Elements of any type and size are moved as bytes, never looked at, never dropped or cloned. Where only their size
//! is known, [`bytes`] has the calls that need no plan; [`Transpose::of_bytes`] plans and [`RawElements`] is what the plan runs on.
//!
//! # Leading dimensions
//! Rows may lie further apart than they are long, `lda` elements before and `ldb` after, within a larger matrix perhaps:
//! no byte is touched that is none of the source or the result. See [`Transpose::leading`] for what is promised.
//!
//! # Threads
//! A call uses the rayon pool that it is made in; with `threads(1)`, or in a pool of one thread, it
//! runs in the calling thread alone. Calls made in no rayon pool share a pool of this library, which the first of them starts
//! ([`threads`]); rayon's global pool is left to the application. To run in yours, call from within it
//! (`pool.install`). Where the system starts fewer threads than there are to be, calls run on those that there are.
//!
//! # Locks
//! In a task of a rayon pool, hold no lock during a call that other tasks of that pool may wait for. While the calling thread
//! waits for those that help it, rayon has it run other tasks of the pool: one that wants the lock waits for it for ever.
//! With `threads(1)`, or in no rayon pool, any lock may be held.
//!
//! # Aborts
//! Errors leave data unchanged, and no input makes a call panic. Should a fault of this library make it panic while elements
//! move, some of them exist twice. The process is then aborted, after a line on standard error, by calls that take elements of
//! any type: they might be dropped twice. Calls that take [`RawElements`], or elements that are known to be `Copy`
//! ([`transpose_into`], [`Transposer::run_within`], [`Transposer::run_into`], [`imatcopy`]), unwind, with data in any order.
//!
//! # GPUs
//! With feature `cuda` the same plans run on NVIDIA GPUs: see [`gpu`].
//!
//! # Speed
//! GB/s is always `2 · rows · cols · bytes of an element / time`, so that it compares with a copy.

pub mod bytes;
mod columns;
mod elements;
mod error;
pub mod gpu;
mod grid;
mod imatcopy;
pub mod layout;
#[cfg(feature = "ndarray")]
pub mod ndarray;
mod pattern;
pub mod plan;
mod plan_cache;
mod record_conversion;
mod records;
mod scale;
pub mod stored;
mod tracked;
mod transpose;
mod transposer;
mod tune;

pub use elements::{Data, RawElements, Source};
pub use error::Error;
pub use imatcopy::{MatrixOp, imatcopy};
pub use num_complex::Complex;
pub use pattern::rearrange;
pub use scale::{Scalar, Scale};
pub use transpose::{Transpose, permute_in_place, transpose_in_place, transpose_into};
pub use transposer::{RunOptions, Transposer};
pub use turntile_cpu::{RunError, Workspace, pool};
pub use turntile_plan::Effort;
