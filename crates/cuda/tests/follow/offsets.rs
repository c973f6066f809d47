//! Selects the bytes to follow.

use std::env;

/// Returns `true` if `TURNTILE_EXHAUSTIVE` is set.
pub fn exhaustive() -> bool {
    env::var_os("TURNTILE_EXHAUSTIVE").is_some()
}

/// Returns offsets of `bytes` bytes. Up to 256 bytes, or 4096 if the tests are exhaustive, these
/// are all offsets; otherwise those at the ends, around powers of two, and 100 or 400 random ones.
pub fn offsets(bytes: usize) -> Vec<usize> {
    let (few, random) = if exhaustive() { (1 << 12, 400) } else { (1 << 8, 100) };
    if bytes <= few {
        return (0..bytes).collect();
    }
    let ends = (0..64).chain(bytes - 64..bytes);
    let powers = (10..60).flat_map(|log| (1usize << log) - 2..(1 << log) + 2);
    // A fixed sequence of Knuth's, spread over all bytes.
    let spread = (0..random).scan(1u64, |x, _| {
        *x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(((u128::from(*x) * bytes as u128) >> 64) as usize)
    });
    ends.chain(powers).chain(spread).filter(|&offset| offset < bytes).collect()
}
