//! The calls that need no plan: matrices with leading dimensions, moved and scaled in place.

use turntile_plan::LeadingProblem;

use crate::planned::Options;
use crate::scale::{Scalar, Scale};
use crate::{Error, Transpose};

/// What is done to a matrix, as BLAS extensions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `N`: its rows stay rows, and slide to their new pitch.
    Keep,
    /// `T`: transposed.
    Transpose,
    /// `R`: conjugated; its rows slide.
    Conjugate,
    /// `C`: transposed and conjugated.
    ConjugateTranspose,
}

impl Operation {
    /// Whether rows become columns.
    pub fn transposes(self) -> bool {
        matches!(self, Operation::Transpose | Operation::ConjugateTranspose)
    }

    /// Whether elements become their conjugates; real ones are their own.
    pub fn conjugates(self) -> bool {
        matches!(self, Operation::Conjugate | Operation::ConjugateTranspose)
    }
}

/// Transposes a row-major matrix of `rows` by `cols` elements whose rows lie `lda` elements apart to one whose rows lie
/// `ldb` apart, in place; see [`Transpose::leading`] for what becomes of the elements around it.
///
/// The workspace is at most 2% of the matrix and 1 MiB for each thread, and none where `lda = ldb`.
///
/// ```
/// let mut matrix = [1, 2, 3, 0,
///                   4, 5, 6, 0];
/// turntile::transpose_leading(&mut matrix, 2, 3, 4, 2)?;
/// assert_eq!(matrix[..6], [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`Error::Leading`] when `lda < cols`, `ldb < rows` or the bytes exceed the address space; [`Error::Short`] when `data`
/// end before the matrix does, before or after; [`Error::Run`] when there is no memory for the workspace. `data` are then
/// as they were.
pub fn transpose_leading<T: Copy>(
    data: &mut [T],
    rows: usize,
    cols: usize,
    lda: usize,
    ldb: usize,
) -> Result<(), Error> {
    if size_of::<T>() == 0 {
        return without_bytes(data.len(), LeadingProblem::transposed([rows, cols], [lda, ldb], 1));
    }
    Transpose::of::<T>(rows, cols).leading(lda, ldb).plan()?.run(data)
}

/// Slides the rows of a row-major matrix of `rows` by `cols` elements from `lda` elements apart to `ldb`, in place, without
/// workspace.
///
/// ```
/// let mut matrix = [1, 2, 0, 3, 4, 0];
/// turntile::slide_rows(&mut matrix, 2, 2, 3, 2)?;
/// assert_eq!(matrix[..4], [1, 2, 3, 4]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// As [`transpose_leading`]; `ldb` is at least `cols`.
pub fn slide_rows<T: Copy>(
    data: &mut [T],
    rows: usize,
    cols: usize,
    lda: usize,
    ldb: usize,
) -> Result<(), Error> {
    if size_of::<T>() == 0 {
        return without_bytes(data.len(), LeadingProblem::slid([rows, cols], [lda, ldb], 1));
    }
    slide::<T>(rows, cols).leading(lda, ldb).plan()?.run(data)
}

/// `A := alpha · op(A)` in place, as the BLAS extension of that name has it, for row-major `rows` by `cols` matrices whose
/// rows lie `lda` elements apart before and `ldb` after. A column-major one is a row-major one with `rows` and `cols`
/// swapped.
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
/// # Errors
/// As [`transpose_leading`]; `ldb` is at least `rows` where the operation transposes, else `cols`.
pub fn imatcopy<S: Scalar>(
    data: &mut [S],
    operation: Operation,
    rows: usize,
    cols: usize,
    alpha: S,
    lda: usize,
    ldb: usize,
) -> Result<(), Error> {
    let matrix = matrix::<S>(operation, rows, cols);
    let scale = Scale { alpha, conjugate: operation.conjugates() };
    matrix.leading(lda, ldb).plan()?.run_scaled(data, &scale, Options::new())
}

/// What an operation plans.
pub(crate) fn matrix<S>(operation: Operation, rows: usize, cols: usize) -> Transpose {
    if operation.transposes() { Transpose::of::<S>(rows, cols) } else { slide::<S>(rows, cols) }
}

fn slide<T>(rows: usize, cols: usize) -> Transpose {
    Transpose::of_axes::<T>(&[rows, cols], &[0, 1])
}

/// Elements without bytes lie where they are to be, if there are enough.
fn without_bytes(
    got: usize,
    problem: Result<LeadingProblem, turntile_plan::LeadingError>,
) -> Result<(), Error> {
    let expected = problem?.leading().span();
    if got < expected { Err(Error::Short { expected, got }) } else { Ok(()) }
}
