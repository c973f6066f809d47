//! A device of old, as anyone may describe one.

use turntile::plan::Chip;
use turntile_cuda::call::Limits;

/// The thesis's K20: 13 multiprocessors, 48 KiB on chip, no clusters and no launches whose blocks all wait for each other.
pub fn k20() -> Chip {
    let limits = Limits {
        units: 13,
        shared_bytes: 48 << 10,
        unit_shared_bytes: 48 << 10,
        cluster: 1,
        cooperative: false,
        ..*Chip::h200().limits()
    };
    let chip = Chip::h200().named("k20").with_limits(limits);
    chip.with_table(include_str!("k20.json")).unwrap()
}
