//! Times the planner's choices for flips and quarter turns, a copy, and the plans without reversed
//! axes. Each result is compared first.

use turntile_cuda::Work;
use turntile_plan::{Planner, Problem};

use crate::common::{memory, run};
use crate::out_of_place::Table;
use crate::timing::Timer;

pub const ALL: [(&str, Table); 1] = [("flips", flips)];

/// Extents, order, sets of reversed axes of the result, and bytes of an element.
type Case<'a> = (&'a [usize], &'a [usize], &'a [&'a [usize]], usize);

const NO: &[usize] = &[];

const CASES: &[Case] = &[
    (&[64, 4096, 4096], &[0, 1, 2], &[&[0], &[1], &[2], &[0, 1, 2]], 4),
    (&[64, 4096, 4096], &[0, 1, 2], &[&[0], &[2]], 2),
    (&[64, 4096, 4096], &[0, 1, 2], &[&[0], &[2]], 1),
    (&[32, 4096, 4096], &[0, 1, 2], &[&[1], &[2]], 8),
    (&[63, 4001, 4097], &[0, 1, 2], &[&[0], &[1], &[2]], 4),
    (&[300_000_000, 3], &[0, 1], &[&[0], &[1]], 1),
    (&[20_000, 20_000, 3], &[0, 1, 2], &[&[0], &[1]], 1),
    // Quarter turns.
    (&[16384, 16384], &[1, 0], &[NO, &[0], &[1]], 4),
    (&[16384, 16384], &[1, 0], &[NO, &[0], &[1]], 8),
    (&[32768, 32768], &[1, 0], &[NO, &[0], &[1]], 2),
    (&[32768, 32768], &[1, 0], &[NO, &[0], &[1]], 1),
    (&[10_000, 10_000], &[1, 0], &[NO, &[0], &[1]], 4),
    (&[12_345, 12_345], &[1, 0], &[NO, &[0], &[1]], 4),
    (&[8192, 8192, 3], &[1, 0, 2], &[NO, &[0], &[1]], 1),
    (&[64, 2048, 2048], &[0, 2, 1], &[NO, &[1], &[2]], 4),
    (&[200_000, 32, 32], &[0, 2, 1], &[NO, &[1], &[2]], 4),
    (&[20_000, 12_000], &[1, 0], &[NO, &[0], &[1], &[0, 1]], 4),
    (&[16_381, 20_011], &[1, 0], &[NO, &[0], &[1]], 4),
    (&[2000, 3000, 64], &[1, 0, 2], &[NO, &[0], &[0, 2]], 4),
    (&[512, 640, 1024], &[2, 1, 0], &[NO, &[0], &[2]], 4),
];

const HEADER: &str = "problem,route,passes,kernels,workspace_bytes,megabytes,estimated_seconds,seconds,gb_per_s,copy_gb_per_s,\
                      percent_of_copy,wrong_elements\n";

fn flips(timer: &mut Timer, bad: &mut usize) -> String {
    let mut csv = String::from(HEADER);
    for &(extents, order, sets, elem) in CASES {
        for set in sets {
            let problem = Problem::permuted(extents, order, elem).expect("fits");
            csv += &row(timer, bad, &problem.with_flip(set).expect("axes of the result"));
        }
    }
    csv
}

fn row(timer: &mut Timer, bad: &mut usize, problem: &Problem) -> String {
    let planner = Planner::new(timer.bench.gpu.device().clone());
    let plan = planner.plan(problem).expect("there is a way");
    let work = Work::of_plan(&plan).expect("has kernels");
    let kernels = work.calls().iter().map(|call| call.kernel()).collect::<Vec<_>>().join(" ");
    let (bytes, workspace_bytes) = (problem.bytes(), work.workspace_bytes());
    let prepared = timer.bench.prepare(work).expect("loads");
    let (copy, data) = (timer.copy(bytes), timer.addresses().0);
    let workspace = memory(workspace_bytes.max(1));
    timer.bench.fill(data, problem.len(), problem.itemsize());
    run(&prepared, &timer.bench, data, bytes, &workspace).expect("launches");
    let axes = problem.flipped_axes().expect("few axes");
    let wrong = timer.bench.wrong_flipped(data, &axes, problem.itemsize()).0;
    *bad += usize::from(wrong > 0);
    let seconds = timer.median(|bench| {
        run(&prepared, bench, data, bytes, &workspace).expect("launches");
    });
    let rate = |seconds: f64| 2.0 * bytes as f64 / seconds / 1e9;
    let percent = 100.0 * copy / seconds;
    println!("  {problem:40} {kernels:50} {:6.0} {percent:6.1}% {wrong}", rate(seconds));
    format!(
        "{},{},{},{kernels},{workspace_bytes},{:.1},{:.7},{seconds:.7},{:.0},{:.0},{percent:.1},{wrong}\n",
        problem.to_string().replace(',', " "),
        plan.route(),
        plan.passes(),
        bytes as f64 / 1e6,
        plan.seconds,
        rate(seconds),
        rate(copy),
    )
}
