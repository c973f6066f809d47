//! Contexts with a part of the multiprocessors: plans are made for the part, and run in it.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::io::Write;
use std::ptr;

use cust::sys::{self, CUcontext, CUresult};
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_cuda::sync::BlockSync;
use turntile_cuda::user_kernels::LaunchDims;
use turntile_cuda::{CudaError, Gpu, LowerError, Stopwatch, Work};
use turntile_perm::Elementary;
use turntile_plan::{Planner, Problem};

use crate::common::{Bench, address, in_place, memory};
use crate::errors::expect;

/// `CUdevResource`: 144 bytes. Its 25th word is the number of multiprocessors.
type Resource = [c_uint; 36];
const UNITS: usize = 24;
/// Values of `CU_DEV_RESOURCE_TYPE_SM` and `CU_GREEN_CTX_DEFAULT_STREAM`.
const MULTIPROCESSORS: c_int = 1;
const DEFAULT_STREAM: c_uint = 1;

/// A context with a part of the multiprocessors.
struct Part {
    context: CUcontext,
    units: usize,
    /// Handle of a green context, which needs its own destructor.
    green: Option<*mut c_void>,
}

/// Returns a function of CUDA 12.4.
///
/// # Safety
/// `F` must be the type of a pointer to the function.
unsafe fn function<F: Copy>(name: &str) -> Result<F, String> {
    let (text, mut found) = (CString::new(name).expect("no zero in it"), ptr::null_mut());
    // SAFETY: the arguments are a C string and a place for the result.
    let code = unsafe { sys::cuGetProcAddress(text.as_ptr(), &mut found, 12040, 0) };
    if code != CUresult::CUDA_SUCCESS || found.is_null() {
        return Err(format!("{name}: {code:?}"));
    }
    // SAFETY: the caller guarantees the type, which has the size of a pointer.
    Ok(unsafe { std::mem::transmute_copy(&found) })
}

fn right(call: &str, code: c_int) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("{call}: driver code {code}")) }
}

impl Part {
    /// Creates a green context with at least `units` multiprocessors of the first device.
    fn green(units: c_uint) -> Result<Self, String> {
        type Get = unsafe extern "C" fn(c_int, *mut Resource, c_int) -> c_int;
        type Split = unsafe extern "C" fn(
            *mut Resource,
            *mut c_uint,
            *const Resource,
            *mut Resource,
            c_uint,
            c_uint,
        ) -> c_int;
        type Describe = unsafe extern "C" fn(*mut *mut c_void, *mut Resource, c_uint) -> c_int;
        type Create = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, c_int, c_uint) -> c_int;
        type Convert = unsafe extern "C" fn(*mut CUcontext, *mut c_void) -> c_int;
        let (mut all, mut part, mut groups) = ([0; 36], [0; 36], 1);
        let (mut description, mut green, mut context) =
            (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the functions have these types since CUDA 12.4, and get places for their results.
        unsafe {
            let get: Get = function("cuDeviceGetDevResource")?;
            let split: Split = function("cuDevSmResourceSplitByCount")?;
            let describe: Describe = function("cuDevResourceGenerateDesc")?;
            let create: Create = function("cuGreenCtxCreate")?;
            let convert: Convert = function("cuCtxFromGreenCtx")?;
            right("cuDeviceGetDevResource", get(0, &mut all, MULTIPROCESSORS))?;
            let code = split(&mut part, &mut groups, &all, ptr::null_mut(), 0, units);
            right("cuDevSmResourceSplitByCount", code)?;
            right("cuDevResourceGenerateDesc", describe(&mut description, &mut part, 1))?;
            right("cuGreenCtxCreate", create(&mut green, description, 0, DEFAULT_STREAM))?;
            right("cuCtxFromGreenCtx", convert(&mut context, green))?;
        }
        Ok(Part { context, units: part[UNITS] as usize, green: Some(green) })
    }

    /// Creates a context with an execution affinity, which only MPS supports.
    fn affine(units: c_uint) -> Result<Self, String> {
        let mut wanted = sys::CUexecAffinityParam {
            type_: sys::CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_SM_COUNT,
            param: sys::CUexecAffinityParam_st__bindgen_ty_1 {
                smCount: sys::CUexecAffinitySmCount { val: units },
            },
        };
        let (mut context, mut old) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the calls get places for their results. The new context is current, and is popped
        // again.
        unsafe {
            let code = sys::cuCtxCreate_v3(&mut context, &mut wanted, 1, 0, 0);
            right("cuCtxCreate", code as c_int)?;
            let code = sys::cuCtxGetExecAffinity(&mut wanted, wanted.type_);
            sys::cuCtxPopCurrent_v2(&mut old);
            right("cuCtxGetExecAffinity", code as c_int)?;
            Ok(Part { context, units: wanted.param.smCount.val as usize, green: None })
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        type Destroy = unsafe extern "C" fn(*mut c_void) -> c_int;
        // SAFETY: the context was made by the matching constructor, and is not used again.
        unsafe {
            match self.green {
                Some(green) => {
                    if let Ok(destroy) = function::<Destroy>("cuGreenCtxDestroy") {
                        destroy(green);
                    }
                }
                None => {
                    sys::cuCtxDestroy_v2(self.context);
                }
            }
        }
    }
}

pub fn parts(bench: &mut Bench) -> usize {
    let (mut ran, mut failed) = (0, 0);
    for units in [8, 16, 24, 48, 64, 96] {
        for (kind, part) in [("green", Part::green(units)), ("affine", Part::affine(units))] {
            match part {
                Ok(part) => {
                    failed += of_part(bench, kind, &part);
                    ran += 1;
                }
                Err(why) => println!("  {kind} {units}: skipped, {why}"),
            }
        }
    }
    failed + expect(&format!("{ran} parts were had"), ran > 0)
}

fn of_part(bench: &Bench, kind: &str, part: &Part) -> usize {
    // SAFETY: the context outlives everything made from it here.
    let gpu = unsafe { Gpu::given(part.context.cast()) }.expect("a context");
    let limits = *gpu.device().limits();
    println!(
        "  {kind} context of {}: {} multiprocessors, clusters of {}",
        part.units, limits.units, limits.cluster
    );
    let mut failed = expect("multiprocessors are counted", limits.units == part.units);
    // If the limits are wrong, blocks may wait for other blocks for ever.
    if failed == 0 {
        failed += plans(&gpu);
        failed += of_all(bench, &gpu);
        failed += halfway(bench, &gpu, part);
    }
    failed
}

/// Runs candidates of all routes: one pass in shared memory, aligned slots, and clusters.
fn plans(gpu: &Gpu) -> usize {
    let units = gpu.device().limits().units;
    let problems = [
        Problem::new(units * 100, 400, 4),
        Problem::new(units * 90 + 1, 397, 4),
        Problem::new(units * 90 + 1, 397, 2),
        Problem::with_batch(6, 480, 640, 4),
        Problem::with_batch(40, 300, 500, 4),
        Problem::new(3001, 3989, 4),
        Problem::new(4093, 4099, 8),
    ];
    let (mut failed, mut grids, mut clusters) = (0, 0, 0);
    for problem in problems.map(|problem| problem.expect("fits")) {
        let mut watch = Stopwatch::new(gpu, 2 * problem.bytes()).expect("memory");
        for plan in Planner::new(gpu.device().clone()).candidates(&problem).candidates {
            if plan.seconds > 0.5 {
                continue;
            }
            // Print the plan first, so that a plan that hangs is known.
            print!("    {plan}: ");
            std::io::stdout().flush().expect("written");
            let waits = |of: BlockSync| {
                let work = Work::of_plan(&plan).expect("has kernels");
                usize::from(work.calls().iter().any(|call| call.sync() == of))
            };
            grids += waits(BlockSync::Grid);
            clusters += waits(BlockSync::Cluster);
            let wrong = gpu.prepare(&plan).and_then(|ready| watch.wrong_elements(&problem, &ready));
            println!("{wrong:?}");
            failed += usize::from(wrong != Ok(0));
        }
    }
    println!("    {grids} over the grid, {clusters} over clusters");
    expect("plans run in the part", failed == 0) + expect("some wait for the whole grid", grids > 0)
}

/// Checks that a plan for the whole device is rejected before it runs.
fn of_all(bench: &Bench, gpu: &Gpu) -> usize {
    let work = over_grid(bench).expect("fits the device");
    let refused = gpu.prepare_work(work).map(drop);
    let together =
        matches!(&refused, Err(CudaError::Infeasible { why: LowerError::Together { .. }, .. }));
    if let Err(error) = refused {
        println!("    {error}");
    }
    expect("a plan for the whole device is refused", together)
}

const SIDES: [usize; 2] = [7200, 1800];

/// Returns a launch with a block for every multiprocessor of the device.
fn over_grid(bench: &Bench) -> Result<Work, CudaError> {
    of_stage(bench, Strategy::Barrier(Scope::Grid))
}

fn of_stage(bench: &Bench, way: Strategy) -> Result<Work, CudaError> {
    let e = Elementary { batch: 1, rows: SIDES[0], mid: 1, cols: SIDES[1], unit: 1 };
    Work::of_stage(&e.into(), way, 4, 16, bench.gpu.device().limits())
}

/// Runs plans for the whole device on a stream of the part. The driver accepts the first launch,
/// and rejects the second, which has more blocks than the part can hold. If the driver would accept
/// it, nothing runs.
fn halfway(bench: &Bench, gpu: &Gpu, part: &Part) -> usize {
    let (units, all) = (part.units, bench.gpu.device().limits().units);
    let code = c".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry none() { ret; }\n";
    let mut stream = ptr::null_mut();
    let bytes = SIDES[0] * SIDES[1] * 4;
    // SAFETY: the part's context is live. The stream belongs to it, and is destroyed after its work
    // is complete. The kernel does nothing. The memory belongs to the device, and nothing else uses
    // it.
    unsafe {
        let mut old = ptr::null_mut();
        sys::cuCtxPushCurrent_v2(part.context);
        let made = sys::cuStreamCreate(&mut stream, 1);
        sys::cuCtxPopCurrent_v2(&mut old);
        if made != CUresult::CUDA_SUCCESS {
            return expect("a stream of the part", false);
        }
        let shared_bytes = gpu.device().limits().shared_bytes as u32;
        let probe = |groups: usize| {
            let config = LaunchDims {
                groups: groups as u32,
                threads: 512,
                shared_bytes,
                cluster: 1,
                cooperative: true,
            };
            let kernels = gpu.load_kernels(code, &["none"])?;
            let launched = kernels.launch(0, config, &[], stream.cast());
            sys::cuStreamSynchronize(stream);
            launched
        };
        let (own, more) = (probe(units), probe(units + 1));
        println!("    cooperative launches of {units}: {own:?}, of {}: {more:?}", units + 1);
        let mut failed = expect("one block per multiprocessor is co-resident", own.is_ok());
        if units < all && more.is_ok() {
            println!("    the driver accepts more blocks than the part can hold: not run");
        } else if units < all {
            let (data, workspace) = (memory(bytes), memory(16 << 20));
            let work = of_stage(bench, Strategy::Moves)
                .map(|work| work.then(over_grid(bench).expect("fits")));
            let prepared = work.and_then(|work| bench.prepare(work)).expect("loads");
            let room = Some((address(&workspace), workspace.len()));
            let ran = prepared.run_raw(stream.cast(), in_place((address(&data), bytes), room));
            sys::cuStreamSynchronize(stream);
            println!(
                "    on a stream of the part: {}",
                ran.as_ref().map_or_else(ToString::to_string, |()| "no error".into())
            );
            let half = matches!(&ran, Err(CudaError::Partial { launch: 2, launches: 2, .. }));
            failed += expect("a launch rejected after another has its own error", half);
        }
        sys::cuStreamDestroy_v2(stream);
        failed
    }
}
