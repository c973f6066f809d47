//! Loading and launching of the caller's own device code, for experiments and comparisons.
//!
//! All functions that run such code are `unsafe`: only the driver checks the code, and the caller is responsible for it. To time
//! and verify it, use [`Stopwatch::time_raw`](crate::Stopwatch::time_raw) and
//! [`Stopwatch::wrong_raw`](crate::Stopwatch::wrong_raw). All other launches of this crate were lowered and checked by it.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};

pub use crate::driver::LaunchDims;
use crate::driver::{Function, Image, Module};
use crate::error::CudaError;
use crate::gpu::Gpu;

/// Loaded entry points of the caller's device code.
#[derive(Debug)]
pub struct UserKernels {
    gpu: Gpu,
    entries: Vec<(String, Function)>,
}

impl Gpu {
    /// Loads PTX and finds its entry points named `entries`.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the driver rejects the code, or an entry point does not exist.
    ///
    /// # Safety
    /// `ptx` is PTX text. The driver detects machine code by its first bytes and takes its length from the code's header, which
    /// may exceed the string.
    pub unsafe fn load_kernels(
        &self,
        ptx: &CStr,
        entries: &[&str],
    ) -> Result<UserKernels, CudaError> {
        let module = Module::load(self.context(), Image::Ptx(ptx))?;
        let find = |&name: &&str| Ok((name.to_owned(), module.function(name)?));
        let entries = entries.iter().map(find).collect::<Result<_, CudaError>>()?;
        Ok(UserKernels { gpu: self.clone(), entries })
    }
}

impl UserKernels {
    /// Returns the names of the entry points, in the requested order.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the GPU that the code was loaded on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Queues a launch of entry point number `entry`, counted from 0, on `stream`. `parameters` holds a pointer to each
    /// parameter. If `config` needs more dynamic shared memory than the default limit, opts in to the device's maximum. Does not
    /// wait.
    ///
    /// # Errors
    /// [`CudaError::NoEntry`]: there is no entry point of that number. [`CudaError::Driver`] or [`CudaError::Launch`]: the driver
    /// rejects the launch. Nothing is queued then.
    ///
    /// # Safety
    /// - `parameters` points to one value per parameter of the entry point, in its order and of its types.
    /// - With these parameters and `config`, the kernel accesses only memory of the context of [`gpu`](Self::gpu). Until it has
    ///   ended, nothing else writes that memory or reads what the kernel writes.
    /// - If blocks wait for other blocks, those are certain to be running or done: the launch is cooperative, or blocks take
    ///   their numbers from a counter.
    /// - `stream` is a stream of that context, or null for its default stream.
    /// - This `UserKernels`, which owns the code, is not dropped until the queued work has ended.
    pub unsafe fn launch(
        &self,
        entry: usize,
        config: LaunchDims,
        parameters: &[*const c_void],
        stream: *mut c_void,
    ) -> Result<(), CudaError> {
        let have = self.entries.len();
        let (name, kernel) = self.entries.get(entry).ok_or(CudaError::NoEntry { entry, have })?;
        kernel.allow_shared(config.shared_bytes)?;
        // SAFETY: the caller guarantees the conditions above.
        unsafe { kernel.launch(config, parameters, stream, || name.clone()) }
    }
}
