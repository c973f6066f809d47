//! Unsigned division by divisors that the host prepares (Granlund and Montgomery 1994, figure 4.1).

use turntile_perm::FastDiv;

macro_rules! by_width {
    ($int:ident, $divisor:ident) => {
        mirror! {
            /// Constants that replace a division by a multiplication and shifts.
            $divisor = concat!("Divisor<", stringify!($int), ">"), in "index.cuh" {
                $int: divisor, magic;
                u32: pre, post;
            }
        }
    };
}
by_width!(u32, Divisor32);
by_width!(u64, Divisor64);

impl Divisor32 {
    /// Prepares division by `divisor`; 0 counts as 1.
    pub fn new(divisor: u32) -> Self {
        let divisor = divisor.max(1);
        let log = u32::BITS - (divisor - 1).leading_zeros();
        let excess = (1u64 << log) - u64::from(divisor);
        let magic = ((excess << 32) / u64::from(divisor) + 1) as u32;
        Divisor32 { divisor, magic, pre: log.min(1), post: log.saturating_sub(1) }
    }
}

impl Divisor64 {
    /// Prepares division by `divisor`; 0 counts as 1.
    pub fn new(divisor: u64) -> Self {
        let divisor = divisor.max(1);
        let (magic, pre, post) = FastDiv::new(divisor).expect("not 0").parts();
        Divisor64 { divisor, magic, pre, post }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn divide(n: u32, divisor: u32) -> u32 {
        let Divisor32 { magic, pre, post, .. } = Divisor32::new(divisor);
        let t = ((u64::from(magic) * u64::from(n)) >> 32) as u32;
        (t + ((n - t) >> pre)) >> post
    }

    #[test]
    fn edges_of_division() {
        for divisor in (1..200).chain([u32::MAX, u32::MAX - 1, 1 << 31, (1 << 31) + 1]) {
            for n in (0..400).chain([u32::MAX, u32::MAX - 1, 1 << 31]) {
                assert_eq!(divide(n, divisor), n / divisor, "{n} / {divisor}");
            }
        }
        assert_eq!((Divisor32::new(0), Divisor64::new(0)), (Divisor32::new(1), Divisor64::new(1)));
    }

    proptest! {
        #[test]
        fn any_division(divisor in 1u32.., n: u32, shift in 0u32..32) {
            prop_assert_eq!(divide(n, divisor), n / divisor);
            let small = (divisor >> shift).max(1);
            prop_assert_eq!(divide(n, small), n / small);
        }
    }
}
