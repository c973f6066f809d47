//! Tests of the host memory that calls allocate: at most the stated workspace, and nearly nothing
//! with a workspace of the caller.

#![expect(unsafe_code, reason = "an allocator that can fail")]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use peak_alloc::PeakAlloc;
use turntile::blas::Scale;
use turntile::mode::InPlace;
use turntile::plan::Effort;
use turntile::plan::{CpuDevice, Planner, Problem, Route};
use turntile::run::RunOptions;
use turntile::{
    Error, ErrorKind, RawElements, Transpose, Transposer, permute_in_place, transpose_in_place,
    transpose_into,
};

static COUNTED: PeakAlloc = PeakAlloc;

/// Size in bytes from which on the test's allocator lets an allocation fail.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

#[global_allocator]
static LIMITED: Limited = Limited;

struct Limited;

// SAFETY: returns the results of another allocator, or null.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LIMIT.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's layout is passed on.
        unsafe { COUNTED.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` was allocated by `COUNTED`.
        unsafe { COUNTED.dealloc(at, layout) }
    }
}

/// Maximum bytes that a run may allocate in addition to its workspace, for lists and for jobs of
/// the thread pool.
const EXTRA_BYTES: usize = 32 << 10;
const MIB: usize = 1 << 20;

/// Returns the peak bytes that `work` adds to the allocated bytes of the process.
fn allocated<T>(work: impl FnOnce() -> T) -> usize {
    let before = COUNTED.current_usage();
    COUNTED.reset_peak_usage();
    work();
    COUNTED.peak_usage() - before
}

/// Runs all checks, in one test because the counter covers all threads of the process.
#[test]
fn calls_allocate_at_most_their_workspace() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    pool.install(|| {
        // Start the pool's threads first, so that their own allocations are not counted.
        transpose_in_place(&mut vec![0u32; 1009 * 1013], 1009, 1013).unwrap();
        plans_in_place();
        calls_without_a_plan();
        out_of_place();
        leading_dimensions();
        stored();
        offsets_of_records_allocate_nothing();
        call_fails_when_memory_cannot_be_allocated();
        call_fails_when_buffer_cannot_be_allocated();
    });
}

/// Checks the allocations of every in-place candidate plan of several problems.
fn plans_in_place() {
    let mut with_workspace = 0;
    for (rows, cols) in [(1009, 1013), (720, 960), (300_000, 3)] {
        for threads in [1, 3] {
            let planner = Planner::new(CpuDevice::new(threads));
            let mut data = vec![0u32; rows * cols];
            for plan in planner.candidates(&Problem::new(rows, cols, 4).unwrap()).candidates {
                let planned = Transposer::<InPlace>::new(plan, threads).unwrap();
                let need = planned.workspace_bytes();
                with_workspace += usize::from(need > 2 * EXTRA_BYTES);
                let mut workspace = planned.workspace().unwrap();
                let run = || {
                    planned
                        .run_with(&mut data, RunOptions::new().workspace(&mut workspace))
                        .unwrap()
                };
                let bytes = allocated(run);
                assert!(
                    bytes <= EXTRA_BYTES,
                    "{bytes} bytes in addition to the caller's: {planned}"
                );
                let bytes = allocated(|| planned.run(&mut data).unwrap());
                assert!(bytes <= need + EXTRA_BYTES, "{bytes} bytes: {planned}");
            }
        }
    }
    assert!(with_workspace > 0, "no plan has a large workspace");
}

fn calls_without_a_plan() {
    let mut small = [0u32; 4096];
    assert_eq!(allocated(|| transpose_in_place(&mut small, 128, 32).unwrap()), 0, "16 KiB");
    assert_eq!(allocated(|| permute_in_place(&mut small, &[8, 64, 8], &[2, 1, 0]).unwrap()), 0);
    let mut data = vec![0u32; 2003 * 3001];
    let most = data.len() * 4 / 50 + 3 * MIB + EXTRA_BYTES;
    for _ in 0..2 {
        let bytes = allocated(|| transpose_in_place(&mut data, 2003, 3001).unwrap());
        assert!(bytes <= most, "{bytes} bytes of {most}");
        let axes = || permute_in_place(&mut data, &[2003, 1, 3001], &[2, 1, 0]).unwrap();
        let bytes = allocated(axes);
        assert!(bytes <= most, "{bytes} bytes of {most}");
    }
}

/// Checks that out-of-place runs on the host allocate at most 128 KB per thread, plus
/// `EXTRA_BYTES`.
fn out_of_place() {
    let (rows, cols) = (2003, 1501);
    let (mut to, from) = (vec![0u32; rows * cols], vec![0u32; rows * cols]);
    let most = 3 * 128_000 + EXTRA_BYTES;
    let bytes = allocated(|| transpose_into(&from, &mut to, rows, cols).unwrap());
    assert!(bytes <= most, "{bytes} bytes");
    let planned = Transpose::new::<u32>(rows, cols).out_of_place().plan().unwrap();
    let bytes = allocated(|| planned.run(&from, &mut to).unwrap());
    assert!(bytes <= most, "{bytes} bytes: {planned}");
}

/// Checks that a transposition with equal leading dimensions has no workspace, and that rows are
/// moved without workspace if the cap is 0.
fn leading_dimensions() {
    let mut data = vec![0f32; 1300 * 1300];
    for (axes, lda, ldb, cap) in [
        ([1, 0], 1200, 1200, None),
        ([0, 1], 1000, 1250, Some(0)),
        ([0, 1], 1000, 1250, None),
        ([1, 0], 1000, 1250, None),
    ] {
        let transpose = Transpose::permute::<f32>(&[1200, 1000], &axes).leading(lda, ldb);
        let planned = match cap {
            Some(cap) => transpose.workspace_limit(cap),
            None => transpose,
        };
        let planned = planned.plan().unwrap();
        let none = lda == ldb || cap == Some(0);
        let most = if none { 0 } else { 1200 * 1000 * 4 / 50 + 3 * MIB };
        assert!(planned.workspace_bytes() <= most, "{planned}");
        let run = || planned.run_scaled(&mut data, &Scale::by(2.0), RunOptions::new()).unwrap();
        let bytes = allocated(run);
        assert!(bytes <= planned.workspace_bytes() + EXTRA_BYTES, "{bytes} bytes: {planned}");
    }
}

/// Checks that out-of-core runs allocate at most the given memory for blocks and workspace, plus
/// `EXTRA_BYTES`.
fn stored() {
    let (rows, cols) = (4001, 3001);
    let (from, mut to) = (vec![1u8; rows * cols * 4], vec![0u8; rows * cols * 4]);
    // With debug assertions, blocks of up to 1 MiB are tracked with four bytes per byte.
    let debug_bytes = if cfg!(debug_assertions) { 4 * MIB } else { 0 };
    for memory in [8 << 20, 16 << 20] {
        let stored = Transpose::new::<u32>(rows, cols).stored(memory).unwrap();
        let bytes = allocated(|| stored.run(&from[..], &mut to[..]).unwrap());
        assert!(bytes <= memory + debug_bytes + EXTRA_BYTES, "{bytes} bytes of {memory}");
    }
}

/// Checks the errors for workspaces of more than 2^50 bytes and measuring buffers of more than 2^60
/// bytes.
fn call_fails_when_memory_cannot_be_allocated() {
    let huge = || Transpose::new::<u8>(1 << 30, (1 << 30) + 1).itemsize(1).threads(1);
    let out_of_memory = |answer: Result<(), Error>, least: usize| {
        let kind = answer.unwrap_err().kind();
        let ErrorKind::OutOfMemory { bytes } = kind else { panic!("{kind:?}") };
        assert!(bytes >= least, "{bytes} bytes");
    };
    let all = (1 << 60) + (1 << 30);
    out_of_memory(huge().tune(Duration::ZERO).map(drop), all);
    out_of_memory(huge().effort(Effort::Measure(Duration::ZERO)).plan().map(drop), all);
    let planned = huge().route(Route::ONE_STAGE).workspace_limit(usize::MAX).plan().unwrap();
    let need = planned.workspace_bytes();
    assert!(need > 1 << 50, "{planned}");
    out_of_memory(planned.workspace().map(drop), need);
    let mut data = [7u8; 9];
    out_of_memory(planned.run(&mut RawElements(&mut data[..])), need);
    assert_eq!(data, [7; 9]);
}

/// Checks that computing the offset of a record's field does not allocate.
fn offsets_of_records_allocate_nothing() {
    use turntile::layout::{RecordConversion, RecordOrder};
    let records = RecordConversion::new(100, &[4, 12, 1]);
    for (layout, offset) in [
        (RecordOrder::Aos, 67 * 17 + 4),
        (RecordOrder::Soa, 1204),
        (RecordOrder::Asta(32), 64 * 17 + 32 * 4 + 36),
    ] {
        let bytes = allocated(|| assert_eq!(records.offset(layout, 67, 1), offset));
        assert_eq!(bytes, 0, "{layout}");
    }
}

/// Checks that a run whose tile buffers cannot be allocated returns an error and changes no data.
fn call_fails_when_buffer_cannot_be_allocated() {
    let (rows, cols) = (1500, 1000);
    let from: Vec<u32> = (0..1_500_000).collect();
    let limited = |run: &mut dyn FnMut() -> Result<(), Error>| {
        LIMIT.store(8 << 10, Ordering::Relaxed);
        let answer = run();
        LIMIT.store(usize::MAX, Ordering::Relaxed);
        let kind = answer.unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::OutOfMemory { bytes: 8192.. }), "{kind:?}");
    };
    for threads in [1, 3] {
        let transpose = Transpose::new::<u32>(rows, cols).threads(threads);
        let mut to = vec![7; from.len()];
        let into = transpose.clone().out_of_place().plan().unwrap();
        assert_eq!(into.workspace_bytes(), 0);
        limited(&mut || into.run(&from, &mut to));
        limited(&mut || transpose_into(&from, &mut to, rows, cols));
        assert!(to.iter().all(|&element| element == 7));
        into.run(&from, &mut to).unwrap();
        let within = transpose.leading(1500, 1500).plan().unwrap();
        assert_eq!(within.workspace_bytes(), 0);
        let mut data = vec![7; 1500 * 1500];
        data[..from.len()].copy_from_slice(&from);
        let before = data.clone();
        limited(&mut || within.run(&mut data));
        assert!(data == before);
        within.run(&mut data).unwrap();
    }
}
