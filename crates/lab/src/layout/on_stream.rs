//! GPU memory that tracks the layout of its records.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::mem;

use turntile::gpu::{CudaError, DeviceMemory, Gpu};
use turntile::{Error, Transpose};
use turntile_cuda::{Buffers, Prepared};

use super::Marshal;

/// GPU memory for [`Tracked`](super::Tracked), with the stream on which its conversions are queued.
/// Planning allocates the workspace; converting allocates nothing and does not wait. Dropping waits
/// for the queued work.
#[derive(Debug)]
pub struct OnStream<'a> {
    gpu: &'a Gpu,
    memory: DeviceMemory,
    stream: *mut c_void,
    /// Own the workspaces of queued work, and are dropped when that work has ended.
    plans: Vec<Prepared>,
}

/// Number of a conversion that an [`OnStream`] has planned.
#[derive(Debug)]
pub struct Conversion(usize);

impl<'a> OnStream<'a> {
    /// Creates memory whose uses are queued on one stream, a `CUstream`.
    ///
    /// # Safety
    /// Memory and stream must belong to the GPU's context and live until this is dropped. No graph
    /// in which its conversions were captured may live longer. Other uses of the memory must be
    /// ordered with the stream.
    pub unsafe fn new(gpu: &'a Gpu, memory: impl Into<DeviceMemory>, stream: *mut c_void) -> Self {
        OnStream { gpu, memory: memory.into(), stream, plans: Vec::new() }
    }

    /// Returns the memory, for a kernel on the same stream.
    pub fn memory(&self) -> DeviceMemory {
        self.memory
    }
}

impl Marshal for OnStream<'_> {
    type Plan = Conversion;

    fn plan(&mut self, conversion: &Transpose) -> Result<Conversion, Error> {
        let planned = conversion.plan_on(self.gpu)?;
        self.plans.push(self.gpu.prepare(planned.plan())?.with_own_workspace()?);
        Ok(Conversion(self.plans.len() - 1))
    }

    fn marshal(&mut self, &Conversion(number): &Conversion) -> Result<(), Error> {
        // A conversion of another memory may have a number that this one does not have.
        let plan = self.plans.get(number).ok_or(CudaError::OtherGpu)?;
        let buffers = Buffers { data: self.memory.place(), source: None, workspace: None };
        // SAFETY: the caller of `new` guarantees memory and stream; the plan is kept until the
        // stream has been waited for.
        Ok(unsafe { plan.run_raw(self.stream, buffers) }?)
    }
}

impl Drop for OnStream<'_> {
    fn drop(&mut self) {
        let Some(plan) = self.plans.first() else { return };
        // SAFETY: the caller of `new` guarantees the stream.
        if unsafe { plan.wait_raw(self.stream) }.is_err() {
            // Queued work may not have ended, and keeps its workspaces.
            mem::forget(mem::take(&mut self.plans));
        }
    }
}
