//! A GPU's memory that knows how its records lie.

use super::{DeviceMemory, Gpu, OnGpu, StreamHandle};
use crate::layout::Marshal;
use crate::{Error, Transpose};

/// Memory of a GPU with the stream that its conversions are queued on: for [`Tracked`](crate::layout::Tracked). Planning allocates the workspace;
/// converting allocates nothing and waits for nothing.
#[derive(Clone, Copy, Debug)]
pub struct OnStream<'a> {
    gpu: &'a Gpu,
    memory: DeviceMemory,
    stream: StreamHandle,
}

impl<'a> OnStream<'a> {
    /// Memory whose uses are queued on one stream.
    ///
    /// # Safety
    /// Memory and stream are of the GPU's context. Whoever else uses the memory does so in the stream's order. Both, and the
    /// [`Tracked`](crate::layout::Tracked) that this is put into, live until what was queued has ended.
    pub unsafe fn new(
        gpu: &'a Gpu,
        memory: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
    ) -> Self {
        OnStream { gpu, memory: memory.into(), stream: stream.into() }
    }

    /// The memory, for a kernel on the same stream.
    pub fn memory(&self) -> DeviceMemory {
        self.memory
    }
}

impl Marshal for OnStream<'_> {
    type Plan = OnGpu;

    fn plan(&self, conversion: &Transpose) -> Result<OnGpu, Error> {
        conversion.plan_on(self.gpu)?.with_own_workspace()
    }

    fn marshal(&mut self, plan: &OnGpu) -> Result<(), Error> {
        // SAFETY: whoever made this answers for memory and stream; the plan is kept by what holds this.
        unsafe { plan.run(self.memory, self.stream) }
    }
}
