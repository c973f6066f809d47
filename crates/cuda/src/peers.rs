//! Streams, events and memory of several GPUs, for work that passes from one to another.
#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::driver::{Event, Memory, Stream};
use crate::error::CudaError;
use crate::gpu::Gpu;

impl Gpu {
    /// Lets what runs here reach the memory of `other`, and says whether it can: otherwise copies between the two go through
    /// the host. It stays so. Memory of pools and of virtual addresses has access of its own, which this leaves alone.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn reach(&self, other: &Gpu) -> Result<bool, CudaError> {
        self.context().reach(other.context())
    }
}

/// A stream of a GPU, on which work is done in the order in which it was queued.
#[derive(Debug)]
pub struct Queue {
    stream: Stream,
    gpu: Gpu,
}

/// A moment of a [`Queue`]: when what had been queued before it is done.
#[derive(Debug)]
pub struct Mark(Event);

/// Memory of a GPU, freed with this; nothing that was queued may use it then.
#[derive(Debug)]
pub struct Buffer {
    memory: Memory,
    gpu: Gpu,
}

impl Buffer {
    /// `bytes` bytes, at a multiple of 256, that hold anything.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`].
    pub fn new(gpu: &Gpu, bytes: usize) -> Result<Self, CudaError> {
        Ok(Buffer { memory: Memory::allocate(gpu.context(), bytes)?, gpu: gpu.clone() })
    }

    /// Its address on the device.
    pub fn address(&self) -> u64 {
        self.memory.address()
    }

    /// Its bytes.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Where it is.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }
}

impl Mark {
    /// For queues of `gpu`; of a moment that is over.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        Event::new(gpu.context()).map(Mark)
    }
}

impl Queue {
    /// A stream of its own, which waits for no other.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        Ok(Queue { stream: Stream::new(gpu.context())?, gpu: gpu.clone() })
    }

    /// The stream (`CUstream`).
    pub fn raw(&self) -> *mut c_void {
        self.stream.raw()
    }

    /// Makes `mark` the moment at the end of what is queued here.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: it is of another GPU.
    pub fn record(&self, mark: &Mark) -> Result<(), CudaError> {
        mark.0.record(&self.stream)
    }

    /// What is queued here from now on begins after the moment that `mark` is now, of any GPU.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn wait_for(&self, mark: &Mark) -> Result<(), CudaError> {
        self.stream.wait_for(&mark.0)
    }

    /// Waits for all that was queued.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: what was queued ended badly.
    pub fn wait(&self) -> Result<(), CudaError> {
        self.stream.wait()
    }

    /// Copies `bytes` into a buffer of the same GPU, `at` bytes from its start, and waits.
    ///
    /// # Errors
    /// [`CudaError::Length`], [`CudaError::OtherGpu`], [`CudaError::Driver`].
    pub fn put(&self, buffer: &mut Buffer, at: usize, bytes: &[u8]) -> Result<(), CudaError> {
        self.gpu.same(&buffer.gpu)?;
        self.stream.put(&buffer.memory, at, bytes)
    }

    /// Fills `bytes` with what lies `at` bytes from the start of a buffer of the same GPU, once what was queued is done.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn take(&self, buffer: &Buffer, at: usize, bytes: &mut [u8]) -> Result<(), CudaError> {
        self.gpu.same(&buffer.gpu)?;
        self.stream.take(&buffer.memory, at, bytes)
    }

    /// Queues a copy of `bytes` bytes between addresses of any two GPUs, or of one.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    ///
    /// # Safety
    /// They are memory of those GPUs' contexts; until the copy has ended nothing else uses what is written or writes what is
    /// read.
    pub unsafe fn copy(
        &self,
        (to, there): (&Gpu, u64),
        (from, here): (&Gpu, u64),
        bytes: usize,
    ) -> Result<(), CudaError> {
        let (to, from) = (to.context(), from.context());
        // SAFETY: the caller answers for the memory.
        unsafe { self.stream.copy_between((to, there), (from, here), bytes) }
    }
}
