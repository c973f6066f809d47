//! Plans and programs checked and timed on device memory of the library's own.

use std::ffi::c_void;
use std::ptr;
use std::time::{Duration, Instant};

use cust::sys::{self, CUevent, CUstream};
use turntile_perm::Elementary;
use turntile_plan::Problem;

use super::{Gpu, Kernel, Loaded, Memory, Prepared, answer};
use crate::error::CudaError;
use crate::family::Family;
use crate::out_of_place::program::Place;

/// Device memory, a stream and a pair of events to check and to time plans with.
///
/// Timed runs go through the memory from place to place where it has room for several matrices, so
/// that those that fit the second-level cache are not found there.
#[derive(Debug)]
pub struct Stopwatch {
    data: Memory,
    stream: CUstream,
    events: [CUevent; 2],
    /// Bytes into the memory where the next run is timed.
    next: usize,
    queueing: Duration,
}

impl Stopwatch {
    /// With `bytes` bytes of device memory of its own for plans to run on.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`].
    pub fn new(bytes: usize) -> Result<Self, CudaError> {
        let mut watch = Stopwatch {
            data: Memory::new(bytes)?,
            stream: ptr::null_mut(),
            events: [ptr::null_mut(); 2],
            next: 0,
            queueing: Duration::ZERO,
        };
        // SAFETY: places for the handles; non-blocking, so that the default stream is not waited for.
        answer("cuStreamCreate", unsafe { sys::cuStreamCreate(&mut watch.stream, 1) })?;
        for event in &mut watch.events {
            // SAFETY: a place for the handle.
            answer("cuEventCreate", unsafe { sys::cuEventCreate(event, 0) })?;
        }
        Ok(watch)
    }

    /// Fills the start of this memory with numbered elements, runs `prepared`, which has a workspace of
    /// its own, and returns how many elements of `problem`'s transposed matrices are wrong.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Length`] if the problem's matrices are longer than the memory.
    pub fn wrong_elements(
        &mut self,
        problem: &Problem,
        prepared: &Prepared,
    ) -> Result<u64, CudaError> {
        let (batch, rows, cols) = (problem.batch(), problem.rows(), problem.cols());
        let e = Elementary { batch, rows, mid: 1, cols, unit: 1 };
        self.wrong_swapped(e, problem.elem_bytes(), prepared)
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
        let (need, have) = (e.len().saturating_mul(elem_bytes), self.data.bytes);
        if need > have {
            return Err(CudaError::Length { need, have });
        }
        let (stream, data) = (self.stream.cast(), self.data.address);
        self.wrong(&prepared.gpu, e, elem_bytes, [data, data], || {
            // SAFETY: the memory and the stream are this stopwatch's own, and nothing else uses them.
            unsafe { prepared.run_raw(stream, data, have, None) }
        })
    }

    /// The same for a program whose buffers are `[destination, source]`: elements that `e` puts elsewhere.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Length`] if the buffers are longer than the memory.
    pub fn wrong_loaded(
        &mut self,
        e: Elementary,
        elem_bytes: usize,
        loaded: &Loaded,
    ) -> Result<u64, CudaError> {
        let places = self.places(loaded)?;
        let [to, from] = [0, 1].map(|k| places.get(k).map_or((0, 0), |&place| place));
        let (need, have) = (e.len().saturating_mul(elem_bytes), to.1.min(from.1));
        if need > have {
            return Err(CudaError::Length { need, have });
        }
        let stream = self.stream.cast();
        self.wrong(&loaded.gpu, e, elem_bytes, [to.0, from.0], || {
            // SAFETY: as above; the buffers lie in this memory, one after the other.
            unsafe { loaded.run_raw(stream, &places) }
        })
    }

    /// Fills the elements at `from`, runs, and counts those that are wrong at `to`; both hold all elements.
    fn wrong(
        &self,
        gpu: &Gpu,
        e: Elementary,
        elem_bytes: usize,
        [to, from]: [u64; 2],
        run: impl FnOnce() -> Result<(), CudaError>,
    ) -> Result<u64, CudaError> {
        let [batch, rows, mid, cols, unit, bytes] =
            [e.batch, e.rows, e.mid, e.cols, e.unit, elem_bytes].map(|extent| extent as u64);
        let answers = Memory::new(2 * size_of::<u64>())?;
        let function = |entry| gpu.function(Family::Check, 4, entry);
        let fill = [from, e.len() as u64, bytes];
        let compare = [to, batch, rows, mid, cols, unit, bytes, answers.address];
        self.check(function("check_fill")?, &mut { fill })?;
        run()?;
        let mut wrong = 0;
        // SAFETY: the answers are two words, the first of which is read once everything queued has ended.
        unsafe {
            let code = sys::cuMemsetD8Async(answers.address, 0, answers.bytes, self.stream);
            answer("cuMemsetD8Async", code)?;
            self.check(function("check_swapped")?, &mut { compare })?;
            answer("cuStreamSynchronize", sys::cuStreamSynchronize(self.stream))?;
            let word = ptr::from_mut(&mut wrong).cast();
            answer("cuMemcpyDtoH", sys::cuMemcpyDtoH_v2(word, answers.address, size_of::<u64>()))?;
        }
        Ok(wrong)
    }

    /// Queues one of the checking kernels, whose parameters are words or their lower halves.
    fn check(&self, kernel: Kernel, words: &mut [u64]) -> Result<(), CudaError> {
        let mut parameters: Vec<*mut c_void> =
            words.iter_mut().map(|word| ptr::from_mut(word).cast()).collect();
        // SAFETY: the callers give each kernel as many parameters as it takes; the driver copies them before
        // it returns. The kernels stay within the elements that they are told of, which the callers have
        // compared with the memory.
        let code = unsafe {
            let (parameters, none) = (parameters.as_mut_ptr(), ptr::null_mut());
            sys::cuLaunchKernel(kernel.0, 2048, 1, 1, 256, 1, 1, 0, self.stream, parameters, none)
        };
        answer("cuLaunchKernel", code)
    }

    /// Runs `prepared`, which has a workspace of its own, on this memory, and says how long the
    /// device took.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Length`] if the plan's matrix is longer than the memory.
    pub fn time(&mut self, prepared: &Prepared) -> Result<Duration, CudaError> {
        let bytes = prepared.work().bytes;
        let (at, stream) = (self.place(bytes), self.stream);
        let (address, bytes) = (self.data.address + at as u64, self.data.bytes - at);
        // SAFETY: the memory and the stream are this stopwatch's own, nothing else uses them, and
        // `between_events` waits for the work.
        self.between_events(|| unsafe { prepared.run_raw(stream.cast(), address, bytes, None) })
    }

    /// Runs `loaded` on this memory, its buffers where
    /// [`laid_out`](crate::out_of_place::program::Program::laid_out) puts them, and says how long the device took.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Length`] if the buffers are longer than the memory.
    pub fn time_loaded(&mut self, loaded: &Loaded) -> Result<Duration, CudaError> {
        let (stream, places) = (self.stream, self.places(loaded)?);
        // SAFETY: as in `time`; the buffers lie in this memory, one after the other.
        self.between_events(|| unsafe { loaded.run_raw(stream.cast(), &places) })
    }

    /// The buffers of `loaded`, from the start of this memory.
    fn places(&self, loaded: &Loaded) -> Result<Vec<Place>, CudaError> {
        let Some(program) = loaded.programs().next() else { return Ok(Vec::new()) };
        let (places, end) = program.laid_out(self.data.address);
        let (need, have) = ((end - self.data.address) as usize, self.data.bytes);
        if need > have { Err(CudaError::Length { need, have }) } else { Ok(places) }
    }

    /// Puts `bytes` into this memory, `at` bytes from its start.
    ///
    /// # Errors
    /// [`CudaError::Length`] if they do not fit.
    pub fn put(&mut self, at: usize, bytes: &[u8]) -> Result<(), CudaError> {
        let to = self.span(at, bytes.len())?;
        // SAFETY: the span lies in this memory, and no work is under way: `between_events` waits for it.
        let code = unsafe { sys::cuMemcpyHtoD_v2(to, bytes.as_ptr().cast(), bytes.len()) };
        answer("cuMemcpyHtoD", code)
    }

    /// Fills `bytes` with what lies `at` bytes from the start of this memory.
    ///
    /// # Errors
    /// [`CudaError::Length`] if there are not so many.
    pub fn take(&self, at: usize, bytes: &mut [u8]) -> Result<(), CudaError> {
        let from = self.span(at, bytes.len())?;
        // SAFETY: as above.
        let code = unsafe { sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), from, bytes.len()) };
        answer("cuMemcpyDtoH", code)
    }

    fn span(&self, at: usize, bytes: usize) -> Result<u64, CudaError> {
        let (need, have) = (at.saturating_add(bytes), self.data.bytes);
        let inside = need <= have;
        inside.then_some(self.data.address + at as u64).ok_or(CudaError::Length { need, have })
    }

    /// Copies `bytes` bytes of this memory to the part after, and says how long the device took: what a
    /// plan's time is compared with.
    ///
    /// # Errors
    /// [`CudaError::Length`] if both do not fit.
    pub fn time_copy(&mut self, bytes: usize) -> Result<Duration, CudaError> {
        let (need, have) = (bytes.saturating_mul(2), self.data.bytes);
        if need > have {
            return Err(CudaError::Length { need, have });
        }
        let (stream, from) = (self.stream, self.data.address + self.place(need) as u64);
        self.between_events(|| {
            // SAFETY: both spans lie in this stopwatch's memory and do not overlap.
            let code =
                unsafe { sys::cuMemcpyDtoDAsync_v2(from + bytes as u64, from, bytes, stream) };
            answer("cuMemcpyDtoDAsync", code)
        })
    }

    /// How long the host took to queue what was last timed.
    pub fn queueing(&self) -> Duration {
        self.queueing
    }

    /// Where the next `bytes` bytes are used: after those of the last time, from the start where the
    /// memory ends.
    fn place(&mut self, bytes: usize) -> usize {
        let at = self.next.next_multiple_of(4096);
        let at = if at.saturating_add(bytes) <= self.data.bytes { at } else { 0 };
        self.next = at + bytes;
        at
    }

    /// The device's time from the start of what `queue` queues to its end, which is waited for.
    fn between_events(
        &mut self,
        queue: impl FnOnce() -> Result<(), CudaError>,
    ) -> Result<Duration, CudaError> {
        let [before, after] = self.events;
        let mut milliseconds = 0.0;
        // SAFETY: the events and the stream are live and of one context.
        answer("cuEventRecord", unsafe { sys::cuEventRecord(before, self.stream) })?;
        let start = Instant::now();
        queue()?;
        self.queueing = start.elapsed();
        // SAFETY: as above; `milliseconds` is a place for the answer.
        unsafe {
            answer("cuEventRecord", sys::cuEventRecord(after, self.stream))?;
            answer("cuEventSynchronize", sys::cuEventSynchronize(after))?;
            let code = sys::cuEventElapsedTime(&mut milliseconds, before, after);
            answer("cuEventElapsedTime", code)?;
        }
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        // SAFETY: handles that were made here or are null, which the driver refuses without harm.
        unsafe {
            for event in self.events {
                sys::cuEventDestroy_v2(event);
            }
            sys::cuStreamDestroy_v2(self.stream);
        }
    }
}
