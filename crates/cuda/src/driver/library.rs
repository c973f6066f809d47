//! Loading the driver's library, and the texts of its errors.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::OnceLock;

use super::functions::{Failure, Functions};
use crate::error::CudaError;

/// Returns the driver's functions. Loads the library on the first call; it stays loaded.
///
/// # Errors
/// [`CudaError::NoBackend`], [`CudaError::NoDriver`] or [`CudaError::DriverTooOld`], the same on every call.
pub(super) fn driver() -> Result<&'static Functions, CudaError> {
    static DRIVER: OnceLock<Result<Functions, CudaError>> = OnceLock::new();
    DRIVER.get_or_init(load).as_ref().map_err(Clone::clone)
}

impl From<Failure> for CudaError {
    fn from(Failure { call, code }: Failure) -> Self {
        CudaError::Driver { call, code: code.cast_unsigned(), message: message(code) }
    }
}

/// Returns the driver's text for a result.
pub(super) fn message(code: c_int) -> String {
    let mut text = ptr::null();
    // SAFETY: `text` is writable; the driver stores the address of a static string, or leaves null for an unknown code.
    let known =
        driver().is_ok_and(|driver| unsafe { driver.cuGetErrorString(code, &mut text) }.is_ok());
    if !known || text.is_null() {
        return "unknown error".into();
    }
    // SAFETY: the driver's strings are static and end in a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Returns [`CudaError::NoBackend`]: this build does not support the driver.
#[cfg(not(all(feature = "cuda", target_os = "linux")))]
fn load() -> Result<Functions, CudaError> {
    Err(CudaError::NoBackend)
}

#[cfg(all(feature = "cuda", target_os = "linux"))]
use linux::load;

#[cfg(all(feature = "cuda", target_os = "linux"))]
mod linux {
    use std::error::Error;
    use std::ffi::c_int;
    use std::fs;

    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

    use super::super::functions::{Functions, GetProcAddress};
    use crate::error::CudaError;
    use crate::family::NEEDED_CUDA;

    /// Name of the driver's library on every system that has one.
    const NAME: &str = "libcuda.so.1";
    /// File in which the kernel module reports its release.
    const MODULE: &str = "/proc/driver/nvidia/version";

    /// Loads the library, checks its version, and resolves its functions.
    pub(super) fn load() -> Result<Functions, CudaError> {
        let no_driver = |error: libloading::Error| CudaError::NoDriver {
            // The loader's own message is the source of libloading's.
            why: error.source().map_or_else(|| error.to_string(), |why| why.to_string()),
        };
        // SAFETY: any process may load the driver's library at any time.
        let library =
            unsafe { Library::open(Some(NAME), RTLD_NOW | RTLD_LOCAL) }.map_err(no_driver)?;
        let mut version: c_int = 0;
        // SAFETY: this is its signature in `cuda.h`; it needs no initialised driver, and `version` is writable.
        let code = unsafe {
            let get =
                library.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(c"cuDriverGetVersion");
            get.map_err(no_driver)?(&mut version)
        };
        let version = if code == 0 { u32::try_from(version).unwrap_or(0) } else { 0 };
        let have = (version / 1000, version % 1000 / 10);
        if have < NEEDED_CUDA {
            return Err(CudaError::DriverTooOld { have, driver: driver_release() });
        }
        // SAFETY: this is its signature in `cuda.h`, in drivers from CUDA 12.0 on.
        let functions = unsafe {
            let get = library.get::<GetProcAddress>(c"cuGetProcAddress_v2").map_err(no_driver)?;
            Functions::resolve(*get, have)
        };
        // The library stays loaded as long as the process lives.
        std::mem::forget(library);
        Ok(functions)
    }

    /// Returns the driver's release (`550.54.15`), if the system reports it.
    fn driver_release() -> Option<String> {
        release(&fs::read_to_string(MODULE).ok()?)
    }

    /// Returns the first word that consists of numbers and dots.
    fn release(text: &str) -> Option<String> {
        let number =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let is_release = |word: &&str| word.contains('.') && word.split('.').all(number);
        text.split_whitespace().find(is_release).map(str::to_owned)
    }

    #[cfg(test)]
    mod tests {
        use super::release;

        #[test]
        fn releases_are_read() {
            let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n\
                          GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
            let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U16)\n";
            assert_eq!(release(closed).as_deref(), Some("550.54.15"));
            assert_eq!(release(open).as_deref(), Some("580.65.06"));
            assert_eq!(release("NVRM version: none"), None);
        }
    }
}
