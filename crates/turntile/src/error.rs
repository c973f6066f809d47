//! Errors of the crate. Only [`Error`] and [`ErrorKind`] are stable API.

use std::fmt;

pub use turntile_cpu::RunError;
use turntile_cuda::CudaError;
use turntile_perm::PermutationError;
use turntile_plan::{PlanError, ProblemError, WisdomError};

use crate::pattern::PatternError;
use crate::record_conversion::LayoutError;

/// Error of a call. The data are unchanged, except after [`ErrorKind::Incomplete`].
///
/// `Display` prints the reason with its numbers, for people. Programs match on
/// [`kind`](Self::kind).
///
/// ```
/// use turntile::{ErrorKind, transpose_in_place};
///
/// let error = transpose_in_place(&mut [1, 2, 3, 4, 5], 2, 3).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Length { expected: 6, got: 5 });
/// assert_eq!(error.to_string(), "shape 2 x 3 has 6 elements, the data have 5");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Reason>);

/// Kind of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The data or a buffer do not have the required length. The unit is elements, or bytes for
    /// raw elements and GPU memory.
    Length {
        /// Required length; with leading dimensions, and for GPU memory, the minimum length.
        expected: usize,
        /// Length of the data or buffer.
        got: usize,
    },
    /// The element size differs from the plan's.
    ElementSize {
        /// Bytes per element in the plan.
        expected: usize,
        /// Bytes per element of the data.
        got: usize,
    },
    /// The array exceeds the address space.
    TooLarge,
    /// The shape, the axes, the leading dimensions or the element size are not valid.
    Shape,
    /// An option is not valid, or cannot be combined with another.
    Options,
    /// The pattern is malformed or does not match the shape.
    Pattern,
    /// The record layout is not valid.
    Records,
    /// The elements of an ndarray array are not contiguous.
    NotContiguous,
    /// No plan is feasible, for example by the requested route within the workspace cap.
    NoPlan,
    /// The given plan is invalid, or does not support the call.
    Plan,
    /// The wisdom file cannot be used.
    Wisdom,
    /// The cost table belongs to another device.
    CostTable,
    /// Host memory could not be allocated.
    OutOfMemory {
        /// Bytes requested.
        bytes: usize,
    },
    /// The given workspace is too small, or a GPU plan needs one and has none.
    Workspace {
        /// Bytes of workspace needed.
        need: usize,
        /// Bytes of workspace given.
        have: usize,
    },
    /// The address of GPU memory is null.
    Null,
    /// The address of GPU memory is not a multiple of the required alignment.
    Alignment,
    /// Ranges of GPU memory overlap.
    Overlap,
    /// GPU memory could not be allocated.
    GpuOutOfMemory {
        /// Bytes requested.
        bytes: usize,
    },
    /// No GPU or driver is available, or the driver reported an error.
    Gpu,
    /// A GPU run failed after part of its work was queued: the data are incomplete.
    Incomplete,
}

impl Error {
    /// Returns the kind of the error, for programs to match on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind()
    }

    /// Returns the detailed reason, whose type may change in any version.
    #[doc(hidden)]
    pub fn reason(&self) -> &Reason {
        &self.0
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&*self.0)
    }
}

#[doc(hidden)]
impl<E> From<E> for Error
where
    Reason: From<E>,
{
    fn from(error: E) -> Self {
        Error(Box::new(error.into()))
    }
}

/// Detailed reason of an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
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
    /// The number of elements of the shape overflows `usize`.
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
        /// Number of elements that the source or the result spans, whichever is larger.
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
    /// Rows or columns of packed elements end within a byte.
    #[error(
        "in place, both sides of {rows} x {cols} elements must be multiples of {per_byte}, the elements per byte: transpose into another buffer"
    )]
    PartialBytes {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
        /// Elements per byte.
        per_byte: usize,
    },
    /// The batch or the thread count of [`Transpose`](crate::Transpose) was set to 0.
    #[error("{what}(0) is not valid: give at least 1, or omit it")]
    Zero {
        /// Option that was 0: `batch` or `threads`.
        what: &'static str,
    },
    /// An option of in-memory plans was set for an out-of-core operation.
    #[error("arrays in files do not support {with}, only a memory limit and threads")]
    Stored {
        /// Option that was set, such as `a route`.
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
        /// Device that the table was measured on.
        of: String,
        /// Device that the plan is for.
        here: String,
    },
    /// A GPU error, including that no GPU is available.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// The plan could not run.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Reason {
    fn kind(&self) -> ErrorKind {
        match self {
            Reason::Length { expected, got, .. } | Reason::Short { expected, got } => {
                ErrorKind::Length { expected: *expected, got: *got }
            }
            Reason::Overflow { .. } => ErrorKind::TooLarge,
            Reason::ElementSize { expected, got } => {
                ErrorKind::ElementSize { expected: *expected, got: *got }
            }
            Reason::Zero { .. } | Reason::Stored { .. } => ErrorKind::Options,
            Reason::PartialBytes { .. } => ErrorKind::Shape,
            Reason::Gaps => ErrorKind::NotContiguous,
            Reason::Problem(error) => problem_kind(error),
            Reason::Pattern(_) => ErrorKind::Pattern,
            Reason::Layout(LayoutError::TooLarge { .. }) => ErrorKind::TooLarge,
            Reason::Layout(LayoutError::With { .. }) => ErrorKind::Options,
            Reason::Layout(_) => ErrorKind::Records,
            Reason::Plan(_) => ErrorKind::NoPlan,
            Reason::Wisdom(_) => ErrorKind::Wisdom,
            Reason::Costs { .. } => ErrorKind::CostTable,
            Reason::Cuda(error) => cuda_kind(error),
            Reason::Run(error) => run_kind(error),
        }
    }
}

fn problem_kind(error: &ProblemError) -> ErrorKind {
    match error {
        ProblemError::TooLarge { .. }
        | ProblemError::TooFarApart { .. }
        | ProblemError::Axes(PermutationError::Overflow { .. }) => ErrorKind::TooLarge,
        ProblemError::Leading { .. }
        | ProblemError::OutOfPlace { .. }
        | ProblemError::Flip { .. } => ErrorKind::Options,
        _ => ErrorKind::Shape,
    }
}

fn run_kind(error: &RunError) -> ErrorKind {
    match *error {
        RunError::Length { expected, got } | RunError::Span { expected, got } => {
            ErrorKind::Length { expected, got }
        }
        RunError::Workspace { need, have } => ErrorKind::Workspace { need, have },
        RunError::OutOfMemory { bytes } => ErrorKind::OutOfMemory { bytes },
        _ => ErrorKind::Plan,
    }
}

fn cuda_kind(error: &CudaError) -> ErrorKind {
    match *error {
        CudaError::Partial { .. } => ErrorKind::Incomplete,
        CudaError::OutOfMemory { bytes } => ErrorKind::GpuOutOfMemory { bytes },
        CudaError::Length { need, have, .. } => ErrorKind::Length { expected: need, got: have },
        CudaError::Workspace { need, have } => ErrorKind::Workspace { need, have },
        CudaError::Null { .. } => ErrorKind::Null,
        CudaError::Misaligned { .. } => ErrorKind::Alignment,
        CudaError::Overlap { .. } => ErrorKind::Overlap,
        CudaError::Flawed(_) => ErrorKind::Plan,
        // All other errors concern the backend, the driver, or the device of the plan.
        _ => ErrorKind::Gpu,
    }
}

/// Checks that `got` is the number of elements of `shape`.
pub(crate) fn check_length(got: usize, shape: &[usize]) -> Result<(), Error> {
    let count = |all: usize, &extent: &usize| all.checked_mul(extent);
    match shape.iter().try_fold(1, count) {
        Some(expected) if expected == got => Ok(()),
        Some(expected) => Err(Reason::Length { shape: shape.to_vec(), expected, got }.into()),
        None => Err(Reason::Overflow { shape: shape.to_vec() }.into()),
    }
}

fn by_x(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    if extents.is_empty() { "1".to_owned() } else { extents.join(" x ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_plan::InvalidPlan;

    #[test]
    fn error_is_one_pointer() {
        assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
    }

    #[test]
    fn kinds_carry_numbers_of_reasons() {
        let numbers = ErrorKind::Length { expected: 9, got: 7 };
        let launch = CudaError::OutOfMemory { bytes: 5 };
        let half = CudaError::Partial { launch: 2, launches: 3, why: launch.clone().into() };
        let rows: [(Error, ErrorKind); 18] = [
            (Reason::Length { shape: vec![9], expected: 9, got: 7 }.into(), numbers),
            (Reason::Short { expected: 9, got: 7 }.into(), numbers),
            (RunError::Length { expected: 9, got: 7 }.into(), numbers),
            (RunError::Span { expected: 9, got: 7 }.into(), numbers),
            (CudaError::Length { what: "matrix", need: 9, have: 7 }.into(), numbers),
            (RunError::OutOfMemory { bytes: 5 }.into(), ErrorKind::OutOfMemory { bytes: 5 }),
            (launch.into(), ErrorKind::GpuOutOfMemory { bytes: 5 }),
            (half.into(), ErrorKind::Incomplete),
            (
                RunError::Workspace { need: 2, have: 1 }.into(),
                ErrorKind::Workspace { need: 2, have: 1 },
            ),
            (
                CudaError::Workspace { need: 2, have: 1 }.into(),
                ErrorKind::Workspace { need: 2, have: 1 },
            ),
            (RunError::Plan(InvalidPlan::RequiresCopy).into(), ErrorKind::Plan),
            (CudaError::Flawed(InvalidPlan::RequiresCopy).into(), ErrorKind::Plan),
            (CudaError::NoDevice.into(), ErrorKind::Gpu),
            (ProblemError::ZeroSizedElement.into(), ErrorKind::Shape),
            (ProblemError::Leading { with: "a batch" }.into(), ErrorKind::Options),
            (LayoutError::With { with: "a batch" }.into(), ErrorKind::Options),
            (LayoutError::NoFields.into(), ErrorKind::Records),
            (LayoutError::TooLarge { records: 1 }.into(), ErrorKind::TooLarge),
        ];
        for (error, kind) in rows {
            assert_eq!(error.kind(), kind, "{error}");
        }
    }

    #[test]
    fn error_has_text_and_source_of_reason() {
        use std::error::Error as _;

        let error = Error::from(RunError::Plan(InvalidPlan::RequiresCopy));
        assert_eq!(error.to_string(), error.reason().to_string());
        assert_eq!(
            error.source().map(ToString::to_string),
            error.reason().source().map(ToString::to_string)
        );
        assert_eq!(format!("{error:?}"), format!("{:?}", error.reason()));
    }
}
