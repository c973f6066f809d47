//! CUDA contexts: retained, made current, asked about their device.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::Arc;

use super::DeviceProperties;
use super::functions::{
    self, CUcontext, CUdevResource, CUdevice, CUevent, CUexecAffinityParam, CUmodule, CUstream,
};
use super::library::driver;
use crate::error::CudaError;

/// A context that lives as long as this value: a device's primary context, retained, or one that the caller keeps alive.
#[derive(Debug)]
pub(crate) struct Context {
    handle: CUcontext,
    device: CUdevice,
    retained: bool,
}

// SAFETY: any thread may make a context current, and the driver locks it. It is released once, by the only owner, on any thread.
unsafe impl Send for Context {}
// SAFETY: as above; no field changes after construction.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        if let (true, Ok(driver)) = (self.retained, driver()) {
            // SAFETY: `retain` retained it once. After an error (the process is ending) nothing is left to do.
            let _ = unsafe { driver.cuDevicePrimaryCtxRelease(self.device) };
        }
    }
}

impl Context {
    /// Retains the primary context of the device with this ordinal.
    pub fn primary(ordinal: usize) -> Result<Arc<Self>, CudaError> {
        let driver = initialised()?;
        let ordinal = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        let mut device = 0;
        // SAFETY: `device` is writable.
        unsafe { driver.cuDeviceGet(&mut device, ordinal) }?;
        Self::retain(device).map(Arc::new)
    }

    /// Retains the thread's current context, which must be a primary context.
    pub fn current() -> Result<Arc<Self>, CudaError> {
        let driver = driver()?;
        let (mut device, mut handle, mut flags, mut active) = (0, CUcontext::NULL, 0, 0);
        // SAFETY: all results are writable, and `device` is valid after the first call.
        unsafe {
            driver.cuCtxGetDevice(&mut device)?;
            driver.cuCtxGetCurrent(&mut handle)?;
            driver.cuDevicePrimaryCtxGetState(device, &mut flags, &mut active)?;
        }
        // Retaining an inactive primary context would create it.
        if active == 0 {
            return Err(CudaError::NotPrimary);
        }
        let context = Self::retain(device)?;
        if context.handle == handle { Ok(Arc::new(context)) } else { Err(CudaError::NotPrimary) }
    }

    fn retain(device: CUdevice) -> Result<Self, CudaError> {
        let mut handle = CUcontext::NULL;
        // SAFETY: `handle` is writable, and the driver returned `device`.
        unsafe { driver()?.cuDevicePrimaryCtxRetain(&mut handle, device) }?;
        Ok(Context { handle, device, retained: true })
    }

    /// Wraps a context of the caller.
    ///
    /// # Safety
    /// `handle` is a context, and is destroyed only after this value and everything made from it is dropped.
    pub unsafe fn given(handle: *mut c_void) -> Result<Arc<Self>, CudaError> {
        let driver = driver()?;
        let mut context = Context { handle: CUcontext(handle), device: 0, retained: false };
        let mut device = 0;
        let current = context.enter()?;
        // SAFETY: `device` is writable.
        unsafe { driver.cuCtxGetDevice(&mut device) }?;
        drop(current);
        context.device = device;
        Ok(Arc::new(context))
    }

    /// Makes the context current on this thread until the returned guard is dropped.
    pub fn enter(&self) -> Result<Current<'_>, CudaError> {
        let driver = driver()?;
        let mut current = CUcontext::NULL;
        // SAFETY: `current` is writable, and the context is alive.
        unsafe {
            driver.cuCtxGetCurrent(&mut current)?;
            let pushed = current != self.handle;
            if pushed {
                driver.cuCtxPushCurrent(self.handle)?;
            }
            Ok(Current { pushed, context: PhantomData, thread: PhantomData })
        }
    }

    pub(super) fn handle(&self) -> CUcontext {
        self.handle
    }

    /// Returns `true` if both are the same context. The driver reuses a handle only after the context has ended.
    pub fn is(&self, other: &Context) -> bool {
        self.handle == other.handle
    }

    /// Enables access of this context's copies and kernels to the other's memory. Returns `false` if the devices do not support it.
    pub fn enable_peer_access(&self, other: &Context) -> Result<bool, CudaError> {
        if self.is(other) {
            return Ok(true);
        }
        let driver = driver()?;
        let mut can = 0;
        // SAFETY: `can` is writable, and the driver returned both devices.
        unsafe { driver.cuDeviceCanAccessPeer(&mut can, self.device, other.device) }?;
        if can == 0 {
            return Ok(false);
        }
        let _current = self.enter()?;
        // SAFETY: both contexts are alive; flags must be 0.
        match unsafe { driver.cuCtxEnablePeerAccess(other.handle, 0) } {
            Ok(()) => Ok(true),
            Err(failure) => match failure.code {
                functions::PEER_ACCESS_ALREADY_ENABLED => Ok(true),
                functions::TOO_MANY_PEERS | functions::PEER_ACCESS_UNSUPPORTED => Ok(false),
                _ => Err(failure.into()),
            },
        }
    }

    /// Returns the maximum shared memory per block, in bytes, that a kernel can opt in to.
    pub fn block_shared_bytes(&self) -> Result<usize, CudaError> {
        /// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`.
        const OPT_IN_SHARED: c_int = 97;
        self.attribute(OPT_IN_SHARED)
    }

    /// Returns the number of multiprocessors that kernels of this context run on: fewer than the device's if the context was
    /// created for a part of it (a green context, or an execution affinity).
    fn multiprocessors(&self) -> Result<usize, CudaError> {
        /// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
        const MULTIPROCESSORS: c_int = 16;
        /// `CU_DEV_RESOURCE_TYPE_SM`.
        const SM_RESOURCE: c_int = 1;
        /// `CU_EXEC_AFFINITY_TYPE_SM_COUNT`.
        const SM_COUNT: c_int = 0;
        let mut count = self.attribute(MULTIPROCESSORS)?;
        let driver = driver()?;
        let _current = self.enter()?;
        let mut resource =
            CUdevResource { kind: 0, padding: [0; 92], multiprocessors: 0, rest: [0; 44] };
        let mut affinity = CUexecAffinityParam { kind: 0, multiprocessors: 0 };
        // SAFETY: both results are writable, and the context is alive and current.
        let answers = unsafe {
            [
                driver.cuCtxGetDevResource(self.handle, &mut resource, SM_RESOURCE),
                driver.cuCtxGetExecAffinity(&mut affinity, SM_COUNT),
            ]
        };
        // A driver that does not support such parts reports an error.
        for (answer, part) in
            answers.iter().zip([resource.multiprocessors, affinity.multiprocessors])
        {
            if answer.is_ok() && part > 0 {
                count = count.min(part as usize);
            }
        }
        Ok(count)
    }

    /// Returns the properties of the context's device.
    pub fn properties(&self) -> Result<DeviceProperties, CudaError> {
        /// `CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK`.
        const REGISTERS: c_int = 12;
        /// `CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE`, in kHz.
        const MEMORY_CLOCK: c_int = 36;
        /// `CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH`, in bits.
        const BUS_WIDTH: c_int = 37;
        /// `CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR`.
        const THREADS: c_int = 39;
        /// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR`.
        const MAJOR: c_int = 75;
        /// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR`.
        const MINOR: c_int = 76;
        /// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR`.
        const SHARED: c_int = 81;
        /// `CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH`.
        const COOPERATIVE: c_int = 95;
        let mut name = [0 as c_char; 128];
        // SAFETY: the driver writes at most 128 characters, including the final zero.
        unsafe { driver()?.cuDeviceGetName(name.as_mut_ptr(), 128, self.device) }?;
        // SAFETY: as above, `name` ends in a zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        // Virtual and integrated GPUs may not report these two; then the bandwidth is unknown.
        let optional = |attribute| self.attribute(attribute).unwrap_or(0) as f64;
        Ok(DeviceProperties {
            name,
            architecture: 10 * self.attribute(MAJOR)? + self.attribute(MINOR)?,
            units: self.multiprocessors()?,
            shared_bytes: self.block_shared_bytes()?,
            unit_shared_bytes: self.attribute(SHARED)?,
            unit_threads: self.attribute(THREADS)?,
            registers: self.attribute(REGISTERS)?,
            cooperative: self.attribute(COOPERATIVE)? == 1,
            // Two transfers per clock.
            peak_bandwidth: 2e3 * optional(MEMORY_CLOCK) * optional(BUS_WIDTH) / 8.0,
        })
    }

    fn attribute(&self, attribute: c_int) -> Result<usize, CudaError> {
        let mut value = 0;
        // SAFETY: `value` is writable, and the driver returned the device.
        unsafe { driver()?.cuDeviceGetAttribute(&mut value, attribute, self.device) }?;
        Ok(usize::try_from(value).unwrap_or(0))
    }
}

/// Returns the driver's functions after `cuInit`.
fn initialised() -> Result<&'static functions::Functions, CudaError> {
    let driver = driver()?;
    // SAFETY: flags must be 0.
    match unsafe { driver.cuInit(0) } {
        Err(failure) if failure.code == functions::NO_DEVICE => Err(CudaError::NoDevice),
        result => Ok(result.map(|()| driver)?),
    }
}

/// Returns the number of GPUs; 0 without a driver, or without feature `cuda`.
pub fn device_count() -> usize {
    let mut count = 0;
    // SAFETY: `count` is writable.
    let counted =
        initialised().is_ok_and(|driver| unsafe { driver.cuDeviceGetCount(&mut count) }.is_ok());
    if counted { usize::try_from(count).unwrap_or(0) } else { 0 }
}

/// Returns the ordinal of the GPU whose memory has this address, or `None` if the driver does not know it.
pub fn device_of(address: u64) -> Option<usize> {
    /// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`, a C `int`.
    const DEVICE_ORDINAL: c_int = 9;
    let mut ordinal: c_int = -1;
    let place = (&raw mut ordinal).cast();
    // SAFETY: `place` is writable; the driver compares the address and does not read it.
    unsafe { initialised().ok()?.cuPointerGetAttribute(place, DEVICE_ORDINAL, address) }.ok()?;
    usize::try_from(ordinal).ok()
}

/// Returns `true` if the stream is being captured into a graph, or if the capture of another stream forbids to ask.
///
/// # Safety
/// `stream` is a stream, or null for the default stream of the current context.
pub unsafe fn is_capturing(stream: *mut c_void) -> bool {
    /// `CU_STREAM_CAPTURE_STATUS_NONE`.
    const NONE: c_int = 0;
    /// The driver's codes of errors of captures.
    const CAPTURE_ERRORS: std::ops::RangeInclusive<c_int> = 900..=908;
    let mut status = NONE;
    let Ok(driver) = driver() else { return false };
    // SAFETY: `status` is writable; the caller vouches for the stream.
    match unsafe { driver.cuStreamIsCapturing(CUstream(stream), &mut status) } {
        Ok(()) => status != NONE,
        Err(failure) => CAPTURE_ERRORS.contains(&failure.code),
    }
}

/// Guard while a context is current. Not `Send`: the context is current on one thread.
pub(crate) struct Current<'a> {
    pushed: bool,
    context: PhantomData<&'a Context>,
    thread: PhantomData<*const ()>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if let (true, Ok(driver)) = (self.pushed, driver()) {
            let mut popped = CUcontext::NULL;
            // SAFETY: `popped` is writable. The context that `enter` pushed is on top: later guards were dropped before.
            let _ = unsafe { driver.cuCtxPopCurrent(&mut popped) };
        }
    }
}

/// Handle of an object that belongs to a context and is destroyed once.
pub(crate) trait Handle: Copy {
    /// Destroys the object. Errors are ignored: nothing is left to do.
    ///
    /// # Safety
    /// The object is alive, its context is current, and it is not used again.
    unsafe fn destroy(self, driver: &functions::Functions);
}

/// Device memory by its first address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation(pub u64);

/// Mapping of another process's allocation, by its first address here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapped(pub u64);

macro_rules! handles {
    ($($handle:ty, $destroy:ident;)*) => {
        $(impl Handle for $handle {
            unsafe fn destroy(self, driver: &functions::Functions) {
                // SAFETY: the caller vouches for the object.
                let _ = unsafe { driver.$destroy(self) };
            }
        })*
    };
}
handles! {
    CUevent, cuEventDestroy;
    CUmodule, cuModuleUnload;
    CUstream, cuStreamDestroy;
}
impl Handle for Allocation {
    unsafe fn destroy(self, driver: &functions::Functions) {
        // SAFETY: the caller vouches for the memory.
        let _ = unsafe { driver.cuMemFree(self.0) };
    }
}

impl Handle for Mapped {
    unsafe fn destroy(self, driver: &functions::Functions) {
        // SAFETY: the caller vouches for the mapping.
        let _ = unsafe { driver.cuIpcCloseMemHandle(self.0) };
    }
}

/// An object of a context, destroyed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Owned<H: Handle> {
    pub(super) handle: H,
    pub(super) context: Arc<Context>,
}

// SAFETY: any thread may use the object while its context is current (`enter`). It is destroyed once, by the only owner.
unsafe impl<H: Handle> Send for Owned<H> {}
// SAFETY: as above; the driver does its own locking.
unsafe impl<H: Handle> Sync for Owned<H> {}

impl<H: Handle> Drop for Owned<H> {
    fn drop(&mut self) {
        // If the context cannot be made current, it has ended, and its objects with it.
        if let (Ok(driver), Ok(_current)) = (driver(), self.context.enter()) {
            // SAFETY: created in this context; users of the object borrow or own this value.
            unsafe { self.handle.destroy(driver) };
        }
    }
}
