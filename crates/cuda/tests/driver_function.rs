//! Functions of the driver made for a test, called by the test itself.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};

/// Returns a function of the driver that this process finds.
pub fn driver_function<F: Copy>(name: &CStr) -> F {
    // SAFETY: the library is one of these tests', `F` the function's type there, and the library stays loaded by turntile.
    unsafe {
        let driver = libloading::Library::new("libcuda.so.1").unwrap();
        *driver.get::<F>(name).unwrap()
    }
}

/// Begins capturing on the null stream of `card.c`, or ends it.
pub fn capture(begin: bool) {
    let null = std::ptr::null_mut::<c_void>();
    let mut graph = null;
    // SAFETY: these are the signatures of `card.c`.
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
