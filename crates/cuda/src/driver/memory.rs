//! Device memory, streams and events.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use super::Context;
use super::context::{Allocation, Mapped, Owned};
use super::functions::{self, CUevent, CUipcMemHandle, CUstream};
use super::library::driver;
use crate::error::CudaError;

/// Queues zeroing of `bytes` bytes at `address`.
///
/// # Safety
/// The bytes are memory of the current context, `stream` is a stream of it or null, and nothing else accesses the bytes until
/// that work has ended.
pub(crate) unsafe fn clear(
    stream: *mut c_void,
    address: u64,
    bytes: usize,
) -> Result<(), CudaError> {
    // SAFETY: the caller vouches for memory and stream.
    Ok(unsafe { driver()?.cuMemsetD8Async(address, 0, bytes, CUstream(stream)) }?)
}

/// Waits for all work queued on `stream`.
///
/// # Safety
/// `stream` is a stream of the current context, or null.
pub(crate) unsafe fn wait(stream: *mut c_void) -> Result<(), CudaError> {
    // SAFETY: the caller vouches for the stream.
    Ok(unsafe { driver()?.cuStreamSynchronize(CUstream(stream)) }?)
}

/// Device memory, freed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Memory {
    start: Owned<Allocation>,
    bytes: usize,
}

impl Memory {
    /// Allocates `bytes` uninitialised bytes, at least one.
    pub fn allocate(context: &Arc<Context>, bytes: usize) -> Result<Self, CudaError> {
        let _current = context.enter()?;
        let mut handle = 0;
        // SAFETY: `handle` is writable.
        match unsafe { driver()?.cuMemAlloc(&mut handle, bytes.max(1)) } {
            Err(failure) if failure.code == functions::OUT_OF_MEMORY => {
                return Err(CudaError::OutOfMemory { bytes });
            }
            result => result?,
        }
        Ok(Memory { start: Owned { handle: Allocation(handle), context: context.clone() }, bytes })
    }

    pub fn address(&self) -> u64 {
        self.start.handle.0
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the address of `bytes` bytes at offset `at`, or an error if they exceed the memory.
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

/// An allocation as other processes of the host can map it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The driver's name of the allocation.
    pub handle: [u8; 64],
    /// Bytes from the start of the allocation to the exported address.
    pub offset: u64,
    /// Bytes from the exported address to the end of the allocation.
    pub bytes: usize,
}

/// Returns the allocation that contains `address`, for other processes.
pub(crate) fn export(context: &Context, address: u64) -> Result<Exported, CudaError> {
    let driver = driver()?;
    let _current = context.enter()?;
    let (mut start, mut bytes, mut handle) = (0, 0, CUipcMemHandle([0; 64]));
    // SAFETY: all results are writable; the driver compares the addresses and does not read them.
    unsafe {
        driver.cuMemGetAddressRange(&mut start, &mut bytes, address)?;
        driver.cuIpcGetMemHandle(&mut handle, start)?;
    }
    let offset = address - start;
    Ok(Exported { handle: handle.0, offset, bytes: bytes - offset as usize })
}

/// Returns the driver's number of the allocation that contains `address`. The driver does not reuse numbers.
pub(crate) fn allocation_id(context: &Context, address: u64) -> Result<u64, CudaError> {
    /// `CU_POINTER_ATTRIBUTE_BUFFER_ID`, an `unsigned long long`.
    const BUFFER_ID: i32 = 7;
    let _current = context.enter()?;
    let mut id = 0u64;
    // SAFETY: `id` is writable; the driver compares the address and does not read it.
    unsafe { driver()?.cuPointerGetAttribute((&raw mut id).cast(), BUFFER_ID, address) }?;
    Ok(id)
}

/// An allocation of another process, mapped until this value is dropped.
pub(crate) type Mapping = Owned<Mapped>;

impl Mapping {
    /// Maps the allocation, with peer access to its GPU.
    pub fn open(context: &Arc<Context>, handle: [u8; 64]) -> Result<Self, CudaError> {
        /// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`.
        const LAZY_PEER_ACCESS: u32 = 1;
        let (_current, mut start) = (context.enter()?, 0);
        let handle = CUipcMemHandle(handle);
        // SAFETY: `start` is writable; the driver rejects a handle that names no allocation.
        unsafe { driver()?.cuIpcOpenMemHandle(&mut start, handle, LAZY_PEER_ACCESS) }?;
        Ok(Owned { handle: Mapped(start), context: context.clone() })
    }

    pub fn address(&self) -> u64 {
        self.handle.0
    }
}

/// A stream that does not synchronise with the default stream.
pub(crate) type Stream = Owned<CUstream>;

impl Stream {
    pub fn new(context: &Arc<Context>) -> Result<Self, CudaError> {
        let _current = context.enter()?;
        /// `CU_STREAM_NON_BLOCKING`.
        const NON_BLOCKING: u32 = 1;
        let mut handle = CUstream::NULL;
        // SAFETY: `handle` is writable.
        unsafe { driver()?.cuStreamCreate(&mut handle, NON_BLOCKING) }?;
        Ok(Owned { handle, context: context.clone() })
    }

    pub fn raw(&self) -> *mut c_void {
        self.handle.0
    }

    /// Waits for all queued work.
    pub fn wait(&self) -> Result<(), CudaError> {
        let _current = self.context.enter()?;
        // SAFETY: the stream is alive, and its context is current.
        unsafe { wait(self.raw()) }
    }

    /// Queues zeroing of memory of the same context.
    pub fn clear(&self, memory: &mut Memory) -> Result<(), CudaError> {
        let _current = self.context.enter()?;
        // SAFETY: the memory is exclusively borrowed, by callers that wait for this stream before they end the borrow.
        unsafe { clear(self.raw(), memory.address(), memory.bytes) }
    }

    /// Queues a copy of `bytes` bytes between two offsets of `memory`.
    pub fn copy(
        &self,
        memory: &Memory,
        [to, from]: [usize; 2],
        bytes: usize,
    ) -> Result<(), CudaError> {
        let (to, from) = (memory.span(to, bytes)?, memory.span(from, bytes)?);
        let _current = self.context.enter()?;
        // SAFETY: both ranges are inside the memory.
        Ok(unsafe { driver()?.cuMemcpyDtoDAsync(to, from, bytes, self.handle) }?)
    }

    /// Makes work queued after this call wait until `event`, recorded on any stream, has occurred.
    pub fn wait_for(&self, event: &Event) -> Result<(), CudaError> {
        let _current = self.context.enter()?;
        // SAFETY: stream and event are alive; 0 are the default flags.
        Ok(unsafe { driver()?.cuStreamWaitEvent(self.handle, event.handle, 0) }?)
    }

    /// Queues a copy of `bytes` bytes to an address in one context from an address in another, or in the same.
    ///
    /// # Safety
    /// Both ranges are memory of those contexts. Until the copy has ended, nothing else accesses the destination or writes the source.
    pub unsafe fn copy_between(
        &self,
        (to, there): (&Context, u64),
        (from, here): (&Context, u64),
        bytes: usize,
    ) -> Result<(), CudaError> {
        let _current = self.context.enter()?;
        if to.is(from) {
            // SAFETY: the caller vouches for the memory.
            return Ok(unsafe { driver()?.cuMemcpyDtoDAsync(there, here, bytes, self.handle) }?);
        }
        let (to, from) = (to.handle(), from.handle());
        // SAFETY: as above; both contexts are alive.
        Ok(unsafe { driver()?.cuMemcpyPeerAsync(there, to, here, from, bytes, self.handle) }?)
    }

    /// Copies `bytes` into `memory` at offset `at`, and waits for the stream.
    pub fn put(&self, memory: &Memory, at: usize, bytes: &[u8]) -> Result<(), CudaError> {
        let to = memory.span(at, bytes.len())?;
        let _current = self.context.enter()?;
        // SAFETY: the range is inside the memory; `bytes` is borrowed until the stream has been waited for.
        let queued = unsafe {
            driver()?.cuMemcpyHtoDAsync(to, bytes.as_ptr().cast(), bytes.len(), self.handle)
        };
        let ended = self.wait();
        queued.map_err(CudaError::from).and(ended)
    }

    /// Copies from `memory` at offset `at` into `bytes`, after all queued work, and waits for the stream.
    pub fn take(&self, memory: &Memory, at: usize, bytes: &mut [u8]) -> Result<(), CudaError> {
        let from = memory.span(at, bytes.len())?;
        let _current = self.context.enter()?;
        // SAFETY: as above; `bytes` is exclusively borrowed.
        let queued = unsafe {
            driver()?.cuMemcpyDtoHAsync(bytes.as_mut_ptr().cast(), from, bytes.len(), self.handle)
        };
        let ended = self.wait();
        queued.map_err(CudaError::from).and(ended)
    }
}

/// A point in a stream, with the device's time at which it was reached.
pub(crate) type Event = Owned<CUevent>;

impl Event {
    pub fn new(context: &Arc<Context>) -> Result<Self, CudaError> {
        let _current = context.enter()?;
        let mut handle = CUevent::NULL;
        // SAFETY: `handle` is writable; 0 are the default flags, with timing.
        unsafe { driver()?.cuEventCreate(&mut handle, 0) }?;
        Ok(Owned { handle, context: context.clone() })
    }

    pub fn record(&self, stream: &Stream) -> Result<(), CudaError> {
        let _current = self.context.enter()?;
        // SAFETY: event and stream are alive; the driver rejects a stream of another context.
        Ok(unsafe { driver()?.cuEventRecord(self.handle, stream.handle) }?)
    }

    /// Returns the time from this event to `later`. Both must have occurred.
    pub fn until(&self, later: &Event) -> Result<Duration, CudaError> {
        let _current = self.context.enter()?;
        let mut milliseconds = 0.0;
        // SAFETY: `milliseconds` is writable, and both events are alive.
        unsafe { driver()?.cuEventElapsedTime(&mut milliseconds, self.handle, later.handle) }?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }
}
