//! A GPU: what it offers, and code loaded on it.
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

/// A kernel that does nothing, of the version and the oldest architecture that the kernels for clusters are compiled for.
const CLUSTER: &CStr =
    c".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry probe() { ret; }\n";

/// Architectures from this on have clusters.
const CLUSTER_ARCHITECTURE: usize = 90;

/// Most threads of a block of a cluster's kernel, and most blocks of a cluster that there is a kernel for.
const CLUSTER_THREADS: u32 = 1024;
const MOST_CLUSTER: usize = 16;

/// A GPU and its context.
///
/// It holds a context: a device's primary one (the one that the CUDA runtime and PyTorch use) is retained, and
/// released when the last that was made of this `Gpu` is dropped. Every call makes it current on the calling
/// thread and restores what was current before; none leaves it current. So a `Gpu` and all that is made of it
/// can be used and dropped on any thread. Clones share one context and the code loaded in it.
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

/// A module, once loaded. Its lock is separate from the map's: compiling one module does not block the use of others.
type ModuleSlot = Mutex<Option<Arc<Module>>>;

impl Gpu {
    /// The GPU of that number, counted from 0, with its primary context.
    ///
    /// # Errors
    /// [`CudaError::NoDriver`] and [`CudaError::NoDevice`]: there is none. [`CudaError::DriverTooOld`] and
    /// [`CudaError::DeviceTooOld`]: for the device code. [`CudaError::Driver`]: there is no device of that number.
    pub fn primary(ordinal: usize) -> Result<Self, CudaError> {
        Self::of(Context::primary(ordinal)?, true)
    }

    /// Returns the GPU of that number, and loads PTX only, as on drivers and devices without machine code.
    ///
    /// # Errors
    /// As [`primary`](Self::primary).
    #[doc(hidden)]
    pub fn primary_with_ptx(ordinal: usize) -> Result<Self, CudaError> {
        Self::of(Context::primary(ordinal)?, false)
    }

    /// The GPU of the thread's current context, which must be a primary one, as those of the CUDA runtime and of
    /// `cust::quick_init` are.
    ///
    /// # Errors
    /// As [`primary`](Self::primary); [`CudaError::Driver`] where no context is current;
    /// [`CudaError::NotPrimary`], for which there is [`given`](Self::given).
    pub fn current() -> Result<Self, CudaError> {
        Self::of(Context::current()?, true)
    }

    /// The GPU of a context (`CUcontext`) that somebody else made. Of one that has a part of the multiprocessors (a green
    /// context, an execution affinity), [`device`](Self::device) has as many, and plans are for these.
    ///
    /// # Errors
    /// As [`primary`](Self::primary).
    ///
    /// # Safety
    /// `context` is a context, and is not destroyed before this `Gpu`, its clones and all that is made of
    /// them are dropped. (Nothing can retain such a context; a primary one is retained.) Where the driver lets only one thread
    /// at a time use it, as it does of a green context, so do these.
    pub unsafe fn given(context: *mut c_void) -> Result<Self, CudaError> {
        // SAFETY: the caller answers for the context.
        Self::of(unsafe { Context::given(context) }?, true)
    }

    fn of(context: Arc<Context>, machine_code: bool) -> Result<Self, CudaError> {
        let found = context.properties()?;
        // Rejected here, before anything is planned.
        if found.architecture < NEEDED_ARCHITECTURE {
            return Err(CudaError::DeviceTooOld { device: found.name, have: found.architecture });
        }
        let limits = DeviceLimits {
            units: found.units,
            shared_bytes: found.shared_bytes,
            unit_shared_bytes: found.unit_shared_bytes,
            registers: found.registers,
            cluster: largest_cluster(&context, &found)?,
            cooperative: found.cooperative,
        };
        // The GH200's memory is slower, and MIG slices have fewer multiprocessors.
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

    /// What it is and offers: the device to plan for.
    pub fn device(&self) -> &GpuDevice {
        &self.0.chip
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.0.context
    }

    /// That both are of one context, in which alone memory, streams and code go together.
    pub(crate) fn same(&self, other: &Gpu) -> Result<(), CudaError> {
        self.context().is(other.context()).then_some(()).ok_or(CudaError::OtherGpu)
    }

    /// Loads a family's code for words of `word` bytes (1, 2, 4, 8 or 16) now, so that it is known before anything is
    /// planned whether its kernels can be had here. What loads stays loaded.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the driver refuses the code. [`CudaError::NoWord`]: there is no such word.
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
            // The driver compiles it.
            None => Module::load(self.context(), Image::Ptx(family.image(word)))?,
        };
        *slot = Some(module.clone());
        Ok(module)
    }

    /// An entry point; its module is loaded if it is not yet.
    pub(crate) fn function(
        &self,
        family: Family,
        word: usize,
        entry: &str,
    ) -> Result<Function, CudaError> {
        self.module(family, word)?.function(entry)
    }

    /// The kernels of launches, each with room for its blocks.
    pub(crate) fn kernels(&self, calls: &[CheckedLaunch]) -> Result<Vec<Function>, CudaError> {
        let mut kernels: Vec<Function> = Vec::with_capacity(calls.len());
        for (number, call) in calls.iter().enumerate() {
            // Rows that slide in rounds are many launches of the same kernel, which is asked about once.
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

/// Loads the machine code of a family, if there is any for this GPU and driver.
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

/// A kernel to ask about clusters.
fn probe(context: &Arc<Context>, architecture: usize) -> Result<Function, CudaError> {
    match machine(context, architecture, Family::Check, 4)? {
        Some(module) => module.function("check_fill"),
        // Sooner compiled than that family.
        None => Module::load(context, Image::Ptx(CLUSTER))?.function("probe"),
    }
}

/// Blocks of the largest cluster that a kernel of the most threads and shared memory can have here, of the sizes
/// that there are kernels for; 1 where there are no clusters.
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
