//! What can go wrong.

use std::path::PathBuf;

use turntile::gpu::CudaError;
use turntile_plan::ProblemError;

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What goes wrong in the `turntile` command too.
    #[error("{}", turntile_cli::error::line(.0))]
    Shared(anyhow::Error),
    /// The GPU, or its absence.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// A matrix beyond the address space.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Something could not be planned or run.
    #[error(transparent)]
    Engine(#[from] turntile::Error),
    /// There is no such kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The file is no table of the device's costs.
    #[error(transparent)]
    Costs(#[from] turntile::plan::CostsError),
    /// No drawn problem is as small.
    #[error("none of {draws} problems drawn is of {most} bytes at most; raise --draw-most")]
    DrawMost {
        /// Bytes asked for.
        most: usize,
        /// Problems that were larger.
        draws: usize,
    },
    /// Cases that did not do what they should.
    #[error("{text}{wrong} cases are wrong")]
    WrongCases {
        /// How many.
        wrong: usize,
        /// What was found.
        text: String,
    },
    /// No table of that name.
    #[error("no table is named {name:?}; there are {known}")]
    UnknownTable {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
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

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Self {
        Error::Shared(error)
    }
}

/// Why a program of the lab's cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// A matrix beyond the address space.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// There is no such kernel.
    #[error("{what} has no kernel with tile {tile} and {block_rows} block rows")]
    NoVariant {
        /// The kernel's name.
        what: String,
        /// The side of its tile.
        tile: usize,
        /// Rows of a block of threads.
        block_rows: usize,
    },
    /// No kernel does it, of the lab's or of turntile's.
    #[error(transparent)]
    Cuda(#[from] CudaError),
}
