//! In which order super-elements move along the cycles of a permutation.
//!
//! A cycle is followed backwards: one super-element is kept aside, which leaves a hole; what belongs
//! there fills it and leaves a hole in turn; what was kept fills the last one. Every super-element is read once
//! and written once, and a step is one copy.
//!
//! Several workers share nothing while they move. Every position has a *rank*, its place in a
//! scattered order. The positions of the lowest ranks are *milestones*, whose contents are all kept before
//! anything moves; they cut cycles into segments, each of which ends in a hole for what was kept of the
//! next milestone on the way. A segment belongs to the worker that draws it ([`SegmentWalk`]). Then come the
//! cycles without a milestone ([`CycleWalk`]): a worker looks for them in its own share of the positions, and
//! moves those whose lowest rank lies there. Marks, of each worker's own, say which positions have been
//! moved with a segment: every one of a cycle or none. Of a batch with enough instances workers take whole ones, each as if
//! it were alone.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use crate::source_map::SourceMap;

/// A super-element is copied from one place to another. Places are named by byte offsets: in the matrix, or
/// beyond its end for what is kept aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitMove {
    /// Where it lies.
    pub from: usize,
    /// The hole that it fills.
    pub to: usize,
}

/// Positions in a scattered order: multiplied by an odd number modulo a power of two.
#[derive(Clone, Copy, Debug)]
pub struct ScatterOrder {
    positions: usize,
    mask: u64,
}

impl ScatterOrder {
    /// 2^64 over the golden ratio: multiples of it spread evenly.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    /// Its inverse modulo 2^64, and so modulo any lower power of two.
    const INVERSE: u64 = 0xF1DE_83E1_9937_733D;

    /// Of `positions` positions; ranks are less than the next power of two.
    pub fn new(positions: usize) -> Self {
        ScatterOrder { positions, mask: (positions as u64).next_power_of_two() - 1 }
    }

    /// The rank of a position.
    #[inline]
    pub fn of(&self, p: usize) -> usize {
        ((p as u64).wrapping_mul(Self::FACTOR) & self.mask) as usize
    }

    /// The position of that rank, if one has it.
    pub fn position(&self, rank: usize) -> Option<usize> {
        let p = ((rank as u64).wrapping_mul(Self::INVERSE) & self.mask) as usize;
        (rank as u64 <= self.mask && p < self.positions).then_some(p)
    }
}

/// A bit for each position, of one worker: it alone sets them.
#[derive(Clone, Copy, Debug)]
pub struct VisitedBits<'a>(pub &'a [AtomicU32]);

impl VisitedBits<'_> {
    /// Words that the marks of `positions` positions take.
    pub fn words(positions: usize) -> usize {
        positions.div_ceil(32)
    }

    /// Whether a position has its mark.
    #[inline]
    pub fn has(&self, p: usize) -> bool {
        self.0[p / 32].load(Relaxed) & 1 << (p % 32) != 0
    }

    /// Gives it its mark.
    #[inline]
    pub fn set(&self, p: usize) {
        let word = &self.0[p / 32];
        word.store(word.load(Relaxed) | 1 << (p % 32), Relaxed);
    }
}

/// The milestone of that rank, if a position has it that something has to be done about.
pub fn milestone(path: &SourceMap, ranks: ScatterOrder, rank: usize) -> Option<usize> {
    ranks.position(rank).filter(|&p| !stays(path, p))
}

/// Whether a position keeps its content.
fn stays(path: &SourceMap, p: usize) -> bool {
    path.pred(p) == p
}

/// Where what a milestone holds is kept.
pub fn kept(path: &SourceMap, rank: usize) -> usize {
    path.bytes() + rank * path.unit_bytes()
}

/// The moves of the segments that one worker draws.
#[derive(Debug)]
pub struct SegmentWalk<'a> {
    /// Where super-elements go.
    pub path: &'a SourceMap,
    /// Of all positions.
    pub ranks: ScatterOrder,
    /// Ranks of milestones.
    pub milestones: usize,
    /// The next rank to be drawn, by all workers.
    pub drawn: &'a AtomicUsize,
    /// The worker's own.
    pub marks: VisitedBits<'a>,
    /// The position and offset to be filled.
    pub hole: Option<(usize, usize)>,
}

impl Iterator for SegmentWalk<'_> {
    type Item = UnitMove;

    #[inline]
    fn next(&mut self) -> Option<UnitMove> {
        let (hole, to) = match self.hole {
            Some(hole) => hole,
            None => loop {
                let rank = self.drawn.fetch_add(1, Relaxed);
                if rank >= self.milestones {
                    return None;
                }
                if let Some(start) = milestone(self.path, self.ranks, rank) {
                    self.marks.set(start);
                    break (start, self.path.offset(start));
                }
            },
        };
        let source = self.path.pred(hole);
        let rank = self.ranks.of(source);
        if rank < self.milestones {
            self.hole = None;
            return Some(UnitMove { from: kept(self.path, rank), to });
        }
        self.marks.set(source);
        let from = self.path.offset(source);
        self.hole = Some((source, from));
        Some(UnitMove { from, to })
    }
}

/// The moves of the cycles that one worker finds in its share of the positions and that no marks are on.
#[derive(Debug)]
pub struct CycleWalk<'a> {
    /// Where super-elements go.
    pub path: &'a SourceMap,
    /// Of all positions, when there are other workers; without, the first position found is as good.
    pub ranks: Option<ScatterOrder>,
    /// Every worker's.
    pub all_marks: &'a [VisitedBits<'a>],
    /// The worker's own.
    pub marks: VisitedBits<'a>,
    /// The worker's share.
    pub share: Range<usize>,
    /// Where to look next.
    pub at: usize,
    /// Where it keeps the start of a cycle.
    pub kept: usize,
    /// The start of the cycle that is being followed, and the position and offset to be filled.
    pub hole: Option<(usize, usize, usize)>,
}

impl CycleWalk<'_> {
    /// The first position of the share from `at` on that no mark is on.
    fn find(&mut self) -> Option<usize> {
        while self.at < self.share.end {
            let taken =
                self.all_marks.iter().fold(0, |all, m| all | m.0[self.at / 32].load(Relaxed));
            let bit = self.at % 32;
            let skipped = (!taken >> bit).trailing_zeros() as usize;
            if skipped < 32 - bit {
                self.at += skipped;
                return Some(self.at).filter(|&at| at < self.share.end);
            }
            self.at += 32 - bit;
        }
        None
    }

    /// Whether no position of the cycle of `start` has a lower rank, or no other worker will find it.
    fn is_first(&self, start: usize) -> bool {
        let Some(ranks) = self.ranks else { return true };
        let rank = ranks.of(start);
        let mut at = self.path.pred(start);
        while ranks.of(at) > rank {
            at = self.path.pred(at);
        }
        at == start
    }

    fn mark(&self, p: usize) {
        // Nobody looks for others.
        if self.share.contains(&p) {
            self.marks.set(p);
        }
    }
}

impl Iterator for CycleWalk<'_> {
    type Item = UnitMove;

    #[inline]
    fn next(&mut self) -> Option<UnitMove> {
        let Some((start, hole, to)) = self.hole else {
            loop {
                let start = self.find()?;
                self.at += 1;
                if !stays(self.path, start) && self.is_first(start) {
                    self.mark(start);
                    let from = self.path.offset(start);
                    self.hole = Some((start, start, from));
                    return Some(UnitMove { from, to: self.kept });
                }
            }
        };
        let source = self.path.pred(hole);
        if source == start {
            self.hole = None;
            return Some(UnitMove { from: self.kept, to });
        }
        self.mark(source);
        let from = self.path.offset(source);
        self.hole = Some((start, source, from));
        Some(UnitMove { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_perm::{AlignedSlots, Elementary};
    use turntile_plan::{Direction, StageMap};

    /// A phase of workers that take turns at random: no place that one of them touches is another's.
    fn run<'a>(
        path: &SourceMap,
        workers: Vec<Box<dyn Iterator<Item = UnitMove> + 'a>>,
        content: &mut [usize],
        random: &mut u64,
    ) {
        let mut workers: Vec<_> = workers.into_iter().enumerate().collect();
        let mut owners = vec![None; path.positions()];
        while !workers.is_empty() {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let k = (*random >> 33) as usize % workers.len();
            let (number, worker) = &mut workers[k];
            let Some(UnitMove { from, to }) = worker.next() else {
                let _ = workers.swap_remove(k);
                continue;
            };
            assert_ne!(from, to);
            for at in [from, to] {
                let place = place(path, at);
                if let Some(owner) = owners.get_mut(place) {
                    assert_eq!(owner.get_or_insert(*number), number, "two workers at {place}");
                }
            }
            content[place(path, to)] = content[place(path, from)];
        }
    }

    /// The number of a place; those kept come after those of the matrix.
    fn place(path: &SourceMap, at: usize) -> usize {
        match at.checked_sub(path.bytes()) {
            Some(kept) => path.positions() + kept / path.unit_bytes(),
            None => (0..path.positions()).find(|&p| path.offset(p) == at).expect("a place"),
        }
    }

    fn check(shape: StageMap, parts: usize, milestones: usize) {
        let path = &SourceMap::new(shape, 4);
        let positions = path.positions();
        let mut content: Vec<usize> = (0..positions + milestones + parts).collect();
        let flags: Vec<_> =
            (0..parts * VisitedBits::words(positions)).map(|_| AtomicU32::new(0)).collect();
        let planes: Vec<_> =
            flags.chunks_exact(VisitedBits::words(positions)).map(VisitedBits).collect();
        let (ranks, mut random) = (ScatterOrder::new(positions), (parts * 31 + milestones) as u64);
        for rank in 0..milestones {
            if let Some(start) = milestone(path, ranks, rank) {
                content[positions + rank] = content[start];
            }
        }
        let drawn = &AtomicUsize::new(0);
        let segments = planes.iter().map(|&marks| {
            Box::new(SegmentWalk { path, ranks, milestones, drawn, marks, hole: None }) as _
        });
        run(path, segments.collect(), &mut content, &mut random);
        let cycles = (0..parts).map(|part| {
            let share = crate::parallel::share(positions, parts, part);
            Box::new(CycleWalk {
                path,
                ranks: (parts > 1).then_some(ranks),
                all_marks: &planes,
                marks: planes[part],
                at: share.start,
                share,
                kept: kept(path, milestones + part),
                hole: None,
            }) as _
        });
        run(path, cycles.collect(), &mut content, &mut random);
        for (p, &got) in content.iter().enumerate().take(positions) {
            let want = path.pred(p);
            assert_eq!(got, want, "{shape}, {parts} parts, {milestones} milestones");
        }
    }

    #[test]
    fn every_content_arrives_and_no_place_has_two_workers() {
        let e =
            |batch, rows, mid, cols| StageMap::from(Elementary { batch, rows, mid, cols, unit: 3 });
        let slots = AlignedSlots::new(23, 9, 4, 8).unwrap();
        let slot_move = |direction| StageMap::SlotMove { batch: 1, slots, direction };
        for shape in [
            e(1, 1, 1, 1),
            e(1, 2, 1, 2),
            e(1, 5, 1, 7),
            e(1, 8, 4, 4),
            e(3, 4, 5, 6),
            e(1, 31, 1, 17),
            slot_move(Direction::Forward),
            slot_move(Direction::Backward),
        ] {
            check(shape, 1, 0);
            for parts in 2..5 {
                for milestones in [1, 2, 7, 64, 5000] {
                    check(shape, parts, milestones);
                }
            }
        }
    }

    #[test]
    fn ranks_are_a_permutation() {
        for positions in (1..70).chain([1000, 4096, 4097]) {
            let ranks = ScatterOrder::new(positions);
            let all = positions.next_power_of_two();
            let by_rank: Vec<usize> =
                (0..3 * all).filter_map(|rank| ranks.position(rank)).collect();
            assert!(by_rank.iter().is_sorted_by_key(|&p| ranks.of(p)));
            let mut sorted = by_rank;
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..positions));
        }
    }
}
