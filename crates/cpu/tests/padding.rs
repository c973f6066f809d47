//! Padding and unpadding by every method, in a square's plan: rows and blocks of every length, too few
//! threads and too many.

use proptest::prelude::*;
use turntile_cpu::way::{HostWay, Mover};
use turntile_cpu::{Executor, Host, RunError, Workspace, oracle};
use turntile_plan::{
    Direction, Flaw, Geometry, Offer, Plan, Planner, Problem, Route, Stage, StageShape,
};

/// The plan of route padded-square.
fn padded(batch: usize, rows: usize, cols: usize, elem_bytes: usize, threads: usize) -> Plan {
    let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
    let problem = problem.with_room(batch * rows.max(cols).pow(2));
    Planner::new(Host::new(threads)).with_route(Route::PaddedSquare).plan(&problem).unwrap()
}

/// The same with rows moved by `mover`.
fn by(plan: &Plan, mover: Mover) -> Plan {
    let mut plan = plan.clone();
    for stage in plan.legs.iter_mut().flat_map(|leg| &mut leg.stages) {
        if let StageShape::Pad { .. } = stage.shape {
            let way: &HostWay = stage.offer.geometry.get().unwrap();
            let way = way.with_rows_by(mover).unwrap();
            let (method, workspace_bytes) = (way.method(), way.needs().bytes());
            let geometry = Geometry::new(way);
            stage.offer = Offer { method, geometry, workspace_bytes, ..stage.offer };
        }
    }
    plan
}

fn check(plan: Plan, threads: usize) {
    let p = plan.problem;
    let mut data = oracle::numbered(p.len(), p.elem_bytes());
    let want = oracle::transposed(&data, p.batch(), p.rows(), p.cols(), p.elem_bytes());
    data.resize(plan.room_bytes(), 0x99);
    let executor = Executor::new(plan, threads).unwrap();
    let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
    workspace.poison(0xC3);
    executor.run_bytes(&mut data, &mut workspace).unwrap();
    assert!(data[..want.len()] == want, "{:#} on {threads} threads", executor.plan());
}

fn movers() -> impl Iterator<Item = Mover> {
    let slides = [1, 3, 16, 50, 1000].map(Mover::Slide);
    let rows = [1, 2, 3, 7].map(Mover::Rows);
    slides.into_iter().chain(rows).chain([Mover::Shares])
}

#[test]
fn all_small_shapes() {
    for threads in [1, 3] {
        for (rows, cols) in (1..12).flat_map(|rows| (1..12).map(move |cols| (rows, cols))) {
            if rows == cols || rows == 1 || cols == 1 {
                continue;
            }
            for (batch, elem_bytes) in [(1, 4), (2, 3), (3, 1)] {
                let plan = padded(batch, rows, cols, elem_bytes, threads);
                movers().for_each(|mover| check(by(&plan, mover), 2));
                check(plan, 1);
            }
        }
    }
}

#[test]
fn empty_steps_and_blocks_are_refused() {
    let plan = padded(1, 7, 5, 4, 1);
    let way: &HostWay = plan.legs[0].stages[0].offer.geometry.get().unwrap();
    let wrong = [Mover::Slide(0), Mover::Rows(0), Mover::Barrier];
    wrong.into_iter().for_each(|mover| assert_eq!(way.with_rows_by(mover), None));
    let turn: &HostWay = plan.legs[0].stages[1].offer.geometry.get().unwrap();
    assert_eq!(turn.with_rows_by(Mover::Shares), None, "it moves no rows");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Many threads on few cores: blocks are put aside between every two steps.
    #[test]
    fn any_shape(
        rows in 2usize..300, cols in 2usize..300, batch in 1usize..3, threads in 1usize..9,
        elem_bytes in prop::sample::select(&[1usize, 2, 4, 8, 12][..]),
        block in 1usize..5000, least in 1usize..40,
    ) {
        prop_assume!(rows != cols);
        let plan = padded(batch, rows, cols, elem_bytes, threads);
        check(by(&plan, Mover::Slide(block)), threads);
        check(by(&plan, Mover::Rows(least)), threads);
        check(by(&plan, Mover::Shares), threads);
    }
}

#[test]
fn room_that_is_not_there_is_told_with_the_numbers() {
    let plan = padded(1, 7, 5, 4, 1);
    assert_eq!((plan.room(), plan.room_bytes()), (49, 196));
    let executor = Executor::new(plan, 1).unwrap();
    let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
    for have in [140, 195] {
        let before = oracle::numbered(have, 1);
        let mut data = before.clone();
        let error = executor.run_bytes(&mut data, &mut workspace);
        assert_eq!(error, Err(RunError::Room { need: 196, have }));
        assert!(data == before);
    }
    let problem = Problem::new(7, 5, 4).unwrap();
    let planner = Planner::new(Host::new(1)).with_route(Route::PaddedSquare);
    let error = planner.plan(&problem.with_room(48)).unwrap_err().to_string();
    assert!(error.contains("needs room for 49 elements") && error.contains("for 48"), "{error}");
    assert!(planner.plan(&problem).unwrap_err().to_string().contains("for 35"));
    let square = Problem::new(5, 5, 4).unwrap().with_room(100);
    assert!(planner.plan(&square).unwrap_err().to_string().contains("square as it is"));
    let absurd = Problem::new(1 << 40, 2, 4).unwrap().with_room(usize::MAX);
    assert!(planner.plan(&absurd).is_err());
}

/// What lies in the gaps must never become part of a matrix, whoever put the stages together.
#[test]
fn gaps_are_not_brought_in_by_hand() {
    let good = padded(2, 7, 5, 4, 1);
    assert_eq!(good.check(), Ok(()));
    let flaw = Err(Flaw::Padding { problem: Box::new(good.problem) });
    let mut without_unpadding = good.clone();
    without_unpadding.legs[0].stages.pop();
    assert_eq!(without_unpadding.check(), flaw);
    let mut turned_twice = good.clone();
    turned_twice.legs[0].stages.insert(1, good.legs[0].stages[1].clone());
    assert_eq!(turned_twice.check(), flaw);
    let mut padded_twice = good.clone();
    let first = good.legs[0].stages[0].clone();
    let back = Stage { shape: first.shape.inverse(), ..first.clone() };
    assert!(matches!(back.shape, StageShape::Pad { direction: Direction::Backward, .. }));
    padded_twice.legs[0].stages.splice(0..0, [first, back]);
    assert_eq!(padded_twice.check(), flaw);
}
