//! Functions of a test's driver library, called by the test itself.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};

/// Returns a function of the driver library that this process loads.
pub fn driver_function<F: Copy>(name: &CStr) -> F {
    // SAFETY: the library is made for these tests, `F` is the function's type there, and turntile
    // keeps the library loaded.
    unsafe {
        let driver = libloading::Library::new("libcuda.so.1").unwrap();
        *driver.get::<F>(name).unwrap()
    }
}

/// Begins or ends capture on the null stream of `card.c`.
pub fn capture(begin: bool) {
    let null = std::ptr::null_mut::<c_void>();
    let mut graph = null;
    // SAFETY: the types are the signatures in `card.c`.
    let code = unsafe {
        if begin {
            driver_function::<unsafe extern "C" fn(*mut c_void, i32) -> i32>(
                c"cuStreamBeginCapture",
            )(null, 0)
        } else {
            driver_function::<unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> i32>(
                c"cuStreamEndCapture",
            )(null, &mut graph)
        }
    };
    assert_eq!(code, 0);
}
