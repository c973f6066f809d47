//! In-place redistribution of arrays over MPI processes.
//!
//! `MpiComm` implements the `Communicator` trait of `turntile-distributed`.
//! `include/turntile_mpi.h` declares the C interface. The crate is empty without the feature `mpi`,
//! which needs an MPI library and libclang.
#![cfg(feature = "mpi")]

mod capi;
mod comm;

pub use capi::{
    turntile_mpi_balanced, turntile_mpi_blocks, turntile_mpi_capacity, turntile_mpi_last_error,
    turntile_mpi_permute, turntile_mpi_permute_capacity, turntile_mpi_transpose,
    turntile_mpi_transpose_fortran,
};
pub use comm::MpiComm;
