//! Modules, their functions, and launches.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;

use super::context::Owned;
use super::functions::{
    CUfunction, CUlaunchAttribute, CUlaunchConfig, CUmodule, CUstream, Failure, OTHER_CODE,
};
use super::library::{driver, message};
use super::{Context, Image, LaunchDims};
use crate::error::CudaError;
use crate::family::MACHINE_CODE_CUDA;

/// Device code, loaded.
pub(crate) type Module = Owned<CUmodule>;

/// Bytes of the compiler's messages that an error carries.
const LOG_BYTES: usize = 2048;

impl Module {
    /// Loads machine code. Returns `None` if the driver is older than the assembler that made it, or if the code is not for this
    /// device.
    pub fn load_machine(
        context: &Arc<Context>,
        code: &'static [u8],
    ) -> Result<Option<Arc<Self>>, CudaError> {
        if driver()?.version() < MACHINE_CODE_CUDA {
            return Ok(None);
        }
        match Self::load(context, Image::Machine(code)) {
            Err(CudaError::Driver { code, .. }) if OTHER_CODE.contains(&code.cast_signed()) => {
                Ok(None)
            }
            loaded => loaded.map(Some),
        }
    }

    /// Loads device code. PTX is compiled by the driver; an error then carries the compiler's messages.
    pub fn load(context: &Arc<Context>, image: Image<'_>) -> Result<Arc<Self>, CudaError> {
        /// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
        const OPTIONS: [c_int; 2] = [5, 6];
        let driver = driver()?;
        let _current = context.enter()?;
        let (start, count): (*const c_void, c_uint) = match image {
            Image::Ptx(text) => (text.as_ptr().cast(), 2),
            Image::Machine(code) => (code.as_ptr().cast(), 0),
        };
        let mut log = [0u8; LOG_BYTES];
        let values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG_BYTES)];
        let mut handle = CUmodule::NULL;
        // SAFETY: `handle` is writable, `start` is a whole image, and the options have a value each: a buffer, and its length.
        let loaded = unsafe {
            driver.cuModuleLoadDataEx(&mut handle, start, count, OPTIONS.as_ptr(), values.as_ptr())
        };
        loaded.map_err(|Failure { call, code }| {
            let text = log.split(|&byte| byte == 0).next().unwrap_or_default();
            let text = String::from_utf8_lossy(text.trim_ascii()).replace('\n', "; ");
            let separator = if text.is_empty() { "" } else { ": " };
            let message = format!("{}{separator}{text}", message(code));
            CudaError::Driver { call, code: code.cast_unsigned(), message }
        })?;
        Ok(Arc::new(Owned { handle, context: context.clone() }))
    }

    /// Returns the kernel with this name.
    pub fn function(self: &Arc<Self>, name: &str) -> Result<Function, CudaError> {
        let driver = driver()?;
        let _current = self.context.enter()?;
        // No kernel has a zero in its name: the part before it is not found.
        let name = CString::new(name.split('\0').next().unwrap_or_default()).unwrap_or_default();
        let mut handle = CUfunction::NULL;
        // SAFETY: `handle` is writable, the module is loaded, and `name` ends in a zero.
        unsafe {
            driver.cuModuleGetFunction(&mut handle, self.handle, name.as_ptr().cast::<c_char>())
        }?;
        Ok(Function { handle, module: self.clone() })
    }
}

/// A kernel. Keeps its module loaded.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    handle: CUfunction,
    module: Arc<Module>,
}

// SAFETY: the handle belongs to the module, which this value owns a share of, and which is `Send`.
unsafe impl Send for Function {}
// SAFETY: as above, with `Sync`.
unsafe impl Sync for Function {}

/// Two attributes at most: cooperative, and cluster size.
type Attributes = [CUlaunchAttribute; 2];

/// Returns the launch's attributes, and the number of them in use.
fn attributes(dims: LaunchDims) -> (Attributes, u32) {
    /// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`, by a C `int`.
    const COOPERATIVE: c_int = 2;
    /// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`, by three extents.
    const CLUSTER: c_int = 4;
    let mut attributes = [CUlaunchAttribute { id: 0, padding: 0, value: [0; 16] }; 2];
    let mut count = 0;
    let mut add = |id, value: &[u32]| {
        attributes[count as usize].id = id;
        attributes[count as usize].value[..value.len()].copy_from_slice(value);
        count += 1;
    };
    if dims.cooperative {
        add(COOPERATIVE, &[1]);
    }
    if dims.cluster > 1 {
        add(CLUSTER, &[dims.cluster, 1, 1]);
    }
    (attributes, count)
}

/// Calls `with` with the driver's form of a launch. Its attributes are alive during the call.
fn with_config<R>(
    dims: LaunchDims,
    stream: *mut c_void,
    with: impl FnOnce(*const CUlaunchConfig) -> R,
) -> R {
    let (attributes, attribute_count) = attributes(dims);
    with(&CUlaunchConfig {
        grid: [dims.groups, 1, 1],
        block: [dims.threads, 1, 1],
        shared_bytes: dims.shared_bytes,
        stream: CUstream(stream),
        attributes: attributes.as_ptr(),
        attribute_count,
    })
}

impl Function {
    /// Allows blocks with `bytes` bytes of dynamic shared memory.
    ///
    /// Sets the device's maximum, which depends on function and device only: threads that prepare different launches of one
    /// function write the same value.
    pub fn allow_shared(&self, bytes: u32) -> Result<(), CudaError> {
        /// `CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES`.
        const STATIC_SHARED: c_int = 1;
        /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
        const MAX_DYNAMIC_SHARED: c_int = 8;
        // Allowed by default, next to 1 KiB of static shared memory.
        if bytes <= 47 << 10 {
            return Ok(());
        }
        let driver = driver()?;
        let context = &self.module.context;
        let _current = context.enter()?;
        let mut fixed = 0;
        // SAFETY: `fixed` is writable, and the function is loaded.
        unsafe { driver.cuFuncGetAttribute(&mut fixed, STATIC_SHARED, self.handle) }?;
        let most = c_int::try_from(context.block_shared_bytes()?).unwrap_or(c_int::MAX) - fixed;
        // SAFETY: the function is loaded.
        Ok(unsafe { driver.cuFuncSetAttribute(self.handle, MAX_DYNAMIC_SHARED, most) }?)
    }

    /// Allows clusters of more than 8 blocks.
    pub fn allow_large_clusters(&self) -> Result<(), CudaError> {
        /// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
        const NON_PORTABLE_CLUSTER_SIZE: c_int = 14;
        let _current = self.module.context.enter()?;
        // SAFETY: the function is loaded.
        Ok(unsafe { driver()?.cuFuncSetAttribute(self.handle, NON_PORTABLE_CLUSTER_SIZE, 1) }?)
    }

    /// Returns the number of blocks that can be resident on a multiprocessor.
    pub fn blocks_per_unit(&self, threads: u32, shared_bytes: u32) -> Result<usize, CudaError> {
        let driver = driver()?;
        let _current = self.module.context.enter()?;
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        let mut blocks = 0;
        // SAFETY: `blocks` is writable, and the function is loaded.
        unsafe {
            driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.handle,
                threads,
                shared_bytes as usize,
            )
        }?;
        Ok(usize::try_from(blocks).unwrap_or(0))
    }

    /// Returns the number of clusters of this launch that can be resident on the device.
    pub fn clusters(&self, dims: LaunchDims) -> Result<usize, CudaError> {
        let driver = driver()?;
        let _current = self.module.context.enter()?;
        let mut clusters = 0;
        with_config(dims, ptr::null_mut(), |config| {
            // SAFETY: `clusters` is writable, the function is loaded, and nothing is launched.
            unsafe { driver.cuOccupancyMaxActiveClusters(&mut clusters, self.handle, config) }
        })?;
        Ok(usize::try_from(clusters).unwrap_or(0))
    }

    /// Returns the number of blocks of the largest cluster that this launch can have.
    pub fn largest_cluster(&self, dims: LaunchDims) -> Result<usize, CudaError> {
        let driver = driver()?;
        let _current = self.module.context.enter()?;
        let mut blocks = 0;
        with_config(dims, ptr::null_mut(), |config| {
            // SAFETY: `blocks` is writable, the function is loaded, and nothing is launched.
            unsafe { driver.cuOccupancyMaxPotentialClusterSize(&mut blocks, self.handle, config) }
        })?;
        Ok(usize::try_from(blocks).unwrap_or(0))
    }

    /// Queues a launch. `name` is called for an error only.
    ///
    /// # Safety
    /// - `parameters` points to each of the kernel's parameters, in order and of their sizes;
    /// - with these parameters and this grid, the kernel accesses only memory that it may, until it has ended;
    /// - `stream` is a stream of the module's context, or null for its default stream.
    pub unsafe fn launch(
        &self,
        dims: LaunchDims,
        parameters: &[*const c_void],
        stream: *mut c_void,
        name: impl FnOnce() -> String,
    ) -> Result<(), CudaError> {
        let driver = driver()?;
        let _current = self.module.context.enter()?;
        let queued = with_config(dims, stream, |config| {
            // SAFETY: the caller vouches for the parameters, which the driver copies, and for the kernel.
            unsafe {
                driver.cuLaunchKernelEx(config, self.handle, parameters.as_ptr(), ptr::null_mut())
            }
        });
        let LaunchDims { groups, threads, shared_bytes, .. } = dims;
        queued.map_err(|Failure { code, .. }| CudaError::Launch {
            kernel: name(),
            groups,
            threads,
            shared_bytes,
            code: code.cast_unsigned(),
            message: message(code),
        })
    }
}
