//! The thesis's own GPU, to plan for.

use turntile::plan::GpuDevice;
use turntile_cuda::launch::DeviceLimits;

/// A Tesla K20 as the thesis measured it: 13 multiprocessors, 48 KiB on chip, no clusters and no launches whose blocks all
/// wait for each other.
pub fn k20() -> GpuDevice {
    let limits = DeviceLimits {
        units: 13,
        shared_bytes: 48 << 10,
        unit_shared_bytes: 48 << 10,
        cluster: 1,
        cooperative: false,
        ..*GpuDevice::h200().limits()
    };
    let chip = GpuDevice::h200().named("k20").with_limits(limits);
    chip.with_costs(
        GpuDevice::costs_from(include_str!("../devices/k20.json"))
            .expect("a table that tests read"),
    )
}
