//! `imatcopy`, `A := alpha · op(A)` in place, under the names that OpenBLAS and MKL have for it, so that programs that
//! call it are linked with this library, or start with it preloaded, as they are.
//!
//! | file | holds |
//! |---|---|
//! | `openblas` | `cblas_simatcopy`, `simatcopy_` and their kin, of 32-bit and of 64-bit integers |
//! | `mkl` | `MKL_Simatcopy`, by value, and `mkl_simatcopy`, by reference |
//! | `request` | arguments checked as both check them, and brought into row-major form |
//! | `run` | the call to turntile |
//!
//! A wrong argument is reported on the standard error output, in BLAS's words, and nothing is done. A panic, which would be a
//! defect, ends the process: `extern "C"` lets none through, and these functions return nothing.

mod mkl;
mod openblas;
mod request;
mod run;
