//! Division as the device computes it.

use turntile_cuda::args::{Divisor32, Divisor64};

pub fn div32(by: &Divisor32, n: u32) -> u32 {
    let t = ((u64::from(by.magic) * u64::from(n)) >> 32) as u32;
    t.wrapping_add(n.wrapping_sub(t) >> by.pre) >> by.post
}

pub fn div64(by: &Divisor64, n: u64) -> u64 {
    let t = ((u128::from(by.magic) * u128::from(n)) >> 64) as u64;
    t.wrapping_add(n.wrapping_sub(t) >> by.pre) >> by.post
}
