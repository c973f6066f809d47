//! Reasons for rejecting routes and index maps.

use turntile_perm::PermutationError;

/// Reason why a route is infeasible for a problem on a device, or why a device cannot execute an
/// index map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Infeasible {
    /// The route supports only square matrices.
    #[error("{rows} x {cols} is not square")]
    NotSquare {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// The permutation is not a swap of axes of equal extents.
    #[error("only swaps of axes of equal extents are supported")]
    NotSwapped,
    /// The route supports only transpositions of matrices.
    #[error("only transpositions of matrices are supported")]
    MatricesOnly,
    /// The fused rank exceeds what one phase can permute.
    #[error(transparent)]
    Axes(#[from] PermutationError),
    /// The route does not support a last axis that stays last and moves as contiguous runs.
    #[error("the last axis stays last, which this route does not support")]
    LastStays,
    /// The route moves contiguous runs, and the last axis does not stay last.
    #[error("the last axis does not stay last, which this route requires")]
    LastMoves,
    /// The extents have no common divisor above 1 that could be the side of a square tile.
    #[error("{rows} and {cols} have no common divisor above 1")]
    Coprime {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// No divisor of an extent is in the range of usable tile sides.
    #[error("{side} has no divisor from {least} to {most}")]
    NoDivisor {
        /// Extent that the tiles must divide.
        side: usize,
        /// Minimum tile side.
        least: usize,
        /// Maximum tile side.
        most: usize,
    },
    /// The data that must be resident on chip at once exceed the on-chip capacity.
    #[error("needs {need} bytes on chip at once, the capacity is {have}")]
    OnChip {
        /// Required bytes.
        need: usize,
        /// On-chip capacity in bytes.
        have: usize,
    },
    /// The required workspace exceeds the cap.
    #[error("needs {need} bytes of workspace, the cap is {cap}")]
    Workspace {
        /// Minimum workspace in bytes.
        need: usize,
        /// Workspace cap in bytes.
        cap: usize,
    },
    /// No divisor of one extent leaves a remainder of the other: nothing would be cut off.
    #[error("no divisor of {tiled} leaves a remainder of {cut}")]
    NoRemainder {
        /// Extent that the tiles divide.
        tiled: usize,
        /// Extent that would be cut.
        cut: usize,
    },
    /// The route supports only a single matrix.
    #[error("only single matrices can be cut, not a batch of {batch}")]
    Batch {
        /// Number of matrices.
        batch: usize,
    },
    /// The route runs only in place, or only out of place, and the problem requires the opposite.
    #[error("the route runs only {}", if *out_of_place { "out of place" } else { "in place" })]
    WrongDestination {
        /// `true` if the route runs only out of place.
        out_of_place: bool,
    },
    /// The planner's route table has no route of this name.
    #[error("unknown route")]
    UnknownRoute,
    /// The problem has equal leading dimensions or is not transposed: only the one-stage route,
    /// not mirrored, leaves its gaps unchanged.
    #[error(
        "equal leading dimensions and untransposed rows require the route one-stage, not mirrored"
    )]
    OneStage,
    /// The device has no implementation of the index map.
    #[error("this device has no implementation of {shape}")]
    NoImplementation {
        /// Index map in dimension notation, or a description of the rejected combination.
        shape: String,
    },
    /// The cost table gives no finite estimate.
    #[error("the cost table gives no finite estimate")]
    Unestimated,
    /// An extent or count exceeds the maximum that the device supports.
    #[error("{count} {what} exceed this device's maximum of {most}")]
    TooMany {
        /// Name of the quantity.
        what: &'static str,
        /// Requested value.
        count: usize,
        /// Maximum value.
        most: usize,
    },
}

/// Returns the rejection reason with the smaller required workspace or on-chip memory.
///
/// Each tile of a route has its own reason. The returned one shows how far the route is from
/// feasible.
pub(crate) fn least_short(a: Option<Infeasible>, b: Infeasible) -> Infeasible {
    let need = |reason: &Infeasible| match reason {
        Infeasible::Workspace { need, .. } | Infeasible::OnChip { need, .. } => *need,
        _ => usize::MAX,
    };
    match a {
        Some(a) if need(&a) <= need(&b) => a,
        _ => b,
    }
}
