//! Order in which units (super-elements) move along the cycles of a permutation.
//!
//! A cycle is followed backwards. Saving one unit leaves a hole; the unit that belongs there fills
//! it and leaves the next hole. The saved unit fills the last hole. Every other unit is copied
//! once.
//!
//! Workers do not wait for each other while units move. Every position has a *rank*, its index in a
//! scattered order. The positions of the lowest ranks are *splitters*, whose contents are all saved
//! before any unit moves. They split cycles into segments; a segment ends in a hole, which the
//! saved content of the next splitter fills. A segment belongs to the worker that claims it
//! ([`SegmentWalk`]). Afterwards come the cycles without a splitter ([`CycleWalk`]). A worker looks
//! for them in its own share of the positions, and moves those whose lowest rank is there. Each
//! worker has its own bitmap of the positions moved with segments: together, they mark all
//! positions of a cycle or none. In a batch with enough instances, each worker moves whole
//! instances.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use crate::source_map::SourceMap;

/// A copy of one unit. Offsets are in bytes from the start of the matrix; those past its end are in
/// the side buffer of saved units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitMove {
    /// Offset of the unit before the move.
    pub from: usize,
    /// Offset of the hole that it fills.
    pub to: usize,
}

/// Scattered order of positions: multiplication by an odd number modulo a power of two.
#[derive(Clone, Copy, Debug)]
pub struct ScatterOrder {
    positions: usize,
    mask: u64,
}

impl ScatterOrder {
    /// 2^64 divided by the golden ratio, whose multiples spread evenly.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    /// Inverse of `FACTOR` modulo 2^64, and so modulo any lower power of two.
    const INVERSE: u64 = 0xF1DE_83E1_9937_733D;

    /// Creates the order of `positions` positions. Ranks are less than the next power of two.
    pub fn new(positions: usize) -> Self {
        ScatterOrder { positions, mask: (positions as u64).next_power_of_two() - 1 }
    }

    /// Returns the rank of position `p`: its index in the scattered order.
    #[inline]
    pub fn of(&self, p: usize) -> usize {
        ((p as u64).wrapping_mul(Self::FACTOR) & self.mask) as usize
    }

    /// Returns the position with this rank in the scattered order, or `None` if no position has it.
    pub fn position(&self, rank: usize) -> Option<usize> {
        let p = ((rank as u64).wrapping_mul(Self::INVERSE) & self.mask) as usize;
        (rank as u64 <= self.mask && p < self.positions).then_some(p)
    }
}

/// Bitmap of visited positions, which only one worker modifies.
#[derive(Clone, Copy, Debug)]
pub struct VisitedBits<'a>(pub &'a [AtomicU32]);

impl VisitedBits<'_> {
    /// Returns the number of 32-bit words of the bitmap of `positions` positions.
    pub fn words(positions: usize) -> usize {
        positions.div_ceil(32)
    }

    /// Returns `true` if the bit of position `p` is set.
    #[inline]
    pub fn has(&self, p: usize) -> bool {
        self.0[p / 32].load(Relaxed) & 1 << (p % 32) != 0
    }

    /// Sets the bit of position `p`.
    #[inline]
    pub fn set(&self, p: usize) {
        let word = &self.0[p / 32];
        word.store(word.load(Relaxed) | 1 << (p % 32), Relaxed);
    }
}

/// Returns the position of the splitter with this rank in the scattered order, or `None` if it is a
/// fixed point or does not exist.
pub fn splitter(source_map: &SourceMap, ranks: ScatterOrder, rank: usize) -> Option<usize> {
    ranks.position(rank).filter(|&p| !is_fixed(source_map, p))
}

/// Returns `true` if position `p` is a fixed point.
fn is_fixed(source_map: &SourceMap, p: usize) -> bool {
    source_map.source_of(p) == p
}

/// Returns the byte offset of the saved content of the splitter with this rank. The side buffer
/// starts at the end of the matrix.
pub fn saved_offset(source_map: &SourceMap, rank: usize) -> usize {
    source_map.bytes() + rank * source_map.unit_bytes()
}

/// Iterator over the moves of the cycle segments that one worker claims.
#[derive(Debug)]
pub struct SegmentWalk<'a> {
    /// Index map of the units.
    pub source_map: &'a SourceMap,
    /// Ranks of all positions.
    pub ranks: ScatterOrder,
    /// Number of splitters; their ranks are `0..splitters`.
    pub splitters: usize,
    /// Rank of the splitter that is claimed next. All workers share this counter.
    pub claimed: &'a AtomicUsize,
    /// The worker's own bitmap.
    pub visited: VisitedBits<'a>,
    /// Position and byte offset of the hole to fill next. `None` between segments.
    pub hole: Option<(usize, usize)>,
}

impl Iterator for SegmentWalk<'_> {
    type Item = UnitMove;

    #[inline]
    fn next(&mut self) -> Option<UnitMove> {
        let (hole, to) = match self.hole {
            Some(hole) => hole,
            None => loop {
                let rank = self.claimed.fetch_add(1, Relaxed);
                if rank >= self.splitters {
                    return None;
                }
                if let Some(start) = splitter(self.source_map, self.ranks, rank) {
                    self.visited.set(start);
                    break (start, self.source_map.offset(start));
                }
            },
        };
        let source = self.source_map.source_of(hole);
        let rank = self.ranks.of(source);
        if rank < self.splitters {
            self.hole = None;
            return Some(UnitMove { from: saved_offset(self.source_map, rank), to });
        }
        self.visited.set(source);
        let from = self.source_map.offset(source);
        self.hole = Some((source, from));
        Some(UnitMove { from, to })
    }
}

/// Iterator over the moves of the cycles that one worker finds in its share of the positions and
/// that no segment has visited.
#[derive(Debug)]
pub struct CycleWalk<'a> {
    /// Index map of the units.
    pub source_map: &'a SourceMap,
    /// Ranks of all positions. `None` if no other worker finds the same cycles.
    pub ranks: Option<ScatterOrder>,
    /// Bitmaps of all workers that may have visited the share.
    pub all_visited: &'a [VisitedBits<'a>],
    /// The worker's own bitmap.
    pub visited: VisitedBits<'a>,
    /// The worker's share of the positions.
    pub share: Range<usize>,
    /// Next position to examine.
    pub at: usize,
    /// Byte offset at which the worker saves the start of a cycle.
    pub saved: usize,
    /// Start of the current cycle, and position and byte offset of the hole to fill next. `None`
    /// between cycles.
    pub hole: Option<(usize, usize, usize)>,
}

impl CycleWalk<'_> {
    /// Returns the first unvisited position of the share from `at` on.
    fn find(&mut self) -> Option<usize> {
        while self.at < self.share.end {
            let taken =
                self.all_visited.iter().fold(0, |all, m| all | m.0[self.at / 32].load(Relaxed));
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

    /// Returns `true` if this worker moves the cycle of `start`: no position of it has a lower
    /// rank, or no other worker finds it.
    fn is_first(&self, start: usize) -> bool {
        let Some(ranks) = self.ranks else { return true };
        let rank = ranks.of(start);
        let mut at = self.source_map.source_of(start);
        while ranks.of(at) > rank {
            at = self.source_map.source_of(at);
        }
        at == start
    }

    fn mark(&self, p: usize) {
        // Only this worker looks for positions in its share.
        if self.share.contains(&p) {
            self.visited.set(p);
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
                if !is_fixed(self.source_map, start) && self.is_first(start) {
                    self.mark(start);
                    let from = self.source_map.offset(start);
                    self.hole = Some((start, start, from));
                    return Some(UnitMove { from, to: self.saved });
                }
            }
        };
        let source = self.source_map.source_of(hole);
        if source == start {
            self.hole = None;
            return Some(UnitMove { from: self.saved, to });
        }
        self.mark(source);
        let from = self.source_map.offset(source);
        self.hole = Some((start, source, from));
        Some(UnitMove { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_perm::{AlignedSlots, Elementary};
    use turntile_plan::{Direction, StageMap};

    /// Makes the moves of several workers in random order, and checks that no two touch the same
    /// unit.
    fn run<'a>(
        source_map: &SourceMap,
        workers: Vec<Box<dyn Iterator<Item = UnitMove> + 'a>>,
        content: &mut [usize],
        random: &mut u64,
    ) {
        let mut workers: Vec<_> = workers.into_iter().enumerate().collect();
        let mut owners = vec![None; source_map.positions()];
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
                let unit = unit_at(source_map, at);
                if let Some(owner) = owners.get_mut(unit) {
                    assert_eq!(owner.get_or_insert(*number), number, "two workers at {unit}");
                }
            }
            content[unit_at(source_map, to)] = content[unit_at(source_map, from)];
        }
    }

    /// Returns the index of the unit at a byte offset; saved units follow those of the matrix.
    fn unit_at(source_map: &SourceMap, at: usize) -> usize {
        match at.checked_sub(source_map.bytes()) {
            Some(saved) => source_map.positions() + saved / source_map.unit_bytes(),
            None => (0..source_map.positions())
                .find(|&p| source_map.offset(p) == at)
                .expect("a position"),
        }
    }

    fn check(map: &StageMap, threads: usize, splitters: usize) {
        let source_map = &SourceMap::new(map, 4);
        let positions = source_map.positions();
        let mut content: Vec<usize> = (0..positions + splitters + threads).collect();
        let flags: Vec<_> =
            (0..threads * VisitedBits::words(positions)).map(|_| AtomicU32::new(0)).collect();
        let bitmaps: Vec<_> =
            flags.chunks_exact(VisitedBits::words(positions)).map(VisitedBits).collect();
        let (ranks, mut random) = (ScatterOrder::new(positions), (threads * 31 + splitters) as u64);
        for rank in 0..splitters {
            if let Some(start) = splitter(source_map, ranks, rank) {
                content[positions + rank] = content[start];
            }
        }
        let claimed = &AtomicUsize::new(0);
        let segments = bitmaps.iter().map(|&visited| {
            Box::new(SegmentWalk { source_map, ranks, splitters, claimed, visited, hole: None })
                as _
        });
        run(source_map, segments.collect(), &mut content, &mut random);
        let cycles = (0..threads).map(|thread| {
            let share = crate::parallel::split_evenly(positions, threads, thread);
            Box::new(CycleWalk {
                source_map,
                ranks: (threads > 1).then_some(ranks),
                all_visited: &bitmaps,
                visited: bitmaps[thread],
                at: share.start,
                share,
                saved: saved_offset(source_map, splitters + thread),
                hole: None,
            }) as _
        });
        run(source_map, cycles.collect(), &mut content, &mut random);
        for (p, &got) in content.iter().enumerate().take(positions) {
            let want = source_map.source_of(p);
            assert_eq!(got, want, "{map}, {threads} threads, {splitters} splitters");
        }
    }

    #[test]
    fn walks_move_every_unit_and_share_no_position() {
        let e =
            |batch, rows, mid, cols| StageMap::from(Elementary { batch, rows, mid, cols, unit: 3 });
        let slots = AlignedSlots::new(23, 9, 4, 8).unwrap();
        let slot_move = |direction| StageMap::SlotMove { batch: 1, slots, direction };
        for map in [
            e(1, 1, 1, 1),
            e(1, 2, 1, 2),
            e(1, 5, 1, 7),
            e(1, 8, 4, 4),
            e(3, 4, 5, 6),
            e(1, 31, 1, 17),
            slot_move(Direction::Forward),
            slot_move(Direction::Backward),
        ] {
            check(&map, 1, 0);
            for threads in 2..5 {
                for splitters in [1, 2, 7, 64, 5000] {
                    check(&map, threads, splitters);
                }
            }
        }
    }

    #[test]
    fn scatter_order_is_a_permutation() {
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
