//! Division of a workspace into flags and bytes.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU32;

use turntile_simd::Byte;

/// Returns the first `count` 32-bit words of a workspace, zeroed, as flags, and the remaining
/// bytes.
///
/// # Panics
/// If the workspace is shorter than `count` words.
pub fn split_flags(
    workspace: &mut [MaybeUninit<u64>],
    count: usize,
) -> (&[AtomicU32], &mut [Byte]) {
    let bytes = size_of_val(workspace);
    assert!(count <= bytes / 4, "the workspace is too small for the flags");
    let start = workspace.as_mut_ptr();
    // SAFETY: `start` is valid for `bytes` bytes and aligned to 8. The words are zeroed, and so
    // initialised, before a reference to them exists. The two slices do not overlap, and both
    // borrow the workspace exclusively.
    unsafe {
        start.cast::<u32>().write_bytes(0, count);
        let flags = std::slice::from_raw_parts(start.cast::<AtomicU32>(), count);
        let rest = start.cast::<Byte>().add(count * 4);
        (flags, std::slice::from_raw_parts_mut(rest, bytes - count * 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_bytes_cover_the_workspace() {
        for words in 0..5 {
            let mut workspace = vec![MaybeUninit::new(u64::MAX); words];
            let start = workspace.as_ptr().addr();
            for count in 0..=2 * words {
                let (flags, bytes) = split_flags(&mut workspace, count);
                assert_eq!((flags.len(), flags.as_ptr().addr()), (count, start));
                assert!(
                    flags.iter().all(|flag| flag.load(std::sync::atomic::Ordering::Relaxed) == 0)
                );
                assert_eq!(
                    (bytes.len(), bytes.as_ptr().addr()),
                    (8 * words - 4 * count, start + 4 * count)
                );
            }
        }
    }

    /// Checks that too many flags are rejected. Memory continues after the workspace, so only the
    /// assertion can detect the overrun.
    #[test]
    #[should_panic(expected = "the workspace is too small for the flags")]
    fn split_flags_panics_when_workspace_is_too_small() {
        split_flags(&mut [MaybeUninit::new(0); 4][..2], 5);
    }
}
