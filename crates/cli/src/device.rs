//! Devices by name: the machine's own host and GPUs, which measure, and presets, which only plan.

use std::num::NonZeroUsize;

use turntile::gpu::Gpu;
use turntile::plan::Chip;

use crate::error::Error;

/// A device to run on.
pub enum Device {
    /// CPU threads.
    Host,
    /// An NVIDIA GPU.
    Gpu(Gpu),
}

impl Device {
    /// `host`, `cuda` for the first GPU or `cuda:N`, refused where there is none; threads are the host's.
    pub fn find(name: &str, threads: Option<NonZeroUsize>) -> Result<Self, Error> {
        let gpu = match (name, name.strip_prefix("cuda")) {
            ("host", _) => return Ok(Device::Host),
            (_, Some("")) => Some(0),
            (_, Some(number)) => number.strip_prefix(':').and_then(|number| number.parse().ok()),
            _ => None,
        };
        match (gpu, threads) {
            (None, _) if Chip::preset(name).is_some() => {
                Err(Error::NotHere { name: name.to_string() })
            }
            (None, _) => Err(Error::UnknownDevice { name: name.to_string() }),
            (Some(_), Some(_)) => {
                Err(Error::HostOnly { option: "--threads", device: name.to_string() })
            }
            (Some(number), None) => Ok(Device::Gpu(Gpu::primary(number)?)),
        }
    }
}
