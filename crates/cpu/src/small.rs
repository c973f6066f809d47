//! Permutations of arrays small enough for a buffer on the stack.

use turntile_perm::AxisPermutation;
use turntile_simd::{self as simd, BlockShape, Byte};

use crate::plane_tiling::PlaneTiling;

/// Maximum bytes of a small array: 16 KiB. With its buffer it fills a first-level cache of 32 KiB.
pub const SMALL_BYTES: usize = 16 << 10;

/// Transposes a matrix of at most [`SMALL_BYTES`] bytes in the calling thread, without allocating.
/// Returns `false`, with nothing written, if it is larger.
///
/// # Panics
/// If `data.len()` is not `rows · cols · elem_bytes`.
pub fn transpose_small(data: &mut [Byte], rows: usize, cols: usize, elem_bytes: usize) -> bool {
    assert_eq!(data.len(), rows * cols * elem_bytes);
    let block = BlockShape { rows, cols, from_pitch: cols, to_pitch: rows };
    through_stack(data, |data, buffer| simd::transpose(data, buffer, block, elem_bytes))
}

/// Permutes the axes of an array of at most [`SMALL_BYTES`] bytes in the calling thread, without
/// allocating. Returns `false`, with nothing written, if it is larger.
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
