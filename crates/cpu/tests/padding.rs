//! Padding and unpadding by every method, in a square's plan: rows and blocks of every length, too few
//! threads and too many.

use proptest::prelude::*;
use turntile_cpu::{Executor, RunError, Workspace, oracle};
use turntile_plan::{
    DeviceKind, Direction, Flaw, Limits, Method, Plan, Planner, Problem, StageShape, limits, method,
};

/// The plan of route padded-square.
fn padded(batch: usize, rows: usize, cols: usize, elem_bytes: usize, limits: Limits) -> Plan {
    let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
    let problem = problem.with_room(batch * rows.max(cols).pow(2));
    Planner::new(limits).with_route("padded-square").unwrap().plan(&problem).unwrap()
}

/// The same with rows moved by `method`.
fn by(plan: &Plan, method: Method) -> Plan {
    let mut plan = plan.clone();
    for stage in &mut plan.stages {
        if let StageShape::Pad { padding, .. } = stage.shape {
            stage.method = method;
            if let Method::Slide { block } = method {
                stage.launch.on_chip_bytes = block;
                let blocks = (padding.len() * plan.problem.elem_bytes()).div_ceil(block);
                stage.launch.flag_words = method::slide_flags(blocks);
            }
            if method == Method::Shares {
                let heads = padding.heads(stage.launch.groups.clamp(1, padding.rows()));
                stage.launch.kept_bytes = heads * plan.problem.elem_bytes();
            }
        }
    }
    say_workspace(plan)
}

/// With the workspace that the stages' launches say.
fn say_workspace(mut plan: Plan) -> Plan {
    let launches = plan.stages.iter().map(|stage| stage.launch.workspace_bytes(plan.kind));
    plan.workspace_bytes = launches.max().unwrap_or(0);
    plan
}

fn check(plan: Plan, threads: usize) {
    let p = plan.problem;
    let mut data = oracle::numbered(p.len(), p.elem_bytes());
    let want = oracle::transposed(&data, p.batch(), p.rows(), p.cols(), p.elem_bytes());
    data.resize(plan.room_bytes(), 0x99);
    let executor = Executor::new(plan, threads).unwrap();
    let (need, told) = (executor.workspace_bytes(), executor.plan().workspace_bytes);
    let kept = executor.plan().kind == DeviceKind::Gpu || need <= told;
    assert!(kept, "takes {need} bytes and says {told}: {:#}", executor.plan());
    let mut workspace = Workspace::new(need).unwrap();
    workspace.poison(0xC3);
    executor.run_bytes(&mut data, &mut workspace).unwrap();
    assert!(data[..want.len()] == want, "{:#} on {threads} threads", executor.plan());
}

fn methods() -> impl Iterator<Item = Method> {
    let slides = [1, 3, 16, 50, 1000].map(|block| Method::Slide { block });
    let rows = [1, 2, 3, 7].map(|least| Method::Rows { least });
    slides.into_iter().chain(rows).chain([Method::Shares])
}

#[test]
fn all_small_shapes() {
    for limits in limits::presets().into_iter().chain([Limits::host(3)]) {
        for (rows, cols) in (1..12).flat_map(|rows| (1..12).map(move |cols| (rows, cols))) {
            if rows == cols || rows == 1 || cols == 1 {
                continue;
            }
            for (batch, elem_bytes) in [(1, 4), (2, 3), (3, 1)] {
                let plan = padded(batch, rows, cols, elem_bytes, limits.clone());
                methods().for_each(|method| check(by(&plan, method), 2));
                check(plan, 1);
            }
        }
    }
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
        let plan = padded(batch, rows, cols, elem_bytes, Limits::host(threads));
        check(by(&plan, Method::Slide { block }), threads);
        check(by(&plan, Method::Rows { least }), threads);
        check(by(&plan, Method::Shares), threads);
    }
}

/// Every method that a host offers for rows takes no more workspace than it says.
#[test]
fn padding_keeps_to_the_workspace_that_it_says() {
    let mut offered = 0;
    for threads in [1, 2, 3, 7, 50] {
        let limits = Limits::host(threads);
        for (rows, cols) in [(2, 3), (7, 5), (64, 60), (300, 41), (41, 300), (700, 690)] {
            for elem_bytes in [1, 4, 12] {
                let plan = padded(1, rows, cols, elem_bytes, limits.clone());
                for (k, stage) in plan.stages.iter().enumerate() {
                    if !matches!(stage.shape, StageShape::Pad { .. }) {
                        continue;
                    }
                    for stage in method::stages(stage.shape, elem_bytes, &limits).unwrap() {
                        let mut plan = plan.clone();
                        plan.stages[k] = stage;
                        check(say_workspace(plan), threads);
                        offered += 1;
                    }
                }
            }
        }
    }
    // Rows, slide and shares, of all threads and of one.
    assert_eq!(offered, 3 * 6 * 3 * (1 + 2 * 4));
}

#[test]
fn room_that_is_not_there_is_told_with_the_numbers() {
    let plan = padded(1, 7, 5, 4, Limits::host(1));
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
    let planner = Planner::new(Limits::host(1)).with_route("padded-square").unwrap();
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
    let good = padded(2, 7, 5, 4, Limits::host(1));
    assert_eq!(good.check(), Ok(()));
    let flaw = Err(Flaw::Padding { problem: good.problem });
    let mut without_unpadding = good.clone();
    without_unpadding.stages.pop();
    assert_eq!(without_unpadding.check(), flaw);
    let mut turned_twice = good.clone();
    turned_twice.stages.insert(1, good.stages[1]);
    assert_eq!(turned_twice.check(), flaw);
    let mut padded_twice = good.clone();
    let mut back = good.stages[0];
    if let StageShape::Pad { padding, .. } = back.shape {
        back.shape = StageShape::Pad { padding, direction: Direction::Backward };
    }
    padded_twice.stages.splice(0..0, [good.stages[0], back]);
    assert_eq!(padded_twice.check(), flaw);
    let mut no_blocks = good;
    no_blocks.stages[0].method = Method::Slide { block: 0 };
    assert!(matches!(no_blocks.check(), Err(Flaw::Method { number: 1, .. })));
}
