//! In-place transposition of rectangular matrices and permutation of array axes.
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
//! To repeat a problem, process a batch, or set the thread count, the workspace cap or the route,
//! plan once and run any number of times:
//!
//! ```
//! use turntile::Transpose;
//!
//! let planned = Transpose::new::<f32>(300, 200).batch(2).workspace_limit(64 << 10).plan()?;
//! println!("{planned}, {} bytes of workspace", planned.workspace_bytes());
//! let mut matrices = vec![0.0f32; 2 * 300 * 200];
//! planned.run(&mut matrices)?;
//! # Ok::<(), turntile::Error>(())
//! ```
//!
//! | to | call |
//! |---|---|
//! | transpose a matrix once | in place [`transpose_in_place`], into another buffer [`transpose_into`] |
//! | permute the axes of an array once | [`permute_in_place`], [`permute_into`]; for ndarray's `Array`, with feature `ndarray`, `ndarray::permute` |
//! | reverse axes, or rotate by quarter turns, once | [`flip_in_place`], [`rot90_in_place`] |
//! | transpose matrices of 1, 2 or 4 bits per element | [`bits::PackedMatrix`] |
//! | split, permute and join axes by a pattern, once | [`rearrange`](rearrange()), [`rearrange_into`]; for ndarray's `Array`, `ndarray::rearrange` |
//! | transpose, scale and conjugate a matrix with leading dimensions once, like BLAS's `imatcopy` extension | [`blas::imatcopy`] |
//! | convert records between layouts (AoS, SoA, ASTA) | [`layout::Records`] for typed records, [`layout::RecordConversion`] for bytes |
//! | describe a transposition or permutation, with options | [`Transpose`] |
//! | plan it | [`Transpose::plan`], on a GPU [`plan_on`](Transpose::plan_on) |
//! | run it, in place, with leading dimensions or into another buffer | [`Transposer::run`], on a GPU [`GpuTransposer::run`](gpu::GpuTransposer::run); the [`mode`] says what `run` takes |
//! | run it with a given workspace or progress reports | [`Transposer::run_with`] with [`run::RunOptions`] |
//! | process an array larger than memory, from one file or memory map into another | [`Transpose::stored`] |
//! | plan with your own cost table | [`Transpose::costs`] |
//! | measure instead of estimating | [`Transpose::effort`], [`Transpose::tune`], [`Transpose::wisdom`] |
//! | inspect the plan for any device | [`plan`](mod@plan) |
//! | act on an error | [`Error::kind`] |
//!
//! # Order
//! Matrices are row-major. A column-major matrix of `rows` by `cols` has the same bytes as a
//! row-major one of `cols` by `rows`: swap the two arguments. To convert a row-major array to
//! column-major order, transpose it.
//!
//! # Elements
//! Elements may have any type and size. They are moved as bytes, and are never inspected, dropped
//! or cloned. If only their size is known, use the functions of [`bytes`], which need no plan, or
//! plan with [`Transpose::itemsize`] and run on [`RawElements`].
//!
//! # Leading dimensions
//! Consecutive rows may start `lda` elements apart in the source and `ldb` elements apart in the
//! result, for example inside a larger matrix. [`Transpose::leading`] states what happens to the
//! padding between rows.
//!
//! # Threads
//! A call uses the rayon pool in which it is made. With `threads(1)`, or in a pool of one thread,
//! it runs on the calling thread only. Calls made outside rayon pools share a pool of this library
//! ([`run::pool`]), which the first such call starts. Rayon's global pool is left to the
//! application. To run in your own pool, call from within it (`pool.install`). If the system starts
//! fewer threads than requested, calls run on the threads available.
//!
//! # Locks
//! In a task of a rayon pool, do not hold a lock during a call if other tasks of that pool may wait
//! for the lock. While the calling thread waits for its helpers, rayon lets it run other tasks of
//! the pool. A task that then wants the lock waits for it forever. With `threads(1)`, or outside
//! rayon pools, any lock may be held.
//!
//! # Errors
//! If a call returns an [`Error`], the data are unchanged, except after
//! [`ErrorKind::Incomplete`]. Programs match on [`Error::kind`]; the text is for people. After
//! errors of out-of-core runs ([`stored::StoredError`]), the result is not usable.
//!
//! # Aborts
//! No input makes a transposition panic. If a bug in this library causes a panic while elements
//! move, some elements may exist twice. Calls that take elements of any type then print a line to
//! standard error and abort the process, because such elements could be dropped twice. Calls that
//! take [`RawElements`], or elements known to be `Copy` ([`transpose_into`], [`permute_into`],
//! [`rearrange_into`], [`blas::imatcopy`], plans of modes other than [`mode::InPlace`]), unwind and
//! leave the data in an unspecified order.
//!
//! # GPUs
//! With feature `cuda` the same plans run on NVIDIA GPUs: see [`gpu`].
//!
//! # Speed
//! GB/s always means `2 · rows · cols · element bytes / time`: each byte is read once and written
//! once, as in a copy.

pub mod bits;
pub mod blas;
pub mod bytes;
mod columns;
mod elements;
#[doc(hidden)]
pub mod error;
mod flip;
pub mod gpu;
pub mod layout;
pub mod mode;
#[cfg(feature = "ndarray")]
pub mod ndarray;
mod pattern;
pub mod plan;
mod plan_cache;
mod rearrange;
mod record_conversion;
mod records;
pub mod run;
mod scale;
pub mod stored;
mod transpose;
mod transposer;
mod tune;

pub use elements::RawElements;
pub use error::{Error, ErrorKind};
pub use flip::{flip_in_place, rot90_in_place};
pub use rearrange::{rearrange, rearrange_into};
pub use transpose::{
    Transpose, permute_in_place, permute_into, transpose_in_place, transpose_into,
};
pub use transposer::Transposer;
