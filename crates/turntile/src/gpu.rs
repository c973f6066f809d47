//! The same transpositions on an NVIDIA GPU.
//!
//! Built with feature `cuda`; without it everything here is there and [`Gpu::current`] answers
//! [`CudaError::NoBackend`]. A [`Gpu`] holds its context and makes it current where it needs it; whatever was current
//! on the thread is so again afterwards.
//!
//! ```no_run
//! # #[cfg(feature = "cuda")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use turntile::gpu::cust::{self, prelude::*};
//! use turntile::{Transpose, gpu::Gpu};
//!
//! let _context = cust::quick_init()?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//! let mut matrix = DeviceBuffer::from_slice(&vec![0f32; 30011 * 30000])?;
//!
//! let planned = Transpose::new(30011, 30000).plan_on::<f32>(&Gpu::current()?)?;
//! println!("{}, {} bytes of workspace", planned.plan(), planned.workspace_bytes());
//! let ready = planned.with_own_workspace()?;
//! // SAFETY: matrix and stream are of the GPU's context, nothing else uses the matrix until the stream is done, and
//! // `ready` lives until then.
//! unsafe { ready.run(&mut matrix, &stream)? };
//! stream.synchronize()?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "cuda"))]
//! # fn main() {}
//! ```
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::time::Duration;

use turntile_plan::{Measured, Plan, tuner};

#[cfg(feature = "cuda")]
pub use turntile_cuda::cust;
#[cfg(feature = "cuda")]
use turntile_cuda::cust::{
    memory::{DeviceCopy, DeviceSlice},
    stream::Stream,
};
pub use turntile_cuda::{CudaError, Gpu, Loaded, Prepared, Stopwatch, out_of_place};

use crate::tune::candidates;
use crate::{Error, Transpose};

/// A transposition planned for a GPU, its kernels loaded: it can run any number of times, from any thread.
#[derive(Debug)]
pub struct OnGpu {
    plan: Plan,
    prepared: Prepared,
    passed_over: Vec<(Plan, CudaError)>,
}

impl Transpose {
    /// Plans it for elements of type `T` on `gpu`.
    ///
    /// # Errors
    /// As [`plan_bytes_on`](Self::plan_bytes_on).
    pub fn plan_on<T>(&self, gpu: &Gpu) -> Result<OnGpu, Error> {
        self.plan_bytes_on(gpu, size_of::<T>())
    }

    /// Plans it for elements of `elem_bytes` bytes on `gpu`. The thread count is not used; the workspace cap, otherwise 2% of the matrices or 16 MiB where that is
    /// more, is for device memory.
    ///
    /// # Errors
    /// As [`plan_bytes`](Self::plan_bytes), and [`Error::Cuda`].
    pub fn plan_bytes_on(&self, gpu: &Gpu, elem_bytes: usize) -> Result<OnGpu, Error> {
        let problem = self.problem(elem_bytes)?;
        let planner = self.planner_for(gpu.limits().clone())?;
        let (advised, _) = self.advised(&planner, &problem)?;
        let mut first = match (advised, self.measuring()) {
            (Some(plan), _) => plan,
            (None, None) => planner.plan(&problem)?,
            (None, Some(budget)) => {
                self.tune_bytes_on(gpu, elem_bytes, budget)?.swap_remove(0).plan
            }
        };
        let mut passed_over: Vec<(Plan, CudaError)> = Vec::new();
        // Asked for only when the first choice has no kernel here.
        let mut others = None;
        loop {
            match gpu.prepare(&first) {
                Ok(prepared) => return Ok(OnGpu { plan: first, prepared, passed_over }),
                Err(why @ CudaError::Infeasible { .. }) => passed_over.push((first, why)),
                Err(other) => return Err(other.into()),
            }
            let others =
                others.get_or_insert_with(|| planner.survey(&problem).candidates.into_iter());
            let tried = |plan: &Plan| passed_over.iter().any(|(old, _)| old.stages == plan.stages);
            match others.find(|plan| !tried(plan)) {
                Some(next) => first = next,
                None => return Err(passed_over.swap_remove(0).1.into()),
            }
        }
    }

    /// Measures candidates on `gpu` for about `budget`, on device memory of its own that is as large as
    /// the matrices, and returns them fastest first; at least one.
    ///
    /// # Errors
    /// As [`plan_bytes_on`](Self::plan_bytes_on); out of memory is [`CudaError::OutOfMemory`].
    pub fn tune_bytes_on(
        &self,
        gpu: &Gpu,
        elem_bytes: usize,
        budget: Duration,
    ) -> Result<Vec<Measured>, Error> {
        let problem = self.problem(elem_bytes)?;
        let planner = self.planner_for(gpu.limits().clone())?;
        let mut candidates = candidates(&planner, &problem)?;
        let room = candidates.iter().map(Plan::room_bytes).max().unwrap_or(0);
        let mut watch = Stopwatch::new(gpu, room)?;
        // A stage without a kernel on this device is no candidate; the first reason is kept for the
        // case that none is left.
        let mut why = None;
        candidates.retain(|plan| match gpu.prepare(plan) {
            Ok(_) => true,
            Err(error) => {
                why.get_or_insert(error);
                false
            }
        });
        let run = |plan: &Plan| watch.time(&gpu.prepare(plan)?.with_own_workspace()?);
        let measured = tuner::measure(candidates, budget, run)?;
        match (measured.first(), why) {
            (Some(winner), _) => self.remember(&planner, winner)?,
            (None, Some(why)) => return Err(why.into()),
            (None, None) => unreachable!("a problem has candidates, or an error says why not"),
        }
        Ok(measured)
    }
}

impl Transpose {
    /// Loads the transposition of elements of type `T` from one place of `gpu`'s memory to another.
    ///
    /// ```no_run
    /// # #[cfg(feature = "cuda")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use turntile::gpu::cust::{self, prelude::*};
    /// use turntile::{Transpose, gpu::Gpu};
    ///
    /// let _context = cust::quick_init()?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let src = DeviceBuffer::from_slice(&vec![1f32; 10_000_000 * 3])?;
    /// let mut dst = DeviceBuffer::from_slice(&vec![0f32; 10_000_000 * 3])?;
    /// let ready = Transpose::new(10_000_000, 3).load_into::<f32>(&Gpu::current()?)?;
    /// // SAFETY: buffers and stream are of the GPU's context, nothing else uses the buffers until the stream is done,
    /// // and `ready` lives until then.
    /// unsafe { ready.run_into(&mut dst, &src, &stream)? };
    /// stream.synchronize()?;
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "cuda"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    /// As [`load_bytes_into`](Self::load_bytes_into).
    pub fn load_into<T>(&self, gpu: &Gpu) -> Result<Loaded, Error> {
        self.load_bytes_into(gpu, size_of::<T>())
    }

    /// The same for elements of `elem_bytes` bytes. There is no plan and no workspace: of what was
    /// asked for, the batch alone applies. Buffers of a run are `[destination, source]`, with an address that
    /// is a multiple of the largest power of two, up to 16, that divides an element's size.
    ///
    /// # Errors
    /// [`Error::Problem`] when the matrices exceed the address space, [`Error::Cuda`] when they have more
    /// tiles than a launch has blocks (2^31) or the driver refuses the code.
    pub fn load_bytes_into(&self, gpu: &Gpu, elem_bytes: usize) -> Result<Loaded, Error> {
        let problem = self.problem(elem_bytes)?;
        Ok(gpu.load(out_of_place::choose::programs(&problem, gpu.device())?)?)
    }
}

impl OnGpu {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Plans with better estimates that have no kernel on this device, and why.
    pub fn passed_over(&self) -> &[(Plan, CudaError)] {
        &self.passed_over
    }

    /// Bytes of device memory that a run needs beyond the matrices.
    pub fn workspace_bytes(&self) -> usize {
        self.prepared.work().workspace_bytes()
    }

    /// The same with a workspace of its own, allocated here; runs of it must not overlap.
    ///
    /// # Errors
    /// [`Error::Cuda`] when there is no memory for it.
    pub fn with_own_workspace(self) -> Result<Self, Error> {
        Ok(OnGpu { prepared: self.prepared.with_own_workspace()?, ..self })
    }

    /// The launches, their kernels loaded; what a [`Stopwatch`] times.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// Queues the transposition on `stream` for the matrices at device address `data`, in `bytes` bytes from there,
    /// with the workspace at the address and of the bytes given, or with its own. The address is a multiple of 16.
    /// Allocates nothing, waits for nothing; errors of the kernels' runs show at the caller's next synchronisation.
    ///
    /// # Errors
    /// [`Error::Cuda`]. Whatever is wrong with the arguments is found before anything is queued.
    ///
    /// # Safety
    /// As of [`Prepared::run_raw`]: memory and stream (null for the default one) are of the GPU's context, matrices and
    /// workspace do not overlap; and until the queued work has ended, nothing else uses them, and this is not dropped.
    pub unsafe fn run_raw(
        &self,
        stream: *mut c_void,
        data: u64,
        bytes: usize,
        workspace: Option<(u64, usize)>,
    ) -> Result<(), Error> {
        // SAFETY: the caller answers for all of it.
        unsafe { self.prepared.run_raw(stream, data, bytes, workspace) }.map_err(Error::from)
    }

    /// [`run_raw`](Self::run_raw) on a slice, with a workspace of its own.
    ///
    /// # Errors
    /// [`Error::Cuda`]; [`CudaError::Workspace`] in it if a workspace is needed and there is none of its own.
    ///
    /// # Safety
    /// Slice and stream are of the GPU's context; until the queued work has ended, nothing else uses the slice, and this is
    /// not dropped.
    #[cfg(feature = "cuda")]
    pub unsafe fn run<T: DeviceCopy>(
        &self,
        slice: &mut DeviceSlice<T>,
        stream: &Stream,
    ) -> Result<(), Error> {
        // SAFETY: the caller answers for all of it.
        unsafe { self.prepared.run(slice, stream) }.map_err(Error::from)
    }
}
