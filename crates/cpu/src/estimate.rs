//! How long a way takes: what decides it, looked up in the processor's table.

use std::cell::OnceCell;

use turntile_perm::slide::Round;
use turntile_perm::{Elementary, Slide};
use turntile_plan::costs::{Names, Sample};
use turntile_plan::{Costs, Direction, StageShape};

use crate::way::{HostWay, Mover};

/// What tables of processors name. The first two operations are no ways: how threads add up, a copy's speed by so many over
/// one's, and how much faster all is where caches hold all of the data.
pub const NAMES: Names = Names {
    operations: &[
        "threads",
        "cached",
        "swap",
        "tiles",
        "barrier",
        "gather",
        "cycles",
        "own_cycles",
        "rotate",
        "rounds",
        "shares",
        "blocks",
        "out_of_place",
    ],
    // Short cycles are found by walking: last, so that they are looked for last.
    quantities: &[
        "threads",
        "elem_bytes",
        "unit_bytes",
        "row_bytes",
        "slot_bytes",
        "instance_bytes",
        "bytes",
        "is_word",
        "backward",
        "balance",
        "short_cycles",
    ],
    constants: &["copy", "start", "fork", "worker", "kept", "home", "aside", "short_cycle"],
};

/// Numbers of the operations, in the order of their names.
#[derive(Clone, Copy)]
pub enum Operation {
    Threads,
    Cached,
    Swap,
    Tiles,
    Barrier,
    Gather,
    Cycles,
    OwnCycles,
    Rotate,
    Rounds,
    Shares,
    Blocks,
    OutOfPlace,
}

/// Numbers of the constants, in the order of their names.
#[derive(Clone, Copy)]
pub enum Constant {
    Copy,
    Start,
    /// Seconds until a second thread works and is waited for, and of each further one.
    Fork,
    Worker,
    /// Bytes that a core's own cache keeps from one stage to the next, and bytes a second that come back to it from the
    /// caches of cores that had a share.
    Kept,
    Home,
    /// What columns that are cut reach of a copy while they go aside and back.
    Aside,
    /// Super-elements of a cycle that counts as short.
    ShortCycle,
}

/// The numbers of quantities.
const THREADS: usize = quantity_number(b"threads");
const BYTES: usize = quantity_number(b"bytes");
const BALANCE: usize = quantity_number(b"balance");
/// The numbers of a copy's speed by one thread, a constant, and of what more reach of it, an operation.
pub const COPY: usize = Constant::Copy as usize;
pub const THREADS_COPY: usize = Operation::Threads as usize;
/// The number of the operation that says what caches do.
const CACHED: usize = Operation::Cached as usize;
/// The number of the first operation that is a way.
const WAYS: usize = Operation::Swap as usize;

/// The number of the quantity of that name.
const fn quantity_number(name: &[u8]) -> usize {
    let mut number = 0;
    while !NAMES.quantities[number].as_bytes().eq_ignore_ascii_case(name) {
        number += 1;
    }
    number
}

/// Bytes of the longest words: a vector.
const VECTOR_BYTES: usize = 16;

/// The operation that a way is; none for a copy itself.
fn operation(way: &HostWay, e: Option<Elementary>) -> Option<Operation> {
    Some(match way.mover() {
        Mover::Squares if e.is_some_and(|e| e.mid > 1) => Operation::Tiles,
        Mover::Squares => Operation::Swap,
        Mover::Barrier => Operation::Barrier,
        Mover::Gather | Mover::GatherBands(_) => Operation::Gather,
        Mover::Cycles => Operation::Cycles,
        Mover::OwnCycles => Operation::OwnCycles,
        Mover::Rotate => Operation::Rotate,
        Mover::Rounds(_) => Operation::Rounds,
        Mover::Shares => Operation::Shares,
        Mover::Blocks(_) => Operation::Blocks,
        Mover::OutOfPlace => Operation::OutOfPlace,
        // What was not measured is priced as what is most like it.
        Mover::Turn | Mover::Through => Operation::Swap,
        Mover::Keep | Mover::Exchange => Operation::Rounds,
        Mover::Copy => return None,
    })
}

/// What a way's seconds are made of, by any number of threads.
pub struct Price<'a> {
    way: &'a HostWay,
    costs: &'a Costs,
    /// None for a copy itself.
    operation: Option<Operation>,
    /// Up to the first of the two that are found when they are asked for; threads come in their place.
    quantities: [f64; BALANCE],
    short_cycles: OnceCell<bool>,
}

impl<'a> Price<'a> {
    /// Of a way, for its own number of threads and others.
    pub fn new(way: &'a HostWay, costs: &'a Costs) -> Self {
        let (shape, elem_bytes, parts) = (way.shape(), way.elem_bytes(), way.needs().parts);
        let e = shape.elementary();
        let yes = |is: bool| f64::from(u8::from(is));
        let (row, slot, backward) = match shape {
            StageShape::SlotGather { slots, direction, .. } => {
                (0, slots.slot(), *direction == Direction::Backward)
            }
            StageShape::Slide(rows) => (rows.cols(), 0, false),
            StageShape::Cut { rows, .. } => (rows.cols(), 0, false),
            _ => (e.map_or(0, |e| e.rows), 0, false),
        };
        let bytes_of = |elements: usize| (elements * elem_bytes).max(1) as f64;
        // Of slots, what is held at a time.
        let instance = match shape {
            StageShape::SlotGather { .. } => way.needs().scratch_bytes as f64,
            _ => bytes_of(shape.instance_len()),
        };
        Price {
            way,
            costs,
            operation: operation(way, e),
            // In the order of their names.
            quantities: [
                parts as f64,
                elem_bytes as f64,
                bytes_of(shape.unit()),
                bytes_of(row),
                bytes_of(slot),
                instance,
                bytes_of(shape.len()),
                yes(elem_bytes.is_power_of_two() && elem_bytes <= VECTOR_BYTES),
                yes(backward),
            ],
            short_cycles: OnceCell::new(),
        }
    }

    fn quantity(&self, parts: usize, which: usize) -> f64 {
        match which {
            THREADS => return parts as f64,
            BALANCE => return balance(self.way, parts),
            _ => {}
        }
        let most = self.costs.constant(Constant::ShortCycle as usize) as usize;
        let is_short = || self.way.shape().has_short_cycles(most);
        let short = || f64::from(u8::from(*self.short_cycles.get_or_init(is_short)));
        self.quantities.get(which).copied().unwrap_or_else(short)
    }

    /// Seconds beside those of the bytes.
    fn fixed(&self, parts: usize) -> f64 {
        let start = self.costs.constant(Constant::Start as usize);
        let threads = starts(self.way) * fork(self.costs, parts) + self.home(parts);
        start + threads + waits(self.way, self.costs, parts)
    }

    /// Seconds until what one core's cache kept, and other threads had a share of, is back there.
    fn home(&self, parts: usize) -> f64 {
        let bytes = self.quantities[BYTES];
        if bytes > self.costs.constant(Constant::Kept as usize) {
            return 0.0;
        }
        let away = bytes * (1.0 - 1.0 / parts as f64);
        away / self.costs.constant(Constant::Home as usize)
    }

    /// Seconds of a copy of as many bytes.
    fn copy(&self, parts: usize) -> f64 {
        let bytes = self.quantities[BYTES];
        let cached = self.costs.fraction(CACHED, |_| bytes);
        let passes = if self.way.mover() == Mover::Through { 2.0 } else { 1.0 };
        2.0 * passes * bytes / (copy_speed(self.costs, parts) * cached)
    }

    /// Estimated seconds by `parts` threads: a start, what waits, and every byte read and written at the speed that the
    /// table has for the way.
    pub fn seconds(&self, parts: usize) -> f64 {
        let quantity = |which| self.quantity(parts, which);
        let fraction = self.operation.map_or(1.0, |o| self.costs.fraction(o as usize, quantity));
        self.fixed(parts) + self.copy(parts) / fraction
    }
}

/// What a way that took `seconds` reached of a copy; none for a copy itself, and where most of the time is not the bytes'.
pub fn sample(way: &HostWay, costs: &Costs, seconds: f64) -> Option<Sample> {
    let (price, parts) = (Price::new(way, costs), way.needs().parts);
    let fixed = price.fixed(parts);
    // Where starts take most of the time, they are what was measured.
    if fixed > seconds / 2.0 {
        return None;
    }
    let fraction = price.copy(parts) / (seconds - fixed);
    let quantities = (0..NAMES.quantities.len()).map(|which| price.quantity(parts, which));
    let sample =
        Sample { operation: price.operation? as usize, quantities: quantities.collect(), fraction };
    (fraction > 0.0 && fraction.is_finite()).then_some(sample)
}

/// What shares of equal pieces `parts` threads have of a way's, where they take one at a time, over the largest.
fn balance(way: &HostWay, parts: usize) -> f64 {
    let pieces = match (way.mover(), way.shape()) {
        (Mover::Barrier | Mover::OwnCycles, shape) => shape.batch(),
        (Mover::Gather, StageShape::SlotGather { slots, .. }) => slots.chunks(),
        _ => return 1.0,
    };
    pieces as f64 / (pieces.div_ceil(parts).max(1) * parts) as f64
}

/// Seconds that `parts` threads take to start and to be waited for.
fn fork(costs: &Costs, parts: usize) -> f64 {
    match parts {
        0 | 1 => 0.0,
        _ => {
            let others = (parts - 2) as f64 * costs.constant(Constant::Worker as usize);
            costs.constant(Constant::Fork as usize) + others
        }
    }
}

/// How often a way's threads start, but for rounds of rows, each of which waits for the last.
fn starts(way: &HostWay) -> f64 {
    let each = match (way.mover(), way.shape()) {
        // What every thread reads beyond its own is kept first; backward the last chunk is written before the others.
        (Mover::GatherBands(_), StageShape::SlotGather { batch, direction, .. }) => {
            (2 + usize::from(*direction == Direction::Backward)) * batch
        }
        (Mover::Gather, StageShape::SlotGather { batch, .. }) => *batch,
        // Segments, then what is in none.
        (Mover::Cycles, _) => 2,
        (Mover::Shares, StageShape::Slide(rows)) if rows.is_up() => 2,
        (Mover::Rounds(_), _) => 0,
        _ => 1,
    };
    each as f64
}

/// Bytes a second, read and written, that `threads` threads copy.
pub fn copy_speed(costs: &Costs, threads: usize) -> f64 {
    costs.constant(COPY) * costs.fraction(THREADS_COPY, |_| threads as f64)
}

/// Seconds that no pass over `bytes` bytes is faster than, on so many threads as `counts` has.
pub fn least_seconds(costs: &Costs, bytes: usize, counts: impl Iterator<Item = usize>) -> f64 {
    let most = (WAYS..NAMES.operations.len()).map(|which| costs.most(which)).fold(1.0, f64::max);
    let most = most * costs.fraction(CACHED, |_| bytes as f64);
    let speed = counts.map(|threads| copy_speed(costs, threads)).fold(0.0, f64::max);
    costs.constant(Constant::Start as usize) + 2.0 * bytes as f64 / (speed * most)
}

/// Seconds that a way takes beside its start and its bytes'.
fn waits(way: &HostWay, costs: &Costs, parts: usize) -> f64 {
    match (way.mover(), way.shape()) {
        (_, StageShape::Cut { rows, .. }) => {
            // Columns that are cut go aside and back by one thread, transposed.
            let bytes = 2.0 * 2.0 * (rows.gaps() * way.elem_bytes()) as f64;
            bytes / (costs.constant(Constant::Aside as usize) * costs.constant(COPY))
        }
        (Mover::Rounds(least), StageShape::Slide(rows)) if parts > 1 => {
            rounds((way, parts), *rows, least, costs)
        }
        _ => 0.0,
    }
}

/// Seconds that rows moved in rounds take beyond those of their bytes: all threads for each round, and
/// one alone where rows go one by one.
fn rounds((way, parts): (&HostWay, usize), slide: Slide, least: usize, costs: &Costs) -> f64 {
    let fork = fork(costs, parts);
    let each = |Round { rows, together }| {
        let bytes = 2 * rows.len() * slide.cols() * way.elem_bytes();
        if together { fork } else { bytes as f64 / costs.constant(COPY) }
    };
    slide.rounds(least).map(each).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_core_keeps_stays_with_one_thread() {
        let most = |threads, rows, cols| {
            let problem = turntile_plan::Problem::new(rows, cols, 8).unwrap();
            let plan = turntile_plan::Planner::new(crate::Host::new(threads)).plan(&problem);
            plan.unwrap().stages().map(crate::Host::threads_of).max().unwrap()
        };
        for threads in [2, 4, 8, 16] {
            for (rows, cols) in [(300, 400), (77, 2003), (640, 480), (3000, 100), (513, 511)] {
                assert_eq!(most(threads, rows, cols), 1, "{rows}x{cols} by {threads}");
            }
            assert!(most(threads, 2000, 2000) > 1, "32 MB by {threads}");
        }
    }

    #[test]
    fn what_was_estimated_is_sampled_as_the_table_has_it() {
        let costs = crate::Host::new(1).costs().clone();
        let mut seen = 0;
        for (threads, (rows, cols, elem_bytes)) in
            [(1, (7200, 1800, 4)), (4, (4093, 8191, 4)), (2, (100_000, 8, 2)), (1, (3000, 3000, 3))]
        {
            let planner = turntile_plan::Planner::new(crate::Host::new(threads));
            let problem = turntile_plan::Problem::new(rows, cols, elem_bytes).unwrap();
            for plan in planner.survey(&problem).candidates {
                for stage in plan.stages() {
                    let way = stage.offer.geometry.get::<HostWay>().unwrap();
                    let Some(sample) = sample(way, &costs, stage.offer.seconds) else { continue };
                    let says = costs.fraction(sample.operation, |k| sample.quantities[k]);
                    assert!((sample.fraction / says - 1.0).abs() < 1e-6, "{stage}: {sample:?}");
                    seen += 1;
                }
            }
        }
        assert!(seen >= 40, "{seen} stages");
    }

    #[test]
    fn numbers_are_those_of_the_names() {
        assert_eq!(NAMES.operations[Operation::Threads as usize], "threads");
        assert_eq!(NAMES.operations[Operation::OwnCycles as usize], "own_cycles");
        assert_eq!(NAMES.operations[Operation::OutOfPlace as usize], "out_of_place");
        assert_eq!(NAMES.constants[Constant::ShortCycle as usize], "short_cycle");
        assert_eq!((NAMES.operations.len(), NAMES.quantities.len()), (13, 11));
        assert_eq!(NAMES.quantities[BYTES], "bytes");
        assert_eq!(NAMES.operations[WAYS], "swap");
        assert_eq!(NAMES.quantities[THREADS], "threads");
    }
}
