//! `imatcopy`, `A := alpha · op(A)` in place, with the interfaces of OpenBLAS and MKL.
//!
//! Programs that call it are linked with this library, or are started with it preloaded. They need
//! no change.
//!
//! | file | contents |
//! |---|---|
//! | `openblas` | `cblas_simatcopy`, `simatcopy_` and related functions, with 32-bit and 64-bit integers |
//! | `mkl` | `MKL_Simatcopy`, arguments by value, and `mkl_simatcopy`, arguments by reference |
//! | `request` | validates the arguments as both libraries do, and converts them to row-major form |
//! | `run` | calls turntile |
//!
//! An illegal argument is reported on standard error in BLAS's words, and the matrix is unchanged.
//! A panic, which is a bug, aborts the process: it cannot unwind through `extern "C"`, and these
//! functions return nothing.

mod mkl;
mod openblas;
mod request;
mod run;
