//! A GPU's memory that knows how its records lie.

use std::mem;

use super::{CudaError, DeviceMemory, Gpu, GpuTransposer, StreamHandle};
use crate::layout::Marshal;
use crate::{Error, Transpose};

/// Memory of a GPU with the stream that its conversions are queued on: for [`Tracked`](crate::layout::Tracked). Planning allocates
/// the workspace; converting allocates nothing and waits for nothing. Dropping waits for what was queued.
#[derive(Debug)]
pub struct OnStream<'a> {
    gpu: &'a Gpu,
    memory: DeviceMemory,
    stream: StreamHandle,
    /// They have the workspaces of what was queued, and are dropped when that has ended.
    plans: Vec<GpuTransposer>,
}

/// The number of a conversion that an [`OnStream`] has planned.
#[derive(Debug)]
pub struct Conversion(usize);

impl<'a> OnStream<'a> {
    /// Memory whose uses are queued on one stream.
    ///
    /// # Safety
    /// Memory and stream are of the GPU's context, and live until this is dropped; so does no graph in which its conversions were
    /// captured. Whoever else uses the memory does so in the stream's order.
    pub unsafe fn new(
        gpu: &'a Gpu,
        memory: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
    ) -> Self {
        OnStream { gpu, memory: memory.into(), stream: stream.into(), plans: Vec::new() }
    }

    /// The memory, for a kernel on the same stream.
    pub fn memory(&self) -> DeviceMemory {
        self.memory
    }
}

impl Marshal for OnStream<'_> {
    type Plan = Conversion;

    fn plan(&mut self, conversion: &Transpose) -> Result<Conversion, Error> {
        self.plans.push(conversion.plan_on(self.gpu)?.with_own_workspace()?);
        Ok(Conversion(self.plans.len() - 1))
    }

    fn marshal(&mut self, &Conversion(number): &Conversion) -> Result<(), Error> {
        // Another's has a number that this need not have.
        let plan = self.plans.get(number).ok_or(CudaError::OtherGpu)?;
        // SAFETY: whoever made this answers for memory and stream; the plan is kept until the stream has been waited for.
        unsafe { plan.run(self.memory, self.stream) }
    }
}

impl Drop for OnStream<'_> {
    fn drop(&mut self) {
        let Some(plan) = self.plans.first() else { return };
        // SAFETY: whoever made this answers for the stream.
        if unsafe { plan.prepared.wait_raw(self.stream.0) }.is_err() {
            // What was queued may not have ended, and keeps its workspaces.
            mem::forget(mem::take(&mut self.plans));
        }
    }
}
