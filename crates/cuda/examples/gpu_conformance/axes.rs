//! Axes in any order: each kernel, on small arrays and with every multiprocessor busy, and every
//! candidate of the planner.

use turntile_cuda::Work;
use turntile_cuda::launch::widest_word;
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_perm::{AxisPermutation, Elementary};
use turntile_plan::{Plan, Planner, Problem, StageMap};

use crate::cases::Suite;
use crate::common::{self, Bench};

const BLOCK: Strategy = Strategy::Barrier(Scope::Block);
/// Strategies with several blocks per instance.
const TOGETHER: [Strategy; 4] = [
    Strategy::Barrier(Scope::Cluster(8)),
    Strategy::Barrier(Scope::Cluster(16)),
    Strategy::Barrier(Scope::Grid),
    Strategy::Barrier(Scope::Team(132)),
];
/// Largest estimated time of a candidate that runs, in seconds. Slower ones follow cycles of single
/// elements.
const MOST_SECONDS: f64 = 0.1;

/// Runs all sections. The planner's choices and the kernels that fill the chip run `times` times.
pub fn axes(bench: &mut Bench, times: usize) -> usize {
    let mut failures = small(bench);
    failures += full(bench, times);
    failures + plans(bench, times)
}

/// Generator of random extents and orders, from a fixed sequence of Knuth's.
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * n as u128) >> 64) as usize
    }

    /// Returns axes that swap in pairs or stay.
    fn pairs(&mut self) -> AxisPermutation {
        loop {
            let rank = 2 + self.below(5);
            let most = [150, 70, 14, 10, 6][rank - 2];
            let (mut extents, mut order) = (vec![0; rank], vec![rank; rank]);
            for axis in 0..rank {
                if order[axis] < rank {
                    continue;
                }
                let left: Vec<usize> = (axis..rank).filter(|&other| order[other] == rank).collect();
                let other = left[self.below(left.len())];
                // One in three extents is a multiple of 8, for whole vectors.
                let extent = (1 + self.below(most)).next_multiple_of([1, 1, 8][self.below(3)]);
                (order[axis], order[other]) = (other, axis);
                (extents[axis], extents[other]) = (extent, extent);
            }
            let drawn = AxisPermutation::new(&extents, &order).expect("few axes");
            if drawn.len() <= 60_000 {
                return drawn;
            }
        }
    }

    pub fn axes(&mut self) -> AxisPermutation {
        loop {
            let rank = 2 + self.below(7);
            let most = [90, 40, 20, 10, 7, 5, 4][rank - 2];
            let extents: Vec<usize> = (0..rank).map(|_| 1 + self.below(most)).collect();
            let mut order = Vec::new();
            (0..rank).for_each(|axis| order.insert(self.below(axis + 1), axis));
            let drawn = AxisPermutation::new(&extents, &order).expect("few axes");
            if drawn.len() <= 30_000 {
                return drawn;
            }
        }
    }
}

/// Random axes by every strategy for them, with elements of every size, also aligned only to the
/// element. Every byte of the array and around it is compared.
fn small(bench: &mut Bench) -> usize {
    let (mut suite, mut draw) = (Suite::new(bench), Draw(1));
    for turn in 0..1500 {
        let shape = StageMap::Axes(draw.axes());
        let elem = [1, 2, 4, 8, 16, 3, 6, 12, 24, 40][turn % 10];
        let pieces = Strategy::Pieces { piece: 64 << (turn % 4) };
        for way in [BLOCK, Strategy::Moves, Strategy::PerCycle, pieces] {
            suite.way(shape.clone(), elem, way);
        }
        if shape.elementary().is_none() {
            suite.way(shape, elem, TOGETHER[turn % 4]);
        }
    }
    for turn in 0..3000 {
        let elem = [1, 2, 4, 8, 16, 3, 6, 12, 24, 40][turn % 10];
        suite.way(StageMap::Axes(draw.pairs()), elem, Strategy::SwapAxes);
    }
    // A few runs of every length up to several pieces, at every address modulo 16.
    for run_bytes in (1..=300).chain([511, 1023, 4097, 70_001]) {
        let elem = [16, 12, 8, 4, 3, 2, 1][run_bytes % 7];
        for (extents, order) in [([3, 5, 4], [2, 0, 1]), ([7, 2, 3], [0, 2, 1])] {
            let extents = [extents[0], extents[1], extents[2], run_bytes.div_ceil(elem)];
            let order = [order[0], order[1], order[2], 3];
            let drawn = AxisPermutation::new(&extents, &order).expect("few axes");
            suite.way(drawn.into(), elem, Strategy::Pieces { piece: 64 << (run_bytes % 3) });
        }
    }
    // Instances that leave a block no or little space for padding, and many small ones.
    for elem in [1, 2, 4, 8, 16, 3, 12] {
        for (bytes, order) in [
            ([8, 4, 113, 64], [2, 3, 0, 1]),
            ([64, 8, 7, 64], [3, 1, 0, 2]),
            ([16, 16, 28, 32], [1, 3, 2, 0]),
            ([9, 11, 13, 17], [3, 1, 0, 2]),
        ] {
            let [a, b, c, d] = bytes;
            let extents = [3, a, b, c, (d / elem).max(2)];
            let order = [0, order[0] + 1, order[1] + 1, order[2] + 1, order[3] + 1];
            let drawn = AxisPermutation::new(&extents, &order).expect("few axes");
            if drawn.len() * elem < 3 << 20 {
                suite.way(StageMap::Axes(drawn), elem, BLOCK);
            }
        }
        for extents in [[5000, 2, 3, 2, 5], [700, 4, 8, 4, 2]] {
            let drawn = AxisPermutation::new(&extents, &[0, 3, 1, 4, 2]).expect("few axes");
            if drawn.len() * elem < 3 << 20 {
                suite.way(StageMap::Axes(drawn), elem, BLOCK);
            }
        }
    }
    // Adjacent squares, of whole and partial tiles.
    for side in [5, 16, 33, 48, 64, 100, 128, 130] {
        for (batch, mid) in [(1, 2), (3, 1), (2, 5), (1, 7)] {
            for elem in [1, 2, 4, 8, 16] {
                let e = Elementary { batch, rows: side, mid, cols: side, unit: 1 };
                for tile in [16, 32, 64, 128] {
                    if e.len() * elem < 3 << 20 {
                        suite.way(e.into(), elem, Strategy::TileSwap { tile });
                    }
                }
            }
        }
    }
    suite.print_runs();
    println!("  kernels on small axes: {} wrong", suite.failures);
    suite.failures
}

/// Runs `work`, and returns the number of runs with wrong elements of `problem`.
fn repeat(
    bench: &mut Bench,
    problem: &Problem,
    work: Work,
    skew: usize,
    times: usize,
    what: &str,
) -> usize {
    let (axes, elem) = (problem.flipped_axes().expect("few axes"), problem.itemsize());
    let wrong = |bench: &mut Bench, data| bench.wrong_flipped(data, &axes, elem);
    common::repeat(bench, work, (problem.len(), elem), skew, times, what, wrong)
}

/// Extents, order, bytes of an element, and strategies.
type Stage<'a> = (&'a [usize], &'a [usize], usize, &'a [Strategy]);

/// Runs each kernel with every multiprocessor busy.
fn full(bench: &mut Bench, times: usize) -> usize {
    let pieces = [64, 128, 256, 512, 1024, 2048, 4096].map(|piece| Strategy::Pieces { piece });
    let moves: &[Strategy] = &[Strategy::Moves];
    let [swap64, swap128] = [64, 128].map(|tile| Strategy::TileSwap { tile });
    let swap: &[Strategy] = &[Strategy::SwapAxes];
    let stages: &[Stage] = &[
        // Tiles in vectors and in granules, split with and without remainder, with axes that stay
        // or swap within a row.
        (&[20, 20, 20, 20, 20, 20], &[5, 4, 3, 2, 1, 0], 4, swap),
        (&[23, 23, 23, 23, 23, 23], &[5, 4, 3, 2, 1, 0], 4, swap),
        (&[128, 128, 128, 128], &[3, 2, 1, 0], 4, swap),
        (&[113, 113, 113, 113], &[2, 3, 0, 1], 2, swap),
        (&[16, 101, 53, 101, 53], &[0, 3, 4, 1, 2], 8, swap),
        (&[17, 101, 53, 101, 53], &[0, 3, 4, 1, 2], 1, swap),
        (&[21, 300, 5, 300, 9], &[0, 3, 2, 1, 4], 12, swap),
        (&[40, 40, 40, 30, 30], &[2, 1, 0, 4, 3], 16, swap),
        (&[64, 48, 64, 48, 12], &[2, 3, 0, 1, 4], 3, swap),
        (&[8, 8, 8, 8, 8, 8, 8, 8], &[7, 6, 5, 4, 3, 2, 1, 0], 4, swap),
        // Runs of 16 bytes to 24 KB, of whole and partial cache lines, in one, two and four vectors
        // per lane or in shared memory.
        (&[32, 64, 24, 48, 3, 32], &[4, 3, 2, 1, 0, 5], 4, moves),
        (&[8, 16, 96, 160, 9, 16], &[4, 1, 2, 3, 0, 5], 4, moves),
        (&[61, 64, 40, 96, 64], &[3, 1, 0, 2, 4], 4, moves),
        (&[31, 37, 41, 43, 128], &[2, 0, 3, 1, 4], 4, moves),
        (&[31, 37, 41, 13, 100], &[2, 0, 3, 1, 4], 4, moves),
        (&[31, 17, 41, 13, 300], &[3, 1, 0, 2, 4], 4, moves),
        (&[31, 17, 11, 13, 512], &[3, 1, 0, 2, 4], 4, moves),
        (&[7, 17, 11, 13, 6000], &[3, 1, 0, 2, 4], 4, moves),
        (&[64, 16, 32, 8, 16, 64], &[0, 4, 2, 3, 1, 5], 8, moves),
        (&[40, 30, 20, 50, 60], &[3, 1, 0, 2, 4], 1, moves),
        (&[40, 30, 20, 50, 99], &[3, 1, 0, 2, 4], 1, moves),
        (&[40, 30, 20, 50, 99], &[3, 1, 0, 2, 4], 2, moves),
        (&[16, 16, 16, 16, 16, 16], &[3, 1, 5, 0, 4, 2], 16, moves),
        (&[64, 64, 64, 64, 2], &[2, 0, 3, 1, 4], 12, moves),
        // Short cycles, which P-IPT also moves.
        (&[32, 32, 32, 32, 64], &[3, 1, 0, 2, 4], 4, &[Strategy::Moves, Strategy::PerCycle]),
        // A few long runs, by every piece that fits: of whole vectors, of a prime number of words
        // and of bytes, in batches; shared memory full of pieces of 64 and 128 bytes.
        (&[32, 2, 1 << 22], &[1, 0, 2], 2, &pieces[..6]),
        (&[2, 3, 20_000_000], &[1, 0, 2], 4, &pieces),
        (&[3, 5, 7, 400_003], &[2, 0, 1, 3], 4, &pieces[..6]),
        (&[7, 9, 1_000_003], &[1, 0, 2], 1, &pieces[..6]),
        (&[64, 2, 2, 500_001], &[0, 2, 1, 3], 2, &pieces),
        (&[100, 7, 9, 4001], &[0, 2, 1, 3], 12, &pieces[..6]),
        (&[40, 45, 4098], &[1, 0, 2], 8, &pieces[..2]),
        (&[60, 60, 1000], &[1, 0, 2], 4, &pieces[..1]),
        (&[53, 53, 1003], &[1, 0, 2], 4, &pieces[..1]),
        // In shared memory: bank conflicts, elements of every size, one and two blocks per
        // multiprocessor.
        (&[3000, 8, 12, 16, 32], &[0, 4, 2, 3, 1], 4, &[BLOCK]),
        (&[9000, 7, 9, 11, 13], &[0, 4, 2, 3, 1], 4, &[BLOCK]),
        (&[2000, 32, 8, 32, 6], &[0, 3, 1, 2, 4], 4, &[BLOCK]),
        (&[10000, 12, 64, 8], &[0, 3, 2, 1], 4, &[BLOCK]),
        (&[5000, 16, 64, 24], &[0, 3, 2, 1], 2, &[BLOCK]),
        (&[5000, 16, 64, 24], &[0, 3, 2, 1], 1, &[BLOCK]),
        (&[5000, 15, 61, 23], &[0, 3, 2, 1], 1, &[BLOCK]),
        (&[5000, 15, 61, 23], &[0, 3, 2, 1], 2, &[BLOCK]),
        (&[3000, 12, 20, 24], &[0, 3, 2, 1], 8, &[BLOCK]),
        (&[3000, 12, 20, 24], &[0, 3, 2, 1], 12, &[BLOCK]),
        (&[3000, 12, 20, 24], &[0, 3, 2, 1], 16, &[BLOCK]),
        (&[100_000, 6, 5, 4, 7], &[0, 3, 4, 2, 1], 4, &[BLOCK]),
        // By clusters and the grid: shared memory almost full and half full, elements of every
        // size.
        (&[200, 40, 30, 50, 7], &[0, 4, 2, 3, 1], 4, &TOGETHER[1..2]),
        (&[300, 64, 24, 48, 8], &[0, 4, 3, 2, 1], 4, &TOGETHER[1..2]),
        (&[400, 31, 37, 41], &[0, 3, 2, 1], 4, &TOGETHER[..2]),
        (&[300, 31, 37, 41, 3], &[0, 3, 2, 1, 4], 8, &TOGETHER[1..2]),
        (&[300, 64, 56, 60], &[0, 3, 2, 1], 2, &TOGETHER[..2]),
        (&[300, 63, 57, 61], &[0, 3, 2, 1], 1, &TOGETHER[..2]),
        (&[300, 24, 20, 36], &[0, 2, 1, 3], 16, &TOGETHER[..2]),
        (&[100, 90, 110], &[2, 1, 0], 4, &TOGETHER[2..3]),
        (&[120, 180, 220], &[2, 1, 0], 4, &TOGETHER[2..3]),
        (&[40, 48, 28, 44], &[3, 1, 0, 2], 8, &TOGETHER[2..3]),
        (&[12, 24, 30, 16, 20], &[4, 3, 2, 1, 0], 8, &TOGETHER[2..3]),
        (&[101, 103, 107, 5], &[3, 2, 1, 0], 4, &TOGETHER[2..3]),
        (&[101, 103, 107, 7], &[3, 2, 1, 0], 2, &TOGETHER[2..3]),
        (&[101, 103, 107, 5], &[3, 2, 1, 0], 1, &TOGETHER[2..3]),
        (&[64, 48, 56, 8], &[3, 2, 1, 0], 12, &TOGETHER[2..3]),
        (&[88, 79, 103, 349], &[0, 3, 2, 1], 4, &TOGETHER[3..]),
        (&[100, 50, 60, 70, 11], &[0, 3, 1, 4, 2], 4, &TOGETHER[3..]),
        (&[90, 61, 103, 351], &[0, 3, 2, 1], 2, &TOGETHER[3..]),
        (&[300, 31, 37, 41, 3], &[0, 3, 2, 1, 4], 8, &TOGETHER[3..]),
        // Adjacent squares.
        (&[704, 300, 704], &[2, 1, 0], 4, &[swap64]),
        (&[700, 300, 700], &[2, 1, 0], 4, &[swap64]),
        (&[3, 509, 301, 509], &[0, 3, 2, 1], 4, &[swap64]),
        (&[640, 300, 640], &[2, 1, 0], 2, &[swap128]),
        (&[640, 700, 640], &[2, 1, 0], 1, &[swap128]),
        (&[480, 200, 480], &[2, 1, 0], 8, &[swap64]),
    ];
    let (mut failures, limits) = (0, *bench.gpu.device().limits());
    for &(extents, order, elem, ways) in stages {
        let problem = Problem::permuted(extents, order, elem).expect("fits");
        let shape = StageMap::Axes(problem.axes().expect("few axes"));
        for &way in ways {
            let what = format!("{shape} w{elem} {way}");
            match Work::of_stage(&shape, way, elem, 16, &limits) {
                Ok(work) => {
                    let what = format!("{what} by {}", work.calls()[0].kernel());
                    failures += repeat(bench, &problem, work, 0, times, &what);
                }
                Err(error) => {
                    println!("  FAILED {what}: {error}");
                    failures += 1;
                }
            }
        }
    }
    println!(
        "  kernels that fill the chip, {} of them {times} times: {failures} wrong",
        stages.len()
    );
    failures
}

/// Planned problems: extents, order, bytes of an element.
const PROBLEMS: &[(&[usize], &[usize], usize)] = &[
    (&[4096, 16, 32, 128], &[0, 2, 1, 3], 2),
    (&[16384, 200, 128], &[1, 0, 2], 1),
    (&[16384, 8, 128, 128], &[0, 2, 1, 3], 1),
    (&[512, 640, 1024], &[2, 1, 0], 4),
    (&[512, 640, 1024], &[1, 2, 0], 4),
    (&[128, 96, 160, 144], &[2, 0, 3, 1], 4),
    (&[128, 96, 160, 144], &[3, 2, 1, 0], 4),
    (&[64, 256, 112, 112], &[0, 2, 3, 1], 4),
    (&[32, 64, 24, 48, 96], &[4, 3, 2, 1, 0], 4),
    (&[48, 28, 28, 28, 48], &[4, 3, 2, 1, 0], 4),
    (&[704, 704, 704], &[2, 1, 0], 4),
    (&[700, 700, 700], &[2, 1, 0], 4),
    (&[509, 641, 1021], &[2, 1, 0], 4),
    (&[509, 641, 1021], &[1, 0, 2], 4),
    (&[3000, 2000, 3], &[2, 0, 1], 4),
    (&[100_000, 40, 3], &[1, 0, 2], 4),
    (&[256, 3, 224, 224], &[0, 2, 3, 1], 4),
    (&[10_000, 12, 64, 8], &[0, 2, 1, 3], 4),
    (&[10_000, 12, 64, 8], &[0, 3, 2, 1], 4),
    // Reversed axes with words of other sizes.
    (&[512, 640, 1024], &[2, 1, 0], 2),
    (&[512, 640, 1024], &[2, 1, 0], 1),
    (&[256, 320, 512], &[2, 1, 0], 8),
    (&[256, 320, 512], &[2, 1, 0], 12),
    (&[256, 320, 256], &[2, 1, 0], 16),
    (&[128, 96, 160, 144], &[3, 1, 0, 2], 1),
    (&[128, 96, 160, 144], &[1, 3, 0, 2], 2),
    (&[64, 96, 80, 72], &[2, 0, 3, 1], 8),
    (&[64, 96, 80, 72], &[3, 2, 1, 0], 16),
    (&[64, 48, 80, 72], &[3, 0, 2, 1], 12),
    // Primes, tiny extents, batches, five and six axes.
    (&[127, 131, 137, 29], &[3, 1, 0, 2], 4),
    (&[127, 131, 137, 29], &[2, 0, 3, 1], 2),
    (&[251, 2, 509, 3, 101], &[4, 2, 0, 3, 1], 4),
    (&[3, 1009, 5, 1013, 2], &[3, 2, 1, 0, 4], 8),
    (&[7, 2, 5003, 3, 211], &[2, 4, 1, 3, 0], 1),
    (&[6, 101, 64, 103, 32], &[0, 4, 3, 2, 1], 4),
    (&[20, 64, 64, 48, 48], &[0, 4, 2, 1, 3], 4),
    (&[16, 24, 32, 12, 20, 36], &[5, 3, 1, 4, 2, 0], 4),
    (&[16, 24, 32, 12, 20, 36], &[4, 0, 2, 5, 1, 3], 2),
    (&[16, 16, 16, 16, 16, 64], &[5, 4, 3, 2, 1, 0], 4),
    (&[12, 24, 30, 16, 20, 7], &[3, 1, 4, 0, 2, 5], 12),
    (&[30_000, 6, 5, 4, 7], &[0, 3, 4, 2, 1], 4),
    (&[64, 128, 56, 56], &[0, 3, 1, 2], 1),
    // A few long runs.
    (&[32, 2, 14_680_064], &[1, 0, 2], 2),
    (&[3, 5, 7, 400_003], &[2, 0, 1, 3], 4),
    (&[64, 2, 2, 1 << 20], &[0, 2, 1, 3], 2),
];

/// Smaller problems, in memory aligned only to the elements.
const UNALIGNED: &[(&[usize], &[usize], usize)] = &[
    (&[128, 160, 256], &[2, 1, 0], 4),
    (&[128, 160, 256], &[2, 1, 0], 1),
    (&[64, 48, 40, 72], &[2, 0, 3, 1], 2),
    (&[64, 48, 40, 72], &[3, 2, 1, 0], 12),
    (&[64, 48, 40, 72], &[3, 1, 0, 2], 3),
    (&[61, 48, 41, 73], &[3, 1, 0, 2], 6),
    (&[160, 90, 160], &[2, 1, 0], 8),
    (&[300, 40, 300], &[2, 1, 0], 4),
    (&[500, 9, 8, 40, 3], &[0, 3, 1, 2, 4], 1),
    (&[3, 5, 7, 40_003], &[2, 0, 1, 3], 4),
    (&[64, 3, 4, 50_001], &[0, 2, 1, 3], 2),
    (&[2, 3, 1_000_003], &[1, 0, 2], 1),
];

fn plans(bench: &mut Bench, times: usize) -> usize {
    let mut failures = 0;
    for &(extents, order, elem) in PROBLEMS {
        let problem = Problem::permuted(extents, order, elem).expect("fits");
        failures += candidates(bench, &problem, 0, times);
    }
    for &(extents, order, elem) in UNALIGNED {
        let problem = Problem::permuted(extents, order, elem).expect("fits");
        let own = widest_word(&[elem]);
        failures += candidates(bench, &problem.with_alignment(own), elem, times);
    }
    failures
}

/// Runs every candidate once, the planner's choice `times` times, and the choice without a
/// workspace `times` times.
pub fn candidates(bench: &mut Bench, problem: &Problem, skew: usize, times: usize) -> usize {
    let planner = Planner::new(bench.gpu.device().clone());
    let survey = planner.candidates(problem);
    let (mut failures, mut left_out) = (0, 0);
    let mut go = |plan: &Plan, times: usize| match Work::of_plan(plan) {
        Ok(work) => repeat(bench, problem, work, skew, times, &plan.to_string()),
        Err(error) => {
            println!("  FAILED {plan}: {error}");
            1
        }
    };
    let all = survey.candidates.len();
    for (k, plan) in survey.candidates.iter().enumerate() {
        if k > 0 && plan.seconds > MOST_SECONDS {
            left_out += 1;
            continue;
        }
        failures += go(plan, if k == 0 { times } else { 1 });
    }
    if all == 0 {
        println!("  FAILED {problem}: no candidate");
        failures += 1;
    }
    match planner.plan(&problem.with_cap(0)) {
        Ok(plan) if plan.seconds <= MOST_SECONDS => failures += go(&plan, 1),
        Ok(_) => left_out += 1,
        Err(error) => {
            println!("  FAILED {problem} without a workspace: {error}");
            failures += 1;
        }
    }
    println!("  {problem}: {all} candidates, {left_out} too slow, {failures} wrong");
    failures
}
