//! Scheduler for runs of chunks: threads process their own run a band at a time, then steal part of
//! another thread's run.
//!
//! A band also reads its neighbour: the next chunk of the run in processing order, or at the end of
//! the run saved data of the chunk beyond. A thread that steals the far part of a run first saves,
//! in its own buffer, the data that the owner needs of the stolen chunk next to its own. In
//! exchange it gets the owner's buffer, with the data for the end of the run.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use turntile_plan::Direction;
use turntile_simd::Byte;

use crate::cells::Cells;
use crate::parallel;

/// Queue of the chunks of all threads, one run each, with buffers `K` of saved data.
pub struct ChunkQueue<K> {
    runs: Vec<Mutex<Run<K>>>,
    direction: Direction,
    band: usize,
}

/// Unclaimed chunks of a thread, and the saved data of the chunk beyond until the last band is
/// claimed.
struct Run<K> {
    left: Range<usize>,
    saved: Option<K>,
}

/// Band of chunks that one thread has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Indices of the chunks.
    pub chunks: Range<usize>,
    /// Index of the neighbouring chunk. `None` at the end of a run of chunks: the claimant then
    /// gets the saved data of the chunk beyond.
    pub neighbour: Option<usize>,
}

/// Data that a band reads in addition to its own chunks.
pub enum Neighbour<'a, K> {
    /// Next chunk of the run of chunks, in processing order.
    Chunk(&'a [Byte]),
    /// Saved data of the chunk beyond the end of the run of chunks.
    Saved(&'a mut K),
}

impl<K> ChunkQueue<K> {
    /// Creates a queue of runs of chunks, one per thread, each with the saved data of the chunk
    /// beyond. Bands have at most `band` chunks. Forward, chunks are processed from first to last,
    /// backward from last to first.
    pub fn new(
        runs: impl IntoIterator<Item = (Range<usize>, K)>,
        direction: Direction,
        band: usize,
    ) -> Self {
        let run = |(left, saved)| Mutex::new(Run { left, saved: Some(saved) });
        ChunkQueue { runs: runs.into_iter().map(run).collect(), direction, band }
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.runs.len()
    }

    fn run(&self, thread: usize) -> MutexGuard<'_, Run<K>> {
        // A poisoned lock is usable: no panic can occur between two related changes.
        self.runs[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Processes `data`, chunks of `chunk_bytes` bytes, in the bands that every thread claims.
    /// `scratch` has `each` bytes per thread.
    ///
    /// `work` gets a band, its neighbour and scratch. `save` gets a chunk's index and bytes, and
    /// the buffer to save to.
    pub fn over(
        &self,
        data: &mut [Byte],
        chunk_bytes: usize,
        (scratch, each): (&mut [Byte], usize),
        save: impl Fn(usize, &[Byte], &mut K) + Sync,
        work: impl Fn(&mut [Byte], Neighbour<K>, &mut [Byte]) + Sync,
    ) where
        K: Send,
    {
        let cells = Cells::new(data, chunk_bytes);
        parallel::for_each_thread(0..self.threads(), scratch, each, |thread, scratch| {
            let mut saved = None;
            let save = |n: usize, saved: &mut K| save(n, &cells.read(n), saved);
            while let Some(Claim { chunks, neighbour }) = self.claim(thread, &mut saved, save) {
                let read = neighbour.map(|n| cells.read(n));
                let neighbour = match &read {
                    Some(chunk) => Neighbour::Chunk(chunk),
                    None => {
                        Neighbour::Saved(saved.as_mut().expect("saved data at the end of a run"))
                    }
                };
                work(&mut cells.write(chunks), neighbour, scratch);
            }
        });
    }

    /// Claims the next band of chunks for `thread`, from its own run or a stolen one, or returns
    /// `None` if there is nothing to steal. At the end of a run, `saved` receives the run's buffer,
    /// which the thread needs to steal.
    ///
    /// `save(n, buffer)` must save the needed data of chunk `n`, which no other thread processes or
    /// reads meanwhile.
    pub fn claim(
        &self,
        thread: usize,
        saved: &mut Option<K>,
        save: impl Fn(usize, &mut K),
    ) -> Option<Claim> {
        let is_empty = self.run(thread).left.is_empty();
        if is_empty {
            let taken = self.steal(saved, save)?;
            *self.run(thread) = taken;
        }
        let mut run = self.run(thread);
        let count = self.band_of(run.left.len());
        let Range { start, end } = run.left;
        let (chunks, left) = match self.direction {
            Direction::Forward => (start..start + count, start + count..end),
            Direction::Backward => (end - count..end, start..end - count),
        };
        let neighbour = match self.direction {
            _ if left.is_empty() => None,
            Direction::Forward => Some(chunks.end),
            Direction::Backward => Some(chunks.start - 1),
        };
        if neighbour.is_none() {
            *saved = run.saved.take();
        }
        run.left = left;
        Some(Claim { chunks, neighbour })
    }

    /// Returns the number of chunks of the next band if `left` are unclaimed. With several threads,
    /// bands shrink towards the end of a run of chunks, where other threads may wait.
    fn band_of(&self, left: usize) -> usize {
        match self.threads() {
            1 => left.min(self.band),
            _ => left.div_ceil(2).clamp(self.band.div_ceil(4), self.band).min(left),
        }
    }

    /// Removes the far part of the longest run of chunks and returns it, or `None` if that run has
    /// fewer than two unclaimed chunks, or if `spare` has no buffer.
    fn steal(&self, spare: &mut Option<K>, save: impl Fn(usize, &mut K)) -> Option<Run<K>> {
        let longest = (0..self.threads()).max_by_key(|&thread| self.run(thread).left.len())?;
        let mut run = self.run(longest);
        let Range { start, end } = run.left;
        // The owner is still processing a band, so the thief takes more than half, but not the
        // neighbour that the owner reads.
        let taken = (run.left.len() + self.band / 2) / 2;
        let taken = taken.min(run.left.len().saturating_sub(1));
        if taken == 0 {
            return None;
        }
        let mut saved = spare.take()?;
        let (near, far, beyond) = match self.direction {
            Direction::Forward => (start..end - taken, end - taken..end, end - taken),
            Direction::Backward => (start + taken..end, start..start + taken, start + taken - 1),
        };
        save(beyond, &mut saved);
        run.left = near;
        Some(Run { left: far, saved: run.saved.replace(saved) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks claims in random order: every chunk is claimed once, and a band's neighbour only
    /// after the band. Data saved for the end of a run are of the chunk beyond.
    fn check(chunks: usize, threads: usize, band: usize, direction: Direction, random: &mut u64) {
        let beyond = |run: &Range<usize>| match direction {
            Direction::Forward => run.end,
            Direction::Backward => run.start.wrapping_sub(1),
        };
        let shares = (0..threads).map(|thread| {
            let run = parallel::split_evenly(chunks, threads, thread);
            let saved = beyond(&run);
            (run, saved)
        });
        let runs = ChunkQueue::new(shares, direction, band);
        let mut saved = vec![None; threads];
        let mut claimed = vec![false; chunks];
        let mut reading = vec![None; threads];
        let mut working: Vec<usize> = (0..threads).collect();
        while !working.is_empty() {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let k = (*random >> 33) as usize % working.len();
            let thread = working[k];
            reading[thread] = None;
            let save = |chunk: usize, saved: &mut usize| {
                assert!(!claimed[chunk], "{chunk} is being processed");
                *saved = chunk;
            };
            let Some(Claim { chunks, neighbour }) = runs.claim(thread, &mut saved[thread], save)
            else {
                working.swap_remove(k);
                continue;
            };
            assert!(!chunks.is_empty() && chunks.len() <= band);
            for chunk in chunks.clone() {
                assert!(!std::mem::replace(&mut claimed[chunk], true), "{chunk} claimed twice");
                assert!(!reading.contains(&Some(chunk)), "{chunk} is being read");
            }
            let found = neighbour.or(saved[thread]);
            assert_eq!(found, Some(beyond(&chunks)), "for {chunks:?}");
            assert!(neighbour.is_none_or(|chunk| !claimed[chunk]), "neighbour of {chunks:?}");
            reading[thread] = neighbour;
        }
        assert!(claimed.into_iter().all(|claimed| claimed), "{chunks} chunks, {threads} threads");
    }

    #[test]
    fn claims_cover_every_chunk_once_and_never_a_neighbour_being_read() {
        let mut random = 1;
        for direction in [Direction::Forward, Direction::Backward] {
            for threads in 1..6 {
                for chunks in (threads..40).chain([200]) {
                    for band in [1, 2, 3, 16] {
                        check(chunks, threads, band, direction, &mut random);
                    }
                }
            }
        }
    }
}
