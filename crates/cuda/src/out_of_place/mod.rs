//! Transpositions from one place to another.
//!
//! | module | holds |
//! |---|---|
//! | [`program`] | launches over several buffers, as data, and what is checked before they run |
//! | [`ladder`] | the kernels of the literature, by name, tile and block rows |
//! | [`gaussian`] | a separable recursive filter with transpositions between its passes |
//!
//! Each of `ladder` and `gaussian` makes a [`Program`](program::Program);
//! [`Gpu::load`](crate::Gpu::load) makes it a [`Loaded`](crate::Loaded) one, which runs on the caller's
//! stream and memory, and [`Stopwatch`](crate::Stopwatch) runs and times it on memory of its own.

pub mod gaussian;
pub mod ladder;
pub mod program;
