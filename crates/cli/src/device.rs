//! Devices by name: the machine's own host and GPUs, which measure, and presets, which only plan.

use std::num::NonZeroUsize;

use anyhow::{Result, bail};
use turntile::gpu::Gpu;
use turntile::plan::GpuDevice;
use turntile_plan::Device as _;

/// A device to run on.
pub enum BenchDevice {
    /// CPU threads.
    Host,
    /// An NVIDIA GPU.
    Gpu(Gpu),
}

impl BenchDevice {
    /// `host`, `cuda` for the first GPU or `cuda:N`, refused where there is none; threads are the host's.
    pub fn find(name: &str, threads: Option<NonZeroUsize>) -> Result<Self> {
        let gpu = match (name, name.strip_prefix("cuda")) {
            ("host", _) => return Ok(BenchDevice::Host),
            (_, Some("")) => Some(0),
            (_, Some(number)) => number.strip_prefix(':').and_then(|number| number.parse().ok()),
            _ => None,
        };
        match (gpu, threads) {
            (None, _) if GpuDevice::preset(name).is_some() => {
                bail!("{name} is a preset, for plans alone; measure on host or cuda")
            }
            (None, _) => {
                let presets = GpuDevice::presets();
                let names: Vec<&str> = presets.iter().map(GpuDevice::name).collect();
                let names = names.join(", ");
                bail!(
                    "no device is named {name:?}; there are host, cuda, cuda:N; for plans also {names}"
                )
            }
            (Some(_), Some(_)) => bail!(of_host(name)),
            (Some(number), None) => Ok(BenchDevice::Gpu(Gpu::primary(number)?)),
        }
    }
}

/// Why threads are no option of that device.
pub fn of_host(name: &str) -> String {
    format!("--threads is for the host, not for device {name}")
}
