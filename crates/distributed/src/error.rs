//! What can go wrong.

use crate::communicator::CommError;

/// Why data did not change their layout. They are as they were, after [`Lost`](Self::Lost) alone they are not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No axis has that number.
    #[error("axis {axis} is cut, but the array has axes 0 to {}", axes.wrapping_sub(1))]
    Axis {
        /// The axis as given.
        axis: usize,
        /// Axes of the array.
        axes: usize,
    },
    /// The parts of an axis are not the axis.
    #[error("the parts of axis {axis} have {got} indices, the axis {expected}")]
    Parts {
        /// The axis, of the array before.
        axis: usize,
        /// Its extent.
        expected: usize,
        /// What the parts add up to.
        got: usize,
    },
    /// The array is cut over another number of ranks after than before.
    #[error("{before} parts before and {after} after: a rank has one of each")]
    Ranks {
        /// Parts before.
        before: usize,
        /// Parts after.
        after: usize,
    },
    /// One axis is cut in one way before and in another after.
    #[error(
        "axis {axis} is cut before and after, in other parts: only another axis can be cut in other parts"
    )]
    SameAxis {
        /// The axis.
        axis: usize,
    },
    /// There is no such rank.
    #[error("rank {rank} of {ranks}")]
    NoRank {
        /// The rank asked for.
        rank: usize,
        /// How many there are.
        ranks: usize,
    },
    /// The local stages cannot be planned, or there is no memory for them; nothing has moved.
    #[error(transparent)]
    Local(#[from] turntile::Error),
    /// There are not as many ranks as parts.
    #[error("planned for {planned} ranks, the transport has {got}")]
    Communicator {
        /// Ranks planned for.
        planned: usize,
        /// Ranks there are.
        got: usize,
    },
    /// A rank runs the plan of another.
    #[error("the plan of rank {planned} runs on rank {got}")]
    OtherRank {
        /// The rank that the plan is of.
        planned: usize,
        /// The rank that runs it.
        got: usize,
    },
    /// Ranks were asked for different things.
    #[error(
        "rank {rank} was asked for something else than rank 0: shape, axes, parts, element or message differ"
    )]
    Disagree {
        /// The first that differs.
        rank: usize,
    },
    /// A rank's buffer is shorter than its capacity.
    #[error("rank {rank} needs a buffer of {need} bytes, and has {have}")]
    Short {
        /// The first whose buffer is.
        rank: usize,
        /// Its capacity, in bytes.
        need: usize,
        /// Bytes that it has.
        have: usize,
    },
    /// Another rank could not begin; it knows why.
    #[error("rank {rank} could not begin; its own error says why")]
    Refused {
        /// The first that could not.
        rank: usize,
    },
    /// Ranks could not be reached before anything moved.
    #[error("nothing has moved: {0}")]
    Unreachable(#[source] CommError),
    /// What ranks were moving did not arrive, or was left where it was: the data are incomplete.
    #[error("the data are incomplete: {0}")]
    Lost(#[source] CommError),
}
