//! Runs of chunks that threads work through a band at a time: each its own, then parts of what others have left.
//!
//! A band reads the chunk beside it, the one that its run comes to next, and at the run's end what was *kept* of the
//! chunk beyond, which is another's. So whoever takes the far part of a run first keeps what its owner will need of
//! that, in its own buffer, and gets the one with what lies beyond.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use turntile_plan::Direction;
use turntile_simd::Byte;

use crate::cells::Cells;
use crate::parallel;

/// The runs of all threads, with buffers of what is kept.
pub struct ChunkQueue<K> {
    runs: Vec<Mutex<Run<K>>>,
    direction: Direction,
    band: usize,
}

/// What nobody has drawn yet of a run, and what is kept of the chunk beyond, until its last band is drawn.
struct Run<K> {
    left: Range<usize>,
    kept: Option<K>,
}

/// Chunks for the one thread that has drawn them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Their numbers.
    pub chunks: Range<usize>,
    /// The chunk beside them, or none at the end of a run: what is kept of the one beyond is then the drawer's.
    pub beside: Option<usize>,
}

/// What a band reads beside itself.
pub enum Neighbour<'a, K> {
    /// The chunk that its run comes to next.
    Chunk(&'a [Byte]),
    /// At the run's end, what is kept of the chunk beyond.
    Kept(&'a mut K),
}

impl<K> ChunkQueue<K> {
    /// Each with what is kept of the chunk beyond it, in bands of at most `band` chunks. Forward they are worked
    /// on from the first chunk to the last, backward the other way round.
    pub fn new(
        runs: impl IntoIterator<Item = (Range<usize>, K)>,
        direction: Direction,
        band: usize,
    ) -> Self {
        let run = |(left, kept)| Mutex::new(Run { left, kept: Some(kept) });
        ChunkQueue { runs: runs.into_iter().map(run).collect(), direction, band }
    }

    /// Threads.
    pub fn parts(&self) -> usize {
        self.runs.len()
    }

    fn run(&self, part: usize) -> MutexGuard<'_, Run<K>> {
        // Nothing panics between two changes that belong together.
        self.runs[part].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on `data`, chunks of `chunk_bytes` bytes, in the bands that every part draws; `scratch` holds `each` bytes
    /// for each part.
    ///
    /// `work` gets a band, what is beside it and scratch; `keep` a chunk's number and bytes.
    pub fn over(
        &self,
        data: &mut [Byte],
        chunk_bytes: usize,
        (scratch, each): (&mut [Byte], usize),
        keep: impl Fn(usize, &[Byte], &mut K) + Sync,
        work: impl Fn(&mut [Byte], Neighbour<K>, &mut [Byte]) + Sync,
    ) where
        K: Send,
    {
        let pieces = Cells::new(data, chunk_bytes);
        parallel::for_each_thread(0..self.parts(), scratch, each, |part, scratch| {
            let mut kept = None;
            let keep = |n: usize, kept: &mut K| keep(n, &pieces.read(n), kept);
            while let Some(Claim { chunks, beside }) = self.draw(part, &mut kept, keep) {
                let read = beside.map(|n| pieces.read(n));
                let beside = match &read {
                    Some(chunk) => Neighbour::Chunk(chunk),
                    None => Neighbour::Kept(kept.as_mut().expect("kept at the end of a run")),
                };
                work(&mut pieces.write(chunks), beside, scratch);
            }
        });
    }

    /// The next band for `part`, which has its run's buffer in `kept` from the run's end on, until it takes part of
    /// another.
    ///
    /// `keep` is to keep what will be needed of a chunk; nobody works on that or reads it as long.
    pub fn draw(
        &self,
        part: usize,
        kept: &mut Option<K>,
        keep: impl Fn(usize, &mut K),
    ) -> Option<Claim> {
        let done = self.run(part).left.is_empty();
        if done {
            let taken = self.take_over(kept, keep)?;
            *self.run(part) = taken;
        }
        let mut run = self.run(part);
        let count = self.band_of(run.left.len());
        let Range { start, end } = run.left;
        let (chunks, left) = match self.direction {
            Direction::Forward => (start..start + count, start + count..end),
            Direction::Backward => (end - count..end, start..end - count),
        };
        let beside = match self.direction {
            _ if left.is_empty() => None,
            Direction::Forward => Some(chunks.end),
            Direction::Backward => Some(chunks.start - 1),
        };
        if beside.is_none() {
            *kept = run.kept.take();
        }
        run.left = left;
        Some(Claim { chunks, beside })
    }

    /// Chunks of a band when so many are left: fewer towards the end, where others may wait for it.
    fn band_of(&self, left: usize) -> usize {
        match self.parts() {
            1 => left.min(self.band),
            _ => left.div_ceil(2).clamp(self.band.div_ceil(4), self.band).min(left),
        }
    }

    /// The far part of the longest run.
    fn take_over(&self, spare: &mut Option<K>, keep: impl Fn(usize, &mut K)) -> Option<Run<K>> {
        let longest = (0..self.parts()).max_by_key(|&part| self.run(part).left.len())?;
        let mut run = self.run(longest);
        let Range { start, end } = run.left;
        // Its owner is still at a band, and reads the chunk beside that.
        let taken = (run.left.len() + self.band / 2) / 2;
        let taken = taken.min(run.left.len().saturating_sub(1));
        if taken == 0 {
            return None;
        }
        let mut kept = spare.take()?;
        let (near, far, beyond) = match self.direction {
            Direction::Forward => (start..end - taken, end - taken..end, end - taken),
            Direction::Backward => (start + taken..end, start..start + taken, start + taken - 1),
        };
        keep(beyond, &mut kept);
        run.left = near;
        Some(Run { left: far, kept: run.kept.replace(kept) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts that take turns at random: every chunk is drawn once, what a band reads beside it is not drawn until
    /// the band is done, and what is kept when a run ends is of the chunk beyond.
    fn check(chunks: usize, parts: usize, band: usize, direction: Direction, random: &mut u64) {
        let beyond = |run: &Range<usize>| match direction {
            Direction::Forward => run.end,
            Direction::Backward => run.start.wrapping_sub(1),
        };
        let shares = (0..parts).map(|part| {
            let run = parallel::share(chunks, parts, part);
            let kept = beyond(&run);
            (run, kept)
        });
        let runs = ChunkQueue::new(shares, direction, band);
        let mut kept = vec![None; parts];
        let mut drawn = vec![false; chunks];
        let mut reading = vec![None; parts];
        let mut working: Vec<usize> = (0..parts).collect();
        while !working.is_empty() {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let k = (*random >> 33) as usize % working.len();
            let part = working[k];
            reading[part] = None;
            let keep = |chunk: usize, kept: &mut usize| {
                assert!(!drawn[chunk], "{chunk} is worked on");
                *kept = chunk;
            };
            let Some(Claim { chunks, beside }) = runs.draw(part, &mut kept[part], keep) else {
                working.swap_remove(k);
                continue;
            };
            assert!(!chunks.is_empty() && chunks.len() <= band);
            for chunk in chunks.clone() {
                assert!(!std::mem::replace(&mut drawn[chunk], true), "{chunk} drawn twice");
                assert!(!reading.contains(&Some(chunk)), "{chunk} is being read");
            }
            let found = beside.or(kept[part]);
            assert_eq!(found, Some(beyond(&chunks)), "for {chunks:?}");
            assert!(beside.is_none_or(|chunk| !drawn[chunk]), "beside {chunks:?}");
            reading[part] = beside;
        }
        assert!(drawn.into_iter().all(|drawn| drawn), "{chunks} chunks, {parts} parts");
    }

    #[test]
    fn every_chunk_is_drawn_once_and_what_is_read_beside_it_is_as_it_was() {
        let mut random = 1;
        for direction in [Direction::Forward, Direction::Backward] {
            for parts in 1..6 {
                for chunks in (parts..40).chain([200]) {
                    for band in [1, 2, 3, 16] {
                        check(chunks, parts, band, direction, &mut random);
                    }
                }
            }
        }
    }
}
