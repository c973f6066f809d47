//! Barrier-sync on the CPU: an instance is permuted into scratch as a whole, then copied back.
//! Scratch of small arrays is on the stack.

use std::sync::{Mutex, PoisonError};

use turntile_perm::{AxisPermutation, FlippedAxes};
use turntile_simd::{self as simd, BlockShape, Byte};

use crate::flip::FlipTiling;
use crate::parallel;
use crate::plane_tiling::PlaneTiling;

/// Permutes every instance through scratch: `permute(instance, scratch)` writes the result to the
/// scratch, which has the instance's length. The last instance may be shorter.
///
/// `threads` threads claim instances. Scratch: `instance_bytes` bytes per thread.
pub fn through_scratch(
    data: &mut [Byte],
    instance_bytes: usize,
    threads: usize,
    scratch: &mut [Byte],
    permute: impl Fn(&[Byte], &mut [Byte]) + Sync,
) {
    let grain = parallel::grain(data.len().div_ceil(instance_bytes), threads) * instance_bytes;
    let queue = Mutex::new(data.chunks_mut(grain));
    parallel::for_each_thread(0..threads, scratch, instance_bytes, |_, scratch| {
        // The lock is released before the work.
        let claim = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(instances) = claim() {
            for instance in instances.chunks_mut(instance_bytes) {
                let scratch = &mut scratch[..instance.len()];
                permute(instance, scratch);
                instance.copy_from_slice(scratch);
            }
        }
    });
}

/// Maximum bytes of a small array: 16 KiB. With its buffer it fills a first-level cache of 32 KiB.
pub const SMALL_BYTES: usize = 16 << 10;

/// Transposes a matrix of at most [`SMALL_BYTES`] bytes in place, in the calling thread, without
/// allocating. Returns `false`, with nothing written, if it is larger.
///
/// # Panics
/// If `data.len()` is not `rows · cols · elem_bytes`.
pub fn transpose_small(data: &mut [Byte], rows: usize, cols: usize, elem_bytes: usize) -> bool {
    assert_eq!(data.len(), rows * cols * elem_bytes);
    let block = BlockShape { rows, cols, from_pitch: cols, to_pitch: rows };
    through_stack(data, |data, buffer| simd::transpose(data, buffer, block, elem_bytes))
}

/// Permutes the axes of an array of at most [`SMALL_BYTES`] bytes in place, in the calling thread,
/// without allocating. Returns `false`, with nothing written, if it is larger.
///
/// # Panics
/// If `data` does not have the array's length.
pub fn permute_small(data: &mut [Byte], axes: &AxisPermutation, elem_bytes: usize) -> bool {
    assert_eq!(data.len(), axes.len() * elem_bytes);
    if axes.is_identity() {
        return data.len() <= SMALL_BYTES;
    }
    through_stack(data, |data, buffer| {
        PlaneTiling::of_axes(axes, elem_bytes).transpose(data, buffer)
    })
}

/// Permutes and reverses the axes of an array of at most [`SMALL_BYTES`] bytes in place, in the
/// calling thread. Returns `false`, with nothing written, if it is larger.
///
/// # Panics
/// If `data` does not have the array's length.
pub fn permute_flipped_small(data: &mut [Byte], axes: &FlippedAxes, elem_bytes: usize) -> bool {
    let small = permute_small(data, &axes.permutation(), elem_bytes);
    if small && !axes.is_empty() {
        FlipTiling::new(&axes.flip(), elem_bytes).run(data, 1);
    }
    small
}

#[inline(always)]
fn through_stack(data: &mut [Byte], work: impl FnOnce(&[Byte], &mut [Byte])) -> bool {
    let small = data.len() <= SMALL_BYTES;
    if small {
        let mut buffer = [Byte::uninit(); SMALL_BYTES];
        work(data, &mut buffer);
        data.copy_from_slice(&buffer[..data.len()]);
    }
    small
}
