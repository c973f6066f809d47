//! What can go wrong, as a number for programs and as text for people.

use turntile::{Error, ErrorKind};

use crate::version::Version;

/// Declares the statuses, each with what it is called in C.
macro_rules! statuses {
    ($($(#[$meta:meta])* $status:ident = $number:literal, $name:literal;)*) => {
        /// What a call answers (`turntile_status`).
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Status {
            $($(#[$meta])* $status = $number,)*
        }

        impl Status {
            /// All, with what they are called in C.
            pub const ALL: &[(Status, &std::ffi::CStr)] = &[$((Status::$status, $name)),*];
        }
    };
}

statuses! {
    /// Done.
    Success = 0, c"TURNTILE_SUCCESS";
    /// An argument makes no sense.
    Argument = 1, c"TURNTILE_ERROR_ARGUMENT";
    /// Bytes that do not fit the address space.
    Overflow = 2, c"TURNTILE_ERROR_OVERFLOW";
    /// Memory shorter than what it is to hold.
    Length = 3, c"TURNTILE_ERROR_LENGTH";
    /// A workspace too small.
    Workspace = 4, c"TURNTILE_ERROR_WORKSPACE";
    /// An address not aligned as it must be.
    Alignment = 5, c"TURNTILE_ERROR_ALIGNMENT";
    /// Memory that overlaps other memory.
    Overlap = 6, c"TURNTILE_ERROR_OVERLAP";
    /// No memory for a workspace.
    Memory = 7, c"TURNTILE_ERROR_MEMORY";
    /// No such plan.
    Plan = 8, c"TURNTILE_ERROR_PLAN";
    /// No such device, or it refuses.
    Device = 9, c"TURNTILE_ERROR_DEVICE";
    /// The header is newer than the library, or of another major version.
    Version = 10, c"TURNTILE_ERROR_VERSION";
    /// A defect of the library: data that a run was moving are in any order.
    Internal = 11, c"TURNTILE_ERROR_INTERNAL";
    /// Processes that were asked for different things, could not begin, or cannot be reached.
    Ranks = 12, c"TURNTILE_ERROR_RANKS";
    /// The data are incomplete: some did not arrive, or a GPU refused a launch after others.
    Lost = 13, c"TURNTILE_ERROR_LOST";
}

/// Why a call did not do what it was asked. Memory is unchanged, except after [`Status::Lost`] and [`Status::Internal`].
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
    /// A plan that is for the other place of the result.
    #[error("the plan is {}", match *out_of_place {
        true => "made with TURNTILE_OUT_OF_PLACE: turntile_execute_into runs it",
        false => "in place: turntile_execute runs it, TURNTILE_OUT_OF_PLACE plans for another buffer",
    })]
    Place { out_of_place: bool },
    /// A stream for a host.
    #[error("a plan for the host was given a stream")]
    HostStream,
    /// The library's own.
    #[error(transparent)]
    Library(#[from] Error),
    /// What a library beside this one says.
    #[error("{text}")]
    Other { status: Status, text: String },
    /// A panic.
    #[error("a defect of turntile: {0}")]
    Defect(String),
}

impl Failure {
    /// A field of the descriptor with a value that makes no sense.
    pub fn field(field: &'static str, value: impl TryInto<i128>, why: &'static str) -> Self {
        Failure::Field { field, value: value.try_into().unwrap_or(i128::MAX), why }
    }

    /// Its number.
    pub fn status(&self) -> Status {
        match self {
            Failure::Null { .. }
            | Failure::NullOf { .. }
            | Failure::Size { .. }
            | Failure::Field { .. }
            | Failure::Place { .. }
            | Failure::HostStream => Status::Argument,
            Failure::Misaligned { .. } => Status::Alignment,
            Failure::Overlap { .. } => Status::Overlap,
            Failure::Length { .. } => Status::Length,
            Failure::Workspace { .. } => Status::Workspace,
            Failure::Older { .. } => Status::Version,
            Failure::Library(error) => of_library(error),
            Failure::Other { status, .. } => *status,
            Failure::Defect(_) => Status::Internal,
        }
    }
}

fn of_library(error: &Error) -> Status {
    match error.kind() {
        ErrorKind::Length { .. } => Status::Length,
        ErrorKind::TooLarge => Status::Overflow,
        // A caller can only run a plan that was made here in the wrong place.
        ErrorKind::ElementSize { .. }
        | ErrorKind::Shape
        | ErrorKind::Options
        | ErrorKind::Plan
        | ErrorKind::Wisdom
        | ErrorKind::Null => Status::Argument,
        ErrorKind::NoPlan => Status::Plan,
        ErrorKind::Workspace { .. } => Status::Workspace,
        ErrorKind::Alignment => Status::Alignment,
        ErrorKind::Overlap => Status::Overlap,
        ErrorKind::OutOfMemory { .. } | ErrorKind::GpuOutOfMemory { .. } => Status::Memory,
        ErrorKind::Gpu => Status::Device,
        ErrorKind::Incomplete => Status::Lost,
        _ => Status::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile::gpu::CudaError;

    /// Of all that a GPU answers, one status alone says that the data are incomplete.
    #[test]
    fn half_a_run_of_a_gpu_has_a_status_of_its_own() {
        let refused = CudaError::OutOfMemory { bytes: 1 };
        let status = |error: &CudaError| Failure::from(Error::from(error.clone())).status();
        assert_eq!(status(&refused), Status::Memory);
        assert_eq!(status(&CudaError::NoDevice), Status::Device);
        let half = CudaError::Partial { launch: 2, launches: 3, why: refused.into() };
        assert_eq!(status(&half), Status::Lost);
    }
}
