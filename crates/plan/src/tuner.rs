//! Empirical tuning: ranks candidate plans by measured time instead of by estimate.
//!
//! The tuner does not depend on any device. The caller supplies a function that runs a plan once,
//! on data that nothing else uses, and returns the elapsed time.

use std::time::{Duration, Instant};

use crate::plan::Plan;

/// Planning effort: estimate or measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Uses only the cost model: no plan runs. Takes microseconds for matrices, and a few
    /// milliseconds for arrays with many axes.
    #[default]
    Estimate,
    /// Runs the candidates with the best estimates for about this duration. They run on a separate
    /// buffer of the problem's size.
    Measure(Duration),
}

/// Measured candidate.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// Plan that was measured.
    pub plan: Plan,
    /// Median time of its runs.
    pub time: Duration,
    /// Number of measured runs, at least 1.
    pub runs: usize,
}

/// Progress callback, called once per candidate after its first run.
///
/// Receives the plan, the time of the first run and the number of candidates.
pub type OnMeasured<'a> = &'a mut dyn FnMut(&Plan, Duration, usize);

/// Maximum number of measured runs per candidate.
const FULL_RUNS: usize = 5;
/// Maximum number of warm-up runs, which are not counted.
///
/// The candidate with the best estimate is measured next. With a
/// single warm-up of 5 ms it measured half as fast as the others and was dropped.
const WARM_UPS: usize = 16;
/// Ratio to the best median time above which a candidate is not run again.
const GIVE_UP_RATIO: f64 = 1.5;

/// Measures `candidates` for about `budget`, and returns the measured ones, fastest first.
///
/// Pass the candidates in the order of their estimates, best first. The measurement has three
/// steps:
///
/// 1. Warm-up: the first candidate runs up to 16 times, for at most a tenth of the budget. These
///    runs are not counted.
/// 2. Each candidate runs once, in the given order. After half of the budget, the remaining
///    candidates are skipped. At least one candidate runs, for any budget.
/// 3. The fastest candidates run again in rounds, so that all see the same machine state, until
///    each has five runs or the budget is spent. Candidates slower than 1.5 times the best drop
///    out.
///
/// # Errors
/// The first error that `run` returns.
pub fn measure<E>(
    candidates: Vec<Plan>,
    budget: Duration,
    mut run: impl FnMut(&Plan) -> Result<Duration, E>,
    on_measured: OnMeasured<'_>,
) -> Result<Vec<Measurement>, E> {
    let (start, count) = (Instant::now(), candidates.len());
    let mut measured: Vec<(Plan, Vec<Duration>)> = Vec::new();
    if let Some(first) = candidates.first() {
        for _ in 0..WARM_UPS {
            run(first)?;
            if start.elapsed() > budget / 10 {
                break;
            }
        }
    }
    for plan in candidates {
        if !measured.is_empty() && start.elapsed() > budget / 2 {
            break;
        }
        let time = run(&plan)?;
        on_measured(&plan, time, count);
        measured.push((plan, vec![time]));
    }
    for runs in 2..=FULL_RUNS {
        measured.sort_by_key(|(_, times)| median(times));
        let Some(best) = measured.first().map(|(_, times)| median(times)) else { break };
        let runs_again = |times: &[Duration]| {
            times.len() + 1 == runs
                && median(times).as_secs_f64() <= GIVE_UP_RATIO * best.as_secs_f64()
        };
        for (plan, times) in measured.iter_mut().filter(|(_, times)| runs_again(times)) {
            if start.elapsed() > budget {
                break;
            }
            times.push(run(plan)?);
        }
    }
    measured.sort_by_key(|(_, times)| median(times));
    let measurement = |(plan, times): (Plan, Vec<_>)| Measurement {
        plan,
        time: median(&times),
        runs: times.len(),
    };
    Ok(measured.into_iter().map(measurement).collect())
}

/// Returns the median of `values`, or the lower of the two middle values for an even count.
///
/// # Panics
/// If `values` is empty, or contains a NaN.
pub fn median<T: Copy + PartialOrd>(values: &[T]) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("values are comparable: not NaN"));
    sorted[(sorted.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Toy;
    use crate::{Planner, Problem, TileRule};

    fn candidates() -> Vec<Plan> {
        let planner = Planner::new(Toy::default()).with_tiles(TileRule::Exhaustive);
        planner.candidates(&Problem::new(720, 180, 4).unwrap()).candidates
    }

    #[test]
    fn measure_ranks_by_time_when_estimate_disagrees() {
        let all = candidates();
        assert!(all.len() > 50);
        let fastest = all[all.len() / 3].clone();
        let (mut noise, mut seen) = (0, Vec::new());
        let run = |plan: &Plan| {
            noise = (noise * 7 + 3) % 11;
            let base = if *plan == fastest { 100 } else { 140 };
            Ok::<_, ()>(Duration::from_micros(base + noise))
        };
        let mut on_measured = |plan: &Plan, _, count| seen.push((plan.clone(), count));
        let measured =
            measure(all.clone(), Duration::from_secs(60), run, &mut on_measured).unwrap();
        // The callback gets each candidate once, in the given order.
        assert_eq!(seen, all.iter().map(|plan| (plan.clone(), all.len())).collect::<Vec<_>>());
        assert_eq!(measured.len(), all.len());
        assert_eq!((&measured[0].plan, measured[0].runs), (&fastest, FULL_RUNS));
        assert!(measured.is_sorted_by_key(|m| m.time));
    }

    #[test]
    fn measure_runs_slow_candidates_once() {
        let all = candidates();
        let slow = all[1].clone();
        let run =
            |plan: &Plan| Ok::<_, ()>(Duration::from_micros(if *plan == slow { 400 } else { 100 }));
        let measured = measure(all, Duration::from_secs(60), run, &mut |_, _, _| {}).unwrap();
        let last = measured.last().unwrap();
        assert_eq!((&last.plan, last.runs), (&slow, 1));
        assert!(measured[..measured.len() - 1].iter().all(|m| m.runs == FULL_RUNS));
    }

    #[test]
    fn measure_runs_first_candidate_when_budget_is_zero() {
        let all = candidates();
        let run = |_: &Plan| Ok::<_, ()>(Duration::from_micros(1));
        let measured = measure(all.clone(), Duration::ZERO, run, &mut |_, _, _| {}).unwrap();
        assert_eq!((measured.len(), &measured[0].plan), (1, &all[0]));
        assert_eq!(
            measure(Vec::new(), Duration::ZERO, |_| Err(()), &mut |_, _, _| {}),
            Ok(Vec::new())
        );
    }

    #[test]
    fn measure_returns_first_error() {
        assert_eq!(
            measure(candidates(), Duration::from_secs(1), |_| Err("no"), &mut |_, _, _| {}),
            Err("no")
        );
    }
}
