//! Times the planner's choices for leading dimensions, next to a copy of the elements only. Each
//! result is compared first.

use turntile_cuda::{ScalarKind, Scaling, Work};
use turntile_plan::{Plan, Planner, Problem};

use crate::common::{memory, run};
use crate::out_of_place::Table;
use crate::timing::Timer;

pub const ALL: [(&str, Table); 1] = [("leading", leading)];

/// Timed matrices: rows, columns, leading dimensions before and after, bytes of an element.
const SHAPES: [[usize; 5]; 22] = [
    [16384, 16384, 16384, 16384, 4],
    [16384, 16384, 16416, 16416, 4],
    [16384, 16384, 16385, 16385, 4],
    [16381, 16381, 16384, 16384, 4],
    [20000, 12000, 20480, 20480, 4],
    [12000, 20000, 20480, 20480, 4],
    [20000, 12000, 20001, 20001, 4],
    [16384, 16384, 16416, 16416, 8],
    [8192, 8192, 8224, 8224, 16],
    [16384, 16384, 16448, 16448, 2],
    [16384, 16384, 16448, 16448, 1],
    [8000, 8000, 8192, 8192, 12],
    [8000, 8000, 8192, 8192, 3],
    [8192, 4096, 4096, 8192, 4],
    [8192, 4096, 4096, 8200, 4],
    [8192, 4096, 4104, 8192, 4],
    [8000, 5000, 5100, 8100, 4],
    [20000, 12000, 12032, 20032, 4],
    [8000, 5000, 10_000, 16_000, 4],
    [2000, 1500, 1536, 2048, 4],
    [20011, 16381, 16400, 20100, 4],
    [10_000_000, 3, 4, 10_000_008, 4],
];

/// Timed matrices that keep their rows: rows, columns, pitches before and after, bytes of an
/// element.
const SLID: [[usize; 5]; 4] = [
    [20000, 12000, 12000, 12032, 4],
    [20000, 12000, 12032, 12000, 4],
    [20000, 12000, 12001, 12003, 4],
    [10_000_000, 20, 20, 24, 4],
];

/// Matrices that are also scaled by 2 and conjugated: index in [`SHAPES`], and type of number.
const SCALED: [(usize, ScalarKind); 6] = [
    (1, ScalarKind::F32),
    (2, ScalarKind::F32),
    (7, ScalarKind::F64),
    (7, ScalarKind::C32),
    (8, ScalarKind::C64),
    (16, ScalarKind::F32),
];

const HEADER: &str = "rows,cols,lda,ldb,elem_bytes,transposed,scaled,way,launches,first_kernel,workspace_bytes,megabytes,\
                      seconds,gb_per_s,copy_gb_per_s,percent_of_copy,wrong_elements\n";

/// Returns the method of a plan with one stage, else the plan's routes.
fn way(plan: &Plan) -> String {
    match &plan.stages().collect::<Vec<_>>()[..] {
        [stage] => stage.implementation.name(),
        _ => plan.route_name(),
    }
}

fn row(
    timer: &mut Timer,
    bad: &mut usize,
    problem: &Problem,
    scaled: Option<ScalarKind>,
) -> String {
    let plan = Planner::new(timer.bench.gpu.device().clone()).plan(problem);
    let plan = plan.expect("there is a way");
    let limits = *timer.bench.gpu.device().limits();
    let work = Work::of_plan(&plan).expect("has kernels");
    let kernel = work.calls().first().map_or(String::new(), |call| call.kernel());
    let (launches, workspace_bytes) = (work.calls().len(), work.workspace_bytes());
    let (leading, elem) = (*problem.leading().expect("has some"), problem.itemsize());
    let scaling = Scaling::By { alpha: Some([2.0, 0.0]), conjugated: true };
    let scaled_work =
        scaled.map(|number| work.and_scaled(number, scaling, &limits).expect("counted"));
    let prepared = timer.bench.prepare(work).expect("loads");
    let timed = scaled_work.map(|work| timer.bench.prepare(work).expect("loads"));
    let copy = timer.copy(problem.bytes());
    let (workspace, data) = (memory(workspace_bytes.max(1)), timer.addresses().0);
    let bytes = problem.span_bytes();
    timer.bench.fill(data, leading.span(), elem);
    run(&prepared, &timer.bench, data, bytes, &workspace).expect("launches");
    let wrong = timer.bench.wrong_leading(data, &leading, elem).0;
    *bad += usize::from(wrong > 0);
    let seconds = timer.median(|bench| {
        let timed = timed.as_ref().unwrap_or(&prepared);
        run(timed, bench, data, bytes, &workspace).expect("launches");
    });
    let rate = |seconds: f64| 2.0 * problem.bytes() as f64 / seconds / 1e9;
    let (source, result) = (leading.source(), leading.result());
    let (way, turned) = (way(&plan), u8::from(leading.is_transposed()));
    let scaled = scaled.map_or(String::new(), |number| format!("{number:?}").to_lowercase());
    println!(
        "  {problem:44} {scaled:4} {way:36} {launches:3} launches {:6.0} {:6.1}% {wrong}",
        rate(seconds),
        100.0 * copy / seconds
    );
    format!(
        "{},{},{},{},{elem},{turned},{scaled},{way},{launches},{kernel},{workspace_bytes},{:.1},{seconds:.7},{:.0},{:.0},{:.1},{wrong}\n",
        source.rows(),
        source.cols(),
        source.pitch(),
        result.pitch(),
        problem.bytes() as f64 / 1e6,
        rate(seconds),
        rate(copy),
        100.0 * copy / seconds
    )
}

fn leading(timer: &mut Timer, bad: &mut usize) -> String {
    let mut csv = String::from(HEADER);
    let turned = |&[rows, cols, lda, ldb, elem]: &[usize; 5]| {
        let problem = Problem::new(rows, cols, elem);
        problem.and_then(|problem| problem.with_leading(lda, ldb)).expect("fits")
    };
    for shape in &SHAPES {
        csv += &row(timer, bad, &turned(shape), None);
    }
    for &[rows, cols, lda, ldb, elem] in &SLID {
        let problem = Problem::permuted(&[rows, cols], &[0, 1], elem);
        let problem = problem.and_then(|problem| problem.with_leading(lda, ldb)).expect("fits");
        csv += &row(timer, bad, &problem, None);
    }
    for (number, scaled) in SCALED {
        csv += &row(timer, bad, &turned(&SHAPES[number]), Some(scaled));
    }
    csv
}
