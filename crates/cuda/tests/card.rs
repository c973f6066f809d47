//! Prepares and runs plans on a simulated card whose launches do nothing (`driver_library/card.c`).
//! Checks the calls to the driver, and the handling of calls that it rejects. Each case runs in a
//! separate process.
#![cfg(all(feature = "cuda", target_os = "linux"))]
#![allow(unsafe_code)]

use std::ptr;

use turntile_cuda::launch::WorkspacePart;
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_cuda::{
    Buffers, CudaError, Gpu, LowerError, Prepared, ScalarKind, Scaling, Stopwatch, Work,
};
use turntile_perm::{Elementary, RowSlide};
use turntile_plan::{Planner, Problem};

use crate::children::runs_on;
use crate::driver_function::{capture, driver_function};

fn runs(case: &str, options: &[&str]) {
    runs_on("card", case, "card.c", options);
}

/// Returns the buffers of a run, with the workspace after the data.
fn memory(prepared: &Prepared) -> Buffers {
    let (buffers, end) = prepared.work().laid_out(1 << 20);
    let workspace = Some((end.next_multiple_of(256), prepared.workspace_bytes()));
    Buffers { workspace, ..buffers }
}

fn queue(prepared: &Prepared) -> Result<(), CudaError> {
    // SAFETY: no launch of this card accesses memory, and its streams are only numbers.
    unsafe { prepared.run_raw(ptr::null_mut(), memory(prepared)) }
}

fn queue_scaled(
    prepared: &Prepared,
    number: ScalarKind,
    scaling: Scaling,
) -> Result<(), CudaError> {
    // SAFETY: no launch of this card accesses memory, and its streams are only numbers.
    unsafe { prepared.run_scaled_raw(ptr::null_mut(), memory(prepared), number, scaling) }
}

const TWICE: Scaling = Scaling::By { alpha: Some([2.0, 0.0]), conjugated: false };

/// Prepares a matrix that takes several launches.
fn prepared() -> Prepared {
    let gpu = Gpu::primary(0).unwrap();
    let problem = Problem::new(4096, 6000, 4).unwrap();
    let plan = Planner::new(gpu.device().clone()).plan(&problem).unwrap();
    gpu.prepare(&plan).unwrap()
}

/// Plans that share a kernel never lower each other's shared memory limit, in any order of
/// preparation by threads.
#[test]
fn shared_memory_once_allowed_stays_allowed() {
    runs("allowed", &["-DSTALE", "-DFIXED=1024"]);
}

#[test]
#[ignore = "run by `shared_memory_once_allowed_stays_allowed`"]
fn child_allowed() {
    let gpu = Gpu::primary(0).unwrap();
    let of = |rows| {
        let shape = Elementary { batch: 100, rows, mid: 1, cols: 100, unit: 1 };
        let way = Strategy::Barrier(Scope::Block);
        let work = Work::of_stage(&shape.into(), way, 4, 16, gpu.device().limits()).unwrap();
        (work.calls()[0].kernel(), work.calls()[0].shared_bytes, gpu.prepare_work(work).unwrap())
    };
    let (large, small) = (of(499), of(149));
    assert_eq!(large.0, small.0, "one kernel");
    assert!(large.1 > small.1 && small.1 > 49152, "both need to be allowed");
    assert_eq!([queue(&large.2), queue(&small.2)], [Ok(()), Ok(())]);
}

/// All flags are cleared before a launch, and no other bytes.
#[test]
fn flags_are_cleared_from_the_first_to_the_last() {
    runs("cleared", &[]);
}

#[test]
#[ignore = "run by `flags_are_cleared_from_the_first_to_the_last`"]
fn child_cleared() {
    let gpu = Gpu::primary(0).unwrap();
    let rows = RowSlide::new(4096, 1000, 1000, 1024).unwrap().into();
    let moved = Elementary { batch: 1, rows: 300, mid: 1, cols: 200, unit: 16 }.into();
    for (shape, way) in [(rows, Strategy::Blocks { block: 1 << 14 }), (moved, Strategy::Moves)] {
        let work = Work::of_stage(&shape, way, 4, 16, gpu.device().limits()).unwrap();
        let WorkspacePart::Flags(flags) = work.calls()[0].workspace else { panic!("{work:?}") };
        let prepared = gpu.prepare_work(work).unwrap();
        let workspace = memory(&prepared).workspace.unwrap();
        assert_eq!(queue(&prepared), Ok(()));
        let (mut bytes, mut address) = (0u64, 0u64);
        // SAFETY: the type is the function's signature in `card.c`.
        unsafe {
            driver_function::<unsafe extern "C" fn(*mut u64, *mut u64)>(c"last_cleared")(
                &mut bytes,
                &mut address,
            );
        }
        assert_eq!((address, bytes), (workspace.0, flags as u64), "{way:?}");
    }
}

/// Memory with less alignment than the first plan needs goes to the second plan, and is rejected if
/// that needs more too.
#[test]
fn less_aligned_memory_is_for_the_plan_that_needs_no_more() {
    runs("less_aligned", &[]);
}

#[test]
#[ignore = "run by `less_aligned_memory_is_for_the_plan_that_needs_no_more`"]
fn child_less_aligned() {
    let gpu = Gpu::primary(0).unwrap();
    let plan = |alignment| {
        let problem = Problem::new(4096, 6000, 4).unwrap().with_alignment(alignment);
        Planner::new(gpu.device().clone()).plan(&problem).unwrap()
    };
    let prepared = gpu.prepare(&plan(16)).unwrap().or(&plan(4)).unwrap();
    let queue_at = |more: u64| {
        let Buffers { data, workspace, .. } = memory(&prepared);
        let (data, workspace) = ((data.0 + more, data.1), workspace.map(|(at, n)| (at + 256, n)));
        let buffers = Buffers { data, source: None, workspace };
        // SAFETY: no launch of this card accesses memory.
        unsafe { prepared.run_raw(ptr::null_mut(), buffers) }
    };
    assert_eq!([0, 4, 8].map(queue_at), [Ok(()), Ok(()), Ok(())]);
    let refused = queue_at(2);
    assert!(matches!(refused, Err(CudaError::Misaligned { need: 4, .. })), "{refused:?}");
}

/// A workspace that was allocated for the first plan grows for a second one that needs more.
#[test]
fn own_workspace_is_enough_for_every_plan() {
    runs("own_workspace", &[]);
}

#[test]
#[ignore = "run by `own_workspace_is_enough_for_every_plan`"]
fn child_own_workspace() {
    let gpu = Gpu::primary(0).unwrap();
    let planner = Planner::new(gpu.device().clone());
    let candidates = |alignment| {
        let problem = Problem::new(4096, 6000, 4).unwrap().with_alignment(alignment);
        planner.candidates(&problem).candidates.into_iter()
    };
    let small = candidates(16).min_by_key(|plan| plan.workspace_bytes).unwrap();
    let large = candidates(4).max_by_key(|plan| plan.workspace_bytes).unwrap();
    assert!(small.workspace_bytes < large.workspace_bytes, "{small}, {large}");
    let prepared = gpu.prepare(&small).unwrap().with_own_workspace().unwrap().or(&large).unwrap();
    let Buffers { data, .. } = memory(&prepared);
    for address in [data.0, data.0 + 4] {
        let buffers = Buffers { data: (address, data.1), source: None, workspace: None };
        // SAFETY: no launch of this card accesses memory.
        assert_eq!(unsafe { prepared.run_raw(ptr::null_mut(), buffers) }, Ok(()));
    }
    // The card ends the process if memory that queued work may use is freed.
    type Synchronize = unsafe extern "C" fn(*mut std::ffi::c_void) -> i32;
    let synchronize: Synchronize = driver_function(c"cuStreamSynchronize");
    // SAFETY: the null stream of this card is a plain number.
    assert_eq!(unsafe { synchronize(ptr::null_mut()) }, 0);
}

/// A copy from or to a slice is complete when the call returns, and stays within the memory.
#[test]
fn copies_to_and_from_a_host_are_waited_for() {
    runs("copies", &[]);
}

#[test]
#[ignore = "run by `copies_to_and_from_a_host_are_waited_for`"]
fn child_copies() {
    let mut stopwatch = Stopwatch::new(&Gpu::primary(0).unwrap(), 100).unwrap();
    let (mut written, mut read) = ([7; 10], [0; 10]);
    assert_eq!(stopwatch.put(90, &written), Ok(()));
    written.fill(8);
    assert_eq!(stopwatch.take(90, &mut read), Ok(()));
    assert_eq!((written, read), ([8; 10], [7; 10]));
    let short = Err(CudaError::Length { what: "data", need: 101, have: 100 });
    assert_eq!(stopwatch.put(91, &written), short);
    assert_eq!((stopwatch.take(91, &mut read), read), (short, [7; 10]));
}

/// An error before the first launch leaves the data unchanged. A later error reports that the data
/// is incomplete.
#[test]
fn a_launch_refused_after_others_leaves_the_data_incomplete() {
    runs("refused_first", &["-DREFUSED=1"]);
    runs("refused_second", &["-DREFUSED=2"]);
}

#[test]
#[ignore = "run by `a_launch_refused_after_others_leaves_the_data_incomplete`"]
fn child_refused_first() {
    let error = queue(&prepared()).unwrap_err();
    assert!(matches!(error, CudaError::Launch { code: 701, .. }), "{error:?}");
}

#[test]
#[ignore = "run by `a_launch_refused_after_others_leaves_the_data_incomplete`"]
fn child_refused_second() {
    let prepared = prepared();
    let launches = prepared.work().calls().len();
    assert!(launches > 1);
    let error = queue(&prepared).unwrap_err();
    let kernel = prepared.work().calls()[1].kernel();
    let CudaError::Partial { launch: 2, launches: all, why } = &error else { panic!("{error:?}") };
    assert_eq!(*all, launches);
    assert!(matches!(&**why, CudaError::Launch { kernel: of, code: 701, .. } if *of == kernel));
    let text = error.to_string();
    assert!(text.starts_with("the data are incomplete: launch 2 of "), "{text}");
}

/// The scaling pass is one of the run's launches.
#[test]
fn a_refused_pass_that_scales_leaves_the_data_incomplete() {
    let launches = 3;
    runs("refused_scale", &[&format!("-DREFUSED={launches}")]);
}

#[test]
#[ignore = "run by `a_refused_pass_that_scales_leaves_the_data_incomplete`"]
fn child_refused_scale() {
    let prepared = prepared().with_scaling().unwrap();
    assert_eq!(prepared.work().calls().len(), 2);
    let error = queue_scaled(&prepared, ScalarKind::F32, TWICE).unwrap_err();
    let CudaError::Partial { launch: 3, launches: 3, why } = &error else { panic!("{error:?}") };
    assert!(matches!(&**why, CudaError::Launch { kernel, .. } if kernel == "scale.w4/scale_f32"));
}

/// A run loads, queries and allocates nothing, so it can be captured in a graph.
#[test]
fn runs_are_captured_scaled_or_not() {
    runs("captured", &[]);
}

#[test]
#[ignore = "run by `runs_are_captured_scaled_or_not`"]
fn child_captured() {
    let gpu = Gpu::primary(0).unwrap();
    let planner = Planner::new(gpu.device().clone());
    let dense = |bytes| Problem::new(4096, 6000, bytes).unwrap();
    let numbers = ScalarKind::ALL.map(|number| (number, dense(number.bytes())));
    let square = Problem::new(4096, 4096, 4).unwrap();
    let equal = Problem::new(4096, 3000, 4).unwrap().with_leading(4096, 4096).unwrap();
    let unequal = Problem::new(4096, 3000, 4).unwrap().with_leading(3008, 4100).unwrap();
    let of_floats = [square, equal, unequal].map(|problem| (ScalarKind::F32, problem));
    for (number, problem) in numbers.into_iter().chain(of_floats) {
        let prepared = gpu.prepare(&planner.plan(&problem).unwrap()).unwrap();
        let not = queue_scaled(&prepared, number, Scaling::Zeros);
        assert!(matches!(not, Err(CudaError::NotPrepared { .. })), "{not:?}");
        let prepared = prepared.with_scaling().unwrap();
        capture(true);
        let ran = [Scaling::Zeros, TWICE].map(|by| queue_scaled(&prepared, number, by));
        let plain = queue(&prepared);
        capture(false);
        assert_eq!((ran, plain), ([Ok(()), Ok(())], Ok(())), "{problem}");
    }
}

/// Blocks that wait for each other fit the context's part of the device, or are rejected before
/// anything runs.
#[test]
fn a_context_with_a_part_of_the_device_gets_plans_for_it() {
    runs("part", &["-DUNITS=24"]);
    runs("affinity", &["-DUNITS=24", "-DAFFINITY=16"]);
    runs("whole", &[]);
}

fn units_of_plans() -> usize {
    let gpu = Gpu::primary(0).unwrap();
    let units = gpu.device().limits().units;
    let problems = [(2000, 1000), (7200, 1800), (3001, 3989), (8191, 9000), (9973, 10007)];
    for (rows, cols) in problems {
        let problem = Problem::new(rows, cols, 4).unwrap();
        let plans = Planner::new(gpu.device().clone()).candidates(&problem).candidates;
        assert!(!plans.is_empty());
        for plan in plans {
            let prepared = gpu.prepare(&plan).unwrap_or_else(|error| panic!("{plan}: {error}"));
            assert_eq!(queue(&prepared), Ok(()), "{plan}");
        }
    }
    // A plan made for the whole device.
    let grid = Elementary { batch: 1, rows: 7200, mid: 1, cols: 1800, unit: 1 };
    let limits = turntile_cuda::launch::DeviceLimits { units: 132, ..*gpu.device().limits() };
    let work =
        Work::of_stage(&grid.into(), Strategy::Barrier(Scope::Grid), 4, 16, &limits).unwrap();
    let need = work.calls()[0].groups as usize;
    let refused = gpu.prepare_work(work).map(drop);
    match units {
        132 => assert_eq!(refused, Ok(())),
        _ => assert!(
            matches!(
                refused,
                Err(CudaError::Infeasible { why: LowerError::Together { need: n, have }, .. })
                    if n == need && have == units
            ),
            "{refused:?}"
        ),
    }
    units
}

#[test]
#[ignore = "run by `a_context_with_a_part_of_the_device_gets_plans_for_it`"]
fn child_part() {
    assert_eq!(units_of_plans(), 24);
}

#[test]
#[ignore = "run by `a_context_with_a_part_of_the_device_gets_plans_for_it`"]
fn child_affinity() {
    assert_eq!(units_of_plans(), 16);
}

#[test]
#[ignore = "run by `a_context_with_a_part_of_the_device_gets_plans_for_it`"]
fn child_whole() {
    assert_eq!(units_of_plans(), 132);
}
