//! Errors of out-of-core operations.

use std::io;

use crate::Error;

/// Error of an out-of-core operation. The source is unchanged; the contents of the result are not
/// usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoredError {
    /// Reading failed.
    #[error("cannot read: {0}")]
    Read(#[source] io::Error),
    /// Writing failed.
    #[error("cannot write: {0}")]
    Write(#[source] io::Error),
    /// The plan has two passes, which need scratch storage, and the caller gave none.
    #[error("not enough memory for one pass: provide {bytes} bytes of scratch, or more memory")]
    NoScratch {
        /// Required bytes of scratch storage.
        bytes: u64,
    },
    /// The caller's buffer is smaller than the plan needs.
    #[error("the plan needs a buffer of {need} bytes, the buffer has {have}")]
    Memory {
        /// Required bytes of the buffer.
        need: usize,
        /// Bytes of the buffer.
        have: usize,
    },
    /// A block could not be planned or permuted in memory, or memory could not be allocated.
    #[error(transparent)]
    Engine(#[from] Error),
}
