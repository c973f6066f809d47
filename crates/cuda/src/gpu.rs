//! GPUs, their contexts and the code loaded in them.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use crate::driver::{Context, DeviceProperties, Function, Image, LaunchDims, Module};
use crate::error::{CudaError, LowerError};
use crate::family::{Family, NEEDED_ARCHITECTURE};
use crate::gpu_device::GpuDevice;
use crate::launch::{CheckedLaunch, DeviceLimits};
use crate::sync::BlockSync;

/// PTX of an empty kernel, with the ISA version and the oldest architecture that cluster kernels are compiled for.
const CLUSTER: &CStr =
    c".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry probe() { ret; }\n";

/// Oldest architecture with clusters.
const CLUSTER_ARCHITECTURE: usize = 90;

/// Maximum threads per block in a cluster kernel, and maximum blocks of a cluster in any compiled kernel.
const CLUSTER_THREADS: u32 = 1024;
const MOST_CLUSTER: usize = 16;

/// GPU and its CUDA context.
///
/// A primary context, as used by the CUDA runtime and PyTorch, is retained until the last value created from this `Gpu` is
/// dropped. Every call makes the context current on the calling thread and restores the previous one before it returns. A `Gpu`
/// and all values created from it can therefore be used and dropped on any thread. Clones share one context and the code loaded
/// in it.
#[derive(Clone, Debug)]
pub struct Gpu(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    chip: GpuDevice,
    /// Architecture whose machine code is loaded; `None` to load PTX only.
    machine_code: Option<usize>,
    modules: Mutex<HashMap<(Family, usize), Arc<ModuleSlot>>>,
    context: Arc<Context>,
}

/// Module, once loaded. Each slot has its own lock, separate from the map's: compiling one module does not block the use of
/// others.
type ModuleSlot = Mutex<Option<Arc<Module>>>;

impl Gpu {
    /// Returns GPU number `ordinal`, counted from 0, with its primary context.
    ///
    /// # Errors
    /// [`CudaError::NoDriver`] and [`CudaError::NoDevice`]: there is no driver or no GPU. [`CudaError::DriverTooOld`] and
    /// [`CudaError::DeviceTooOld`]: the driver or GPU is older than the device code. [`CudaError::Driver`]: there is no device of
    /// that number.
    pub fn primary(ordinal: usize) -> Result<Self, CudaError> {
        Self::of(Context::primary(ordinal)?, true)
    }

    /// Returns GPU number `ordinal`, but loads PTX only, as for drivers and devices without machine code.
    ///
    /// # Errors
    /// See [`primary`](Self::primary).
    #[doc(hidden)]
    pub fn primary_with_ptx(ordinal: usize) -> Result<Self, CudaError> {
        Self::of(Context::primary(ordinal)?, false)
    }

    /// Returns the GPU of the thread's current context. It must be a primary context, as created by the CUDA runtime and by
    /// `cust::quick_init`.
    ///
    /// # Errors
    /// See [`primary`](Self::primary). [`CudaError::Driver`]: no context is current. [`CudaError::NotPrimary`]: the context is
    /// not a primary one; use [`given`](Self::given).
    pub fn current() -> Result<Self, CudaError> {
        Self::of(Context::current()?, true)
    }

    /// Returns the GPU of a context (`CUcontext`) that the caller created. If the context is restricted to a number of
    /// multiprocessors (a green context or an execution affinity), [`device`](Self::device) reports that number, and plans use
    /// it.
    ///
    /// # Errors
    /// See [`primary`](Self::primary).
    ///
    /// # Safety
    /// `context` is a valid context. It is not destroyed before this `Gpu`, its clones and all values created from them are
    /// dropped, because only primary contexts can be retained. If the driver allows only one thread at a time to use the context,
    /// as for a green context, the caller ensures that.
    pub unsafe fn given(context: *mut c_void) -> Result<Self, CudaError> {
        // SAFETY: the caller guarantees that the context is valid and outlives the `Gpu`.
        Self::of(unsafe { Context::given(context) }?, true)
    }

    fn of(context: Arc<Context>, machine_code: bool) -> Result<Self, CudaError> {
        let found = context.properties()?;
        // Reject an old device before anything is planned.
        if found.architecture < NEEDED_ARCHITECTURE {
            return Err(CudaError::DeviceTooOld { device: found.name, have: found.architecture });
        }
        let limits = DeviceLimits {
            units: found.units,
            shared_bytes: found.shared_bytes,
            unit_shared_bytes: found.unit_shared_bytes,
            unit_threads: found.unit_threads,
            registers: found.registers,
            cluster: largest_cluster(&context, &found)?,
            cooperative: found.cooperative,
        };
        // The cost table was not measured for the GH200, whose memory is slower, or for MIG slices, which have fewer
        // multiprocessors.
        let measured =
            found.name.starts_with("NVIDIA H200") && limits.units == DeviceLimits::H200.units;
        let chip = if measured {
            GpuDevice::h200().with_limits(limits).named(found.name)
        } else {
            GpuDevice::like_h200(found.name, limits, found.peak_bandwidth)
        };
        let machine_code = machine_code.then_some(found.architecture);
        Ok(Gpu(Arc::new(Inner { chip, machine_code, modules: Mutex::default(), context })))
    }

    /// Returns the device to plan for: its name, limits and costs.
    pub fn device(&self) -> &GpuDevice {
        &self.0.chip
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.0.context
    }

    /// Checks that both GPUs share one context. Memory, streams and code can only be used within one context.
    pub(crate) fn same(&self, other: &Gpu) -> Result<(), CudaError> {
        self.context().is(other.context()).then_some(()).ok_or(CudaError::OtherGpu)
    }

    /// Loads a family's code for words of `word` bytes (1, 2, 4, 8 or 16). Call it before planning to learn whether the kernels
    /// are available. Loaded code stays loaded.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the driver rejects the code. [`CudaError::NoWord`]: `word` is not one of these sizes.
    pub fn load_family(&self, family: Family, word: usize) -> Result<(), CudaError> {
        if !word.is_power_of_two() || word > 16 {
            return Err(CudaError::NoWord { word });
        }
        self.module(family, word).map(|_| ())
    }

    fn module(&self, family: Family, word: usize) -> Result<Arc<Module>, CudaError> {
        let key = (family, family.module_word(word));
        let slot = {
            let mut modules = self.0.modules.lock().unwrap_or_else(PoisonError::into_inner);
            modules.entry(key).or_default().clone()
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = &*slot {
            return Ok(module.clone());
        }
        let machine = match self.0.machine_code {
            Some(architecture) => machine(self.context(), architecture, family, word)?,
            None => None,
        };
        let module = match machine {
            Some(module) => module,
            // The driver compiles the PTX.
            None => Module::load(self.context(), Image::Ptx(family.image(word)))?,
        };
        *slot = Some(module.clone());
        Ok(module)
    }

    /// Returns an entry point. Loads its module if necessary.
    pub(crate) fn function(
        &self,
        family: Family,
        word: usize,
        entry: &str,
    ) -> Result<Function, CudaError> {
        self.module(family, word)?.function(entry)
    }

    /// Returns the kernel of each launch, after checking that the device can hold its co-resident blocks.
    pub(crate) fn kernels(&self, calls: &[CheckedLaunch]) -> Result<Vec<Function>, CudaError> {
        let mut kernels: Vec<Function> = Vec::with_capacity(calls.len());
        for (number, call) in calls.iter().enumerate() {
            // Sliding rows in rounds takes many launches of one kernel. Query the driver for the first only.
            let known = number > 0 && call.needs_no_more_than(&calls[number - 1]);
            kernels.push(match kernels.last() {
                Some(last) if known => last.clone(),
                _ => self.kernel(call)?,
            });
        }
        Ok(kernels)
    }

    fn kernel(&self, call: &CheckedLaunch) -> Result<Function, CudaError> {
        let kernel = self.function(call.family, call.word, call.entry)?;
        let config = call.config();
        kernel.allow_shared(config.shared_bytes)?;
        let have = match call.sync() {
            BlockSync::Cluster => {
                if config.cluster > 8 {
                    kernel.allow_large_clusters()?;
                }
                kernel.clusters(config)?.saturating_mul(config.cluster as usize)
            }
            _ => {
                let each = kernel.blocks_per_unit(config.threads, config.shared_bytes)?;
                each.saturating_mul(self.0.chip.limits().units)
            }
        };
        let need = call.co_resident_blocks().max(1) as usize;
        if have < need {
            let why = LowerError::Together { need, have };
            return Err(CudaError::Infeasible { stage: call.kernel(), why });
        }
        Ok(kernel)
    }
}

/// Loads a family's machine code, if this GPU and driver can use any.
fn machine(
    context: &Arc<Context>,
    architecture: usize,
    family: Family,
    word: usize,
) -> Result<Option<Arc<Module>>, CudaError> {
    match family.machine(word, architecture) {
        Some(code) => Module::load_machine(context, code),
        None => Ok(None),
    }
}

/// Returns a kernel for querying cluster limits.
fn probe(context: &Arc<Context>, architecture: usize) -> Result<Function, CudaError> {
    match machine(context, architecture, Family::Check, 4)? {
        Some(module) => module.function("check_fill"),
        // Compiling this takes less time than compiling that family.
        None => Module::load(context, Image::Ptx(CLUSTER))?.function("probe"),
    }
}

/// Returns the largest power of two of blocks, up to 16, in a cluster of blocks with 1024 threads and the maximum shared memory.
/// Returns 1 if the device does not support clusters.
fn largest_cluster(context: &Arc<Context>, found: &DeviceProperties) -> Result<usize, CudaError> {
    if found.architecture < CLUSTER_ARCHITECTURE {
        return Ok(1);
    }
    let probe = probe(context, found.architecture)?;
    let shared_bytes = u32::try_from(found.shared_bytes).unwrap_or(u32::MAX);
    probe.allow_shared(shared_bytes)?;
    probe.allow_large_clusters()?;
    let groups = MOST_CLUSTER as u32;
    let config = LaunchDims {
        groups,
        threads: CLUSTER_THREADS,
        shared_bytes,
        cluster: 1,
        cooperative: false,
    };
    let blocks = probe.largest_cluster(config)?.min(found.units).clamp(1, MOST_CLUSTER);
    Ok(1 << blocks.ilog2())
}
