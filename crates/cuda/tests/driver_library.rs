//! The driver library is loaded at run time. Checks the errors for a missing or old driver, and the
//! arguments that its functions receive. Each case runs in a separate process with a driver library
//! made for it.
#![cfg(all(feature = "cuda", target_os = "linux"))]
#![allow(unsafe_code)]

use std::{fs, ptr};

use turntile_cuda::family::Family;
use turntile_cuda::{CudaError, Gpu};

use crate::children::{folder, runs, runs_on};

/// Runs the test `child_CASE` with the driver library `fake.c`, compiled with `options`.
fn runs_with(case: &str, options: &[&str]) {
    runs_on("driver_library", case, "fake.c", options);
}

fn refusal() -> CudaError {
    Gpu::primary(0).map(|gpu| gpu.device().limits().units).unwrap_err()
}

#[test]
fn without_a_driver() {
    // Write a file that the loader finds, and that is not a library.
    let folder = folder("no_driver");
    fs::write(folder.join("libcuda.so.1"), "none").unwrap();
    runs("driver_library", "no_driver", &folder);
}

#[test]
#[ignore = "run by `without_a_driver`"]
fn child_no_driver() {
    let error = refusal();
    assert!(
        matches!(&error, CudaError::NoDriver { why } if why.contains("libcuda.so.1")),
        "{error:?}"
    );
    assert!(error.to_string().starts_with("no NVIDIA driver: "), "{error}");
    // All three constructors return the error, and the device count is 0.
    assert_eq!(Gpu::current().map(drop), Err(error.clone()));
    // SAFETY: nothing uses the context before the driver is found.
    assert_eq!(unsafe { Gpu::given(ptr::null_mut()) }.map(drop), Err(error));
    assert_eq!(turntile_cuda::device_count(), 0);
}

#[test]
fn an_old_driver() {
    runs_with("old_driver", &["-DVERSION=11040"]);
}

#[test]
#[ignore = "run by `an_old_driver`"]
fn child_old_driver() {
    let error = refusal();
    assert!(matches!(error, CudaError::DriverTooOld { have: (11, 4), .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("needs 550 (CUDA 12.4), has ") && text.ends_with("CUDA 11.4"), "{text}");
}

#[test]
fn a_driver_without_a_gpu() {
    runs_with("no_gpu", &["-DINIT=100"]);
}

#[test]
#[ignore = "run by `a_driver_without_a_gpu`"]
fn child_no_gpu() {
    assert_eq!(refusal(), CudaError::NoDevice);
}

#[test]
fn an_old_gpu() {
    runs_with("old_gpu", &["-DCAPABILITY=75"]);
}

#[test]
#[ignore = "run by `an_old_gpu`"]
fn child_old_gpu() {
    let error = refusal();
    assert_eq!(error, CudaError::DeviceTooOld { device: "Fake 1".into(), have: 75 });
    assert_eq!(error.to_string(), "Fake 1 has compute capability 7.5, needs 8.0");
}

#[test]
fn a_gpu_that_will_do() {
    runs_with("good", &[]);
}

#[test]
#[ignore = "run by `a_gpu_that_will_do`"]
fn child_good() {
    let gpu = Gpu::primary(0).unwrap();
    assert_eq!(gpu.device().limits().units, 1);
    let none = Gpu::primary(1).map(drop);
    assert!(
        matches!(none, Err(CudaError::Driver { call: "cuDeviceGet", code: 101, .. })),
        "{none:?}"
    );
    // A function that this driver does not have returns error 500.
    let family = gpu.load_family(Family::Check, 4);
    let absent =
        matches!(family, Err(CudaError::Driver { call: "cuModuleLoadDataEx", code: 500, .. }));
    assert!(absent, "{family:?}");
}

/// Loads a kernel family with a driver that accepts machine code, PTX or neither.
fn loaded() -> Result<(), CudaError> {
    Gpu::primary(0).unwrap().load_family(Family::GridBarrier, 1)
}

#[test]
fn machine_code_is_taken() {
    runs_with("machine", &["-DVERSION=13000", "-DMACHINE=0", "-DPTX=222"]);
}

#[test]
#[ignore = "run by `machine_code_is_taken`"]
fn child_machine() {
    assert_eq!(loaded(), Ok(()));
}

#[test]
fn where_machine_code_is_for_another_device_the_ptx_is_taken() {
    runs_with("ptx", &["-DVERSION=13000", "-DMACHINE=209", "-DPTX=0"]);
}

#[test]
#[ignore = "run by `where_machine_code_is_for_another_device_the_ptx_is_taken`"]
fn child_ptx() {
    assert_eq!(loaded(), Ok(()));
}

#[test]
fn where_both_are_refused_the_answer_is_the_ptx_s() {
    runs_with("neither", &["-DVERSION=13000", "-DMACHINE=209", "-DPTX=12345"]);
}

#[test]
#[ignore = "run by `where_both_are_refused_the_answer_is_the_ptx_s`"]
fn child_neither() {
    let error = loaded().unwrap_err();
    let expected = CudaError::Driver {
        call: "cuModuleLoadDataEx",
        code: 12345,
        message: "unknown error".into(),
    };
    assert_eq!(error, expected);
}

/// A driver older than the machine code gets the PTX.
#[test]
fn an_older_driver_gets_the_ptx() {
    runs_with("older", &["-DMACHINE=2", "-DPTX=0"]);
}

#[test]
#[ignore = "run by `an_older_driver_gets_the_ptx`"]
fn child_older() {
    assert_eq!(loaded(), Ok(()));
}

/// Errors that do not concern the code are reported, and the PTX is not tried.
#[test]
fn other_errors_of_machine_code_are_reported() {
    runs_with("memory", &["-DVERSION=13000", "-DMACHINE=2", "-DPTX=0"]);
}

#[test]
#[ignore = "run by `other_errors_of_machine_code_are_reported`"]
fn child_memory() {
    let error = loaded().unwrap_err();
    assert!(matches!(error, CudaError::Driver { code: 2, .. }), "{error:?}");
}

/// The error contains the compiler's messages.
#[test]
fn messages_of_the_compiler_are_reported() {
    runs_with("log", &["-DMACHINE=0", "-DPTX=218", "-DLOG"]);
}

#[test]
#[ignore = "run by `messages_of_the_compiler_are_reported`"]
fn child_log() {
    let text = loaded().unwrap_err().to_string();
    assert!(text.contains("line 7: no such instruction; fatal"), "{text}");
}
