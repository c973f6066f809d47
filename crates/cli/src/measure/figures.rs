//! What is measured, and how.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use turntile::plan::Plan;
use turntile_plan::tuner::median;

use crate::memory::Pages;

/// How it is measured.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Threads of a host; all unless said.
    pub threads: Option<NonZeroUsize>,
    /// The pages of a host's memory.
    pub pages: Pages,
    /// Runs of each, of which the median counts: 7 on a host and 21 on a GPU unless said.
    pub runs: Option<NonZeroUsize>,
}

impl How {
    /// Threads that work.
    pub fn threads(self) -> usize {
        self.threads.map_or_else(turntile::threads::count, usize::from)
    }
}

/// What was measured; times are medians.
pub struct Figures {
    /// Bytes beside the data.
    pub workspace_bytes: usize,
    /// Of a run.
    pub seconds: f64,
    /// For each byte copied.
    pub copy_seconds_per_byte: f64,
    /// To make the plan again once the device is known and the kernels are loaded.
    pub planning: Duration,
    /// The host's share of a run on a GPU: what it takes to queue it.
    pub queueing: Option<Duration>,
    /// What ran.
    pub plan: Plan,
}

/// How long planning takes: the median of five times.
pub fn planning<T, E>(plan: impl Fn() -> Result<T, E>) -> Result<Duration, E> {
    let time = |_| {
        let start = Instant::now();
        plan().map(|_| start.elapsed())
    };
    Ok(median(&(0..5).map(time).collect::<Result<Vec<_>, E>>()?))
}
