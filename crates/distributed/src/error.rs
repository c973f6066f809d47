//! Errors of a redistribution.

use crate::communicator::CommError;

/// A reason why a redistribution failed. The data are unchanged, except after
/// [`Lost`](Self::Lost).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The partitioned axis is out of range.
    #[error("partitioned axis {axis} is out of range for an array with {axes} axes")]
    Axis {
        /// The axis passed by the caller.
        axis: usize,
        /// Number of axes of the array.
        axes: usize,
    },
    /// The part sizes do not sum to the extent of the axis.
    #[error("the parts of axis {axis} sum to {got}, but its extent is {expected}")]
    Parts {
        /// The axis, counted in the source array.
        axis: usize,
        /// Extent of the axis.
        expected: usize,
        /// Sum of the part sizes.
        got: usize,
    },
    /// The partitions before and after the redistribution have different numbers of ranks.
    #[error("{before} parts before but {after} parts after: every rank needs one of each")]
    Ranks {
        /// Number of parts before the redistribution.
        before: usize,
        /// Number of parts after the redistribution.
        after: usize,
    },
    /// One axis is partitioned both before and after, but into different parts.
    #[error(
        "axis {axis} is partitioned before and after, but into different parts: use equal parts, or another axis"
    )]
    SameAxis {
        /// The axis, counted in the source array.
        axis: usize,
    },
    /// The rank is out of range.
    #[error("rank {rank} is out of range: there are {ranks} ranks")]
    NoRank {
        /// The rank passed by the caller.
        rank: usize,
        /// Number of ranks.
        ranks: usize,
    },
    /// The shape is invalid, a local stage cannot be planned, memory cannot be allocated, or a GPU
    /// rejects the call. No data have moved.
    #[error(transparent)]
    Local(#[from] turntile::Error),
    /// The communicator, or the list of GPUs or buffers, does not match the plan's number of ranks.
    #[error("planned for {planned} ranks, got {got}")]
    Communicator {
        /// Number of ranks in the plan.
        planned: usize,
        /// Number of ranks in the communicator, or of GPUs or buffers passed.
        got: usize,
    },
    /// A rank runs the plan of another rank.
    #[error("the plan of rank {planned} was run on rank {got}")]
    OtherRank {
        /// The rank that was planned for.
        planned: usize,
        /// The rank that runs the plan.
        got: usize,
    },
    /// Ranks requested different redistributions.
    #[error(
        "rank {rank} requests another redistribution than rank 0: shape, axes, parts, element size, message size or schedule differ"
    )]
    Disagree {
        /// The first rank that differs from rank 0.
        rank: usize,
    },
    /// A rank's buffer is shorter than the capacity that its plan needs.
    #[error("rank {rank} needs a buffer of {need} bytes, and has {have}")]
    Short {
        /// The first rank whose buffer is too short.
        rank: usize,
        /// Required bytes.
        need: usize,
        /// Bytes in the buffer.
        have: usize,
    },
    /// A rank's buffer is not the one whose memory the other ranks map.
    #[error("the buffer of rank {rank} at {address:#x} is not the one that was mapped")]
    OtherBuffer {
        /// The rank.
        rank: usize,
        /// Its address.
        address: u64,
    },
    /// The stream is being captured in a CUDA graph, but ranks must wait for each other.
    #[error("a CUDA graph is being captured, but the ranks must agree first")]
    Capturing,
    /// Another rank failed before the exchange. That rank returns the reason.
    #[error("rank {rank} failed before the exchange; see the error of that rank")]
    PeerFailed {
        /// The first rank that failed.
        rank: usize,
    },
    /// Communication between ranks failed before any data moved.
    #[error("no data have moved: {0}")]
    Unreachable(#[source] CommError),
    /// Data in transit were not delivered, or a local stage did not run. The data are incomplete.
    #[error("the data are incomplete: {0}")]
    Lost(#[source] CommError),
    /// The end of a mapping was not confirmed by all ranks. Runs before are complete. Another rank
    /// may still map this rank's memory.
    #[error("another rank may still map this rank's memory: {0}")]
    StillMapped(#[source] CommError),
}
