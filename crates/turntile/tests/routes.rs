//! Tests of all candidate plans, with every route, tile size and device, run on the host and
//! compared with the reference.

use std::collections::HashMap;

use proptest::prelude::*;
use turntile::plan::{CpuDevice, GpuDevice, Planner, Problem, Route, TileRule};
use turntile_cuda::launch::DeviceLimits;

use crate::common::{check, check_against, check_all, oracle};
use crate::largest_side;

const ELEM_BYTES: [usize; 8] = [1, 2, 3, 4, 8, 12, 16, 24];

/// Returns every GPU preset, and a GPU with little on-chip memory, without clusters and cooperative
/// launches.
fn chips() -> Vec<GpuDevice> {
    let limits = DeviceLimits {
        units: 13,
        shared_bytes: 48 << 10,
        unit_shared_bytes: 48 << 10,
        cluster: 1,
        cooperative: false,
        ..DeviceLimits::H200
    };
    GpuDevice::presets().into_iter().chain([GpuDevice::like_h200("old", limits, 2.08e11)]).collect()
}

/// Checks all matrices with sides up to [`largest_side`], with every size of `ELEM_BYTES`, route
/// and tile size.
#[test]
fn all_small_shapes_on_every_route_and_tile() {
    let planner = Planner::new(CpuDevice::new(2)).with_tiles(TileRule::Exhaustive);
    let mut served: HashMap<(Route, bool), usize> = HashMap::new();
    for rows in 0..=largest_side() {
        for cols in 0..=largest_side() {
            for elem_bytes in ELEM_BYTES {
                let problem = Problem::new(rows, cols, elem_bytes).unwrap();
                let problem = problem.with_cap(1 << 20);
                let from = oracle::numbered(problem.len(), elem_bytes);
                let want = oracle::transposed(&from, 1, rows, cols, elem_bytes);
                let survey = planner.candidates(&problem);
                assert!(!survey.candidates.is_empty(), "{problem}");
                for plan in survey.candidates {
                    *served.entry((plan.route(), plan.mirrored())).or_default() += 1;
                    check_against(plan, 1, &want);
                }
            }
        }
    }
    let routes = turntile_plan::ROUTES.iter().map(|row| row.route);
    // No last axis of a matrix stays last.
    for route in routes.filter(|route| ![Route::OUT_OF_PLACE, Route::LONG_RUNS].contains(route)) {
        assert!(served.contains_key(&(route, false)), "{route} was never feasible");
    }
    for route in [Route::PANEL, Route::ALIGNED_SLOTS, Route::CUT, Route::THREE_STAGE] {
        assert!(served.contains_key(&(route, true)), "{route} mirrored was never feasible");
    }
}

#[test]
fn plans_for_every_device_run_on_the_host() {
    for planner in chips().into_iter().map(Planner::new).chain([Planner::new(CpuDevice::new(3))]) {
        for rows in 1..=largest_side() {
            for cols in 1..=largest_side() {
                for (k, elem_bytes) in [1, 4, 12].into_iter().enumerate() {
                    // By default one of these sizes per shape.
                    if largest_side() <= 20 && k != (rows + cols) % 3 {
                        continue;
                    }
                    let problem = Problem::new(rows, cols, elem_bytes).unwrap();
                    check_all(planner.candidates(&problem).candidates, 2);
                }
            }
        }
        for (batch, rows, cols, elem_bytes) in [
            (1, 720, 180, 4),
            (1, 511, 250, 4),
            (1, 499, 251, 2),
            (3, 64, 48, 4),
            (1, 384, 384, 8),
            (1, 640, 384, 4),
            (1, 20_000, 3, 4),
            (1, 7, 9_973, 8),
            (2, 330, 390, 1),
            (1, 50, 75, 4096),
        ] {
            let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
            check_all(planner.candidates(&problem).candidates, 2);
        }
    }
}

#[test]
fn plans_are_correct_when_on_chip_memory_is_small() {
    for bytes in [16, 64, 256, 1024] {
        let reduced = |chip: GpuDevice| {
            let limits = *chip.limits();
            let limits = DeviceLimits { shared_bytes: bytes, registers: 0, cluster: 1, ..limits };
            Planner::new(chip.with_limits(limits))
        };
        let host = Planner::new(CpuDevice::new(2).with_scratch(bytes));
        for planner in chips().into_iter().map(reduced).chain([host]) {
            let planner = planner.with_tiles(TileRule::Exhaustive);
            for (rows, cols) in [(12, 18), (13, 7), (30, 30), (1, 9), (25, 60)] {
                let problem = Problem::new(rows, cols, 4).unwrap();
                check_all(planner.candidates(&problem).candidates, 2);
            }
        }
    }
}

#[test]
fn plans_stay_within_cap() {
    for (rows, cols) in [(48, 36), (37, 41), (60, 60), (2, 900), (700, 3)] {
        for cap in [0, 1, 8, 100, 1_000, 5_000, 20_000, 1 << 20] {
            let host = Planner::new(CpuDevice::new(2));
            for planner in chips().into_iter().map(Planner::new).chain([host]) {
                let problem = Problem::new(rows, cols, 4).unwrap().with_cap(cap);
                let plan = planner.plan(&problem).unwrap();
                assert!(plan.workspace_bytes <= cap, "{plan}");
                check(plan, 1);
            }
        }
    }
}

fn any_planner() -> impl Strategy<Value = Planner> {
    prop_oneof![
        (1usize..5).prop_map(|threads| Planner::new(CpuDevice::new(threads))),
        prop::sample::select(chips()).prop_map(Planner::new),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn routes_are_correct_for_random_problems(
        planner in any_planner(),
        batch in 1usize..4,
        rows in 1usize..400,
        cols in 1usize..400,
        elem_bytes in prop::sample::select(&ELEM_BYTES),
        threads in 1usize..4,
    ) {
        let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
        check_all(planner.candidates(&problem).candidates, threads);
    }
}

proptest! {
    /// Checks the destinations of random offsets through all stages of a plan, without moving data.
    #[test]
    fn plans_map_offsets_correctly_for_large_problems(
        planner in any_planner(),
        batch in 1usize..3,
        rows in 1usize..=1 << 20,
        cols in 1usize..=1 << 20,
        friendly in 0u32..12,
        elem_bytes in 1usize..32,
        offsets: [usize; 8],
    ) {
        // Round sides down to multiples of a power of two, so that they share divisors.
        let (rows, cols) = (rows >> friendly << friendly, cols >> friendly << friendly);
        let problem = Problem::with_batch(batch, rows.max(1), cols.max(1), elem_bytes).unwrap();
        for plan in planner.candidates(&problem).candidates {
            for offset in offsets {
                let offset = offset % problem.len();
                prop_assert_eq!(plan.dest(offset), problem.dest(offset), "{:#}", plan);
            }
        }
    }
}
