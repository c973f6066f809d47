//! What the driver is asked beside plans: how many devices, whose memory, whether a stream is captured.
#![allow(unsafe_code)]

#[cfg(all(
    feature = "cuda",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod backend {
    use std::ffi::c_void;
    use std::ptr;

    use crate::errors::OF_CAPTURES;
    use turntile::gpu::cust::sys::{self, CUpointer_attribute, CUresult, CUstreamCaptureStatus};

    /// How many devices there are.
    pub fn devices() -> usize {
        let mut count = 0;
        // SAFETY: a place for the answer; the driver is initialised first.
        let answer = unsafe {
            match sys::cuInit(0) {
                CUresult::CUDA_SUCCESS => sys::cuDeviceGetCount(&mut count),
                failed => failed,
            }
        };
        if answer == CUresult::CUDA_SUCCESS { count.max(0) as usize } else { 0 }
    }

    /// Whose memory it is.
    pub fn device_of(address: u64) -> Option<usize> {
        let (mut ordinal, which) =
            (-1i32, CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
        // SAFETY: a place for an int, which is what this attribute is; the address is compared and not read.
        let answer = unsafe {
            match sys::cuInit(0) {
                CUresult::CUDA_SUCCESS => {
                    sys::cuPointerGetAttribute(ptr::from_mut(&mut ordinal).cast(), which, address)
                }
                failed => failed,
            }
        };
        (answer == CUresult::CUDA_SUCCESS).then(|| usize::try_from(ordinal).ok()).flatten()
    }

    /// Whether the stream is being captured, or another so that nothing may be asked of this one (answers 900 to 908); what
    /// the driver cannot say otherwise is not.
    pub fn is_capturing(stream: *mut c_void) -> bool {
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: a place for the answer, and a stream of the caller's framework.
        let answer = unsafe { sys::cuStreamIsCapturing(stream.cast(), &mut status) };
        match answer {
            CUresult::CUDA_SUCCESS => {
                status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE
            }
            refused => OF_CAPTURES.contains(&(refused as u32)),
        }
    }
}

#[cfg(not(all(
    feature = "cuda",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod backend {
    use std::ffi::c_void;

    pub fn devices() -> usize {
        0
    }

    pub fn device_of(_: u64) -> Option<usize> {
        None
    }

    pub fn is_capturing(_: *mut c_void) -> bool {
        false
    }
}

pub use backend::{device_of, devices, is_capturing};
