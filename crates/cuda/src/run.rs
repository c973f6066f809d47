//! Launches with their kernels loaded, run on the caller's memory and stream.
#![allow(unsafe_code)]

use std::ffi::c_void;

use turntile_plan::Plan;

use crate::buffers::Buffers;
use crate::call::WorkspacePart;
use crate::driver::{self, Function, Memory};
use crate::error::CudaError;
use crate::gpu::Gpu;
use crate::prepare::Work;

impl Gpu {
    /// Loads what `plan` launches. The plan is checked first, whoever made it.
    ///
    /// # Errors
    /// [`CudaError`]: the plan is flawed or not for a GPU, has launches whose blocks have no room here, or the
    /// driver refuses.
    pub fn prepare(&self, plan: &Plan) -> Result<Prepared, CudaError> {
        self.prepare_work(Work::of_plan(plan)?)
    }

    /// Loads what `work` needs. Kernels are loaded once a family and word, and kept.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the driver refuses the code. [`CudaError::Infeasible`]: the device has no room for
    /// the blocks of a launch that must be at work together.
    pub fn prepare_work(&self, work: Work) -> Result<Prepared, CudaError> {
        Ok(Prepared { gpu: self.clone(), loaded: vec![self.load(work)?], own: None })
    }

    fn load(&self, work: Work) -> Result<Loaded, CudaError> {
        let kernels = self.kernels(work.calls())?;
        Ok(Loaded { work, kernels })
    }
}

/// A plan whose kernels are loaded: it can run any number of times, from any thread.
#[derive(Debug)]
pub struct Prepared {
    gpu: Gpu,
    /// At least one; the first whose alignment the memory has is run.
    loaded: Vec<Loaded>,
    own: Option<Memory>,
}

#[derive(Debug)]
struct Loaded {
    work: Work,
    kernels: Vec<Function>,
}

impl Prepared {
    /// The same, which runs `plan` on memory that is less aligned than the plans before it need: a plan of the same
    /// problem with less alignment.
    ///
    /// # Errors
    /// As [`Gpu::prepare`]; [`CudaError::OtherProblem`].
    pub fn or(mut self, plan: &Plan) -> Result<Self, CudaError> {
        let work = Work::of_plan(plan)?;
        self.work().same_problem(&work)?;
        self.loaded.push(self.gpu.load(work)?);
        Ok(self)
    }

    /// What it launches on memory as aligned as can be.
    pub fn work(&self) -> &Work {
        &self.loaded[0].work
    }

    /// Bytes of workspace that a run needs.
    pub fn workspace_bytes(&self) -> usize {
        self.loaded.iter().map(|loaded| loaded.work.workspace_bytes()).max().unwrap_or(0)
    }

    /// Where.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The same with a workspace of its own, allocated here; runs of it must not overlap.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`].
    pub fn with_own_workspace(mut self) -> Result<Self, CudaError> {
        self.own = Some(Memory::allocate(self.gpu.context(), self.workspace_bytes())?);
        Ok(self)
    }

    /// Queues the plan on `stream` for these buffers, with its own workspace where there is none among them. Allocates
    /// nothing, waits for nothing; errors of the kernels' runs show at the caller's next synchronisation.
    ///
    /// # Errors
    /// [`CudaError`]. Whatever is wrong with the arguments is found before anything is queued.
    ///
    /// # Safety
    /// - the buffers are memory of the context of [`gpu`](Self::gpu);
    /// - `stream` is a stream of that context, or null for its default stream;
    /// - until the queued work has ended, nothing else uses the data or the workspace or writes the source, and this
    ///   `Prepared`, which holds the code and its own workspace, is not dropped: dropping does not wait. Work that was
    ///   captured in a graph has ended when the graph can no longer be launched.
    pub unsafe fn run_raw(
        &self,
        stream: *mut c_void,
        mut buffers: Buffers,
    ) -> Result<(), CudaError> {
        let own = self.own.as_ref().map(|own| (own.address(), own.bytes()));
        buffers.workspace = buffers.workspace.or(own);
        let aligned = self.loaded.iter().find(|loaded| loaded.work.is_aligned(&buffers));
        let Some(Loaded { work, kernels }) = aligned.or(self.loaded.last()) else { return Ok(()) };
        work.check(&buffers)?;
        let _current = self.gpu.context().enter()?;
        for ((call, spots), kernel) in work.calls().iter().zip(work.spots()).zip(kernels) {
            let [first, second] = spots.map(|spot| spot.of(&buffers));
            if let WorkspacePart::Flags(bytes) = call.workspace {
                // SAFETY: `check` saw that the workspace is as long; its context is current.
                unsafe { driver::clear(stream, second, bytes)? };
            }
            let fields = call.params.at(first, second);
            let parameter = [fields.bytes().as_ptr().cast()];
            // SAFETY: the kernel takes one parameter, no longer than `fields`. What it does to the addresses was decided
            // by `lower`; `check` saw lengths, alignment and overlaps, and the caller answers for the rest.
            unsafe { kernel.launch(call.config(), &parameter, stream, || call.kernel())? };
        }
        Ok(())
    }

    /// Waits for all that was queued on `stream`.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: what was queued ended badly.
    ///
    /// # Safety
    /// `stream` is a stream of the context of [`gpu`](Self::gpu), or null for its default stream.
    pub unsafe fn wait_raw(&self, stream: *mut c_void) -> Result<(), CudaError> {
        let _current = self.gpu.context().enter()?;
        // SAFETY: the caller answers for the stream, whose context is current.
        unsafe { driver::wait(stream) }
    }
}
