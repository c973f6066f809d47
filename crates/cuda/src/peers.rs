//! Streams, events and memory of several GPUs, and swaps of matrix blocks between GPUs, of one process or of several.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;

pub use crate::driver::Exported;
use crate::driver::{self, Event, Function, Memory, Stream};
use crate::error::{CudaError, LowerError};
use crate::gpu::Gpu;
use crate::launch::{CheckedLaunch, DeviceLimits};
use crate::lower::{self, TargetParams};
pub use crate::lower::{PeerBlock, Squares};

impl Gpu {
    /// Enables access from this GPU to the memory of `other`. Returns `false` if that is not supported; copies are then staged
    /// through the host. Access is not disabled again. Memory pools and virtual memory mappings have separate access settings,
    /// which this does not change.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn reach(&self, other: &Gpu) -> Result<bool, CudaError> {
        self.context().enable_peer_access(other.context())
    }

    /// Returns the allocation that contains `address`, for [`Mapping::open`] in another process of the host.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the address is not memory of this GPU, or its allocation cannot be exported, as those of memory pools
    /// and of the driver's virtual memory functions (PyTorch's `expandable_segments`).
    pub fn export(&self, address: u64) -> Result<Exported, CudaError> {
        driver::export(self.context(), address)
    }

    /// Waits until all work queued on `stream` (`CUstream`) has ended.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: queued work failed.
    ///
    /// # Safety
    /// `stream` is a stream of this GPU's context, or null for its default stream.
    pub unsafe fn wait(&self, stream: *mut c_void) -> Result<(), CudaError> {
        let _current = self.context().enter()?;
        // SAFETY: the caller guarantees a valid stream, and its context is current.
        unsafe { driver::wait(stream) }
    }

    /// Returns the driver's number of the allocation that contains `address`. A number is not used again.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the address is not memory of a GPU.
    pub fn allocation_id(&self, address: u64) -> Result<u64, CudaError> {
        driver::allocation_id(self.context(), address)
    }
}

/// Stream of a GPU. Work on it executes in the order in which it was queued.
#[derive(Debug)]
pub struct Queue {
    stream: Stream,
    gpu: Gpu,
}

/// Event of a [`Queue`]: the completion of all work queued before it was recorded.
#[derive(Debug)]
pub struct Mark(Event);

/// Memory of a GPU, freed on drop. Queued work must not use it after that.
#[derive(Debug)]
pub struct Buffer {
    memory: Memory,
    gpu: Gpu,
}

/// Allocation of another process, mapped into this one until it is dropped.
///
/// The exporting process must not free the allocation before. A process cannot map its own allocations.
#[derive(Debug)]
pub struct Mapping(driver::Mapping);

impl Mapping {
    /// Maps the allocation with this [handle](Exported::handle) for `gpu`, with peer access if it is on another GPU.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the allocation is of another host, container or MIG instance, or the GPUs have no peer access.
    pub fn open(gpu: &Gpu, handle: [u8; 64]) -> Result<Self, CudaError> {
        driver::Mapping::open(gpu.context(), handle).map(Mapping)
    }

    /// Returns the first address of the allocation in this process.
    pub fn address(&self) -> u64 {
        self.0.address()
    }
}

/// Swap of two blocks, in one pass and without workspace. The blocks can be in the memory of any GPUs that the executing GPU can
/// access.
#[derive(Debug)]
pub struct Swap {
    block: PeerBlock,
    launches: [CheckedLaunch; 3],
    kernels: Vec<Function>,
}

/// Launch of a [`Swap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapHalf {
    /// First half of the swap of two blocks.
    First,
    /// Second half of the swap of two blocks.
    Second,
    /// Transposition of the squares of one block, in place.
    Own,
}

impl Swap {
    /// Returns one launch per [`SwapHalf`], for blocks whose addresses are multiples of `alignment`.
    ///
    /// # Errors
    /// [`LowerError`]: elements are not of 4, 8 or 16 bytes; one of several squares has rows or a pitch that is not a multiple of
    /// 16 bytes, or rows shorter than 256 bytes; a run is not of whole 4 bytes; or there are too many squares.
    pub fn lower(
        block: PeerBlock,
        elem_bytes: usize,
        alignment: usize,
        limits: &DeviceLimits,
    ) -> Result<[CheckedLaunch; 3], LowerError> {
        lower::apart(block, TargetParams { elem_bytes, alignment, limits })
    }

    /// Loads the launches of [`lower`](Self::lower) on a GPU.
    ///
    /// # Errors
    /// [`CudaError::Infeasible`]: `lower` failed. [`CudaError::Driver`].
    pub fn new(
        gpu: &Gpu,
        block: PeerBlock,
        elem_bytes: usize,
        alignment: usize,
    ) -> Result<Self, CudaError> {
        let stage = || format!("swap of {block:?}, elements of {elem_bytes} bytes");
        let infeasible = |why| CudaError::Infeasible { stage: stage(), why };
        let limits = gpu.device().limits();
        let launches = Self::lower(block, elem_bytes, alignment, limits).map_err(infeasible)?;
        Ok(Swap { block, kernels: gpu.kernels(&launches)?, launches })
    }

    /// Returns the block that is swapped with its mirror block.
    pub fn block(&self) -> PeerBlock {
        self.block
    }
}

impl fmt::Display for Swap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block {
            PeerBlock::Squares(Squares { sides: [rows, cols], across: [down, right], .. }) => {
                write!(f, "{down} x {right} rectangles of {rows} x {cols}")?;
            }
            PeerBlock::Run(bytes) => write!(f, "runs of {bytes} bytes")?,
        }
        let [CheckedLaunch(first), ..] = &self.launches;
        let blocks = self.launches.each_ref().map(|CheckedLaunch(launch)| launch.groups);
        write!(f, ": {} {blocks:?} x {} threads", first.kernel(), first.threads)
    }
}

impl Buffer {
    /// Allocates `bytes` uninitialised bytes at a multiple of 256.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`].
    pub fn new(gpu: &Gpu, bytes: usize) -> Result<Self, CudaError> {
        Ok(Buffer { memory: Memory::allocate(gpu.context(), bytes)?, gpu: gpu.clone() })
    }

    /// Returns the device address.
    pub fn address(&self) -> u64 {
        self.memory.address()
    }

    /// Returns the length in bytes.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Returns the GPU that owns the memory.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }
}

impl Mark {
    /// Creates a mark for queues of `gpu`. Before it is first recorded, waiting for it has no effect.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        Event::new(gpu.context()).map(Mark)
    }
}

impl Queue {
    /// Creates a stream that does not synchronise with other streams.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        Ok(Queue { stream: Stream::new(gpu.context())?, gpu: gpu.clone() })
    }

    /// Returns the stream (`CUstream`).
    pub fn raw(&self) -> *mut c_void {
        self.stream.raw()
    }

    /// Records `mark` at the end of the work queued so far.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: for example, the mark belongs to another GPU.
    pub fn record(&self, mark: &Mark) -> Result<(), CudaError> {
        mark.0.record(&self.stream)
    }

    /// Makes work queued after this call wait for the last recording of `mark`, on any GPU.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn wait_for(&self, mark: &Mark) -> Result<(), CudaError> {
        self.stream.wait_for(&mark.0)
    }

    /// Waits until all queued work has ended.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: queued work failed.
    pub fn wait(&self) -> Result<(), CudaError> {
        self.stream.wait()
    }

    /// Copies `bytes` from the host to offset `at`, in bytes, of a buffer of the same GPU, and waits.
    ///
    /// # Errors
    /// [`CudaError::Length`], [`CudaError::OtherGpu`], [`CudaError::Driver`].
    pub fn put(&self, buffer: &mut Buffer, at: usize, bytes: &[u8]) -> Result<(), CudaError> {
        self.gpu.same(&buffer.gpu)?;
        self.stream.put(&buffer.memory, at, bytes)
    }

    /// Copies from offset `at`, in bytes, of a buffer of the same GPU to `bytes` on the host, after all queued work, and waits.
    ///
    /// # Errors
    /// See [`put`](Self::put).
    pub fn take(&self, buffer: &Buffer, at: usize, bytes: &mut [u8]) -> Result<(), CudaError> {
        self.gpu.same(&buffer.gpu)?;
        self.stream.take(&buffer.memory, at, bytes)
    }

    /// Queues a copy of `bytes` bytes between addresses on two GPUs or on one.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    ///
    /// # Safety
    /// Both ranges are memory of the given contexts. Until the copy has ended, nothing else accesses the destination or writes
    /// the source.
    pub unsafe fn copy(
        &self,
        (to, there): (&Gpu, u64),
        (from, here): (&Gpu, u64),
        bytes: usize,
    ) -> Result<(), CudaError> {
        let (to, from) = (to.context(), from.context());
        // SAFETY: the caller guarantees the conditions above.
        unsafe { self.stream.copy_between((to, there), (from, here), bytes) }
    }

    /// Queues one launch of the swap of two blocks. For [`SwapHalf::Own`], both addresses are those of one block.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    ///
    /// # Safety
    /// `swap` was created on the queue's GPU. That GPU can access both blocks; their addresses have its alignment, and they do
    /// not overlap, except for [`SwapHalf::Own`], where both are one block. Until this launch has ended, only the other half
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
        // SAFETY: the kernel takes one parameter, `fields`; the caller guarantees valid memory.
        unsafe {
            swap.kernels[launch as usize]
                .launch(call.config(), &parameter, self.raw(), || call.kernel())
        }
    }
}
