//! Views of memory: of words as flags and bytes, of initialised bytes as any.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU32;

use turntile_simd::Byte;

/// The first `count` 32-bit words of a workspace, zeroed, as flags, and its other bytes.
///
/// # Panics
/// When the workspace is shorter.
pub fn split_flags(
    workspace: &mut [MaybeUninit<u64>],
    count: usize,
) -> (&[AtomicU32], &mut [Byte]) {
    let bytes = size_of_val(workspace);
    assert!(count <= bytes / 4, "the workspace holds the flags");
    let start = workspace.as_mut_ptr();
    // SAFETY: `start` is valid for `bytes` bytes and aligned to 8; the words are zeroed, hence
    // initialised, before a reference to them exists; the two slices do not overlap and both borrow
    // the workspace exclusively.
    unsafe {
        start.cast::<u32>().write_bytes(0, count);
        let flags = std::slice::from_raw_parts(start.cast::<AtomicU32>(), count);
        let rest = start.cast::<Byte>().add(count * 4);
        (flags, std::slice::from_raw_parts_mut(rest, bytes - count * 4))
    }
}

/// Initialised bytes as any.
///
/// # Safety
/// All of them are initialised again when the borrow ends.
pub unsafe fn any_bytes(data: &mut [u8]) -> &mut [Byte] {
    // SAFETY: the layout is the same; the rest is the caller's.
    unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), data.len()) }
}
