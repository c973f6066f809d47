//! Elements of any type as bytes: the crate's only `unsafe`.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Lets `work` permute the elements of `data` as bytes.
///
/// Elements may be of any type: they are moved, and a move is a copy of bytes. Should `work` panic
/// half-way, an element could exist twice and be dropped twice, so the process is aborted instead.
pub fn permute_as_bytes<T, R>(data: &mut [T], work: impl FnOnce(&mut [MaybeUninit<u8>]) -> R) -> R {
    let bytes = size_of_val(data);
    // SAFETY: the pointer is valid for `bytes` bytes and exclusively borrowed; any byte, padding
    // included, is a valid MaybeUninit<u8>. When `work` returns, the elements are those of before
    // in another order (what the movers are tested for), hence valid; when it panics, nobody sees
    // them.
    let view = unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), bytes) };
    let guard = AbortOnUnwind;
    let result = work(view);
    std::mem::forget(guard);
    result
}

struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}
