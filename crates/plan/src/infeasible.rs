//! Why something is not possible.

use turntile_perm::PermutationError;

/// Why a route cannot be used for a problem on a device, or a device cannot move a shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Infeasible {
    /// Only for square matrices.
    #[error("{rows} x {cols} is not square")]
    NotSquare {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// The extents do not stay as they are axis by axis, or more than two axes change places.
    #[error("its axes are not two of one extent that change places")]
    NotSwapped,
    /// Only for matrices.
    #[error("it is for transpositions of matrices alone")]
    MatricesOnly,
    /// More axes move apart than one leg can permute.
    #[error(transparent)]
    Axes(#[from] PermutationError),
    /// The last axis stays where it is: runs of it move as they are.
    #[error("the last axis stays, and moves in whole runs")]
    LastStays,
    /// The sides have no common divisor to be a square tile's side.
    #[error("{rows} and {cols} have no common divisor")]
    Coprime {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// No divisor of a side is usable as a tile side.
    #[error("{side} has no divisor from {least} to {most}")]
    NoDivisor {
        /// The side.
        side: usize,
        /// The least tile side looked for.
        least: usize,
        /// The most.
        most: usize,
    },
    /// What must be held at once does not fit on chip.
    #[error("{need} bytes must be on chip at once, there are {have}")]
    OnChip {
        /// Bytes needed.
        need: usize,
        /// Bytes there.
        have: usize,
    },
    /// More workspace than the cap allows.
    #[error("needs {need} bytes of workspace, the cap is {cap}")]
    Workspace {
        /// Bytes needed at least.
        need: usize,
        /// Bytes allowed.
        cap: usize,
    },
    /// No tile of one side leaves any of the other over.
    #[error("no divisor of {tiled} leaves a remainder of {cut}")]
    NothingCut {
        /// The side that tiles divide.
        tiled: usize,
        /// The side that would be cut.
        cut: usize,
    },
    /// Only for one matrix at a time.
    #[error("{batch} matrices are not cut one by one")]
    Batch {
        /// Matrices.
        batch: usize,
    },
    /// Only for results in the other place.
    #[error("it is for transpositions {} alone", if *out_of_place { "out of place" } else { "in place" })]
    Place {
        /// Whether the route is for those out of place.
        out_of_place: bool,
    },
    /// The planner's table has no route of that name.
    #[error("no route has that name")]
    UnknownRoute,
    /// A matrix with equal leading dimensions is transposed in one stage, which leaves gaps untouched.
    #[error("equal leading dimensions, and rows that slide, take one-stage only, not mirrored")]
    OneStage,
    /// The device has no way to move the shape.
    #[error("this device has no way to do {shape}")]
    NoWay {
        /// The shape, in dimension notation.
        shape: String,
    },
    /// Its seconds are no number.
    #[error("the table of costs says no time that is a number")]
    Unestimated,
    /// Extents or counts beyond what the device's parameters hold.
    #[error("{what} of {count} are more than the {most} that this device can count")]
    TooMany {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there can be.
        most: usize,
    },
}

/// Of two tiles' reasons, the one that asks for less: that is how far the route is from feasible.
pub(crate) fn least_short(a: Option<Infeasible>, b: Infeasible) -> Infeasible {
    let need = |why: &Infeasible| match why {
        Infeasible::Workspace { need, .. } | Infeasible::OnChip { need, .. } => *need,
        _ => usize::MAX,
    };
    match a {
        Some(a) if need(&a) <= need(&b) => a,
        _ => b,
    }
}
