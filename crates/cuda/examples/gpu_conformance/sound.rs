//! Safety whatever else a program does: kernels shared by threads that prepare plans, runs that end
//! halfway, warps whose lanes run different numbers of loop iterations, and scaled runs inside a
//! CUDA graph.

use std::process::Command;
use std::sync::Barrier;

use cust::memory::{CopyDestination, DeviceBuffer};
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_cuda::{CudaError, Gpu, Prepared, ScalarKind, Scaling, Work};
use turntile_perm::Elementary;
use turntile_plan::{Planner, Problem};

use crate::common::{Bench, address, in_place, memory, repeat, run};
use crate::errors::{captured, expect};

/// Argument that runs [`fault`] in a separate process, because its context is unusable afterwards.
pub const FAULT: &str = "sound_fault";

pub fn sound(bench: &mut Bench) -> usize {
    shared_memory(bench) + halves() + loops(bench) + scaled(bench)
}

fn matrices(batch: usize, rows: usize, cols: usize) -> Elementary {
    Elementary { batch, rows, mid: 1, cols, unit: 1 }
}

/// Returns the number of elements that a run leaves wrong.
fn wrong(
    bench: &mut Bench,
    prepared: &Prepared,
    e: Elementary,
    elem: usize,
) -> Result<u64, CudaError> {
    let bytes = e.len() * elem;
    let (data, workspace) = (memory(bytes), memory(prepared.workspace_bytes().max(16)));
    bench.fill(address(&data), e.len(), elem);
    run(prepared, bench, address(&data), bytes, &workspace)?;
    Ok(bench.wrong(address(&data), e, elem).0)
}

/// Two threads prepare launches of one kernel, with more and with less shared memory, on newly
/// loaded code. Then both run.
fn shared_memory(bench: &mut Bench) -> usize {
    const TIMES: usize = 100;
    let shapes = [matrices(264, 499, 100), matrices(264, 149, 100)];
    let mut failed = 0;
    for _ in 0..TIMES {
        // This code is newly loaded, so no earlier call has raised its kernels' limits.
        let gpu = Gpu::current().expect("a context is current");
        let start = Barrier::new(shapes.len());
        let prepare = |shape: Elementary| {
            let limits = gpu.device().limits();
            let work =
                Work::of_stage(&shape.into(), Strategy::Barrier(Scope::Block), 4, 16, limits);
            start.wait();
            gpu.prepare_work(work?)
        };
        let prepared = std::thread::scope(|scope| {
            let threads = shapes.map(|shape| scope.spawn(move || prepare(shape)));
            threads.map(|thread| thread.join().expect("no panic"))
        });
        for (shape, prepared) in shapes.into_iter().zip(prepared) {
            let wrong = prepared.and_then(|prepared| wrong(bench, &prepared, shape, 4));
            if wrong != Ok(0) {
                println!("  WRONG {shape:?}: {wrong:?}");
                failed += 1;
            }
        }
    }
    expect(&format!("one kernel prepared by two threads at once, {TIMES} times"), failed == 0)
}

/// Checks a run whose first launches the driver accepts, and whose later launch it rejects.
fn halves() -> usize {
    let this = std::env::current_exe().expect("a path");
    let ended = Command::new(this).arg(FAULT).status().expect("starts");
    expect("a run that ends halfway has its own error", ended.success())
}

/// Runs many launches on an invalid address. The driver accepts some launches before the first one
/// fails. Returns 0 if the error reports that the data is incomplete.
pub fn fault() -> i32 {
    const LAUNCHES: usize = 20_000;
    let bench = Bench::new();
    let shape = matrices(1000, 100, 100);
    let limits = bench.gpu.device().limits();
    let one = Work::of_stage(&shape.into(), Strategy::Barrier(Scope::Block), 4, 16, limits);
    let one = one.expect("has a kernel");
    let many = (1..LAUNCHES).fold(one.clone(), |many, _| many.then(one.clone()));
    let prepared = bench.prepare(many).expect("loads");
    // SAFETY: the address is in no allocation. When a kernel reads there, the driver ends the
    // context's work, and this process then exits.
    let ran =
        unsafe { prepared.run_raw(bench.raw_stream(), in_place((1 << 46, shape.len() * 4), None)) };
    println!("    {}", ran.as_ref().map_or_else(ToString::to_string, |()| "no error".into()));
    let half =
        matches!(&ran, Err(CudaError::Partial { launch, launches: LAUNCHES, .. }) if *launch > 1);
    // Nothing in the context can be freed any more.
    std::mem::forget((prepared, bench));
    i32::from(!half)
}

/// Runs instances over clusters whose number of granules is not a multiple of the threads. Lanes of
/// a warp run their loops once more than other lanes, or not at all.
fn loops(bench: &mut Bench) -> usize {
    let largest = bench.gpu.device().limits().cluster;
    let shapes = [
        matrices(3, 70, 90),
        matrices(400, 70, 90),
        matrices(1, 33, 31),
        matrices(7, 129, 65),
        matrices(50, 257, 255),
        matrices(300, 5, 4001),
        matrices(40, 1021, 97),
    ];
    let (mut ran, mut failed) = (0, 0);
    for (shape, elem) in shapes.into_iter().flat_map(|shape| [1, 2, 4, 8, 16].map(|w| (shape, w))) {
        for blocks in [2, 4, 8, 16].into_iter().filter(|&blocks| blocks <= largest) {
            for skew in [0, elem].into_iter().filter(|skew| *skew < 16) {
                let (limits, alignment) =
                    (bench.gpu.device().limits(), if skew == 0 { 16 } else { elem });
                let way = Strategy::Barrier(Scope::Cluster(blocks));
                let work = match Work::of_stage(&shape.into(), way, elem, alignment, limits) {
                    Err(CudaError::Infeasible { .. }) => continue,
                    work => work.expect("a shape"),
                };
                let what = format!("{shape:?} of {elem} bytes over clusters of {blocks}");
                let wrong = |bench: &mut Bench, data| bench.wrong(data, shape, elem);
                failed += repeat(bench, work, (shape.len(), elem), skew, 20, &what, wrong);
                ran += 1;
            }
        }
    }
    let met = largest < 2 || ran > 100;
    expect(
        &format!("loops of different lengths before a cluster's barrier, {ran} launches"),
        failed == 0 && met,
    )
}

/// Captures scaled runs in a graph before any scaling kernel is loaded.
fn scaled(bench: &mut Bench) -> usize {
    let dense = |rows, cols| Problem::new(rows, cols, 4).expect("fits");
    let leading = |rows, cols, [lda, ldb]: [usize; 2]| dense(rows, cols).with_leading(lda, ldb);
    let problems = [
        dense(4096, 6000),
        dense(4096, 4096),
        dense(7200, 1800),
        leading(4096, 3000, [4096, 4096]).expect("fits"),
        leading(4096, 3000, [3008, 4100]).expect("fits"),
    ];
    let mut failed = 0;
    for problem in problems {
        for factor in [2.0, 0.0] {
            // This code is newly loaded, so no scaling kernel is loaded.
            let gpu = Gpu::current().expect("a context is current");
            let plan = Planner::new(gpu.device().clone()).plan(&problem).expect("there is a way");
            let prepared = gpu.prepare(&plan).and_then(|prepared| prepared.with_own_workspace());
            let prepared = prepared.and_then(|prepared| prepared.with_scaling()).expect("loads");
            let right = scaled_right(bench, &problem, &prepared, factor);
            failed += expect(&format!("graph {plan}, times {factor}"), right);
        }
    }
    failed
}

fn scaled_right(bench: &mut Bench, problem: &Problem, prepared: &Prepared, factor: f32) -> bool {
    let ([rows, cols], span) = ([problem.rows(), problem.cols()], problem.span());
    let [lda, ldb] = problem
        .leading()
        .map_or([cols, rows], |leading| [leading.source().pitch(), leading.result().pitch()]);
    let numbers: Vec<f32> = (0..span).map(|k| (k % 8191) as f32 - 4000.0).collect();
    let data = DeviceBuffer::from_slice(&numbers).expect("device memory");
    let place = (data.as_device_ptr().as_raw(), span * 4);
    let by = match factor {
        0.0 => Scaling::Zeros,
        _ => Scaling::By { alpha: Some([f64::from(factor), 0.0]), conjugated: false },
    };
    // SAFETY: the memory lives until the last replay is complete, and nothing else uses it.
    let queue = |stream| unsafe {
        prepared.run_scaled_raw(stream, in_place(place, None), ScalarKind::F32, by)
    };
    let copy_in = |_: &Bench| data.index(..).copy_from(&numbers).expect("as long");
    captured(bench, queue, copy_in, |bench| {
        bench.stream.synchronize().expect("the kernels end well");
        let mut left = vec![0f32; span];
        data.copy_to(&mut left).expect("as long");
        let mut all = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j)));
        all.all(|(i, j)| left[j * ldb + i] == factor * numbers[i * lda + j])
    })
}
