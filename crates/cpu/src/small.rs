//! Matrices small enough for a buffer on the stack.

use turntile_simd::{self as simd, Block, Byte};

/// The most bytes of a small matrix: half of a 32 KiB L1 cache, with its buffer all of it.
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
