//! Devices by name: this machine's CPU and GPUs, and presets, which only plan.

use std::num::NonZeroUsize;

use anyhow::{Result, bail};
use turntile::gpu::Gpu;
use turntile::plan::GpuDevice;
use turntile_plan::Device as _;

/// A device to run on.
pub enum BenchDevice {
    /// CPU threads.
    Cpu,
    /// An NVIDIA GPU.
    Gpu(Gpu),
}

impl BenchDevice {
    /// Finds `cpu`, `cuda` (the first GPU) or `cuda:N`. Returns an error if there is no such GPU, or if `threads` are given for one.
    pub fn find(name: &str, threads: Option<NonZeroUsize>) -> Result<Self> {
        let gpu = match (name, name.strip_prefix("cuda")) {
            ("cpu", _) => return Ok(BenchDevice::Cpu),
            (_, Some("")) => Some(0),
            (_, Some(number)) => number.strip_prefix(':').and_then(|number| number.parse().ok()),
            _ => None,
        };
        match (gpu, threads) {
            (None, _) if GpuDevice::preset(name).is_some() => {
                bail!("{name} is a preset, which only plans; measure on cpu or cuda")
            }
            (None, _) => {
                let presets = GpuDevice::presets();
                let names: Vec<&str> = presets.iter().map(GpuDevice::name).collect();
                let names = names.join(", ");
                bail!(
                    "unknown device {name:?}: expected cpu, cuda or cuda:N; for plans also {names}"
                )
            }
            (Some(_), Some(_)) => bail!(cpu_only(name)),
            (Some(number), None) => Ok(BenchDevice::Gpu(Gpu::primary(number)?)),
        }
    }
}

/// The error for threads with a device that has none.
pub fn cpu_only(name: &str) -> String {
    format!("--threads is for the CPU, not for device {name}")
}
