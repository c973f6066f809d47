//! Launches with their kernels loaded, run on the caller's memory and stream.
#![allow(unsafe_code)]

use std::ffi::c_void;

#[cfg(backend)]
use cust::{
    memory::{DeviceCopy, DeviceSlice},
    stream::Stream,
};

use crate::gpu::Gpu;
use turntile_plan::{LeadingPlan, Plan};

use crate::call::{Call, WorkspacePart};
use crate::driver::{self, Function, Memory};
use crate::error::CudaError;
use crate::out_of_place::{Place, Program};
use crate::prepare::Work;

/// Queues `call` on `stream` with the addresses that its parameter begins with, flags cleared first.
///
/// # Safety
/// The addresses are those of memory that the call may work on, as [`Prepared::run_raw`] says.
unsafe fn queue(
    kernel: &Function,
    call: &Call,
    first: u64,
    second: Option<u64>,
    stream: *mut c_void,
) -> Result<(), CudaError> {
    if let (WorkspacePart::Flags(bytes), Some(flags)) = (call.workspace(), second) {
        // SAFETY: the caller's workspace is as long as the flags; its context is current.
        unsafe { driver::clear(stream, flags, bytes)? };
    }
    let fields = call.params().at(first, second);
    // SAFETY: the kernel takes one parameter, no longer than `fields`. What it does to the addresses was decided
    // by `lower`, within what the caller answers for.
    unsafe {
        kernel.launch(call.config(), &[fields.bytes().as_ptr().cast()], stream, || call.kernel())
    }
}

impl Gpu {
    /// Loads what `plan`, which is in place, launches. The plan is checked first, whoever made it.
    ///
    /// # Errors
    /// [`CudaError`]: the plan is flawed or not for a GPU, has launches whose blocks have no room here, or the
    /// driver refuses.
    pub fn prepare(&self, plan: &Plan) -> Result<Prepared, CudaError> {
        self.prepare_work(Work::of_plan(plan)?)
    }

    /// Loads what a plan for leading dimensions launches. The plan is checked first, whoever made it.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub fn prepare_leading(&self, plan: &LeadingPlan) -> Result<Prepared, CudaError> {
        self.prepare_work(Work::of_leading(plan, self.chip().limits())?)
    }

    /// Loads what out-of-place plans launch that do the same with memory of less and less alignment: a run takes
    /// the first whose alignment the memory has.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub fn prepare_into<'a>(
        &self,
        plans: impl IntoIterator<Item = &'a Plan>,
    ) -> Result<Loaded, CudaError> {
        let programs = plans.into_iter().map(Program::of_plan);
        self.load(programs.collect::<Result<Vec<_>, _>>()?)
    }

    /// Loads what `work` needs. Kernels are loaded once a family and word, and kept.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the driver refuses the code. [`CudaError::Infeasible`]: the device has no room for
    /// the blocks of a launch that must be at work together.
    pub fn prepare_work(&self, work: Work) -> Result<Prepared, CudaError> {
        let kernels = self.kernels(work.calls().iter())?;
        Ok(Prepared { gpu: self.clone(), work, kernels, own: None })
    }

    /// Loads what programs need that do the same with memory of less and less alignment.
    ///
    /// # Errors
    /// As [`prepare_work`](Self::prepare_work).
    pub fn load(&self, programs: impl IntoIterator<Item = Program>) -> Result<Loaded, CudaError> {
        let load = |program: Program| Ok((self.kernels(program.calls().iter())?, program));
        let programs = programs.into_iter().map(load).collect::<Result<_, CudaError>>()?;
        Ok(Loaded { gpu: self.clone(), programs })
    }
}

/// A plan whose kernels are loaded: it can run any number of times, from any thread.
#[derive(Debug)]
pub struct Prepared {
    gpu: Gpu,
    work: Work,
    kernels: Vec<Function>,
    own: Option<Memory>,
}

impl Prepared {
    /// What it launches.
    pub fn work(&self) -> &Work {
        &self.work
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
        self.own = Some(Memory::new(self.gpu.context(), self.work.workspace_bytes())?);
        Ok(self)
    }

    /// Queues the plan on `stream` for the matrix at device address `data`, of `bytes` bytes, with the
    /// workspace at the address and of the bytes given, or with its own. Allocates nothing, waits for
    /// nothing; errors of the kernels' runs show at the caller's next synchronisation.
    ///
    /// # Errors
    /// [`CudaError`]. Whatever is wrong with the arguments is found before anything is queued.
    ///
    /// # Safety
    /// - `data .. data + bytes` and the workspace are memory of the context of [`gpu`](Self::gpu); the two do not
    ///   overlap;
    /// - `stream` is a stream of that context, or null for its default stream;
    /// - until the queued work has ended, nothing else reads or writes matrix and workspace, and this `Prepared`,
    ///   which holds the code and its own workspace, is not dropped: dropping does not wait. Work that was captured
    ///   in a graph has ended when the graph can no longer be launched.
    pub unsafe fn run_raw(
        &self,
        stream: *mut c_void,
        data: u64,
        bytes: usize,
        workspace: Option<(u64, usize)>,
    ) -> Result<(), CudaError> {
        let own = self.own.as_ref().map_or((0, 0), |own| (own.address(), own.bytes()));
        let workspace = workspace.unwrap_or(own);
        self.work.check(data, bytes, workspace)?;
        let _current = self.gpu.context().enter()?;
        let steps = self.work.calls().iter().zip(self.work.spots());
        for ((call, spots), kernel) in steps.zip(&self.kernels) {
            let [first, second] = spots.map(|spot| spot.of(data, workspace.0));
            // SAFETY: `check` saw the lengths; the rest is the caller's.
            unsafe { queue(kernel, call, first, Some(second), stream)? };
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

    /// [`run_raw`](Self::run_raw) on a slice, with the plan's own workspace.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Workspace`] if it needs one and has none of its own.
    ///
    /// # Safety
    /// - slice and stream are of the context of [`gpu`](Self::gpu);
    /// - until the queued work has ended, nothing else uses the slice, and this `Prepared` is not dropped.
    #[cfg(backend)]
    pub unsafe fn run<T: DeviceCopy>(
        &self,
        slice: &mut DeviceSlice<T>,
        stream: &Stream,
    ) -> Result<(), CudaError> {
        let (address, bytes) = place(slice);
        // SAFETY: the caller answers for context, use and time; the slice for its memory.
        unsafe { self.run_raw(stream.as_inner().cast(), address, bytes, None) }
    }
}

#[cfg(backend)]
fn place<T: DeviceCopy>(slice: &DeviceSlice<T>) -> Place {
    (slice.as_device_ptr().as_raw(), slice.len() * size_of::<T>())
}

/// Launches from one buffer to another, their kernels loaded: they can run any number of times, from any thread.
#[derive(Debug)]
pub struct Loaded {
    gpu: Gpu,
    programs: Vec<(Vec<Function>, Program)>,
}

impl Loaded {
    /// What it launches: the first of these whose alignment the memory has.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        self.programs.iter().map(|(_, program)| program)
    }

    /// Where.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Queues the launches on `stream` for destination and source at these device addresses, of these bytes.
    /// Allocates nothing, waits for nothing.
    ///
    /// # Errors
    /// [`CudaError`]. Whatever is wrong with the arguments is found before anything is queued.
    ///
    /// # Safety
    /// - the buffers are memory of the context of [`gpu`](Self::gpu);
    /// - `stream` is a stream of that context, or null for its default stream;
    /// - until the queued work has ended, nothing else uses the destination or writes the source, and this `Loaded`, which holds the code, is not dropped: dropping does not wait. Work that was captured in
    ///   a graph has ended when the graph can no longer be launched.
    pub unsafe fn run_raw(
        &self,
        stream: *mut c_void,
        buffers: [Place; 2],
    ) -> Result<(), CudaError> {
        let mut refused = None;
        for (kernels, program) in &self.programs {
            match program.check(buffers) {
                Err(why) => refused = Some(why),
                Ok(()) => {
                    let _current = self.gpu.context().enter()?;
                    let [(to, _), (from, _)] = buffers;
                    for (call, kernel) in program.calls().iter().zip(kernels) {
                        // SAFETY: `check` saw lengths, alignment and overlaps; the rest is the caller's.
                        unsafe { queue(kernel, call, to, Some(from), stream)? };
                    }
                    return Ok(());
                }
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// [`run_raw`](Self::run_raw) of a transposition, from one slice to another.
    ///
    /// # Errors
    /// [`CudaError`].
    ///
    /// # Safety
    /// - slices and stream are of the context of [`gpu`](Self::gpu);
    /// - until the queued work has ended, nothing else uses `to` or writes `from`, and this `Loaded` is not dropped.
    #[cfg(backend)]
    pub unsafe fn run_into<T: DeviceCopy>(
        &self,
        to: &mut DeviceSlice<T>,
        from: &DeviceSlice<T>,
        stream: &Stream,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller answers for context, use and time; the slices for their memory.
        unsafe { self.run_raw(stream.as_inner().cast(), [place(to), place(from)]) }
    }
}
