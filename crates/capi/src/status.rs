//! What can go wrong, as a number for programs and as text for people.

use turntile::gpu::CudaError;
use turntile::plan::ProblemError;
use turntile::{Error, RunError};

use crate::version::Version;

/// What a call answers (`turntile_status`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Success = 0,
    /// An argument makes no sense.
    Argument = 1,
    /// Bytes that do not fit the address space.
    Overflow = 2,
    /// Memory shorter than what it is to hold.
    Length = 3,
    /// A workspace too small.
    Workspace = 4,
    /// An address not aligned as it must be.
    Alignment = 5,
    /// Memory that overlaps other memory.
    Overlap = 6,
    /// No memory for a workspace.
    Memory = 7,
    /// No such plan.
    Plan = 8,
    /// No such device, or it refuses.
    Device = 9,
    /// The header is newer than the library.
    Version = 10,
    /// A defect of the library.
    Internal = 11,
}

impl Status {
    /// All, with what they are called in C.
    pub const ALL: [(Status, &'static std::ffi::CStr); 12] = [
        (Status::Success, c"TURNTILE_SUCCESS"),
        (Status::Argument, c"TURNTILE_ERROR_ARGUMENT"),
        (Status::Overflow, c"TURNTILE_ERROR_OVERFLOW"),
        (Status::Length, c"TURNTILE_ERROR_LENGTH"),
        (Status::Workspace, c"TURNTILE_ERROR_WORKSPACE"),
        (Status::Alignment, c"TURNTILE_ERROR_ALIGNMENT"),
        (Status::Overlap, c"TURNTILE_ERROR_OVERLAP"),
        (Status::Memory, c"TURNTILE_ERROR_MEMORY"),
        (Status::Plan, c"TURNTILE_ERROR_PLAN"),
        (Status::Device, c"TURNTILE_ERROR_DEVICE"),
        (Status::Version, c"TURNTILE_ERROR_VERSION"),
        (Status::Internal, c"TURNTILE_ERROR_INTERNAL"),
    ];
}

/// Why a call did not do what it was asked; memory is as it was.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A pointer that must not be.
    #[error("{what} is NULL")]
    Null { what: &'static str },
    /// Memory that is not there, of a length.
    #[error("{what} is NULL, and {bytes} bytes are said to be there")]
    NullOf { what: &'static str, bytes: usize },
    /// An address.
    #[error("the address {address:#x} of {what} is not a multiple of {need}")]
    Misaligned { what: &'static str, address: usize, need: usize },
    /// Memory that would be written while it is used as something else.
    #[error("{what} at {address:#x} and {other} at {other_address:#x} overlap")]
    Overlap { what: &'static str, address: usize, other: &'static str, other_address: usize },
    /// Memory too short.
    #[error("{what} takes {need} bytes, there are {have}")]
    Length { what: &'static str, need: usize, have: usize },
    /// A workspace too small.
    #[error("the plan needs {need} bytes of workspace, {have} were given")]
    Workspace { need: usize, have: usize },
    /// A descriptor that no header of this version or an older one declares.
    #[error(
        "the descriptor's size is {size}; it is {least} at least and {most} in version {version}"
    )]
    Size { size: usize, least: usize, most: usize, version: Version },
    /// The header is newer.
    #[error("the program was compiled for version {header} of turntile, the library is {library}")]
    Older { header: Version, library: Version },
    /// A field of the descriptor.
    #[error("{field} is {value}: {why}")]
    Field { field: &'static str, value: i128, why: &'static str },
    /// A stream for a host.
    #[error("a plan for the host was given a stream")]
    HostStream,
    /// The library's own.
    #[error(transparent)]
    Library(#[from] Error),
    /// A panic.
    #[error("a defect of turntile: {0}")]
    Defect(String),
}

impl Failure {
    /// Its number.
    pub fn status(&self) -> Status {
        match self {
            Failure::Null { .. }
            | Failure::NullOf { .. }
            | Failure::Size { .. }
            | Failure::Field { .. }
            | Failure::HostStream => Status::Argument,
            Failure::Misaligned { .. } => Status::Alignment,
            Failure::Overlap { .. } => Status::Overlap,
            Failure::Length { .. } => Status::Length,
            Failure::Workspace { .. } => Status::Workspace,
            Failure::Older { .. } => Status::Version,
            Failure::Library(error) => of_library(error),
            Failure::Defect(_) => Status::Internal,
        }
    }
}

fn of_library(error: &Error) -> Status {
    match error {
        Error::Length { .. } | Error::Short { .. } => Status::Length,
        Error::Overflow { .. }
        | Error::Problem(ProblemError::TooLarge { .. } | ProblemError::TooFarApart { .. }) => {
            Status::Overflow
        }
        Error::ElementSize { .. } | Error::Problem(_) | Error::Wisdom(_) => Status::Argument,
        Error::Plan(_) => Status::Plan,
        Error::Cuda(error) => of_cuda(error),
        Error::Run(error) => of_run(error),
        _ => Status::Internal,
    }
}

fn of_run(error: &RunError) -> Status {
    match error {
        // What a caller can do wrong with a plan that was made here: run it in the other place.
        RunError::Plan(_) => Status::Argument,
        RunError::Length { .. } | RunError::Span { .. } => Status::Length,
        RunError::Workspace { .. } => Status::Workspace,
        RunError::OutOfMemory { .. } => Status::Memory,
        _ => Status::Internal,
    }
}

fn of_cuda(error: &CudaError) -> Status {
    match error {
        CudaError::Null { .. } | CudaError::Flawed(_) => Status::Argument,
        CudaError::Misaligned { .. } => Status::Alignment,
        CudaError::Length { .. } => Status::Length,
        CudaError::Workspace { .. } => Status::Workspace,
        CudaError::Overlap { .. } => Status::Overlap,
        CudaError::OutOfMemory { .. } => Status::Memory,
        // Whatever else there is or will be is between the driver and the device.
        _ => Status::Device,
    }
}
