//! Every method that can move a shape, on its own, against the shape's closed form.

use turntile_cpu::{Executor, Workspace, oracle};
use turntile_perm::{Elementary, Padding, Slots};
use turntile_plan::{
    DeviceKind, Direction, Limits, Plan, Planner, Problem, Stage, StageShape, limits, method,
    routes::Tile,
};

/// A plan of one stage, over elements in a row, so that any shape can be run.
fn alone(stage: Stage, limits: &Limits, elem_bytes: usize) -> Plan {
    Plan {
        problem: Problem::new(1, stage.shape.len(), elem_bytes).unwrap(),
        device: limits.name.clone(),
        kind: limits.kind,
        route: "alone",
        tile: Tile { m: 1, n: 1 },
        workspace_bytes: stage.launch.workspace_bytes(limits.kind),
        seconds: 0.0,
        stages: vec![stage],
        declined: Vec::new(),
    }
}

fn check(stage: Stage, limits: &Limits, elem_bytes: usize, threads: usize) {
    let from = oracle::numbered(stage.shape.len(), elem_bytes);
    let mut want = vec![0; from.len()];
    for (k, element) in from.chunks(elem_bytes).enumerate() {
        want[stage.shape.dest(k) * elem_bytes..][..elem_bytes].copy_from_slice(element);
    }
    let mut data = from;
    let executor = Executor::new(alone(stage, limits, elem_bytes), threads).unwrap();
    let (need, told) = (executor.workspace_bytes(), executor.plan().workspace_bytes);
    let kept = limits.kind == DeviceKind::Gpu || need <= told;
    assert!(kept, "{stage} of {elem_bytes}-byte elements takes {need} bytes and says {told}");
    let mut workspace = Workspace::new(need).unwrap();
    workspace.poison(0xC3);
    executor.run_bytes(&mut data, &mut workspace).unwrap();
    assert!(data == want, "{stage} of {elem_bytes}-byte elements on {threads} threads");
}

fn check_all_methods(shape: StageShape, elem_bytes: usize) {
    for limits in [Limits::host(1), Limits::host(3), Limits::k20(), Limits::h200()] {
        let Ok(stages) = method::stages(shape, elem_bytes, &limits) else { continue };
        for stage in stages {
            check(stage, &limits, elem_bytes, 2);
        }
    }
}

#[test]
fn elementary_shapes() {
    let extents = [1, 2, 3, 5, 8];
    for batch in [1, 3] {
        for rows in extents {
            for mid in [1, 2, 3] {
                for cols in extents {
                    for unit in [1, 3, 8] {
                        let e = Elementary { batch, rows, mid, cols, unit };
                        for elem_bytes in [1, 4, 12] {
                            check_all_methods(StageShape::Elementary(e), elem_bytes);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn fused_tiles() {
    for batch in [1, 2] {
        for (rows, cols) in [(1, 1), (1, 4), (2, 3), (5, 4), (4, 4)] {
            for (m, n) in [(1, 1), (2, 3), (4, 4), (5, 2)] {
                let shape = StageShape::FusedTiles { batch, rows, cols, m, n };
                for elem_bytes in [1, 2, 24] {
                    check_all_methods(shape, elem_bytes);
                }
            }
        }
    }
}

#[test]
fn slot_passes() {
    for (rows, cols) in [(1, 5), (7, 3), (13, 13), (29, 10), (40, 7), (12, 1)] {
        for slot in 1..=rows.min(9) {
            let by_columns = |chunk| Slots::new(rows, cols, slot, chunk);
            let by_rows = Slots::by_rows(rows, cols, slot);
            for slots in (slot..=rows).step_by(slot).filter_map(by_columns).chain(by_rows) {
                for direction in [Direction::Forward, Direction::Backward] {
                    for batch in [1, 2] {
                        for elem_bytes in [1, 8, 300] {
                            check_all_methods(
                                StageShape::SlotGather { batch, slots, direction },
                                elem_bytes,
                            );
                            check_all_methods(
                                StageShape::SlotMove { batch, slots, direction },
                                elem_bytes,
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn cut_columns() {
    let directions = [Direction::Forward, Direction::Backward];
    for (rows, cols, packed) in
        [(1, 5, 3), (2, 3, 2), (7, 9, 8), (9, 12, 3), (300, 11, 7), (40, 700, 697)]
    {
        let padding = Padding::new(rows, packed, cols).unwrap();
        for (direction, elem_bytes) in
            directions.into_iter().flat_map(|d| [1, 4, 12].map(|e| (d, e)))
        {
            check_all_methods(StageShape::Cut { padding, direction }, elem_bytes);
        }
    }
}

/// Larger than every internal block: tiles of 64, blocks of 256 bytes, several chains a thread.
#[test]
fn shapes_beyond_the_block_sizes() {
    let e = |batch, rows, mid, cols, unit| {
        StageShape::Elementary(Elementary { batch, rows, mid, cols, unit })
    };
    for (shape, elem_bytes) in [
        (e(1, 333, 1, 333, 1), 4),
        (e(1, 200, 1, 200, 1), 1),
        (e(1, 65, 1, 65, 1), 24),
        (e(1, 9, 1, 9, 1), 20_000),
        (e(3, 130, 5, 130, 1), 2),
        (e(2, 190, 1, 77, 1), 8),
        (e(1, 61, 1, 53, 40), 4),
        (e(1, 31, 64, 37, 16), 4),
        (StageShape::FusedTiles { batch: 1, rows: 23, cols: 17, m: 20, n: 18 }, 4),
    ] {
        check_all_methods(shape, elem_bytes);
    }
    for (rows, cols, slot, chunk) in
        [(1009, 251, 16, 64), (997, 300, 128, 128), (4001, 3, 512, 1536)]
    {
        let by_columns = Slots::new(rows, cols, slot, chunk);
        for slots in by_columns.into_iter().chain(Slots::by_rows(rows, cols, slot)) {
            for direction in [Direction::Forward, Direction::Backward] {
                check_all_methods(StageShape::SlotGather { batch: 1, slots, direction }, 4);
                check_all_methods(StageShape::SlotMove { batch: 1, slots, direction }, 4);
            }
        }
    }
}

/// A host's plan says exactly what its stages need.
#[test]
fn host_workspace_is_what_the_launch_says() {
    for limits in limits::presets().into_iter().chain([Limits::host(2), Limits::host(7)]) {
        let shape =
            StageShape::Elementary(Elementary { batch: 4, rows: 50, mid: 1, cols: 30, unit: 1 });
        for stage in method::stages(shape, 4, &limits).unwrap() {
            let plan = alone(stage, &limits, 4);
            let told = plan.workspace_bytes;
            let executor = Executor::new(plan, 2).unwrap();
            if limits.kind == turntile_plan::DeviceKind::Host {
                assert_eq!(executor.workspace_bytes(), told, "{stage}");
            } else {
                assert!(executor.workspace_bytes() >= told, "{stage}");
            }
        }
    }
}

/// Matrices as large as the address space: no plan of them, and nothing that it needs, is miscounted.
#[test]
fn nothing_overflows() {
    for (batch, rows, cols, elem_bytes) in [
        (2, 1_970_409, 653_329_594_012, 2),
        (1, 63_734_424, 4_261_804_797, 1),
        (1, 1 << 61, 3, 1),
        (3, 45_734_939, 16_370_088_143, 3),
    ] {
        let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
        let problem = problem.with_cap(usize::MAX).with_room(usize::MAX);
        for limits in limits::presets().into_iter().chain([Limits::host(300)]) {
            for plan in Planner::new(limits).survey(&problem).candidates {
                let executor = Executor::new(plan, 300).unwrap();
                let (plan, bytes) = (executor.plan(), executor.workspace_bytes());
                assert!(plan.kind == DeviceKind::Gpu || bytes <= plan.workspace_bytes, "{plan:#}");
                assert!(plan.dest(problem.len() - 1) == problem.len() - 1, "{plan:#}");
            }
        }
    }
}
