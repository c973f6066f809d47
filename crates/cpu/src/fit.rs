//! A processor's table moved to what was measured.

use turntile_plan::Costs;
use turntile_plan::costs::{Correction, Sample};

use crate::estimate::{
    BALANCE, BYTES, COPY, Constant, ELEM_BYTES, INSTANCE_BYTES, IS_WORD, NAMES, ROW_BYTES, THREADS,
    THREADS_COPY, UNIT_BYTES, WAYS,
};

/// A table of a processor whose threads start in so many seconds, each number of them ascending from two.
pub fn starting(costs: &Costs, seconds: &[(usize, f64)]) -> Costs {
    let Some(&(_, pair)) = seconds.first() else { return costs.clone() };
    let costs = costs.clone().with_constant(Constant::Fork as usize, rounded(pair));
    match seconds.last() {
        Some(&(threads, all)) if threads > 2 => {
            let each = ((all - pair) / (threads - 2) as f64).max(0.0);
            costs.with_constant(Constant::Worker as usize, rounded(each))
        }
        _ => costs,
    }
}

/// To two significant digits.
fn rounded(seconds: f64) -> f64 {
    format!("{seconds:.1e}").parse().unwrap_or(seconds)
}

/// A table of a processor that copies as many bytes a second, read and written, as each number of threads was measured to,
/// ascending from one; more than were measured add as much as the table says. How operations share is to be measured again.
pub fn copying(costs: &Costs, speeds: &[(usize, f64)], from: &str) -> Costs {
    let (Some(&(_, alone)), Some(&(most, all))) = (speeds.first(), speeds.last()) else {
        return costs.clone();
    };
    let measured = speeds.iter().map(|&(threads, speed)| (threads as f64, speed / alone));
    let at = |threads: f64| costs.fraction(THREADS_COPY, |_| threads);
    let more = costs.entries(THREADS_COPY).into_iter().filter_map(|entry| entry.at);
    let more = more
        .map(|(_, threads)| threads)
        .filter(|&threads| threads > most as f64)
        .map(|threads| (threads, all / alone * at(threads) / at(most as f64)));
    let points: Vec<_> = measured.chain(more).collect();
    let copied = costs.clone().with_constant(Constant::Copy as usize, alone.round());
    let copied = copied.with_curve(THREADS_COPY, THREADS, points.into_iter(), from);
    (WAYS..NAMES.operations.len()).fold(copied, |costs, which| costs.unscaled(which, THREADS))
}

/// A table whose every thread is worth as much as the first and starts at once, so that all are taken.
pub fn using_all(costs: &Costs, threads: usize) -> Costs {
    let alone = costs.constant(COPY);
    let costs = copying(costs, &[(1, alone), (threads.max(2), alone * threads.max(2) as f64)], "");
    [Constant::Fork, Constant::Worker, Constant::Kept]
        .into_iter()
        .fold(costs, |costs, constant| costs.with_constant(constant as usize, 0.0))
}

/// A table moved to samples: its curves to those of one thread that caches did not hold, then what is left of all of one
/// thread's, then how its operations share to the others.
pub fn fitted(costs: &Costs, samples: &[Sample], from: &str) -> Costs {
    let bytes = |sample: &Sample| sample.quantities[BYTES];
    let large = samples.iter().map(bytes).fold(0.0, f64::max) / LARGE;
    let (alone, shared): (Vec<_>, Vec<_>) =
        samples.iter().cloned().partition(|sample| sample.quantities[THREADS] <= 1.0);
    let uncached: Vec<_> = alone.iter().filter(|sample| bytes(sample) >= large).cloned().collect();
    let costs = costs.fitted(&uncached, from).corrected(&alone, &corrections(), from);
    costs.corrected(&shared, &shared_corrections(), from).limited(samples, from)
}

/// Samples of less than an eighth of the largest tell of caches.
const LARGE: f64 = 2.0 * 2.0 * 2.0;

/// What operations are told apart by beside what their curves are over: how much caches do for each, which is less where the
/// processor is what bounds it, as for short runs; how long instances are; and how long elements
/// are, those that are words and those that are none.
fn corrections() -> Vec<Correction> {
    let mut all = Vec::new();
    for runs in RUNS.windows(2) {
        let when = vec![(UNIT_BYTES, runs[0], runs[1] - 0.5)];
        all.push(Correction { over: BYTES, place: power, when });
    }
    for words in [0.0, 1.0].map(|is| (IS_WORD, is, is)) {
        all.push(Correction { over: ELEM_BYTES, place: |bytes| bytes, when: vec![words] });
    }
    all.push(Correction { over: UNIT_BYTES, place: power, when: Vec::new() });
    for elements in ELEMENTS.windows(2) {
        let when = vec![(ELEM_BYTES, elements[0], elements[1] - 0.5)];
        all.push(Correction { over: INSTANCE_BYTES, place: power, when: when.clone() });
        all.push(Correction { over: ROW_BYTES, place: power, when });
    }
    all
}

/// What operations of several threads are told apart by beside that: how many there are, how large all is, how long elements
/// and instances are, and how even the threads' shares.
fn shared_corrections() -> Vec<Correction> {
    let several = || vec![(THREADS, 2.0, MOST)];
    vec![
        Correction { over: THREADS, place: |threads| threads, when: several() },
        Correction { over: BYTES, place: power, when: several() },
        Correction { over: ELEM_BYTES, place: |bytes| bytes, when: several() },
        Correction { over: INSTANCE_BYTES, place: power, when: several() },
        Correction { over: BALANCE, place: |share| (8.0 * share).round() / 8.0, when: several() },
    ]
}

/// The nearest power of two.
fn power(bytes: f64) -> f64 {
    bytes.log2().round().exp2()
}

/// More than anything has, bytes or threads.
const MOST: f64 = 1e18;
/// Bytes at which kinds of elements begin, and kinds of runs: up to the next one they are told apart by no length.
const ELEMENTS: [f64; 5] = [0.0, 2.0, 3.0, 8.0, MOST];
const RUNS: [f64; 7] = [0.0, 4.0, 64.0, 256.0, 1024.0, 8192.0, MOST];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Host;
    use crate::estimate::{Operation, copy_speed};

    #[test]
    fn threads_share_as_they_were_measured_to() {
        let costs = copying(Host::new(1).costs(), &[(1, 30e9), (8, 90e9)], "here");
        // Of more the table has some: 4.5 times one's by 16, where it has 3.7 by 8.
        let speeds = [1, 8, 16, 99].map(|threads| (copy_speed(&costs, threads) / 1e9).round());
        assert_eq!(speeds, [30.0, 90.0, 109.0, 109.0]);
        let quantities =
            |threads: f64| [&[threads], &[4.0; NAMES.quantities.len() - 1][..]].concat();
        let barrier = Operation::Barrier as usize;
        let alone = costs.fraction(barrier, |k| quantities(1.0)[k]);
        let sample =
            Sample { operation: barrier, quantities: quantities(8.0), fraction: alone / 2.0 };
        let one = Sample { operation: barrier, quantities: quantities(1.0), fraction: alone };
        let shared = fitted(&costs, &[vec![sample; 200], vec![one]].concat(), "here");
        let at = |threads: f64| shared.fraction(barrier, |k| quantities(threads)[k]);
        assert!((at(1.0) / alone - 1.0).abs() < 1e-3);
        assert!((at(8.0) / alone - 0.5).abs() < 0.05 && at(4.0) < alone);
        let swap = Operation::Swap as usize;
        let same = |k: usize| quantities(8.0)[k];
        assert_eq!(shared.fraction(swap, same), costs.fraction(swap, same));
    }

    /// A machine whose processor bounds elements that are no words to a quarter, in caches and out of them, where others
    /// are four times as fast there.
    #[test]
    fn what_bounds_the_one_does_not_bound_the_other() {
        let costs = Host::new(1).costs().clone();
        let barrier = Operation::Barrier as usize;
        let sample = |bytes: f64, elem_bytes: f64| {
            let mut quantities = vec![64.0; NAMES.quantities.len()];
            (quantities[THREADS], quantities[BYTES]) = (1.0, bytes);
            (quantities[ELEM_BYTES], quantities[UNIT_BYTES]) = (elem_bytes, elem_bytes);
            quantities[IS_WORD] = f64::from(u8::from(elem_bytes != 3.0));
            let fraction = match (bytes < 1e7, elem_bytes == 3.0) {
                (_, true) => 0.1,
                (true, false) => 1.6,
                (false, false) => 0.4,
            };
            Sample { operation: barrier, quantities, fraction }
        };
        let bytes = (20..29).map(|bits| f64::from(1 << bits));
        let all: Vec<Sample> = bytes
            .flat_map(|bytes| [3.0, 4.0, 8.0].map(|word| vec![sample(bytes, word); 4]))
            .flatten()
            .collect();
        let fitted = fitted(&costs, &all, "here");
        for one in &all {
            assert!((0.7..1.4).contains(&fitted.over(one)), "{one:?}: {}", fitted.over(one));
        }
        // A reader of the table finds the same.
        let read = Costs::parse(&fitted.text(), NAMES).unwrap();
        assert_eq!(
            read.fraction(barrier, |k| all[0].quantities[k]),
            fitted.fraction(barrier, |k| all[0].quantities[k])
        );
    }

    #[test]
    fn small_samples_tell_of_caches() {
        let costs = Host::new(1).costs().clone();
        let sample = |bytes: f64, times: f64| {
            let mut quantities = vec![4.0; NAMES.quantities.len()];
            (quantities[THREADS], quantities[BYTES]) = (1.0, bytes);
            let fraction = times * costs.fraction(WAYS, |k| quantities[k]);
            Sample { operation: WAYS, quantities, fraction }
        };
        let of = |(bytes, times)| vec![sample(bytes, times); 40];
        let samples = [(1e6, 4.0), (1.1e6, 1.0), (8e6, 1.5), (2e8, 1.0)].map(of).concat();
        let fitted = fitted(&costs, &samples, "here");
        let times = |bytes: f64| {
            let at = |k: usize| sample(bytes, 1.0).quantities[k];
            fitted.fraction(WAYS, at) / costs.fraction(WAYS, at)
        };
        for (bytes, want) in [(1e3, 2.0), (1048576.0, 2.0), (8388608.0, 1.5), (2e8, 1.0)] {
            assert!((times(bytes) / want - 1.0).abs() < 0.1, "{bytes}: {}", times(bytes));
        }
    }
}
