//! Prepared plans: launches with loaded kernels, run on the caller's memory and stream.
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
    /// Checks `plan` and loads its kernels.
    ///
    /// # Errors
    /// [`CudaError`]: the plan is invalid or not for a GPU, the GPU cannot hold the co-resident blocks of a launch, or a driver
    /// call fails.
    pub fn prepare(&self, plan: &Plan) -> Result<Prepared, CudaError> {
        self.prepare_work(Work::of_plan(plan)?)
    }

    /// Loads the kernels of `work`. A kernel module is loaded once per family and word size, and stays loaded.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the driver rejects the code. [`CudaError::Infeasible`]: the device cannot hold the co-resident
    /// blocks of a launch.
    pub fn prepare_work(&self, work: Work) -> Result<Prepared, CudaError> {
        let (gpu, loaded) = (self.clone(), vec![self.load(work)?]);
        Ok(Prepared { gpu, loaded, scales: Vec::new(), own: None })
    }

    fn load(&self, work: Work) -> Result<Loaded, CudaError> {
        let kernels = self.kernels(work.calls())?;
        Ok(Loaded { work, kernels })
    }
}

/// Plan whose kernels are loaded. It can run any number of times, from any thread.
#[derive(Debug)]
pub struct Prepared {
    gpu: Gpu,
    /// At least one plan. A run uses the first plan whose alignment the buffers have.
    loaded: Vec<Loaded>,
    /// Passes that scale the result, one per scalar type of the elements' size.
    scales: Vec<Loaded>,
    own: Option<Memory>,
}

#[derive(Debug)]
struct Loaded {
    work: Work,
    kernels: Vec<Function>,
}

impl Loaded {
    /// Iterates over the launches, each with its kernel.
    fn launches(&self) -> impl Iterator<Item = (&CheckedLaunch, &Function)> {
        self.work.calls().iter().zip(&self.kernels)
    }
}

impl Prepared {
    /// Adds `plan`, for the same problem with a smaller alignment. It runs on buffers that are not aligned enough for the earlier
    /// plans.
    ///
    /// # Errors
    /// See [`Gpu::prepare`]. [`CudaError::OtherProblem`]: the plans solve different problems. [`CudaError::OutOfMemory`]: the
    /// plan's own workspace cannot grow.
    pub fn or(self, plan: &Plan) -> Result<Self, CudaError> {
        let work = Work::of_plan(plan)?;
        self.work().same_problem(&work)?;
        self.or_work(work)
    }

    /// Adds launches of the same operation with a smaller alignment, like [`or`](Self::or). The caller ensures that it is the same
    /// operation.
    ///
    /// # Errors
    /// See [`or`](Self::or).
    pub fn or_work(mut self, work: Work) -> Result<Self, CudaError> {
        self.loaded.push(self.gpu.load(work)?);
        // The plan's own workspace must also be large enough for this plan.
        let short = self.own.as_ref().is_some_and(|own| own.bytes() < self.workspace_bytes());
        if short { self.with_own_workspace() } else { Ok(self) }
    }

    /// Enables in-place runs that scale the result ([`run_scaled_raw`](Self::run_scaled_raw)). Loads the scaling kernels for all
    /// scalar types of the elements' size.
    ///
    /// # Errors
    /// See [`Gpu::prepare`].
    pub fn with_scaling(mut self) -> Result<Self, CudaError> {
        let (work, limits) = (self.work(), self.gpu.device().limits());
        let numbers = ScalarKind::ALL.into_iter().filter(|number| work.is_of(*number));
        let pass = |number| self.gpu.load(work.and_scaled(number, Scaling::Zeros, limits)?);
        self.scales = numbers.map(pass).collect::<Result<_, CudaError>>()?;
        Ok(self)
    }

    /// Returns the launches and memory requirements of the first plan, which assumes the largest alignment.
    pub fn work(&self) -> &Work {
        &self.loaded[0].work
    }

    /// Returns the maximum bytes of workspace that a run needs.
    pub fn workspace_bytes(&self) -> usize {
        self.loaded.iter().map(|loaded| loaded.work.workspace_bytes()).max().unwrap_or(0)
    }

    /// Returns the GPU that the plan was prepared on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Allocates the plan's own workspace. Runs that use it must not overlap.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`]: the workspace does not fit in device memory.
    pub fn with_own_workspace(mut self) -> Result<Self, CudaError> {
        self.own = Some(Memory::allocate(self.gpu.context(), self.workspace_bytes())?);
        Ok(self)
    }

    /// Enqueues the plan on `stream`. Uses the plan's own workspace if `buffers.workspace` is `None`. Does not allocate or
    /// synchronise. Errors during kernel execution are reported at the caller's next synchronisation.
    ///
    /// # Errors
    /// [`CudaError`]. Invalid arguments are rejected before anything is queued. After [`CudaError::Partial`] the data are
    /// incomplete.
    ///
    /// # Safety
    /// - The buffers are memory of the context of [`gpu`](Self::gpu).
    /// - `stream` is a stream of that context, or null for its default stream.
    /// - Until the queued work has ended, nothing else accesses the data or the workspace, or writes the source.
    /// - Until then, this `Prepared` is not dropped, because it owns the code and its own workspace, and dropping does not wait.
    ///   Work captured in a graph has ended when the graph can no longer be launched.
    pub unsafe fn run_raw(&self, stream: *mut c_void, buffers: Buffers) -> Result<(), CudaError> {
        let aligned = self.loaded.iter().find(|loaded| loaded.work.is_aligned(&buffers));
        let Some(Loaded { work, kernels }) = aligned.or(self.loaded.last()) else { return Ok(()) };
        // SAFETY: the caller guarantees the conditions above; these are the kernels of `work`.
        unsafe { self.queue(stream, buffers, work, kernels.iter()) }
    }

    /// Enqueues an in-place run, like [`run_raw`](Self::run_raw), and scales every number of the result. For zeros, only writes
    /// them.
    ///
    /// # Errors
    /// See [`run_raw`](Self::run_raw). [`CudaError::NotPrepared`]: the plan was not prepared
    /// [`with_scaling`](Self::with_scaling), or its elements do not have the size of `number`.
    ///
    /// # Safety
    /// See [`run_raw`](Self::run_raw).
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
        // SAFETY: the caller guarantees the conditions of `run_raw`; these are the kernels of `work`.
        unsafe { self.queue(stream, buffers, &work, kernels?.into_iter()) }
    }

    /// Finds a prepared kernel for the launch. The launch must not need more resources than the prepared one.
    fn kernel(&self, call: &CheckedLaunch) -> Result<&Function, CudaError> {
        let mut all = self.loaded.iter().chain(&self.scales).flat_map(Loaded::launches);
        let found = all.find(|(known, _)| call.needs_no_more_than(known));
        found
            .map(|(_, kernel)| kernel)
            .ok_or_else(|| CudaError::NotPrepared { kernel: call.kernel() })
    }

    /// # Safety
    /// See [`run_raw`](Self::run_raw). The kernels are those of the work's launches.
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
            // Between kernels this takes 2 to 3 us on an H200 (benches/records/h200/launches.csv). To save it, most kernels would
            // need the address of the next kernel's flags. Dependent launches would save 1 us more per launch, but need PTX of sm_90.
            let cleared = match call.workspace {
                // SAFETY: `check` verified the workspace length, and the context is current.
                WorkspacePart::Flags(bytes) => unsafe { driver::clear(stream, second, bytes) },
                _ => Ok(()),
            };
            let fields = call.params.at(first, second);
            let parameter = [fields.bytes().as_ptr().cast()];
            // SAFETY: the kernel takes one parameter, no longer than `fields`. `lower` decided how the kernel uses the addresses;
            // `check` verified lengths, alignment and overlaps. The caller guarantees the rest.
            let launch =
                || unsafe { kernel.launch(call.config(), &parameter, stream, || call.kernel()) };
            cleared.and_then(|()| launch()).map_err(|why| match before {
                0 => why,
                _ => CudaError::Partial { launch: before + 1, launches, why: why.into() },
            })?;
        }
        Ok(())
    }

    /// Waits until all work queued on `stream` has ended.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: queued work failed.
    ///
    /// # Safety
    /// `stream` is a stream of the context of [`gpu`](Self::gpu), or null for its default stream.
    pub unsafe fn wait_raw(&self, stream: *mut c_void) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees a stream of this context.
        unsafe { self.gpu.wait(stream) }
    }
}
