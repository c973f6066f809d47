//! Arrays that are cut over several memories, and change their layout in place.
//!
//! Each of `P` *ranks* (threads, processes of MPI, GPUs) has a part of one axis of a row-major array in its own buffer. After
//! [`RankPlan::run`] it has a part of the result's axis, in the same buffer, with a workspace that grows neither with `P` nor
//! with the array beyond the planner's 2%:
//!
//! ```
//! use turntile_distributed::{Parts, Redistribution, threads};
//!
//! // A matrix of 3 x 5 over two ranks: rows 0 and 1 of it, and row 2; then three rows of its transpose, and two.
//! let (rows, cols) = (Parts::balanced(3, 2), Parts::balanced(5, 2));
//! let change = Redistribution::transpose(rows, cols, size_of::<u32>());
//! let locals = threads::run(2, |mut rank| {
//!     let planned = change.plan(rank.rank())?;
//!     let mut local = vec![0u32; planned.capacity() / 4];
//!     let first = if rank.rank() == 0 { 0 } else { 10 };
//!     local.iter_mut().zip(first..15).for_each(|(value, k)| *value = k);
//!     planned.run(&mut rank, &mut local)?;
//!     local.truncate(planned.len_after() / 4);
//!     Ok::<_, turntile_distributed::Error>(local)
//! });
//! assert_eq!(locals[0].as_ref().unwrap(), &[0, 5, 10, 1, 6, 11, 2, 7, 12]);
//! assert_eq!(locals[1].as_ref().unwrap(), &[3, 8, 13, 4, 9, 14]);
//! # use turntile_distributed::Exchange;
//! ```
//!
//! The ranks talk by an [`Communicator`], of two calls; [`threads`] has one for the threads of a process. GPUs of a process
//! need none: [`Redistribution::plan_on`]. [`docs/distributed.md`](https://github.com/turntile/turntile/blob/main/docs/distributed.md) says how
//! it works.

mod block_exchange;
mod communicator;
mod error;
mod gpu_schedule;
mod gpus;
mod local;
mod rank_plan;
mod redistribution;
pub mod thread_comm;
mod tile_choice;

pub use block_exchange::Message;
pub use communicator::{CommError, Communicator};
pub use error::Error;
pub use gpus::MultiGpu;
pub use rank_plan::RankPlan;
pub use redistribution::{Redistribution, Schedule, Stages};
pub use turntile_perm::Partition;
