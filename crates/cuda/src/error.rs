//! Errors of this crate.

use turntile_plan::InvalidPlan;

use crate::family::{NEEDED_ARCHITECTURE, NEEDED_CUDA, NEEDED_DRIVER};

/// Reason why a GPU did not, or could not, execute a request.
///
/// The data are unchanged, except after [`Partial`](Self::Partial) and after a driver error of queued work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// Build without the feature `cuda`, or for a system other than Linux on x86-64 or aarch64.
    #[error(
        "built without the GPU backend; build it with feature `cuda` on Linux (see docs/reference/limits-and-platforms.md)"
    )]
    NoBackend,
    /// Missing driver, or a driver that cannot be loaded.
    #[error("no NVIDIA driver: {why}")]
    NoDriver {
        /// The loader's message.
        why: String,
    },
    /// No GPU known to the driver.
    #[error("the NVIDIA driver finds no GPU")]
    NoDevice,
    /// Driver older than the device code.
    #[error(
        "the NVIDIA driver is too old: needs {NEEDED_DRIVER} (CUDA {}.{}), has {}CUDA {}.{}",
        NEEDED_CUDA.0, NEEDED_CUDA.1,
        driver.as_ref().map(|release| format!("{release}, ")).unwrap_or_default(), have.0, have.1
    )]
    DriverTooOld {
        /// Newest CUDA version that the driver supports: major and minor number.
        have: (u32, u32),
        /// Release of the driver, if the system reports it.
        driver: Option<String>,
    },
    /// GPU older than the device code.
    #[error(
        "{device} has compute capability {}.{}, needs {}.{}",
        have / 10, have % 10, NEEDED_ARCHITECTURE / 10, NEEDED_ARCHITECTURE % 10
    )]
    DeviceTooOld {
        /// Name of the GPU.
        device: String,
        /// Compute capability of the GPU: 10 times the major number plus the minor number.
        have: usize,
    },
    /// Failure of a driver call.
    #[error("{call}: {message} (driver code {code})")]
    Driver {
        /// Name of the driver's function.
        call: &'static str,
        /// Error code that the driver returned.
        code: u32,
        /// Error message of the driver.
        message: String,
    },
    /// Failure to launch a kernel.
    #[error(
        "{kernel}, {groups} blocks of {threads} threads, {shared_bytes} bytes of shared memory each: \
         {message} (driver code {code})"
    )]
    Launch {
        /// Name of the kernel, with its family and word size.
        kernel: String,
        /// Number of thread blocks.
        groups: u32,
        /// Threads per block.
        threads: u32,
        /// Dynamic shared memory per block, in bytes.
        shared_bytes: u32,
        /// Error code that the driver returned.
        code: u32,
        /// Error message of the driver.
        message: String,
    },
    /// Rejection of a launch after earlier launches of the same run were queued: the data are incomplete.
    #[error(
        "the data are incomplete: launch {launch} of {launches} failed after earlier launches were queued: {why}"
    )]
    Partial {
        /// Number of the rejected launch, at least 2. The first launch is 1.
        launch: usize,
        /// Number of launches in the whole run.
        launches: usize,
        /// Reason for the rejection.
        #[source]
        why: Box<CudaError>,
    },
    /// Kernel that a run needs but that was not prepared.
    #[error("{kernel} was not prepared")]
    NotPrepared {
        /// Name of the kernel, with its family and word size.
        kernel: String,
    },
    /// Current context that is not its device's primary context, and therefore cannot be retained.
    #[error(
        "the current context is not the primary context of its device; use Gpu::given for other contexts"
    )]
    NotPrimary,
    /// Prepared plan, buffer or GPU of another context than the one it is used with.
    #[error("the plan, buffer or workspace belongs to another GPU or CUDA context")]
    OtherGpu,
    /// Invalid plan.
    #[error("the plan is invalid: {0}")]
    Flawed(#[from] InvalidPlan),
    /// Plan for a host.
    #[error("the plan was made for {device}, which is not a GPU")]
    NotForGpu {
        /// Device that the plan was made for.
        device: String,
    },
    /// Second plan, for less aligned memory, that solves another problem than the first plan.
    #[error("the plan for less aligned memory solves {got}, the first plan {expected}")]
    OtherProblem {
        /// Problem of the first plan, or `single launches` if the first is not a whole plan.
        expected: String,
        /// Problem of the second plan.
        got: String,
    },
    /// Stage that this device cannot execute as planned.
    #[error("{stage}: {why}")]
    Infeasible {
        /// Name of the stage or of the kernel.
        stage: String,
        /// Reason why the device cannot execute it.
        why: LowerError,
    },
    /// Null address of a buffer.
    #[error("the address of the {what} is null")]
    Null {
        /// Role of the buffer.
        what: &'static str,
    },
    /// Address with a smaller alignment than was promised when the plan was prepared.
    #[error("the address {address:#x} of the {what} is not a multiple of {need}")]
    Misaligned {
        /// Role of the buffer.
        what: &'static str,
        /// Address of the buffer.
        address: u64,
        /// Promised alignment, in bytes.
        need: usize,
    },
    /// Buffer shorter than its content.
    #[error("the {what} needs {need} bytes, the buffer has {have}")]
    Length {
        /// Content of the buffer.
        what: &'static str,
        /// Bytes needed.
        need: usize,
        /// Bytes given.
        have: usize,
    },
    /// Workspace that is too small.
    #[error("the plan needs {need} bytes of workspace, {have} were given")]
    Workspace {
        /// Bytes needed.
        need: usize,
        /// Bytes given.
        have: usize,
    },
    /// Overlap of two of matrix, destination, source and workspace.
    #[error("the {what} at {address:#x} and the {other} at {other_address:#x} overlap")]
    Overlap {
        /// Role of the first buffer.
        what: &'static str,
        /// Address of the first buffer.
        address: u64,
        /// Role of the second buffer.
        other: &'static str,
        /// Address of the second buffer.
        other_address: u64,
    },
    /// Number of an entry point that does not exist in the loaded code.
    #[error("no entry point {entry}: {have} were loaded")]
    NoEntry {
        /// Requested number, counted from 0.
        entry: usize,
        /// Number of loaded entry points.
        have: usize,
    },
    /// Word size that no code was compiled for.
    #[error("no code for words of {word} bytes, only for 1, 2, 4, 8 and 16")]
    NoWord {
        /// Word size, in bytes.
        word: usize,
    },
    /// Failed allocation of device memory.
    #[error("no device memory for {bytes} bytes of workspace")]
    OutOfMemory {
        /// Requested bytes.
        bytes: usize,
    },
}

/// Reason why a stage cannot be lowered to launches on a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// Data too large for on-chip memory.
    #[error("needs {need} bytes on chip, the device has {have}")]
    OnChip {
        /// On-chip bytes needed by one block, by a cluster or by the whole grid.
        need: usize,
        /// On-chip bytes available.
        have: usize,
    },
    /// Shape that no kernel moves by this method.
    #[error("no kernel moves this shape by this method")]
    NoKernel,
    /// Launch with more blocks than the driver accepts.
    #[error("needs {blocks} blocks, a launch has at most {}", i32::MAX)]
    TooManyBlocks {
        /// Number of blocks needed.
        blocks: usize,
    },
    /// Device that cannot hold all blocks that must be co-resident, or not even one block.
    #[error("needs {need} co-resident blocks, the device holds {have}")]
    Together {
        /// Number of blocks that must be co-resident; 1 if blocks do not wait for each other.
        need: usize,
        /// Number of blocks that the device can hold at a time.
        have: usize,
    },
    /// Device without a barrier of this scope.
    #[error("the device has no barrier over {scope}")]
    NoBarrier {
        /// Scope of the barrier: a cluster or the grid.
        scope: &'static str,
    },
}
