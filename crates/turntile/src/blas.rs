//! In-place transposition and scaling of matrices with leading dimensions by `imatcopy` on the
//! host, and the scalar types of [`Transposer::run_scaled`](crate::Transposer::run_scaled).

pub use num_complex::Complex;

#[cfg(doc)]
use crate::ErrorKind;
use crate::run::RunOptions;
pub use crate::scale::{Scalar, Scale};
use crate::{Error, Transpose};

/// Operation `op` on a matrix. Each is named by a letter in the BLAS extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixOp {
    /// `N`: does not transpose; rows are only moved to the new leading dimension.
    Keep,
    /// `T`: transposes.
    Transpose,
    /// `R`: conjugates and does not transpose; rows are only moved to the new leading dimension.
    Conjugate,
    /// `C`: transposes and conjugates.
    ConjugateTranspose,
}

impl MatrixOp {
    /// Returns `true` if the operation transposes.
    pub fn transposes(self) -> bool {
        matches!(self, MatrixOp::Transpose | MatrixOp::ConjugateTranspose)
    }

    /// Returns `true` if the operation conjugates elements, which leaves real elements unchanged.
    pub fn conjugates(self) -> bool {
        matches!(self, MatrixOp::Conjugate | MatrixOp::ConjugateTranspose)
    }
}

/// Computes `A := alpha · op(A)` in place, like the BLAS extension `imatcopy`.
///
/// `A` is a row-major `rows` by `cols` matrix. Its rows start `lda` elements apart, and the rows of
/// the result `ldb` elements apart. For a column-major matrix, swap `rows` and `cols`. [`Scale`]
/// defines the result for `alpha` of 0 or 1, and for NaN and infinity.
///
/// ```
/// use turntile::blas::{MatrixOp, imatcopy};
///
/// let mut matrix = [1.0, 2.0, 3.0,
///                   4.0, 5.0, 6.0];
/// imatcopy(&mut matrix, MatrixOp::Transpose, 2, 3, 10.0, 3, 2)?;
/// assert_eq!(matrix, [10.0, 40.0, 20.0, 50.0, 30.0, 60.0]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// The workspace is at most 2% of the matrix plus 1 MiB per thread, and 0 if `lda == ldb`.
/// [`Transpose::leading`] states what happens to other elements of `data`.
///
/// # Errors
/// - [`ErrorKind::Shape`]: `lda < cols`, or `ldb < rows` (`ldb < cols` if the operation does not
///   transpose).
/// - [`ErrorKind::TooLarge`]: the bytes exceed the address space.
/// - [`ErrorKind::Length`]: `data` is shorter than the span of source and result.
/// - [`ErrorKind::OutOfMemory`]: the workspace cannot be allocated.
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

/// Returns the builder of the transposition, or of the move of rows, that `operation` needs,
/// without leading dimensions.
pub(crate) fn matrix<S>(operation: MatrixOp, rows: usize, cols: usize) -> Transpose {
    let axes = if operation.transposes() { [1, 0] } else { [0, 1] };
    Transpose::permute::<S>(&[rows, cols], &axes)
}
