//! Loading the driver's library.
#![allow(unsafe_code)]

/// Returns [`CudaError::NoBackend`](crate::CudaError::NoBackend): this build does not support the driver.
#[cfg(not(all(feature = "cuda", target_os = "linux")))]
pub(super) fn load() -> Result<super::functions::Functions, crate::CudaError> {
    Err(crate::CudaError::NoBackend)
}

#[cfg(all(feature = "cuda", target_os = "linux"))]
pub(super) use linux::load;

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
    pub(in super::super) fn load() -> Result<Functions, CudaError> {
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
