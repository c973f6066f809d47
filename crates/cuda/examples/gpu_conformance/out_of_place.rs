//! Out-of-place transposition: every strategy on small shapes, on sizes that fill the chip, and
//! beyond 2^32 elements; and rejected calls.

use std::collections::BTreeMap;

use cust::memory::{CopyDestination, DeviceBuffer};
use turntile_cuda::gpu_device::strategy_of;
use turntile_cuda::launch::widest_word;
use turntile_cuda::strategy::{Strategy, Tiling};
use turntile_cuda::{CudaError, Prepared, Work};
use turntile_perm::{AxisPermutation, Elementary};
use turntile_plan::{Plan, Planner, Problem, StageMap, TileRule};

use crate::common::{Bench, address, fault, left, memory, pattern, run_into};
use crate::errors::refused;

fn whole(problem: &Problem) -> Elementary {
    let (batch, rows, cols) = (problem.batch(), problem.rows(), problem.cols());
    Elementary { batch, rows, mid: 1, cols, unit: 1 }
}

/// Every tiling.
const TILINGS: [Tiling; 6] =
    [Tiling::Micro, Tiling::Lines, Tiling::Band, Tiling::Stack, Tiling::Units, Tiling::AXES[0]];

fn work(
    bench: &Bench,
    problem: &Problem,
    way: Strategy,
    alignment: usize,
) -> Result<Work, CudaError> {
    let (shape, limits) =
        (StageMap::Axes(problem.axes().expect("matrices")), bench.gpu.device().limits());
    Work::of_stage(&shape, way, problem.itemsize(), alignment, limits)
}

/// Returns plans for each alignment of memory that elements can have, best first.
fn of_every_alignment(bench: &Bench, problem: &Problem) -> Vec<Plan> {
    let planner = Planner::new(bench.gpu.device().clone());
    let alignments = [16, 8, 4, 2, 1].into_iter();
    let least = widest_word(&[problem.itemsize()]);
    let plan = |alignment| planner.plan(&problem.out_of_place().unwrap().with_alignment(alignment));
    alignments.filter(|&a| a >= least).map(|a| plan(a).expect("has kernels")).collect()
}

/// Prepares these plans. A run uses the first plan whose alignment the memory has.
fn prepared(bench: &Bench, plans: &[Plan]) -> Prepared {
    let first = bench.gpu.prepare(&plans[0]).expect("loads");
    plans[1..].iter().fold(first, |prepared, plan| prepared.or(plan).expect("loads"))
}

/// Runs every candidate of the planner, for every alignment that elements can have.
pub fn plans(bench: &mut Bench, problem: &Problem) -> usize {
    let (to, from) = (memory(problem.bytes()), memory(problem.bytes()));
    let planner = Planner::new(bench.gpu.device().clone()).with_tiles(TileRule::Exhaustive);
    let mut failures = 0;
    for best in of_every_alignment(bench, problem) {
        for plan in planner.candidates(&best.problem).candidates {
            let what = plan.to_string();
            match bench.gpu.prepare(&plan) {
                Ok(prepared) => {
                    let e = (whole(problem), problem.itemsize());
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

/// Bytes around arrays, so that they can be unaligned, and writes outside of them are found.
const SKEW: usize = 64;

/// Small arrays, moved from one buffer to another.
pub struct Suite<'a> {
    bench: &'a mut Bench,
    to: DeviceBuffer<u8>,
    from: DeviceBuffer<u8>,
    /// Number of runs per kernel, and of declined cases per reason.
    pub runs: BTreeMap<String, usize>,
    pub failures: usize,
}

impl<'a> Suite<'a> {
    pub fn new(bench: &'a mut Bench) -> Self {
        let (to, from) = (memory(4 << 20), memory(4 << 20));
        Suite { bench, to, from, runs: BTreeMap::new(), failures: 0 }
    }

    pub fn print_runs(&self) {
        for (what, count) in &self.runs {
            println!("  {count:8} {what}");
        }
    }

    /// Runs with both buffers aligned, and with the destination, the source or both aligned only to
    /// the element.
    pub fn everywhere(&mut self, axes: &AxisPermutation, elem: usize, ways: &[Strategy]) {
        let least = widest_word(&[elem]);
        self.at(axes, elem, ways, (16, [0, 0]));
        if least < 16 {
            for skews in [[least, 0], [0, least], [least, 3 * least]] {
                self.at(axes, elem, ways, (least, skews));
            }
        }
    }

    /// Runs each strategy, and compares every byte of the destination and around it.
    fn at(
        &mut self,
        axes: &AxisPermutation,
        elem: usize,
        ways: &[Strategy],
        (alignment, skews): (usize, [usize; 2]),
    ) {
        let bytes = axes.len() * elem;
        let before = pattern(bytes + 2 * SKEW);
        let room: Vec<u8> = before.iter().map(|byte| byte ^ 0x5A).collect();
        let mut want = room.clone();
        let [to_skew, from_skew] = skews.map(|skew| SKEW + skew);
        for k in 0..axes.len() {
            let (at, put) = (from_skew + k * elem, to_skew + axes.dest(k) * elem);
            want[put..put + elem].copy_from_slice(&before[at..at + elem]);
        }
        self.from.index(0..before.len()).copy_from(&before).expect("fits");
        let (shape, limits) = (StageMap::Axes(*axes), *self.bench.gpu.device().limits());
        for &way in ways {
            let work = match Work::of_stage(&shape, way, elem, alignment, &limits) {
                Ok(work) => work,
                Err(CudaError::Infeasible { why, .. }) => {
                    *self.runs.entry(format!("declined {way}: {why}")).or_default() += 1;
                    continue;
                }
                Err(error) => panic!("{shape} {way}: {error}"),
            };
            let kernel = work.calls()[0].kernel();
            *self.runs.entry(kernel.clone()).or_default() += 1;
            self.to.index(0..room.len()).copy_from(&room).expect("fits");
            let prepared = self.bench.prepare(work).expect("loads");
            let places = [
                (address(&self.to) + to_skew as u64, bytes),
                (address(&self.from) + from_skew as u64, bytes),
            ];
            let ran = run_into(&prepared, self.bench, places);
            let left =
                ran.map_err(Into::into).and_then(|()| left(self.bench, &self.to, want.len()));
            if let Some(fault) = fault(left, &want, |_| true) {
                self.failures += 1;
                if self.failures < 20 {
                    println!("WRONG {shape} w{elem} skews {skews:?} {way} {kernel}: {fault}");
                }
            }
        }
    }
}

/// Runs all shapes up to `side` by `side`, and selected ones with a longer side, by every strategy,
/// with every byte compared.
pub fn small(bench: &mut Bench, side: usize) -> usize {
    let mut suite = Suite::new(bench);
    let mut shapes: Vec<[usize; 2]> =
        (1..=side).flat_map(|rows| (1..=side).map(move |cols| [rows, cols])).collect();
    // A small `side` runs fewer of these, for tools that slow execution.
    let step = if side < 8 { 5 } else { 1 };
    for short in [1, 2, 3, 4, 7, 8, 19, 32, 47, 63, 64, 65].into_iter().step_by(step) {
        for long in [127, 128, 129, 255, 257, 1000, 1029, 2048].into_iter().step_by(step) {
            shapes.extend([[short, long], [long, short]]);
        }
    }
    shapes.extend([[128, 128], [127, 129], [131, 257], [256, 192], [130, 260], [300, 301]]);
    for (turn, [rows, cols]) in shapes.into_iter().enumerate() {
        let ways = TILINGS.map(|tiling| Strategy::OutOfPlace { tiling, swath: 1 + turn % 3 });
        for elem in [1, 2, 4, 8, 16, 12, 6, 40] {
            let batch = [1, 2, 5][(turn + elem) % 3];
            let problem = Problem::with_batch(batch, rows, cols, elem).expect("fits");
            if problem.bytes() <= 2 << 20 {
                suite.everywhere(&problem.axes().expect("matrices"), elem, &ways);
            }
        }
    }
    suite.print_runs();
    suite.failures + refusals(bench)
}

/// Fills `from`, runs, and counts elements of `to` that are not where `e` moves them.
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

/// Checks that invalid calls are rejected before anything runs.
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
        refused(&answer([(start, bytes), (end - 4, bytes)]), "Overlap"),
        refused(&answer([(start, bytes), (start, bytes)]), "Overlap"),
        refused(&answer([(start, bytes - 1), (end, bytes)]), "Length"),
        refused(&answer([(start, bytes), (end + 2, bytes)]), "Misaligned"),
        refused(&answer([(0, bytes), (end, bytes)]), "Null"),
    ];
    let untouched = bench.wrong(start, identity, 4).0 == 0;
    println!("  refused: {right:?}, data untouched: {untouched}");
    right.iter().chain([&untouched]).filter(|right| !**right).count()
}

/// Runs every strategy on sizes that fill the chip and on more than 2^32 elements, compared on the
/// device.
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
        // The planner's choice runs more often than the others.
        let planner = Planner::new(bench.gpu.device().clone());
        let best = planner.plan(&problem.out_of_place().unwrap()).expect("has a kernel");
        let best = strategy_of(&best.phases[0].stages[0].implementation).expect("a GPU's");
        let others = TILINGS.map(|tiling| Strategy::OutOfPlace { tiling, swath: tiling.swath() });
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
