//! Selects the bytes to follow.

use std::env;

/// Returns offsets of `bytes` bytes: all of up to 512, or 4096 if `TURNTILE_EXHAUSTIVE` is set;
/// otherwise those at the ends, around powers of two, and random ones.
pub fn offsets(bytes: usize) -> Vec<usize> {
    let few = if env::var_os("TURNTILE_EXHAUSTIVE").is_some() { 1 << 12 } else { 1 << 9 };
    if bytes <= few {
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
