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

use turntile_cpu::Host;
use turntile_cuda::Chip;
use turntile_plan::costs::Sample;
use turntile_plan::{Costs, CostsError};

use crate::rates::{RatesError, refuse_other_kind};

pub use gpu::calibrate_gpu;
pub use host::calibrate;
pub use rates::{RateChange, RateUnit};
pub use samples::Change;

/// A table that was made here, and what it changes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Calibration {
    /// The table.
    pub costs: Costs,
    /// Stages that were timed.
    pub stages: usize,
    /// How many times as fast or as slow as estimated they were (geometric mean): by turntile's own table at this
    /// machine's speed of copies, and by this one.
    pub off: [f64; 2],
    /// What the table says otherwise than the one before, rate by rate.
    pub rates: Vec<RateChange>,
    /// The problems of those tried whose plan is another now.
    pub changes: Vec<Change>,
    /// Problems tried.
    pub problems: usize,
    /// How many times as fast they are expected to be, by the new table: the geometric mean of all.
    pub gain: f64,
    device: Measured,
}

/// What was measured.
#[derive(Clone, Debug)]
enum Measured {
    Host(Host),
    Chip(Chip),
}

/// Bytes of the problems that are planned by both tables beside the large ones of a host, to see what starts of threads
/// change.
const FEW_BYTES: usize = 2 << 20;
/// And of the large ones: more than the caches of server processors hold. Builds that compare what workers touch, byte by
/// byte, time no memory anyway.
const HOST_BYTES: usize = if cfg!(debug_assertions) { 16 << 20 } else { 192 << 20 };
const GPU_BYTES: usize = 1 << 30;

impl Calibration {
    /// Compared with the device's own table.
    fn new(device: Measured, costs: Costs, samples: &[Sample], base: &Costs) -> Self {
        let before = match &device {
            Measured::Host(host) => host.costs().clone(),
            Measured::Chip(chip) => chip.costs().clone(),
        };
        let off = [base, &costs].map(|costs| samples::off(costs, samples));
        let (stages, rates, changes) = (samples.len(), Vec::new(), Vec::new());
        Calibration { costs, stages, off, rates, changes, problems: 0, gain: 1.0, device }
            .compared(&before)
    }

    /// The same compared with the table that was planned by until now, of the same kind of device; at first it is compared
    /// with turntile's own.
    ///
    /// # Errors
    /// [`RatesError::Unusable`]: that table is of another kind.
    pub fn beside(self, before: &Costs) -> Result<Self, RatesError> {
        refuse_other_kind(before, &self.costs)?;
        Ok(self.compared(before))
    }

    fn compared(self, before: &Costs) -> Self {
        let (problems, kind, (changes, gain)) = match &self.device {
            Measured::Host(host) => {
                let mut problems = problems::both(HOST_BYTES);
                problems.extend(problems::in_place(FEW_BYTES));
                let by = |costs: &Costs| host.clone().with_costs(costs.clone());
                let changes = samples::changes(&by(before), &by(&self.costs), &problems);
                let copies = &[(Host::SHARES, "copy"), (Host::CACHED, "in caches")];
                let kind = rates::Kind { copy: Host::COPY, copies, seconds: Host::SECONDS };
                (problems, kind, changes)
            }
            Measured::Chip(chip) => {
                let problems = problems::both(GPU_BYTES);
                let by = |costs: &Costs| chip.clone().with_costs(costs.clone());
                let changes = samples::changes(&by(before), &by(&self.costs), &problems);
                (problems, rates::Kind { copy: Chip::COPY, copies: &[], seconds: &[] }, changes)
            }
        };
        let rates = rates::changes(before, &self.costs, &kind);
        Calibration { rates, changes, gain, problems: problems.len(), ..self }
    }

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
