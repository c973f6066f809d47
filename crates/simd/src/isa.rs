//! Kernel functions of each instruction set: generic functions for its vectors, inlined where its
//! target features are enabled.
#![allow(unsafe_code)]

use crate::block::{BlockShape, Byte};
use crate::copy::{self, CopyJob};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::deinterleave;
use crate::prefetch_cursor::PrefetchCursor;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::reverse::{self, ReversedRows};
use crate::square_swap;
use crate::transpose::{few_columns, few_rows, fits, narrow_columns, plain, tiles};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::vector::Lane;

/// Defines all functions of a kernel set except `words`. Runs shorter than a vector are copied by
/// `shorter`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! functions {
    ($vector:ty, shorter: $shorter:path $(, features: $features:literal)?) => {
        /// Bytes per vector.
        pub const BYTES: usize = size_of::<$vector>();

        $(#[target_feature(enable = $features)])?
        pub unsafe fn copy(transfers: &[CopyJob], len: usize) {
            // SAFETY: guaranteed by the caller; this function has the target features.
            unsafe {
                match len < BYTES {
                    true => $shorter(transfers, len),
                    false => copy::copy_vectors::<$vector>(transfers, len),
                }
            }
        }

        $(#[target_feature(enable = $features)])?
        pub unsafe fn from_ring(
            ring: *const Byte,
            start: usize,
            wrap: usize,
            to: *mut Byte,
            len: usize,
        ) {
            // SAFETY: guaranteed by the caller; this function has the target features.
            unsafe { copy::from_ring::<$vector>(ring, start, wrap, to, len) };
        }

        $(#[target_feature(enable = $features)])?
        pub unsafe fn into_ring(
            from: *const Byte,
            ring: *mut Byte,
            start: usize,
            wrap: usize,
            len: usize,
        ) {
            // SAFETY: guaranteed by the caller; this function has the target features.
            unsafe { copy::into_ring::<$vector>(from, ring, start, wrap, len) };
        }

        $(#[target_feature(enable = $features)])?
        pub unsafe fn reversed<const W: usize>(a: *mut Byte, b: *mut Byte, rows: ReversedRows) {
            // SAFETY: guaranteed by the caller; this function has the target features.
            unsafe { reverse::words::<W>(a, b, rows) };
        }

        $(#[target_feature(enable = $features)])?
        pub unsafe fn squares<const W: usize>(
            a: *mut Byte,
            b: *mut Byte,
            pitch: usize,
            side: usize,
            lines: &mut PrefetchCursor,
        ) {
            // SAFETY: guaranteed by the caller; this function has the target features.
            unsafe { square_swap::squares::<$vector, W>(a, b, pitch, side, lines) };
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub mod avx512 {
    use super::*;
    use std::arch::x86_64::{__m256i, __m512i};

    functions!(__m512i, shorter: avx2::copy, features: "avx512f,avx512bw,avx2");

    #[target_feature(enable = "avx512f,avx512bw,avx2")]
    pub unsafe fn words<const W: usize>(from: *const Byte, to: *mut Byte, block: BlockShape) {
        // SAFETY: guaranteed by the caller; this function has the target features.
        unsafe {
            if deinterleave::transpose::<__m512i, W>(from, to, block)
                || deinterleave::permute::<__m512i, W>(from, to, block)
            {
                return;
            }
            if fits::<__m512i, W>(block) {
                tiles::<__m512i, W>(from, to, block);
            } else if fits::<__m256i, W>(block) {
                tiles::<__m256i, W>(from, to, block);
            } else if narrow_columns::<__m512i, W>(block) {
                few_columns::<__m512i, W>(from, to, block);
            } else {
                lane::words::<W>(from, to, block);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub mod avx2 {
    use super::*;
    use std::arch::x86_64::__m256i;

    functions!(__m256i, shorter: portable::copy, features: "avx2");

    #[target_feature(enable = "avx2")]
    pub unsafe fn words<const W: usize>(from: *const Byte, to: *mut Byte, block: BlockShape) {
        // SAFETY: guaranteed by the caller; this function has the target features.
        unsafe {
            if deinterleave::transpose::<__m256i, W>(from, to, block) {
                return;
            }
            if fits::<__m256i, W>(block) {
                tiles::<__m256i, W>(from, to, block);
            } else {
                lane::words::<W>(from, to, block);
            }
        }
    }
}

/// SSE2 on x86-64 or NEON on aarch64, which every machine of the architecture has.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod lane {
    use super::*;

    functions!(Lane, shorter: portable::copy);

    pub unsafe fn words<const W: usize>(from: *const Byte, to: *mut Byte, block: BlockShape) {
        let b = 16 / W;
        // SAFETY: guaranteed by the caller.
        unsafe {
            // NEON has byte shuffles; SSE2 does not.
            #[cfg(target_arch = "aarch64")]
            if deinterleave::transpose::<Lane, W>(from, to, block) {
                return;
            }
            if fits::<Lane, W>(block) {
                tiles::<Lane, W>(from, to, block);
            } else if narrow_columns::<Lane, W>(block) {
                few_columns::<Lane, W>(from, to, block);
            } else if block.cols >= 2 * b && block.to_pitch == block.rows && block.rows > 1 {
                few_rows::<Lane, W>(from, to, block);
            } else {
                plain::<W>(from, to, block);
            }
        }
    }
}

/// Functions without SIMD, for any machine.
pub mod portable {
    pub use crate::copy::{copy_plain as copy, from_plain as from_ring, into_plain as into_ring};
    pub use crate::reverse::words as reversed;
    pub use crate::transpose::plain as words;

    pub const BYTES: usize = 0;
}
