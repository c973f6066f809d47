//! Axes in any order, out of place: small arrays byte by byte, sizes that fill the chip, and the
//! planner's choices.

use turntile_cuda::launch::{DeviceLimits, widest_word};
use turntile_cuda::strategy::{Strategy, Tiling};
use turntile_cuda::{CudaError, Work};
use turntile_perm::AxisPermutation;
use turntile_plan::{Planner, Problem, StageMap};

use crate::axes::Draw;
use crate::common::{Bench, address, memory, run_into};
use crate::out_of_place::Suite;

/// Returns every tiling of tiles, and the strategy for long super-elements.
fn ways() -> impl Iterator<Item = Strategy> {
    let tilings = Tiling::AXES.into_iter().chain([Tiling::Units]);
    tilings.map(|tiling| Strategy::OutOfPlace { tiling, swath: 1 })
}

/// Runs all sections. Sizes that fill the chip run `times` times.
pub fn into_axes(bench: &mut Bench, times: usize) -> usize {
    let failures = small(bench, 1200, &mut Vec::new());
    failures + full(bench, times)
}

/// Runs a small selection, for tools that slow execution. Adds the kernels that ran to `met`.
pub fn few(bench: &mut Bench, met: &mut Vec<String>) -> usize {
    small(bench, 60, met)
}

/// Runs random axes with elements of every size, with each buffer aligned and unaligned.
fn small(bench: &mut Bench, count: usize, met: &mut Vec<String>) -> usize {
    let (mut suite, mut draw) = (Suite::new(bench), Draw(3));
    let ways: Vec<Strategy> = ways().collect();
    let mut all: Vec<AxisPermutation> = (0..count).map(|_| draw.axes()).collect();
    // Several tiles, partial tiles, long rows and columns, and matrices.
    for (extents, order) in [
        (&[70, 3, 90][..], &[2, 1, 0][..]),
        (&[8, 64, 14, 14], &[0, 2, 3, 1]),
        (&[8, 14, 14, 64], &[0, 3, 1, 2]),
        (&[16, 6, 8, 128], &[0, 2, 1, 3]),
        (&[12, 9, 16, 14], &[3, 2, 1, 0]),
        (&[9, 8, 7, 6, 9], &[4, 3, 2, 1, 0]),
        (&[51, 33, 17], &[2, 1, 0]),
        (&[151, 183], &[1, 0]),
        (&[9000, 3], &[1, 0]),
        (&[300, 7, 13], &[1, 0, 2]),
        (&[130, 2, 131], &[2, 1, 0]),
        // Long super-elements.
        (&[37, 5, 211], &[1, 0, 2]),
        (&[3, 5, 9001], &[1, 0, 2]),
        (&[4, 3, 2, 3001], &[2, 1, 0, 3]),
        (&[9, 30, 70], &[1, 0, 2]),
        (&[40, 11, 37], &[1, 0, 2]),
    ] {
        all.push(AxisPermutation::new(extents, order).expect("few axes"));
    }
    for (turn, axes) in all.into_iter().enumerate() {
        suite.everywhere(&axes, [1, 2, 4, 8, 16, 3, 6, 12, 24, 40][turn % 10], &ways);
    }
    suite.print_runs();
    // The tilings of tiles have a kernel for every problem.
    let tiles = |what: &&String| what.starts_with("declined") && !what.contains(" units ");
    let declined = suite.runs.keys().filter(tiles).count();
    println!("  small axes out of place: {} wrong, {declined} declined", suite.failures);
    met.extend(suite.runs.into_keys());
    suite.failures + declined
}

/// Extents, order, bytes of an element.
const FULL: &[(&[usize], &[usize], usize)] = &[
    // Images in both directions, with many channels and few.
    (&[64, 256, 112, 112], &[0, 2, 3, 1], 4),
    (&[64, 112, 112, 256], &[0, 3, 1, 2], 4),
    (&[64, 256, 112, 112], &[0, 2, 3, 1], 2),
    (&[64, 128, 56, 56], &[0, 3, 1, 2], 1),
    (&[256, 3, 224, 224], &[0, 2, 3, 1], 4),
    (&[256, 224, 224, 3], &[0, 3, 1, 2], 1),
    // Last axes that stay.
    (&[4096, 16, 32, 128], &[0, 2, 1, 3], 2),
    (&[509, 641, 1021], &[1, 0, 2], 4),
    (&[10_000, 12, 64, 8], &[0, 2, 1, 3], 4),
    (&[100_000, 40, 3], &[1, 0, 2], 4),
    (&[30_000, 40, 5], &[1, 0, 2], 1),
    // Reversed axes and other orders.
    (&[512, 640, 1024], &[2, 1, 0], 4),
    (&[128, 96, 160, 144], &[3, 2, 1, 0], 4),
    (&[128, 96, 160, 144], &[2, 0, 3, 1], 4),
    (&[32, 64, 24, 48, 96], &[4, 3, 2, 1, 0], 4),
    (&[48, 28, 28, 28, 48], &[4, 3, 2, 1, 0], 4),
    (&[16, 16, 16, 16, 16, 64], &[5, 4, 3, 2, 1, 0], 4),
    (&[509, 641, 1021], &[2, 1, 0], 4),
    (&[509, 641, 1021], &[2, 1, 0], 1),
    (&[509, 641, 1021], &[2, 1, 0], 2),
    (&[251, 317, 509], &[2, 1, 0], 8),
    (&[251, 317, 509], &[2, 1, 0], 16),
    (&[251, 317, 509], &[2, 1, 0], 12),
    // Tiny extents, many axes.
    (&[7, 2, 5003, 3, 211], &[2, 4, 1, 3, 0], 1),
    (&[16, 24, 32, 12, 20, 36], &[5, 3, 1, 4, 2, 0], 4),
    (&[12, 24, 30, 16, 20, 7], &[3, 1, 4, 0, 2, 5], 12),
    (&[8, 9, 10, 11, 12, 13, 7, 6], &[7, 6, 5, 4, 3, 2, 1, 0], 3),
    // More than 2^32 elements.
    (&[2049, 1025, 2047], &[2, 1, 0], 1),
];

/// Runs sizes that fill the chip `times` times, aligned and one element off.
fn full(bench: &mut Bench, times: usize) -> usize {
    let limits: DeviceLimits = *bench.gpu.device().limits();
    let mut failures = 0;
    for &(extents, order, elem) in FULL {
        let problem = Problem::permuted(extents, order, elem).expect("fits");
        let (shape, bytes) = (StageMap::Axes(problem.axes().expect("few")), problem.bytes());
        let (to, from) = (memory(bytes + 64), memory(bytes + 64));
        let least = widest_word(&[elem]);
        let planner = Planner::new(bench.gpu.device().clone());
        for (skew, alignment) in [(0, 16), (least, least)] {
            if skew >= 16 {
                continue;
            }
            let of = problem.out_of_place().unwrap().with_alignment(alignment);
            let planned = Work::of_plan(&planner.plan(&of).expect("has a kernel"));
            let by = ways().map(|way| Work::of_stage(&shape, way, elem, alignment, &limits));
            for (nth, work) in std::iter::once(planned).chain(by).enumerate() {
                let work = match work {
                    // Super-elements may be too short for `Units`.
                    Err(CudaError::Infeasible { .. }) if nth > Tiling::AXES.len() => continue,
                    work => work.expect("has a kernel"),
                };
                let kernel = work.calls()[0].kernel();
                let prepared = bench.prepare(work).expect("loads");
                let [put, at] = [address(&to), address(&from)].map(|at| at + skew as u64);
                bench.fill(at, problem.len(), elem);
                for _ in 0..if nth == 0 { times } else { 1 } {
                    // Overwrite the previous run's result, which would look right.
                    bench.fill(put, bytes / 16, 16.min(least));
                    let ran = run_into(&prepared, bench, [(put, bytes), (at, bytes)]);
                    let (wrong, first) = bench.wrong_axes(put, &problem.fused(), elem);
                    if ran.is_err() || wrong > 0 {
                        println!(
                            "  WRONG {shape} w{elem} at {alignment} {kernel}: {wrong} elements, the first at {first}, {ran:?}"
                        );
                        failures += 1;
                    }
                }
            }
        }
        println!("  {shape} w{elem} compared");
    }
    failures
}
