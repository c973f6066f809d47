//! Rejected calls and their errors, and runs inside a CUDA graph.

use std::ffi::c_void;

use cust::memory::CopyDestination;
use cust::sys;
use turntile_cuda::user_kernels::LaunchDims;
use turntile_cuda::{CudaError, Prepared, Stopwatch};
use turntile_perm::Elementary;
use turntile_plan::{Planner, Problem};

use crate::common::{Bench, in_place, memory};

pub fn expect(what: &str, right: bool) -> usize {
    println!("  {what}: {}", if right { "right" } else { "WRONG" });
    usize::from(!right)
}

/// Returns `true` if the result is the error with this name.
pub fn refused(answer: &Result<(), CudaError>, name: &str) -> bool {
    answer.as_ref().is_err_and(|error| format!("{error:?}").starts_with(name))
}

/// Checks typed errors that leave the data unchanged.
pub fn errors(bench: &mut Bench) -> usize {
    let problem = Problem::new(4096, 1000, 4).expect("fits");
    let planner = Planner::new(bench.gpu.device().clone());
    let plan = planner
        .candidates(&problem)
        .candidates
        .into_iter()
        .find(|plan| plan.workspace_bytes > 0)
        .expect("some route uses flags");
    let prepared = bench.gpu.prepare(&plan).expect("loads");
    let (bytes, need) = (problem.bytes(), prepared.workspace_bytes());
    let (data, workspace) = (memory(bytes + 16), memory(need));
    let (address, room) = (data.as_device_ptr().as_raw(), workspace.as_device_ptr().as_raw());
    bench.fill(address, problem.len(), 4);
    let stream = bench.raw_stream();
    // SAFETY: invalid arguments are rejected before anything is queued.
    let run = |data, bytes, workspace| unsafe {
        prepared.run_raw(stream, in_place((data, bytes), workspace))
    };
    let mut failures = 0;
    let all = Some((room, need));
    for (what, answer, why) in [
        ("null matrix", run(0, bytes, all), "Null"),
        ("misaligned matrix", run(address + 4, bytes, all), "Misaligned"),
        ("short matrix", run(address, bytes - 1, all), "Length"),
        ("short workspace", run(address, bytes, Some((room, need - 1))), "Workspace"),
        ("no workspace", run(address, bytes, None), "Workspace"),
        ("null workspace", run(address, bytes, Some((0, need))), "Null"),
        ("misaligned workspace", run(address, bytes, Some((room + 8, need))), "Misaligned"),
        ("workspace in the matrix", run(address, bytes, Some((address + 256, need))), "Overlap"),
    ] {
        failures += expect(what, refused(&answer, why));
    }
    let identity = Elementary { batch: 1, rows: 1, mid: 1, cols: problem.len(), unit: 1 };
    failures += expect("data untouched by all of them", bench.wrong(address, identity, 4).0 == 0);

    failures += expect("one plan on two threads at once", at_once(&prepared, &problem));

    let without = Stopwatch::new(&bench.gpu, 1 << 40);
    failures += expect(
        "out of memory",
        matches!(without, Err(CudaError::OutOfMemory { bytes }) if bytes == 1 << 40),
    );
    let mut shorter = plan.clone();
    shorter.problem = Problem::new(4096, 999, 4).expect("fits");
    failures += expect(
        "plan assembled by hand",
        matches!(bench.gpu.prepare(&shorter), Err(CudaError::Flawed(_))),
    );
    let config =
        LaunchDims { groups: 1, threads: 4096, shared_bytes: 0, cluster: 1, cooperative: false };
    // SAFETY: the text is PTX, and the launch is rejected.
    let launch = unsafe {
        let code =
            c".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry none() { ret; }\n";
        let kernels = bench.gpu.load_kernels(code, &["none"]).expect("loads");
        kernels.launch(0, config, &[], stream)
    };
    failures += expect(
        "impossible launch",
        matches!(&launch, Err(CudaError::Launch { threads: 4096, .. })),
    );
    if let Err(error) = launch {
        println!("    {error}");
    }
    failures
}

/// Returns `true` if two threads, each with a stopwatch, run a plan with flags correctly at the
/// same time.
fn at_once(prepared: &Prepared, problem: &Problem) -> bool {
    let run = || -> Result<u64, CudaError> {
        let mut watch = Stopwatch::new(prepared.gpu(), problem.bytes())?;
        (0..50).map(|_| watch.wrong_elements(problem, prepared)).sum()
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(run), scope.spawn(run)];
        threads.map(|thread| thread.join().is_ok_and(|wrong| wrong == Ok(0))) == [true; 2]
    })
}

/// Returns `true` if launches captured once give right results in two replays, each on `elements`
/// numbered elements.
pub fn replayed(
    bench: &mut Bench,
    prepared: &Prepared,
    elements: usize,
    elem_bytes: usize,
    wrong: impl Fn(&mut Bench, u64) -> u64,
) -> bool {
    let bytes = elements * elem_bytes;
    let data = memory(bytes);
    let address = data.as_device_ptr().as_raw();
    // SAFETY: the memory lives until the last replay is complete, and nothing else uses it.
    let queue = |stream| unsafe { prepared.run_raw(stream, in_place((address, bytes), None)) };
    let before = |bench: &Bench| bench.fill(address, elements, elem_bytes);
    captured(bench, queue, before, |bench| wrong(bench, address) == 0)
}

/// Returns `true` if the work queued by `queue`, captured once, leaves a `right` result in two
/// replays. `before` fills the memory before each replay.
pub fn captured(
    bench: &mut Bench,
    queue: impl FnOnce(*mut c_void) -> Result<(), CudaError>,
    before: impl Fn(&Bench),
    right: impl Fn(&mut Bench) -> bool,
) -> bool {
    let stream = bench.stream.as_inner();
    let (mut graph, mut replay) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the stream belongs to the bench. The graph is instantiated from its capture, launched
    // before this returns, and destroyed once.
    unsafe {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        let begin = sys::cuStreamBeginCapture_v2(stream, mode);
        let ran = queue(stream.cast());
        let end = sys::cuStreamEndCapture(stream, &mut graph);
        if let Err(error) = &ran {
            println!("  captured: {error}");
        }
        let none = std::ptr::null_mut();
        let made = sys::cuGraphInstantiate_v2(&mut replay, graph, none, none.cast(), 0);
        let mut well = ran.is_ok() && [begin, end, made] == [sys::CUresult::CUDA_SUCCESS; 3];
        for _ in 0..2 {
            if well {
                before(bench);
                well &= sys::cuGraphLaunch(replay, stream) == sys::CUresult::CUDA_SUCCESS;
                well &= right(bench);
            }
        }
        sys::cuGraphExecDestroy(replay);
        sys::cuGraphDestroy(graph);
        well
    }
}

/// Captures a plan of each kind of launch once, and replays it.
pub fn graph(bench: &mut Bench) -> usize {
    let planner = Planner::new(bench.gpu.device().clone());
    let mut failures = 0;
    for (rows, cols) in [(4096, 6144), (7200, 1800), (3001, 3989), (8191, 9000), (4096, 4096)] {
        let problem = Problem::new(rows, cols, 4).expect("fits");
        let whole = Elementary { batch: 1, rows, mid: 1, cols, unit: 1 };
        for plan in planner.candidates(&problem).candidates {
            if plan.seconds > 0.05 {
                continue;
            }
            let prepared = match bench.gpu.prepare(&plan).and_then(|p| p.with_own_workspace()) {
                Ok(prepared) => prepared,
                Err(error) => {
                    println!("  FAILED {plan}: {error}");
                    failures += 1;
                    continue;
                }
            };
            let ran = replayed(bench, &prepared, problem.len(), 4, |bench, address| {
                bench.wrong(address, whole, 4).0
            });
            failures += expect(&format!("graph {plan}"), ran);
        }
    }
    let mut answer = [0u8; 1];
    memory(1).copy_to(&mut answer).expect("the context is well");
    failures
}
