//! Splitting work over threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::pool;

pub use turntile_perm::share;
use turntile_simd::Byte;

/// Runs `work(share, scratch)` for every share, each with `each` bytes of `scratch`.
///
/// The first share runs in the calling thread, which would else wait for the others; one share alone touches no thread
/// pool. More run where [`threads`] says.
pub fn for_each_thread<S: Send>(
    shares: impl IntoIterator<Item = S, IntoIter: ExactSizeIterator>,
    scratch: &mut [Byte],
    each: usize,
    work: impl Fn(S, &mut [Byte]) + Sync,
) {
    let mut rest = scratch;
    let with_scratch = |share| (share, rest.split_off_mut(..each).expect("scratch for each share"));
    pool::each(shares.into_iter().map(with_scratch), |(share, mine)| work(share, mine));
}

/// Runs of items for each of several threads, on average: a thread that is held up for one of them leaves the others
/// the rest.
const TURNS: usize = 8;

/// How many of so many items each of several threads draws at a time; one alone draws all.
pub fn grain(items: usize, parts: usize) -> usize {
    let turns = if parts > 1 { parts * TURNS } else { 1 };
    items.div_ceil(turns).max(1)
}

/// Items that threads draw, some at a time.
pub struct WorkCounter {
    next: AtomicUsize,
    items: usize,
    each: usize,
}

impl WorkCounter {
    /// Items `0..items` for `parts` threads.
    pub fn new(items: usize, parts: usize) -> Self {
        WorkCounter { next: AtomicUsize::new(0), items, each: grain(items, parts) }
    }

    /// The next ones, which nobody else draws.
    pub fn draw(&self) -> Option<Range<usize>> {
        // Past the end by one turn of each thread at most.
        let start = self.next.fetch_add(self.each, Ordering::Relaxed);
        (start < self.items).then(|| start..self.items.min(start + self.each))
    }
}

/// Bytes cut into pieces of those lengths, which add up to at most all of them.
pub fn cut(bytes: &mut [Byte], lens: impl Iterator<Item = usize>) -> Vec<&mut [Byte]> {
    let mut rest = bytes;
    lens.map(|len| rest.split_off_mut(..len).expect("pieces add up")).collect()
}

/// Runs `work(own, items, kept, scratch)` for every part of `items` items: their bytes of `data`, which `bytes` counts, and an
/// equal part of what is kept and of the scratch.
pub fn over_runs(
    data: &mut [Byte],
    [items, parts]: [usize; 2],
    bytes: impl Fn(&Range<usize>) -> usize,
    (kept, each_kept): (&[Byte], usize),
    (scratch, each_scratch): (&mut [Byte], usize),
    work: impl Fn(&mut [Byte], Range<usize>, &[Byte], &mut [Byte]) + Sync,
) {
    let runs = (0..parts).map(|part| share(items, parts, part));
    let own = cut(data, runs.clone().map(|run| bytes(&run)));
    let shares: Vec<_> = own.into_iter().zip(runs).enumerate().collect();
    for_each_thread(shares, scratch, each_scratch, |(part, (own, run)), scratch| {
        work(own, run, &kept[part * each_kept..][..each_kept], scratch);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_drawn_once() {
        for items in [0, 1, 7, 1000] {
            for parts in 1..5 {
                let (draws, seen) = (WorkCounter::new(items, parts), AtomicUsize::new(0));
                for_each_thread(0..parts, &mut [], 0, |_, _| {
                    while let Some(run) = draws.draw() {
                        seen.fetch_add(run.map(|item| item + 1).sum(), Ordering::Relaxed);
                    }
                });
                assert_eq!(seen.into_inner(), items * (items + 1) / 2, "{items} by {parts}");
            }
        }
        assert_eq!(WorkCounter::new(1000, 1).draw(), Some(0..1000), "alone all at once");
        assert_eq!(WorkCounter::new(1000, 2).draw(), Some(0..63));
    }

    #[test]
    fn every_part_runs_with_scratch_of_its_own() {
        for parts in 1..5 {
            let mut scratch = vec![Byte::new(0); parts * 3];
            let seen = AtomicUsize::new(0);
            for_each_thread(0..parts, &mut scratch, 3, |part, mine| {
                mine.fill(Byte::new(part as u8));
                seen.fetch_add(1 << (8 * part), Ordering::Relaxed);
            });
            assert_eq!(seen.into_inner(), (0..parts).map(|part| 1 << (8 * part)).sum::<usize>());
        }
    }
}
