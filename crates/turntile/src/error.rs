//! What can go wrong.

use turntile_cpu::RunError;
use turntile_cuda::CudaError;
use turntile_plan::{PlanError, ProblemError, WisdomError};

/// Why a transposition did not happen; the data are always as they were.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data are not as long as the shape says.
    #[error("{batch} x {rows} x {cols} elements are {expected}, the data have {got}")]
    Length {
        /// Matrices.
        batch: usize,
        /// Rows of each.
        rows: usize,
        /// Columns of each.
        cols: usize,
        /// Elements of the shape.
        expected: usize,
        /// Elements given.
        got: usize,
    },
    /// The number of elements does not fit a `usize`.
    #[error("{batch} x {rows} x {cols} elements are too many to count")]
    Overflow {
        /// Matrices.
        batch: usize,
        /// Rows of each.
        rows: usize,
        /// Columns of each.
        cols: usize,
    },
    /// The elements are not as large as those planned for.
    #[error("the plan is for elements of {expected} bytes, these have {got}")]
    ElementSize {
        /// Bytes planned for.
        expected: usize,
        /// Bytes of the elements given.
        got: usize,
    },
    /// The shape makes no problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// There is no such plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The wisdom file cannot be used.
    #[error(transparent)]
    Wisdom(#[from] WisdomError),
    /// The GPU, or its absence.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// The plan could not run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Whether `got` elements are so many matrices.
pub(crate) fn check_length(
    got: usize,
    batch: usize,
    rows: usize,
    cols: usize,
) -> Result<(), Error> {
    let expected = batch
        .checked_mul(rows)
        .and_then(|all_rows| all_rows.checked_mul(cols))
        .ok_or(Error::Overflow { batch, rows, cols })?;
    if got == expected { Ok(()) } else { Err(Error::Length { batch, rows, cols, expected, got }) }
}
