//! Selects the bytes to follow.

/// Largest number of bytes for which every byte is followed.
const FEW: usize = 1 << 12;

/// Returns offsets of `bytes` bytes: all of up to `FEW`; otherwise those at the ends, around powers
/// of two, and random ones.
pub fn offsets(bytes: usize) -> Vec<usize> {
    if bytes <= FEW {
        return (0..bytes).collect();
    }
    let ends = (0..64).chain(bytes - 64..bytes);
    let powers = (10..60).flat_map(|log| (1usize << log) - 2..(1 << log) + 2);
    // A fixed sequence of Knuth's, spread over all bytes.
    let spread = (0..400).scan(1u64, |x, _| {
        *x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(((u128::from(*x) * bytes as u128) >> 64) as usize)
    });
    ends.chain(powers).chain(spread).filter(|&offset| offset < bytes).collect()
}
