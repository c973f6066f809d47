//! Tests of the planner's choices, for hosts and GPUs, without running plans.

use std::time::Duration;

use turntile::plan::{CpuDevice, GpuDevice, Plan, Planner, Problem, Route, TileRule};
use turntile_cpu::kernel_config::CpuKernelConfig;
use turntile_cuda::LaunchList;
use turntile_cuda::launch::DeviceLimits;
use turntile_perm::SlotOrder;
use turntile_plan::{Device, StageMap};

fn planner(device: &str) -> Planner {
    match GpuDevice::preset(device) {
        Some(chip) => Planner::new(chip),
        None => Planner::new(CpuDevice::new(1)),
    }
}

/// Returns planners for every GPU preset, and for hosts with `threads` threads.
fn planners(threads: &[usize]) -> Vec<Planner> {
    let hosts = threads.iter().map(|&threads| Planner::new(CpuDevice::new(threads)));
    GpuDevice::presets().into_iter().map(Planner::new).chain(hosts).collect()
}

fn plan(device: &str, rows: usize, cols: usize, elem_bytes: usize) -> Plan {
    planner(device).plan(&Problem::new(rows, cols, elem_bytes).unwrap()).unwrap()
}

#[test]
fn planner_chooses_expected_route_for_named_problems() {
    for (device, rows, cols, elem_bytes, route, mirrored) in [
        ("h200", 7200, 1800, 4, Route::ON_CHIP, Some(false)),
        ("h200", 3001, 3989, 4, Route::ON_CHIP, Some(false)),
        ("h200", 16384, 16384, 4, Route::SQUARE, Some(false)),
        ("h200", 19968, 12032, 4, Route::SQUARE_TILE, Some(false)),
        ("h200", 16381, 20011, 4, Route::ALIGNED_SLOTS, None),
        ("h200", 10_000_000, 8, 4, Route::PANEL, Some(true)),
        ("h200", 9_999_991, 7, 4, Route::ALIGNED_SLOTS, None),
        ("h200", 1, 77, 4, Route::NOTHING, Some(false)),
        ("h200", 20_000, 12_000, 1, Route::SQUARE_TILE, Some(false)),
        ("host", 8192, 8192, 4, Route::SQUARE, Some(false)),
        ("host", 4093, 8191, 4, Route::CUT, Some(false)),
        ("host", 10_007, 9973, 4, Route::CUT, Some(true)),
        // Route cut runs at 14 to 17 GB/s on a Xeon, route panel at 13.
        ("host", 500, 510, 8, Route::CUT, Some(false)),
        ("host", 1009, 1013, 3, Route::CUT, Some(false)),
        ("host", 7919, 3001, 4, Route::ALIGNED_SLOTS, None),
        ("host", 64, 48, 4, Route::ON_CHIP, Some(false)),
        ("host", 50, 75, 4096, Route::ONE_STAGE, Some(false)),
        ("host", 5000, 7000, 4096, Route::ONE_STAGE, Some(false)),
    ] {
        let plan = plan(device, rows, cols, elem_bytes);
        assert_eq!(plan.route(), route, "{plan:#}");
        // For route aligned-slots, mirroring changes the time by only a few percent, so both are
        // accepted.
        assert!(mirrored.is_none_or(|mirrored| plan.mirrored() == mirrored), "{plan:#}");
    }
}

#[test]
fn planner_chooses_squares_when_axes_swap_in_pairs() {
    for (device, extents, order, elem_bytes) in [
        ("h200", &[20; 6][..], &[5, 4, 3, 2, 1, 0][..], 4),
        ("h200", &[113; 4], &[3, 2, 1, 0], 1),
        ("h200", &[40, 30, 40, 30, 50], &[0, 3, 2, 1, 4], 4),
        ("h200", &[64, 48, 64, 48, 12], &[2, 3, 0, 1, 4], 12),
        ("host", &[20; 6], &[5, 4, 3, 2, 1, 0], 4),
        ("host", &[16; 6], &[5, 4, 3, 2, 1, 0], 2),
    ] {
        let problem = Problem::permuted(extents, order, elem_bytes).unwrap();
        let plan = planner(device).plan(&problem).unwrap();
        assert_eq!((plan.route(), plan.passes()), (Route::SQUARE, 1), "{plan:#}");
        assert!(device == "host" || plan.workspace_bytes == 0, "{plan:#}");
    }
}

/// Checks that few long runs take one pass, and on a GPU no workspace, however long they are.
#[test]
fn planner_chooses_pieces_when_runs_are_few_and_long() {
    for (extents, order, elem_bytes) in [
        (&[32, 2, 14_680_064][..], &[1, 0, 2][..], 2),
        (&[2, 3, 100_000_000], &[1, 0, 2], 4),
        (&[3, 5, 7, 4_000_003], &[2, 0, 1, 3], 4),
        (&[64, 2, 2, 2880 * 1440], &[0, 2, 1, 3], 2),
        (&[8, 64, 1_500_000], &[1, 0, 2], 4),
    ] {
        let problem = Problem::permuted(extents, order, elem_bytes).unwrap();
        for device in ["h200", "h100", "a100", "host"] {
            let plan = planner(device).plan(&problem).unwrap();
            assert_eq!((plan.route(), plan.passes()), (Route::LONG_RUNS, 1), "{plan:#}");
            let most = if device == "host" { 4096 } else { 0 };
            assert!(plan.workspace_bytes <= most, "{plan:#}");
        }
    }
}

/// Checks the order in which slots are gathered by route aligned-slots: by columns on a GPU, by
/// rows on a host.
#[test]
fn slot_order_depends_on_device() {
    for (device, order) in [("h200", SlotOrder::Columns), ("host", SlotOrder::Rows)] {
        let planner = planner(device).with_route(Route::ALIGNED_SLOTS);
        let plan = planner.plan(&Problem::new(158_003, 158_017, 4).unwrap()).unwrap();
        let mut slots = plan.stages().filter_map(|stage| match stage.map {
            StageMap::SlotGather { slots, .. } => Some(slots.order()),
            _ => None,
        });
        assert_eq!(slots.next(), Some(order), "{plan:#}");
    }
}

/// Checks choices that agree with measurements on an H200: squares of 4 and 24 on chip, of 64 and
/// 1000 by route square, tiles of 64 rows for 8-byte elements, and super-elements of a multiple of
/// 16 one-byte elements.
#[test]
fn h200_plans_match_measurements() {
    let of = |batch, rows, cols, elem_bytes| {
        let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
        Planner::new(GpuDevice::h200()).plan(&problem).unwrap()
    };
    for (side, route) in
        [(4, Route::ON_CHIP), (24, Route::ON_CHIP), (64, Route::SQUARE), (1000, Route::SQUARE)]
    {
        let plan = of(1_000_000 / side, side, side, 4);
        assert_eq!(plan.route(), route, "{plan:#}");
    }
    assert_eq!(of(1, 19_968, 12_032, 8).tile().m, 64);
    let plan = of(1, 7_188_528, 35, 1);
    assert_eq!(
        (plan.route(), plan.phases[0].stages[1].map.unit() % 16),
        (Route::PANEL, 0),
        "{plan:#}"
    );
}

#[test]
fn candidates_stay_within_limits() {
    for planner in planners(&[16]) {
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
            let survey = planner.candidates(&problem);
            assert!(survey.candidates.is_sorted_by(|a, b| a.seconds <= b.seconds));
            for plan in survey.candidates {
                assert!(plan.workspace_bytes <= planner.device().cap(&problem), "{plan:#}");
                assert_eq!(plan.check(), Ok(()), "{plan:#}");
                for stage in plan.stages() {
                    assert!(!stage.map.is_identity(), "{plan:#}");
                    match stage.implementation.launch_config.get::<CpuKernelConfig>() {
                        Some(config) => {
                            assert!((1..=16).contains(&config.resources().threads), "{plan:#}")
                        }
                        None => {
                            assert_on_chip(&plan, stage.implementation.launch_config.get().unwrap())
                        }
                    }
                }
                let each = plan.stages().map(|stage| stage.implementation.workspace_bytes);
                assert_eq!(plan.workspace_bytes, each.max().unwrap_or(0), "{plan:#}");
            }
        }
    }
}

/// Checks the default workspace cap: on a host 2% of the matrix plus 1 MiB per thread, for at most
/// 32 threads; on a GPU the larger of 2% and 16 MiB, plus the saved gaps.
#[test]
fn default_cap_depends_on_threads_and_device() {
    const MIB: usize = 1 << 20;
    for problem in [Problem::new(300, 200, 4), Problem::new(16_381, 20_011, 4)].map(Result::unwrap)
    {
        let fraction = problem.bytes() / 50;
        for (threads, counted) in [(1, 1), (16, 16), (32, 32), (64, 32)] {
            assert_eq!(
                CpuDevice::new(threads).cap(&problem),
                fraction + counted * MIB,
                "{problem}"
            );
        }
        for chip in GpuDevice::presets() {
            assert_eq!(chip.cap(&problem), fraction.max(16 * MIB), "{problem}");
            let leading = problem.with_leading(problem.cols() + 7, problem.rows() + 9).unwrap();
            assert!(leading.saved_gap_bytes() > 0 && leading.saved_gap_bytes().is_multiple_of(16));
            assert_eq!(
                chip.cap(&leading),
                fraction.max(16 * MIB) + leading.saved_gap_bytes(),
                "{leading}"
            );
        }
        assert_eq!(CpuDevice::new(2).cap(&problem.with_cap(5)), 5);
    }
}

/// Checks that the thread blocks of each launch fit on a multiprocessor.
fn assert_on_chip(plan: &Plan, launches: &LaunchList) {
    let chip = GpuDevice::preset(&plan.device).unwrap();
    assert!(!launches.calls().is_empty(), "{plan:#}");
    for call in launches.calls() {
        assert!(call.groups >= 1 && (1..=1024).contains(&call.threads), "{plan:#}");
        assert!(call.shared_bytes as usize <= chip.limits().shared_bytes, "{plan:#}");
    }
}

#[test]
fn plan_prints_on_one_line_and_in_full() {
    let planner = planner("h200").with_route(Route::THREE_STAGE);
    let plan = planner.plan(&Problem::new(20_000, 12_000, 4).unwrap()).unwrap();
    let line = plan.to_string();
    assert!(line.starts_with("20000x12000 w4 on h200: three-stage: 100!(20000x"), "{line}");
    assert!(line.contains(" -> 010!(") && line.contains(" -> 0100!("), "{line}");
    assert!(line.contains("; 3 passes, workspace ") && !line.contains('\n'), "{line}");
    let full = format!("{plan:#}");
    for word in ["problem", "device", "tile", "stage 3", "bytes of flags", "on chip", "GB/s"] {
        assert!(full.contains(word), "{full}");
    }
    let declined = format!("{:#}", self::plan("h200", 16381, 20011, 4));
    for why in
        ["not        square: 16381 x 20011 is not square", "square-tile: 16381 and 20011 have no"]
    {
        assert!(declined.contains(why), "{declined}");
    }
}

/// Checks that planning, which skips candidates that cannot win, returns the first of the list of
/// all candidates.
#[test]
fn plan_equals_first_candidate_of_survey() {
    for planner in planners(&[2, 64]) {
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
                let mut plan = planner.plan(&problem).unwrap();
                plan.rejected.clear();
                let first = planner.candidates(&problem).candidates.swap_remove(0);
                assert_eq!(plan, first);
            }
        }
    }
}

#[test]
fn plan_is_fastest_when_tiles_are_exhaustive() {
    for planner in planners(&[1]) {
        let planner = planner.with_tiles(TileRule::Exhaustive);
        for (rows, cols) in [(300, 200), (2048, 2048), (1440, 720)] {
            let problem = Problem::new(rows, cols, 4).unwrap();
            let mut plan = planner.plan(&problem).unwrap();
            plan.rejected.clear();
            assert_eq!(plan, planner.candidates(&problem).candidates.swap_remove(0));
        }
    }
}

#[test]
fn more_threads_are_never_slower_when_cap_is_small() {
    let plan = |threads, cap| {
        let problem = Problem::new(4001, 3989, 4).unwrap().with_cap(cap);
        Planner::new(CpuDevice::new(threads)).plan(&problem).unwrap()
    };
    for cap in [1 << 20, 2 << 20, 8 << 20] {
        let single = plan(1, cap);
        for threads in [2, 4, 16, 64] {
            let parallel = plan(threads, cap);
            assert!(parallel.seconds <= single.seconds, "{parallel:#}\n{single:#}");
        }
    }
}

#[test]
fn planner_uses_threads_and_tile_rule_of_caller() {
    let on = |threads: usize| {
        let planned = turntile::Transpose::new::<f32>(720, 180).threads(threads).plan().unwrap();
        planned.plan().device.clone()
    };
    assert_eq!([1, 3].map(on), [1, 3].map(|threads| CpuDevice::new(threads).name().to_owned()));
    let measured = |rule| {
        let of = turntile::Transpose::new::<f32>(24, 36).route(Route::THREE_STAGE).threads(1);
        of.tiles(rule).tune(Duration::from_secs(60)).unwrap().len()
    };
    // With the exhaustive rule, plans with all tile sides that divide 24 and 36 are measured.
    assert!(measured(TileRule::Exhaustive) > measured(TileRule::CostModel));
}

#[test]
fn plan_is_fastest_of_survey_when_axes_are_random() {
    let mut state = 12345_u64;
    let mut below = |most: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let extents = [2, 3, 4, 5, 7, 8, 16, 24, 33, 64, 100, 128, 360, 1000];
    let mut draw = || {
        let rank = 3 + below(3);
        let shape: Vec<usize> = (0..rank).map(|_| extents[below(extents.len())]).collect();
        let mut order: Vec<usize> = (0..rank).collect();
        (1..rank).rev().for_each(|i| order.swap(i, below(i + 1)));
        (shape, order, 1 << below(5))
    };
    // On the small GPU, kernel launches take longer than memory transfers, so one pass over short
    // super-elements beats two.
    let limits = DeviceLimits {
        units: 13,
        shared_bytes: 48 << 10,
        unit_shared_bytes: 48 << 10,
        ..DeviceLimits::H200
    };
    let small = GpuDevice::like_h200(
        "small",
        DeviceLimits { cluster: 1, cooperative: false, ..limits },
        2.08e11,
    );
    let named =
        [(vec![3, 2, 100, 1000], vec![1, 0, 2, 3], 16), (vec![31, 41, 14], vec![2, 1, 0], 4)];
    let drawn =
        (0..120).map(|_| draw()).filter(|(shape, ..)| shape.iter().product::<usize>() < 1 << 24);
    for (shape, order, elem_bytes) in drawn.chain(named) {
        let problem = Problem::permuted(&shape, &order, elem_bytes).unwrap();
        for device in [GpuDevice::h200(), GpuDevice::a100(), small.clone()] {
            let planner = Planner::new(device);
            let (plan, survey) = (planner.plan(&problem).unwrap(), planner.candidates(&problem));
            let best = &survey.candidates[0];
            assert!(plan.seconds <= 1.001 * best.seconds, "{plan}\n{best}");
        }
    }
}
