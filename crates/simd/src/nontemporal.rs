//! Copies that bypass the caches: a destination line that is overwritten whole need not be read
//! first.
#![allow(unsafe_code)]

use crate::block::Byte;
use crate::trace::trace_path;

/// Copies `from` to `to`. On x86-64, whole 64-byte lines of `to` bypass the caches by nontemporal
/// stores. All other bytes are stored normally.
///
/// # Safety
/// - `to` is valid for writes of `from.len()` bytes and does not overlap `from`. No other thread
///   accesses them meanwhile.
/// - This thread calls [`fence`] before it accesses these bytes again, and before it lets another
///   thread access them.
pub unsafe fn copy_nontemporal(from: &[Byte], to: *mut Byte) {
    // Miri does not support inline assembly.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use crate::block::CACHE_LINE;
        let head = (to.align_offset(CACHE_LINE)).min(from.len());
        let lines = (from.len() - head) / CACHE_LINE;
        let (first, rest) = from.split_at(head);
        let (middle, last) = rest.split_at(lines * CACHE_LINE);
        trace_path("streamed", lines);
        // SAFETY: the three parts of `from` go to the three parts of `to`, in bounds. `to + head`
        // is a multiple of 64 if there are whole lines.
        unsafe {
            to.copy_from_nonoverlapping(first.as_ptr(), first.len());
            let (source, dest) = (middle.as_ptr(), to.add(head));
            for k in (0..middle.len()).step_by(CACHE_LINE) {
                (0..CACHE_LINE).step_by(16).for_each(|part| {
                    stream_lane(source.add(k + part), dest.add(k + part));
                });
            }
            to.add(head + middle.len()).copy_from_nonoverlapping(last.as_ptr(), last.len());
        }
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    {
        trace_path("streamed", 0);
        // SAFETY: guaranteed by the caller.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }
}

/// Copies 16 bytes with a nontemporal store; `to` is a multiple of 16. The standard library's
/// intrinsic requires initialised bytes, so this is inline assembly.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn stream_lane(from: *const Byte, to: *mut Byte) {
    use std::mem::MaybeUninit;
    type Lane = MaybeUninit<std::arch::x86_64::__m128i>;
    // SAFETY: the caller guarantees 16 bytes at each address.
    unsafe {
        let lane = from.cast::<Lane>().read_unaligned();
        #[cfg(target_feature = "avx")]
        std::arch::asm!(
            "vmovntdq [{}], {}",
            in(reg) to,
            in(xmm_reg) lane,
            options(nostack, preserves_flags)
        );
        #[cfg(not(target_feature = "avx"))]
        std::arch::asm!(
            "movntdq [{}], {}",
            in(reg) to,
            in(xmm_reg) lane,
            options(nostack, preserves_flags)
        );
    }
}

/// Orders this thread's nontemporal stores before its later memory accesses.
pub fn fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 machine has this instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_nontemporal_writes_only_its_range_at_any_alignment() {
        let from: Vec<Byte> = (0..400).map(|k| Byte::new(k as u8)).collect();
        for start in (0..70).step_by(if cfg!(miri) { 23 } else { 1 }) {
            for len in [0, 1, 15, 63, 64, 65, 127, 128, 129, 200, 300] {
                let mut to = vec![0xEEu8; 400];
                // SAFETY: `start + len` bytes are in bounds of both buffers.
                unsafe {
                    copy_nontemporal(&from[start / 3..][..len], to.as_mut_ptr().add(start).cast())
                };
                fence();
                for (k, &got) in to.iter().enumerate() {
                    let inside = (start..start + len).contains(&k);
                    let want = if inside { (start / 3 + k - start) as u8 } else { 0xEE };
                    assert_eq!(got, want, "{start} {len} {k}");
                }
            }
        }
    }
}
