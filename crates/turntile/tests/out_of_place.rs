//! Out-of-place transpositions on the host, with and without a plan, compared with the reference.

use proptest::prelude::*;
use turntile::plan::{
    Chip, CpuDevice, Infeasible, InvalidPlan, PlanError, Planner, Problem, Route, TileRule,
};
use turntile::{Error, RawElements, RunError, Transpose, transpose_into};
use turntile_plan::RejectedRoute;

use crate::common::oracle;
use crate::largest_side;

/// Checks matrices of `N`-byte elements.
fn check<const N: usize>(batch: usize, rows: usize, cols: usize, threads: usize) {
    let before = oracle::numbered(batch * rows * cols, N);
    let want = oracle::transposed(&before, batch, rows, cols, N);
    let elements = |bytes: &[u8]| -> Vec<[u8; N]> { bytes.as_chunks().0.to_vec() };
    let (src, want) = (elements(&before), elements(&want));
    let mut dst = vec![[0xA5; N]; src.len()];
    let transpose = Transpose::of::<[u8; N]>(rows, cols).batch(batch).threads(threads);
    let planned = transpose.out_of_place().plan().unwrap();
    assert_eq!(planned.workspace_bytes(), 0, "{planned}");
    planned.run_into(&src, &mut dst).unwrap();
    assert!(dst == want, "{batch} x {rows} x {cols}, {N} bytes, {threads} threads");
    assert!(src == elements(&before), "the source is unchanged");
    if batch == 1 {
        dst.fill([0x5A; N]);
        transpose_into(&src, &mut dst, rows, cols).unwrap();
        assert!(dst == want, "{rows} x {cols}, {N} bytes, without a plan");
    }
}

fn check_every_size(batch: usize, rows: usize, cols: usize, threads: usize) {
    check::<1>(batch, rows, cols, threads);
    check::<2>(batch, rows, cols, threads);
    check::<3>(batch, rows, cols, threads);
    check::<4>(batch, rows, cols, threads);
    check::<8>(batch, rows, cols, threads);
    check::<12>(batch, rows, cols, threads);
    check::<16>(batch, rows, cols, threads);
    check::<20>(batch, rows, cols, threads);
    check::<40>(batch, rows, cols, threads);
}

#[test]
fn run_into_is_correct_for_all_small_shapes() {
    for rows in 0..=largest_side() {
        for cols in 0..=largest_side() {
            check_every_size(1 + (rows + cols) % 3, rows, cols, 1);
        }
    }
}

#[test]
fn run_into_is_correct_when_threads_share_the_work() {
    for (batch, rows, cols) in [
        (1, 1000, 777),
        (1, 300_000, 3),
        (1, 3, 300_000),
        (1, 70_001, 17),
        (50, 130, 90),
        (1, 1, 1_000_000),
    ] {
        check::<4>(batch, rows, cols, 2);
        check::<1>(batch, rows, cols, 3);
        check::<16>(batch, rows, cols, 8);
    }
}

#[test]
fn run_into_keeps_result_when_lengths_differ() {
    let src: Vec<u32> = (0..6).collect();
    for (got, dst_len, src_len) in [(5, 5, 6), (5, 6, 5), (0, 0, 6), (7, 7, 6)] {
        let mut dst = vec![9u32; dst_len];
        let src: Vec<u32> = src.iter().copied().cycle().take(src_len).collect();
        let result = transpose_into(&src, &mut dst, 2, 3);
        assert_eq!(result, Err(Error::Length { shape: vec![2, 3], expected: 6, got }));
        let planned = Transpose::of::<u32>(2, 3).out_of_place().plan().unwrap();
        assert_eq!(planned.run_into(&src, &mut dst), result);
        assert!(dst.iter().all(|&x| x == 9));
    }
    let result = transpose_into(&[0; 2], &mut [0u8; 2], usize::MAX, 3);
    assert_eq!(result, Err(Error::Overflow { shape: vec![usize::MAX, 3] }));
    transpose_into(&[(); 6], &mut [(); 6], 2, 3).unwrap();
    transpose_into::<u8>(&[], &mut [], 0, usize::MAX).unwrap();
}

/// A plan is either in-place or out-of-place, and its buffers have elements of the planned size,
/// typed or as raw bytes.
#[test]
fn run_fails_when_plan_is_for_other_placement() {
    let into = Transpose::of::<u16>(2, 3).out_of_place().plan().unwrap();
    let in_place = Transpose::of::<u16>(2, 3).plan().unwrap();
    let (mut dst, src) = ([0u16; 6], [1u16, 2, 3, 4, 5, 6]);
    let flaw = |out_of_place| {
        Err(Error::Run(RunError::Plan(InvalidPlan::WrongDestination { out_of_place })))
    };
    assert_eq!(into.run(&mut dst), flaw(true));
    assert_eq!(in_place.run_into(&src, &mut dst), flaw(false));
    let error = in_place.run_into(&src, &mut dst).unwrap_err().to_string();
    let expected =
        "the plan cannot run: the plan is in place: run it by run, or plan with out_of_place()";
    assert_eq!(error, expected);
    let wider = into.run_into(&[0; 6], &mut [0u32; 6]);
    assert_eq!(wider, Err(Error::ElementSize { expected: 2, got: 4 }));
    let short = into.run_into(&RawElements(&[0; 11]), &mut RawElements(&mut [0; 12]));
    assert_eq!(short, Err(Error::Run(RunError::Length { expected: 12, got: 11 })));
    assert_eq!(dst, [0; 6]);
    // From a vector into a subslice, and as raw bytes.
    into.run_into(&src.to_vec(), &mut dst[..]).unwrap();
    assert_eq!(dst, [1, 4, 2, 5, 3, 6]);
    let bytes: Vec<u8> = src.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let mut transposed = vec![0; 12];
    into.run_into(&RawElements(&bytes), &mut RawElements(&mut transposed)).unwrap();
    assert_eq!(transposed, dst.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>());
}

/// A single row or column: in-place nothing moves, out-of-place everything is copied.
#[test]
fn transpose_into_copies_single_rows_and_columns() {
    for (rows, cols) in [(1, 1000), (1000, 1), (1, 1), (0, 7), (1, 1_000_003), (2_000_001, 1)] {
        let src: Vec<u32> = (7..).take(rows * cols).collect();
        let mut dst = vec![0; src.len()];
        transpose_into(&src, &mut dst, rows, cols).unwrap();
        assert_eq!(dst, src, "{rows}x{cols}");
        dst.fill(0);
        let planned = Transpose::of::<u32>(rows, cols).threads(3).out_of_place().plan().unwrap();
        planned.run_into(&src, &mut dst).unwrap();
        assert_eq!(dst, src, "{planned}");
    }
}

/// Every device plans with its own tiles, and every plan runs on the host.
#[test]
fn plans_for_every_device_run_on_the_host() {
    let chips = Chip::presets().into_iter().map(Planner::new);
    for planner in chips.chain([Planner::new(CpuDevice::new(3))]) {
        let planner = planner.with_tiles(TileRule::Exhaustive);
        for (batch, rows, cols) in
            [(1, 37, 64), (3, 100, 7), (1, 640, 384), (50, 4, 4), (1, 3, 5000)]
        {
            for (elem_bytes, alignment) in
                [(1, 16), (2, 1), (4, 16), (8, 1), (12, 16), (16, 1), (100, 16)]
            {
                let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
                let problem = problem.out_of_place().unwrap().with_alignment(alignment);
                let candidates = planner.candidates(&problem).candidates;
                assert!(!candidates.is_empty(), "{problem}");
                crate::common::check_all(candidates, 2);
            }
        }
    }
}

#[test]
fn route_is_rejected_when_placement_differs() {
    let problem = Problem::new(64, 64, 4).unwrap();
    for (problem, route) in
        [(problem.clone(), Route::OUT_OF_PLACE), (problem.out_of_place().unwrap(), Route::SQUARE)]
    {
        let planner = Planner::new(CpuDevice::new(1)).with_route(route);
        let rejected = planner.plan(&problem).unwrap_err();
        let PlanError::Infeasible { why, .. } = rejected else { panic!("{rejected}") };
        assert_eq!(
            why,
            Infeasible::WrongDestination { out_of_place: route == Route::OUT_OF_PLACE }
        );
        let survey = planner.candidates(&problem);
        assert_eq!(survey.candidates, []);
        let [RejectedRoute { route: declined, reason, .. }] = &survey.rejected[..] else {
            panic!("{:?}", survey.rejected)
        };
        assert_eq!((*declined, reason), (route, &why));
    }
}

/// Out-of-place plans are measured and recorded like in-place plans.
#[test]
fn tuning_records_out_of_place_plans() {
    let folder = std::env::temp_dir().join(format!("turntile-into-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("wisdom.json");
    let transpose = Transpose::of::<u32>(300, 200).threads(1).out_of_place().wisdom(&file);
    let tiles = transpose.clone().tiles(TileRule::Exhaustive);
    let measured = tiles.tune(std::time::Duration::from_millis(20)).unwrap();
    assert!(measured.iter().all(|m| m.plan.problem.is_out_of_place()));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("300x200 w4 out of place") && text.contains("out-of-place"), "{text}");
    let planned = transpose.plan().unwrap();
    assert_eq!(planned.plan().phases, measured[0].plan.phases);
    assert_eq!(planned.refused_wisdom(), None);
    // A single row, which is copied, and axes that are not a matrix transposition.
    let row = Transpose::of::<u32>(1, 70_000);
    let axes = Transpose::of_axes::<u32>(&[30, 20, 7], &[2, 1, 0]);
    for transpose in [row, axes].map(|transpose| transpose.threads(1).out_of_place().wisdom(&file))
    {
        let measured = transpose.tune(std::time::Duration::from_millis(5)).unwrap();
        let planned = transpose.plan().unwrap();
        assert_eq!(planned.refused_wisdom(), None);
        assert_eq!(planned.plan().phases, measured[0].plan.phases);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if largest_side() > 20 { 256 } else { 64 }))]

    #[test]
    fn run_into_is_correct_for_any_shape(batch in 1usize..4, rows in 0usize..400, cols in 0usize..400, threads in 1usize..5) {
        check::<2>(batch, rows, cols, threads);
        check::<4>(batch, rows, cols, threads);
        check::<8>(batch, rows, cols, threads);
    }

    #[test]
    fn run_into_is_correct_when_one_side_is_short(short in 1usize..70, long in 1usize..20_000, threads in 1usize..5) {
        check::<4>(1, long, short, threads);
        check::<1>(1, short, long, threads);
    }
}
