//! Large matrices, compared on the device: plans, stages that fill the chip (repeated), and
//! matrices of more than 2^31 and 2^32 elements.

use turntile_cuda::Work;
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_perm::{Elementary, RowSlide};
use turntile_plan::{Plan, Planner, Problem, StageMap};

use crate::common::{self, Bench};
use crate::out_of_place;

const BLOCK: Strategy = Strategy::Barrier(Scope::Block);

/// Runs `work` `times` times, and returns the number of runs with wrong elements.
fn repeat(
    bench: &mut Bench,
    work: Work,
    e: Elementary,
    elem: usize,
    times: usize,
    what: &str,
) -> usize {
    let wrong = |bench: &mut Bench, data| bench.wrong(data, e, elem);
    let failures = common::repeat(bench, work, (e.len(), elem), 0, times, what, wrong);
    println!("  {what}: {times} times, {failures} wrong");
    failures
}

fn whole(problem: &Problem) -> Elementary {
    Elementary {
        batch: problem.batch(),
        rows: problem.rows(),
        mid: 1,
        cols: problem.cols(),
        unit: 1,
    }
}

/// Runs a plan in place `times` times, and returns the number of wrong runs.
pub fn plan_times(bench: &mut Bench, plan: &Plan, times: usize) -> usize {
    match Work::of_plan(plan) {
        Ok(work) => work_times(bench, plan, work, times, &plan.to_string()),
        Err(error) => {
            println!("  FAILED {plan}: {error}");
            1
        }
    }
}

fn work_times(bench: &mut Bench, plan: &Plan, work: Work, times: usize, what: &str) -> usize {
    repeat(bench, work, whole(&plan.problem), plan.problem.itemsize(), times, what)
}

/// Moves a matrix's rows by `way` to the pitch of a square, transposes the square, and moves the
/// rows back together.
pub fn square_times(bench: &mut Bench, problem: &Problem, way: Strategy, times: usize) -> usize {
    let (elem, limits) = (problem.itemsize(), *bench.gpu.device().limits());
    let side = problem.rows().max(problem.cols());
    let square = Elementary { batch: 1, rows: side, mid: 1, cols: side, unit: 1 };
    let apart = |rows, cols| RowSlide::new(rows, cols, cols, side).expect("rows of a square");
    let (m, n) = (problem.rows(), problem.cols());
    let stages: [(StageMap, Strategy); 3] = [
        (apart(m, n).into(), way),
        (square.into(), Strategy::TileSwap { tile: 64.min(256 / elem) }),
        (apart(n, m).inverse().into(), way),
    ];
    let stages = stages.into_iter().filter(|(shape, _)| !shape.is_identity());
    let works = stages
        .map(|(shape, way)| Work::of_stage(&shape, way, elem, 16, &limits).expect("has a kernel"));
    let work = works.reduce(Work::then).expect("stages");
    repeat(
        bench,
        work,
        whole(problem),
        elem,
        times,
        &format!("{problem} as a square, rows by {way}"),
    )
}

/// Runs the best plan of every route for shapes of many kinds, and every out-of-place strategy.
pub fn plans(bench: &mut Bench) -> usize {
    let planner = Planner::new(bench.gpu.device().clone());
    let shapes = [
        (1, 1, 1000, 4),
        (1, 1000, 1000, 4),
        (1, 7200, 1800, 4),
        (1, 1801, 3607, 4),
        (1, 5000, 8192, 4),
        (1, 4096, 6144, 4),
        (1, 6144, 2048, 8),
        (1, 100_000, 3, 4),
        (1, 7, 200_003, 4),
        (1, 2999, 3001, 2),
        (1, 3000, 2000, 1),
        (1, 1234, 2345, 16),
        (1, 1500, 2500, 12),
        (6, 480, 640, 4),
        (37, 64, 96, 8),
        (3, 997, 1009, 4),
        (1, 9973, 10007, 4),
        (1, 8192, 8192, 2),
        (2, 2047, 2047, 4),
        (1, 12000, 20000, 1),
    ];
    let mut failures = 0;
    for (batch, rows, cols, elem) in shapes {
        let problem = Problem::with_batch(batch, rows, cols, elem).expect("fits");
        for plan in planner.candidates(&problem).candidates {
            // Cycles of single elements take minutes on large matrices. Small matrices test them.
            if plan.seconds < 0.5 {
                failures += plan_times(bench, &plan, 1);
            }
        }
        failures += out_of_place::plans(bench, &problem);
    }
    failures
}

fn stages() -> Vec<(StageMap, Strategy, usize)> {
    let shape =
        |batch, rows, mid, cols, unit| StageMap::from(Elementary { batch, rows, mid, cols, unit });
    let global = Strategy::Moves;
    let on_chip = Strategy::OnChipMoves { threads: 512 };
    vec![
        (shape(1, 224, 64, 300, 64), global, 4),
        (shape(1, 256, 64, 128, 64), global, 4),
        (shape(1, 156, 128, 94, 128), global, 4),
        (shape(1, 128, 128, 64, 128), global, 4),
        (shape(1, 16777, 1, 1000, 32), global, 4),
        (shape(1, 16000, 1, 259, 128), global, 4),
        (shape(1, 7919, 1, 997, 33), global, 4),
        (shape(1, 7919, 1, 997, 64), global, 2),
        (shape(1, 7919, 1, 997, 16), global, 16),
        (shape(1, 4000, 1, 257, 512), global, 4),
        (shape(1, 997, 1, 211, 1536), global, 4),
        (shape(64, 64, 1, 1031, 64), global, 4),
        (shape(1, 8191, 1, 8190, 1), global, 4),
        (shape(5242, 32, 1, 1600, 1), BLOCK, 4),
        (shape(20000, 32, 1, 215, 1), BLOCK, 4),
        (shape(500, 40, 1, 8000, 1), Strategy::Barrier(Scope::Cluster(8)), 4),
        (shape(64, 256, 1, 12544, 1), Strategy::Barrier(Scope::Team(264)), 4),
        (shape(64, 999, 1, 1003, 1), Strategy::Barrier(Scope::Team(75)), 4),
        (shape(64, 2048, 1, 2816, 1), Strategy::Barrier(Scope::Team(264)), 2),
        (shape(40, 1201, 1, 2999, 1), Strategy::Barrier(Scope::Team(132)), 1),
        (shape(64, 4096, 1, 1024, 1), Strategy::Barrier(Scope::Team(132)), 1),
        (shape(1, 7200, 1, 1800, 1), Strategy::Barrier(Scope::Grid), 4),
        (shape(1, 3001, 1, 3989, 1), Strategy::Barrier(Scope::Grid), 4),
        (shape(1, 3001, 1, 7978, 1), Strategy::Barrier(Scope::Grid), 2),
        // With rows in the workspace.
        (shape(1, 4500, 1, 3500, 1), Strategy::Barrier(Scope::Grid), 4),
        (shape(1, 3001, 1, 5003, 1), Strategy::Barrier(Scope::Grid), 4),
        (shape(1, 2791, 1, 3001, 1), Strategy::Barrier(Scope::Grid), 8),
        (shape(1, 1801, 1, 2203, 1), Strategy::Barrier(Scope::Grid), 16),
        (shape(1, 5004, 1, 6000, 1), Strategy::Barrier(Scope::Grid), 2),
        (shape(1, 7912, 1, 8012, 1), Strategy::Barrier(Scope::Grid), 1),
        (shape(512, 64, 256, 64, 1), BLOCK, 4),
        (shape(1, 16384, 1, 16384, 1), Strategy::TileSwap { tile: 64 }, 4),
        (shape(1, 23000, 1, 23000, 1), Strategy::TileSwap { tile: 128 }, 4),
        (shape(1, 12345, 1, 12345, 1), Strategy::TileSwap { tile: 64 }, 4),
        (shape(1, 20011, 1, 20011, 1), Strategy::TileSwap { tile: 64 }, 1),
        (shape(1, 16001, 1, 16001, 1), Strategy::TileSwap { tile: 64 }, 2),
        (shape(3, 7001, 1, 7001, 1), Strategy::TileSwap { tile: 64 }, 8),
        (shape(20000, 32, 1, 215, 1), on_chip, 4),
        (shape(1, 256, 64, 256, 64), Strategy::PerCycle, 4),
    ]
}

/// Runs stages with every multiprocessor busy, 50 times each, with aligned slots in both
/// directions.
pub fn full_chip(bench: &mut Bench) -> usize {
    let mut failures = 0;
    let limits = *bench.gpu.device().limits();
    for (shape, way, elem) in stages() {
        let work = Work::of_stage(&shape, way, elem, 16, &limits);
        let (Ok(work), Some(e)) = (&work, shape.elementary()) else {
            println!("  FAILED {shape} {way}: {work:?}");
            failures += 1;
            continue;
        };
        failures += repeat(bench, work.clone(), e, elem, 50, &format!("{shape} {way}"));
    }
    for (batch, rows, cols, elem) in [
        (1, 16381, 20011, 4),
        (1, 20011, 16381, 4),
        (1, 30011, 30000, 4),
        (1, 9_999_991, 7, 4),
        (1, 61, 1_000_003, 4),
        (1, 20011, 16382, 1),
        (1, 16383, 20011, 1),
        (1, 20011, 16382, 2),
        (2, 10007, 9973, 2),
        (2, 10007, 9973, 8),
        (1, 7919, 3001, 16),
        (3, 7919, 3001, 12),
    ] {
        let problem = Problem::with_batch(batch, rows, cols, elem).expect("fits");
        let planner = Planner::new(bench.gpu.device().clone());
        for plan in planner.candidates(&problem).candidates {
            if by_slots(&plan) {
                failures += plan_times(bench, &plan, 50);
            }
        }
    }
    failures
}

/// Runs cubes of every word, of whole and partial tiles, in both directions, 50 times each.
pub fn cubes(bench: &mut Bench) -> usize {
    let limits = *bench.gpu.device().limits();
    let mut failures = 0;
    for (batch, side, words) in [
        (1, 704, &[1, 2, 4, 8, 16][..]),
        (1, 640, &[2, 4]),
        (1, 700, &[4, 8, 16]),
        (1, 1000, &[1, 2, 4]),
        (40, 136, &[1, 2, 4, 8, 16]),
    ] {
        let both = [(side, side * side), (side * side, side)];
        for ((rows, cols), &elem) in
            both.into_iter().flat_map(|e| words.iter().map(move |w| (e, w)))
        {
            let e = Elementary { batch, rows, mid: 1, cols, unit: 1 };
            for way in [8, 16, 32, 64].map(|tile| Strategy::TileSwap { tile }) {
                if let Ok(work) = Work::of_stage(&e.into(), way, elem, 16, &limits) {
                    let what = format!("{} of {elem} bytes {way}", StageMap::from(e));
                    failures += repeat(bench, work, e, elem, 50, &what);
                }
            }
        }
    }
    failures
}

fn by_slots(plan: &Plan) -> bool {
    plan.route().name().contains("slot")
}

/// Runs more than 2^31 and 2^32 elements. The last matrix has 40 GB.
pub fn huge(bench: &mut Bench) -> usize {
    let mut failures = 0;
    let planner = Planner::new(bench.gpu.device().clone());
    for (rows, cols, elem) in [
        (65536, 65664, 1),
        (46336, 46464, 2),
        (46400, 51200, 4),
        (100_000, 100_000, 4),
        (81920, 122_880, 4),
    ] {
        let problem = Problem::new(rows, cols, elem).expect("fits");
        match planner.plan(&problem) {
            Ok(plan) => failures += plan_times(bench, &plan, 2),
            Err(error) => {
                println!("  FAILED {error}");
                failures += 1;
            }
        }
    }
    // Rows so long that shared memory has space for one or two chunks, in both directions.
    for (rows, cols, elem) in
        [(158_003, 158_017, 4), (158_017, 158_003, 4), (100_003, 90_001, 4), (45_007, 100_003, 8)]
    {
        let problem = Problem::new(rows, cols, elem).expect("fits");
        for plan in planner.candidates(&problem).candidates {
            if by_slots(&plan) {
                failures += plan_times(bench, &plan, 2);
            }
        }
    }
    // Cycles of more than 2^32 single elements, with 64-bit indices.
    for (rows, cols, unit) in [(65536 + 64, 65536, 1), (1 << 22, 1030, 2)] {
        let e = Elementary { batch: 1, rows, mid: 1, cols, unit };
        let (shape, way) = (StageMap::from(e), Strategy::Moves);
        let limits = bench.gpu.device().limits();
        let work = Work::of_stage(&shape, way, 1, 16, limits).expect("has a kernel");
        failures += repeat(bench, work, e, 1, 1, &format!("{shape} {way}"));
    }
    failures
}
