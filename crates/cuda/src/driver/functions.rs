//! Driver functions that this crate calls, resolved at run time.
//!
//! Names, arguments and types are those of the driver API (`cuda.h`), without version suffixes: `cuGetProcAddress` returns
//! each function as CUDA 12.4 declares it, which is the oldest accepted driver. To use another function, add a row.
#![allow(unsafe_code, non_snake_case)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem;

use crate::family::NEEDED_CUDA;

/// `CUDA_SUCCESS`.
const SUCCESS: c_int = 0;
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(super) const OUT_OF_MEMORY: c_int = 2;
/// `CUDA_ERROR_NO_DEVICE`.
pub(super) const NO_DEVICE: c_int = 100;
/// Results of loading device code that is not for this device or driver: `CUDA_ERROR_INVALID_IMAGE`,
/// `NO_BINARY_FOR_GPU`, `UNSUPPORTED_PTX_VERSION`.
pub(super) const OTHER_CODE: [c_int; 3] = [200, 209, 222];
/// `CUDA_ERROR_PEER_ACCESS_UNSUPPORTED`.
pub(super) const PEER_ACCESS_UNSUPPORTED: c_int = 217;
/// `CUDA_ERROR_NOT_FOUND`, also the result of a function that the driver does not have.
const NOT_FOUND: c_int = 500;
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
pub(super) const PEER_ACCESS_ALREADY_ENABLED: c_int = 704;
/// `CUDA_ERROR_TOO_MANY_PEERS`.
pub(super) const TOO_MANY_PEERS: c_int = 711;

/// Device number of the driver, not the ordinal that it was obtained by.
pub(crate) type CUdevice = c_int;
/// Address in device memory.
pub(crate) type CUdeviceptr = u64;

macro_rules! handles {
    ($($name:ident)*) => {
        $(
            /// Opaque handle of the driver.
            #[repr(transparent)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) struct $name(pub *mut c_void);

            impl $name {
                /// Null handle, as a place for a result.
                pub const NULL: Self = Self(std::ptr::null_mut());
            }
        )*
    };
}
handles! { CUcontext CUevent CUfunction CUmodule CUstream }

/// `CUipcMemHandle`: the name of an allocation, valid in other processes of the host.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CUipcMemHandle(pub [u8; 64]);

/// `CUdevResource` for multiprocessors.
#[repr(C)]
pub(crate) struct CUdevResource {
    pub kind: c_int,
    pub padding: [u8; 92],
    pub multiprocessors: c_uint,
    pub rest: [u8; 44],
}

/// `CUexecAffinityParam` for a count of multiprocessors.
#[repr(C)]
pub(crate) struct CUexecAffinityParam {
    pub kind: c_int,
    pub multiprocessors: c_uint,
}

/// `CUlaunchAttribute`: a number, and a value of 64 bytes. The attributes that this crate sets have at most 12 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CUlaunchAttribute {
    pub id: c_int,
    pub padding: c_int,
    pub value: [c_uint; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct CUlaunchConfig {
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared_bytes: c_uint,
    pub stream: CUstream,
    pub attributes: *const CUlaunchAttribute,
    pub attribute_count: c_uint,
}

/// A driver call that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    /// The function.
    pub call: &'static str,
    /// Its `CUresult`.
    pub code: c_int,
}

/// Signature of `cuGetProcAddress_v2`, the only symbol besides `cuDriverGetVersion` that is looked up by name.
#[cfg_attr(
    not(all(feature = "cuda", target_os = "linux")),
    allow(dead_code, reason = "no driver is loaded")
)]
pub(super) type GetProcAddress =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_int) -> c_int;

macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        /// One pointer per function; `None` if the driver lacks it.
        pub(crate) struct Functions {
            /// Newest CUDA version that the driver supports: major and minor number.
            version: (u32, u32),
            $($name: Option<unsafe extern "C" fn($($type),*) -> c_int>,)*
        }

        impl Functions {
            /// Asks the driver for every function, in its form of CUDA [`NEEDED_CUDA`].
            ///
            /// # Safety
            /// `get` is the loaded driver's `cuGetProcAddress_v2`.
            #[cfg_attr(
                not(all(feature = "cuda", target_os = "linux")),
                allow(dead_code, reason = "no driver is loaded")
            )]
            pub(super) unsafe fn resolve(get: GetProcAddress, version: (u32, u32)) -> Self {
                let abi = (NEEDED_CUDA.0 * 1000 + NEEDED_CUDA.1 * 10).cast_signed();
                let find = |name: &'static str| {
                    let (mut address, mut status) = (std::ptr::null_mut(), 0);
                    // SAFETY: `name` ends in a zero, both results are writable, and 0 are the default flags.
                    let code = unsafe { get(name.as_ptr().cast(), &mut address, abi, 0, &mut status) };
                    if code == SUCCESS { address } else { std::ptr::null_mut() }
                };
                Functions {
                    version,
                    // SAFETY: null becomes `None`; else it is the address of the function with that name, which `cuda.h`
                    // declares with these arguments.
                    $($name: unsafe {
                        mem::transmute::<*mut c_void, Option<unsafe extern "C" fn($($type),*) -> c_int>>(
                            find(concat!(stringify!($name), "\0")),
                        )
                    },)*
                }
            }

            /// Newest CUDA version that the driver supports: major and minor number.
            pub(crate) fn version(&self) -> (u32, u32) {
                self.version
            }

            $(
                /// Calls the function. Its documentation in the driver API says what must hold.
                pub(crate) unsafe fn $name(&self $(, $argument: $type)*) -> Result<(), Failure> {
                    // SAFETY: the caller vouches for the arguments.
                    let code = self.$name.map_or(NOT_FOUND, |function| unsafe { function($($argument),*) });
                    if code == SUCCESS { Ok(()) } else { Err(Failure { call: stringify!($name), code }) }
                }
            )*
        }
    };
}

functions! {
    cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint);
    cuCtxGetCurrent(context: *mut CUcontext);
    cuCtxGetDevResource(context: CUcontext, resource: *mut CUdevResource, kind: c_int);
    cuCtxGetDevice(device: *mut CUdevice);
    cuCtxGetExecAffinity(affinity: *mut CUexecAffinityParam, kind: c_int);
    cuCtxPopCurrent(context: *mut CUcontext);
    cuCtxPushCurrent(context: CUcontext);
    cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice);
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: CUdevice);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGetName(name: *mut c_char, bytes: c_int, device: CUdevice);
    cuDevicePrimaryCtxGetState(device: CUdevice, flags: *mut c_uint, active: *mut c_int);
    cuDevicePrimaryCtxRelease(device: CUdevice);
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    cuEventCreate(event: *mut CUevent, flags: c_uint);
    cuEventDestroy(event: CUevent);
    cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    cuEventRecord(event: CUevent, stream: CUstream);
    cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: CUfunction);
    cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int);
    cuGetErrorString(code: c_int, text: *mut *const c_char);
    cuInit(flags: c_uint);
    cuIpcCloseMemHandle(address: CUdeviceptr);
    cuIpcGetMemHandle(handle: *mut CUipcMemHandle, address: CUdeviceptr);
    cuIpcOpenMemHandle(address: *mut CUdeviceptr, handle: CUipcMemHandle, flags: c_uint);
    cuLaunchKernelEx(config: *const CUlaunchConfig, function: CUfunction, parameters: *const *const c_void, extra: *mut *mut c_void);
    cuMemAlloc(address: *mut CUdeviceptr, bytes: usize);
    cuMemFree(address: CUdeviceptr);
    cuMemGetAddressRange(start: *mut CUdeviceptr, bytes: *mut usize, address: CUdeviceptr);
    cuMemcpyDtoDAsync(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyDtoHAsync(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyHtoDAsync(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    cuMemcpyPeerAsync(to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize, stream: CUstream);
    cuMemsetD8Async(address: CUdeviceptr, value: u8, bytes: usize, stream: CUstream);
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, count: c_uint, options: *const c_int, values: *const *mut c_void);
    cuModuleUnload(module: CUmodule);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, function: CUfunction, threads: c_int, shared_bytes: usize);
    cuOccupancyMaxActiveClusters(clusters: *mut c_int, function: CUfunction, config: *const CUlaunchConfig);
    cuOccupancyMaxPotentialClusterSize(blocks: *mut c_int, function: CUfunction, config: *const CUlaunchConfig);
    cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: CUdeviceptr);
    cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    cuStreamDestroy(stream: CUstream);
    cuStreamIsCapturing(stream: CUstream, status: *mut c_int);
    cuStreamSynchronize(stream: CUstream);
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
}
