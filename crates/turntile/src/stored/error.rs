//! What can go wrong with stored data.

use std::io;

use crate::Error;

/// Why stored data were not moved. The source is as it was; what is in the result is not to be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoredError {
    /// Reading failed.
    #[error("cannot read: {0}")]
    Read(#[source] io::Error),
    /// Writing failed.
    #[error("cannot write: {0}")]
    Write(#[source] io::Error),
    /// Two passes need a scratch, and there is none.
    #[error("in so little memory it takes two passes, and a scratch of {bytes} bytes")]
    NoScratch {
        /// Bytes of the scratch.
        bytes: u64,
    },
    /// There is less memory than the plan is for.
    #[error("the plan needs {need} bytes of memory, there are {have}")]
    Memory {
        /// Bytes of the largest block.
        need: usize,
        /// Bytes of the buffer.
        have: usize,
    },
    /// A block could not be permuted, or there is no memory for it.
    #[error(transparent)]
    Engine(#[from] Error),
}
