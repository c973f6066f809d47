//! Tests of out-of-place transpositions and axis permutations on the host, with and without a plan,
//! compared with the reference.

use proptest::prelude::*;
use turntile::error::{Reason, RunError};
use turntile::mode::{Dynamic, InPlace, OutOfPlace};
use turntile::plan::{
    CpuDevice, GpuDevice, Infeasible, InvalidPlan, PlanError, Planner, Problem, Route, TileRule,
};
use turntile::run::RunOptions;
use turntile::{
    ErrorKind, RawElements, Transpose, Transposer, bytes, permute_into, rearrange_into,
    transpose_into,
};
use turntile_plan::RejectedRoute;

use crate::common::oracle;
use crate::largest_side;
use crate::permutations::orders;

/// Checks a plan, and the functions that need no plan, on matrices of `N`-byte elements.
fn check<const N: usize>(batch: usize, rows: usize, cols: usize, threads: usize) {
    let before = oracle::numbered(batch * rows * cols, N);
    let want = oracle::transposed(&before, batch, rows, cols, N);
    let elements = |bytes: &[u8]| -> Vec<[u8; N]> { bytes.as_chunks().0.to_vec() };
    let (src, want) = (elements(&before), elements(&want));
    let mut dst = vec![[0xA5; N]; src.len()];
    let transpose = Transpose::new::<[u8; N]>(rows, cols).batch(batch).threads(threads);
    let planned = transpose.out_of_place().plan().unwrap();
    assert_eq!(planned.workspace_bytes(), 0, "{planned}");
    planned.run(&src, &mut dst).unwrap();
    assert!(dst == want, "{batch} x {rows} x {cols}, {N} bytes, {threads} threads");
    assert!(src == elements(&before), "the source is unchanged");
    if batch == 1 {
        dst.fill([0x5A; N]);
        transpose_into(&src, &mut dst, rows, cols).unwrap();
        assert!(dst == want, "{rows} x {cols}, {N} bytes, without a plan");
    }
    dst.fill([0x5A; N]);
    permute_into(&src, &mut dst, &[batch, rows, cols], &[0, 2, 1]).unwrap();
    assert!(dst == want, "{batch} x {rows} x {cols}, {N} bytes, without a plan");
}

/// Checks the functions that permute axes out-of-place without a plan, on arrays of `N`-byte
/// elements.
fn check_axes<const N: usize>(shape: &[usize], axes: &[usize]) {
    let before = oracle::numbered(shape.iter().product(), N);
    let bytes_want = oracle::permuted(&before, shape, axes, N);
    let elements = |bytes: &[u8]| -> Vec<[u8; N]> { bytes.as_chunks().0.to_vec() };
    let (src, want) = (elements(&before), elements(&bytes_want));
    let mut dst = vec![[0xA5; N]; src.len()];
    permute_into(&src, &mut dst, shape, axes).unwrap();
    assert!(dst == want, "{shape:?} to {axes:?}, {N} bytes");
    let mut dst = vec![0xA5; before.len()];
    bytes::permute_into(&before, &mut dst, shape, axes, N).unwrap();
    assert!(dst == bytes_want, "{shape:?} to {axes:?}, {N} raw bytes");
    let name = |axis: usize| char::from(b'a' + axis as u8).to_string();
    let side = |axes: &[usize]| axes.iter().map(|&axis| name(axis)).collect::<Vec<_>>().join(" ");
    let pattern = format!("{} -> {}", side(&Vec::from_iter(0..shape.len())), side(axes));
    let mut dst = vec![[0x5A; N]; src.len()];
    let after = rearrange_into(&src, &mut dst, shape, &pattern, &[]).unwrap();
    assert!(dst == want, "{shape:?} by {pattern}, {N} bytes");
    assert!(after.iter().eq(axes.iter().map(|&axis| &shape[axis])), "{pattern}: {after:?}");
    assert!(src == elements(&before), "the source is unchanged");
}

fn check_axes_of_every_size(shape: &[usize], axes: &[usize]) {
    check_axes::<1>(shape, axes);
    check_axes::<2>(shape, axes);
    check_axes::<3>(shape, axes);
    check_axes::<4>(shape, axes);
    check_axes::<8>(shape, axes);
    check_axes::<12>(shape, axes);
    check_axes::<16>(shape, axes);
    check_axes::<20>(shape, axes);
    check_axes::<40>(shape, axes);
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

/// Checks every order of up to four axes, with extents of 0 to 4, or to 3 for four axes.
#[test]
fn permute_into_is_correct_for_all_small_shapes() {
    for rank in 0..=4 {
        let count: usize = if rank < 4 { 5 } else { 4 };
        for number in 0..count.pow(rank as u32) {
            let extent = |axis| number / count.pow(axis) % count;
            let shape: Vec<usize> = (0..rank as u32).map(extent).collect();
            orders(rank).iter().for_each(|axes| check_axes_of_every_size(&shape, axes));
        }
    }
}

/// Checks large arrays, whose tiles are written with non-temporal stores, with 1 and 3 threads.
#[test]
fn permute_into_is_correct_when_threads_share_the_work() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            check_axes::<4>(&[70, 90, 300], &[2, 0, 1]);
            check_axes::<8>(&[3, 20, 70, 101], &[0, 3, 1, 2]);
            check_axes::<3>(&[60, 70, 80, 3], &[2, 1, 0, 3]);
            check_axes::<1>(&[1000, 4, 501], &[1, 2, 0]);
            check_axes::<16>(&[100, 5, 7, 30], &[0, 1, 2, 3]);
        });
    }
}

#[test]
fn permute_into_keeps_result_when_arguments_are_not_valid() {
    let src = [1u16, 2, 3, 4, 5, 6];
    let mut dst = [9u16; 6];
    let mut rejected = |src: &[u16], len: usize, shape: &[usize], axes: &[usize]| {
        let error = permute_into(src, &mut dst[..len], shape, axes).unwrap_err();
        assert_eq!(dst, [9; 6]);
        error
    };
    let length = |got| Reason::Length { shape: vec![3, 2], expected: 6, got }.into();
    assert_eq!(rejected(&src[..5], 6, &[3, 2], &[1, 0]), length(5));
    assert_eq!(rejected(&src, 4, &[3, 2], &[1, 0]), length(4));
    assert_eq!(rejected(&src, 6, &[3, 2], &[1, 1]).kind(), ErrorKind::Shape);
    assert_eq!(rejected(&src, 6, &[3, 2, 1], &[1, 0]).kind(), ErrorKind::Shape);
    let huge = [usize::MAX, 3];
    assert_eq!(rejected(&src, 6, &huge, &[1, 0]), Reason::Overflow { shape: huge.to_vec() }.into());
    // A length error has the shape before the split of the axes.
    let split = |src: &[u16], dst: &mut [u16]| {
        rearrange_into(src, dst, &[3, 2], "(a b) c -> c b a", &[("a", 3)])
    };
    assert_eq!(split(&src, &mut dst[..5]), Err(length(5)));
    assert_eq!(split(&src[..5], &mut dst), Err(length(5)));
    let pattern = rearrange_into(&src, &mut dst, &[3, 2], "a b -> a", &[]);
    assert_eq!(pattern.unwrap_err().kind(), ErrorKind::Pattern);
    let short = bytes::permute_into(&[0; 12], &mut [0; 11], &[3, 2], &[1, 0], 2);
    assert_eq!(short, Err(RunError::Length { expected: 12, got: 11 }.into()));
    let short = bytes::permute_into(&[0; 11], &mut [0; 12], &[3, 2], &[1, 0], 2);
    assert_eq!(short, Err(RunError::Length { expected: 12, got: 11 }.into()));
    assert_eq!(dst, [9; 6]);
    // Zero-sized elements and empty arrays are accepted.
    permute_into(&[(); 6], &mut [(); 6], &[3, 2], &[1, 0]).unwrap();
    assert_eq!(permute_into(&[(); 6], &mut [(); 5], &[3, 2], &[1, 0]).unwrap_err(), length(5));
    permute_into::<u8>(&[], &mut [], &[0, 1 << 40, 7], &[2, 0, 1]).unwrap();
    assert_eq!(
        rearrange_into(&[(); 6], &mut [(); 6], &[6], "(a b) -> b a", &[("a", 2)]),
        Ok(vec![3, 2])
    );
}

#[test]
fn run_is_correct_for_all_small_shapes() {
    for rows in 0..=largest_side() {
        for cols in 0..=largest_side() {
            check_every_size(1 + (rows + cols) % 3, rows, cols, 1);
        }
    }
}

#[test]
fn run_is_correct_when_threads_share_the_work() {
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
fn run_keeps_result_when_lengths_differ() {
    let src: Vec<u32> = (0..6).collect();
    for (got, dst_len, src_len) in [(5, 5, 6), (5, 6, 5), (0, 0, 6), (7, 7, 6)] {
        let mut dst = vec![9u32; dst_len];
        let src: Vec<u32> = src.iter().copied().cycle().take(src_len).collect();
        let result = transpose_into(&src, &mut dst, 2, 3);
        assert_eq!(result, Err(Reason::Length { shape: vec![2, 3], expected: 6, got }.into()));
        let planned = Transpose::new::<u32>(2, 3).out_of_place().plan().unwrap();
        assert_eq!(planned.run(&src, &mut dst), result);
        assert!(dst.iter().all(|&x| x == 9));
    }
    let result = transpose_into(&[0; 2], &mut [0u8; 2], usize::MAX, 3);
    assert_eq!(result, Err(Reason::Overflow { shape: vec![usize::MAX, 3] }.into()));
    transpose_into(&[(); 6], &mut [(); 6], 2, 3).unwrap();
    transpose_into::<u8>(&[], &mut [], 0, usize::MAX).unwrap();
}

#[test]
fn run_fails_when_plan_is_for_other_placement() {
    let into = Transpose::new::<u16>(2, 3).out_of_place().plan().unwrap();
    let in_place = Transpose::new::<u16>(2, 3).plan().unwrap();
    let [of_into, of_in_place] = [into.plan().clone(), in_place.plan().clone()];
    let (mut dst, src) = ([0u16; 6], [1u16, 2, 3, 4, 5, 6]);
    let flaw =
        |out_of_place| Some(RunError::Plan(InvalidPlan::WrongDestination { out_of_place }).into());
    assert_eq!(Transposer::<InPlace>::new(of_into.clone(), 1).err(), flaw(true));
    let error = Transposer::<OutOfPlace>::new(of_in_place.clone(), 1).err();
    assert_eq!(error, flaw(false));
    let expected = "the plan cannot run: the plan is in-place, the run is out-of-place";
    assert_eq!(error.unwrap().to_string(), expected);
    let [into_bytes, in_place_bytes] =
        [of_into, of_in_place].map(|plan| Transposer::<Dynamic>::new(plan, 1).unwrap());
    assert_eq!(into_bytes.run(&mut [0; 12], RunOptions::new()).err(), flaw(true));
    assert_eq!(in_place_bytes.run_into(&[0; 12], &mut [0; 12]).err(), flaw(false));
    let wider = into.run(&[0; 6], &mut [0u32; 6]);
    assert_eq!(wider, Err(Reason::ElementSize { expected: 2, got: 4 }.into()));
    let short = into.run(&RawElements(&[0; 11]), &mut RawElements(&mut [0; 12]));
    assert_eq!(short, Err(RunError::Length { expected: 12, got: 11 }.into()));
    assert_eq!(dst, [0; 6]);
    // A plan runs from a vector into a slice, and on raw bytes.
    into.run(&src.to_vec(), &mut dst[..]).unwrap();
    assert_eq!(dst, [1, 4, 2, 5, 3, 6]);
    let bytes: Vec<u8> = src.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let mut transposed = vec![0; 12];
    into.run(&RawElements(&bytes), &mut RawElements(&mut transposed)).unwrap();
    assert_eq!(transposed, dst.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>());
}

#[test]
fn transpose_into_copies_single_rows_and_columns() {
    for (rows, cols) in [(1, 1000), (1000, 1), (1, 1), (0, 7), (1, 1_000_003), (2_000_001, 1)] {
        let src: Vec<u32> = (7..).take(rows * cols).collect();
        let mut dst = vec![0; src.len()];
        transpose_into(&src, &mut dst, rows, cols).unwrap();
        assert_eq!(dst, src, "{rows}x{cols}");
        dst.fill(0);
        let planned = Transpose::new::<u32>(rows, cols).threads(3).out_of_place().plan().unwrap();
        planned.run(&src, &mut dst).unwrap();
        assert_eq!(dst, src, "{planned}");
    }
}

#[test]
fn plans_for_every_device_run_on_the_host() {
    let chips = GpuDevice::presets().into_iter().map(Planner::new);
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
                // By default not all sizes of the large matrix.
                if largest_side() <= 20 && problem.bytes() > 2 << 20 {
                    continue;
                }
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

#[test]
fn tuning_records_out_of_place_plans() {
    let folder = std::env::temp_dir().join(format!("turntile-into-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("wisdom.json");
    let transpose = Transpose::new::<u32>(300, 200).threads(1).out_of_place().wisdom(&file);
    let tiles = transpose.clone().tiles(TileRule::Exhaustive);
    let measured = tiles.tune(std::time::Duration::from_millis(20)).unwrap();
    assert!(measured.iter().all(|m| m.plan.problem.is_out_of_place()));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("300x200 w4 out of place") && text.contains("out-of-place"), "{text}");
    let planned = transpose.plan().unwrap();
    assert_eq!(planned.plan().phases, measured[0].plan.phases);
    assert_eq!(planned.rejected_wisdom(), None);
    // The same holds for a single row, which is copied, and for axes that are not a matrix
    // transposition.
    let row = Transpose::new::<u32>(1, 70_000);
    let axes = Transpose::permute::<u32>(&[30, 20, 7], &[2, 1, 0]);
    for transpose in [row, axes].map(|transpose| transpose.threads(1).out_of_place().wisdom(&file))
    {
        let measured = transpose.tune(std::time::Duration::from_millis(5)).unwrap();
        let planned = transpose.plan().unwrap();
        assert_eq!(planned.rejected_wisdom(), None);
        assert_eq!(planned.plan().phases, measured[0].plan.phases);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if largest_side() > 20 { 256 } else { 24 }))]

    #[test]
    fn run_is_correct_for_any_shape(batch in 1usize..4, rows in 0usize..400, cols in 0usize..400, threads in 1usize..5) {
        check::<2>(batch, rows, cols, threads);
        check::<4>(batch, rows, cols, threads);
        check::<8>(batch, rows, cols, threads);
    }

    #[test]
    fn run_is_correct_when_one_side_is_short(short in 1usize..70, long in 1usize..20_000, threads in 1usize..5) {
        check::<4>(1, long, short, threads);
        check::<1>(1, short, long, threads);
    }
}
