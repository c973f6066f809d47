//! From one place to another: the default, every way that chose it, the literature's ladder, and the
//! recursive filter. Each run is compared with the closed form, or the host, before it is timed.

use cust::memory::CopyDestination;
use turntile_cuda::Loaded;
use turntile_cuda::banks::Cost;
use turntile_cuda::chip::way_of;
use turntile_cuda::out_of_place::gaussian::{self, Between};
use turntile_cuda::out_of_place::ladder::{self, RUNGS, Rung};
use turntile_cuda::out_of_place::program::{Place, Program};
use turntile_cuda::way::Way;
use turntile_perm::Elementary;
use turntile_plan::{Plan, Planner, Problem, TileRule};

use crate::common::{Bench, memory};
use crate::timing::Timer;

/// Writes a table as CSV; adds the cases that were wrong.
type Table = fn(&mut Timer, &mut usize) -> String;

pub const ALL: [(&str, Table); 4] = [
    ("out_of_place", defaults),
    ("out_of_place_ways", every_way),
    ("ladder", ladder),
    ("gaussian", filters),
];

/// What is timed: batch, rows, columns, bytes of an element.
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

fn run(bench: &Bench, loaded: &Loaded, places: &[Place]) {
    // SAFETY: the places are the timer's or the table's own memory, as long as the program says.
    unsafe { loaded.run_raw(bench.raw_stream(), places) }.expect("runs");
}

/// Compared, then timed: seconds, and elements that are wrong.
fn timed(timer: &mut Timer, program: Program, e: Elementary, elem: usize) -> (f64, u64) {
    let (to, from) = timer.addresses();
    let loaded = timer.bench.gpu.load([program]).expect("loads");
    let places = [(to, e.len() * elem), (from, e.len() * elem)];
    timer.bench.fill(from, e.len(), elem);
    // What the case before left would look right.
    timer.bench.fill(to, e.len() * elem / 16, 16);
    run(&timer.bench, &loaded, &places);
    let wrong = timer.bench.wrong(to, e, elem).0;
    (timer.median(|bench| run(bench, &loaded, &places)), wrong)
}

const HEADER: &str = "batch,rows,cols,elem_bytes,kernel,swath,megabytes,seconds,gb_per_s,copy_gb_per_s,percent_of_copy,wrong_elements\n";

fn row(
    timer: &mut Timer,
    bad: &mut usize,
    problem: &Problem,
    program: Program,
    swath: usize,
) -> String {
    let kernel = program.steps()[0].call().kernel();
    let (bytes, elem) = (problem.bytes(), problem.elem_bytes());
    let copy = timer.copy(bytes);
    let (seconds, wrong) = timed(timer, program, elementary(problem), elem);
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

/// A plan's program and its swath.
fn planned(plan: &Plan) -> (Program, usize) {
    let swath = match way_of(&plan.legs[0].stages[0].offer) {
        Some(Way::OutOfPlace { swath, .. }) => swath,
        way => panic!("{plan}: {way:?}"),
    };
    (Program::of_plan(plan).expect("of this planner's"), swath)
}

fn defaults(timer: &mut Timer, bad: &mut usize) -> String {
    let mut csv = String::from(HEADER);
    let planner = Planner::new(timer.bench.gpu.chip().clone());
    for problem in problems() {
        let (program, swath) = planned(&planner.plan(&problem.out_of_place()).expect("has one"));
        csv += &row(timer, bad, &problem, program, swath);
    }
    csv
}

/// Every way in swaths of several heights.
fn every_way(timer: &mut Timer, bad: &mut usize) -> String {
    let mut csv = String::from(HEADER);
    let planner = Planner::new(timer.bench.gpu.chip().clone()).with_tiles(TileRule::Exhaustive);
    for problem in problems() {
        for plan in planner.survey(&problem.out_of_place()).candidates {
            let (program, swath) = planned(&plan);
            csv += &row(timer, bad, &problem, program, swath);
        }
    }
    csv
}

/// Every rung, tile and block rows at the sources' sizes and a ragged one.
fn ladder(timer: &mut Timer, bad: &mut usize) -> String {
    let mut csv = String::from(
        "kernel,source,rows,cols,tile,block_rows,shared_bytes,store_conflicts,load_conflicts,worst_ways,seconds,\
         gb_per_s,copy_gb_per_s,percent_of_copy,wrong_elements\n",
    );
    for (rows, cols) in [(2048, 2048), (3072, 3072), (4096, 4096), (16384, 16384), (7919, 3001)] {
        let bytes = 4 * rows * cols;
        let copy = timer.copy(bytes);
        for rung in &RUNGS {
            let mut best = (f64::MAX, 0, 0);
            for (tile, block_rows) in rung.sizes() {
                let program = ladder::program(rung, tile, block_rows, rows, cols).expect("has one");
                let transposed = Elementary { batch: 1, rows, mid: 1, cols, unit: 1 };
                let copied = Elementary { rows: 1, cols: rows * cols, ..transposed };
                let e = if rung.transposes() { transposed } else { copied };
                let (seconds, wrong) = timed(timer, program, e, 4);
                *bad += usize::from(wrong > 0);
                if seconds < best.0 {
                    best = (seconds, tile, block_rows);
                }
                let rate = |seconds: f64| 2.0 * bytes as f64 / seconds / 1e9;
                let (stores, loads): (Cost, Cost) = rung.bank_cost(tile, block_rows);
                csv += &format!(
                    "{},{},{rows},{cols},{tile},{block_rows},{},{},{},{},{seconds:.7},{:.0},{:.0},{:.1},{wrong}\n",
                    rung.name,
                    rung.source.replace(',', ";"),
                    rung.shared_bytes(tile),
                    stores.conflicts(),
                    loads.conflicts(),
                    stores.worst.max(loads.worst),
                    rate(seconds),
                    rate(copy),
                    100.0 * copy / seconds
                );
            }
            println!(
                "  {:18} {rows} x {cols}: best {:2} x {:2}, {:6.0} GB/s, {:5.1}% of copy",
                rung.name,
                best.1,
                best.2,
                2.0 * bytes as f64 / best.0 / 1e9,
                100.0 * copy / best.0
            );
        }
    }
    csv
}

/// The filter with each transposition, and without.
fn filters(timer: &mut Timer, bad: &mut usize) -> String {
    let mut csv = String::from(
        "rows,cols,sigma,transposition,tile,block_rows,seconds,without_seconds,transpositions_percent,worst_difference\n",
    );
    let rung = |name, tile| Between::Ladder(Rung::named(name).expect("is one"), tile, tile.min(8));
    let ways = [
        ("nothing", 0, Between::Nothing),
        ("naive", 32, rung("naive", 32)),
        ("padded", 16, rung("padded", 16)),
        ("parallel-write", 16, rung("parallel-write", 16)),
        ("padded", 32, rung("padded", 32)),
        ("parallel-write", 32, rung("parallel-write", 32)),
        ("default", 0, Between::Default),
        ("in place", 0, Between::InPlace),
    ];
    for (rows, cols) in [(512, 512), (1024, 1024), (2048, 2048), (4096, 4096), (3000, 5000)] {
        let sigma = 10.0;
        let image: Vec<f32> =
            (0..rows * cols).map(|k| ((k * 7919) % 1013) as f32 / 1013.0).collect();
        let bytes: Vec<u8> = image.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let want = gaussian::on_host(&image, rows, cols, sigma);
        let mut without = 0.0;
        for (name, tile, way) in ways {
            let program =
                gaussian::program(rows, cols, sigma, way, &timer.bench.gpu).expect("has kernels");
            let buffers: Vec<_> =
                program.buffers().iter().map(|buffer| memory(buffer.bytes.max(16))).collect();
            let places: Vec<Place> =
                buffers.iter().map(|b| (b.as_device_ptr().as_raw(), b.len())).collect();
            buffers[0].index(0..bytes.len()).copy_from(&bytes).expect("fits");
            let loaded = timer.bench.gpu.load([program]).expect("loads");
            run(&timer.bench, &loaded, &places);
            timer.bench.stream.synchronize().expect("ends well");
            let mut got = vec![0; bytes.len()];
            buffers[1].index(0..bytes.len()).copy_to(&mut got).expect("fits");
            let got = got.as_chunks().0.iter().map(|x| f32::from_ne_bytes(*x));
            let worst = got.zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            let seconds = timer.median(|bench| run(bench, &loaded, &places));
            if way == Between::Nothing {
                without = seconds;
            } else {
                *bad += usize::from(worst >= 1e-3);
            }
            let share = 100.0 * (seconds - without) / seconds;
            println!(
                "  {rows} x {cols} {name:16} {tile:2} {:8.1} us, {share:5.1}% transpositions",
                seconds * 1e6
            );
            let difference =
                if way == Between::Nothing { String::new() } else { format!("{worst:.1e}") };
            csv += &format!(
                "{rows},{cols},{sigma},{name},{tile},{},{seconds:.7},{without:.7},{share:.1},{difference}\n",
                tile.min(8)
            );
        }
    }
    csv
}
