//! Statuses and failures of calls: numbers for programs, text for people.

use std::ffi::CStr;

use turntile::{Error, ErrorKind};

use crate::version::Version;

/// Declares the statuses, each with its name in C and a sentence.
macro_rules! statuses {
    ($($status:ident = $number:literal, $name:literal, $sentence:literal;)*) => {
        /// Result of a call (`turntile_status`).
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Status {
            $(#[doc = $sentence] $status = $number,)*
        }

        impl Status {
            /// All statuses, with their names in C and the sentences of `turntile_strerror`.
            pub const ALL: &[(Status, &CStr, &CStr)] =
                &[$((Status::$status, $name, with_nul(concat!($sentence, "\0")))),*];
        }
    };
}

const fn with_nul(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a text ends with its only NUL"),
    }
}

statuses! {
    Success = 0, c"TURNTILE_SUCCESS", "success";
    Argument = 1, c"TURNTILE_ERROR_ARGUMENT", "invalid argument";
    Overflow = 2, c"TURNTILE_ERROR_OVERFLOW", "the array exceeds the address space";
    Length = 3, c"TURNTILE_ERROR_LENGTH", "buffer too short";
    Workspace = 4, c"TURNTILE_ERROR_WORKSPACE", "workspace too small";
    Alignment = 5, c"TURNTILE_ERROR_ALIGNMENT", "misaligned address";
    Overlap = 6, c"TURNTILE_ERROR_OVERLAP", "buffers overlap";
    Memory = 7, c"TURNTILE_ERROR_MEMORY", "out of memory";
    Plan = 8, c"TURNTILE_ERROR_PLAN", "no plan satisfies the descriptor";
    Device = 9, c"TURNTILE_ERROR_DEVICE", "no usable GPU, or a driver error";
    Version = 10, c"TURNTILE_ERROR_VERSION", "the header and the library differ in version";
    Internal = 11, c"TURNTILE_ERROR_INTERNAL", "bug in turntile; the data can be in any order";
    Ranks = 12, c"TURNTILE_ERROR_RANKS", "processes disagree, failed, or cannot communicate";
    Lost = 13, c"TURNTILE_ERROR_LOST", "the data are incomplete";
}

/// Reason why a call failed. Memory is unchanged, except after [`Status::Lost`] and [`Status::Internal`].
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A pointer is NULL.
    #[error("{what} is NULL")]
    Null { what: &'static str },
    /// A buffer is NULL although it has a length.
    #[error("{what} is NULL, expected {bytes} bytes")]
    NullOf { what: &'static str, bytes: usize },
    /// An address is misaligned.
    #[error("{what} at {address:#x} is not aligned to {need} bytes")]
    Misaligned { what: &'static str, address: usize, need: usize },
    /// Two buffers overlap.
    #[error("{what} at {address:#x} and {other} at {other_address:#x} overlap")]
    Overlap { what: &'static str, address: usize, other: &'static str, other_address: usize },
    /// A buffer is too short.
    #[error("{what} needs {need} bytes, got {have}")]
    Length { what: &'static str, need: usize, have: usize },
    /// A workspace is too small.
    #[error("the plan needs {need} bytes of workspace, got {have}")]
    Workspace { need: usize, have: usize },
    /// The program was compiled with a header of another version.
    #[error("the program was compiled for turntile {header}, the library is {library}")]
    Header { header: Version, library: Version },
    /// A field of the descriptor is invalid.
    #[error("{field} is {value}: {why}")]
    Field { field: &'static str, value: i128, why: &'static str },
    /// A plan in place was run out of place, or the other way round.
    #[error("the plan is {}", match *out_of_place {
        true => "out of place: run it with turntile_execute_copy",
        false => "in place: run it with turntile_execute, or plan with TURNTILE_OUT_OF_PLACE",
    })]
    Place { out_of_place: bool },
    /// A CPU plan was given a stream.
    #[error("the plan is for the CPU: stream must be NULL")]
    CpuStream,
    /// An error of the Rust library.
    #[error(transparent)]
    Library(#[from] Error),
    /// An error of another library on top of this one.
    #[error("{text}")]
    Other { status: Status, text: String },
    /// A panic.
    #[error("bug in turntile: {0}")]
    Defect(String),
}

impl Failure {
    /// Creates a [`Failure::Field`].
    pub fn field(field: &'static str, value: impl TryInto<i128>, why: &'static str) -> Self {
        Failure::Field { field, value: value.try_into().unwrap_or(i128::MAX), why }
    }

    /// Returns the status that the call returns.
    pub fn status(&self) -> Status {
        match self {
            Failure::Null { .. }
            | Failure::NullOf { .. }
            | Failure::Field { .. }
            | Failure::Place { .. }
            | Failure::CpuStream => Status::Argument,
            Failure::Misaligned { .. } => Status::Alignment,
            Failure::Overlap { .. } => Status::Overlap,
            Failure::Length { .. } => Status::Length,
            Failure::Workspace { .. } => Status::Workspace,
            Failure::Header { .. } => Status::Version,
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
        // Plans made here are valid; a caller can only run one out of place instead of in place.
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

    /// Only a GPU run that stopped halfway has the status for incomplete data.
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
