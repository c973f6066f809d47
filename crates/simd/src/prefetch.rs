//! Prefetch instructions.
#![allow(unsafe_code)]

use crate::block::{Byte, CACHE_LINE};

/// Prefetches the cache lines of `bytes` bytes from `at` on, at steps of 64 bytes. If `at` is not
/// line-aligned, the last line may be missed.
#[inline(always)]
pub fn prefetch_run(at: *const Byte, bytes: usize) {
    (0..bytes).step_by(CACHE_LINE).for_each(|k| prefetch(at.wrapping_add(k)));
}

/// Prefetches the cache line at `at` into the second-level cache, on x86-64 and AArch64. Any
/// address is allowed.
#[inline(always)]
pub fn prefetch(at: *const Byte) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(at.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch is a hint and never faults. In assembly, since the standard library's
    // intrinsic is not stable.
    unsafe {
        std::arch::asm!(
            "prfm pldl2keep, [{}]",
            in(reg) at.addr(),
            options(nomem, nostack, preserves_flags)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}
