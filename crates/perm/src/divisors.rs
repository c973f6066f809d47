//! Prime factors and divisors.

use num_integer::Integer;

/// Returns the `(prime, exponent)` pairs of the factors of `n`, in ascending order; empty for 0 and
/// 1.
#[doc(hidden)]
pub fn factorise(n: u64) -> Vec<(u64, u32)> {
    let mut primes = Vec::new();
    if n > 1 {
        split(n, &mut primes);
    }
    primes.sort_unstable();
    primes.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect()
}

/// Returns all divisors of `n` in ascending order; empty for 0.
pub fn divisors(n: u64) -> Vec<u64> {
    if n == 0 {
        return Vec::new();
    }
    let mut all = vec![1];
    for (prime, exponent) in factorise(n) {
        let without = all.clone();
        let mut power = 1;
        for _ in 0..exponent {
            power *= prime;
            all.extend(without.iter().map(|d| d * power));
        }
    }
    all.sort_unstable();
    all
}

/// Exclusive upper bound of trial divisors. Larger factors are found with Pollard's rho.
const TRIAL_LIMIT: u64 = 1 << 12;

fn split(n: u64, primes: &mut Vec<u64>) {
    let mut rest = n;
    let mut d = 2;
    while d < TRIAL_LIMIT && d * d <= rest {
        while rest.is_multiple_of(d) {
            primes.push(d);
            rest /= d;
        }
        d += if d == 2 { 1 } else { 2 };
    }
    if rest > 1 {
        split_large(rest, primes);
    }
}

fn split_large(n: u64, primes: &mut Vec<u64>) {
    if is_prime(n) {
        primes.push(n);
        return;
    }
    let factor = pollard_rho(n);
    split_large(factor, primes);
    split_large(n / factor, primes);
}

/// Returns `true` if `n` is prime. Miller-Rabin with the first twelve primes as bases is exact
/// below 2^64 (Sorenson and Webster 2015).
fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    if let Some(&p) = BASES.iter().find(|&&p| n.is_multiple_of(p)) {
        return n == p;
    }
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    BASES.iter().all(|&base| {
        let mut x = pow_mod(base, odd, n);
        let mut passes = x == 1 || x == n - 1;
        for _ in 1..twos {
            x = mul_mod(x, x, n);
            passes |= x == n - 1;
        }
        passes
    })
}

/// Returns a proper factor of a composite `n` without factors below [`TRIAL_LIMIT`] (Pollard 1975).
fn pollard_rho(n: u64) -> u64 {
    (1..)
        .find_map(|c| {
            let step = |x: u64| add_mod(mul_mod(x, x, n), c, n);
            let (mut slow, mut fast, mut factor) = (2, 2, 1);
            while factor == 1 {
                slow = step(slow);
                fast = step(step(fast));
                factor = slow.abs_diff(fast).gcd(&n);
            }
            (factor != n).then_some(factor)
        })
        .expect("no constant finds a factor of a composite number")
}

fn add_mod(a: u64, b: u64, n: u64) -> u64 {
    ((u128::from(a) + u128::from(b)) % u128::from(n)) as u64
}

fn mul_mod(a: u64, b: u64, n: u64) -> u64 {
    // A 128-bit division is slow, and sides of matrices rarely need one.
    if n <= 1 << 32 {
        return a * b % n;
    }
    (u128::from(a) * u128::from(b) % u128::from(n)) as u64
}

/// Returns `base` to the power of `exponent`, modulo `n`.
#[doc(hidden)]
pub fn pow_mod(base: u64, mut exponent: u64, n: u64) -> u64 {
    let (mut power, mut square) = (1 % n, base % n);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = mul_mod(power, square, n);
        }
        square = mul_mod(square, square, n);
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_match_trial_division() {
        assert!(divisors(0).is_empty());
        for n in 1..2000 {
            let by_trial: Vec<u64> = (1..=n).filter(|d| n % d == 0).collect();
            assert_eq!(divisors(n), by_trial);
        }
    }

    #[test]
    fn factors_of_large_numbers_multiply_to_them() {
        for n in [
            u64::MAX,
            (1 << 61) - 1,
            4_294_967_291 * 4_294_967_279,
            20_011 * 16_381 - 1,
            3_037_000_493 * 3_037_000_493,
        ] {
            let factors = factorise(n);
            assert!(factors.iter().all(|&(prime, _)| is_prime(prime)));
            assert_eq!(factors.iter().map(|&(p, e)| p.pow(e)).product::<u64>(), n);
        }
        assert_eq!(factorise(1), []);
        assert_eq!(factorise(0), []);
    }
}
