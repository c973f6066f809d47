//! Checks of plans, run on the host, against the reference transposition.

pub mod oracle;

use turntile::mode::OutOfPlace;
use turntile::plan::{CpuDevice, Plan, Problem};
use turntile::{RawElements, Transposer};
use turntile_cpu::{Executor, Workspace};
use turntile_plan::Device;

/// Runs `plan` on the host on numbered elements, with exactly the required workspace, filled with a
/// byte pattern, and compares every byte of the result with the reference.
pub fn check(plan: Plan, threads: usize) {
    check_all([plan], threads);
}

/// Checks plans of the same problem like [`check`], computing the reference once.
pub fn check_all(plans: impl IntoIterator<Item = Plan>, threads: usize) {
    let mut plans = plans.into_iter().peekable();
    let Some(Plan { problem, .. }) = plans.peek() else { return };
    let data = oracle::numbered(problem.len(), problem.itemsize());
    let order: Vec<usize> = problem.order().collect();
    let want = oracle::permuted(&data, problem.extents(), &order, problem.itemsize());
    plans.for_each(|plan| check_against(plan, threads, &want));
}

/// Checks `plan` against the expected result `want`.
pub fn check_against(plan: Plan, threads: usize, want: &[u8]) {
    let problem = plan.problem.clone();
    let mut data = oracle::numbered(problem.len(), problem.itemsize());
    if problem.is_out_of_place() {
        return check_into(plan, threads, &data, want);
    }
    let executor = Executor::new(plan, threads).unwrap();
    let (need, stated) = (executor.workspace_bytes(), executor.plan().workspace_bytes);
    let host = CpuDevice::new(1);
    let is_bounded = executor.plan().device != host.name() || need <= stated;
    assert!(is_bounded, "needs {need} bytes, the plan states {stated}: {:#}", executor.plan());
    let mut workspace = Workspace::new(need).unwrap();
    workspace.poison(0x5A);
    executor.run_bytes(&mut data, &mut workspace).unwrap();
    if data != want {
        report(&problem, &data, want, executor.plan());
    }
}

/// Checks an out-of-place plan against the expected result `want`.
fn check_into(plan: Plan, threads: usize, from: &[u8], want: &[u8]) {
    let problem = plan.problem.clone();
    let planned = Transposer::<OutOfPlace>::new(plan, threads).unwrap();
    assert_eq!(planned.workspace_bytes(), 0, "{planned:#}");
    let mut data = vec![0x5A; from.len()];
    planned.run(&RawElements(from), &mut RawElements(&mut data)).unwrap();
    if data != want {
        report(&problem, &data, want, planned.plan());
    }
}

fn report(problem: &Problem, got: &[u8], want: &[u8], plan: &Plan) -> ! {
    let e = problem.itemsize();
    let wrong = got.chunks(e).zip(want.chunks(e)).filter(|(got, want)| got != want).count();
    let (at, (got, want)) = got
        .chunks(e)
        .zip(want.chunks(e))
        .enumerate()
        .find(|(_, (got, want))| got != want)
        .expect("the buffers differ");
    panic!(
        "{wrong} of {} elements wrong, the first at {at}: {got:?} instead of {want:?}\n{plan:#}",
        problem.len()
    );
}
