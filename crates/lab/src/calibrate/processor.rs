//! A processor's table moved to what was measured.

use turntile_plan::CostTable;
use turntile_plan::cost_table::{Factor, FactorOp, Sample, Value};

use super::fit::{self, Correction, curved};

/// The number of a name among those of a table.
pub fn number(names: &[&str], name: &str) -> usize {
    names.iter().position(|other| *other == name).expect("a processor's table has it")
}

fn quantity(costs: &CostTable, name: &str) -> usize {
    number(costs.names().quantities, name)
}

fn constant(costs: &CostTable, name: &str) -> usize {
    number(costs.names().constants, name)
}

/// The first operation that is a way to move a stage: before it are how threads and caches speed up all of them.
fn first_way(costs: &CostTable) -> usize {
    number(costs.names().operations, "swap")
}

/// A table of a processor whose threads start in so many seconds, each number of them ascending from two.
pub fn starting(costs: &CostTable, seconds: &[(usize, f64)]) -> CostTable {
    let Some(&(_, pair)) = seconds.first() else { return costs.clone() };
    let costs = costs.clone().with_constant(constant(costs, "fork"), rounded(pair));
    match seconds.last() {
        Some(&(threads, all)) if threads > 2 => {
            let each = ((all - pair) / (threads - 2) as f64).max(0.0);
            let worker = constant(&costs, "worker");
            costs.with_constant(worker, rounded(each))
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
pub fn copying(costs: &CostTable, speeds: &[(usize, f64)], from: &str) -> CostTable {
    let (Some(&(_, alone)), Some(&(most, all))) = (speeds.first(), speeds.last()) else {
        return costs.clone();
    };
    let (shares, threads) =
        (number(costs.names().operations, "threads"), quantity(costs, "threads"));
    let measured = speeds.iter().map(|&(threads, speed)| (threads as f64, speed / alone));
    let at = |threads: f64| costs.fraction(shares, |_| threads);
    let curves = costs.factors(shares).iter().filter_map(|factor| match &factor.value {
        Value::Curve(curve) => Some(curve),
        Value::Number(_) => None,
    });
    let more = curves.flat_map(|curve| &curve.points).map(|point| point.quantity);
    let more = more
        .filter(|&threads| threads > most as f64)
        .map(|threads| (threads, all / alone * at(threads) / at(most as f64)));
    let points: Vec<_> = measured.chain(more).collect();
    let curve = curved(FactorOp::Set, threads, true, points.into_iter(), from);
    let copy = constant(costs, "copy");
    let mut copied =
        costs.clone().with_constant(copy, alone.round()).with_factors(shares, vec![curve]);
    let shared = |factor: &Factor| {
        matches!(&factor.value, Value::Curve(curve) if curve.over == threads)
            && factor.how == FactorOp::Times
    };
    for which in first_way(costs)..costs.names().operations.len() {
        let kept = copied.factors(which).iter().filter(|factor| !shared(factor)).cloned().collect();
        copied = copied.with_factors(which, kept);
    }
    copied
}

/// A table whose every thread is worth as much as the first and starts at once, so that all are taken.
pub fn using_all(costs: &CostTable, threads: usize) -> CostTable {
    let (alone, threads) = (costs.constant(constant(costs, "copy")), threads.max(2));
    let costs = copying(costs, &[(1, alone), (threads, alone * threads as f64)], "");
    ["fork", "worker", "kept"].into_iter().fold(costs, |costs, name| {
        let which = constant(&costs, name);
        costs.with_constant(which, 0.0)
    })
}

/// A table moved to samples: its curves to those of one thread that caches did not hold, then what is left of all of one
/// thread's, then how its operations share to the others.
pub fn fitted(costs: &CostTable, samples: &[Sample], from: &str) -> CostTable {
    let (bytes, threads) = (quantity(costs, "bytes"), quantity(costs, "threads"));
    let bytes = |sample: &Sample| sample.quantities[bytes];
    let large = samples.iter().map(bytes).fold(0.0, f64::max) / LARGE;
    let (alone, shared): (Vec<_>, Vec<_>) =
        samples.iter().cloned().partition(|sample| sample.quantities[threads] <= 1.0);
    let uncached: Vec<_> = alone.iter().filter(|sample| bytes(sample) >= large).cloned().collect();
    let moved = fit::fitted(costs, &uncached, from);
    let moved = fit::corrected(&moved, &alone, &corrections(costs), from);
    let moved = fit::corrected(&moved, &shared, &shared_corrections(costs), from);
    fit::limited(moved, samples, from)
}

/// Samples of less than an eighth of the largest show what caches do.
const LARGE: f64 = 2.0 * 2.0 * 2.0;

/// What distinguishes operations beside what their curves are over: how much caches do for each, which is less where the
/// processor is what bounds it, as for short runs; how long instances are; and how long elements
/// are, those that are words and those that are none.
fn corrections(costs: &CostTable) -> Vec<Correction> {
    let [unit_bytes, bytes, is_word, elem_bytes, instance_bytes, row_bytes] =
        ["unit_bytes", "bytes", "is_word", "elem_bytes", "instance_bytes", "row_bytes"]
            .map(|name| quantity(costs, name));
    let mut all = Vec::new();
    for runs in RUNS.windows(2) {
        let when = vec![(unit_bytes, runs[0], runs[1] - 0.5)];
        all.push(Correction { over: bytes, place: power, when });
    }
    for words in [0.0, 1.0].map(|is| (is_word, is, is)) {
        all.push(Correction { over: elem_bytes, place: |bytes| bytes, when: vec![words] });
    }
    all.push(Correction { over: unit_bytes, place: power, when: Vec::new() });
    for elements in ELEMENTS.windows(2) {
        let when = vec![(elem_bytes, elements[0], elements[1] - 0.5)];
        all.push(Correction { over: instance_bytes, place: power, when: when.clone() });
        all.push(Correction { over: row_bytes, place: power, when });
    }
    all
}

/// What distinguishes operations of several threads beside that: how many there are, how large all is, how long elements
/// and instances are, and how even the threads' shares.
fn shared_corrections(costs: &CostTable) -> Vec<Correction> {
    let [threads, bytes, elem_bytes, instance_bytes, balance] =
        ["threads", "bytes", "elem_bytes", "instance_bytes", "balance"]
            .map(|name| quantity(costs, name));
    let several = || vec![(threads, 2.0, MOST)];
    vec![
        Correction { over: threads, place: |threads| threads, when: several() },
        Correction { over: bytes, place: power, when: several() },
        Correction { over: elem_bytes, place: |bytes| bytes, when: several() },
        Correction { over: instance_bytes, place: power, when: several() },
        Correction { over: balance, place: |share| (8.0 * share).round() / 8.0, when: several() },
    ]
}

/// The nearest power of two.
fn power(bytes: f64) -> f64 {
    bytes.log2().round().exp2()
}

/// More than anything has, bytes or threads.
const MOST: f64 = 1e18;
/// Bytes at which kinds of elements begin, and kinds of runs: up to the next one length makes no difference.
const ELEMENTS: [f64; 5] = [0.0, 2.0, 3.0, 8.0, MOST];
const RUNS: [f64; 7] = [0.0, 4.0, 64.0, 256.0, 1024.0, 8192.0, MOST];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::table::text;
    use turntile::plan::CpuDevice;

    fn host() -> CostTable {
        CpuDevice::new(1).costs().clone()
    }

    /// Quantities that are all `all`, but for those.
    fn quantities(all: f64, but: &[(&str, f64)]) -> Vec<f64> {
        let names = host().names().quantities;
        let of = |name: &&str| but.iter().find(|one| one.0 == *name).map_or(all, |one| one.1);
        names.iter().map(of).collect()
    }

    fn operation(name: &str) -> usize {
        number(host().names().operations, name)
    }

    #[test]
    fn threads_share_as_they_were_measured_to() {
        let costs = copying(&host(), &[(1, 30e9), (8, 90e9)], "here");
        // Of more the table has some: 4.5 times one's by 16, where it has 3.7 by 8.
        let (copy, shares) = (costs.constant(constant(&costs, "copy")), operation("threads"));
        let speed = |threads: f64| copy * costs.fraction(shares, |_| threads);
        let speeds = [1.0, 8.0, 16.0, 99.0].map(|threads| (speed(threads) / 1e9).round());
        assert_eq!(speeds, [30.0, 90.0, 109.0, 109.0]);
        let quantities = |threads: f64| quantities(4.0, &[("threads", threads)]);
        let barrier = operation("barrier");
        let alone = costs.fraction(barrier, |k| quantities(1.0)[k]);
        let sample =
            Sample { operation: barrier, quantities: quantities(8.0), fraction: alone / 2.0 };
        let one = Sample { operation: barrier, quantities: quantities(1.0), fraction: alone };
        let shared = fitted(&costs, &[vec![sample; 200], vec![one]].concat(), "here");
        let at = |threads: f64| shared.fraction(barrier, |k| quantities(threads)[k]);
        assert!((at(1.0) / alone - 1.0).abs() < 1e-3);
        assert!((at(8.0) / alone - 0.5).abs() < 0.05 && at(4.0) < alone);
        let swap = operation("swap");
        let same = |k: usize| quantities(8.0)[k];
        assert_eq!(shared.fraction(swap, same), costs.fraction(swap, same));
    }

    /// A machine whose processor bounds elements that are no words to a quarter, in caches and out of them, where others
    /// are four times as fast there.
    #[test]
    fn what_bounds_the_one_does_not_bound_the_other() {
        let costs = host();
        let barrier = operation("barrier");
        let sample = |bytes: f64, elem_bytes: f64| {
            let is_word = f64::from(u8::from(elem_bytes != 3.0));
            let but = [
                ("threads", 1.0),
                ("bytes", bytes),
                ("elem_bytes", elem_bytes),
                ("unit_bytes", elem_bytes),
                ("is_word", is_word),
            ];
            let quantities = quantities(64.0, &but);
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
            assert!(
                (0.7..1.4).contains(&fit::over(&fitted, one)),
                "{one:?}: {}",
                fit::over(&fitted, one)
            );
        }
        // A reader of the table finds the same.
        let read = CpuDevice::costs_from(&text(&fitted)).unwrap();
        assert_eq!(
            read.fraction(barrier, |k| all[0].quantities[k]),
            fitted.fraction(barrier, |k| all[0].quantities[k])
        );
    }

    #[test]
    fn small_samples_are_of_caches() {
        let (costs, swap) = (host(), operation("swap"));
        let sample = |bytes: f64, times: f64| {
            let but = [("threads", 1.0), ("bytes", bytes)];
            let quantities = quantities(4.0, &but);
            let fraction = times * costs.fraction(swap, |k| quantities[k]);
            Sample { operation: swap, quantities, fraction }
        };
        let of = |(bytes, times)| vec![sample(bytes, times); 40];
        let samples = [(1e6, 4.0), (1.1e6, 1.0), (8e6, 1.5), (2e8, 1.0)].map(of).concat();
        let fitted = fitted(&costs, &samples, "here");
        let times = |bytes: f64| {
            let at = |k: usize| sample(bytes, 1.0).quantities[k];
            fitted.fraction(swap, at) / costs.fraction(swap, at)
        };
        for (bytes, want) in [(1e3, 2.0), (1048576.0, 2.0), (8388608.0, 1.5), (2e8, 1.0)] {
            assert!((times(bytes) / want - 1.0).abs() < 0.1, "{bytes}: {}", times(bytes));
        }
    }
}
