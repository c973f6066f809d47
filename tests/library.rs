//! The calls people make, and everything that can be wrong with one.

use proptest::prelude::*;
use std::time::Duration;
use turntile::plan::{Infeasible, Limits, PlanError, Planner, Problem, ProblemError};
use turntile::{Effort, Error, Planned, RunError, TileRule, Transpose, transpose_in_place};

fn naive<T: Clone>(data: &[T], rows: usize, cols: usize) -> Vec<T> {
    (0..cols).flat_map(|j| (0..rows).map(move |i| data[i * cols + j].clone())).collect()
}

fn check<T: Clone + PartialEq + std::fmt::Debug>(data: Vec<T>, rows: usize, cols: usize) {
    let want = naive(&data, rows, cols);
    let mut got = data;
    transpose_in_place(&mut got, rows, cols).unwrap();
    assert!(got == want, "{rows} x {cols} of {}", std::any::type_name::<T>());
}

#[test]
fn elements_of_any_type() {
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
fn sides_of_zero_and_one() {
    for (rows, cols) in [(0, 0), (0, 7), (7, 0), (1, 1), (1, 7), (7, 1)] {
        let before: Vec<u32> = (0..(rows * cols) as u32).collect();
        let mut data = before.clone();
        transpose_in_place(&mut data, rows, cols).unwrap();
        assert_eq!(data, before);
        let planned = Transpose::new(rows, cols).plan::<u32>().unwrap();
        assert_eq!((planned.plan().route, planned.workspace_bytes()), ("nothing", 0));
        planned.run(&mut data).unwrap();
        assert_eq!(data, before);
    }
}

#[test]
fn wrong_calls_are_typed_errors_and_leave_the_data() {
    let before: Vec<u32> = (0..12).collect();
    let mut data = before.clone();
    assert_eq!(
        transpose_in_place(&mut data, 5, 3),
        Err(Error::Length { batch: 1, rows: 5, cols: 3, expected: 15, got: 12 })
    );
    let (batch, rows, cols) = (1, usize::MAX, 2);
    assert_eq!(
        transpose_in_place(&mut data, rows, cols),
        Err(Error::Overflow { batch, rows, cols })
    );
    assert_eq!(
        Transpose::new(usize::MAX / 4, 2).plan::<u32>().unwrap_err(),
        Error::Problem(ProblemError::TooLarge { batch, rows: usize::MAX / 4, cols, elem_bytes: 4 })
    );
    assert_eq!(
        Transpose::new(2, 2).plan::<()>().unwrap_err(),
        Error::Problem(ProblemError::ZeroSizedElement)
    );
    let planned = Transpose::new(3, 4).plan::<u32>().unwrap();
    assert_eq!(
        planned.run(&mut data[..11]),
        Err(Error::Length { batch: 1, rows: 3, cols: 4, expected: 12, got: 11 })
    );
    assert_eq!(planned.run(&mut [0u64; 12]), Err(Error::ElementSize { expected: 4, got: 8 }));
    let other = Transpose::new(300, 200).plan::<u32>().unwrap();
    let (need, have) = (other.workspace_bytes(), planned.workspace_bytes());
    assert!(need > have, "{other}");
    assert_eq!(
        other.run_with(&mut vec![0u32; 60_000], &mut planned.workspace().unwrap()),
        Err(Error::Run(RunError::Workspace { need, have }))
    );
    assert_eq!(data, before);
}

#[test]
fn routes_are_chosen_by_name() {
    let mut data: Vec<u32> = (0..60 * 84).collect();
    let want = naive(&data, 60, 84);
    for route in ["three-stage", "panel", "square-tile", "aligned-slots", "one-stage"] {
        let planned = Transpose::new(60, 84).route(route).plan::<u32>().unwrap();
        assert_eq!(planned.plan().route, route);
        let mut data = data.clone();
        planned.run(&mut data).unwrap();
        assert_eq!(data, want, "{planned}");
    }
    let unknown = Transpose::new(60, 84).route("sideways").plan::<u32>().unwrap_err();
    assert!(unknown.to_string().contains("aligned-slots"), "{unknown}");
    let Error::Plan(PlanError::Infeasible { why, .. }) =
        Transpose::new(60, 84).route("square").plan::<u32>().unwrap_err()
    else {
        panic!("60 x 84 is not square")
    };
    assert_eq!(why, Infeasible::NotSquare { rows: 60, cols: 84 });
    let Error::Plan(PlanError::Infeasible { why: Infeasible::Workspace { need, cap }, .. }) =
        Transpose::new(59, 83).route("aligned-slots").workspace_cap(100).plan::<u32>().unwrap_err()
    else {
        panic!("100 bytes are too few")
    };
    assert!(need > 100 && cap == 100);
    transpose_in_place(&mut data, 60, 84).unwrap();
}

#[test]
fn plan_once_run_many() {
    let planned = Transpose::new(150, 70).batch(3).threads(2).plan::<u64>().unwrap();
    let mut workspace = planned.workspace().unwrap();
    for round in 0..4u64 {
        let mut data: Vec<u64> = (0..3 * 150 * 70).map(|k| k * 3 + round).collect();
        let want: Vec<u64> = data.chunks(150 * 70).flat_map(|m| naive(m, 150, 70)).collect();
        workspace.poison(round as u8);
        planned.run_with(&mut data, &mut workspace).unwrap();
        assert_eq!(data, want);
    }
}

#[test]
fn stages_are_reported_as_they_finish() {
    let planned = Transpose::new(60, 84).route("three-stage").plan::<u32>().unwrap();
    let mut data = vec![0u8; 60 * 84 * 4];
    let mut done = Vec::new();
    planned.run_bytes(&mut data, &mut planned.workspace().unwrap(), |k| done.push(k)).unwrap();
    assert_eq!(done, (1..=planned.plan().passes()).collect::<Vec<_>>());
}

#[test]
fn threads_are_those_of_the_pool() {
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let planned = Transpose::new(700, 500).plan::<u64>().unwrap();
            assert!(planned.plan().stages.iter().all(|stage| stage.launch.groups <= threads));
            let mut data: Vec<u64> = (0..350_000).collect();
            let want = naive(&data, 700, 500);
            planned.run(&mut data).unwrap();
            assert_eq!(data, want);
        });
    }
}

#[test]
fn a_plan_for_a_gpu_runs_on_the_host() {
    let problem = Problem::new(720, 180, 4).unwrap();
    let plan =
        Planner::new(Limits::k20()).with_route("three-stage").unwrap().plan(&problem).unwrap();
    let mut data: Vec<u32> = (0..720 * 180).collect();
    let want = naive(&data, 720, 180);
    Planned::new(plan, 2).unwrap().run(&mut data).unwrap();
    assert_eq!(data, want);
}

/// Whatever a launch says, nothing is read or written outside the data and the workspace.
#[test]
fn plans_put_together_by_hand_are_safe() {
    let problem = Problem::new(60, 84, 4).unwrap();
    let want = naive(&(0..60 * 84).collect::<Vec<u32>>(), 60, 84);
    for limits in [Limits::host(2), Limits::k20()] {
        for plan in Planner::new(limits).survey(&problem).candidates {
            for (number, launch) in [(0, 0), (1, 1), (usize::MAX, 1 << 62)] {
                let mut plan = plan.clone();
                for stage in &mut plan.stages {
                    stage.launch.groups = number;
                    stage.launch.threads = number;
                    stage.launch.on_chip_bytes = launch;
                    stage.launch.flag_words = launch;
                    stage.launch.kept_bytes = launch;
                }
                let planned = Planned::new(plan, number).unwrap();
                let mut data: Vec<u32> = (0..60 * 84).collect();
                match planned.run(&mut data) {
                    Ok(()) => assert_eq!(data, want, "{planned}"),
                    Err(error) => {
                        assert!(matches!(error, Error::Run(RunError::OutOfMemory { .. })));
                        assert_eq!(data, (0..60 * 84).collect::<Vec<u32>>());
                    }
                }
            }
        }
    }
    let mut plan = Transpose::new(60, 84).plan::<u32>().unwrap().plan().clone();
    plan.problem = Problem::new(61, 84, 4).unwrap();
    assert!(matches!(Planned::new(plan, 1), Err(Error::Run(RunError::Plan(_)))));
}

#[test]
fn absurd_wishes_are_served() {
    for threads in [0, usize::MAX] {
        let planned = Transpose::new(30, 20).threads(threads).plan::<u32>().unwrap();
        let mut data: Vec<u32> = (0..600).collect();
        let want = naive(&data, 30, 20);
        planned.run(&mut data).unwrap();
        assert_eq!(data, want);
    }
    let side = 1 << 31;
    for limits in turntile::plan::limits::presets() {
        for problem in [
            Problem::new(side, side, 1).unwrap(),
            Problem::new(2, (1 << 61) - 1, 1).unwrap(),
            Problem::with_batch(1 << 60, 2, 3, 1).unwrap(),
            Problem::with_batch(0, side, side, 1).unwrap(),
        ] {
            for problem in [problem, problem.with_cap(0), problem.with_cap(usize::MAX)] {
                let plan = Planner::new(limits.clone()).plan(&problem).unwrap();
                assert_eq!(plan.check(), Ok(()), "{plan:#}");
            }
        }
    }
}

#[test]
fn without_a_gpu_there_is_a_typed_error() {
    use turntile::gpu::{CudaError, Gpu};
    match Gpu::current() {
        #[cfg(not(feature = "cuda"))]
        answer => assert_eq!(answer.unwrap_err(), CudaError::NoBackend),
        // No device, or no context that was made current.
        #[cfg(feature = "cuda")]
        answer => assert!(matches!(answer, Err(CudaError::Driver { .. })), "{answer:?}"),
    }
}

#[test]
fn tuning_measures_remembers_and_is_used() {
    let budget = Duration::from_millis(50);
    let folder = std::env::temp_dir().join(format!("turntile-library-{}", std::process::id()));
    let file = folder.join("wisdom.json");
    let _ = std::fs::remove_dir_all(&folder);
    let transpose = Transpose::new(240, 180).threads(1).wisdom(&file);
    let tuned = transpose.clone().tiles(TileRule::Exhaustive);
    let measured = tuned.tune_bytes(4, budget).unwrap();
    assert!(measured.len() > 1 && measured.is_sorted_by_key(|m| m.time));
    let planned = transpose.plan::<u32>().unwrap();
    // A plan from the file does not say which routes were declined.
    let (used, winner) = (planned.plan(), &measured[0].plan);
    assert_eq!((used.route, &used.stages), (winner.route, &winner.stages), "not the best estimate");
    assert_eq!(planned.refused_wisdom(), None);
    let mut data: Vec<u32> = (0..240 * 180).collect();
    let want = naive(&data, 240, 180);
    planned.run(&mut data).unwrap();
    assert_eq!(data, want);
    // Measuring while planning does the same, and another library's entry is refused and replaced.
    let stale = std::fs::read_to_string(&file).unwrap().replace("turntile 0", "turntile 99");
    std::fs::write(&file, stale).unwrap();
    let again = transpose.effort(Effort::Measure(budget)).plan::<u32>().unwrap();
    assert!(again.refused_wisdom().unwrap().to_string().contains("turntile 99"));
    std::fs::write(&file, "not wisdom").unwrap();
    let damaged = Transpose::new(240, 180).wisdom(&file).plan::<u32>().unwrap_err();
    assert!(matches!(damaged, Error::Wisdom(_)), "{damaged}");
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    #[test]
    fn twice_is_the_identity(rows in 1usize..300, cols in 1usize..300, cap in 0usize..50_000) {
        let before: Vec<u32> = (0..(rows * cols) as u32).collect();
        let mut data = before.clone();
        Transpose::new(rows, cols).workspace_cap(cap).plan::<u32>().unwrap().run(&mut data).unwrap();
        prop_assert_eq!(&data, &naive(&before, rows, cols));
        transpose_in_place(&mut data, cols, rows).unwrap();
        prop_assert_eq!(data, before);
    }
}

#[test]
fn near_square_matrices_use_a_vectors_spare_capacity() {
    let (rows, cols) = (50, 43);
    let matrix: Vec<String> = (0..rows * cols).map(|k| k.to_string()).collect();
    let want = naive(&matrix, rows, cols);
    let transpose = Transpose::new(rows, cols).route("padded-square");
    let error = transpose.plan::<String>().unwrap_err().to_string();
    assert!(error.contains("needs room for 2500 elements"), "{error}");
    let planned = transpose.room(2500).plan::<String>().unwrap();
    let mut workspace = planned.workspace().unwrap();

    let mut tight = matrix.clone();
    tight.shrink_to_fit();
    let error = planned.run_vec(&mut tight, &mut workspace);
    let (need, have) = (planned.plan().room_bytes(), size_of_val(tight.as_slice()));
    assert_eq!(error, Err(Error::Run(RunError::Room { need, have })));
    assert_eq!(planned.run(&mut tight), Err(Error::Run(RunError::Room { need, have })));
    assert!(tight == matrix);

    let mut roomy = matrix;
    roomy.reserve_exact(2500 - roomy.len());
    let (start, capacity) = (roomy.as_ptr(), roomy.capacity());
    planned.run_vec(&mut roomy, &mut workspace).unwrap();
    assert!(roomy == want);
    assert_eq!((roomy.as_ptr(), roomy.capacity()), (start, capacity));
    // Any plan runs on a vector.
    let back = Transpose::new(cols, rows).plan::<String>().unwrap();
    back.run_vec(&mut roomy, &mut back.workspace().unwrap()).unwrap();
    assert_eq!(roomy[1], "1");
}
