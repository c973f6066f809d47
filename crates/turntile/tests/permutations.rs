//! Tests of axis permutations of random shapes by every candidate plan, run on the host and
//! compared with the reference.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use turntile::error::Reason;
use turntile::plan::{
    CpuDevice, GpuDevice, Infeasible, PlanError, Planner, Problem, Route, TileRule,
};
use turntile::{Transpose, permute_in_place};
use turntile_perm::PermutationError;
use turntile_plan::ProblemError;

use crate::common::{check, check_all};

const ELEM_BYTES: [usize; 8] = [1, 2, 3, 4, 8, 12, 16, 24];

pub fn orders(rank: usize) -> Vec<Vec<usize>> {
    (0..rank).fold(vec![vec![]], |all, axis| {
        let longer = |order: &Vec<usize>, at: usize| {
            let mut order = order.clone();
            order.insert(at, axis);
            order
        };
        all.iter().flat_map(|order| (0..=order.len()).map(move |at| longer(order, at))).collect()
    })
}

/// Returns `count` random shapes with `rank` axes of extents up to `most`, and with at most
/// `elements` elements. The seed is fixed.
fn random_shapes(rank: usize, count: usize, most: usize, elements: usize) -> Vec<Vec<usize>> {
    let config = Config { failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[rank as u8; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let shapes = prop::collection::vec(1..=most, rank);
    let mut draw = || shapes.new_tree(&mut runner).unwrap().current();
    let mut found = Vec::new();
    while found.len() < count {
        let shape = draw();
        if shape.iter().product::<usize>() <= elements {
            found.push(shape);
        }
    }
    found
}

/// Checks every candidate of every permutation of a shape. Returns the maximum number of phases of
/// a candidate.
fn check_every_order(planner: &Planner, extents: &[usize], elem_bytes: usize) -> usize {
    let mut phases = 0;
    for order in orders(extents.len()) {
        let problem = Problem::permuted(extents, &order, elem_bytes).unwrap().with_cap(1 << 20);
        let candidates = planner.candidates(&problem).candidates;
        assert!(!candidates.is_empty(), "{problem}");
        phases = candidates.iter().map(|plan| plan.phases.len()).fold(phases, usize::max);
        check_all(candidates, 2);
    }
    phases
}

#[test]
fn candidates_are_correct_for_every_order_of_random_shapes() {
    // A small cache scratch of the host device exercises the code paths of larger arrays.
    let planners = [512, 1 << 20].map(|scratch| {
        Planner::new(CpuDevice::new(2).with_scratch(scratch)).with_tiles(TileRule::Exhaustive)
    });
    let mut phases = 0;
    for (rank, count) in [(2, 24), (3, 24), (4, 8)] {
        for (k, extents) in random_shapes(rank, count, 12, 4000).iter().enumerate() {
            let elem_bytes = ELEM_BYTES[k % ELEM_BYTES.len()];
            phases = phases.max(check_every_order(&planners[k % 2], extents, elem_bytes));
        }
    }
    assert!(phases > 1, "no plan has several phases");
}

#[test]
fn candidates_are_correct_for_five_and_six_axes() {
    let planner = Planner::new(CpuDevice::new(1).with_scratch(256));
    for (rank, count) in [(5, 4), (6, 1)] {
        for (k, extents) in random_shapes(rank, count, 6, 3000).iter().enumerate() {
            check_every_order(&planner, extents, ELEM_BYTES[(k + 3) % ELEM_BYTES.len()]);
        }
    }
}

/// Checks axes of equal extents, which several phases of pairwise swaps can permute, and 13 axes of
/// extent 2.
#[test]
fn candidates_are_correct_when_axes_have_equal_extents() {
    let planner = Planner::new(CpuDevice::new(2));
    let phases =
        [&[3; 5][..], &[2, 3, 2, 3, 2]].map(|extents| check_every_order(&planner, extents, 4));
    assert!(phases.into_iter().all(|phases| phases > 1));
    for step in 1..7 {
        let order: Vec<usize> = (0..13).map(|axis| axis * step % 13).collect();
        let problem = Problem::permuted(&[2; 13], &order, 2).unwrap();
        check_all(planner.candidates(&problem).candidates, 2);
        check(Planner::new(GpuDevice::h200()).plan(&problem).unwrap(), 2);
    }
}

#[test]
fn plan_is_correct_when_cap_is_zero() {
    for extents in random_shapes(4, 6, 9, 3000) {
        for order in orders(4) {
            let problem = Problem::permuted(&extents, &order, 4).unwrap().with_cap(0);
            let plan = Planner::new(CpuDevice::new(2)).plan(&problem).unwrap();
            assert_eq!(plan.workspace_bytes, 0, "{plan:#}");
            check(plan, 2);
        }
    }
}

/// Checks plans for GPUs, executed on the host by their index maps.
#[test]
fn plans_for_every_device_are_correct() {
    for planner in GpuDevice::presets().into_iter().map(Planner::new) {
        for extents in random_shapes(4, 3, 9, 4000) {
            for order in orders(4) {
                let problem = Problem::permuted(&extents, &order, 4).unwrap();
                check_all(planner.candidates(&problem).candidates, 2);
            }
        }
    }
}

#[test]
fn out_of_place_plans_are_correct() {
    for extents in random_shapes(4, 12, 11, 10_000).into_iter().chain([vec![3, 300, 5, 290]]) {
        for order in orders(4) {
            let problem = Problem::permuted(&extents, &order, 4).unwrap().out_of_place().unwrap();
            let plan = Planner::new(CpuDevice::new(3)).plan(&problem).unwrap();
            check(plan, 3);
        }
    }
}

/// Checks arrays that are large enough for several threads.
#[test]
fn plans_are_correct_for_larger_arrays() {
    for (n, (extents, order)) in [
        (&[60, 70, 80][..], &[2, 1, 0][..]),
        (&[61, 67, 71], &[2, 1, 0]),
        (&[16, 60, 7, 90], &[2, 0, 3, 1]),
        (&[40, 3, 40, 100], &[2, 1, 0, 3]),
        (&[2, 3, 20_011], &[1, 0, 2]),
        (&[96, 96, 96], &[2, 1, 0]),
        (&[300, 200, 3, 2], &[2, 3, 0, 1]),
        (&[12, 14, 16, 18, 20], &[4, 3, 2, 1, 0]),
    ]
    .into_iter()
    .enumerate()
    {
        for (k, (elem_bytes, threads)) in [(1, 3), (4, 1), (12, 3)].into_iter().enumerate() {
            // By default one of these sizes per shape.
            if crate::largest_side() <= 20 && k != n % 3 {
                continue;
            }
            let problem = Problem::permuted(extents, order, elem_bytes).unwrap();
            check_all(
                Planner::new(CpuDevice::new(threads)).candidates(&problem).candidates,
                threads,
            );
        }
    }
}

/// Checks bit reversal, which reverses 9, 14 or 18 axes of extent 2, and an array with 64 axes.
#[test]
fn permute_in_place_supports_up_to_64_axes() {
    for rank in [9, 14, 18] {
        let (extents, order) = (vec![2; rank], (0..rank).rev().collect::<Vec<_>>());
        let mut data: Vec<u32> = (0..1 << rank).collect();
        permute_in_place(&mut data, &extents, &order).unwrap();
        let reversed = |k: u32| k.reverse_bits() >> (32 - rank);
        assert!((0..1 << rank).all(|k| data[k as usize] == reversed(k)), "{rank} axes");
    }
    let ones = vec![1; 64];
    permute_in_place(&mut [7], &ones, &(0..64).rev().collect::<Vec<_>>()).unwrap();
}

#[test]
fn invalid_axes_return_errors_and_keep_data() {
    let before: Vec<u32> = (0..24).collect();
    let mut data = before.clone();
    for axes in [&[0, 1][..], &[0, 1, 1], &[1, 2, 3], &[0, 1, 2, 3]] {
        let error = permute_in_place(&mut data, &[2, 3, 4], axes).unwrap_err();
        assert!(matches!(error.reason(), Reason::Problem(ProblemError::Axes(_))), "{error}");
        assert!(Transpose::permute::<u32>(&[2, 3, 4], axes).plan().is_err());
    }
    // Error messages do not count the batch axis.
    for (transpose, message) in [
        (Transpose::permute::<u32>(&[3, 4], &[1]), "[1] is not a permutation of 0..2"),
        (
            Transpose::permute::<u32>(&[2, 3, 4], &[0, 1]).batch(5),
            "[0, 1] is not a permutation of 0..3",
        ),
    ] {
        assert_eq!(transpose.plan().unwrap_err().to_string(), message);
    }
    assert_eq!(
        permute_in_place(&mut data, &[2, 3, 5], &[2, 1, 0]),
        Err(Reason::Length { shape: vec![2, 3, 5], expected: 30, got: 24 }.into())
    );
    let huge = [usize::MAX, 3, 5];
    assert_eq!(
        permute_in_place(&mut data, &huge, &[2, 1, 0]),
        Err(Reason::Overflow { shape: huge.to_vec() }.into())
    );
    let many = permute_in_place(&mut data[..1], &[1; 65], &(0..65).collect::<Vec<_>>());
    assert_eq!(many, Err(ProblemError::TooManyAxes { axes: 65 }.into()));
    assert_eq!(data, before);
}

#[test]
fn route_is_used_or_rejected() {
    let problem = Problem::permuted(&[12, 7, 18], &[2, 1, 0], 4).unwrap();
    for route in turntile_plan::ROUTES.each_ref().map(|row| row.route) {
        let planner = Planner::new(CpuDevice::new(2)).with_route(route);
        match planner.plan(&problem) {
            Ok(plan) => {
                assert_eq!(plan.route(), route);
                check(plan, 2);
            }
            Err(PlanError::Infeasible { why, .. }) => match route {
                Route::SQUARE => assert_eq!(why, Infeasible::NotSwapped),
                Route::OUT_OF_PLACE => {
                    assert_eq!(why, Infeasible::WrongDestination { out_of_place: true })
                }
                Route::LONG_RUNS => assert_eq!(why, Infeasible::LastMoves),
                // The contiguous runs of a panel have at least 64 bytes, which are 16 elements.
                Route::PANEL => {
                    assert_eq!(why, Infeasible::NoDivisor { side: 18, least: 16, most: 17 });
                }
                _ => assert_eq!(why, Infeasible::MatricesOnly, "{route}"),
            },
            Err(other) => panic!("{other}"),
        }
    }
    let many = Problem::permuted(&[2; 29], &(0..29).rev().collect::<Vec<_>>(), 4).unwrap();
    let planner = Planner::new(CpuDevice::new(2)).with_route(Route::ONE_STAGE);
    let Err(PlanError::Infeasible { why, .. }) = planner.plan(&many) else { panic!("29 axes") };
    assert_eq!(why, Infeasible::Axes(PermutationError::TooMany { axes: 29 }));
    assert!(Planner::new(CpuDevice::new(2)).plan(&many.out_of_place().unwrap()).is_err());
}

#[test]
fn permute_in_place_keeps_data_when_nothing_moves() {
    permute_in_place::<u8>(&mut [], &[3, 0, 2], &[2, 1, 0]).unwrap();
    permute_in_place(&mut [5u8], &[], &[]).unwrap();
    permute_in_place(&mut [(); 24], &[2, 3, 4], &[2, 1, 0]).unwrap();
    let mut row = [1u8, 2, 3];
    permute_in_place(&mut row, &[1, 3, 1], &[2, 1, 0]).unwrap();
    assert_eq!(row, [1, 2, 3]);
    let plan = Transpose::permute::<u8>(&[1, 3, 1], &[2, 1, 0]).plan().unwrap();
    assert_eq!(plan.plan().passes(), 0);
    // Elements that own memory are moved, not cloned or dropped.
    let mut owned: Vec<String> = (0..24).map(|k| k.to_string()).collect();
    permute_in_place(&mut owned, &[2, 3, 4], &[1, 2, 0]).unwrap();
    assert_eq!(owned[..3], ["0", "12", "1"]);
}

#[test]
fn wisdom_is_used_for_batches() {
    let file = std::env::temp_dir().join(format!("turntile-permuted-{}.json", std::process::id()));
    let transpose = Transpose::permute::<u32>(&[30, 20, 7], &[2, 1, 0]).batch(3).wisdom(&file);
    let measured = transpose.tune(std::time::Duration::from_millis(200)).unwrap();
    let planned = transpose.plan().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(planned.rejected_wisdom().is_none());
    assert_eq!(planned.plan().phases, measured[0].plan.phases);
    assert_eq!(planned.plan().problem.extents(), [3, 30, 20, 7]);
    check(planned.plan().clone(), 2);
}
