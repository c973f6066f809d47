//! What is timed of a plan, on a host and on a GPU.

use std::time::{Duration, Instant};

use turntile::plan::Plan;

/// What was measured of a plan.
pub struct Figures {
    pub workspace_bytes: usize,
    pub seconds: f64,
    /// For each byte copied.
    pub copy_seconds_per_byte: f64,
    pub planning: Duration,
    pub queueing: Option<Duration>,
    pub plan: Plan,
}

/// The middle one of some times, the later of two.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// How long planning takes: the median of five times.
pub fn planning<T, E>(plan: impl Fn() -> Result<T, E>) -> Result<Duration, E> {
    let mut times = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        plan()?;
        times.push(start.elapsed());
    }
    Ok(median(times))
}
