//! Flips, quarter turns and other permutations that reverse axes: each kernel on small arrays, and
//! every candidate of the planner.

use turntile_cuda::launch::widest_word;
use turntile_cuda::strategy::Strategy;
use turntile_perm::FlippedAxes;
use turntile_plan::Problem;

use crate::axes::{Draw, candidates};
use crate::cases::Suite;
use crate::common::Bench;

const WORDS: [usize; 10] = [1, 2, 4, 8, 16, 3, 6, 12, 24, 40];

/// Extents, order, reversed axes of the result, and bytes of an element.
type Case<'a> = (&'a [usize], &'a [usize], &'a [usize], usize);

/// Planned problems that fill the chip.
const PROBLEMS: &[Case] = &[
    (&[64, 2048, 2048], &[0, 1, 2], &[0], 4),
    (&[64, 2048, 2048], &[0, 1, 2], &[1], 4),
    (&[64, 2048, 2048], &[0, 1, 2], &[2], 4),
    (&[61, 1021, 2047], &[0, 1, 2], &[0, 2], 4),
    (&[61, 1021, 2047], &[0, 1, 2], &[1], 2),
    (&[61, 1021, 2047], &[0, 1, 2], &[1, 2], 1),
    (&[3, 100_000_007], &[0, 1], &[0], 1),
    (&[100_000_007], &[0], &[0], 8),
    (&[30_000_001, 3], &[0, 1], &[1], 1),
    (&[10_000_019, 3, 2], &[0, 1, 2], &[0, 2], 2),
    (&[1000, 1000, 40], &[0, 1, 2], &[0, 1], 12),
    (&[200, 30, 40, 50, 3], &[0, 1, 2, 3, 4], &[0, 2, 4], 2),
    (&[8192, 8192], &[1, 0], &[0], 4),
    (&[8192, 8192], &[1, 0], &[1], 8),
    (&[64, 1024, 1024], &[0, 2, 1], &[1], 4),
    (&[5001, 5001], &[1, 0], &[0], 1),
    (&[5001, 5001], &[1, 0], &[1], 2),
    (&[3, 3001, 3001], &[0, 2, 1], &[2], 4),
    (&[4001, 4001], &[1, 0], &[0], 16),
    (&[4099, 4099, 3], &[1, 0, 2], &[1], 1),
    (&[4096, 4096, 3], &[1, 0, 2], &[0], 1),
    // Rows of whole vectors with an odd number of micro-blocks, and squares of one tile.
    (&[5000, 5000], &[1, 0], &[0], 1),
    (&[5000, 5000], &[1, 0], &[1], 2),
    (&[3, 3004, 3004], &[0, 2, 1], &[1], 4),
    (&[3, 2002, 2002], &[0, 2, 1], &[2], 8),
    (&[50_001, 32, 32], &[0, 2, 1], &[2], 4),
    (&[50_001, 24, 24], &[0, 2, 1], &[1], 2),
    (&[50_001, 12, 12, 3], &[0, 2, 1, 3], &[2], 1),
    (&[5001, 128, 128], &[0, 2, 1], &[1], 1),
    (&[100_000, 30, 30], &[0, 2, 1], &[1], 4),
    (&[5000, 5000], &[1, 0], &[0, 1], 4),
    (&[10_000, 6000], &[1, 0], &[0], 4),
    (&[10_000, 6000], &[1, 0], &[1], 4),
    (&[10_000, 6000], &[1, 0], &[0], 1),
    (&[3001, 7919], &[1, 0], &[1], 4),
    (&[2000, 3000, 64], &[1, 0, 2], &[0, 2], 4),
    (&[128, 96, 160, 144], &[2, 0, 3, 1], &[1, 2], 4),
    (&[512, 640, 1024], &[2, 1, 0], &[0], 4),
];

/// Runs all sections. The planner's choices run `times` times.
pub fn flips(bench: &mut Bench, times: usize) -> usize {
    let mut failures = small(bench);
    for &(extents, order, flip, elem) in PROBLEMS {
        let problem = Problem::permuted(extents, order, elem).expect("fits");
        let problem = problem.with_flip(flip).expect("axes of the result");
        failures += candidates(bench, &problem, 0, times);
        // In memory that is aligned only to the elements.
        let own = widest_word(&[elem]);
        if own < 16 && problem.bytes() < 1 << 27 {
            failures += candidates(bench, &problem.with_alignment(own), own, 1);
        }
    }
    failures
}

/// Drawn extents and sets of reversed axes by each strategy. Every byte of the array and around it
/// is compared.
fn small(bench: &mut Bench) -> usize {
    let (mut suite, mut draw) = (Suite::new(bench), Draw(1));
    for turn in 0..6000 {
        let rank = 1 + turn % 5;
        let most = [40_000, 250, 40, 15, 8][rank - 1];
        let mut extents: Vec<usize> = (0..rank).map(|_| 1 + draw.below(most)).collect();
        let mut order: Vec<usize> = (0..rank).collect();
        let kind = draw.below(4);
        if kind == 1 && rank > 1 {
            // A square, or a batch of squares with super-elements.
            let first = usize::from(rank > 2 && draw.below(2) == 1);
            extents[first + 1] = extents[first];
            order.swap(first, first + 1);
        } else if kind == 2 {
            order.reverse();
        }
        let set = 1 + draw.below((1 << rank) - 1);
        let flipped: Vec<bool> = (0..rank).map(|axis| set >> axis & 1 == 1).collect();
        let axes = FlippedAxes::new(&extents, &order, &flipped).expect("few axes");
        if axes.is_identity() {
            continue;
        }
        for way in [Strategy::Flip, Strategy::Turn, Strategy::Moves, Strategy::PerCycle] {
            let (is_flip, along) =
                (axes.is_flip(), !matches!(way, Strategy::Flip | Strategy::Turn));
            // Flips by cycles are slow, and not offered.
            if !(is_flip && along) && axes.len() < 1 << 20 {
                suite.way(axes.into(), WORDS[turn % 10], way);
            }
        }
    }
    suite.print_runs();
    println!("  kernels on small arrays with reversed axes: {} wrong", suite.failures);
    suite.failures
}
