//! What the planner decides, without moving anything.

use turntile::plan::{
    DeviceKind, Limits, Method, Plan, Planner, Problem, ROUTES, Scope, StageShape, TileRule, limits,
};
use turntile_perm::Order;

fn plan(limits: Limits, rows: usize, cols: usize, elem_bytes: usize) -> Plan {
    Planner::new(limits).plan(&Problem::new(rows, cols, elem_bytes).unwrap()).unwrap()
}

/// The table of the documentation has every route, in the planner's order.
#[test]
fn routes_are_documented() {
    let (_, table) = include_str!("../docs/routes.md").split_once("|---|---|---|---|\n").unwrap();
    let rows = table.lines().map_while(|line| line.strip_prefix("| "));
    let documented: Vec<_> = rows.filter_map(|row| row.split(" |").next()).collect();
    assert_eq!(documented, ROUTES.each_ref().map(|route| route.name));
}

/// The thesis's six shapes and the ones that each route is for.
#[test]
fn routes_of_named_problems() {
    for (device, rows, cols, elem_bytes, route) in [
        ("h200", 7200, 1800, 4, "on-chip"),
        ("h200", 3001, 3989, 4, "on-chip"),
        ("h200", 16384, 16384, 4, "square"),
        ("h200", 19968, 12032, 4, "square-tile"),
        ("h200", 16381, 20011, 4, "aligned-slots"),
        ("h200", 10_000_000, 8, 4, "skinny"),
        ("h200", 9_999_991, 7, 4, "aligned-slots"),
        ("h200", 1, 77, 4, "nothing"),
        ("h200", 20_000, 12_000, 1, "square-tile"),
        ("host", 8192, 8192, 4, "square"),
        ("host", 4093, 8191, 4, "cut-columns"),
        ("host", 10_007, 9973, 4, "cut-rows"),
        // Half of it cut, for larger tiles, would take longer.
        ("host", 500, 510, 8, "panel-mirrored"),
        // Squares of elements that are no words are slow.
        ("host", 1009, 1013, 3, "aligned-slots"),
        ("host", 7919, 3001, 4, "aligned-slots"),
        ("host", 64, 48, 4, "on-chip"),
        ("host", 50, 75, 4096, "one-stage"),
        ("host", 5000, 7000, 4096, "one-stage"),
    ] {
        let limits = Limits::preset(device).unwrap();
        let plan = plan(limits, rows, cols, elem_bytes);
        assert_eq!(plan.route, route, "{plan:#}");
    }
}

/// A GPU's kernels know slots column by column, chunks of a single slot's rows included, which very long
/// short sides are left with.
#[test]
fn slots_lie_as_the_device_has_them() {
    for (device, order) in [("h200", Order::Columns), ("host", Order::Rows)] {
        let limits = Limits::preset(device).unwrap();
        let planner = Planner::new(limits).with_route("aligned-slots").unwrap();
        let plan = planner.plan(&Problem::new(158_003, 158_017, 4).unwrap()).unwrap();
        let mut slots = plan.stages.iter().filter_map(|stage| match stage.shape {
            StageShape::SlotGather { slots, .. } => Some(slots.order()),
            _ => None,
        });
        assert_eq!(slots.next(), Some(order), "{plan:#}");
    }
}

/// Many small squares are held several in a block, large ones swapped; tiles of words of 8 bytes are
/// small enough for two blocks a multiprocessor, super-elements of bytes multiples of a wide word.
#[test]
fn what_the_h200_was_measured_to_want() {
    let of = |batch, rows, cols, elem_bytes| {
        let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
        Planner::new(Limits::h200()).plan(&problem).unwrap()
    };
    for (side, route) in [(4, "on-chip"), (24, "on-chip"), (64, "square"), (1000, "square")] {
        let plan = of(1_000_000 / side, side, side, 4);
        assert_eq!(plan.route, route, "{plan:#}");
    }
    assert_eq!(of(1, 19_968, 12_032, 8).tile.m, 64);
    let plan = of(1, 7_188_528, 35, 1);
    assert_eq!((plan.route, plan.tile.m % 16), ("skinny", 0), "{plan:#}");
}

/// Thesis section 4.8.3: the three-stage method beats the four-stage one on a K20, which fusion
/// does not change; section 4.8.4: its tiles have sides from 50 to 100.
#[test]
fn the_thesis_on_its_own_gpu() {
    for (rows, cols) in
        [(7200, 1800), (5100, 2500), (4000, 3200), (3300, 3900), (2500, 5100), (1800, 7200)]
    {
        let problem = Problem::new(rows, cols, 4).unwrap();
        let on = |route: &str, rule| {
            let planner = Planner::new(Limits::k20()).with_tiles(rule).with_route(route).unwrap();
            planner.plan(&problem).unwrap()
        };
        let staged = ["three-stage", "four-stage-fused", "four-stage"];
        let seconds = staged.map(|route| on(route, TileRule::CostModel).seconds);
        assert!(seconds.is_sorted(), "{problem}: {seconds:?}");
        let by_rule = on("three-stage", TileRule::Thesis);
        let tile = by_rule.tile;
        assert!((50..=100).contains(&tile.m) && (50..=100).contains(&tile.n), "{by_rule}");
        assert!(tile.m * tile.n * 4 <= Limits::k20().group_bytes, "{by_rule}");
        // The largest of all tiles that the rule allows, and never better than an exhaustive search.
        let all = Planner::new(Limits::k20())
            .with_tiles(TileRule::Exhaustive)
            .with_route("three-stage")
            .unwrap()
            .survey(&problem)
            .candidates;
        assert!(all.len() > 20 && all.iter().any(|plan| plan.tile == tile));
        assert!(all[0].seconds <= by_rule.seconds);
        assert!(all[0].seconds <= seconds[0] * 1.0001, "the cost model's tiles miss the best");
    }
}

/// Whatever a plan says holds together.
#[test]
fn every_candidate_keeps_to_its_limits() {
    for limits in limits::presets().into_iter().chain([Limits::host(16)]) {
        for (batch, rows, cols, elem_bytes) in [
            (1, 7200, 1800, 4),
            (1, 16381, 20011, 4),
            (1, 20011, 16381, 2),
            (256, 2048, 1408, 2),
            (100_000, 64, 48, 4),
            (1, 10_000_000, 3, 4),
            (1, 19, 10_000_000, 16),
            (1, 160_000, 160_000, 4),
            (1, 32768, 24576, 1),
            (3, 1000, 999, 100_000),
        ] {
            let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
            let survey = Planner::new(limits.clone()).survey(&problem);
            assert!(survey.candidates.is_sorted_by(|a, b| a.seconds <= b.seconds));
            for plan in survey.candidates {
                assert!(plan.workspace_bytes <= limits.cap(&problem), "{plan:#}");
                assert_eq!(plan.check(), Ok(()), "{plan:#}");
                for stage in &plan.stages {
                    assert!(!stage.shape.is_identity(), "{plan:#}");
                    let launch = &stage.launch;
                    assert!(launch.groups >= 1 && launch.threads >= 1 && launch.lanes >= 1);
                    assert!(launch.threads <= limits.group_threads, "{plan:#}");
                    if limits.kind == DeviceKind::Gpu {
                        let registers = match stage.method {
                            Method::BarrierSync { scope: Scope::Grid } => limits.register_bytes,
                            _ => 0,
                        };
                        let most = limits.group_bytes + registers;
                        assert!(launch.on_chip_bytes <= most, "{plan:#}");
                    }
                }
                let all: usize = plan
                    .stages
                    .iter()
                    .map(|stage| stage.launch.workspace_bytes(plan.kind))
                    .max()
                    .unwrap_or(0);
                assert_eq!(plan.workspace_bytes, all, "{plan:#}");
            }
        }
    }
}

#[test]
fn a_plan_prints_on_a_line_and_in_full() {
    let planner = Planner::new(Limits::k20()).with_route("three-stage").unwrap();
    let plan = planner.plan(&Problem::new(7200, 1800, 4).unwrap()).unwrap();
    let line = plan.to_string();
    assert!(line.starts_with("7200x1800 w4 on k20: three-stage: 100!(7200x"), "{line}");
    assert!(line.contains(" -> 010!(") && line.contains(" -> 0100!("), "{line}");
    assert!(line.contains("; 3 passes, workspace ") && !line.contains('\n'), "{line}");
    let full = format!("{plan:#}");
    for word in ["problem", "device", "tile", "stage 3", "flag words", "on chip", "GB/s"] {
        assert!(full.contains(word), "{full}");
    }
    let declined = format!("{:#}", self::plan(Limits::h200(), 16381, 20011, 4));
    for why in
        ["not        square: 16381 x 20011 is not square", "square-tile: 16381 and 20011 have no"]
    {
        assert!(declined.contains(why), "{declined}");
    }
}

/// Planning leaves out what cannot win; the survey leaves out nothing.
#[test]
fn the_plan_is_the_survey_s_first() {
    for limits in limits::presets().into_iter().chain([Limits::host(2), Limits::host(64)]) {
        let planner = Planner::new(limits);
        for (rows, cols) in [
            (72, 80),
            (7200, 1800),
            (20_160, 25_200),
            (16_381, 20_011),
            (9_999_991, 7),
            (10_000_000, 3),
            (4096, 4096),
            (360, 1),
        ] {
            for elem_bytes in [1, 4, 16, 1000] {
                let problem = Problem::new(rows, cols, elem_bytes).unwrap();
                let plan = planner.plan(&problem).unwrap();
                let first = planner.survey(&problem).candidates.swap_remove(0);
                assert_eq!(Plan { declined: Vec::new(), ..plan }, first);
            }
        }
    }
}

/// A cap that all threads together would exceed is kept by fewer of them, or by shorter slots.
#[test]
fn fewer_threads_share_a_small_cap() {
    let plan = |threads, cap| {
        let problem = Problem::new(4001, 3989, 4).unwrap().with_cap(cap);
        Planner::new(Limits::host(threads)).plan(&problem).unwrap()
    };
    for cap in [1 << 20, 2 << 20, 8 << 20] {
        let alone = plan(1, cap);
        for threads in [2, 4, 16, 64] {
            let together = plan(threads, cap);
            assert!(together.seconds <= alone.seconds, "{together:#}\n{alone:#}");
        }
    }
}

/// Told of room behind a near-square matrix, an H200's planner pads it: 41-44% of copy against 29-36%
/// by the other routes (`docs/report/h200/near-square.csv`). Not told, it does not know the route.
#[test]
fn near_square_matrices_are_padded_where_there_is_room() {
    for (rows, cols) in [(5000, 4900), (10_000, 9900), (12_000, 11_999)] {
        let problem = Problem::new(rows, cols, 4).unwrap();
        let planner = Planner::new(Limits::h200());
        assert_ne!(planner.plan(&problem).unwrap().route, "padded-square");
        let side = usize::max(rows, cols);
        let plan = planner.plan(&problem.with_room(side * side)).unwrap();
        assert_eq!(plan.route, "padded-square", "{plan:#}");
        // Twice as long as wide is not near-square.
        let long = Problem::new(rows, rows / 2, 4).unwrap().with_room(rows * rows);
        assert_ne!(planner.plan(&long).unwrap().route, "padded-square");
    }
}
