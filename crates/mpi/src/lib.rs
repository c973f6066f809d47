//! Arrays that are cut over processes of MPI change their layout in place: `MpiComm` is the `Communicator` of
//! `turntile-distributed`, and `include/turntile_mpi.h` declares the same for C. All of it is behind the feature `mpi`, which needs
//! an MPI and libclang.
#![cfg(feature = "mpi")]

mod capi;
mod comm;

pub use capi::{
    turntile_mpi_balanced, turntile_mpi_blocks, turntile_mpi_capacity, turntile_mpi_last_error,
    turntile_mpi_permute, turntile_mpi_permute_capacity, turntile_mpi_transpose,
    turntile_mpi_transpose_fortran,
};
pub use comm::MpiComm;
