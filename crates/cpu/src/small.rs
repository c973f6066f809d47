//! Arrays small enough for a buffer on the stack.

use turntile_perm::AxisPermutation;

use crate::permuted::{Moved, Permuted};
use turntile_simd::{self as simd, Block, Byte};

/// The most bytes of a small array: half of a 32 KiB L1 cache, with its buffer all of it.
pub const SMALL_BYTES: usize = 16 << 10;

/// Transposes a matrix of at most [`SMALL_BYTES`] bytes in the calling thread, without allocating;
/// false, with nothing touched, when it is larger.
///
/// # Panics
/// When `data` is not `rows · cols · elem_bytes` long.
pub fn transpose_small(data: &mut [Byte], rows: usize, cols: usize, elem_bytes: usize) -> bool {
    assert_eq!(data.len(), rows * cols * elem_bytes);
    let small = data.len() <= SMALL_BYTES;
    if small {
        let mut buffer = [Byte::uninit(); SMALL_BYTES];
        let block = Block { rows, cols, from_pitch: cols, to_pitch: rows };
        simd::transpose(data, &mut buffer, block, elem_bytes);
        data.copy_from_slice(&buffer[..data.len()]);
    }
    small
}

/// Permutes the axes of an array of at most [`SMALL_BYTES`] bytes in the same way; false, with nothing touched, when it
/// is larger.
///
/// # Panics
/// When `data` is not as long as the array.
pub fn permute_small(data: &mut [Byte], axes: &AxisPermutation, elem_bytes: usize) -> bool {
    assert_eq!(data.len(), axes.len() * elem_bytes);
    let small = data.len() <= SMALL_BYTES;
    if small && !axes.is_identity() {
        let mut buffer = [Byte::uninit(); SMALL_BYTES];
        let permuted = Permuted::new(axes, elem_bytes);
        for Moved { from, to, block } in (0..permuted.blocks()).map(|n| permuted.nth(n)) {
            simd::transpose(&data[from..], &mut buffer[to..], block, permuted.unit_bytes());
        }
        data.copy_from_slice(&buffer[..data.len()]);
    }
    small
}
