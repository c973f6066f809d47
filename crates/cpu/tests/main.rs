//! The integration tests, one program: each is linked anew.

mod alone;
mod fields;
mod leading;
mod rows;
mod stages;

/// Element `k` filled with `k`, so that a wrong element tells where it came from; elements of one
/// or two bytes hold a hash of `k`.
pub fn numbered(len: usize, elem_bytes: usize) -> Vec<u8> {
    let mut data = Vec::with_capacity(len * elem_bytes);
    for k in 0..len as u64 {
        let word = if elem_bytes < 4 { k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 } else { k };
        let bytes = word.to_le_bytes();
        data.extend((0..elem_bytes).map(|b| bytes[b % 8] ^ (b / 8) as u8));
    }
    data
}
