//! Device memory, streams and events.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use cust::sys::{self, CUdeviceptr, CUevent, CUresult, CUstream};

use super::{Context, Owned, answer};
use crate::error::CudaError;

/// Queues zeroes for `bytes` bytes from `address` on.
///
/// # Safety
/// They are memory of the current context, of which `stream` is a stream or null, and nothing else uses
/// them until that is done.
pub(crate) unsafe fn clear(
    stream: *mut c_void,
    address: u64,
    bytes: usize,
) -> Result<(), CudaError> {
    // SAFETY: the caller answers for memory and stream.
    let code = unsafe { sys::cuMemsetD8Async(address, 0, bytes, stream.cast()) };
    answer("cuMemsetD8Async", code)
}

/// Waits for all that was queued on `stream`, in whose context the caller is.
///
/// # Safety
/// It is a stream of that context, or null.
pub(crate) unsafe fn wait(stream: *mut c_void) -> Result<(), CudaError> {
    // SAFETY: the caller answers for the stream.
    answer("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(stream.cast()) })
}

/// Device memory, freed with this.
#[derive(Debug)]
pub(crate) struct Memory {
    start: Owned<CUdeviceptr>,
    bytes: usize,
}

impl Memory {
    /// `bytes` bytes, not initialised; one where that is none.
    pub fn allocate(context: &Arc<Context>, bytes: usize) -> Result<Self, CudaError> {
        let _current = context.enter()?;
        let mut handle = 0;
        // SAFETY: `handle` is a place for the answer.
        match unsafe { sys::cuMemAlloc_v2(&mut handle, bytes.max(1)) } {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => return Err(CudaError::OutOfMemory { bytes }),
            code => answer("cuMemAlloc", code)?,
        }
        Ok(Memory { start: Owned { handle, context: context.clone() }, bytes })
    }

    pub fn address(&self) -> u64 {
        self.start.handle
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Address of `bytes` bytes that begin `at` bytes from the start.
    pub fn span(&self, at: usize, bytes: usize) -> Result<u64, CudaError> {
        let (need, have) = (at.saturating_add(bytes), self.bytes);
        let inside = need <= have;
        inside.then_some(self.address() + at as u64).ok_or(CudaError::Length {
            what: "data",
            need,
            have,
        })
    }
}

/// A stream that does not wait for the default one.
pub(crate) type Stream = Owned<CUstream>;

impl Stream {
    pub fn new(context: &Arc<Context>) -> Result<Self, CudaError> {
        let _current = context.enter()?;
        let mut handle = ptr::null_mut();
        // SAFETY: a place for the handle; 1 is CU_STREAM_NON_BLOCKING.
        answer("cuStreamCreate", unsafe { sys::cuStreamCreate(&mut handle, 1) })?;
        Ok(Owned { handle, context: context.clone() })
    }

    pub fn raw(&self) -> *mut c_void {
        self.handle.cast()
    }

    /// Waits for all that was queued.
    pub fn wait(&self) -> Result<(), CudaError> {
        let _current = self.context.enter()?;
        // SAFETY: the stream is live, and of this context.
        unsafe { wait(self.raw()) }
    }

    /// Queues zeroes for a piece of memory of the same context, which nothing else uses meanwhile.
    pub fn clear(&self, memory: &mut Memory) -> Result<(), CudaError> {
        let _current = self.context.enter()?;
        // SAFETY: the memory is exclusively borrowed by a caller that waits for this stream before it lets go.
        unsafe { clear(self.raw(), memory.address(), memory.bytes) }
    }

    /// Queues a copy of `bytes` bytes from one place of `memory` to another.
    pub fn copy(
        &self,
        memory: &Memory,
        [to, from]: [usize; 2],
        bytes: usize,
    ) -> Result<(), CudaError> {
        let (to, from) = (memory.span(to, bytes)?, memory.span(from, bytes)?);
        let _current = self.context.enter()?;
        // SAFETY: both spans lie in the memory.
        let code = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, self.handle) };
        answer("cuMemcpyDtoDAsync", code)
    }

    /// What is queued from now on waits for what was queued when `event` was last recorded, wherever that was.
    pub fn wait_for(&self, event: &Event) -> Result<(), CudaError> {
        let _current = self.context.enter()?;
        // SAFETY: stream and event are live; 0 is the only flag there is.
        let code = unsafe { sys::cuStreamWaitEvent(self.handle, event.handle, 0) };
        answer("cuStreamWaitEvent", code)
    }

    /// Queues a copy of `bytes` bytes to an address of one context from one of another, or of the same.
    ///
    /// # Safety
    /// They are memory of those contexts, and nothing else uses what is written, or writes what is read, until that is done.
    pub unsafe fn copy_between(
        &self,
        (to, there): (&Context, u64),
        (from, here): (&Context, u64),
        bytes: usize,
    ) -> Result<(), CudaError> {
        let _current = self.context.enter()?;
        if to.is(from) {
            // SAFETY: the caller answers for the memory.
            let code = unsafe { sys::cuMemcpyDtoDAsync_v2(there, here, bytes, self.handle) };
            return answer("cuMemcpyDtoDAsync", code);
        }
        let (to, from) = (to.handle, from.handle);
        // SAFETY: as above; both contexts are live.
        let code = unsafe { sys::cuMemcpyPeerAsync(there, to, here, from, bytes, self.handle) };
        answer("cuMemcpyPeerAsync", code)
    }

    /// Copies `bytes` into `memory`, `at` bytes from its start, and waits.
    pub fn put(&self, memory: &Memory, at: usize, bytes: &[u8]) -> Result<(), CudaError> {
        let to = memory.span(at, bytes.len())?;
        let _current = self.context.enter()?;
        // SAFETY: the span lies in the memory; `bytes` is borrowed until the stream is done.
        let code = unsafe {
            sys::cuMemcpyHtoDAsync_v2(to, bytes.as_ptr().cast(), bytes.len(), self.handle)
        };
        let ended = self.wait();
        answer("cuMemcpyHtoDAsync", code).and(ended)
    }

    /// Fills `bytes` with what lies `at` bytes from the start of `memory`, once all that was queued is done.
    pub fn take(&self, memory: &Memory, at: usize, bytes: &mut [u8]) -> Result<(), CudaError> {
        let from = memory.span(at, bytes.len())?;
        let _current = self.context.enter()?;
        // SAFETY: as above; `bytes` is exclusively borrowed.
        let code = unsafe {
            sys::cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), from, bytes.len(), self.handle)
        };
        let ended = self.wait();
        answer("cuMemcpyDtoHAsync", code).and(ended)
    }
}

/// A moment in a stream, by the device's clock.
pub(crate) type Event = Owned<CUevent>;

impl Event {
    pub fn new(context: &Arc<Context>) -> Result<Self, CudaError> {
        let _current = context.enter()?;
        let mut handle = ptr::null_mut();
        // SAFETY: a place for the handle.
        answer("cuEventCreate", unsafe { sys::cuEventCreate(&mut handle, 0) })?;
        Ok(Owned { handle, context: context.clone() })
    }

    pub fn record(&self, stream: &Stream) -> Result<(), CudaError> {
        let _current = self.context.enter()?;
        // SAFETY: event and stream are live; the driver refuses a stream of another context.
        answer("cuEventRecord", unsafe { sys::cuEventRecord(self.handle, stream.handle) })
    }

    /// The time from this event to `later`, both recorded and passed.
    pub fn until(&self, later: &Event) -> Result<Duration, CudaError> {
        let _current = self.context.enter()?;
        let mut milliseconds = 0.0;
        // SAFETY: a place for the answer, and two live events.
        let code = unsafe { sys::cuEventElapsedTime(&mut milliseconds, self.handle, later.handle) };
        answer("cuEventElapsedTime", code)?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }
}
