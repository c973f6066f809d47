//! Where the elements of a row-major matrix go when it is transposed, and along how many cycles, in closed form.

use turntile_perm::divisors::{divisors, factorise, pow_mod};

/// The transposition of a `rows` by `cols` row-major matrix, as a permutation of its offsets.
///
/// Thesis equation 4.3 writes it `k' = k·m mod (mn - 1)` for an `m x n` matrix, the last element
/// staying put; equation 4.2 is the same for a column-major matrix. The forms here divide instead
/// of multiplying, so that nothing exceeds the number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transposition {
    /// Rows before.
    pub rows: usize,
    /// Columns before.
    pub cols: usize,
}

impl Transposition {
    /// Elements of the matrix.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Whether the matrix has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the element at offset `k` goes (equation 4.3).
    pub fn dest(&self, k: usize) -> usize {
        k % self.cols * self.rows + k / self.cols
    }

    /// Where the element that ends at offset `k` comes from: the inverse of [`dest`](Self::dest).
    pub fn source(&self, k: usize) -> usize {
        self.inverse().dest(k)
    }

    /// The transposition back, of the `cols` by `rows` matrix; also what equation 4.2 is to 4.3,
    /// since a column-major `rows x cols` matrix is a row-major `cols x rows` one.
    pub fn inverse(&self) -> Self {
        Transposition { rows: self.cols, cols: self.rows }
    }
}

impl Transposition {
    /// Offsets that stay where they are: `gcd(m - 1, n - 1) + 1` for an `m x n` matrix with
    /// at least one element.
    pub fn fixed_points(&self) -> u64 {
        let (m, n) = (self.rows as u64, self.cols as u64);
        match m.checked_mul(n) {
            Some(0) => 0,
            Some(1) => 1,
            _ => gcd(m - 1, n - 1) + 1,
        }
    }

    /// Number of cycles, fixed points included, in closed form (Cate and Twigg, TOMS 513).
    ///
    /// With `K = mn - 1`, offsets `k < K` with `gcd(k, K) = K/d` number `totient(d)` and lie on
    /// cycles as long as the order of `m` modulo `d`; the last offset is a cycle of its own.
    /// `None` when `m·n` does not fit 64 bits.
    pub fn cycle_count(&self) -> Option<u64> {
        let (m, n) = (self.rows as u64, self.cols as u64);
        let last = match m.checked_mul(n)? {
            0 => return Some(0),
            len => len - 1,
        };
        let on_divisor = |d: u64| {
            let length = multiplicative_order(m % d, d).expect("m is coprime to mn - 1");
            totient(d) / length
        };
        Some(divisors(last).into_iter().map(on_divisor).sum::<u64>() + 1)
    }

    /// Number of cycles that move something: [`cycle_count`](Self::cycle_count) less the
    /// fixed points (thesis figure 4.6).
    pub fn nontrivial_cycle_count(&self) -> Option<u64> {
        Some(self.cycle_count()? - self.fixed_points())
    }

    /// Length of the longest cycle, a multiple of every other one's (Cate and Twigg): the order of
    /// `m` modulo `mn - 1`. `None` when `m·n` does not fit 64 bits; 0 for an empty matrix.
    pub fn longest_cycle(&self) -> Option<u64> {
        let (m, n) = (self.rows as u64, self.cols as u64);
        match m.checked_mul(n)? {
            0 => Some(0),
            1 => Some(1),
            len => multiplicative_order(m % (len - 1), len - 1),
        }
    }
}

/// Euler's totient: how many of `1..=n` are coprime to `n`.
pub fn totient(n: u64) -> u64 {
    factorise(n).iter().fold(n, |phi, &(prime, _)| phi / prime * (prime - 1))
}

/// The smallest `k >= 1` with `a^k = 1 (mod n)`; `None` when `a` and `n` share a factor.
pub fn multiplicative_order(a: u64, n: u64) -> Option<u64> {
    if n == 0 || gcd(a, n) != 1 {
        return None;
    }
    // The order divides the totient: take prime after prime out of it while the power stays 1.
    let phi = totient(n);
    let is_one = |k: u64| pow_mod(a, k, n) == 1 % n;
    let mut order = phi;
    for (prime, exponent) in factorise(phi) {
        for _ in 0..exponent {
            if !is_one(order / prime) {
                break;
            }
            order /= prime;
        }
    }
    Some(order)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cycle that `start` lies on, `start` first.
    fn cycle(start: usize, dest: impl Fn(usize) -> usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(start), move |&k| Some(dest(k)).filter(|&next| next != start))
    }

    /// Equation 4.3 as printed.
    fn equation_4_3(m: usize, n: usize, k: usize) -> usize {
        let last = m * n - 1;
        if k == last { last } else { k * m % last }
    }

    /// Equation 4.2 as printed, for a column-major matrix.
    fn equation_4_2(m: usize, n: usize, k: usize) -> usize {
        let last = m * n - 1;
        if k == last { last } else { k * n % last }
    }

    #[test]
    fn matches_the_equations_as_printed() {
        for m in 1..40 {
            for n in 1..40 {
                let t = Transposition { rows: m, cols: n };
                for k in 0..m * n {
                    assert_eq!(t.dest(k), equation_4_3(m, n, k));
                    assert_eq!(t.inverse().dest(k), equation_4_2(m, n, k));
                    assert_eq!(t.source(t.dest(k)), k);
                    assert_eq!(t.dest(t.source(k)), k);
                }
            }
        }
    }

    #[test]
    fn element_at_row_and_column_goes_to_column_and_row() {
        let t = Transposition { rows: 7, cols: 11 };
        for i in 0..7 {
            for j in 0..11 {
                assert_eq!(t.dest(i * 11 + j), j * 7 + i);
            }
        }
    }

    fn t(rows: usize, cols: usize) -> Transposition {
        Transposition { rows, cols }
    }

    #[test]
    fn thesis_examples() {
        // Section 4.2: 5 x 3; section 4.5: 2 x 5.
        let cycle_of =
            |t: Transposition, start| cycle(start, move |k| t.dest(k)).collect::<Vec<_>>();
        assert_eq!(cycle_of(t(5, 3), 1), [1, 5, 11, 13, 9, 3]);
        assert_eq!(cycle_of(t(5, 3), 2), [2, 10, 8, 12, 4, 6]);
        assert_eq!([0, 7, 14].map(|k| t(5, 3).dest(k)), [0, 7, 14]);
        assert_eq!(cycle_of(t(2, 5), 1), [1, 2, 4, 8, 7, 5]);
        assert_eq!(cycle_of(t(2, 5), 3), [3, 6]);
    }

    /// Section 4.5's trace of PTTWAC on 2 x 5 with nine work-items, of which four run at a time: which flags each step sets and
    /// which work-items it ends. (The text ends 3 with the last step; its flag is set in the one before. It leaves out 8.)
    #[test]
    fn trace_of_pttwac() {
        let (map, mut memory) = (t(2, 5), (0..10).collect::<Vec<usize>>());
        let mut done = [false; 10];
        // Work-items that run: their number, the element in hand, and the place that it goes to.
        let mut running: Vec<(usize, usize, usize)> = Vec::new();
        for (scheduled, flags, ended) in [
            (vec![0, 1, 2, 3], vec![2, 4, 6], vec![0]),
            (vec![4], vec![8, 3], vec![4, 1]),
            (vec![5, 6, 7], vec![7, 1, 5], vec![6, 3]),
            (vec![8], vec![], vec![8, 2, 5, 7]),
        ] {
            let (mut set, mut gone) = (Vec::new(), Vec::new());
            for i in scheduled {
                match done[i] || map.dest(i) == i {
                    true => gone.push(i),
                    false => running.push((i, memory[i], map.dest(i))),
                }
            }
            assert!(running.len() <= 4);
            // Together: all load, then all set flags, then those store that found none.
            let loaded: Vec<usize> = running.iter().map(|&(.., to)| memory[to]).collect();
            let mut left = Vec::new();
            for ((i, element, to), next) in running.into_iter().zip(loaded) {
                if std::mem::replace(&mut done[to], true) {
                    gone.push(i);
                } else {
                    set.push(to);
                    memory[to] = element;
                    left.push((i, next, map.dest(to)));
                }
            }
            running = left;
            set.sort_unstable();
            let sorted = |mut all: Vec<usize>| {
                all.sort_unstable();
                all
            };
            assert_eq!((set, sorted(gone)), (sorted(flags), sorted(ended)));
        }
        assert!(running.is_empty());
        assert!((0..10).all(|k| memory[map.dest(k)] == k), "{memory:?}");
    }

    #[test]
    fn closed_forms_match_enumeration() {
        let mut mark = vec![0u32; 100 * 100];
        let mut round = 0;
        for m in 1..=100 {
            for n in 1..=100 {
                let t = t(m, n);
                round += 1;
                let (mut count, mut fixed, mut longest) = (0, 0, 0);
                for start in 0..t.len() {
                    if mark[start] == round {
                        continue;
                    }
                    let length = cycle(start, |k| t.dest(k)).inspect(|&k| mark[k] = round).count();
                    count += 1;
                    fixed += u64::from(length == 1);
                    longest = longest.max(length as u64);
                }
                assert_eq!(t.cycle_count(), Some(count), "{m}x{n}");
                assert_eq!(t.fixed_points(), fixed, "{m}x{n}");
                assert_eq!(t.longest_cycle(), Some(longest), "{m}x{n}");
                assert_eq!(t.nontrivial_cycle_count(), Some(count - fixed), "{m}x{n}");
            }
        }
        assert_eq!(t(0, 9).cycle_count(), Some(0));
        assert_eq!(t(0, 9).fixed_points(), 0);
        assert_eq!(t(usize::MAX, 2).cycle_count(), None);
    }

    /// Figure 4.6 plots the nontrivial cycles for sides below 30: square matrices have by far the
    /// most, n(n-1)/2 swaps, and most rectangles have few.
    #[test]
    fn figure_4_6() {
        let count = |m, n| t(m, n).nontrivial_cycle_count().unwrap();
        let mut few = 0;
        for m in 1..30 {
            for n in 1..30 {
                assert_eq!(count(m, n), count(n, m), "the inverse has the same cycles");
                assert!(m != n || count(m, n) == (m * (m - 1) / 2) as u64);
                assert!(m == n || count(m, n) <= count(m.max(n), m.max(n)));
                few += usize::from(m != n && count(m, n) < 30);
            }
        }
        assert!(few * 10 > 29 * 28 * 9, "{few} of {} rectangles have under 30", 29 * 28);
        // Read off by hand: 2x5 has two, 5x3 has two, 29x29 has 406.
        assert_eq!((count(2, 5), count(5, 3), count(29, 29)), (2, 2, 406));
    }

    #[test]
    fn totient_and_order_match_counting() {
        for n in 1..200u64 {
            assert_eq!(totient(n), (1..=n).filter(|k| gcd(*k, n) == 1).count() as u64);
            for a in 0..n {
                let mut powers = (1..=n).scan(1, |p, _| {
                    *p = *p * a % n;
                    Some(*p)
                });
                let order = powers.position(|p| p == 1 % n).map(|at| at as u64 + 1);
                assert_eq!(multiplicative_order(a, n), order.filter(|_| gcd(a, n) == 1));
            }
        }
    }
}
