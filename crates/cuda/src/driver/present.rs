//! Over the driver's API: contexts, and what its answers mean.
#![allow(unsafe_code)]

#[path = "code.rs"]
mod code;
#[path = "entries.rs"]
mod entries;
#[path = "library.rs"]
mod library;
#[path = "memory.rs"]
mod memory;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use cust::sys::{self, CUcontext, CUdevice, CUdevice_attribute, CUresult};
use cust::sys::{CUdeviceptr, CUevent, CUmodule, CUstream};
use cust::sys::{CUexecAffinityParam, CUexecAffinityType};

use super::Facts;
use crate::error::CudaError;
use crate::family::NEEDED_CUDA;

pub(crate) use code::{Function, Module};
pub(crate) use memory::{Event, Memory, Stream, clear, wait};

/// `CUdevResource` of multiprocessors, younger than the bindings.
#[repr(C)]
struct Resource {
    kind: c_int,
    padding: [u8; 92],
    units: c_uint,
    rest: [u8; 44],
}

/// `CU_DEV_RESOURCE_TYPE_SM`.
const MULTIPROCESSORS: c_int = 1;

unsafe extern "C" {
    /// From CUDA 12.4 on.
    fn cuCtxGetDevResource(context: CUcontext, resource: *mut Resource, kind: c_int) -> c_int;
    /// As in the bindings, for answers too that are younger than they: a C enumerator is a plain number.
    #[link_name = "cuGetErrorString"]
    fn words(code: c_int, text: *mut *const c_char) -> c_int;
}

/// The driver's message for an answer.
fn message(code: c_int) -> String {
    let mut text = ptr::null();
    // SAFETY: `text` is a place for a pointer to a static string, null for an unknown code.
    unsafe { words(code, &mut text) };
    if text.is_null() {
        return "unknown error".into();
    }
    // SAFETY: the driver's strings are static and end in a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn answer(call: &'static str, code: CUresult) -> Result<(), CudaError> {
    number(call, code as c_int)
}

/// An answer that may be younger than the bindings.
fn number(call: &'static str, code: c_int) -> Result<(), CudaError> {
    match code {
        0 => Ok(()),
        _ => Err(CudaError::Driver { call, code: code.cast_unsigned(), message: message(code) }),
    }
}

/// That there is a driver, new enough for the device code.
fn ready() -> Result<(), CudaError> {
    library::library().map_err(|why| CudaError::NoDriver { why: why.to_owned() })?;
    let mut version = 0;
    // SAFETY: a place for the answer; this function needs no initialised driver.
    answer("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) })?;
    let version = u32::try_from(version).unwrap_or(0);
    let have = (version / 1000, version % 1000 / 10);
    if have < NEEDED_CUDA {
        return Err(CudaError::DriverTooOld { have, driver: library::driver_release() });
    }
    Ok(())
}

/// A context that stays as long as this does: a device's primary one, retained, or one that
/// somebody else keeps alive.
#[derive(Debug)]
pub(crate) struct Context {
    handle: CUcontext,
    device: CUdevice,
    retained: bool,
}

// SAFETY: the handle names an object of the driver, which lets any thread make it current and does its own locking; it
// is released once, when the only owner is dropped, whichever thread that is on.
unsafe impl Send for Context {}
// SAFETY: as above; nothing here changes after it was made.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        if self.retained {
            // SAFETY: retained once, by `retain`. An error (the driver is gone: the process ends) leaves nothing to do.
            unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
        }
    }
}

impl Context {
    /// The primary context of that device.
    pub fn primary(ordinal: usize) -> Result<Arc<Self>, CudaError> {
        let ordinal = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        let mut device = 0;
        ready()?;
        // SAFETY: nothing is asked for before the driver is initialised.
        match unsafe { sys::cuInit(0) } {
            CUresult::CUDA_ERROR_NO_DEVICE => return Err(CudaError::NoDevice),
            code => answer("cuInit", code)?,
        }
        // SAFETY: a place for the answer.
        answer("cuDeviceGet", unsafe { sys::cuDeviceGet(&mut device, ordinal) })?;
        Self::retain(device).map(Arc::new)
    }

    /// The thread's current context, if it is a primary one.
    pub fn current() -> Result<Arc<Self>, CudaError> {
        let (mut device, mut handle, mut flags, mut active) = (0, ptr::null_mut(), 0, 0);
        ready()?;
        // SAFETY: places for the answers; `device` is one once the first call has answered.
        unsafe {
            answer("cuCtxGetDevice", sys::cuCtxGetDevice(&mut device))?;
            answer("cuCtxGetCurrent", sys::cuCtxGetCurrent(&mut handle))?;
            let code = sys::cuDevicePrimaryCtxGetState(device, &mut flags, &mut active);
            answer("cuDevicePrimaryCtxGetState", code)?;
        }
        // One that is not active would be made by retaining it.
        if active == 0 {
            return Err(CudaError::NotPrimary);
        }
        let context = Self::retain(device)?;
        if context.handle == handle { Ok(Arc::new(context)) } else { Err(CudaError::NotPrimary) }
    }

    fn retain(device: CUdevice) -> Result<Self, CudaError> {
        let mut handle = ptr::null_mut();
        // SAFETY: a place for the answer, and a device that the driver named.
        let code = unsafe { sys::cuDevicePrimaryCtxRetain(&mut handle, device) };
        answer("cuDevicePrimaryCtxRetain", code)?;
        Ok(Context { handle, device, retained: true })
    }

    /// Somebody else's.
    ///
    /// # Safety
    /// It is a context, and not destroyed before this and all that is made of it is dropped.
    pub unsafe fn given(handle: *mut c_void) -> Result<Arc<Self>, CudaError> {
        ready()?;
        let mut context = Context { handle: handle.cast(), device: 0, retained: false };
        let mut device = 0;
        let current = context.enter()?;
        // SAFETY: a place for the answer; the context is current.
        answer("cuCtxGetDevice", unsafe { sys::cuCtxGetDevice(&mut device) })?;
        drop(current);
        context.device = device;
        Ok(Arc::new(context))
    }

    /// Makes it the thread's current one until what is returned is dropped.
    pub fn enter(&self) -> Result<Current<'_>, CudaError> {
        let mut now = ptr::null_mut();
        // SAFETY: a place for the answer, and a live context.
        unsafe {
            answer("cuCtxGetCurrent", sys::cuCtxGetCurrent(&mut now))?;
            let pushed = now != self.handle;
            if pushed {
                answer("cuCtxPushCurrent", sys::cuCtxPushCurrent_v2(self.handle))?;
            }
            Ok(Current { pushed, context: PhantomData, thread: PhantomData })
        }
    }

    /// Whether both are the same: handles are not given twice while either lives.
    pub fn is(&self, other: &Context) -> bool {
        self.handle == other.handle
    }

    /// Lets copies and kernels of this context reach the other's memory, and says whether they can.
    pub fn reach(&self, other: &Context) -> Result<bool, CudaError> {
        if self.is(other) {
            return Ok(true);
        }
        let mut can = 0;
        // SAFETY: a place for the answer, and devices that the driver named.
        let code = unsafe { sys::cuDeviceCanAccessPeer(&mut can, self.device, other.device) };
        answer("cuDeviceCanAccessPeer", code)?;
        if can == 0 {
            return Ok(false);
        }
        let _current = self.enter()?;
        // SAFETY: both contexts are live; 0 is the only flag there is.
        match unsafe { sys::cuCtxEnablePeerAccess(other.handle, 0) } {
            CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            CUresult::CUDA_ERROR_TOO_MANY_PEERS | CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => {
                Ok(false)
            }
            code => answer("cuCtxEnablePeerAccess", code).map(|()| true),
        }
    }

    /// Most shared memory of a block, in bytes.
    pub fn block_shared_bytes(&self) -> Result<usize, CudaError> {
        let which = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        attribute(self.device, which)
    }

    /// Multiprocessors that its kernels run on: its part of the device's, where it was made for a part (a green context, or one
    /// with an execution affinity).
    fn units(&self) -> Result<usize, CudaError> {
        let all =
            attribute(self.device, CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let _current = self.enter()?;
        let mut resource = Resource { kind: 0, padding: [0; 92], units: 0, rest: [0; 44] };
        let mut affinity = CUexecAffinityParam::default();
        // SAFETY: places for the answers, and a live context, which is current. The only kind of affinity is a count.
        let answers = unsafe {
            let kind = CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_SM_COUNT;
            [
                (cuCtxGetDevResource(self.handle, &mut resource, MULTIPROCESSORS), resource.units),
                (
                    sys::cuCtxGetExecAffinity(&mut affinity, kind) as c_int,
                    affinity.param.smCount.val,
                ),
            ]
        };
        // What a driver refuses to say, it has no parts of.
        let parts = answers.into_iter().filter(|&(code, units)| code == 0 && units > 0);
        Ok(parts.fold(all, |least, (_, units)| least.min(units as usize)))
    }

    /// What its device says of itself.
    pub fn facts(&self) -> Result<Facts, CudaError> {
        use CUdevice_attribute as A;
        let get = |which| attribute(self.device, which);
        let mut name = [0 as c_char; 128];
        // SAFETY: `name` has 128 places, and the driver writes at most that many, a final zero included.
        let code = unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), 128, self.device) };
        answer("cuDeviceGetName", code)?;
        // SAFETY: as above, `name` ends in a zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        Ok(Facts {
            name,
            architecture: 10 * get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?
                + get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            units: self.units()?,
            shared_bytes: self.block_shared_bytes()?,
            unit_shared_bytes: get(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            registers: get(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)?,
            cooperative: get(A::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? == 1,
            // Both edges of a clock in kilohertz, over a bus whose width is in bits.
            peak_bandwidth: 2e3
                * get(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)? as f64
                * get(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)? as f64
                / 8.0,
        })
    }
}

fn attribute(device: CUdevice, which: CUdevice_attribute) -> Result<usize, CudaError> {
    let mut value = 0;
    // SAFETY: `value` is a place for the answer.
    let code = unsafe { sys::cuDeviceGetAttribute(&mut value, which, device) };
    answer("cuDeviceGetAttribute", code)?;
    Ok(usize::try_from(value).unwrap_or(0))
}

/// The time that a context is current on this thread, which it therefore cannot leave.
pub(crate) struct Current<'a> {
    pushed: bool,
    context: PhantomData<&'a Context>,
    thread: PhantomData<*const ()>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if self.pushed {
            let mut popped = ptr::null_mut();
            // SAFETY: a place for the answer; what `enter` pushed is on top, since whatever was pushed later was popped.
            unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
        }
    }
}

/// What names an object of a context, and is destroyed once.
pub(crate) trait Handle: Copy {
    /// # Safety
    /// The object lives, its context is current, and it is used no more.
    unsafe fn destroy(self);
}

macro_rules! handles {
    ($($handle:ty, $destroy:ident;)*) => {
        $(impl Handle for $handle {
            unsafe fn destroy(self) {
                // SAFETY: the caller's word. An error leaves nothing to do.
                unsafe { sys::$destroy(self) };
            }
        })*
    };
}
handles! {
    CUdeviceptr, cuMemFree_v2;
    CUevent, cuEventDestroy_v2;
    CUmodule, cuModuleUnload;
    CUstream, cuStreamDestroy_v2;
}

/// An object of a context, destroyed with this.
#[derive(Debug)]
pub(crate) struct Owned<H: Handle> {
    handle: H,
    context: Arc<Context>,
}

// SAFETY: the handle names an object of the driver, which any thread may use while its context is current there (`enter`); it
// is destroyed once, when the only owner is dropped.
unsafe impl<H: Handle> Send for Owned<H> {}
// SAFETY: as above; the driver does its own locking.
unsafe impl<H: Handle> Sync for Owned<H> {}

impl<H: Handle> Drop for Owned<H> {
    fn drop(&mut self) {
        // A context that cannot be entered has taken the object with it.
        if let Ok(_current) = self.context.enter() {
            // SAFETY: the driver made it in this context, and whatever uses it borrows or holds this.
            unsafe { self.handle.destroy() };
        }
    }
}
