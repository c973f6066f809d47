//! Runs of bytes written past the caches: a line that is written whole need not be read first.
#![allow(unsafe_code)]

use crate::block::Byte;
use crate::trace::trace_path;

/// Copies `from` to `to`: whole 64-byte lines past the caches, where the machine has stores for that, the
/// bytes before the first and after the last through them.
///
/// # Safety
/// - `to` is valid for writes of `from.len()` bytes, which are not those of `from`, and nobody else touches
///   them meanwhile.
/// - This thread calls [`fence`] before it accesses these bytes again, and before it lets another thread do so.
pub unsafe fn copy_nontemporal(from: &[Byte], to: *mut Byte) {
    // Miri has no such stores: it knows no assembly.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use crate::block::CACHE_LINE;
        let head = (to.align_offset(CACHE_LINE)).min(from.len());
        let lines = (from.len() - head) / CACHE_LINE;
        let (first, rest) = from.split_at(head);
        let (middle, last) = rest.split_at(lines * CACHE_LINE);
        trace_path("streamed", lines);
        // SAFETY: the three parts of `from` go to the three parts of `to`, in bounds; `to + head` is a
        // multiple of 64 where there are lines.
        unsafe {
            to.copy_from_nonoverlapping(first.as_ptr(), first.len());
            let (source, place) = (middle.as_ptr(), to.add(head));
            for k in (0..middle.len()).step_by(CACHE_LINE) {
                (0..CACHE_LINE).step_by(16).for_each(|part| {
                    stream_lane(source.add(k + part), place.add(k + part));
                });
            }
            to.add(head + middle.len()).copy_from_nonoverlapping(last.as_ptr(), last.len());
        }
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    {
        trace_path("streamed", 0);
        // SAFETY: the caller's.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }
}

/// Copies 16 bytes, initialised or not, past the caches; `to` is a multiple of 16. In assembly, since the standard library's
/// store takes initialised bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn stream_lane(from: *const Byte, to: *mut Byte) {
    use std::mem::MaybeUninit;
    type Lane = MaybeUninit<std::arch::x86_64::__m128i>;
    // SAFETY: the caller's bytes.
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

/// Orders what this thread has streamed before whatever it accesses next.
pub fn fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 machine has it.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_at_every_alignment() {
        let from: Vec<Byte> = (0..400).map(|k| Byte::new(k as u8)).collect();
        for start in (0..70).step_by(if cfg!(miri) { 23 } else { 1 }) {
            for len in [0, 1, 15, 63, 64, 65, 127, 128, 129, 200, 300] {
                let mut to = vec![0xEEu8; 400];
                // SAFETY: `start + len` bytes are in bounds of both.
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
