//! How often a thing is timed, and what comes of it.

use std::time::{Duration, Instant};

use anyhow::Result;
use turntile_plan::tuner::median;

/// What was measured, and a copy of as many bytes.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// 2 · bytes / median time.
    pub gb_per_s: f64,
    /// The same of a copy.
    pub copy_gb_per_s: f64,
}

/// Time for the runs of a case, of which there is at least one.
const PATIENCE: Duration = Duration::from_secs(1);

/// How things are timed.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Once, to try a command out.
    pub quick: bool,
}

impl Timing {
    /// Runs that are timed, and runs before them that are not.
    pub fn runs(self) -> (usize, usize) {
        match self.quick {
            true => (1, 0),
            false => (9, 2),
        }
    }

    /// Seconds of the middle one of several runs.
    pub fn median(self, mut run: impl FnMut() -> Result<Duration>) -> Result<f64> {
        let (timed, before) = self.runs();
        let mut times = Vec::new();
        let start = Instant::now();
        for _ in 0..before + timed {
            // The slowest are measured fewer times.
            if times.len() > before && start.elapsed() > PATIENCE {
                break;
            }
            times.push(run()?);
        }
        // A clock may not see the shortest runs.
        Ok(median(&times[before..]).as_secs_f64().max(1e-9))
    }
}

/// Refuses what left elements where they should not be.
pub fn right(what: &impl ToString, wrong: u64) -> Result<()> {
    anyhow::ensure!(wrong == 0, "{}: {wrong} elements are wrong", what.to_string());
    Ok(())
}
