//! The door for device code that is not this crate's: experiments and comparisons that bring kernels of their own.
//!
//! Nothing here is checked beyond what the driver checks, so all of it is `unsafe`: the caller vouches for what is
//! launched. Everything else of this crate launches what it made and checked itself. Times and comparisons come from a
//! stopwatch: [`Stopwatch::time_raw`](crate::Stopwatch::time_raw),
//! [`Stopwatch::wrong_raw`](crate::Stopwatch::wrong_raw).
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};

pub use crate::driver::LaunchDims;
use crate::driver::{Function, Image, Module};
use crate::error::CudaError;
use crate::gpu::Gpu;

/// Entry points of device code that somebody else wrote, loaded.
#[derive(Debug)]
pub struct UserKernels {
    gpu: Gpu,
    entries: Vec<(String, Function)>,
}

impl Gpu {
    /// Loads PTX and finds its `entries`.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the driver refuses the code, or has no entry point of such a name in it.
    ///
    /// # Safety
    /// `ptx` is PTX, a text. The driver recognises machine code by its first bytes, and reads as much of it as these
    /// say.
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
    /// Names of the entry points, in the order that they were asked for.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    /// Where.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Queues a launch of the entry point of that number, from 0, on `stream`; `parameters` points to each of
    /// its parameters. More than 48 KiB of shared memory are asked for where `config` has so many. Waits for nothing.
    ///
    /// # Errors
    /// [`CudaError::NoEntry`] for a number beyond the entry points; [`CudaError::Driver`] or [`CudaError::Launch`]:
    /// the driver refuses. Nothing was queued then.
    ///
    /// # Safety
    /// - `parameters` points to as many values as the entry point has parameters, in its order, of its types;
    /// - with these, in blocks of this config, it reads and writes only memory of the context of
    ///   [`gpu`](Self::gpu) that nothing else uses (or writes, where it only reads) until it has ended;
    /// - blocks that wait for others are launched so that those are sure to have begun: cooperatively, or with
    ///   numbers taken from a counter;
    /// - `stream` is a stream of that context, or null for its default stream;
    /// - this `UserKernels`, which holds the code, is not dropped until the queued work has ended.
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
        // SAFETY: the caller answers for all of it.
        unsafe { kernel.launch(config, parameters, stream, || name.clone()) }
    }
}
