//! Transpositions from one place to another: every way on small shapes, at sizes that fill the chip and
//! beyond 2^32 elements; and what is refused.

use std::collections::BTreeMap;

use cust::memory::{CopyDestination, DeviceBuffer};
use turntile_cuda::chip::way_of;
use turntile_cuda::way::{Tiling, Way};
use turntile_cuda::{CudaError, Prepared, Work};
use turntile_perm::Elementary;
use turntile_plan::{Plan, Planner, Problem, StageShape, TileRule};

use crate::common::{Bench, memory, run_into};

pub fn address(buffer: &DeviceBuffer<u8>) -> u64 {
    buffer.as_device_ptr().as_raw()
}

fn whole(problem: &Problem) -> Elementary {
    let (batch, rows, cols) = (problem.batch(), problem.rows(), problem.cols());
    Elementary { batch, rows, mid: 1, cols, unit: 1 }
}

/// Every way of cutting tiles.
const TILINGS: [Tiling; 5] =
    [Tiling::Micro, Tiling::Lines, Tiling::Band, Tiling::Stack, Tiling::Units];

fn work(bench: &Bench, problem: &Problem, way: Way, alignment: usize) -> Result<Work, CudaError> {
    let (shape, limits) =
        (StageShape::Axes(problem.axes().expect("matrices")), bench.gpu.chip().limits());
    Work::of_stage(&shape, way, problem.elem_bytes(), alignment, limits)
}

/// Plans for memory of every alignment that elements have, best first.
fn of_every_alignment(bench: &Bench, problem: &Problem) -> Vec<Plan> {
    let planner = Planner::new(bench.gpu.chip().clone());
    let alignments = [16, 8, 4, 2, 1].into_iter();
    let least = (problem.elem_bytes() & problem.elem_bytes().wrapping_neg()).min(16);
    let plan = |alignment| planner.plan(&problem.out_of_place().with_alignment(alignment));
    alignments.filter(|&a| a >= least).map(|a| plan(a).expect("has kernels")).collect()
}

/// The first of these plans whose alignment the memory has.
fn prepared(bench: &Bench, plans: &[Plan]) -> Prepared {
    let first = bench.gpu.prepare(&plans[0]).expect("loads");
    plans[1..].iter().fold(first, |prepared, plan| prepared.or(plan).expect("loads"))
}

/// Every candidate of the planner's, at every alignment that elements have.
pub fn plans(bench: &mut Bench, problem: &Problem) -> usize {
    let (to, from) = (memory(problem.bytes()), memory(problem.bytes()));
    let planner = Planner::new(bench.gpu.chip().clone()).with_tiles(TileRule::Exhaustive);
    let mut failures = 0;
    for best in of_every_alignment(bench, problem) {
        for plan in planner.survey(&best.problem).candidates {
            let what = plan.to_string();
            match bench.gpu.prepare(&plan) {
                Ok(prepared) => {
                    let e = (whole(problem), problem.elem_bytes());
                    let failed = compare(bench, &prepared, [&to, &from], e, &what);
                    println!("  {what}: {failed} wrong");
                    failures += failed;
                }
                Err(error) => {
                    println!("  FAILED {what}: {error}");
                    failures += 1;
                }
            }
        }
    }
    failures
}

/// Room around matrices, so that they can lie off alignment and what is written beside them shows.
const SKEW: usize = 64;

/// All shapes up to `side` by `side`, and some with one longer side, every way, every byte compared.
pub fn small(bench: &mut Bench, side: usize) -> usize {
    let (to, from) = (memory(4 << 20), memory(4 << 20));
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures = 0;
    let mut shapes: Vec<[usize; 2]> =
        (1..=side).flat_map(|rows| (1..=side).map(move |cols| [rows, cols])).collect();
    // With small sides asked for, fewer of these: for the tools that slow everything down.
    let step = if side < 8 { 5 } else { 1 };
    for short in [1, 2, 3, 4, 7, 8, 19, 32, 47, 63, 64, 65].into_iter().step_by(step) {
        for long in [127, 128, 129, 255, 257, 1000, 1029, 2048].into_iter().step_by(step) {
            shapes.extend([[short, long], [long, short]]);
        }
    }
    shapes.extend([[128, 128], [127, 129], [131, 257], [256, 192], [130, 260], [300, 301]]);
    for (turn, [rows, cols]) in shapes.into_iter().enumerate() {
        for elem in [1, 2, 4, 8, 16, 12, 6, 40] {
            let batch = [1, 2, 5][(turn + elem) % 3];
            let problem = Problem::with_batch(batch, rows, cols, elem).expect("fits");
            let bytes = problem.bytes();
            if bytes > 2 << 20 {
                continue;
            }
            let before: Vec<u8> =
                (0..bytes + 2 * SKEW).map(|k| (k * 131 + k / 251 + k / 65521) as u8).collect();
            let room: Vec<u8> = before.iter().map(|byte| byte ^ 0x5A).collect();
            let least = (elem & elem.wrapping_neg()).min(16);
            // Aligned, and by an element's alignment alone: the destination, the source.
            for (to_skew, from_skew) in [(0, 0), (least, 0), (0, least), (least, 3 * least)] {
                let alignment = if to_skew + from_skew == 0 { 16 } else { least };
                if alignment == 16 && to_skew > 0 {
                    continue;
                }
                let mut want = room.clone();
                for k in 0..problem.len() {
                    let (at, put) =
                        (SKEW + from_skew + k * elem, SKEW + to_skew + problem.dest(k) * elem);
                    want[put..put + elem].copy_from_slice(&before[at..at + elem]);
                }
                from.index(0..before.len()).copy_from(&before).expect("fits");
                for tiling in TILINGS {
                    let way = Way::OutOfPlace { tiling, swath: 1 + turn % 3 };
                    let work = match work(bench, &problem, way, alignment) {
                        Ok(work) => work,
                        Err(CudaError::Infeasible { why, .. }) => {
                            *runs.entry(format!("declined {tiling}: {why}")).or_default() += 1;
                            continue;
                        }
                        Err(error) => panic!("{problem} {way}: {error}"),
                    };
                    let kernel = work.calls()[0].kernel();
                    *runs.entry(kernel.clone()).or_default() += 1;
                    to.index(0..room.len()).copy_from(&room).expect("fits");
                    let prepared = bench.prepare(work).expect("loads");
                    let places = [
                        (address(&to) + (SKEW + to_skew) as u64, bytes),
                        (address(&from) + (SKEW + from_skew) as u64, bytes),
                    ];
                    let ran = run_into(&prepared, bench, places);
                    let ended = bench.stream.synchronize();
                    let mut got = vec![0; room.len()];
                    to.index(0..got.len()).copy_to(&mut got).expect("fits");
                    if ran.is_err() || ended.is_err() || got != want {
                        failures += 1;
                        if failures < 20 {
                            let wrong = (0..got.len()).filter(|&k| got[k] != want[k]).count();
                            println!(
                                "WRONG {batch} x {rows} x {cols} w{elem} skews {to_skew} {from_skew} \
                                 {kernel}: {wrong} bytes, {ran:?} {ended:?}"
                            );
                        }
                    }
                }
            }
        }
    }
    for (what, count) in &runs {
        println!("  {count:8} {what}");
    }
    failures + refusals(bench)
}

/// Fills `from`, runs, and counts elements of `to` that `e` does not put there.
fn compare(
    bench: &mut Bench,
    prepared: &Prepared,
    [to, from]: [&DeviceBuffer<u8>; 2],
    (e, elem): (Elementary, usize),
    what: &str,
) -> usize {
    let bytes = e.len() * elem;
    bench.fill(address(from), e.len(), elem);
    let ran = run_into(prepared, bench, [(address(to), bytes), (address(from), bytes)]);
    let (wrong, first) = bench.wrong(address(to), e, elem);
    if ran.is_err() || wrong > 0 {
        println!("  WRONG {what}: {wrong} elements, the first at {first}, {ran:?}");
    }
    usize::from(ran.is_err() || wrong > 0)
}

/// What cannot be right is refused before anything runs.
fn refusals(bench: &mut Bench) -> usize {
    let problem = Problem::new(500, 300, 4).expect("fits");
    let plans = of_every_alignment(bench, &problem);
    let prepared = prepared(bench, &plans);
    let (data, bytes) = (memory(2 * problem.bytes() + 64), problem.bytes());
    let (start, end) = (address(&data), address(&data) + bytes as u64);
    let identity = Elementary { batch: 1, rows: 1, mid: 1, cols: 2 * problem.len(), unit: 1 };
    bench.fill(start, identity.cols, 4);
    let answer = |places: [(u64, usize); 2]| run_into(&prepared, bench, places);
    let right = [
        matches!(answer([(start, bytes), (end - 4, bytes)]), Err(CudaError::Overlap { .. })),
        matches!(answer([(start, bytes), (start, bytes)]), Err(CudaError::Overlap { .. })),
        matches!(answer([(start, bytes - 1), (end, bytes)]), Err(CudaError::Length { .. })),
        matches!(answer([(start, bytes), (end + 2, bytes)]), Err(CudaError::Misaligned { .. })),
        matches!(answer([(0, bytes), (end, bytes)]), Err(CudaError::Null { .. })),
    ];
    let untouched = bench.wrong(start, identity, 4).0 == 0;
    println!("  refused: {right:?}, data untouched: {untouched}");
    right.iter().chain([&untouched]).filter(|right| !**right).count()
}

/// Sizes that fill the chip, every way, compared on the device; and more than 2^32 elements.
pub fn full_chip(bench: &mut Bench) -> usize {
    let mut failures = 0;
    let cases = [
        (1, 16384, 16384, 4),
        (1, 20000, 12000, 4),
        (1, 16381, 20011, 4),
        (1, 7919, 30011, 1),
        (1, 20011, 16381, 2),
        (1, 10007, 9973, 8),
        (1, 9973, 5003, 16),
        (1, 12001, 8000, 12),
        (1, 9000, 7001, 3),
        (1, 10_000_000, 3, 4),
        (1, 3, 10_000_000, 4),
        (1, 9_999_991, 7, 1),
        (1, 7, 9_999_991, 1),
        (1, 4_000_000, 64, 4),
        (1, 41, 3_000_001, 2),
        (1, 1_000_000, 40, 4),
        (1, 40, 1_000_000, 8),
        (256, 2048, 1408, 2),
        (100_000, 64, 48, 4),
        (3_000_000, 3, 5, 4),
        (5_000_001, 7, 3, 1),
    ];
    for (batch, rows, cols, elem) in cases {
        let problem = Problem::with_batch(batch, rows, cols, elem).expect("fits");
        let (to, from) = (memory(problem.bytes()), memory(problem.bytes()));
        // What the planner takes, more often than the others.
        let planner = Planner::new(bench.gpu.chip().clone());
        let best = planner.plan(&problem.out_of_place()).expect("has a kernel");
        let best = way_of(&best.legs[0].stages[0].offer).expect("a GPU's");
        let others = TILINGS.map(|tiling| Way::OutOfPlace { tiling, swath: tiling.swath() });
        let others = others.into_iter().filter(|&way| way != best);
        for (nth, way) in [best].into_iter().chain(others).enumerate() {
            let work = match work(bench, &problem, way, 16) {
                Ok(work) => work,
                Err(why) => {
                    println!("  {why}");
                    continue;
                }
            };
            let kernel = work.calls()[0].kernel();
            let prepared = bench.prepare(work).expect("loads");
            let what = format!("{batch} x {rows} x {cols} w{elem} {kernel}");
            for _ in 0..if nth == 0 { 5 } else { 1 } {
                failures += compare(bench, &prepared, [&to, &from], (whole(&problem), elem), &what);
            }
        }
        println!("  {batch} x {rows} x {cols} w{elem} compared");
    }
    for (rows, cols, elem) in
        [(65536 + 64, 65537, 1), (3, 1 << 31, 1), (1 << 31, 3, 1), (46400, 51200, 4)]
    {
        let problem = Problem::new(rows, cols, elem).expect("fits");
        let (to, from) = (memory(problem.bytes()), memory(problem.bytes()));
        let plans = of_every_alignment(bench, &problem);
        let prepared = prepared(bench, &plans);
        let what = format!("{rows} x {cols} w{elem}");
        failures += compare(bench, &prepared, [&to, &from], (whole(&problem), elem), &what);
        println!("  {what} compared");
    }
    failures
}
