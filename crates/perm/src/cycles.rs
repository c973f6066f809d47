//! The cycles of a permutation, and how many a transposition has.

use num_integer::Integer;

use crate::Transposition;
use crate::divisors::{divisors, multiplicative_order, totient};

/// The cycle that `start` lies on, `start` first.
pub fn cycle(start: usize, dest: impl Fn(usize) -> usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(start), move |&k| Some(dest(k)).filter(|&next| next != start))
}

/// Whether `k` is the leader, the smallest offset, of its cycle (Windley 1959).
///
/// Walks until a smaller offset turns up or the cycle closes: no memory, up to a cycle's length
/// of steps. This is the test of P-IPT (thesis section 4.5).
pub fn is_leader(k: usize, dest: impl Fn(usize) -> usize) -> bool {
    let mut at = dest(k);
    while at > k {
        at = dest(at);
    }
    at == k
}

/// The leaders of all cycles of a permutation of `0..len`, in ascending order.
pub fn leaders(len: usize, dest: impl Fn(usize) -> usize) -> impl Iterator<Item = usize> {
    (0..len).filter(move |&k| is_leader(k, &dest))
}

/// All cycles of a permutation of `0..len`, by ascending leader, each starting at its leader.
///
/// Keeps one mark for each offset: for study and tests, not for moving data.
pub fn cycles(len: usize, dest: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    let mut seen = vec![false; len];
    let mut all = Vec::new();
    for leader in 0..len {
        if !seen[leader] {
            let members: Vec<usize> = cycle(leader, &dest).collect();
            members.iter().for_each(|&k| seen[k] = true);
            all.push(members);
        }
    }
    all
}

impl Transposition {
    /// Offsets that stay where they are: `gcd(m - 1, n - 1) + 1` for an `m x n` matrix with
    /// at least one element.
    pub fn fixed_points(&self) -> u64 {
        let (m, n) = (self.rows as u64, self.cols as u64);
        match m.checked_mul(n) {
            Some(0) => 0,
            Some(1) => 1,
            _ => (m - 1).gcd(&(n - 1)) + 1,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn t(rows: usize, cols: usize) -> Transposition {
        Transposition { rows, cols }
    }

    fn cycles_of(t: Transposition) -> Vec<Vec<usize>> {
        cycles(t.len(), |k| t.dest(k))
    }

    #[test]
    fn thesis_examples() {
        // Section 4.2: 5 x 3; section 4.5: 2 x 5.
        assert_eq!(
            cycles_of(t(5, 3)),
            [vec![0], vec![1, 5, 11, 13, 9, 3], vec![2, 10, 8, 12, 4, 6], vec![7], vec![14]]
        );
        assert_eq!(cycles_of(t(2, 5)), [vec![0], vec![1, 2, 4, 8, 7, 5], vec![3, 6], vec![9]]);
    }

    #[test]
    fn closed_forms_match_enumeration() {
        let mut mark = vec![0u32; 200 * 200];
        let mut round = 0;
        for m in 1..=200 {
            for n in 1..=200 {
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
    fn leaders_start_the_cycles() {
        for m in 1..20 {
            for n in 1..20 {
                let t = t(m, n);
                let all: Vec<usize> = leaders(t.len(), |k| t.dest(k)).collect();
                let firsts: Vec<usize> = cycles_of(t).iter().map(|c| c[0]).collect();
                assert_eq!(all, firsts);
            }
        }
    }
}
