//! Tests of the main functions of the library, and of their errors.

use proptest::prelude::*;
use std::time::Duration;
use turntile::error::{Reason, RunError};
use turntile::layout::{PatternError, PatternFault};
use turntile::mode::InPlace;
use turntile::plan::{
    CpuDevice, GpuDevice, Infeasible, InvalidPlan, PlanError, Planner, Problem, ProblemError, Route,
};
use turntile::run::RunOptions;
use turntile::{
    ErrorKind, RawElements, Transpose, Transposer, bytes, rearrange, transpose_in_place,
};
use turntile_cpu::kernel_config::CpuKernelConfig;
use turntile_plan::{LaunchConfig, Method};

pub fn naive<T: Clone>(data: &[T], rows: usize, cols: usize) -> Vec<T> {
    (0..cols).flat_map(|j| (0..rows).map(move |i| data[i * cols + j].clone())).collect()
}

fn check<T: Clone + PartialEq + std::fmt::Debug>(data: Vec<T>, rows: usize, cols: usize) {
    let want = naive(&data, rows, cols);
    let mut got = data;
    transpose_in_place(&mut got, rows, cols).unwrap();
    assert!(got == want, "{rows} x {cols} of {}", std::any::type_name::<T>());
}

#[test]
fn transpose_in_place_moves_elements_of_any_type() {
    for (rows, cols) in [(3, 5), (64, 48), (123, 77), (1, 9), (200, 200), (1000, 3), (2, 999)] {
        let len = rows * cols;
        check((0..len as u32).collect::<Vec<_>>(), rows, cols);
        check((0..len).map(|k| k as u8).collect::<Vec<_>>(), rows, cols);
        check((0..len).map(|k| (k as u16, k as u64)).collect::<Vec<_>>(), rows, cols);
        check((0..len).map(|k| [k as u8; 3]).collect::<Vec<_>>(), rows, cols);
        check((0..len).map(|k| k.to_string()).collect::<Vec<_>>(), rows, cols);
        check((0..len).map(|k| Some(Box::new(k))).collect::<Vec<_>>(), rows, cols);
        check((0..len).map(|k| [k; 40]).collect::<Vec<_>>(), rows, cols);
        check(vec![(); len], rows, cols);
    }
}

#[test]
fn elements_are_dropped_once() {
    let counter = std::rc::Rc::new(());
    let mut data: Vec<_> = (0..97 * 89).map(|_| counter.clone()).collect();
    transpose_in_place(&mut data, 97, 89).unwrap();
    assert_eq!(std::rc::Rc::strong_count(&counter), 97 * 89 + 1);
    drop(data);
    assert_eq!(std::rc::Rc::strong_count(&counter), 1);
}

#[test]
fn transpose_in_place_keeps_data_when_a_side_is_zero_or_one() {
    for (rows, cols) in [(0, 0), (0, 7), (7, 0), (1, 1), (1, 7), (7, 1)] {
        let before: Vec<u32> = (0..(rows * cols) as u32).collect();
        let mut data = before.clone();
        transpose_in_place(&mut data, rows, cols).unwrap();
        assert_eq!(data, before);
        let planned = Transpose::new::<u32>(rows, cols).plan().unwrap();
        assert_eq!((planned.plan().route(), planned.workspace_bytes()), (Route::NOTHING, 0));
        planned.run(&mut data).unwrap();
        assert_eq!(data, before);
    }
}

#[test]
fn invalid_calls_return_errors_and_keep_data() {
    let before: Vec<u32> = (0..12).collect();
    let mut data = before.clone();
    assert_eq!(
        transpose_in_place(&mut data, 5, 3),
        Err(Reason::Length { shape: vec![5, 3], expected: 15, got: 12 }.into())
    );
    let (rows, cols) = (usize::MAX, 2);
    assert_eq!(
        transpose_in_place(&mut data, rows, cols),
        Err(Reason::Overflow { shape: vec![rows, cols] }.into())
    );
    assert_eq!(
        Transpose::new::<u32>(usize::MAX / 4, 2).plan().unwrap_err(),
        ProblemError::TooLarge { extents: vec![usize::MAX / 4, cols], elem_bytes: 4 }.into()
    );
    assert_eq!(
        Transpose::new::<()>(2, 2).plan().unwrap_err(),
        ProblemError::ZeroSizedElement.into()
    );
    for (wrong, what) in [
        (Transpose::new::<u32>(3, 4).threads(0), "threads"),
        (Transpose::new::<u32>(3, 4).batch(0), "batch"),
    ] {
        for error in [wrong.plan().unwrap_err(), wrong.tune(Duration::ZERO).unwrap_err()] {
            assert_eq!(error, Reason::Zero { what }.into());
        }
    }
    let planned = Transpose::new::<u32>(3, 4).plan().unwrap();
    assert_eq!(
        planned.run(&mut data[..11]),
        Err(Reason::Length { shape: vec![3, 4], expected: 12, got: 11 }.into())
    );
    assert_eq!(
        planned.run(&mut [0u64; 12]),
        Err(Reason::ElementSize { expected: 4, got: 8 }.into())
    );
    let other = Transpose::new::<u32>(300, 200).plan().unwrap();
    let (need, have) = (other.workspace_bytes(), planned.workspace_bytes());
    assert!(need > have, "{other}");
    assert_eq!(
        other.run_with(
            &mut vec![0u32; 60_000],
            RunOptions::new().workspace(&mut planned.workspace().unwrap())
        ),
        Err(RunError::Workspace { need, have }.into())
    );
    assert_eq!(data, before);
}

#[test]
fn route_is_used_when_requested() {
    for route in [
        Route::THREE_STAGE,
        Route::PANEL,
        Route::SQUARE_TILE,
        Route::ALIGNED_SLOTS,
        Route::ONE_STAGE,
    ] {
        let planned = Transpose::new::<u32>(60, 84).route(route).plan().unwrap();
        assert_eq!(planned.plan().route(), route);
    }
    let unknown = "sideways".parse::<Route>().unwrap_err();
    assert!(unknown.to_string().contains("aligned-slots"), "{unknown}");
    let error = Transpose::new::<u32>(60, 84).route(Route::SQUARE).plan().unwrap_err();
    let Reason::Plan(PlanError::Infeasible { why, .. }) = error.reason() else {
        panic!("the square route must be infeasible for 60 x 84")
    };
    assert_eq!(*why, Infeasible::NotSquare { rows: 60, cols: 84 });
    let by_slots = Transpose::new::<u32>(59, 83).route(Route::ALIGNED_SLOTS);
    let error = by_slots.workspace_limit(100).plan().unwrap_err();
    let &Reason::Plan(PlanError::Infeasible { why: Infeasible::Workspace { need, cap }, .. }) =
        error.reason()
    else {
        panic!("100 bytes must not be enough")
    };
    assert!(need > 100 && cap == 100);
}

/// Checks elements that are pointers, have padding or are uninitialised. Under Miri, this includes
/// the provenance of pointers.
#[test]
fn elements_with_pointers_and_padding() {
    let mut boxes: Vec<Box<usize>> = (0..64).map(Box::new).collect();
    transpose_in_place(&mut boxes, 8, 8).unwrap();
    assert!(boxes.iter().enumerate().all(|(k, element)| **element == k % 8 * 8 + k / 8));
    let mut padded: Vec<(u8, u32)> = (0..64).map(|k| (k as u8, k)).collect();
    transpose_in_place(&mut padded, 8, 8).unwrap();
    assert_eq!((padded[1], padded[62]), ((8, 8), (55, 55)));
    let mut none = [std::mem::MaybeUninit::<u64>::uninit(); 64];
    transpose_in_place(&mut none, 8, 8).unwrap();
}

#[test]
fn plan_runs_many_times() {
    let planned = Transpose::new::<u64>(150, 70).batch(3).threads(2).plan().unwrap();
    let mut workspace = planned.workspace().unwrap();
    for round in 0..4u64 {
        let mut data: Vec<u64> = (0..3 * 150 * 70).map(|k| k * 3 + round).collect();
        let want: Vec<u64> = data.chunks(150 * 70).flat_map(|m| naive(m, 150, 70)).collect();
        workspace.poison(round as u8);
        planned.run_with(&mut data, RunOptions::new().workspace(&mut workspace)).unwrap();
        assert_eq!(data, want);
    }
}

#[test]
fn plan_runs_on_several_threads_at_once() {
    let planned = Transpose::new::<u32>(211, 307).threads(2).plan().unwrap();
    assert!(planned.workspace_bytes() > 0, "{planned}");
    let run = |first: u32| {
        let mut data: Vec<u32> = (first..).take(211 * 307).collect();
        let want = naive(&data, 211, 307);
        planned.run(&mut data).unwrap();
        assert!(data == want, "numbers from {first}");
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || (0..20).for_each(|k| run(thread * 100 + k)));
        }
    });
}

#[test]
fn progress_reports_each_stage() {
    let planned = Transpose::new::<u32>(60, 84).route(Route::THREE_STAGE).plan().unwrap();
    assert_eq!(planned.plan().passes(), 3);
    let mut data = vec![0u8; 60 * 84 * 4];
    let mut done = Vec::new();
    let mut record = |k| done.push(k);
    planned.run_with(&mut RawElements(&mut data), RunOptions::new().progress(&mut record)).unwrap();
    assert_eq!(done, [1, 2, 3]);
}

#[test]
fn data_are_transposed_when_progress_panics() {
    let planned = Transpose::new::<String>(60, 84).route(Route::THREE_STAGE).plan().unwrap();
    let mut data: Vec<String> = (0..60 * 84).map(|k| k.to_string()).collect();
    let want = naive(&data, 60, 84);
    let mut reported = Vec::new();
    let mut record = |stages| {
        reported.push(stages);
        assert!(stages < 2, "enough at {stages}");
    };
    let options = RunOptions::new().progress(&mut record);
    let run = || planned.run_with(&mut data, options);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "enough at 2");
    assert_eq!(reported, [1, 2]);
    assert!(data == want);
}

#[test]
fn plan_runs_on_every_kind_of_data() {
    let planned = Transpose::new::<u16>(2, 3).plan().unwrap();
    let want = [1u16, 4, 2, 5, 3, 6];
    let mut array = [1u16, 2, 3, 4, 5, 6];
    let mut vector = array.to_vec();
    let mut bytes: Vec<u8> = array.iter().flat_map(|x| x.to_ne_bytes()).collect();
    planned.run(&mut array).unwrap();
    planned.run(&mut vector).unwrap();
    let mut boxed: Box<[u16]> = (1..7).collect();
    planned.run(&mut boxed).unwrap();
    assert_eq!(*boxed, want);
    let into = Transpose::new::<u16>(3, 2).out_of_place().plan().unwrap();
    into.run(&boxed.clone(), &mut boxed).unwrap();
    assert_eq!(*boxed, [1, 2, 3, 4, 5, 6]);
    planned.run(&mut RawElements(&mut bytes)).unwrap();
    assert_eq!(array, want);
    assert_eq!(vector, want);
    assert_eq!(bytes, want.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>());
    let mut parts = [9u16, 1, 2, 3, 4, 5, 6, 9];
    planned.run(&mut parts[1..7]).unwrap();
    assert_eq!(parts, [9, 1, 4, 2, 5, 3, 6, 9]);
    for len in [0, 11, 13] {
        let result = planned.run(&mut RawElements(vec![0u8; len]));
        assert_eq!(result, Err(RunError::Length { expected: 12, got: len }.into()));
    }
    let sized = Transpose::new::<u8>(2, 2).itemsize(6).plan().unwrap();
    let mut triples = [[1u16, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]];
    sized.run(&mut triples).unwrap();
    assert_eq!(triples, [[1, 2, 3], [7, 8, 9], [4, 5, 6], [10, 11, 12]]);
}

#[test]
fn plan_uses_threads_of_current_pool() {
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let planned = Transpose::new::<u64>(700, 500).plan().unwrap();
            for stage in planned.plan().stages() {
                let config = stage.implementation.launch_config.get::<CpuKernelConfig>().unwrap();
                assert!((1..=threads).contains(&config.resources().threads), "{planned:#}");
            }
            let mut data: Vec<u64> = (0..350_000).collect();
            let want = naive(&data, 700, 500);
            planned.run(&mut data).unwrap();
            assert_eq!(data, want);
        });
    }
}

/// Checks that each plan with a modified field is rejected, or transposes correctly.
#[test]
fn modified_plans_are_safe() {
    let problem = Problem::new(60, 84, 4).unwrap();
    let want = naive(&(0..60 * 84).collect::<Vec<u32>>(), 60, 84);
    let flawed = |plan| {
        let error = Transposer::<InPlace>::new(plan, 2).err();
        error.is_some_and(|error| matches!(error.reason(), Reason::Run(RunError::Plan(_))))
    };
    for planner in [Planner::new(CpuDevice::new(2)), Planner::new(GpuDevice::h200())] {
        let candidates = planner.candidates(&problem).candidates;
        let configs: Vec<LaunchConfig> = candidates
            .iter()
            .flat_map(|plan| plan.stages().map(|stage| stage.implementation.launch_config.clone()))
            .collect();
        for (plan, number) in candidates.iter().zip([0, 1, 2, 1000, usize::MAX].iter().cycle()) {
            // A wrong `workspace_bytes` in a plan has no effect on the run.
            let mut modified = plan.clone();
            modified.workspace_bytes = *number;
            modified
                .phases
                .iter_mut()
                .flat_map(|phase| &mut phase.stages)
                .for_each(|stage| stage.implementation.workspace_bytes = *number);
            let mut data: Vec<u32> = (0..60 * 84).collect();
            Transposer::<InPlace>::new(modified, *number).unwrap().run(&mut data).unwrap();
            assert_eq!(data, want, "{plan}");
            for k in 0..plan.passes() {
                // Use the launch configuration of another stage or device.
                let (config, on_host) =
                    (&plan.phases[0].stages[k].implementation.launch_config, plan.device == "host");
                for other in configs.iter().filter(|&other| other != config) {
                    let mut swapped = plan.clone();
                    swapped.phases[0].stages[k].implementation.launch_config = other.clone();
                    let same = other.get::<CpuKernelConfig>().is_some_and(|other| {
                        let stage = &plan.phases[0].stages[k];
                        other.is_for(&stage.map, 4, stage.implementation.method)
                    });
                    if on_host && !same {
                        assert!(flawed(swapped), "{plan}: {other}");
                    } else {
                        let mut data: Vec<u32> = (0..60 * 84).collect();
                        Transposer::<InPlace>::new(swapped, 2).unwrap().run(&mut data).unwrap();
                        assert_eq!(data, want, "{plan}: {other}");
                    }
                }
                let mut padded = plan.clone();
                padded.phases[0].stages[k].implementation.method = Method::Rounds;
                assert!(flawed(padded), "{plan}");
            }
        }
    }
    let mut plan = Transpose::new::<u32>(60, 84).plan().unwrap().plan().clone();
    plan.problem = Problem::new(61, 84, 4).unwrap();
    let rejected = Transposer::<InPlace>::new(plan.clone(), 1).unwrap_err();
    let length = |flaw: &InvalidPlan| matches!(flaw, InvalidPlan::Length { number: 1, .. });
    assert!(matches!(rejected.reason(), Reason::Run(RunError::Plan(flaw)) if length(flaw)));
    // A problem with another element size may have the same total size.
    plan.problem = Problem::new(30, 84, 8).unwrap();
    assert!(flawed(plan));
}

#[test]
fn extreme_problems_are_planned() {
    let planned = Transpose::new::<u32>(30, 20).threads(usize::MAX).plan().unwrap();
    let mut data: Vec<u32> = (0..600).collect();
    let want = naive(&data, 30, 20);
    planned.run(&mut data).unwrap();
    assert_eq!(data, want);
    let side = 1 << 31;
    let planners =
        GpuDevice::presets().into_iter().map(Planner::new).chain([Planner::new(CpuDevice::new(2))]);
    for planner in planners {
        for problem in [
            Problem::new(side, side, 1).unwrap(),
            Problem::new(2, (1 << 61) - 1, 1).unwrap(),
            Problem::with_batch(1 << 60, 2, 3, 1).unwrap(),
            Problem::with_batch(0, side, side, 1).unwrap(),
        ] {
            for problem in [problem.clone(), problem.with_cap(0), problem.with_cap(usize::MAX)] {
                let plan = planner.plan(&problem).unwrap();
                assert_eq!(plan.check(), Ok(()), "{plan:#}");
            }
        }
    }
}

#[test]
fn gpu_returns_error_when_no_device_is_available() {
    use turntile::gpu::{CudaError, Gpu};
    let error = Gpu::current().unwrap_err();
    if cfg!(all(feature = "cuda", target_os = "linux")) {
        // This machine has no NVIDIA driver, or the thread has no current context.
        let expected = matches!(error, CudaError::NoDriver { .. } | CudaError::Driver { .. });
        assert!(expected, "{error:?}");
    } else {
        assert_eq!(error, CudaError::NoBackend);
    }
}

proptest! {
    #[test]
    fn transpose_is_correct_for_any_shape_and_cap(rows in 1usize..300, cols in 1usize..300, cap in 0usize..50_000) {
        let before: Vec<u32> = (0..(rows * cols) as u32).collect();
        let mut data = before.clone();
        Transpose::new::<u32>(rows, cols).workspace_limit(cap).plan().unwrap().run(&mut data).unwrap();
        prop_assert_eq!(data, naive(&before, rows, cols));
    }
}

#[test]
fn bytes_functions_match_reference_for_any_element_size() {
    for elem_bytes in [1, 3, 4, 16] {
        for (rows, cols) in [(0, 3), (1, 7), (5, 1), (12, 30), (130, 257)] {
            let len = rows * cols * elem_bytes;
            let before: Vec<u8> = (0..len).map(|k| (k * 131 + k / 251) as u8).collect();
            let mut want = before.clone();
            for (k, element) in before.chunks(elem_bytes).enumerate() {
                let to = (k % cols * rows + k / cols) * elem_bytes;
                want[to..to + elem_bytes].copy_from_slice(element);
            }
            let mut data = before.clone();
            bytes::transpose_in_place(&mut data, rows, cols, elem_bytes).unwrap();
            assert_eq!(data, want, "{rows} x {cols} of {elem_bytes}");
            let mut data = before.clone();
            bytes::permute_in_place(&mut data, &[rows, cols], &[1, 0], elem_bytes).unwrap();
            assert_eq!(data, want, "{rows} x {cols} of {elem_bytes}");
            let mut dst = vec![0; len];
            bytes::transpose_into(&before, &mut dst, rows, cols, elem_bytes).unwrap();
            assert_eq!(dst, want, "{rows} x {cols} of {elem_bytes}");
            let length = Err(RunError::Length { expected: len, got: len + 1 }.into());
            let mut long = vec![0; len + 1];
            assert_eq!(bytes::transpose_in_place(&mut long, rows, cols, elem_bytes), length);
            assert_eq!(
                bytes::permute_in_place(&mut long, &[rows, cols], &[1, 0], elem_bytes),
                length
            );
            assert_eq!(bytes::transpose_into(&before, &mut long, rows, cols, elem_bytes), length);
            assert_eq!(bytes::transpose_into(&long, &mut dst, rows, cols, elem_bytes), length);
            assert_eq!(dst, want, "`dst` is unchanged");
        }
    }
    let none = bytes::transpose_in_place(&mut [], 2, 3, 0);
    assert_eq!(none, Err(ProblemError::ZeroSizedElement.into()));
    let small = |rows, cols| bytes::is_small(&Problem::new(rows, cols, 4).unwrap());
    assert!(small(64, 64) && !small(64, 65));
}

/// Checks `rearrange` with elements that are not `Copy`.
#[test]
fn rearrange_matches_index_arithmetic() {
    let pattern = "b c (h p) (w q) -> b (h w) (p q c)";
    for (b, c, h, w, p, q) in [(2, 3, 2, 5, 4, 2), (3, 4, 20, 30, 8, 4), (2, 0, 3, 3, 2, 2)] {
        let shape = [b, c, h * p, w * q];
        let count = shape.iter().product();
        let before: Vec<Box<usize>> = (0..count).map(Box::new).collect();
        let mut want = Vec::new();
        for (b, h, w) in (0..b * h * w).map(|k| (k / (h * w), k / w % h, k % w)) {
            for (i, j, c) in (0..p * q * c).map(|k| (k / (q * c), k / c % q, k % c)) {
                let at = ((b * shape[1] + c) * shape[2] + h * p + i) * shape[3] + w * q + j;
                want.push(Box::new(at));
            }
        }
        let sizes = [("q", q), ("p", p)];
        let mut data = before.clone();
        let after = rearrange(&mut data, &shape, pattern, &sizes).unwrap();
        assert!(after == [b, h * w, p * q * c] && data == want, "{shape:?}");
        let mut data = before.clone();
        let planned = Transpose::rearrange::<Box<usize>>(&shape, pattern, &sizes).unwrap().plan();
        planned.unwrap().run(&mut data).unwrap();
        assert!(data == want, "{shape:?}");
    }
    assert_eq!(rearrange(&mut [(); 6], &[6], "(a b) -> b a", &[("a", 2)]), Ok(vec![3, 2]));

    let mut data = [1, 2, 3, 4, 5, 6];
    let mut rejected = |shape: &[usize], pattern, sizes: &[(&str, usize)]| {
        let error = rearrange(&mut data, shape, pattern, sizes).unwrap_err();
        assert_eq!(data, [1, 2, 3, 4, 5, 6]);
        error
    };
    let error = rejected(&[2, 3], "a b -> a", &[]);
    let Reason::Pattern(PatternError { pattern, fault }) = error.reason() else {
        panic!("another error")
    };
    assert!(pattern == "a b -> a" && matches!(fault, PatternFault::OneSided { .. }));
    let length = Reason::Length { shape: vec![2, 4], expected: 8, got: 6 }.into();
    assert_eq!(rejected(&[2, 4], "a (b c) -> c b a", &[("b", 2)]), length);
    let huge = rejected(&[1 << 40, 1 << 40, 0], "a b c -> (a b) c", &[]);
    assert!(matches!(huge.kind(), ErrorKind::Length { .. } | ErrorKind::TooLarge), "{huge:?}");
    let rejected = Transpose::rearrange::<u32>(&[2], "a -> a a", &[]);
    assert_eq!(rejected.unwrap_err().kind(), ErrorKind::Pattern);
}
