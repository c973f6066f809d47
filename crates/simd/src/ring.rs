//! Bytes to and from a ring whose end runs on at its start, a line at a time wherever the end falls.
#![allow(unsafe_code)]

use crate::block::{Byte, LINE};
use crate::lanes::Vector;
use crate::taken::tell;

/// Lines between a ring of `wrap` bytes, from its place `start` on, and `len` bytes elsewhere.
///
/// # Safety
/// - The machine can run the kernel that it belongs to; `len` is a multiple of [`LINE`].
/// - As [`copy_from_ring`] or [`copy_into_ring`] checks.
pub type FromRing =
    unsafe fn(ring: *const Byte, start: usize, wrap: usize, to: *mut Byte, len: usize);
/// The same the other way.
pub type IntoRing =
    unsafe fn(from: *const Byte, ring: *mut Byte, start: usize, wrap: usize, len: usize);

#[inline(always)]
unsafe fn copy_line<V: Vector>(from: *const Byte, to: *mut Byte) {
    for at in (0..LINE).step_by(16 * V::LANES) {
        // SAFETY: the caller's lines and machine.
        unsafe { V::load_all(from.add(at)).store(to.add(at)) };
    }
}

#[inline(always)]
unsafe fn from_ring<V: Vector>(
    ring: *const Byte,
    start: usize,
    wrap: usize,
    to: *mut Byte,
    len: usize,
) {
    tell("from ring", V::LANES);
    let mut at = start;
    for k in (0..len).step_by(LINE) {
        // SAFETY: `at` is below `wrap`; the rest is the caller's.
        unsafe { copy_line::<V>(ring.add(at), to.add(k)) };
        at += LINE;
        at = if at >= wrap { at - wrap } else { at };
    }
}

#[inline(always)]
unsafe fn into_ring<V: Vector>(
    from: *const Byte,
    ring: *mut Byte,
    start: usize,
    wrap: usize,
    len: usize,
) {
    tell("into ring", V::LANES);
    let mut at = start;
    for k in (0..len).step_by(LINE) {
        // SAFETY: `at` is below `wrap`, a line before which the ring's bytes begin, and a line's end that
        // passes `wrap` is also put, with what comes before it, up to a line before the first byte.
        unsafe {
            copy_line::<V>(from.add(k), ring.add(LINE + at));
            at += LINE;
            if at >= wrap {
                at -= wrap;
                copy_line::<V>(from.add(k), ring.add(at));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Byte, from_ring, into_ring};
    use std::arch::x86_64::{__m256i, __m512i};

    #[target_feature(enable = "avx512f,avx512bw,avx2")]
    pub unsafe fn from_avx512(ring: *const Byte, s: usize, wrap: usize, to: *mut Byte, len: usize) {
        // SAFETY: the caller's; the features are this function's.
        unsafe { from_ring::<__m512i>(ring, s, wrap, to, len) };
    }

    #[target_feature(enable = "avx512f,avx512bw,avx2")]
    pub unsafe fn into_avx512(
        from: *const Byte,
        ring: *mut Byte,
        s: usize,
        wrap: usize,
        len: usize,
    ) {
        // SAFETY: as above.
        unsafe { into_ring::<__m512i>(from, ring, s, wrap, len) };
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn from_avx2(ring: *const Byte, s: usize, wrap: usize, to: *mut Byte, len: usize) {
        // SAFETY: as above.
        unsafe { from_ring::<__m256i>(ring, s, wrap, to, len) };
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn into_avx2(from: *const Byte, ring: *mut Byte, s: usize, wrap: usize, len: usize) {
        // SAFETY: as above.
        unsafe { into_ring::<__m256i>(from, ring, s, wrap, len) };
    }
}
#[cfg(target_arch = "x86_64")]
pub use x86::{from_avx2, from_avx512, into_avx2, into_avx512};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub unsafe fn from_lane(ring: *const Byte, start: usize, wrap: usize, to: *mut Byte, len: usize) {
    // SAFETY: the caller's; every machine of the architecture has these vectors.
    unsafe { from_ring::<crate::lanes::Lane>(ring, start, wrap, to, len) };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub unsafe fn into_lane(from: *const Byte, ring: *mut Byte, start: usize, wrap: usize, len: usize) {
    // SAFETY: as above.
    unsafe { into_ring::<crate::lanes::Lane>(from, ring, start, wrap, len) };
}

pub unsafe fn from_plain(ring: *const Byte, start: usize, wrap: usize, to: *mut Byte, len: usize) {
    tell("from ring", 0);
    let before = len.min(wrap - start);
    // SAFETY: the caller's, in two parts.
    unsafe {
        to.copy_from_nonoverlapping(ring.add(start), before);
        to.add(before).copy_from_nonoverlapping(ring, len - before);
    }
}

pub unsafe fn into_plain(
    from: *const Byte,
    ring: *mut Byte,
    start: usize,
    wrap: usize,
    len: usize,
) {
    tell("into ring", 0);
    let before = len.min(wrap - start);
    // SAFETY: as above.
    unsafe {
        ring.add(LINE + start).copy_from_nonoverlapping(from, before);
        ring.add(LINE).copy_from_nonoverlapping(from.add(before), len - before);
    }
}
