//! Streams, events and memory of several GPUs, for work that passes from one to another, and blocks that change places
//! between them.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;

use crate::driver::{Event, Function, Memory, Stream};
use crate::error::{CudaError, LowerError};
use crate::gpu::Gpu;
use crate::launch::{CheckedLaunch, DeviceLimits};
pub use crate::lower::Squares;
use crate::lower::{self, TargetParams};

impl Gpu {
    /// Lets what runs here reach the memory of `other`, and says whether it can: otherwise copies between the two go through
    /// the host. It stays so. Memory of pools and of virtual addresses has access of its own, which this leaves alone.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn reach(&self, other: &Gpu) -> Result<bool, CudaError> {
        self.context().enable_peer_access(other.context())
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

/// Blocks of [squares](Squares) that change places, each square transposed, in the memory of any GPUs that reach it: in one pass,
/// without workspace.
#[derive(Debug)]
pub struct Swap {
    squares: Squares,
    launches: [CheckedLaunch; 3],
    kernels: Vec<Function>,
}

/// Launch of a [`Swap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapHalf {
    /// First half of the swap of two blocks.
    First,
    /// Second half of the swap of two blocks.
    SecondPointer,
    /// Transposition of the squares of one block, in place.
    Own,
}

impl Swap {
    /// Returns one launch per [`SwapHalf`], for blocks whose addresses are multiples of 16.
    ///
    /// # Errors
    /// [`LowerError`]: elements are not of 4, 8 or 16 bytes, or rows of squares no multiple of 16, or several squares have rows of
    /// less than 256, or there are too many.
    pub fn lower(
        squares: Squares,
        elem_bytes: usize,
        limits: &DeviceLimits,
    ) -> Result<[CheckedLaunch; 3], LowerError> {
        lower::apart(squares, TargetParams { elem_bytes, alignment: 16, limits })
    }

    /// Those of [`lower`](Self::lower), loaded on a GPU.
    ///
    /// # Errors
    /// [`CudaError::Infeasible`]: of `lower`. [`CudaError::Driver`].
    pub fn new(gpu: &Gpu, squares: Squares, elem_bytes: usize) -> Result<Self, CudaError> {
        let stage = || format!("squares of {}, {elem_bytes} bytes an element", squares.side);
        let infeasible = |why| CudaError::Infeasible { stage: stage(), why };
        let limits = gpu.device().limits();
        let launches = Self::lower(squares, elem_bytes, limits).map_err(infeasible)?;
        Ok(Swap { squares, kernels: gpu.kernels(&launches)?, launches })
    }
}

impl fmt::Display for Swap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([rows, cols], side) = (self.squares.across, self.squares.side);
        let [CheckedLaunch(first), ..] = &self.launches;
        let blocks = self.launches.each_ref().map(|CheckedLaunch(launch)| launch.groups);
        let (kernel, threads) = (first.kernel(), first.threads);
        write!(f, "{rows} x {cols} squares of {side}: {kernel} {blocks:?} x {threads} threads")
    }
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

    /// Queues one launch of the swap of two blocks. For [`SwapHalf::Own`], both addresses are the same block's.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    ///
    /// # Safety
    /// `swap` was made on the queue's GPU. That GPU can access both blocks; their addresses are multiples of 16, and they do
    /// not overlap, except for [`SwapHalf::Own`], where they are the same block. Until this launch has ended, only the other half
    /// accesses the blocks, and `swap` is not dropped.
    pub unsafe fn swap(
        &self,
        swap: &Swap,
        launch: SwapHalf,
        [block, mirror]: [u64; 2],
    ) -> Result<(), CudaError> {
        let call = &swap.launches[launch as usize];
        let fields = call.params.at(block, mirror);
        let parameter = [fields.bytes().as_ptr().cast()];
        // SAFETY: the kernel takes one parameter, these fields; the caller answers for the memory.
        unsafe {
            swap.kernels[launch as usize]
                .launch(call.config(), &parameter, self.raw(), || call.kernel())
        }
    }
}
