//! Errors that a program handles differently from others; the rest is reported as it is.

use turntile::error::Reason;
use turntile::gpu::CudaError;
use turntile::plan::PlanError;
use turntile_plan::ProblemError;

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

/// There is no such plan on the device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such plan: {0}")]
pub struct Refused(pub String);

/// Whether a device lacks what was asked for, which is no failure: there is no kernel, or no plan.
pub fn is_infeasible(error: &anyhow::Error) -> bool {
    let no_kernel = |error: &CudaError| matches!(error, CudaError::Infeasible { .. });
    let reason = error.downcast_ref().map(turntile::Error::reason);
    let cuda = match (reason, error.downcast_ref()) {
        (Some(Reason::Cuda(error)), _) | (_, Some(KernelError::Cuda(error))) => Some(error),
        _ => error.downcast_ref(),
    };
    cuda.is_some_and(no_kernel) || error.is::<PlanError>() || error.is::<Refused>()
}
