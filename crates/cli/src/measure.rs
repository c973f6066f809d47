//! A transposition verified, then timed beside a copy of as many bytes in the same run: for `turntile bench`, and for the
//! lab's benchmarks.

mod figures;
mod gpu;
mod host;

use anyhow::Result;
use turntile::Transpose;
use turntile::plan::Problem;

use crate::device::Device;

pub use figures::{Figures, How};
pub use host::{copy, fill};

/// Verifies every element, then times.
///
/// # Errors
/// Elements that are not where they should be; what planning and running may end with.
pub fn measure(
    device: &Device,
    transpose: &Transpose,
    problem: &Problem,
    how: How,
) -> Result<Figures> {
    match device {
        Device::Host => host::measure(transpose, problem, how),
        Device::Gpu(gpu) => gpu::measure(gpu, transpose, problem, how),
    }
}

/// GB/s (10^9 bytes) of a transposition or a copy of `bytes` bytes: each is read once and written once.
pub fn gb_per_s(bytes: f64, seconds: f64) -> f64 {
    2.0 * bytes / seconds / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_and_written() {
        assert_eq!(gb_per_s(1.5e9, 2.0), 1.5);
        assert_eq!(gb_per_s(0.0, 1.0), 0.0);
    }
}
