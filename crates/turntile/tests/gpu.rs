//! Tests of GPU calls on a simulated card, whose launches do nothing
//! (`crates/cuda/tests/driver_library/card.c`). Each case runs in a separate process.
#![allow(unsafe_code)]

use std::ptr;

use turntile::blas::{Complex, Scalar, Scale};
use turntile::error::Reason;
use turntile::gpu::{CudaError, DeviceMemory, Gpu, StreamHandle};
use turntile::{ErrorKind, Transpose};

use crate::children::runs_on;
use crate::driver_function::{capture, driver_function};

fn runs(case: &str, options: &[&str]) {
    runs_on("gpu", case, "card.c", options);
}

fn memory(bytes: usize) -> DeviceMemory {
    (1 << 40, bytes).into()
}

fn stream() -> StreamHandle {
    ptr::null_mut::<std::ffi::c_void>().into()
}

/// Checks that a scaled run loads no kernels and allocates no memory, so that it can be captured in
/// a graph.
#[test]
fn scaled_run_can_be_captured() {
    runs("scaled", &[]);
}

#[test]
#[ignore = "run by `scaled_run_can_be_captured`"]
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
    let transpose_of = |rows, cols| Transpose::new::<S>(rows, cols).dynamic();
    for transpose in [
        transpose_of(4096, 6000),
        transpose_of(4096, 4096),
        transpose_of(4096, 3000).leading(4096, 4096),
        transpose_of(4096, 3000).leading(3008, 4100),
        transpose_of(0, 3),
    ] {
        let ready = transpose.plan_on(gpu).unwrap().with_own_workspace().unwrap();
        let data = memory(4100 * 6000 * size_of::<S>());
        capture(true);
        // SAFETY: launches of the simulated card do not access memory, and its streams are plain
        // numbers.
        let ran = unsafe {
            [twice, zero].map(|alpha| ready.run_scaled(data, &Scale::by(alpha), stream()))
        };
        capture(false);
        assert_eq!(ran, [Ok(()), Ok(())], "{}", ready.plan());
    }
}

/// Checks the error if the last launch, which scales, fails after those that move the matrix were
/// queued.
#[test]
fn scaled_run_reports_partial_result_when_launch_fails() {
    runs("half", &["-DREFUSED=3"]);
}

#[test]
#[ignore = "run by `scaled_run_reports_partial_result_when_launch_fails`"]
fn child_half() {
    let gpu = Gpu::primary(0).unwrap();
    let ready = Transpose::new::<f32>(4096, 6000).plan_on(&gpu).unwrap();
    let ready = ready.with_own_workspace().unwrap();
    // SAFETY: launches of the simulated card do not access memory, and its streams are plain
    // numbers.
    let error = unsafe { ready.run_scaled(memory(4096 * 6000 * 4), &Scale::by(2f32), stream()) };
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete);
    assert!(
        matches!(error.reason(), Reason::Cuda(CudaError::Partial { launch: 3, launches: 3, .. })),
        "{error}"
    );
    type Synchronize = unsafe extern "C" fn(*mut std::ffi::c_void) -> i32;
    let synchronize: Synchronize = driver_function(c"cuStreamSynchronize");
    // SAFETY: as above. The workspace is freed only after this, when the queued work has ended.
    assert_eq!(unsafe { synchronize(ptr::null_mut()) }, 0);
}
