//! Workspace for running a plan on the CPU, and the errors of a run.

use std::mem::MaybeUninit;

use turntile_plan::InvalidPlan;
use turntile_simd::Byte;

/// Memory that a plan needs in addition to the data, allocated once.
#[derive(Debug)]
pub struct Workspace {
    words: Vec<MaybeUninit<u64>>,
}

/// Reason why a plan did not run. The data are unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The plan is invalid, or does not support the call.
    #[error("the plan cannot run: {0}")]
    Plan(#[from] InvalidPlan),
    /// The data do not have the length of the problem.
    #[error("the plan is for {expected} bytes, the data have {got}")]
    Length {
        /// Bytes of the problem.
        expected: usize,
        /// Bytes given.
        got: usize,
    },
    /// The data are shorter than the span of a matrix with leading dimensions.
    #[error("the matrix spans {expected} bytes, the data have {got}")]
    Span {
        /// Bytes from the first element to the later of the ends of source and result.
        expected: usize,
        /// Bytes given.
        got: usize,
    },
    /// The workspace is too small.
    #[error("the plan needs {need} bytes of workspace, there are {have}")]
    Workspace {
        /// Bytes needed.
        need: usize,
        /// Bytes given.
        have: usize,
    },
    /// The workspace or a buffer could not be allocated.
    #[error("no memory for {bytes} bytes")]
    OutOfMemory {
        /// Bytes requested.
        bytes: usize,
    },
}

/// Allocates `bytes` uninitialised bytes.
///
/// # Errors
/// [`RunError::OutOfMemory`] if the allocation fails.
pub fn buffer(bytes: usize) -> Result<Vec<Byte>, RunError> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(bytes).map_err(|_| RunError::OutOfMemory { bytes })?;
    buffer.resize(bytes, Byte::uninit());
    Ok(buffer)
}

impl Workspace {
    /// Allocates at least `bytes` bytes.
    ///
    /// # Errors
    /// [`RunError::OutOfMemory`] if the allocation fails.
    pub fn new(bytes: usize) -> Result<Self, RunError> {
        let count = bytes.div_ceil(8);
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| RunError::OutOfMemory { bytes })?;
        words.resize(count, MaybeUninit::uninit());
        Ok(Workspace { words })
    }

    /// Returns the size of the workspace in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// Returns the memory, for [`Executor::run_in`](crate::Executor::run_in).
    pub fn words_mut(&mut self) -> &mut [MaybeUninit<u64>] {
        &mut self.words
    }

    /// Fills the workspace with a pattern, to test that plans do not depend on its contents.
    #[doc(hidden)]
    pub fn poison(&mut self, byte: u8) {
        self.words.fill(MaybeUninit::new(u64::from_ne_bytes([byte; 8])));
    }
}
