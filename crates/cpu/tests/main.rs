//! Integration tests, in one program to link once.

mod alone;
mod fields;
mod leading;
mod rows;
mod stages;

/// Returns the bytes of elements filled with their index, so that a wrong element shows its origin.
/// Elements of fewer than four bytes contain a hash of the index.
pub fn numbered(len: usize, elem_bytes: usize) -> Vec<u8> {
    let mut data = Vec::with_capacity(len * elem_bytes);
    for k in 0..len as u64 {
        let word = if elem_bytes < 4 { k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 } else { k };
        let bytes = word.to_le_bytes();
        data.extend((0..elem_bytes).map(|b| bytes[b % 8] ^ (b / 8) as u8));
    }
    data
}
