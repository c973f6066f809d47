//! Measurement and verification of plans on a GPU, in device memory of a [`Stopwatch`].

use std::time::Duration;

use turntile_cuda::Gpu;
pub use turntile_cuda::Stopwatch;
use turntile_plan::{Measurement, Plan, ProblemError};

use super::{GpuTransposer, measure_on_seen};
use crate::Error;
#[cfg(doc)]
use crate::ErrorKind;
use crate::mode::Mode;

/// Runs `plans` on `gpu` for about `budget` and returns the measured ones, fastest first. Returns
/// at least one unless `plans` is empty.
///
/// Plans run on device memory allocated here, of the size that the largest needs.
///
/// # Errors
/// [`ErrorKind::Plan`] if a plan is invalid, [`ErrorKind::Gpu`] if it was made for another device,
/// [`ErrorKind::GpuOutOfMemory`] if the memory cannot be allocated.
pub fn measure_on(
    gpu: &Gpu,
    plans: Vec<Plan>,
    budget: Duration,
) -> Result<Vec<Measurement>, Error> {
    measure_on_seen(gpu, plans, budget, &mut |_, _, _| {})
}

impl<M: Mode> GpuTransposer<M> {
    /// Returns the bytes of a [`Stopwatch`]'s device memory that a run needs, in addition to the
    /// workspace: those of the matrices, or of both buffers out-of-place.
    pub fn measured_bytes(&self) -> usize {
        self.prepared.work().measured_bytes()
    }

    /// Runs the plan in a stopwatch's device memory, with its workspace, and returns the time
    /// measured on the device.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if the memory is shorter than
    /// [`measured_bytes`](Self::measured_bytes), [`ErrorKind::Gpu`] if it belongs to another GPU,
    /// [`ErrorKind::GpuOutOfMemory`] if the workspace cannot be allocated.
    pub fn time(&self, watch: &mut Stopwatch) -> Result<Duration, Error> {
        Ok(watch.time(&self.prepared)?)
    }

    /// Runs the plan in a stopwatch's device memory, on elements that hold their index, and returns
    /// the number of elements at a wrong position.
    ///
    /// # Errors
    /// Those of [`time`](Self::time), and [`ErrorKind::Options`] if the plan has leading
    /// dimensions.
    pub fn wrong_elements(&self, watch: &mut Stopwatch) -> Result<u64, Error> {
        if self.plan.problem.leading().is_some() {
            return Err(ProblemError::Leading { with: "numbered elements" }.into());
        }
        Ok(watch.wrong_elements(&self.plan.problem, &self.prepared)?)
    }
}
