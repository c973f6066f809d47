//! Memory for a run, and why a run failed.

use std::mem::MaybeUninit;

use turntile_plan::InvalidPlan;
use turntile_simd::Byte;

/// Memory that a plan needs beyond the matrix, allocated once.
#[derive(Debug)]
pub struct Workspace {
    words: Vec<MaybeUninit<u64>>,
}

/// Why a plan did not run; the data are as they were.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The plan is none, or not for that.
    #[error("the plan cannot run: {0}")]
    Plan(#[from] InvalidPlan),
    /// The data are not as long as the problem says.
    #[error("the plan is for {expected} bytes, the data have {got}")]
    Length {
        /// Bytes of the problem.
        expected: usize,
        /// Bytes given.
        got: usize,
    },
    /// The data end before the matrix does, where its rows lie apart.
    #[error("the plan is for a matrix that ends {expected} bytes on, the data have {got}")]
    Span {
        /// Bytes from the first element on that hold the matrix before and after.
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
    /// The workspace, or data to measure on, could not be allocated.
    #[error("no memory for {bytes} bytes")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
}

/// Allocates `bytes` bytes.
///
/// # Errors
/// [`RunError::OutOfMemory`].
pub fn buffer(bytes: usize) -> Result<Vec<Byte>, RunError> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(bytes).map_err(|_| RunError::OutOfMemory { bytes })?;
    buffer.resize(bytes, Byte::uninit());
    Ok(buffer)
}

impl Workspace {
    /// Room for `bytes` bytes.
    ///
    /// # Errors
    /// [`RunError::OutOfMemory`].
    pub fn new(bytes: usize) -> Result<Self, RunError> {
        let count = bytes.div_ceil(8);
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| RunError::OutOfMemory { bytes })?;
        words.resize(count, MaybeUninit::uninit());
        Ok(Workspace { words })
    }

    /// Bytes there.
    pub fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// Its memory, as [`Executor::run_in`](crate::Executor::run_in) takes it.
    pub fn words_mut(&mut self) -> &mut [MaybeUninit<u64>] {
        &mut self.words
    }

    /// Fills it with a pattern: no plan may depend on what a workspace held before.
    #[doc(hidden)]
    pub fn poison(&mut self, byte: u8) {
        self.words.fill(MaybeUninit::new(u64::from_ne_bytes([byte; 8])));
    }
}
