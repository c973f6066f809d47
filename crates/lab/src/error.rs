//! What can go wrong.

use std::path::PathBuf;

use turntile::gpu::CudaError;

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What goes wrong in the `turntile` command too.
    #[error(transparent)]
    Shared(#[from] turntile_cli::error::Error),
    /// The GPU, or its absence.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// No item of that name.
    #[error("no item is named {id:?}; there are {known}")]
    UnknownItem {
        /// The name asked for.
        id: String,
        /// All names.
        known: String,
    },
    /// An item that a GPU alone can measure.
    #[error("{id} is measured on a GPU alone (--device cuda)")]
    GpuOnly {
        /// The item.
        id: String,
    },
    /// A folder whose page is not the report's.
    #[error("{} was not made by `turntile-lab report` and would be lost; name another folder with --out", path.display())]
    ForeignPage {
        /// The file.
        path: PathBuf,
    },
    /// Items that could not be measured or drawn; the page, which says so too, is there.
    #[error("{summary}")]
    FailedItems {
        /// How many were done, and why each of the others was not.
        summary: String,
    },
}
