//! Plans checked and timed on device memory of the library's own.
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

/// Device memory, a stream and a pair of events to check and to time plans with. Workspace is the stopwatch's too, allocated
/// when a plan first needs it: two stopwatches can run one plan at the same time.
///
/// Timed runs go through the memory from place to place where it has room for several matrices, so
/// that those that fit the second-level cache are not found there. Every method has waited for its work when
/// it returns, errors included.
#[derive(Debug)]
pub struct Stopwatch {
    stream: Stream,
    events: [Event; 2],
    data: Memory,
    /// As long as the plan that needed most.
    workspace: Option<Memory>,
    /// Bytes into the memory where the next run is timed.
    next: usize,
    queueing: Duration,
    gpu: Gpu,
}

/// Where launches of one's own are timed: a stopwatch's stream and memory.
#[derive(Clone, Copy, Debug)]
pub struct BenchMemory {
    /// The stream (`CUstream`).
    pub stream: *mut c_void,
    /// Device address of the memory, a multiple of 256.
    pub address: u64,
    /// Its bytes.
    pub bytes: usize,
}

impl Stopwatch {
    /// With `bytes` bytes of `gpu`'s memory of its own for plans to run on.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`].
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

    /// Puts numbered elements at the start of this memory, out of place at the source there, runs `prepared`, and returns
    /// how many elements are not where `problem` puts them.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Length`] if the problem's elements are longer than the buffers, or these than the memory;
    /// [`CudaError::OtherGpu`] if `prepared` is of another context, [`CudaError::OutOfMemory`] for its workspace.
    pub fn wrong_elements(
        &mut self,
        problem: &Problem,
        prepared: &Prepared,
    ) -> Result<u64, CudaError> {
        let (stream, buffers) = (self.stream.raw(), self.buffers(prepared, 0)?);
        self.wrong(problem, [buffers.data, buffers.source.unwrap_or(buffers.data)], || {
            // SAFETY: buffers and stream are this stopwatch's own, nothing else uses them, and `wrong` waits.
            unsafe { prepared.run_raw(stream, buffers) }
        })
    }

    /// The same for whatever `queue` queues: it finds the elements `from` bytes from the start of the memory, and leaves them
    /// `to` bytes from it.
    ///
    /// # Errors
    /// What `queue` answers; [`CudaError::Length`] if the elements are longer than the memory.
    ///
    /// # Safety
    /// As [`time_raw`](Self::time_raw).
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

    /// Fills the elements at `from`, runs, and counts those that are wrong at `to`; both have room for them.
    fn wrong(
        &self,
        problem: &Problem,
        [to, from]: [Place; 2],
        run: impl FnOnce() -> Result<(), CudaError>,
    ) -> Result<u64, CudaError> {
        let (need, have) = (problem.bytes(), to.1.min(from.1));
        let Some(bytes) = u32::try_from(problem.elem_bytes()).ok().filter(|_| need <= have) else {
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

    /// Queues one of the checking kernels.
    fn check(&self, kernel: &Function, parameters: &[*const c_void]) -> Result<(), CudaError> {
        let config = LaunchDims {
            groups: 2048,
            threads: 256,
            shared_bytes: 0,
            cluster: 1,
            cooperative: false,
        };
        // SAFETY: the caller gives each kernel as many parameters as it takes, of its types. The kernels stay within the
        // elements that they are given, which the caller has compared with the memory.
        unsafe { kernel.launch(config, parameters, self.stream.raw(), || "check".into()) }
    }

    /// Runs `prepared` on this memory, and returns how long the device took.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Length`] if the plan's matrix is longer than the memory,
    /// [`CudaError::OtherGpu`] if it is of another context, [`CudaError::OutOfMemory`] for its workspace.
    pub fn time(&mut self, prepared: &Prepared) -> Result<Duration, CudaError> {
        let at = self.place(prepared.work().measured_bytes());
        let (stream, buffers) = (self.stream.raw(), self.buffers(prepared, at)?);
        // SAFETY: buffers and stream are this stopwatch's own, nothing else uses them, and `between_events` waits for
        // the work.
        self.between_events(|_, _| unsafe { prepared.run_raw(stream, buffers) })
    }

    /// Says how long the device took for whatever `queue` queues.
    ///
    /// # Errors
    /// What `queue` answers, [`CudaError::Driver`].
    ///
    /// # Safety
    /// What `queue` queues goes on the stream that it is given, uses of device memory what it is given (as those
    /// see fit whose launches they are) and what is its own, in the context of the stopwatch's `Gpu`.
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

    /// Memory and workspace for a run of `prepared`, from `at` bytes from the start of this memory on.
    fn buffers(&mut self, prepared: &Prepared, at: usize) -> Result<Buffers, CudaError> {
        self.gpu.same(prepared.gpu())?;
        let start = self.data.span(at, 0)?;
        let (buffers, end) = prepared.work().laid_out(start);
        self.data.span(at, (end - start) as usize)?;
        let need = prepared.workspace_bytes();
        if self.workspace.as_ref().is_none_or(|memory| memory.bytes() < need) {
            // The shorter one is freed first.
            self.workspace = None;
            self.workspace = Some(Memory::allocate(self.gpu.context(), need)?);
        }
        let workspace = self.workspace.as_ref().map(|memory| (memory.address(), memory.bytes()));
        Ok(Buffers { workspace, ..buffers })
    }

    /// Puts `bytes` into this memory, `at` bytes from its start.
    ///
    /// # Errors
    /// [`CudaError::Length`] if they do not fit.
    pub fn put(&mut self, at: usize, bytes: &[u8]) -> Result<(), CudaError> {
        self.stream.put(&self.data, at, bytes)
    }

    /// Fills `bytes` with what lies `at` bytes from the start of this memory.
    ///
    /// # Errors
    /// [`CudaError::Length`] if there are not so many.
    pub fn take(&self, at: usize, bytes: &mut [u8]) -> Result<(), CudaError> {
        self.stream.take(&self.data, at, bytes)
    }

    /// Copies `bytes` bytes of this memory to the part after, and says how long the device took: what a
    /// plan's time is compared with.
    ///
    /// # Errors
    /// [`CudaError::Length`] if both do not fit.
    pub fn time_copy(&mut self, bytes: usize) -> Result<Duration, CudaError> {
        let (need, have) = (bytes.saturating_mul(2), self.data.bytes());
        if need > have {
            return Err(CudaError::Length { what: "copy and its source", need, have });
        }
        let from = self.place(need);
        self.between_events(|stream, data| stream.copy(data, [from + bytes, from], bytes))
    }

    /// How long the host took to queue what was last timed.
    pub fn queueing(&self) -> Duration {
        self.queueing
    }

    /// Where the next `bytes` bytes are used: after those of the last time, from the start where the
    /// memory ends.
    fn place(&mut self, bytes: usize) -> usize {
        let at = self.next.checked_next_multiple_of(4096).unwrap_or(0);
        let at = if at.saturating_add(bytes) <= self.data.bytes() { at } else { 0 };
        self.next = at.saturating_add(bytes);
        at
    }

    /// The device's time from the start of what `queue` queues to its end, which is waited for. The host's time to queue it
    /// is kept.
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
        // Whatever went wrong: a part may have been queued.
        let ended = self.stream.wait();
        recorded.and(ended)?;
        self.queueing = queueing;
        before.until(after)
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        // Something is under way only where whoever queued it panicked; the memory must not be freed below it.
        let _ = self.stream.wait();
    }
}

fn pointer<T>(parameter: &T) -> *const c_void {
    ptr::from_ref(parameter).cast()
}
