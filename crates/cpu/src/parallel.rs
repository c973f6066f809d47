//! Division of work among CPU threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::pool;

pub use turntile_perm::split_evenly;
use turntile_simd::Byte;

/// Runs `work(share, part)` for every share of the work, with its own part of `scratch`: `each`
/// bytes.
///
/// The first share runs in the calling thread, which would otherwise only wait. A single share uses
/// no thread pool. Other shares run on the pool that [`pool`] selects.
pub fn for_each_thread<S: Send>(
    shares: impl IntoIterator<Item = S, IntoIter: ExactSizeIterator>,
    scratch: &mut [Byte],
    each: usize,
    work: impl Fn(S, &mut [Byte]) + Sync,
) {
    let mut rest = scratch;
    let with_scratch =
        |share| (share, rest.split_off_mut(..each).expect("scratch has room for every share"));
    pool::for_each(shares.into_iter().map(with_scratch), |(share, mine)| work(share, mine));
}

/// Maximum average number of grains per thread. A grain is the items that a thread claims at a
/// time. If one delays its thread, other threads claim the rest.
const GRAINS_PER_THREAD: usize = 8;

/// Returns the number of items that each of `threads` threads claims at a time. A single thread
/// claims all at once.
pub fn grain(items: usize, threads: usize) -> usize {
    let grains = if threads > 1 { threads * GRAINS_PER_THREAD } else { 1 };
    items.div_ceil(grains).max(1)
}

/// Counter of items that threads claim, one grain at a time.
pub struct WorkCounter {
    next: AtomicUsize,
    items: usize,
    each: usize,
}

impl WorkCounter {
    /// Creates a counter of the items `0..items` for `threads` threads.
    pub fn new(items: usize, threads: usize) -> Self {
        WorkCounter { next: AtomicUsize::new(0), items, each: grain(items, threads) }
    }

    /// Claims a grain for the calling thread and returns its items, or `None` if all items are
    /// claimed.
    pub fn claim(&self) -> Option<Range<usize>> {
        // The counter exceeds `items` by less than `threads + 1` grains.
        let start = self.next.fetch_add(self.each, Ordering::Relaxed);
        (start < self.items).then(|| start..self.items.min(start + self.each))
    }
}

/// Splits `bytes` into a list of consecutive slices of the given lengths.
///
/// # Panics
/// If the sum of the lengths exceeds the number of bytes.
pub fn cut(bytes: &mut [Byte], lens: impl Iterator<Item = usize>) -> Vec<&mut [Byte]> {
    let mut rest = bytes;
    lens.map(|len| rest.split_off_mut(..len).expect("the lengths fit the bytes")).collect()
}

/// Runs `work(own, items, saved, scratch)` on each thread.
///
/// The arguments are the thread's bytes of `data`, its range of the items, and its equal part of
/// the saved bytes and of the scratch. `bytes` returns the length in `data` of a range of items.
pub fn over_runs(
    data: &mut [Byte],
    [items, threads]: [usize; 2],
    bytes: impl Fn(&Range<usize>) -> usize,
    (saved, saved_bytes_each): (&[Byte], usize),
    (scratch, scratch_bytes_each): (&mut [Byte], usize),
    work: impl Fn(&mut [Byte], Range<usize>, &[Byte], &mut [Byte]) + Sync,
) {
    let ranges = (0..threads).map(|part| split_evenly(items, threads, part));
    let own = cut(data, ranges.clone().map(|range| bytes(&range)));
    let shares: Vec<_> = own.into_iter().zip(ranges).enumerate().collect();
    for_each_thread(shares, scratch, scratch_bytes_each, |(part, (own, range)), scratch| {
        work(own, range, &saved[part * saved_bytes_each..][..saved_bytes_each], scratch);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_claimed_once() {
        for items in [0, 1, 7, 1000] {
            for threads in 1..5 {
                let (draws, seen) = (WorkCounter::new(items, threads), AtomicUsize::new(0));
                for_each_thread(0..threads, &mut [], 0, |_, _| {
                    while let Some(range) = draws.claim() {
                        seen.fetch_add(range.map(|item| item + 1).sum(), Ordering::Relaxed);
                    }
                });
                assert_eq!(seen.into_inner(), items * (items + 1) / 2, "{items} by {threads}");
            }
        }
        assert_eq!(
            WorkCounter::new(1000, 1).claim(),
            Some(0..1000),
            "a single thread claims all items"
        );
        assert_eq!(WorkCounter::new(1000, 2).claim(), Some(0..63));
    }

    #[test]
    fn every_thread_has_its_own_scratch() {
        for threads in 1..5 {
            let mut scratch = vec![Byte::new(0); threads * 3];
            let seen = AtomicUsize::new(0);
            for_each_thread(0..threads, &mut scratch, 3, |part, mine| {
                mine.fill(Byte::new(part as u8));
                seen.fetch_add(1 << (8 * part), Ordering::Relaxed);
            });
            assert_eq!(seen.into_inner(), (0..threads).map(|part| 1 << (8 * part)).sum::<usize>());
        }
    }
}
