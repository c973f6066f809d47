//! A table of costs made from what this machine does.
//!
//! The stages of the candidates of some dozens of problems are timed, each by itself beside a copy, and the
//! curves of the device's table are moved to what they reached. Results never depend on it, only which plan is tried first.
//!
//! | module | holds |
//! |---|---|
//! | `problems` | what is tried |
//! | `samples` | stages timed one by one, of any device |
//! | `host`, `gpu` | what they run on, copies, and whose table it is |
//! | `rates` | what changed |

mod gpu;
mod host;
mod problems;
mod rates;
mod samples;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use turntile_plan::{Costs, CostsError, Plan};

pub use gpu::calibrate_gpu;
pub use host::calibrate;
pub use rates::RateChange;

/// A table that was made here, and what it changes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Calibration {
    /// The table.
    pub costs: Costs,
    /// Stages that were timed.
    pub stages: usize,
    /// What the table says otherwise than the one that turntile has for the device, rate by rate.
    pub rates: Vec<RateChange>,
    /// The problems of those tried whose plan is another now.
    pub changes: Vec<Change>,
    /// Problems tried.
    pub problems: usize,
    /// How many times as fast they are expected to be, by the new table: the geometric mean of all.
    pub gain: f64,
}

impl Calibration {
    /// Writes the table, whole or not at all, as [`Transpose::rates`](crate::Transpose::rates) reads it. The directory
    /// must be there.
    ///
    /// # Errors
    /// What the system says of the file.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        self.costs.save(path).map_err(|error| match error {
            CostsError::Io { source, .. } => source,
            other => io::Error::other(other),
        })
    }
}

/// A problem whose plan is another under the new table.
#[derive(Clone, Debug)]
pub struct Change {
    /// The plan before.
    pub before: Plan,
    /// The plan now.
    pub after: Plan,
    /// How many times as fast it is expected to be, by the new table.
    pub gain: f64,
}
