//! Plans by route `cut`: follows their launches on the host, through the workspace, using only the
//! launch parameters.

use std::collections::BTreeSet;

use proptest::prelude::*;
use turntile_cuda::{BufferOffset, GpuDevice, Work};
use turntile_perm::PitchedRows;
use turntile_plan::{
    Device, MethodFilter, Planner, Problem, Route, StageMap, StageRequest, TileRule,
};

use crate::cases::{DIRECTIONS, ELEMENTS, alignments};
use crate::follow::{offsets, through};
use crate::leading::{NOTHING, run};

/// Checks every plan of the route under `rule`, byte by byte. Returns the number of plans, and
/// their kernels.
fn check(problem: Problem, rule: TileRule) -> (usize, BTreeSet<String>) {
    let planner = Planner::new(GpuDevice::h200()).with_route(Route::CUT).with_tiles(rule);
    let (elem, mut met) = (problem.itemsize(), BTreeSet::new());
    let plans = planner.candidates(&problem).candidates;
    for plan in &plans {
        let work = Work::of_plan(plan).unwrap();
        assert_eq!(work.workspace_bytes().next_multiple_of(8), plan.workspace_bytes, "{plan}");
        let mut data: Vec<u32> = (0..problem.bytes() as u32).collect();
        let mut want = vec![NOTHING; problem.bytes()];
        for (at, &byte) in data.iter().enumerate() {
            want[problem.dest(at / elem) * elem + at % elem] = byte;
        }
        run(plan, &work, &mut data);
        assert!(data == want, "{plan:#}");
        met.extend(work.calls().iter().map(|call| call.kernel()));
        work.calls().iter().for_each(crate::lowering::check);
    }
    (plans.len(), met)
}

#[test]
fn all_small_matrices() {
    let mut count = 0;
    for (rows, cols) in (1..14).flat_map(|rows| (1..14).map(move |cols| (rows, cols))) {
        for elem in ELEMENTS {
            for alignment in alignments(elem) {
                let problem = Problem::new(rows, cols, elem).unwrap().with_alignment(alignment);
                count += check(problem, TileRule::Exhaustive).0;
            }
        }
    }
    assert!(count > 2000, "{count} plans");
}

/// Rows over several blocks, columns in several pieces, tiles and long elements. Meets every kernel
/// that transposes or moves the cut columns.
#[test]
fn matrices_of_many_blocks() {
    let (mut count, mut met) = (0, BTreeSet::new());
    for (rows, cols, elems) in [
        (100, 107, &[1, 2, 4, 8, 16, 12][..]),
        (107, 100, &[1, 2, 4, 8, 16, 12]),
        (37, 130, &[1, 3, 4]),
        (128, 144, &[1, 2, 4]),
        (9000, 5, &[4]),
        (3, 3004, &[8]),
        (6, 7, &[400, 401, 402, 404, 408]),
    ] {
        for &elem in elems {
            let problem = Problem::new(rows, cols, elem).unwrap();
            let (plans, kernels) = check(problem, TileRule::CostModel);
            count += plans;
            met.extend(kernels);
        }
    }
    assert!(count >= 20, "{count} plans");
    for kernel in [
        "pad.w1/pad_slide",
        "pad.w1/pad_spread",
        "out_of_place.w1/into_lines_256_128",
        "pitched.w4/pitched_turn",
        "out_of_place.w4/into_micro_64",
        "out_of_place.w4/into_lines_512_128",
        "out_of_place.w16/into_lines_512_256",
        "pitched.w1/pitched_turn",
        "pitched.w16/pitched_turn",
    ] {
        assert!(met.contains(kernel), "{kernel} is not among {met:?}");
    }
}

/// Matrices that fill a chip, checked at selected bytes. The workspace has the cut columns and a
/// flag per block.
#[test]
fn large_matrices() {
    for (rows, cols, elem) in [
        (20_000, 20_003, 4),
        (40_000, 40_001, 4),
        (40_001, 40_000, 4),
        (4093, 8191, 4),
        (30_011, 30_000, 12),
        (12_000, 12_007, 16),
        (16_381, 16_400, 1),
        (158_003, 158_017, 4),
        (158_017, 158_003, 4),
    ] {
        let problem = Problem::new(rows, cols, elem).unwrap();
        let planner = Planner::new(GpuDevice::h200()).with_route(Route::CUT);
        let plan = planner.plan(&problem).unwrap();
        let work = Work::of_plan(&plan).unwrap();
        for offset in offsets(problem.bytes()) {
            let want = problem.dest(offset / elem) * elem + offset % elem;
            assert_eq!(
                through(&plan, &work, offset),
                Ok(BufferOffset::Data(want)),
                "{plan}, byte {offset}"
            );
        }
        let cut = plan.stages().find_map(|stage| match stage.map {
            StageMap::Cut { rows, .. } => Some((stage.implementation.workspace_bytes, rows)),
            _ => None,
        });
        let (need, cut) = cut.unwrap();
        let flags = 4 * ((cut.len() * elem).div_ceil(48_384) + 1);
        let need_not = need.checked_sub((cut.gaps() * elem).next_multiple_of(16) + flags);
        assert!(need_not.is_some_and(|bytes| bytes < 8), "{need} bytes: {plan}");
    }
}

/// Without columns to cut, or without columns left, there is no launch. If the workspace cap is too
/// low, the error has the bytes needed.
#[test]
fn what_cannot_be_cut_is_refused() {
    let chip = GpuDevice::h200();
    let offers = |rows: PitchedRows, cap| {
        let shape = StageMap::Cut { rows, direction: DIRECTIONS[0] };
        let request = StageRequest {
            elem_bytes: 4,
            alignment: 16,
            out_of_place: false,
            cap,
            methods: MethodFilter::Any,
        };
        chip.implementations(&shape, &request)
    };
    for (rows, cols, pitch) in [(5, 7, 7), (1, 3, 7), (5, 0, 7)] {
        assert!(offers(PitchedRows::new(rows, cols, pitch).unwrap(), usize::MAX).is_err());
    }
    let rows = PitchedRows::new(50, 40, 43).unwrap();
    let need = (600 + 8usize).next_multiple_of(16) + 8;
    assert_eq!(offers(rows, need).unwrap()[0].workspace_bytes, 616);
    let why = turntile_plan::Infeasible::Workspace { need: 616, cap: 615 };
    assert_eq!(offers(rows, 615), Err(why));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn drawn_matrices(
        rows in 2usize..140, cols in 2usize..140,
        elem in prop::sample::select(vec![1usize, 2, 3, 4, 8, 12, 16, 24]),
        aligned in any::<bool>(),
    ) {
        let alignment = alignments(elem)[usize::from(aligned)];
        let problem = Problem::new(rows, cols, elem).unwrap().with_alignment(alignment);
        check(problem, TileRule::CostModel);
    }
}
