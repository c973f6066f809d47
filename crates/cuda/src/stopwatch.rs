//! Verification and timing of plans in device memory that this crate allocates.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;
use std::time::{Duration, Instant};

use turntile_plan::Problem;

use crate::buffers::{Buffers, Place};
use crate::check::plain_axes;
use crate::driver::{Event, Function, LaunchDims, Memory, Stream};
use crate::error::CudaError;
use crate::family::Family;
use crate::gpu::Gpu;
use crate::run::Prepared;

/// Device memory, a stream and two events for verifying and timing plans. The stopwatch also owns the workspace, allocated when a
/// plan first needs it, so two stopwatches can run one plan at the same time.
///
/// If the memory has space for several matrices, consecutive timed runs use different parts of it, so that small matrices are not
/// in the L2 cache when a run starts. Every method waits for its work before it returns, also on errors.
#[derive(Debug)]
pub struct Stopwatch {
    stream: Stream,
    events: [Event; 2],
    data: Memory,
    /// Workspace of the largest size needed so far.
    workspace: Option<Memory>,
    /// Offset of the next timed run, in bytes.
    next: usize,
    queueing: Duration,
    gpu: Gpu,
}

/// Stream and memory of a stopwatch, for timing the caller's own launches.
#[derive(Clone, Copy, Debug)]
pub struct BenchMemory {
    /// Stream (`CUstream`).
    pub stream: *mut c_void,
    /// Device address of the memory, a multiple of 256.
    pub address: u64,
    /// Length of the memory, in bytes.
    pub bytes: usize,
}

impl Stopwatch {
    /// Creates a stopwatch with `bytes` bytes of `gpu`'s memory for the data of plans.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`]: the memory cannot be allocated.
    pub fn new(gpu: &Gpu, bytes: usize) -> Result<Self, CudaError> {
        let context = gpu.context();
        Ok(Stopwatch {
            stream: Stream::new(context)?,
            events: [Event::new(context)?, Event::new(context)?],
            data: Memory::allocate(context, bytes)?,
            workspace: None,
            next: 0,
            queueing: Duration::ZERO,
            gpu: gpu.clone(),
        })
    }

    /// Fills the elements at the start of this memory, or of the source there if out of place, with hashes of their indices. Then
    /// runs `prepared` and returns the number of elements that differ from the result of `problem`.
    ///
    /// # Errors
    /// [`CudaError`]. [`CudaError::Length`]: the problem is larger than the buffers, or these than the memory.
    /// [`CudaError::OtherGpu`]: `prepared` belongs to another context. [`CudaError::OutOfMemory`]: the workspace cannot be
    /// allocated.
    pub fn wrong_elements(
        &mut self,
        problem: &Problem,
        prepared: &Prepared,
    ) -> Result<u64, CudaError> {
        let (stream, buffers) = (self.stream.raw(), self.buffers(prepared, 0)?);
        self.wrong(problem, [buffers.data, buffers.source.unwrap_or(buffers.data)], || {
            // SAFETY: buffers and stream belong to this stopwatch, nothing else uses them, and `wrong` waits.
            unsafe { prepared.run_raw(stream, buffers) }
        })
    }

    /// Verifies work that `queue` enqueues. It reads the elements at offset `from` of the memory and writes the result at offset
    /// `to`, both in bytes. Returns the number of wrong elements.
    ///
    /// # Errors
    /// Errors of `queue`. [`CudaError::Length`]: the elements do not fit the memory after either offset.
    ///
    /// # Safety
    /// See [`time_raw`](Self::time_raw).
    pub unsafe fn wrong_raw(
        &mut self,
        problem: &Problem,
        [to, from]: [usize; 2],
        queue: impl FnOnce(BenchMemory) -> Result<(), CudaError>,
    ) -> Result<u64, CudaError> {
        let ground = self.ground();
        let place = |at| self.data.span(at, 0).map(|address| (address, ground.bytes - at));
        let places = [place(to)?, place(from)?];
        self.wrong(problem, places, || queue(ground))
    }

    /// Fills the elements at `from`, runs, and counts the wrong elements at `to`. Rejects buffers that are shorter than the
    /// problem.
    fn wrong(
        &self,
        problem: &Problem,
        [to, from]: [Place; 2],
        run: impl FnOnce() -> Result<(), CudaError>,
    ) -> Result<u64, CudaError> {
        let (need, have) = (problem.bytes(), to.1.min(from.1));
        let Some(bytes) = u32::try_from(problem.itemsize()).ok().filter(|_| need <= have) else {
            return Err(CudaError::Length { what: "problem", need, have });
        };
        let (elements, axes) = (problem.len() as u64, plain_axes(&problem.fused()));
        let mut answers = Memory::allocate(self.gpu.context(), 2 * size_of::<u64>())?;
        let function = |entry| self.gpu.function(Family::Check, 4, entry);
        let (fill, compare) = (function("check_fill")?, function("check_axes")?);
        let (to, from, answer) = (to.0, from.0, answers.address());
        let filling = [pointer(&from), pointer(&elements), pointer(&bytes)];
        let comparing =
            [pointer(&to), pointer(&elements), pointer(&axes), pointer(&bytes), pointer(&answer)];
        let mut word = [0; size_of::<u64>()];
        let queued = || {
            self.check(&fill, &filling)?;
            run()?;
            self.stream.clear(&mut answers)?;
            self.check(&compare, &comparing)
        };
        let (queued, ended) = (queued(), self.stream.wait());
        queued.and(ended)?;
        self.stream.take(&answers, 0, &mut word)?;
        Ok(u64::from_ne_bytes(word))
    }

    /// Queues one of the two checking kernels.
    fn check(&self, kernel: &Function, parameters: &[*const c_void]) -> Result<(), CudaError> {
        let config = LaunchDims {
            groups: 2048,
            threads: 256,
            shared_bytes: 0,
            cluster: 1,
            cooperative: false,
        };
        // SAFETY: the caller passes the parameters that the kernel takes, with their types. The kernels access only the given
        // elements, whose length the caller compared with that of the memory.
        unsafe { kernel.launch(config, parameters, self.stream.raw(), || "check".into()) }
    }

    /// Runs `prepared` on this memory and returns the device time.
    ///
    /// # Errors
    /// [`CudaError`]. [`CudaError::Length`]: the plan's buffers are longer than the memory. [`CudaError::OtherGpu`]: the plan
    /// belongs to another context. [`CudaError::OutOfMemory`]: the workspace cannot be allocated.
    pub fn time(&mut self, prepared: &Prepared) -> Result<Duration, CudaError> {
        let at = self.place(prepared.work().measured_bytes());
        let (stream, buffers) = (self.stream.raw(), self.buffers(prepared, at)?);
        // SAFETY: buffers and stream belong to this stopwatch, nothing else uses them, and `between_events` waits for the work.
        self.between_events(|_, _| unsafe { prepared.run_raw(stream, buffers) })
    }

    /// Returns the device time of the work that `queue` enqueues.
    ///
    /// # Errors
    /// Errors of `queue`, and [`CudaError::Driver`].
    ///
    /// # Safety
    /// `queue` enqueues work only on the given stream. The work accesses only the given memory, in any way, and memory that the
    /// caller owns in the context of the stopwatch's `Gpu`.
    pub unsafe fn time_raw(
        &mut self,
        queue: impl FnOnce(BenchMemory) -> Result<(), CudaError>,
    ) -> Result<Duration, CudaError> {
        let ground = self.ground();
        self.between_events(|_, _| queue(ground))
    }

    fn ground(&self) -> BenchMemory {
        let (address, bytes) = (self.data.address(), self.data.bytes());
        BenchMemory { stream: self.stream.raw(), address, bytes }
    }

    /// Returns the buffers and workspace for a run of `prepared`, at offset `at` of this memory, in bytes.
    fn buffers(&mut self, prepared: &Prepared, at: usize) -> Result<Buffers, CudaError> {
        self.gpu.same(prepared.gpu())?;
        let start = self.data.span(at, 0)?;
        let (buffers, end) = prepared.work().laid_out(start);
        self.data.span(at, (end - start) as usize)?;
        let need = prepared.workspace_bytes();
        if self.workspace.as_ref().is_none_or(|memory| memory.bytes() < need) {
            // Free the shorter workspace before allocating.
            self.workspace = None;
            self.workspace = Some(Memory::allocate(self.gpu.context(), need)?);
        }
        let workspace = self.workspace.as_ref().map(|memory| (memory.address(), memory.bytes()));
        Ok(Buffers { workspace, ..buffers })
    }

    /// Copies `bytes` from the host to offset `at` of this memory, in bytes.
    ///
    /// # Errors
    /// [`CudaError::Length`]: they do not fit.
    pub fn put(&mut self, at: usize, bytes: &[u8]) -> Result<(), CudaError> {
        self.stream.put(&self.data, at, bytes)
    }

    /// Copies from offset `at` of this memory, in bytes, to `bytes` on the host.
    ///
    /// # Errors
    /// [`CudaError::Length`]: the memory ends before that.
    pub fn take(&self, at: usize, bytes: &mut [u8]) -> Result<(), CudaError> {
        self.stream.take(&self.data, at, bytes)
    }

    /// Copies `bytes` bytes of this memory to the next `bytes` bytes and returns the device time, as a reference for the time of
    /// a plan.
    ///
    /// # Errors
    /// [`CudaError::Length`]: source and destination do not fit the memory.
    pub fn time_copy(&mut self, bytes: usize) -> Result<Duration, CudaError> {
        let (need, have) = (bytes.saturating_mul(2), self.data.bytes());
        if need > have {
            return Err(CudaError::Length { what: "copy and its source", need, have });
        }
        let from = self.place(need);
        self.between_events(|stream, data| stream.copy(data, [from + bytes, from], bytes))
    }

    /// Returns the host time for enqueuing the last timed work.
    pub fn queueing(&self) -> Duration {
        self.queueing
    }

    /// Returns the offset of the next `bytes` bytes to use: the next multiple of 4096 after the last run, or 0 if they would
    /// exceed the memory.
    fn place(&mut self, bytes: usize) -> usize {
        let at = self.next.checked_next_multiple_of(4096).unwrap_or(0);
        let at = if at.saturating_add(bytes) <= self.data.bytes() { at } else { 0 };
        self.next = at.saturating_add(bytes);
        at
    }

    /// Returns the device time from the start to the end of the work that `queue` enqueues, and waits for it. Saves the host time
    /// for enqueuing.
    fn between_events(
        &mut self,
        queue: impl FnOnce(&Stream, &Memory) -> Result<(), CudaError>,
    ) -> Result<Duration, CudaError> {
        let [before, after] = &self.events;
        before.record(&self.stream)?;
        let start = Instant::now();
        let queued = queue(&self.stream, &self.data);
        let queueing = start.elapsed();
        let recorded = queued.and_then(|()| after.record(&self.stream));
        // Wait even after an error, because part of the work may have been queued.
        let ended = self.stream.wait();
        recorded.and(ended)?;
        self.queueing = queueing;
        before.until(after)
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        // Work is still queued only if `queue` panicked. Its memory must not be freed before it ends.
        let _ = self.stream.wait();
    }
}

fn pointer<T>(parameter: &T) -> *const c_void {
    ptr::from_ref(parameter).cast()
}
