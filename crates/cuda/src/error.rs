//! What can go wrong.

use turntile_plan::InvalidPlan;

use crate::family::{NEEDED_ARCHITECTURE, NEEDED_CUDA, NEEDED_DRIVER};

/// Why a GPU did not, or could not, run something.
///
/// The data are untouched, but for [`Partial`](Self::Partial) and for what the driver says of work that was queued.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// Built without the feature `cuda`, or for another system than Linux on x86-64 or aarch64.
    #[error(
        "built without the GPU backend; build it with feature `cuda`, on Linux (docs/gpu.md says how)"
    )]
    NoBackend,
    /// This machine has no driver, or one that cannot be loaded.
    #[error("no NVIDIA driver: {why}")]
    NoDriver {
        /// The loader's message.
        why: String,
    },
    /// The driver knows of no GPU here.
    #[error("the NVIDIA driver finds no GPU")]
    NoDevice,
    /// The driver is older than the device code.
    #[error(
        "the NVIDIA driver is too old: needs {NEEDED_DRIVER} (CUDA {}.{}), has {}CUDA {}.{}",
        NEEDED_CUDA.0, NEEDED_CUDA.1,
        driver.as_ref().map(|release| format!("{release}, ")).unwrap_or_default(), have.0, have.1
    )]
    DriverTooOld {
        /// The newest CUDA that the driver supports: major and minor number.
        have: (u32, u32),
        /// The driver's release, where the system reports it.
        driver: Option<String>,
    },
    /// The GPU is older than the device code.
    #[error(
        "{device} has compute capability {}.{}, needs {}.{}",
        have / 10, have % 10, NEEDED_ARCHITECTURE / 10, NEEDED_ARCHITECTURE % 10
    )]
    DeviceTooOld {
        /// Its name.
        device: String,
        /// 10 times the major number of its compute capability, and the minor one.
        have: usize,
    },
    /// A driver call failed.
    #[error("{call}: {message} (driver code {code})")]
    Driver {
        /// The driver's function.
        call: &'static str,
        /// Its answer.
        code: u32,
        /// The driver's message.
        message: String,
    },
    /// A kernel could not be launched.
    #[error(
        "{kernel}, {groups} blocks of {threads} threads, {shared_bytes} bytes of shared memory each: \
         {message} (driver code {code})"
    )]
    Launch {
        /// The kernel's name, with its family and word.
        kernel: String,
        /// Blocks.
        groups: u32,
        /// Threads of a block.
        threads: u32,
        /// Dynamic shared memory of a block.
        shared_bytes: u32,
        /// The driver's answer.
        code: u32,
        /// The driver's message.
        message: String,
    },
    /// A launch was refused when others of the same run were queued already: the data are incomplete.
    #[error(
        "the data are incomplete: launch {launch} of {launches} failed when those before it were queued: {why}"
    )]
    Partial {
        /// The launch that was refused, from 2.
        launch: usize,
        /// Launches of the whole run.
        launches: usize,
        /// Why it was refused.
        #[source]
        why: Box<CudaError>,
    },
    /// A run needs a kernel that was not prepared.
    #[error("{kernel} was not prepared")]
    NotPrepared {
        /// The kernel's name, with its family and word.
        kernel: String,
    },
    /// The thread's current context is not its device's primary one, and cannot be kept from being destroyed.
    #[error("the current context is not its device's primary one; Gpu::given takes others")]
    NotPrimary,
    /// What was prepared is of another context than the memory.
    #[error("prepared on another GPU, or in another context, than the memory is of")]
    OtherGpu,
    /// The plan is none.
    #[error("the plan is flawed: {0}")]
    Flawed(#[from] InvalidPlan),
    /// The plan is for a host.
    #[error("the plan was made for {device}, which is not a GPU")]
    NotForGpu {
        /// The plan's device.
        device: String,
    },
    /// A second plan for less aligned memory is not of the first one's problem.
    #[error("the plan for less aligned memory is of {got}, the first of {expected}")]
    OtherProblem {
        /// What the first plan is of; none where it is single launches.
        expected: String,
        /// What the second is of.
        got: String,
    },
    /// This device cannot run a stage as planned.
    #[error("{stage}: {why}")]
    Infeasible {
        /// The stage, in dimension notation.
        stage: String,
        /// Why not.
        why: LowerError,
    },
    /// The address is 0.
    #[error("the address of the {what} is null")]
    Null {
        /// What is there.
        what: &'static str,
    },
    /// The address is not aligned as promised when the plan was prepared.
    #[error("the address {address:#x} of the {what} is not a multiple of {need}")]
    Misaligned {
        /// What is there.
        what: &'static str,
        /// Where it is.
        address: u64,
        /// The alignment promised.
        need: usize,
    },
    /// Memory is shorter than what it is to hold.
    #[error("the {what} takes {need} bytes, the memory has {have}")]
    Length {
        /// What the memory is to hold.
        what: &'static str,
        /// Bytes needed.
        need: usize,
        /// Bytes given.
        have: usize,
    },
    /// The workspace is too small.
    #[error("the plan needs {need} bytes of workspace, {have} were given")]
    Workspace {
        /// Bytes needed.
        need: usize,
        /// Bytes given.
        have: usize,
    },
    /// Two of matrix, destination, source and workspace overlap.
    #[error("the {what} at {address:#x} and the {other} at {other_address:#x} overlap")]
    Overlap {
        /// What one holds.
        what: &'static str,
        /// Where it is.
        address: u64,
        /// What the other holds.
        other: &'static str,
        /// Where that is.
        other_address: u64,
    },
    /// Code was asked for by the number of an entry point that it has not.
    #[error("there is no entry point {entry}, {have} were loaded")]
    NoEntry {
        /// The number, from 0.
        entry: usize,
        /// Entry points.
        have: usize,
    },
    /// There is no code for words of that size.
    #[error("there is no code for words of {word} bytes, only of 1, 2, 4, 8 and 16")]
    NoWord {
        /// Bytes.
        word: usize,
    },
    /// No memory for a workspace of the plan's own.
    #[error("no device memory for {bytes} bytes of workspace")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
}

/// Why no launch on a device does what a stage asks for: it cannot be lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// Too much on chip.
    #[error("needs {need} bytes on chip, the device has {have}")]
    OnChip {
        /// Bytes needed in one block, or by the whole grid.
        need: usize,
        /// Bytes there are.
        have: usize,
    },
    /// No kernel moves this shape by this method.
    #[error("no kernel moves this shape by this method")]
    NoKernel,
    /// More blocks than a launch can have.
    #[error("needs {blocks} blocks, a launch has at most {}", i32::MAX)]
    TooManyBlocks {
        /// Blocks needed.
        blocks: usize,
    },
    /// The device has no room for blocks that must be at work together, or for one.
    #[error("{need} blocks must be at work together, the device has room for {have}")]
    Together {
        /// Blocks that wait for each other; 1 where none wait.
        need: usize,
        /// Blocks that there is room for.
        have: usize,
    },
    /// The device has no barrier of this scope.
    #[error("the device has no barrier over {scope}")]
    NoBarrier {
        /// A cluster or the grid.
        scope: &'static str,
    },
}
