//! Reference transposition and axis permutation for tests: naive and out-of-place.

/// Returns the transposes of `batch` row-major `rows` by `cols` matrices of `elem_bytes`-byte
/// elements.
///
/// # Panics
/// If `data` does not have `batch · rows · cols · elem_bytes` bytes.
pub fn transposed(
    data: &[u8],
    batch: usize,
    rows: usize,
    cols: usize,
    elem_bytes: usize,
) -> Vec<u8> {
    assert_eq!(data.len(), batch * rows * cols * elem_bytes);
    let mut out = Vec::with_capacity(data.len());
    for b in 0..batch {
        for j in 0..cols {
            for i in 0..rows {
                let at = ((b * rows + i) * cols + j) * elem_bytes;
                out.extend_from_slice(&data[at..at + elem_bytes]);
            }
        }
    }
    out
}

/// Returns the row-major array `data` of `elem_bytes`-byte elements with permuted axes: axis `i` of
/// the result is axis `order[i]` of `data`.
///
/// # Panics
/// If the length of `data` does not match `extents`.
pub fn permuted(data: &[u8], extents: &[usize], order: &[usize], elem_bytes: usize) -> Vec<u8> {
    assert_eq!(data.len(), extents.iter().product::<usize>() * elem_bytes);
    let mut out = Vec::with_capacity(data.len());
    let mut index = vec![0; extents.len()];
    while out.len() < data.len() {
        let at = index.iter().zip(extents).fold(0, |at, (i, extent)| at * extent + i) * elem_bytes;
        out.extend_from_slice(&data[at..at + elem_bytes]);
        // Advance the source index, along the last axis of the result first.
        for &axis in order.iter().rev() {
            index[axis] += 1;
            if index[axis] < extents[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    out
}

/// Returns the bytes of `len` elements filled with their index, so that a misplaced element shows
/// its origin. Elements of less than 4 bytes hold bits of a hash of the index.
pub fn numbered(len: usize, elem_bytes: usize) -> Vec<u8> {
    let mut data = Vec::with_capacity(len * elem_bytes);
    for k in 0..len as u64 {
        let word = if elem_bytes < 4 { k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 } else { k };
        let bytes = word.to_le_bytes();
        data.extend((0..elem_bytes).map(|b| bytes[b % 8] ^ (b / 8) as u8));
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposed_swaps_rows_and_columns() {
        assert_eq!(transposed(b"abcdefABCDEF", 2, 2, 3, 1), b"adbecfADBECF");
        assert_eq!(transposed(b"aabbccdd", 1, 2, 2, 2), b"aaccbbdd");
    }

    #[test]
    fn permuted_equals_numpy_transpose() {
        // np.frombuffer(b"abcdefghijkl", "S1").reshape(2, 3, 2).transpose(2, 0, 1)
        assert_eq!(permuted(b"abcdefghijkl", &[2, 3, 2], &[2, 0, 1], 1), b"acegikbdfhjl");
        assert_eq!(permuted(b"xyz", &[], &[], 3), b"xyz");
        assert!(permuted(b"", &[2, 0], &[1, 0], 4).is_empty());
    }

    #[test]
    fn numbered_elements_are_distinct() {
        assert_eq!(&numbered(300, 4)[4 * 299..], 299u32.to_le_bytes());
        let data = numbered(1000, 2);
        assert_ne!(data[..1000], data[1000..]);
    }
}
