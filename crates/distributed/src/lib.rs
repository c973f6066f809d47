//! In-place redistribution of arrays that are partitioned over several memories.
//!
//! Each of `P` *ranks* (threads, MPI processes or GPUs) stores one part of an axis of a row-major
//! array in its own buffer. [`RankPlan::run`] permutes the axes of the array and partitions another
//! axis. The result is in the same buffers. The workspace per rank is independent of `P`: the
//! workspace of the local stages, by default about 2% of a part, and one message buffer.
//!
//! ```
//! use turntile_distributed::{Partition, Redistribution, thread_comm};
//!
//! // A 3 x 5 matrix over two ranks: rows 0 and 1, and row 2.
//! // The transpose has three rows on rank 0 and two on rank 1.
//! let (rows, cols) = (Partition::balanced(3, 2), Partition::balanced(5, 2));
//! let change = Redistribution::transpose(rows, cols, size_of::<u32>());
//! let locals = thread_comm::run(2, |mut rank| {
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
//! # use turntile_distributed::Communicator;
//! ```
//!
//! Ranks communicate through a [`Communicator`]. [`thread_comm`] implements it for the threads of a
//! process, and the crate `turntile-mpi` for MPI. GPUs of one process need no communicator: see
//! [`Redistribution::plan_on`]. The algorithm is described in
//! [`docs/how-to/several-memories.md`](https://github.com/turntile/turntile/blob/main/docs/how-to/several-memories.md).

mod barrier;
mod block_exchange;
#[cfg(all(test, feature = "cuda", target_os = "linux"))]
#[path = "../../cuda/tests/children.rs"]
mod children;
mod communicator;
mod error;
mod gpu_schedule;
mod gpu_stage;
mod gpus;
mod local;
mod mapped;
mod partition;
mod peer_squares;
mod processes;
mod rank_plan;
mod redistribution;
pub mod thread_comm;
mod tile_choice;

pub use block_exchange::Message;
pub use communicator::{CommError, Communicator};
pub use error::Error;
pub use gpus::MultiGpu;
pub use mapped::{Connection, MappedRank};
pub use partition::Partition;
pub use rank_plan::RankPlan;
pub use redistribution::{Redistribution, Schedule, Stages};
