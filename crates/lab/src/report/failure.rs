//! Why an item of the report has no result.

use std::io;

use turntile::gpu::CudaError;
use turntile::plan::{PlanError, ProblemError};

use crate::error::KernelError;

/// Why an item has no result, or no picture.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The library refused.
    #[error(transparent)]
    Engine(#[from] turntile::Error),
    /// The GPU did.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// There is no such kernel of the lab's.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No plan serves a problem.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The extents make no problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// No plan in that tile, or by that method.
    #[error("no such plan: {0}")]
    Refused(String),
    /// What was measured had not done what it should.
    #[error("{what}: {wrong} elements are wrong")]
    Wrong {
        /// Plan or stage.
        what: String,
        /// Elements that are not where they should be.
        wrong: u64,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file is no table.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// A picture could not be drawn.
    #[error("picture: {0}")]
    Picture(String),
    /// There is nothing to draw.
    #[error("picture: no row has numbers to draw")]
    NoPoints,
}

impl Failure {
    /// Whether the device cannot do what was asked for, which is an answer and no failure of an item.
    pub fn is_infeasible(&self) -> bool {
        let no_kernel = |error: &CudaError| matches!(error, CudaError::Infeasible { .. });
        match self {
            Failure::Plan(_) | Failure::Refused(_) => true,
            Failure::Cuda(error)
            | Failure::Engine(turntile::Error::Cuda(error))
            | Failure::Kernel(KernelError::Cuda(error)) => no_kernel(error),
            _ => false,
        }
    }
}
