//! Elements of any type as bytes: the crate's only `unsafe`.
//!
//! Elements are moved as bytes, and a move is a copy of bytes. Should a mover panic half-way, an
//! element could exist twice and be dropped twice, so the process is aborted instead.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use turntile_cpu::out_of_place::Matrices;
use turntile_cpu::{Executor, RunError, Workspace, transpose_into, transpose_small};

/// Runs `executor` on elements of any type.
pub fn run<T>(
    executor: &Executor,
    data: &mut [T],
    workspace: &mut Workspace,
    done: impl FnMut(usize),
) -> Result<(), RunError> {
    // SAFETY: an executor permutes whole elements of the size that it was planned for and leaves the
    // bytes as they are when it fails; data as long as a plan's problem leave it no room to leave
    // copies in, and it fails if it needs some. `T` of another size than planned moves in other pieces, which
    // the callers of this function have ruled out or, for `u8`, does not matter.
    let bytes = unsafe { bytes_of(data) };
    let guard = AbortOnUnwind;
    let result = executor.run(bytes, workspace, done);
    std::mem::forget(guard);
    result
}

/// Runs `executor` on the elements of a vector and its spare capacity.
pub fn run_vec<T>(
    executor: &Executor,
    data: &mut Vec<T>,
    workspace: &mut Workspace,
) -> Result<(), RunError> {
    let (len, room) = (size_of_val(data.as_slice()), executor.plan().room_bytes());
    let have = data.capacity().saturating_mul(size_of::<T>());
    if room > have {
        return Err(RunError::Room { need: room, have });
    }
    // SAFETY: the vector's allocation has `have` bytes, exclusively borrowed. An executor leaves the
    // first `len` of them a permutation of the elements that lay there, and anything in those behind:
    // spare capacity, which nothing reads.
    let bytes = unsafe {
        std::slice::from_raw_parts_mut(data.as_mut_ptr().cast::<MaybeUninit<u8>>(), room.max(len))
    };
    let guard = AbortOnUnwind;
    let result = executor.run(bytes, workspace, |_| ());
    std::mem::forget(guard);
    result
}

/// Transposes a small matrix of elements of any type; false when it is not small.
///
/// # Panics
/// When `data` does not have `rows · cols` elements.
pub fn run_small<T>(data: &mut [T], rows: usize, cols: usize) -> bool {
    assert_eq!(data.len(), rows * cols);
    // SAFETY: whole elements are permuted, or nothing is touched.
    let bytes = unsafe { bytes_of(data) };
    let guard = AbortOnUnwind;
    let done = transpose_small(bytes, rows, cols, size_of::<T>());
    std::mem::forget(guard);
    done
}

/// Transposes elements of any type that can be copied from one slice to another.
///
/// # Panics
/// When a slice is not as long as the matrices.
pub fn run_into<T: Copy>(
    to: &mut [T],
    from: &[T],
    [batch, rows, cols]: [usize; 3],
    threads: usize,
) {
    let begins = to.as_ptr().addr() % 64;
    let matrices = Matrices { batch, rows, cols, elem_bytes: size_of::<T>(), begins };
    let (bytes, from_bytes) = (size_of_val(to), size_of_val(from));
    // SAFETY: both pointers are valid for these bytes and borrowed, `to` exclusively; any byte is a valid
    // MaybeUninit<u8>; whole elements, which are `Copy`, are put in the place of others.
    let (to, from) = unsafe {
        (
            std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), bytes),
            std::slice::from_raw_parts(from.as_ptr().cast(), from_bytes),
        )
    };
    let guard = AbortOnUnwind;
    transpose_into(to, from, matrices, threads);
    std::mem::forget(guard);
}

/// The bytes of `data`, to be permuted.
///
/// # Safety
/// When the borrow ends, the bytes are a permutation of the elements of before.
unsafe fn bytes_of<T>(data: &mut [T]) -> &mut [MaybeUninit<u8>] {
    let bytes = size_of_val(data);
    // SAFETY: the pointer is valid for `bytes` bytes and exclusively borrowed; any byte, padding
    // included, is a valid MaybeUninit<u8>; that elements stay valid is the caller's.
    unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), bytes) }
}

struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}
