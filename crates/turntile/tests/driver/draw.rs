//! Random numbers, and random extents, element sizes and axis orders.

use std::ops::RangeInclusive;

/// Random number generator of one draw (one random test case), seeded by the seed and the draw's
/// number.
pub struct Draw(u64);

/// Maximum number of elements of most draws, and of the few that are large enough to use all
/// threads.
const MOST: [usize; 2] = if cfg!(miri) { [60, 300] } else { [20_000, 600_000] };

impl Draw {
    pub fn new(seed: u64, number: u64) -> Self {
        let mut draw = Draw(seed);
        draw.0 = draw.next() ^ number;
        draw
    }

    /// Returns the next random number, by SplitMix64.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn within(&mut self, range: RangeInclusive<usize>) -> usize {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns a value with probability `1 / times`, else `None`.
    pub fn maybe<T>(&mut self, times: usize, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.one_in(times).then(|| value(self))
    }

    pub fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// Returns the maximum number of elements of the draw, one of `MOST`.
    pub fn most(&mut self) -> usize {
        if self.one_in(60) { MOST[1] } else { MOST[0] }
    }

    /// Returns a random number of bytes per element, rarely 0.
    pub fn itemsize(&mut self) -> usize {
        match self.below(40) {
            0 => self.of(&[0, 100, 1000, 5000]),
            1..4 => self.within(1..=70),
            4..10 => self.of(&[3, 5, 6, 7, 12, 24, 32, 48]),
            _ => self.of(&[1, 2, 4, 4, 8, 16]),
        }
    }

    /// Returns the random numbers of rows and columns of a matrix of at most `most` elements:
    /// small, square, with a common divisor, long and thin, or any.
    pub fn sides(&mut self, most: usize) -> [usize; 2] {
        let root = most.isqrt();
        let sides = match self.below(8) {
            0 => [self.below(5), self.below(5)],
            1 | 2 => [self.within(1..=40), self.within(1..=40)],
            3 => [self.within(1..=root); 2],
            4 => {
                let divisor = self.within(1..=root.min(64));
                [self.within(1..=root / divisor), self.within(1..=root / divisor)]
                    .map(|side| side * divisor)
            }
            5 => {
                let short = self.within(1..=9);
                [short, self.within(1..=most / short)]
            }
            _ => {
                let rows = self.within(1..=root);
                [rows, self.within(1..=most / rows)]
            }
        };
        let [rows, cols] = sides.map(|side| side.min(most));
        let cols = cols.min(most / rows.max(1));
        if self.one_in(2) { [rows, cols] } else { [cols, rows] }
    }

    /// Returns random extents of an array of at most `most` elements: up to 66 axes, rarely one of
    /// extent 0.
    pub fn extents(&mut self, most: usize) -> Vec<usize> {
        let axes = if self.one_in(30) { self.within(0..=66) } else { self.within(0..=6) };
        let mut left = most;
        let mut extents = Vec::new();
        for axis in 0..axes {
            let share = (left as f64).powf(1.0 / (axes - axis) as f64) as usize;
            let extent = match self.below(12) {
                0 => 1,
                1 => self.within(1..=left.max(1)),
                _ => self.within(1..=(2 * share).clamp(1, left.max(1))),
            };
            left /= extent.max(1);
            extents.push(extent);
        }
        if let Some(axis) = self.maybe(60, |draw| draw.below(axes)).filter(|_| axes > 0) {
            extents[axis] = 0;
        }
        for at in (1..axes).rev() {
            extents.swap(at, self.below(at + 1));
        }
        extents
    }

    /// Returns a random order of `axes` axes, rarely one that is not a permutation.
    pub fn order(&mut self, axes: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..axes).collect();
        match self.below(8) {
            0 => order.reverse(),
            1 if axes > 0 => order.rotate_left(self.below(axes)),
            2 if axes > 1 => {
                let [a, b] = [self.below(axes), self.below(axes)];
                order.swap(a, b);
            }
            _ => (1..axes).rev().for_each(|at| order.swap(at, self.below(at + 1))),
        }
        if self.one_in(40) {
            match self.below(4) {
                0 => order.push(self.below(axes + 1)),
                1 => drop(order.pop()),
                _ if axes == 0 => {}
                2 => order[self.below(axes)] = self.of(&[axes, usize::MAX]),
                _ => order[self.below(axes)] = self.below(axes),
            }
        }
        order
    }

    /// Returns a random extent whose product with others may overflow.
    pub fn huge_side(&mut self) -> usize {
        match self.below(4) {
            0 => usize::MAX - self.below(3),
            1 => usize::MAX / self.within(1..=9),
            2 => 1 << self.within(20..=63),
            _ => self.next() as usize >> self.within(0..=50),
        }
    }

    /// Returns a random number of threads: at most 4, or 2 under Miri.
    pub fn threads(&mut self) -> usize {
        self.within(1..=if cfg!(miri) { 2 } else { 4 })
    }

    /// Returns a random workspace cap in bytes: 0, at most 200, at most 50 KB, or at most 4 MiB.
    pub fn cap(&mut self) -> usize {
        match self.below(4) {
            0 => 0,
            1 => self.within(1..=200),
            2 => self.within(200..=50_000),
            _ => self.within(50_000..=4 << 20),
        }
    }
}
