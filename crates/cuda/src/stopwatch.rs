//! Plans and programs checked and timed on device memory of the library's own.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;
use std::time::{Duration, Instant};

use turntile_perm::{Elementary, FusedAxes};
use turntile_plan::Problem;

use crate::check::{fused, plain_axes};
use crate::driver::{Event, Function, LaunchConfig, Memory, Stream};
use crate::error::CudaError;
use crate::family::Family;
use crate::gpu::Gpu;
use crate::out_of_place::Place;
use crate::run::{Loaded, Prepared};

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
pub struct Ground {
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
            data: Memory::new(context, bytes)?,
            workspace: None,
            next: 0,
            queueing: Duration::ZERO,
            gpu: gpu.clone(),
        })
    }

    /// Fills the start of this memory with numbered elements, runs `prepared`, and returns how many elements are not
    /// where `problem` puts them.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Length`] if the problem's elements are longer than the memory,
    /// [`CudaError::OtherGpu`] if `prepared` is of another context, [`CudaError::OutOfMemory`] for its workspace.
    pub fn wrong_elements(
        &mut self,
        problem: &Problem,
        prepared: &Prepared,
    ) -> Result<u64, CudaError> {
        self.wrong_after(&problem.fused(), problem.elem_bytes(), prepared)
    }

    /// The same for what one stage does to elements of `elem_bytes` bytes.
    ///
    /// # Errors
    /// As [`wrong_elements`](Self::wrong_elements).
    pub fn wrong_swapped(
        &mut self,
        e: Elementary,
        elem_bytes: usize,
        prepared: &Prepared,
    ) -> Result<u64, CudaError> {
        self.wrong_after(&counted(e)?, elem_bytes, prepared)
    }

    fn wrong_after(
        &mut self,
        axes: &FusedAxes,
        elem_bytes: usize,
        prepared: &Prepared,
    ) -> Result<u64, CudaError> {
        self.gpu.same(prepared.gpu())?;
        let workspace = self.workspace(prepared)?;
        let Ground { stream, address, bytes } = self.ground();
        self.wrong(axes, elem_bytes, [(address, bytes); 2], || {
            // SAFETY: memory, workspace and stream are this stopwatch's own, nothing else uses them, and `wrong` waits.
            unsafe { prepared.run_raw(stream, address, bytes, Some(workspace)) }
        })
    }

    /// Workspace for a run of `prepared`.
    fn workspace(&mut self, prepared: &Prepared) -> Result<Place, CudaError> {
        let need = prepared.work().workspace_bytes();
        if self.workspace.as_ref().is_none_or(|memory| memory.bytes() < need) {
            // The shorter one is freed first.
            self.workspace = None;
            self.workspace = Some(Memory::new(self.gpu.context(), need)?);
        }
        Ok(self.workspace.as_ref().map_or((0, 0), |memory| (memory.address(), memory.bytes())))
    }

    /// The same for launches from one buffer to another.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Length`] if the buffers are longer than the memory.
    pub fn wrong_loaded(&mut self, problem: &Problem, loaded: &Loaded) -> Result<u64, CudaError> {
        self.gpu.same(loaded.gpu())?;
        let (stream, places) = (self.stream.raw(), self.places(loaded)?);
        self.wrong(&problem.fused(), problem.elem_bytes(), places, || {
            // SAFETY: as above; the buffers lie in this memory, one after the other.
            unsafe { loaded.run_raw(stream, places) }
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
        e: Elementary,
        elem_bytes: usize,
        [to, from]: [usize; 2],
        queue: impl FnOnce(Ground) -> Result<(), CudaError>,
    ) -> Result<u64, CudaError> {
        let ground = self.ground();
        let place = |at| self.data.span(at, 0).map(|address| (address, ground.bytes - at));
        let places = [place(to)?, place(from)?];
        self.wrong(&counted(e)?, elem_bytes, places, || queue(ground))
    }

    /// Fills the elements at `from`, runs, and counts those that are wrong at `to`; both have room for them.
    fn wrong(
        &self,
        axes: &FusedAxes,
        elem_bytes: usize,
        [to, from]: [Place; 2],
        run: impl FnOnce() -> Result<(), CudaError>,
    ) -> Result<u64, CudaError> {
        let elements: usize = axes.extents().iter().product();
        let need = elements.saturating_mul(elem_bytes);
        let have = to.1.min(from.1);
        if need > have || u32::try_from(elem_bytes).is_err() {
            return Err(CudaError::Length { need, have });
        }
        let (elements, axes, bytes) = (elements as u64, plain_axes(axes), elem_bytes as u32);
        let mut answers = Memory::new(self.gpu.context(), 2 * size_of::<u64>())?;
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
        self.waited(queued())?;
        self.stream.take(&answers, 0, &mut word)?;
        Ok(u64::from_ne_bytes(word))
    }

    /// Queues one of the checking kernels.
    fn check(&self, kernel: &Function, parameters: &[*const c_void]) -> Result<(), CudaError> {
        let config =
            LaunchConfig { groups: 2048, threads: 256, shared_bytes: 0, cooperative: false };
        // SAFETY: the caller gives each kernel as many parameters as it takes, of its types. The kernels stay within the
        // elements that they are told of, which the caller has compared with the memory.
        unsafe { kernel.launch(config, parameters, self.stream.raw(), || "check".into()) }
    }

    /// Waits for what was queued, whether or not all of it could be; the first error counts.
    fn waited(&self, queued: Result<(), CudaError>) -> Result<(), CudaError> {
        let ended = self.stream.wait();
        queued.and(ended)
    }

    /// Runs `prepared` on this memory, and returns how long the device took.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Length`] if the plan's matrix is longer than the memory,
    /// [`CudaError::OtherGpu`] if it is of another context, [`CudaError::OutOfMemory`] for its workspace.
    pub fn time(&mut self, prepared: &Prepared) -> Result<Duration, CudaError> {
        self.gpu.same(prepared.gpu())?;
        let workspace = Some(self.workspace(prepared)?);
        let at = self.place(prepared.work().bytes());
        let Ground { stream, address, bytes } = self.ground();
        let (address, bytes) = (address + at as u64, bytes - at);
        // SAFETY: memory, workspace and stream are this stopwatch's own, nothing else uses them, and
        // `between_events` waits for the work.
        self.between_events(|| unsafe { prepared.run_raw(stream, address, bytes, workspace) })
    }

    /// Runs `loaded` on this memory, its buffers where
    /// [`laid_out`](crate::out_of_place::Program::laid_out) puts them, and says how long the device took.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Length`] if the buffers are longer than the memory.
    pub fn time_loaded(&mut self, loaded: &Loaded) -> Result<Duration, CudaError> {
        self.gpu.same(loaded.gpu())?;
        let (stream, places) = (self.stream.raw(), self.places(loaded)?);
        // SAFETY: as in `time`; the buffers lie in this memory, one after the other.
        self.between_events(|| unsafe { loaded.run_raw(stream, places) })
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
        queue: impl FnOnce(Ground) -> Result<(), CudaError>,
    ) -> Result<Duration, CudaError> {
        let ground = self.ground();
        self.between_events(|| queue(ground))
    }

    fn ground(&self) -> Ground {
        let (address, bytes) = (self.data.address(), self.data.bytes());
        Ground { stream: self.stream.raw(), address, bytes }
    }

    /// The buffers of `loaded`, from the start of this memory.
    fn places(&self, loaded: &Loaded) -> Result<[Place; 2], CudaError> {
        let Some(program) = loaded.programs().next() else { return Ok([(0, 0); 2]) };
        let (places, end) = program.laid_out(self.data.address());
        let (need, have) = ((end - self.data.address()) as usize, self.data.bytes());
        if need > have { Err(CudaError::Length { need, have }) } else { Ok(places) }
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
            return Err(CudaError::Length { need, have });
        }
        let from = self.place(need);
        let (data, stream) = (&self.data, &self.stream);
        let (time, queueing) = between_events(stream, &self.events, || {
            stream.copy(data, [from + bytes, from], bytes)
        })?;
        self.queueing = queueing;
        Ok(time)
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

    fn between_events(
        &mut self,
        queue: impl FnOnce() -> Result<(), CudaError>,
    ) -> Result<Duration, CudaError> {
        let (time, queueing) = between_events(&self.stream, &self.events, queue)?;
        self.queueing = queueing;
        Ok(time)
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        // Something is under way only where whoever queued it panicked; the memory must not be freed below it.
        let _ = self.stream.wait();
    }
}

/// Axes whose elements can be counted.
fn counted(e: Elementary) -> Result<FusedAxes, CudaError> {
    fused(e).map_err(|_| CudaError::Length { need: usize::MAX, have: isize::MAX as usize })
}

fn pointer<T>(parameter: &T) -> *const c_void {
    ptr::from_ref(parameter).cast()
}

/// The device's time from the start of what `queue` queues to its end, which is waited for, and the host's time to
/// queue it.
fn between_events(
    stream: &Stream,
    [before, after]: &[Event; 2],
    queue: impl FnOnce() -> Result<(), CudaError>,
) -> Result<(Duration, Duration), CudaError> {
    before.record(stream)?;
    let start = Instant::now();
    let queued = queue();
    let queueing = start.elapsed();
    let recorded = queued.and_then(|()| after.record(stream));
    // Whatever went wrong: a part may have been queued.
    let ended = stream.wait();
    recorded.and(ended)?;
    Ok((before.until(after)?, queueing))
}
