//! What can go wrong.

use turntile_cpu::RunError;
use turntile_cuda::CudaError;
use turntile_perm::{FlatteningError, PatternError};
use turntile_plan::{PlanError, ProblemError, WisdomError};

use crate::record_conversion::LayoutError;

/// Why a transposition did not happen. The data are unchanged, except after [`CudaError::Partial`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data are not as long as the shape says.
    #[error("{} elements are {expected}, the data have {got}", by_x(shape))]
    Length {
        /// Extents of the axes; of matrices rows and columns, and before them how many there are if several.
        shape: Vec<usize>,
        /// Elements of the shape.
        expected: usize,
        /// Elements given.
        got: usize,
    },
    /// The number of elements does not fit a `usize`.
    #[error("{} elements are too many to count", by_x(shape))]
    Overflow {
        /// As of [`Length`](Self::Length).
        shape: Vec<usize>,
    },
    /// The data end before the matrix does at one of its leading dimensions.
    #[error(
        "the matrix ends {expected} elements on at its leading dimensions, the data have {got}"
    )]
    Short {
        /// Elements from the first one on that hold the matrix before and after.
        expected: usize,
        /// Elements given.
        got: usize,
    },
    /// The elements are not as large as those planned for.
    #[error(
        "the plan is for elements of {expected} bytes, these have {got} (bytes of any type: `Bytes`)"
    )]
    ElementSize {
        /// Bytes planned for.
        expected: usize,
        /// Bytes of the elements given.
        got: usize,
    },
    /// A number of [`Transpose`](crate::Transpose) that is at least 1.
    #[error("{what}(0): give 1 or more, or leave it out")]
    Zero {
        /// What was given: `batch` or `threads`.
        what: &'static str,
    },
    /// Something was asked for that plans in memory have, and arrays in files do not.
    #[error("arrays in files are planned by memory and threads, not with {with}")]
    Stored {
        /// What was asked for.
        with: &'static str,
    },
    /// The elements of an array do not lie one beside the other in memory, in any order of its axes.
    #[error(
        "the array has gaps between its elements, or a negative stride: copy it, by as_standard_layout().into_owned()"
    )]
    Gaps,
    /// The shape makes no problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The pattern rearranges no such array.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The records have no such layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The grid has no such layout.
    #[error(transparent)]
    Grid(#[from] FlatteningError),
    /// There is no such plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The wisdom file cannot be used.
    #[error(transparent)]
    Wisdom(#[from] WisdomError),
    /// The table of costs is of another device.
    #[error("the table of costs is of {of}, and cannot be used for {here}")]
    Costs {
        /// The table's device.
        of: String,
        /// The device planned for.
        here: String,
    },
    /// The GPU, or its absence.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// The plan could not run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Whether `got` elements are an array of this shape.
pub(crate) fn check_length(got: usize, shape: &[usize]) -> Result<(), Error> {
    let count = |all: usize, &extent: &usize| all.checked_mul(extent);
    match shape.iter().try_fold(1, count) {
        Some(expected) if expected == got => Ok(()),
        Some(expected) => Err(Error::Length { shape: shape.to_vec(), expected, got }),
        None => Err(Error::Overflow { shape: shape.to_vec() }),
    }
}

fn by_x(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    if extents.is_empty() { "1".to_owned() } else { extents.join(" x ") }
}
