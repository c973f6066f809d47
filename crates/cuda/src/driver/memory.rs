//! Device memory, streams and events.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use cust::sys::{self, CUevent, CUresult, CUstream};

use super::{Context, answer};
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
    address: u64,
    bytes: usize,
    context: Arc<Context>,
}

impl Memory {
    /// `bytes` bytes, not initialised; one where that is none.
    pub fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, CudaError> {
        let _current = context.enter()?;
        let mut address = 0;
        // SAFETY: `address` is a place for the answer.
        match unsafe { sys::cuMemAlloc_v2(&mut address, bytes.max(1)) } {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(CudaError::OutOfMemory { bytes }),
            code => answer("cuMemAlloc", code).map(|()| Memory {
                address,
                bytes,
                context: context.clone(),
            }),
        }
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Address of `bytes` bytes that begin `at` bytes from the start.
    pub fn span(&self, at: usize, bytes: usize) -> Result<u64, CudaError> {
        let (need, have) = (at.saturating_add(bytes), self.bytes);
        let inside = need <= have;
        inside.then_some(self.address + at as u64).ok_or(CudaError::Length {
            what: "data",
            need,
            have,
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // A context that cannot be entered has taken the memory with it.
        if let Ok(_current) = self.context.enter() {
            // SAFETY: the address came from cuMemAlloc and is freed once.
            unsafe { sys::cuMemFree_v2(self.address) };
        }
    }
}

/// A stream that does not wait for the default one.
#[derive(Debug)]
pub(crate) struct Stream {
    handle: CUstream,
    context: Arc<Context>,
}

// SAFETY: the handle names an object of the driver, which any thread may use while its context is current there (`enter`); it
// is destroyed once, when the only owner is dropped.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver does its own locking.
unsafe impl Sync for Stream {}

impl Stream {
    pub fn new(context: &Arc<Context>) -> Result<Self, CudaError> {
        let _current = context.enter()?;
        let mut handle = ptr::null_mut();
        // SAFETY: a place for the handle; 1 is CU_STREAM_NON_BLOCKING.
        answer("cuStreamCreate", unsafe { sys::cuStreamCreate(&mut handle, 1) })?;
        Ok(Stream { handle, context: context.clone() })
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
        unsafe { clear(self.raw(), memory.address, memory.bytes) }
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

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: the handle came from cuStreamCreate and is destroyed once.
            unsafe { sys::cuStreamDestroy_v2(self.handle) };
        }
    }
}

/// A moment in a stream, by the device's clock.
#[derive(Debug)]
pub(crate) struct Event {
    handle: CUevent,
    context: Arc<Context>,
}

// SAFETY: as for `Stream`.
unsafe impl Send for Event {}
// SAFETY: as for `Stream`.
unsafe impl Sync for Event {}

impl Event {
    pub fn new(context: &Arc<Context>) -> Result<Self, CudaError> {
        let _current = context.enter()?;
        let mut handle = ptr::null_mut();
        // SAFETY: a place for the handle.
        answer("cuEventCreate", unsafe { sys::cuEventCreate(&mut handle, 0) })?;
        Ok(Event { handle, context: context.clone() })
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

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: the handle came from cuEventCreate and is destroyed once.
            unsafe { sys::cuEventDestroy_v2(self.handle) };
        }
    }
}
