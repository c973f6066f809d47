//! Columns cut off and joined again: stages on small matrices, with every byte compared, and plans
//! of route `cut`, repeated on matrices that fill the chip, with every element compared.

use turntile_cuda::strategy::Strategy;
use turntile_perm::PitchedRows;
use turntile_plan::{Direction, Planner, Problem, Route, StageMap, TileRule};

use crate::cases::Suite;
use crate::common::Bench;
use crate::large::plan_times;

/// Bytes of elements: every word, and several words.
const ELEMENTS: [usize; 8] = [1, 2, 4, 8, 16, 3, 6, 12];

/// Runs one cut and its inverse, in blocks of several sizes.
fn stages(suite: &mut Suite, rows: PitchedRows, elem: usize) {
    for direction in [Direction::Forward, Direction::Backward] {
        for block in [16, 1008, 48_384] {
            suite.way(StageMap::Cut { rows, direction }, elem, Strategy::Blocks { block });
        }
    }
}

/// Runs every cut of small matrices, selected cuts of larger ones, and every plan of the route on
/// small ones.
pub fn small(bench: &mut Bench, side: usize) -> usize {
    let mut suite = Suite::new(bench);
    let side = side.min(10);
    for (rows, pitch) in (2..=side).flat_map(|rows| (2..=side).map(move |pitch| (rows, pitch))) {
        for cols in 1..pitch {
            for elem in ELEMENTS {
                let rows = PitchedRows::new(rows, cols, pitch).expect("fewer columns");
                stages(&mut suite, rows, elem);
            }
        }
    }
    for (rows, cols, pitch) in [
        (300, 7, 11),
        (64, 1000, 1024),
        (50, 1999, 2001),
        (3, 40_000, 40_001),
        (9000, 4, 5),
        (1000, 100, 116),
        (61, 61, 130),
    ] {
        for elem in ELEMENTS {
            stages(&mut suite, PitchedRows::new(rows, cols, pitch).expect("fewer columns"), elem);
        }
    }
    // Elements that are long runs.
    for elem in [400, 401, 402, 404, 408] {
        stages(&mut suite, PitchedRows::new(9, 11, 14).expect("fewer columns"), elem);
    }
    suite.print_runs();
    let mut failures = suite.failures;
    let planner = Planner::new(bench.gpu.device().clone()).with_route(Route::CUT);
    let planner = planner.with_tiles(TileRule::Exhaustive);
    for (rows, cols) in [(36, 37), (37, 36), (30, 64), (101, 205), (205, 101), (128, 1030)] {
        for elem in ELEMENTS {
            let problem = Problem::new(rows, cols, elem).expect("fits");
            for plan in planner.candidates(&problem).candidates {
                failures += plan_times(bench, &plan, 1);
            }
        }
    }
    failures
}

/// Runs plans that fill the chip. The last ones fill its memory.
pub fn full_chip(bench: &mut Bench) -> usize {
    let mut failures = 0;
    let planner = Planner::new(bench.gpu.device().clone()).with_route(Route::CUT);
    for (rows, cols, elem, times) in [
        (20_000, 20_003, 4, 20),
        (40_000, 40_001, 4, 20),
        (40_001, 40_000, 4, 20),
        (30_011, 30_000, 4, 20),
        (4093, 8191, 4, 50),
        (16_381, 16_400, 1, 50),
        (16_400, 16_381, 2, 50),
        (12_000, 12_007, 8, 20),
        (10_007, 9973, 16, 20),
        (7003, 7000, 12, 20),
        (158_003, 158_017, 4, 2),
        (158_017, 158_003, 4, 2),
    ] {
        let problem = Problem::new(rows, cols, elem).expect("fits");
        match planner.plan(&problem) {
            Ok(plan) => failures += plan_times(bench, &plan, times),
            Err(error) => {
                println!("  FAILED {error}");
                failures += 1;
            }
        }
    }
    failures
}
