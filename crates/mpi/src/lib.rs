//! In-place redistribution of arrays over MPI processes.
//!
//! `MpiComm` implements the `Communicator` trait of `turntile-distributed`. The crate is empty
//! without the feature `mpi`, which needs an MPI library and libclang. Feature `capi` adds the C
//! interface that `include/turntile_mpi.h` declares, and needs `libturntile` to link.
#![cfg(feature = "mpi")]

#[cfg(feature = "capi")]
mod capi;
mod comm;

#[cfg(feature = "capi")]
pub use capi::{
    turntile_mpi_balanced, turntile_mpi_blocks, turntile_mpi_capacity, turntile_mpi_permute,
    turntile_mpi_permute_capacity, turntile_mpi_transpose, turntile_mpi_transpose_f,
};
pub use comm::MpiComm;
