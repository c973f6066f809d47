//! Rectangular matrices transposed in place.
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
//! let planned = Transpose::new(300, 200).batch(2).workspace_cap(64 << 10).plan::<f32>()?;
//! println!("{planned}, {} bytes of workspace", planned.workspace_bytes());
//! let mut matrices = vec![0.0f32; 2 * 300 * 200];
//! planned.run(&mut matrices)?;
//! # Ok::<(), turntile::Error>(())
//! ```
//!
//! # Order
//! Matrices are row-major. A column-major matrix of `rows` by `cols` is the same bytes as a
//! row-major one of `cols` by `rows`: swap the two arguments. To turn a row-major array into the
//! same array in column-major order, transpose it.
//!
//! # Elements
//! Elements of any type and size are moved as bytes, never looked at, never dropped or cloned.
//!
//! # Threads
//! A call uses the rayon pool that it is made in; with `threads(1)`, or in a pool of one thread, it
//! runs in the calling thread alone.
//!
//! # GPUs
//! With feature `cuda` the same plans run on NVIDIA GPUs: see [`gpu`].
//!
//! # Speed
//! GB/s is always `2 · rows · cols · bytes of an element / time`, so that it compares with a copy.

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod error;
pub mod gpu;
mod transpose;
mod tune;
mod view;

pub use error::Error;
pub use transpose::{Planned, Transpose, transpose_in_place, transpose_into};
pub use turntile_cpu::{Host, RunError, Workspace};
pub use turntile_plan as plan;
pub use turntile_plan::{Effort, Measured, Plan, Route, TileRule};
