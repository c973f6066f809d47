//! Launches with their kernels loaded, run on the caller's memory and stream.
#![allow(unsafe_code)]

use std::ffi::c_void;

use turntile_plan::Plan;

use crate::buffers::Buffers;
use crate::driver::{self, Function, Memory};
use crate::error::CudaError;
use crate::gpu::Gpu;
use crate::launch::{CheckedLaunch, WorkspacePart};
use crate::lower::{ScalarKind, Scaling};
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
        let (gpu, loaded) = (self.clone(), vec![self.load(work)?]);
        Ok(Prepared { gpu, loaded, scales: Vec::new(), own: None })
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
    /// Passes over the result, one for each kind of number that its elements may be.
    scales: Vec<Loaded>,
    own: Option<Memory>,
}

#[derive(Debug)]
struct Loaded {
    work: Work,
    kernels: Vec<Function>,
}

impl Loaded {
    /// Its launches, each with its kernel.
    fn launches(&self) -> impl Iterator<Item = (&CheckedLaunch, &Function)> {
        self.work.calls().iter().zip(&self.kernels)
    }
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

    /// The same, which can scale what it moves in place ([`run_scaled_raw`](Self::run_scaled_raw)): loads the kernels for
    /// numbers as large as the plan's elements.
    ///
    /// # Errors
    /// As [`Gpu::prepare`].
    pub fn with_scaling(mut self) -> Result<Self, CudaError> {
        let (work, limits) = (self.work(), self.gpu.device().limits());
        let numbers = ScalarKind::ALL.into_iter().filter(|number| work.is_of(*number));
        let pass = |number| self.gpu.load(work.and_scaled(number, Scaling::Zeros, limits)?);
        self.scales = numbers.map(pass).collect::<Result<_, CudaError>>()?;
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
    /// [`CudaError`]. Whatever is wrong with the arguments is found before anything is queued. After
    /// [`CudaError::Partial`] the data are incomplete.
    ///
    /// # Safety
    /// - the buffers are memory of the context of [`gpu`](Self::gpu);
    /// - `stream` is a stream of that context, or null for its default stream;
    /// - until the queued work has ended, nothing else uses the data or the workspace or writes the source, and this
    ///   `Prepared`, which holds the code and its own workspace, is not dropped: dropping does not wait. Work that was
    ///   captured in a graph has ended when the graph can no longer be launched.
    pub unsafe fn run_raw(&self, stream: *mut c_void, buffers: Buffers) -> Result<(), CudaError> {
        let aligned = self.loaded.iter().find(|loaded| loaded.work.is_aligned(&buffers));
        let Some(Loaded { work, kernels }) = aligned.or(self.loaded.last()) else { return Ok(()) };
        // SAFETY: the caller answers for all of it; these are the work's kernels.
        unsafe { self.queue(stream, buffers, work, kernels.iter()) }
    }

    /// As [`run_raw`](Self::run_raw), in place, every number of the result scaled; zeros are put down without moving anything.
    ///
    /// # Errors
    /// As [`run_raw`](Self::run_raw); [`CudaError::NotPrepared`]: it was not made [`with_scaling`](Self::with_scaling), or
    /// elements are no such numbers.
    ///
    /// # Safety
    /// As of [`run_raw`](Self::run_raw).
    pub unsafe fn run_scaled_raw(
        &self,
        stream: *mut c_void,
        buffers: Buffers,
        number: ScalarKind,
        scaling: Scaling,
    ) -> Result<(), CudaError> {
        let work = self.work().and_scaled(number, scaling, self.gpu.device().limits())?;
        let kernels: Result<Vec<_>, _> =
            work.calls().iter().map(|call| self.kernel(call)).collect();
        // SAFETY: the caller answers for all of it; these are the work's kernels.
        unsafe { self.queue(stream, buffers, &work, kernels?.into_iter()) }
    }

    /// The kernel of a launch that needs no more than one of those that were prepared.
    fn kernel(&self, call: &CheckedLaunch) -> Result<&Function, CudaError> {
        let mut all = self.loaded.iter().chain(&self.scales).flat_map(Loaded::launches);
        let found = all.find(|(known, _)| call.needs_no_more_than(known));
        found
            .map(|(_, kernel)| kernel)
            .ok_or_else(|| CudaError::NotPrepared { kernel: call.kernel() })
    }

    /// # Safety
    /// As of [`run_raw`](Self::run_raw); the kernels are those of the work's launches.
    unsafe fn queue<'a>(
        &self,
        stream: *mut c_void,
        mut buffers: Buffers,
        work: &Work,
        kernels: impl Iterator<Item = &'a Function>,
    ) -> Result<(), CudaError> {
        let own = self.own.as_ref().map(|own| (own.address(), own.bytes()));
        buffers.workspace = buffers.workspace.or(own);
        work.check(&buffers)?;
        let _current = self.gpu.context().enter()?;
        let launches = work.calls().len();
        let steps = work.calls().iter().zip(work.spots()).zip(kernels);
        for (before, ((call, spots), kernel)) in steps.enumerate() {
            let [first, second] = spots.map(|spot| spot.of(&buffers));
            let cleared = match call.workspace {
                // SAFETY: `check` saw that the workspace is as long; its context is current.
                WorkspacePart::Flags(bytes) => unsafe { driver::clear(stream, second, bytes) },
                _ => Ok(()),
            };
            let fields = call.params.at(first, second);
            let parameter = [fields.bytes().as_ptr().cast()];
            // SAFETY: the kernel takes one parameter, no longer than `fields`. What it does to the addresses was decided
            // by `lower`; `check` saw lengths, alignment and overlaps, and the caller answers for the rest.
            let launch =
                || unsafe { kernel.launch(call.config(), &parameter, stream, || call.kernel()) };
            cleared.and_then(|()| launch()).map_err(|why| match before {
                0 => why,
                _ => CudaError::Partial { launch: before + 1, launches, why: why.into() },
            })?;
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
