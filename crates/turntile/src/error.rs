//! Errors of the crate.

use turntile_cpu::RunError;
use turntile_cuda::CudaError;
use turntile_plan::{PlanError, ProblemError, WisdomError};

use crate::pattern::PatternError;
use crate::record_conversion::LayoutError;

/// Error of a transposition or permutation. The data are unchanged, except after
/// [`CudaError::Partial`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The length of the data does not match the shape.
    #[error("shape {} has {expected} elements, the data have {got}", by_x(shape))]
    Length {
        /// Extents of the axes: for matrices the rows and columns, preceded by the batch if there
        /// are several.
        shape: Vec<usize>,
        /// Number of elements of the shape.
        expected: usize,
        /// Number of elements given.
        got: usize,
    },
    /// The number of elements does not fit a `usize`.
    #[error("the number of elements of shape {} overflows", by_x(shape))]
    Overflow {
        /// Extents of the axes, as in [`Length`](Self::Length).
        shape: Vec<usize>,
    },
    /// The data are shorter than the span of a matrix with leading dimensions.
    #[error(
        "with its leading dimensions the matrix spans {expected} elements, the data have {got}"
    )]
    Short {
        /// Number of elements that the source and the result span.
        expected: usize,
        /// Number of elements given.
        got: usize,
    },
    /// The element size differs from the plan's.
    #[error(
        "the plan is for elements of {expected} bytes, these have {got} (for untyped bytes use `RawElements`)"
    )]
    ElementSize {
        /// Bytes per element in the plan.
        expected: usize,
        /// Bytes per element of the data.
        got: usize,
    },
    /// `batch` or `threads` of [`Transpose`](crate::Transpose) was 0.
    #[error("{what}(0) is not valid: give at least 1, or omit it")]
    Zero {
        /// Option that was 0: `batch` or `threads`.
        what: &'static str,
    },
    /// An option of in-memory plans was set for an array in files.
    #[error("arrays in files do not support {with}, only a memory limit and threads")]
    Stored {
        /// Option that was set.
        with: &'static str,
    },
    /// The elements of an ndarray array are not contiguous in any order of its axes.
    #[error(
        "the array has gaps between its elements, or a negative stride: copy it with as_standard_layout().into_owned()"
    )]
    Gaps,
    /// The problem is not valid.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The pattern is not valid for the array.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The record layout is not valid.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// No plan is feasible.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The wisdom file cannot be used.
    #[error(transparent)]
    Wisdom(#[from] WisdomError),
    /// The cost table belongs to another device.
    #[error("the cost table is for {of}, not for {here}")]
    Costs {
        /// Device of the table.
        of: String,
        /// Device that was planned for.
        here: String,
    },
    /// A GPU error, including that no GPU is available.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// The plan could not run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Checks that `got` is the number of elements of `shape`.
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
