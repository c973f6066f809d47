//! The backend on the driver's API. The crate's only unsafe code, with `driver/stopwatch.rs`.
#![allow(unsafe_code)]

mod stopwatch;

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use cust::memory::{DeviceCopy, DeviceSlice};
use cust::stream::Stream;
use cust::sys::{self, CUdevice_attribute, CUfunction, CUmodule, CUresult, CUstream};
use turntile_plan::{DeviceKind, Limits, Plan, rates};

use crate::call::{Call, Device, Workspace};
use crate::error::CudaError;
use crate::family::Family;
use crate::out_of_place::program::{Place, Program};
use crate::prepare::Work;

pub use stopwatch::Stopwatch;

/// `(family, word, architecture, machine code)`, empty unless built with feature `nvcc`.
const MACHINE_CODE: &[(&str, usize, c_int, &[u8])] =
    include!(concat!(env!("OUT_DIR"), "/machine_code.rs"));

/// Alignment that [`Gpu::prepare`] relies on; every allocation of the driver has it.
const ALIGNMENT: usize = 16;

/// A GPU, as the context that was current when it was made sees it.
///
/// Everything made from it belongs to that context, which must outlive it and be current on the
/// thread whenever something is prepared or run.
#[derive(Clone, Debug)]
pub struct Gpu(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: Limits,
    device: Device,
    architecture: c_int,
    modules: Mutex<HashMap<(Family, usize), Module>>,
}

#[derive(Debug)]
struct Module(CUmodule);

// SAFETY: a module's handle is an opaque pointer that the driver lets any thread use; it is unloaded once,
// when its only owner is dropped.
unsafe impl Send for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the handle came from cuModuleLoadData and nothing made of it outlives `Inner`. An error
        // (the context is gone already) leaves nothing to do.
        unsafe { sys::cuModuleUnload(self.0) };
    }
}

/// The driver's words for an answer.
fn message(code: CUresult) -> String {
    let mut text = ptr::null();
    // SAFETY: `text` is a place for a pointer to a static string, null for an unknown code.
    unsafe { sys::cuGetErrorString(code, &mut text) };
    if text.is_null() {
        return "unknown error".into();
    }
    // SAFETY: the driver's strings are static and end in a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn answer(call: &'static str, code: CUresult) -> Result<(), CudaError> {
    match code {
        CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(CudaError::Driver { call, code: code as u32, message: message(code) }),
    }
}

fn attribute(device: c_int, which: CUdevice_attribute) -> Result<usize, CudaError> {
    let mut value = 0;
    // SAFETY: `value` is a place for the answer.
    let code = unsafe { sys::cuDeviceGetAttribute(&mut value, which, device) };
    answer("cuDeviceGetAttribute", code)?;
    Ok(usize::try_from(value).unwrap_or(0))
}

impl Gpu {
    /// The GPU of that number, its primary context (the one that the CUDA runtime and PyTorch use) made
    /// current on this thread and kept until the process ends.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: there is no driver or no such device.
    pub fn primary(ordinal: usize) -> Result<Self, CudaError> {
        let ordinal = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        let (mut device, mut context) = (0, ptr::null_mut());
        // SAFETY: places for the answers; each call is made only after those that it needs.
        unsafe {
            answer("cuInit", sys::cuInit(0))?;
            answer("cuDeviceGet", sys::cuDeviceGet(&mut device, ordinal))?;
            let code = sys::cuDevicePrimaryCtxRetain(&mut context, device);
            answer("cuDevicePrimaryCtxRetain", code)?;
            answer("cuCtxSetCurrent", sys::cuCtxSetCurrent(context))?;
        }
        Self::current()
    }

    /// The GPU of the thread's current context.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: there is no driver, no device or no current context.
    pub fn current() -> Result<Self, CudaError> {
        let mut ordinal = 0;
        // SAFETY: `ordinal` is a place for the answer.
        answer("cuCtxGetDevice", unsafe { sys::cuCtxGetDevice(&mut ordinal) })?;
        let get = |which| attribute(ordinal, which);
        use CUdevice_attribute as A;
        let architecture = 10 * get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?
            + get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let device = Device {
            units: get(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            shared_bytes: get(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            cluster: if architecture >= 90 { 16 } else { 1 },
            cooperative: get(A::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? == 1,
        };
        let mut memory_bytes = 0;
        // SAFETY: `memory_bytes` is a place for the answer, `ordinal` a device.
        answer("cuDeviceTotalMem", unsafe {
            sys::cuDeviceTotalMem_v2(&mut memory_bytes, ordinal)
        })?;
        let mut name = [0 as std::ffi::c_char; 128];
        // SAFETY: `name` has 128 places and the driver writes at most that many, a final zero included.
        answer("cuDeviceGetName", unsafe {
            sys::cuDeviceGetName(name.as_mut_ptr(), 128, ordinal)
        })?;
        // SAFETY: as above, `name` ends in a zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let limits = Limits {
            name: name.into(),
            kind: DeviceKind::Gpu,
            units: device.units,
            warp: get(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            group_threads: get(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            group_bytes: device.shared_bytes,
            register_bytes: Limits::h200().register_bytes,
            cluster_groups: device.cluster,
            grid_barrier: device.cooperative,
            memory_bytes,
            rates: if architecture >= 90 { rates::H200 } else { rates::A100 },
        };
        let architecture = architecture as c_int;
        Ok(Gpu(Arc::new(Inner { limits, device, architecture, modules: Mutex::default() })))
    }

    /// What the planner knows of it.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// What decides its launches.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Loads what `plan` needs, for matrices at addresses that are multiples of 16; [`Work::of_plan`] and
    /// [`prepare_work`](Self::prepare_work) serve others.
    ///
    /// # Errors
    /// [`CudaError`]: the plan is not for a GPU, has a stage without a kernel here, or the driver refuses.
    pub fn prepare(&self, plan: &Plan) -> Result<Prepared, CudaError> {
        self.prepare_work(Work::of_plan(plan, ALIGNMENT, self.device())?)
    }

    /// Loads what `work` needs. Kernels are loaded once a family and word, and kept.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the driver refuses the code.
    pub fn prepare_work(&self, work: Work) -> Result<Prepared, CudaError> {
        let kernels =
            work.calls.iter().map(|call| self.kernel(call)).collect::<Result<Vec<_>, _>>()?;
        Ok(Prepared { gpu: self.clone(), work, kernels, own: None })
    }

    /// Loads what programs need that do the same with memory of less and less alignment.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the driver refuses the code.
    pub fn load(&self, programs: impl IntoIterator<Item = Program>) -> Result<Loaded, CudaError> {
        let load = |program: Program| {
            let kernels = program.steps.iter().map(|step| self.kernel(&step.call));
            Ok((kernels.collect::<Result<_, _>>()?, program))
        };
        let programs = programs.into_iter().map(load).collect::<Result<_, _>>()?;
        Ok(Loaded { gpu: self.clone(), programs })
    }

    /// An entry point; its module is loaded if it is not yet.
    fn function(
        &self,
        family: Family,
        word: usize,
        entry: &'static str,
    ) -> Result<Kernel, CudaError> {
        let mut modules = self.0.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let module = match modules.get(&(family, word)) {
            Some(module) => module.0,
            None => {
                let module = load(family, word, self.0.architecture)?;
                modules.entry((family, word)).or_insert(module).0
            }
        };
        let name = CString::new(entry).expect("entry points have no zero");
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded and `name` a string that ends in a zero.
        let code = unsafe { sys::cuModuleGetFunction(&mut function, module, name.as_ptr()) };
        answer("cuModuleGetFunction", code)?;
        Ok(Kernel(function))
    }

    fn kernel(&self, call: &Call) -> Result<Kernel, CudaError> {
        let kernel = self.function(call.family, call.word, call.entry)?;
        if call.shared_bytes > 48 << 10 {
            let bytes = call.shared_bytes as c_int;
            let which = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            kernel.at_least(which, bytes)?;
        }
        if call.cluster > 8 {
            kernel.allow_large_clusters()?;
        }
        Ok(kernel)
    }
}

/// Machine code for this architecture where there is some, else PTX.
fn load(family: Family, word: usize, architecture: c_int) -> Result<Module, CudaError> {
    let image = MACHINE_CODE
        .iter()
        .find(|code| (code.0, code.1, code.2) == (family.name(), word, architecture))
        .map_or(family.ptx(word).as_ptr(), |code| code.3.as_ptr());
    let mut module = ptr::null_mut();
    // SAFETY: `image` is a whole cubin, or PTX that ends in a zero.
    let code = unsafe { sys::cuModuleLoadData(&mut module, image.cast()) };
    answer("cuModuleLoadData", code)?;
    Ok(Module(module))
}

#[derive(Clone, Copy, Debug)]
struct Kernel(CUfunction);

// SAFETY: a function's handle is an opaque pointer that the driver lets any thread use; the module that
// it belongs to lives as long as the `Gpu` that every `Prepared` holds.
unsafe impl Send for Kernel {}
// SAFETY: as above; the driver does its own locking.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// Raises an attribute; other plans may have raised it more.
    fn at_least(self, which: sys::CUfunction_attribute, value: c_int) -> Result<(), CudaError> {
        let mut now = 0;
        // SAFETY: `now` is a place for the answer and the function is loaded.
        answer("cuFuncGetAttribute", unsafe { sys::cuFuncGetAttribute(&mut now, which, self.0) })?;
        if now >= value {
            return Ok(());
        }
        // SAFETY: the function is loaded.
        answer("cuFuncSetAttribute", unsafe { sys::cuFuncSetAttribute(self.0, which, value) })
    }

    /// Clusters of more than 8 blocks, which not every device of the architecture has.
    fn allow_large_clusters(self) -> Result<(), CudaError> {
        /// CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, younger than the bindings.
        const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: c_int = 14;
        unsafe extern "C" {
            #[link_name = "cuFuncSetAttribute"]
            fn set_attribute(function: CUfunction, which: c_int, value: c_int) -> CUresult;
        }
        // SAFETY: the same function as in the bindings, with the attribute as the plain number that a C
        // enumerator is; the kernel is loaded.
        let code = unsafe { set_attribute(self.0, NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) };
        answer("cuFuncSetAttribute", code)
    }

    /// Queues `call` on `stream` with the addresses that its parameter begins with, flags cleared first.
    ///
    /// # Safety
    /// The addresses are those of memory that the call may work on, as [`Prepared::run_raw`] says.
    unsafe fn queue(
        self,
        call: &Call,
        first: u64,
        second: Option<u64>,
        stream: CUstream,
    ) -> Result<(), CudaError> {
        if let (Workspace::Flags(bytes), Some(flags)) = (call.workspace, second) {
            // SAFETY: the caller's workspace is as long as the flags.
            let code = unsafe { sys::cuMemsetD8Async(flags, 0, bytes, stream) };
            answer("cuMemsetD8Async", code)?;
        }
        let fields = call.params.at(first, second);
        let mut parameters = [fields.bytes().as_ptr().cast_mut().cast::<c_void>()];
        let (groups, threads, shared) = (call.groups, call.threads, call.shared_bytes);
        let (parameters, extra) = (parameters.as_mut_ptr(), ptr::null_mut());
        // SAFETY: the kernel takes one parameter, the structure in `fields`; the driver copies it before it
        // returns and does not write it. What the kernel does to the addresses is the business of the caller.
        #[rustfmt::skip]
        let code = unsafe {
            if call.cooperative {
                sys::cuLaunchCooperativeKernel(
                    self.0, groups, 1, 1, threads, 1, 1, shared, stream, parameters,
                )
            } else {
                sys::cuLaunchKernel(
                    self.0, groups, 1, 1, threads, 1, 1, shared, stream, parameters, extra,
                )
            }
        };
        match code {
            CUresult::CUDA_SUCCESS => Ok(()),
            _ => Err(CudaError::Launch {
                kernel: call.kernel(),
                groups,
                threads,
                shared_bytes: shared,
                code: code as u32,
                message: message(code),
            }),
        }
    }
}

/// Device memory that a prepared plan owns.
#[derive(Debug)]
struct Memory {
    address: u64,
    bytes: usize,
}

impl Memory {
    fn new(bytes: usize) -> Result<Self, CudaError> {
        let mut address = 0;
        // SAFETY: `address` is a place for the answer.
        match unsafe { sys::cuMemAlloc_v2(&mut address, bytes.max(1)) } {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(CudaError::OutOfMemory { bytes }),
            code => answer("cuMemAlloc", code).map(|()| Memory { address, bytes }),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the address came from cuMemAlloc and is freed once; the driver waits for work that uses it.
        unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// A plan whose kernels are loaded: it can run any number of times.
#[derive(Debug)]
pub struct Prepared {
    // Keeps the modules of `kernels` loaded.
    #[allow(dead_code)]
    gpu: Gpu,
    work: Work,
    kernels: Vec<Kernel>,
    own: Option<Memory>,
}

impl Prepared {
    /// What it launches.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// The same with a workspace of its own, allocated here; runs of it must not overlap.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`].
    pub fn with_own_workspace(mut self) -> Result<Self, CudaError> {
        self.own = Some(Memory::new(self.work.workspace_bytes())?);
        Ok(self)
    }

    /// Queues the plan on `stream` for the matrix at device address `data`, of `bytes` bytes, with the
    /// workspace at the address and of the bytes given, or with its own. Allocates nothing, waits for
    /// nothing; errors of the kernels' runs show at the caller's next synchronisation.
    ///
    /// # Errors
    /// [`CudaError`]. Whatever is wrong with the arguments is found before anything is queued.
    ///
    /// # Safety
    /// - `data .. data + bytes` and the workspace are memory of the context that was current when the
    ///   plan was prepared, and that context is current now; the two do not overlap;
    /// - until the queued work has ended, nothing else reads or writes them;
    /// - `stream` is a stream of that context, or null for its default stream.
    pub unsafe fn run_raw(
        &self,
        stream: *mut c_void,
        data: u64,
        bytes: usize,
        workspace: Option<(u64, usize)>,
    ) -> Result<(), CudaError> {
        let own = self.own.as_ref().map_or((0, 0), |own| (own.address, own.bytes));
        let workspace = workspace.unwrap_or(own);
        self.work.check(data, bytes, workspace)?;
        let stream: CUstream = stream.cast();
        for (call, kernel) in self.work.calls.iter().zip(&self.kernels) {
            let second = call.params.second().map(|_| workspace.0);
            // SAFETY: `check` saw the lengths; the rest is the caller's.
            unsafe { kernel.queue(call, data, second, stream)? };
        }
        Ok(())
    }

    /// [`run_raw`](Self::run_raw) on a slice, with the plan's own workspace.
    ///
    /// # Errors
    /// [`CudaError`]; [`CudaError::Workspace`] if it needs one and has none of its own.
    ///
    /// # Safety
    /// - the context of the slice and of the stream is the one that the plan was prepared in, and is current;
    /// - until the queued work has ended, nothing else uses the slice.
    pub unsafe fn run<T: DeviceCopy>(
        &self,
        slice: &mut DeviceSlice<T>,
        stream: &Stream,
    ) -> Result<(), CudaError> {
        let address = slice.as_device_ptr().as_raw();
        let bytes = slice.len() * size_of::<T>();
        // SAFETY: the caller answers for context and exclusive use; the slice for its memory.
        unsafe { self.run_raw(stream.as_inner().cast(), address, bytes, None) }
    }
}

/// Launches over several buffers, their kernels loaded: they can run any number of times.
#[derive(Debug)]
pub struct Loaded {
    // Keeps the modules of the kernels loaded.
    #[allow(dead_code)]
    gpu: Gpu,
    programs: Vec<(Vec<Kernel>, Program)>,
}

impl Loaded {
    /// What it launches: the first of these whose alignment the memory has.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        self.programs.iter().map(|(_, program)| program)
    }

    /// Queues the launches on `stream` for buffers at these device addresses, of these bytes. Allocates
    /// nothing, waits for nothing.
    ///
    /// # Errors
    /// [`CudaError`]. Whatever is wrong with the arguments is found before anything is queued.
    ///
    /// # Safety
    /// - the buffers are memory of the context that was current when this was loaded, and it is current now;
    /// - until the queued work has ended, nothing else writes them, nor reads those that are written;
    /// - `stream` is a stream of that context, or null for its default stream.
    pub unsafe fn run_raw(&self, stream: *mut c_void, buffers: &[Place]) -> Result<(), CudaError> {
        let mut refused = None;
        for (kernels, program) in &self.programs {
            match program.check(buffers) {
                Err(why) => refused = Some(why),
                Ok(()) => {
                    for (step, kernel) in program.steps.iter().zip(kernels) {
                        let at = |buffer: usize| buffers[buffer].0;
                        let (first, second) = (at(step.first), step.second.map(at));
                        // SAFETY: `check` saw lengths, alignment and overlaps; the rest is the caller's.
                        unsafe { kernel.queue(&step.call, first, second, stream.cast())? };
                    }
                    return Ok(());
                }
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// [`run_raw`](Self::run_raw) of a transposition, from one slice to another.
    ///
    /// # Errors
    /// [`CudaError`].
    ///
    /// # Safety
    /// - the context of the slices and of the stream is the one that this was loaded in, and is current;
    /// - until the queued work has ended, nothing else uses `to` or writes `from`.
    pub unsafe fn run_into<T: DeviceCopy>(
        &self,
        to: &mut DeviceSlice<T>,
        from: &DeviceSlice<T>,
        stream: &Stream,
    ) -> Result<(), CudaError> {
        let place =
            |slice: &DeviceSlice<T>| (slice.as_device_ptr().as_raw(), slice.len() * size_of::<T>());
        // SAFETY: the caller answers for context and use; the slices for their memory.
        unsafe { self.run_raw(stream.as_inner().cast(), &[place(to), place(from)]) }
    }
}
