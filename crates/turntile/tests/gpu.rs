//! The library's calls on a card whose launches do nothing (`crates/cuda/tests/driver_library/card.c`). Each case runs in a process
//! of its own.
#![allow(unsafe_code)]

use std::ptr;

use turntile::gpu::cust::sys::{self, CUresult};
use turntile::gpu::{CudaError, DeviceMemory, Gpu, OnStream, StreamHandle};
use turntile::layout::{Marshal, RecordConversion, RecordOrder, Tracked};
use turntile::{Complex, Error, Scalar, Scale, Transpose};

use crate::children::runs_on;

fn runs(case: &str, options: &[&str]) {
    runs_on("gpu", case, "card.c", options);
}

fn memory(bytes: usize) -> DeviceMemory {
    (1 << 40, bytes).into()
}

fn stream() -> StreamHandle {
    ptr::null_mut::<std::ffi::c_void>().into()
}

/// Nothing is loaded or asked for by a run that scales: it can be captured in a graph.
#[test]
fn scaled_runs_are_captured() {
    runs("scaled", &[]);
}

#[test]
#[ignore = "run by `scaled_runs_are_captured`"]
fn child_scaled() {
    let gpu = Gpu::primary(0).unwrap();
    captured(&gpu, 2.0f32, 0.0);
    captured(&gpu, 2.0f64, 0.0);
    let complex = |re: f32| Complex { re, im: 0.0 };
    captured(&gpu, complex(2.0), complex(0.0));
    let complex = |re: f64| Complex { re, im: 0.0 };
    captured(&gpu, complex(2.0), complex(0.0));
}

fn captured<S: Scalar>(gpu: &Gpu, twice: S, zero: S) {
    let asked = |rows, cols| Transpose::of::<S>(rows, cols);
    for transpose in [
        asked(4096, 6000),
        asked(4096, 4096),
        asked(4096, 3000).leading(4096, 4096),
        asked(4096, 3000).leading(3008, 4100),
        asked(0, 3),
    ] {
        let ready = transpose.plan_on(gpu).unwrap().with_own_workspace().unwrap();
        let data = memory(4100 * 6000 * size_of::<S>());
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        let mut graph = ptr::null_mut();
        // SAFETY: no launch of this card touches memory, and its streams are no more than numbers.
        let (begun, ran, ended) = unsafe {
            let begun = sys::cuStreamBeginCapture_v2(ptr::null_mut(), mode);
            let ran =
                [twice, zero].map(|alpha| ready.run_scaled(data, &Scale::by(alpha), stream()));
            (begun, ran, sys::cuStreamEndCapture(ptr::null_mut(), &mut graph))
        };
        assert_eq!([begun, ended], [CUresult::CUDA_SUCCESS; 2]);
        assert_eq!(ran, [Ok(()), Ok(())], "{}", ready.plan());
    }
}

/// The pass that scales is refused when the matrix has moved: the data are incomplete, and the error says so.
#[test]
fn half_a_scaled_run_is_an_error_of_its_own() {
    runs("half", &["-DREFUSED=3"]);
}

#[test]
#[ignore = "run by `half_a_scaled_run_is_an_error_of_its_own`"]
fn child_half() {
    let gpu = Gpu::primary(0).unwrap();
    let ready = Transpose::of::<f32>(4096, 6000).plan_on(&gpu).unwrap();
    let ready = ready.with_own_workspace().unwrap();
    // SAFETY: no launch of this card touches memory, and its streams are no more than numbers.
    let error = unsafe { ready.run_scaled(memory(4096 * 6000 * 4), &Scale::by(2f32), stream()) };
    assert!(
        matches!(error, Err(Error::Cuda(CudaError::Partial { launch: 3, launches: 3, .. }))),
        "{error:?}"
    );
    // SAFETY: as above; the workspace is freed when what was queued has ended.
    assert_eq!(unsafe { sys::cuStreamSynchronize(ptr::null_mut()) }, CUresult::CUDA_SUCCESS);
}

/// The workspaces of what is queued are freed when it has ended, whatever is dropped and in whatever order.
#[test]
fn memory_that_knows_its_records_keeps_what_its_conversions_use() {
    runs("tracked", &[]);
}

#[test]
#[ignore = "run by `memory_that_knows_its_records_keeps_what_its_conversions_use`"]
fn child_tracked() {
    let gpu = Gpu::primary(0).unwrap();
    let records = RecordConversion::new(100_003, &[4, 12, 1, 8]);
    // SAFETY: no launch of this card touches memory, and its streams are no more than numbers.
    let on_stream = || unsafe { OnStream::new(&gpu, memory(100_003 * 25), stream()) };
    let bound = || {
        let mut tracked = Tracked::new(on_stream());
        tracked.bind(&records, RecordOrder::Soa).unwrap();
        tracked
    };
    drop(bound());
    let inner = bound().into_inner().unwrap();
    assert_eq!(inner.memory(), memory(100_003 * 25));
    drop(inner);
    // What others do with the trait's own calls.
    let mut memory = on_stream();
    let plan = memory.plan(&records.clone().from(RecordOrder::Aos).to(RecordOrder::Soa)).unwrap();
    memory.marshal(&plan).unwrap();
    assert_eq!(on_stream().marshal(&plan), Err(CudaError::OtherGpu.into()));
    #[expect(clippy::drop_non_drop, reason = "a plan that had the workspace would be freed here")]
    drop(plan);
    drop(memory);
}
