//! Transpositions from one place to another.
//!
//! | module | holds |
//! |---|---|
//! | [`program`] | launches over several buffers, as data, and what is checked before they run |
//! | [`choose`] | the kernel, tile and order of a transposition: the default |
//! | [`ladder`] | the kernels of the literature, by name, tile and block rows |
//! | [`banks`] | what a warp's accesses to shared memory cost |
//! | [`gaussian`] | a separable recursive filter with transpositions between its passes |
//!
//! Each of `choose`, `ladder` and `gaussian` makes a [`Program`](program::Program);
//! [`Gpu::load`](crate::Gpu::load) makes it a [`Loaded`](crate::Loaded) one, which runs on the caller's
//! stream and memory, and [`Stopwatch`](crate::Stopwatch) runs and times it on memory of its own.

pub mod banks;
pub mod choose;
pub mod gaussian;
pub mod ladder;
pub mod program;
