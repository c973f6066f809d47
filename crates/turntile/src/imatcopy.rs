//! The call that needs no plan: matrices with leading dimensions, moved and scaled in place.

use crate::scale::{Scalar, Scale};
use crate::transposer::RunOptions;
use crate::{Error, Transpose};

/// What is done to a matrix, as BLAS extensions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixOp {
    /// `N`: its rows stay rows, and slide to their new pitch.
    Keep,
    /// `T`: transposed.
    Transpose,
    /// `R`: conjugated; its rows slide.
    Conjugate,
    /// `C`: transposed and conjugated.
    ConjugateTranspose,
}

impl MatrixOp {
    /// Whether rows become columns.
    pub fn transposes(self) -> bool {
        matches!(self, MatrixOp::Transpose | MatrixOp::ConjugateTranspose)
    }

    /// Whether elements become their conjugates; real ones are their own.
    pub fn conjugates(self) -> bool {
        matches!(self, MatrixOp::Conjugate | MatrixOp::ConjugateTranspose)
    }
}

/// `A := alpha · op(A)` in place, as the BLAS extension of that name has it, for row-major `rows`
/// by `cols` matrices whose rows lie `lda` elements apart before and `ldb` after. A column-major
/// one is a row-major one with `rows` and `cols` swapped.
///
/// [`Scale`] says what `alpha` of 0 and 1 and what NaN and infinity become.
///
/// ```
/// use turntile::{Operation, imatcopy};
///
/// let mut matrix = [1.0, 2.0, 3.0,
///                   4.0, 5.0, 6.0];
/// imatcopy(&mut matrix, Operation::Transpose, 2, 3, 10.0, 3, 2)?;
/// assert_eq!(matrix, [10.0, 40.0, 20.0, 50.0, 30.0, 60.0]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// The workspace is at most 2% of the matrix and 1 MiB for each thread, and none where `lda = ldb`.
/// What becomes of the elements around the matrix: [`Transpose::leading`].
///
/// # Errors
/// [`Error::Problem`] when `lda < cols`, `ldb < rows` (`cols` where the operation does not
/// transpose) or the bytes exceed the address space; [`Error::Short`] when `data` end before the
/// matrix does, before or after; [`Error::Run`] when there is no memory for the workspace. `data`
/// are then as they were.
pub fn imatcopy<S: Scalar>(
    data: &mut [S],
    operation: MatrixOp,
    rows: usize,
    cols: usize,
    alpha: S,
    lda: usize,
    ldb: usize,
) -> Result<(), Error> {
    let matrix = matrix::<S>(operation, rows, cols);
    let scale = Scale { alpha, conjugate: operation.conjugates() };
    matrix.leading(lda, ldb).plan()?.run_scaled(data, &scale, RunOptions::new())
}

/// What an operation plans.
pub(crate) fn matrix<S>(operation: MatrixOp, rows: usize, cols: usize) -> Transpose {
    let axes = if operation.transposes() { [1, 0] } else { [0, 1] };
    Transpose::of_axes::<S>(&[rows, cols], &axes)
}
