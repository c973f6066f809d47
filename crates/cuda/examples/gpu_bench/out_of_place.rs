//! Times out-of-place transposition: the default, and every strategy. Each run is compared with the
//! closed form before it is timed.

use turntile_cuda::buffers::Place;
use turntile_cuda::gpu_device::strategy_of;
use turntile_cuda::strategy::Strategy;
use turntile_cuda::{Prepared, Work};
use turntile_perm::Elementary;
use turntile_plan::{Plan, Planner, Problem, TileRule};

use crate::common::{Bench, run_into};
use crate::timing::Timer;

/// Returns a table as CSV, and adds the number of wrong cases.
pub type Table = fn(&mut Timer, &mut usize) -> String;

pub const ALL: [(&str, Table); 2] = [("out_of_place", defaults), ("out_of_place_ways", every_way)];

/// Timed matrices: batch, rows, columns, bytes of an element.
const SHAPES: [[usize; 4]; 56] = [
    [1, 16384, 16384, 4],
    [1, 32768, 24576, 4],
    [1, 16384, 8192, 4],
    [1, 65536, 4096, 4],
    [1, 19968, 12032, 4],
    [1, 20000, 12000, 4],
    [1, 23000, 23000, 4],
    [1, 16381, 20011, 4],
    [1, 20011, 16381, 4],
    [1, 40009, 10007, 4],
    [1, 7200, 1800, 4],
    [1, 5100, 2500, 4],
    [1, 4000, 3200, 4],
    [1, 3300, 3900, 4],
    [1, 2500, 5100, 4],
    [1, 1800, 7200, 4],
    [1, 10_000_000, 3, 4],
    [1, 3, 10_000_000, 4],
    [1, 10_000_000, 4, 4],
    [1, 9_999_991, 7, 4],
    [1, 10_000_000, 8, 4],
    [1, 8, 10_000_000, 4],
    [1, 10_000_000, 19, 4],
    [1, 19, 10_000_000, 4],
    [1, 10_000_000, 32, 4],
    [1, 32, 10_000_000, 4],
    [1, 4_000_000, 64, 4],
    [1, 64, 4_000_000, 4],
    [1, 32768, 32768, 1],
    [1, 32768, 32768, 2],
    [1, 16384, 16384, 8],
    [1, 16384, 8192, 16],
    [1, 32749, 32719, 1],
    [1, 32749, 32719, 2],
    [1, 16381, 20011, 8],
    [1, 10007, 9973, 12],
    [1, 10007, 9973, 6],
    [1, 10007, 9973, 3],
    [1, 1_000_003, 40, 4],
    [1, 40, 1_000_003, 4],
    [1, 30_000_000, 3, 1],
    [1, 1_000_003, 101, 4],
    [1, 101, 1_000_003, 4],
    [1, 2_000_003, 61, 4],
    [1, 61, 2_000_003, 4],
    [1, 151, 1_000_003, 4],
    [1, 1_000_003, 151, 4],
    [1, 10_000_000, 16, 4],
    [1, 16, 10_000_000, 4],
    [1_000_000, 16, 16, 4],
    [100_000, 30, 31, 4],
    [100_000, 100, 20, 4],
    [1_000_000, 5, 7, 4],
    [256, 2048, 1408, 2],
    [64, 7168, 2048, 2],
    [100_000, 64, 48, 4],
];

fn elementary(problem: &Problem) -> Elementary {
    let (batch, rows, cols) = (problem.batch(), problem.rows(), problem.cols());
    Elementary { batch, rows, mid: 1, cols, unit: 1 }
}

fn run(bench: &Bench, prepared: &Prepared, places: [Place; 2]) {
    run_into(prepared, bench, places).expect("runs");
}

/// Compares, then times. Returns seconds, and the number of wrong elements.
fn timed(timer: &mut Timer, work: Work, e: Elementary, elem: usize) -> (f64, u64) {
    let (to, from) = timer.addresses();
    let prepared = timer.bench.prepare(work).expect("loads");
    let places = [(to, e.len() * elem), (from, e.len() * elem)];
    timer.bench.fill(from, e.len(), elem);
    // Overwrite the previous case's result, which could be equal.
    timer.bench.fill(to, e.len() * elem / 16, 16);
    run(&timer.bench, &prepared, places);
    let wrong = timer.bench.wrong(to, e, elem).0;
    (timer.median(|bench| run(bench, &prepared, places)), wrong)
}

const HEADER: &str = "batch,rows,cols,elem_bytes,kernel,swath,megabytes,seconds,gb_per_s,copy_gb_per_s,percent_of_copy,wrong_elements\n";

fn row(timer: &mut Timer, bad: &mut usize, problem: &Problem, work: Work, swath: usize) -> String {
    let kernel = work.calls()[0].kernel();
    let (bytes, elem) = (problem.bytes(), problem.itemsize());
    let copy = timer.copy(bytes);
    let (seconds, wrong) = timed(timer, work, elementary(problem), elem);
    *bad += usize::from(wrong > 0);
    let rate = |seconds: f64| 2.0 * bytes as f64 / seconds / 1e9;
    let (batch, rows, cols) = (problem.batch(), problem.rows(), problem.cols());
    println!(
        "  {batch:6} x {rows:8} x {cols:8} w{elem:<2} {:38} {swath:2} {:6.0} {:6.1}% {wrong}",
        kernel,
        rate(seconds),
        100.0 * copy / seconds
    );
    format!(
        "{batch},{rows},{cols},{elem},{},{swath},{:.1},{seconds:.7},{:.0},{:.0},{:.1},{wrong}\n",
        kernel,
        bytes as f64 / 1e6,
        rate(seconds),
        rate(copy),
        100.0 * copy / seconds
    )
}

fn problems() -> impl Iterator<Item = Problem> {
    SHAPES.into_iter().map(|[batch, rows, cols, elem]| {
        Problem::with_batch(batch, rows, cols, elem).expect("fits")
    })
}

/// Returns a plan's launches and its swath.
fn planned(plan: &Plan) -> (Work, usize) {
    let swath = match strategy_of(&plan.phases[0].stages[0].implementation) {
        Some(Strategy::OutOfPlace { swath, .. }) => swath,
        way => panic!("{plan}: {way:?}"),
    };
    (Work::of_plan(plan).expect("of this planner's"), swath)
}

fn defaults(timer: &mut Timer, bad: &mut usize) -> String {
    let mut csv = String::from(HEADER);
    let planner = Planner::new(timer.bench.gpu.device().clone());
    for problem in problems() {
        let (work, swath) =
            planned(&planner.plan(&problem.out_of_place().unwrap()).expect("has one"));
        csv += &row(timer, bad, &problem, work, swath);
    }
    csv
}

/// Times every strategy, in swaths of several heights.
fn every_way(timer: &mut Timer, bad: &mut usize) -> String {
    let mut csv = String::from(HEADER);
    let planner = Planner::new(timer.bench.gpu.device().clone()).with_tiles(TileRule::Exhaustive);
    for problem in problems() {
        for plan in planner.candidates(&problem.out_of_place().unwrap()).candidates {
            let (work, swath) = planned(&plan);
            csv += &row(timer, bad, &problem, work, swath);
        }
    }
    csv
}
