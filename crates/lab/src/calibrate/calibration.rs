//! A table that was made here, and what it changes.

use turntile::plan::{CostTable, Problem};
use turntile_plan::cost_table::Sample;

use super::samples::{self, Change, Tabled};

/// Bytes of the problems: large ones, more than the caches of server processors hold, and small ones of a host, to see
/// what starts of threads change. Builds that compare what workers touch, byte by byte, time no memory anyway.
pub const HOST_BYTES: usize = if cfg!(debug_assertions) { 16 << 20 } else { 192 << 20 };
pub const FEW_BYTES: usize = 2 << 20;
pub const GPU_BYTES: usize = 1 << 30;
/// A table that was made here, and what it changes.
pub struct Calibration {
    pub costs: CostTable,
    /// Stages that were timed.
    pub stages: usize,
    /// How many times as fast or as slow as estimated they were (geometric mean): by turntile's own table at this
    /// machine's speed of copies, and by this one.
    pub off: [f64; 2],
    /// The problems of those tried whose plan is another now.
    pub changes: Vec<Change>,
    pub problems: usize,
    /// How many times as fast they are expected to be, by the new table: the geometric mean of all.
    pub gain: f64,
}

impl Calibration {
    /// Compared with the table that was planned by until now; `base` is what the new one was made from.
    pub fn new<D: Tabled>(
        [before, base]: [&CostTable; 2],
        costs: CostTable,
        samples: &[Sample],
        problems: &[Problem],
        by: impl Fn(&CostTable) -> D,
    ) -> Self {
        let off = [base, &costs].map(|costs| samples::off(costs, samples));
        let (changes, gain) = samples::changes(&by(before), &by(&costs), problems);
        let (stages, problems) = (samples.len(), problems.len());
        Calibration { costs, stages, off, changes, problems, gain }
    }
}
