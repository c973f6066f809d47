//! Where the lines of a walk lie, and what an access to them took.

use crate::bench::random;

/// How the lines of a column lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The pitch apart: low bits of all addresses are alike.
    Pitch,
    /// A line further apart.
    PlusLine,
    /// Within the page where the pitch has them, on any line of their row: as many pages are touched, and the low bits differ.
    SamePages,
}

impl Walk {
    /// Every one.
    pub const ALL: [Walk; 3] = [Walk::Pitch, Walk::PlusLine, Walk::SamePages];

    pub fn name(self) -> &'static str {
        match self {
            Walk::Pitch => "pitch",
            Walk::PlusLine => "plus-line",
            Walk::SamePages => "same-pages",
        }
    }
}

/// Bytes that decide where a walk goes.
#[derive(Clone, Copy, Debug)]
pub struct BenchMemory {
    /// Of a line of the cache.
    pub line: usize,
    /// Of the memory that is walked on.
    pub span: usize,
    /// Of the last cache.
    pub cache: usize,
}

/// Of a page.
const PAGE: usize = 2 << 20;
/// Of a word, in which places count.
pub const WORD: usize = 4;

impl BenchMemory {
    /// The first `count` places of a walk, in words; rows in order, or shuffled by the seed. No place is met twice while there
    /// is a line that was not.
    pub fn places(
        self,
        walk: Walk,
        pitch: usize,
        count: usize,
        shuffle: bool,
        seed: u64,
    ) -> Vec<u32> {
        let mut random = random(seed);
        // As many rows in every walk.
        let rows = (self.span / (pitch + self.line)).clamp(1, count.max(1));
        let mut order: Vec<usize> = (0..rows).collect();
        let skews: Vec<usize> = (0..rows).map(|_| (random() * PAGE as f64) as usize).collect();
        for k in (1..rows).rev().filter(|_| shuffle) {
            order.swap(k, (random() * (k + 1) as f64) as usize);
        }
        let pitch = if walk == Walk::PlusLine { pitch + self.line } else { pitch };
        let lines = (pitch.min(PAGE) / self.line).max(1);
        let place = |v: usize| {
            let (row, column) = (order[v % rows], v / rows);
            let skew = if walk == Walk::SamePages { skews[row] } else { 0 };
            ((row * pitch + (skew + column) % lines * self.line) / WORD) as u32
        };
        (0..count).map(place).collect()
    }

    /// Lines that no cache holds.
    pub fn beyond(self) -> usize {
        4 * self.cache / self.line
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub form: &'static str,
    pub places: usize,
    pub pitch: usize,
    pub walk: Walk,
    pub seed: u64,
    /// An access, all that run at a time counted.
    pub ns: f64,
}

/// Every walk with every seed.
pub fn walks(seeds: u64) -> impl Iterator<Item = (Walk, u64)> {
    Walk::ALL.into_iter().flat_map(move |walk| (1..=seeds).map(move |seed| (walk, seed)))
}

/// The value in the middle.
pub fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const GROUND: BenchMemory = BenchMemory { line: 64, span: 1 << 20, cache: 1 << 15 };

    #[test]
    fn walks_touch_lines_once_and_stay_within_the_memory() {
        for walk in Walk::ALL {
            for (pitch, shuffle) in [(256, true), (4096, false), (6144, true), (32768, true)] {
                let places = GROUND.places(walk, pitch, GROUND.beyond(), shuffle, 5);
                let met: BTreeSet<u32> = places.iter().map(|at| at / 16).collect();
                assert_eq!(met.len(), GROUND.beyond(), "{walk:?} {pitch}");
                assert!(
                    places
                        .iter()
                        .all(|&at| at % 16 == 0 && (at as usize + 16) * WORD <= GROUND.span)
                );
                assert_eq!(places, GROUND.places(walk, pitch, GROUND.beyond(), shuffle, 5));
            }
        }
    }

    #[test]
    fn low_bits_are_alike_where_the_pitch_is_walked_alone() {
        let bits = |walk, seed| -> BTreeSet<u32> {
            let places = GROUND.places(walk, 32768, 16, true, seed);
            // One line in each row, whose number differs.
            assert_eq!(places.iter().map(|at| at / 8192).collect::<BTreeSet<_>>().len(), 16);
            places.iter().map(|at| at % 8192).collect()
        };
        assert_eq!(bits(Walk::Pitch, 1).len(), 1);
        assert_eq!(bits(Walk::PlusLine, 1).len(), 16);
        assert!(bits(Walk::SamePages, 1).len() > 8);
        assert_ne!(bits(Walk::SamePages, 1), bits(Walk::SamePages, 2));
    }
}
