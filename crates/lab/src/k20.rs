//! The thesis's own GPU, to plan for.

use turntile::plan::Chip;
use turntile_cuda::call::ChipLimits;

/// A Tesla K20 as the thesis measured it: 13 multiprocessors, 48 KiB on chip, no clusters and no launches whose blocks all
/// wait for each other.
pub fn k20() -> Chip {
    let limits = ChipLimits {
        units: 13,
        shared_bytes: 48 << 10,
        unit_shared_bytes: 48 << 10,
        cluster: 1,
        cooperative: false,
        ..*Chip::h200().limits()
    };
    let chip = Chip::h200().named("k20").with_limits(limits);
    chip.with_costs(
        Chip::costs_from(include_str!("../devices/k20.json")).expect("a table that tests read"),
    )
}
