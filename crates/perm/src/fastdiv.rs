//! Division by an invariant with a multiply and shifts.

/// A divisor prepared for division of any 64-bit dividend with one high multiply, one subtraction,
/// one addition and two shifts (Granlund and Montgomery 1994, figure 4.1).
///
/// GPU kernels compute the quotient `q` of `n` from [`parts`](Self::parts), with `__umul64hi`:
///
/// ```text
/// t = umulhi(magic, n);  q = (t + ((n - t) >> pre)) >> post
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FastDiv {
    divisor: u64,
    magic: u64,
    pre: u32,
    post: u32,
}

impl FastDiv {
    /// Prepares `divisor`. Returns `None` if it is 0.
    pub fn new(divisor: u64) -> Option<Self> {
        if divisor == 0 {
            return None;
        }
        // ceil(log2(divisor)) ensures that 2^log - divisor < divisor, so the magic number fits 64
        // bits.
        let log = ceil_log2(divisor);
        let excess = (1u128 << log) - u128::from(divisor);
        let magic = ((excess << 64) / u128::from(divisor) + 1) as u64;
        Some(FastDiv { divisor, magic, pre: log.min(1), post: log.saturating_sub(1) })
    }

    /// Returns the divisor.
    pub fn divisor(&self) -> u64 {
        self.divisor
    }

    /// Returns `(magic, pre, post)` of the formula of [`FastDiv`]: a multiplier and two shifts.
    pub fn parts(&self) -> (u64, u32, u32) {
        (self.magic, self.pre, self.post)
    }

    /// Returns `n / divisor`.
    #[inline]
    pub fn div(&self, n: u64) -> u64 {
        let t = ((u128::from(self.magic) * u128::from(n)) >> 64) as u64;
        (t + ((n - t) >> self.pre)) >> self.post
    }
}

/// Returns `ceil(log2(n))` for `n >= 1`.
fn ceil_log2(n: u64) -> u32 {
    u64::BITS - (n - 1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(divisor: u64, n: u64) {
        let fast = FastDiv::new(divisor).unwrap();
        assert_eq!(fast.div(n), n / divisor, "{n} / {divisor}");
    }

    #[test]
    fn quotients_are_exact_for_small_divisors_and_edge_cases() {
        assert_eq!(FastDiv::new(0), None);
        for divisor in 1..500 {
            for n in 0..2000 {
                check(divisor, n);
            }
        }
        let edges = |x: u64| [x.wrapping_sub(1), x, x.wrapping_add(1)];
        for log in 0..64 {
            for divisor in edges(1 << log).into_iter().chain([u64::MAX, u64::MAX - 1]) {
                for n in (0..64).flat_map(|log| edges(1 << log)).chain([u64::MAX]) {
                    if divisor > 0 {
                        check(divisor, n);
                        check(divisor, n / divisor * divisor);
                        check(divisor, (n / divisor * divisor).wrapping_sub(1));
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn quotients_are_exact_for_any_pair(divisor in 1u64.., n: u64) {
            check(divisor, n);
            check(divisor >> (n % 64) | 1, n);
        }
    }
}
