//! Ranks candidates by stopwatch instead of by estimate.
//!
//! The tuner knows nothing of any device: it is handed a function that runs a plan once, on data of
//! the caller's that nobody else uses, and says how long that took.

use std::time::{Duration, Instant};

use crate::plan::Plan;

/// How much planning may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// The cost model alone: nothing runs. Takes microseconds for matrices, some milliseconds for many axes.
    #[default]
    Estimate,
    /// The best candidates and their tiles run for about this long, on memory of the planner's own
    /// that is as large as the problem.
    Measure(Duration),
}

/// A candidate and how long it took.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// The plan.
    pub plan: Plan,
    /// The median of its runs.
    pub time: Duration,
    /// How often it ran; every candidate here ran at least once.
    pub runs: usize,
}

/// What is called with each candidate's plan and first run, and with how many candidates there are.
pub type OnMeasured<'a> = &'a mut dyn FnMut(&Plan, Duration, usize);

/// Runs that the front-runners get, if the budget lasts.
const FULL_RUNS: usize = 5;
/// Runs that are not counted: with a single one of 5 ms the best estimate, which runs next, still seemed half as
/// fast as the rest and was dropped.
const WARM_UPS: usize = 16;
/// A candidate this much slower than the best so far is not run again.
const GIVE_UP_RATIO: f64 = 1.5;

/// Runs `candidates`, given best estimate first, for about `budget`, and ranks those that ran.
///
/// Every candidate gets one run in the order given; when half of the budget is gone the rest are
/// left out. Then the fastest run again, turn by turn so that all see the same machine, until each
/// has run five times or the budget is gone; whoever is 1.5 times slower than the best drops out. At
/// least one candidate runs, whatever the budget. The first runs of all are not counted: for a tenth of the
/// budget, or 16 runs, the machine warms up.
///
/// `seen` gets the first run of each as soon as it is over.
///
/// # Errors
/// The first error of `run` ends it.
pub fn measure<E>(
    candidates: Vec<Plan>,
    budget: Duration,
    mut run: impl FnMut(&Plan) -> Result<Duration, E>,
    seen: OnMeasured<'_>,
) -> Result<Vec<Measurement>, E> {
    let (start, all) = (Instant::now(), candidates.len());
    let mut field: Vec<(Plan, Vec<Duration>)> = Vec::new();
    if let Some(first) = candidates.first() {
        for _ in 0..WARM_UPS {
            run(first)?;
            if start.elapsed() > budget / 10 {
                break;
            }
        }
    }
    for plan in candidates {
        if !field.is_empty() && start.elapsed() > budget / 2 {
            break;
        }
        let time = run(&plan)?;
        seen(&plan, time, all);
        field.push((plan, vec![time]));
    }
    for runs in 2..=FULL_RUNS {
        field.sort_by_key(|(_, times)| median(times));
        let Some(best) = field.first().map(|(_, times)| median(times)) else { break };
        let in_reach = |times: &[Duration]| {
            times.len() + 1 == runs
                && median(times).as_secs_f64() <= GIVE_UP_RATIO * best.as_secs_f64()
        };
        for (plan, times) in field.iter_mut().filter(|(_, times)| in_reach(times)) {
            if start.elapsed() > budget {
                break;
            }
            times.push(run(plan)?);
        }
    }
    field.sort_by_key(|(_, times)| median(times));
    let measured = |(plan, times): (Plan, Vec<_>)| Measurement {
        plan,
        time: median(&times),
        runs: times.len(),
    };
    Ok(field.into_iter().map(measured).collect())
}

/// The middle of some times or numbers, of an even count the lower one.
///
/// # Panics
/// When there is none, or one that is no number.
pub fn median<T: Copy + PartialOrd>(values: &[T]) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("a number"));
    sorted[(sorted.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Toy;
    use crate::{Planner, Problem, TileRule};

    fn candidates() -> Vec<Plan> {
        let planner = Planner::new(Toy::default()).with_tiles(TileRule::Exhaustive);
        planner.survey(&Problem::new(720, 180, 4).unwrap()).candidates
    }

    #[test]
    fn the_fastest_wins_whatever_the_estimate_said() {
        let all = candidates();
        assert!(all.len() > 50);
        let favourite = all[all.len() / 3].clone();
        let (mut noise, mut seen) = (0, Vec::new());
        let run = |plan: &Plan| {
            noise = (noise * 7 + 3) % 11;
            let base = if *plan == favourite { 100 } else { 140 };
            Ok::<_, ()>(Duration::from_micros(base + noise))
        };
        let mut see = |plan: &Plan, _, of| seen.push((plan.clone(), of));
        let measured = measure(all.clone(), Duration::from_secs(60), run, &mut see).unwrap();
        // Each as it is measured, once.
        assert_eq!(seen, all.iter().map(|plan| (plan.clone(), all.len())).collect::<Vec<_>>());
        assert_eq!(measured.len(), all.len());
        assert_eq!((&measured[0].plan, measured[0].runs), (&favourite, FULL_RUNS));
        assert!(measured.is_sorted_by_key(|m| m.time));
    }

    #[test]
    fn the_hopeless_run_once() {
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
    fn without_a_budget_the_best_estimate_runs() {
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
    fn an_error_ends_it() {
        assert_eq!(
            measure(candidates(), Duration::from_secs(1), |_| Err("no"), &mut |_, _, _| {}),
            Err("no")
        );
    }
}
