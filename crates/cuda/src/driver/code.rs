//! Modules and the functions in them.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;

use cust::sys::{self, CUfunction, CUfunction_attribute, CUmodule, CUresult, CUstream};

use super::super::{Image, LaunchDims};
use super::{Context, Owned, answer, message, number};
use crate::error::CudaError;

/// Device code, loaded.
pub(crate) type Module = Owned<CUmodule>;

impl Module {
    pub fn load(context: &Arc<Context>, image: Image<'_>) -> Result<Arc<Self>, CudaError> {
        let _current = context.enter()?;
        let start: *const c_void = match image {
            Image::Ptx(text) => text.as_ptr().cast(),
            Image::Machine(code) => code.as_ptr().cast(),
        };
        let mut handle = ptr::null_mut();
        // SAFETY: a place for the answer, and a whole image.
        number("cuModuleLoadData", unsafe { load_data(&mut handle, start) })?;
        Ok(Arc::new(Owned { handle, context: context.clone() }))
    }

    /// The entry point of that name.
    pub fn function(self: &Arc<Self>, name: &str) -> Result<Function, CudaError> {
        let _current = self.context.enter()?;
        // No entry point has a zero in its name: what comes after one is left out, and not found.
        let name = CString::new(name.split('\0').next().unwrap_or_default()).unwrap_or_default();
        let mut handle = ptr::null_mut();
        // SAFETY: a place for the answer, a loaded module, and a string that ends in a zero.
        let code = unsafe { sys::cuModuleGetFunction(&mut handle, self.handle, name.as_ptr()) };
        answer("cuModuleGetFunction", code)?;
        Ok(Function { handle, module: self.clone() })
    }
}

/// An entry point; its module stays loaded as long as it lives.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    handle: CUfunction,
    module: Arc<Module>,
}

// SAFETY: the handle belongs to the module, which is held, and is used as that is.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// `CUlaunchConfig`, younger than the bindings.
#[repr(C)]
struct RawLaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: CUstream,
    attributes: *const c_void,
    attribute_count: c_uint,
}

unsafe extern "C" {
    /// As in the bindings; reasons not to take code are younger than they.
    #[link_name = "cuModuleLoadData"]
    fn load_data(module: *mut CUmodule, image: *const c_void) -> c_int;
    // From CUDA 11.8 on.
    fn cuOccupancyMaxActiveClusters(
        clusters: *mut c_int,
        function: CUfunction,
        config: *const RawLaunchConfig,
    ) -> CUresult;
    fn cuOccupancyMaxPotentialClusterSize(
        blocks: *mut c_int,
        function: CUfunction,
        config: *const RawLaunchConfig,
    ) -> CUresult;
}

/// The form of both.
type ClusterQuery =
    unsafe extern "C" fn(*mut c_int, CUfunction, *const RawLaunchConfig) -> CUresult;

impl Function {
    /// Allows blocks with `bytes` bytes of dynamic shared memory, and with any more that the device has. It depends on the
    /// function and the device alone: threads that prepare different launches of one function write the same.
    pub fn allow_shared(&self, bytes: u32) -> Result<(), CudaError> {
        use CUfunction_attribute as F;
        // Every kernel may use this much beside what has a fixed size.
        if bytes <= 47 << 10 {
            return Ok(());
        }
        let context = &self.module.context;
        let _current = context.enter()?;
        let mut fixed = 0;
        // SAFETY: a place for the answer, and a loaded function.
        let code = unsafe {
            sys::cuFuncGetAttribute(&mut fixed, F::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, self.handle)
        };
        answer("cuFuncGetAttribute", code)?;
        let most = c_int::try_from(context.block_shared_bytes()?).unwrap_or(c_int::MAX) - fixed;
        let which = F::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is loaded.
        answer("cuFuncSetAttribute", unsafe { sys::cuFuncSetAttribute(self.handle, which, most) })
    }

    /// Allows clusters of more than 8 blocks.
    pub fn allow_large_clusters(&self) -> Result<(), CudaError> {
        /// CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, younger than the bindings.
        const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: c_int = 14;
        unsafe extern "C" {
            #[link_name = "cuFuncSetAttribute"]
            fn set_attribute(function: CUfunction, which: c_int, value: c_int) -> CUresult;
        }
        let _current = self.module.context.enter()?;
        // SAFETY: the same function as in the bindings, with the attribute as the plain number that a C
        // enumerator is; the kernel is loaded.
        let code = unsafe { set_attribute(self.handle, NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) };
        answer("cuFuncSetAttribute", code)
    }

    /// Blocks that a multiprocessor has room for at a time.
    pub fn blocks_per_unit(&self, threads: u32, shared_bytes: u32) -> Result<usize, CudaError> {
        let _current = self.module.context.enter()?;
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        let mut blocks = 0;
        // SAFETY: a place for the answer, and a loaded function.
        let code = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.handle,
                threads,
                shared_bytes as usize,
            )
        };
        answer("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        Ok(usize::try_from(blocks).unwrap_or(0))
    }

    /// Clusters that the device has room for at a time, of the size that the function was compiled for; 0 where
    /// the driver knows of none.
    pub fn clusters(&self, config: LaunchDims) -> Result<usize, CudaError> {
        self.ask("cuOccupancyMaxActiveClusters", cuOccupancyMaxActiveClusters, config)
    }

    /// Blocks of the largest cluster of a function that was compiled for none; 0 where the driver knows of none.
    pub fn largest_cluster(&self, config: LaunchDims) -> Result<usize, CudaError> {
        self.ask("cuOccupancyMaxPotentialClusterSize", cuOccupancyMaxPotentialClusterSize, config)
    }

    fn ask(
        &self,
        call: &'static str,
        query: ClusterQuery,
        config: LaunchDims,
    ) -> Result<usize, CudaError> {
        let _current = self.module.context.enter()?;
        let raw = RawLaunchConfig {
            grid: [config.groups, 1, 1],
            block: [config.threads, 1, 1],
            shared_bytes: config.shared_bytes,
            stream: ptr::null_mut(),
            attributes: ptr::null(),
            attribute_count: 0,
        };
        let mut value = 0;
        // SAFETY: a place for the answer, a loaded function, and a launch that is only asked about.
        match unsafe { query(&mut value, self.handle, &raw) } {
            // An older driver has no such function.
            CUresult::CUDA_ERROR_NOT_FOUND => Ok(0),
            code => answer(call, code).map(|()| usize::try_from(value).unwrap_or(0)),
        }
    }

    /// Queues a launch; `name` is for its error.
    ///
    /// # Safety
    /// - `parameters` points to each of the function's parameters, in order and of their sizes;
    /// - what the function does with them and with so many blocks is right, now and until it has ended;
    /// - `stream` is a stream of the module's context, or null for its default stream.
    pub unsafe fn launch(
        &self,
        config: LaunchDims,
        parameters: &[*const c_void],
        stream: *mut c_void,
        name: impl FnOnce() -> String,
    ) -> Result<(), CudaError> {
        let _current = self.module.context.enter()?;
        let LaunchDims { groups, threads, shared_bytes, cooperative } = config;
        let (stream, extra): (CUstream, _) = (stream.cast(), ptr::null_mut());
        // The driver reads the parameters, and copies them before it returns.
        let parameters = parameters.as_ptr().cast_mut().cast::<*mut c_void>();
        // SAFETY: the caller answers for the parameters and for what the function does.
        #[rustfmt::skip]
        let code = unsafe {
            if cooperative {
                sys::cuLaunchCooperativeKernel(
                    self.handle, groups, 1, 1, threads, 1, 1, shared_bytes, stream, parameters,
                )
            } else {
                sys::cuLaunchKernel(
                    self.handle, groups, 1, 1, threads, 1, 1, shared_bytes, stream, parameters, extra,
                )
            }
        };
        match code {
            CUresult::CUDA_SUCCESS => Ok(()),
            _ => Err(CudaError::Launch {
                kernel: name(),
                groups,
                threads,
                shared_bytes,
                code: code as u32,
                message: message(code as c_int),
            }),
        }
    }
}
