//! How long a way takes: what decides it, looked up in the processor's table.

use std::cell::OnceCell;

use turntile_perm::RowSlide;
use turntile_perm::row_slide::SlideRound;
use turntile_plan::cost_table::{CostSchema, Sample};
use turntile_plan::{CostTable, Direction, StageMap};

use crate::kernel_config::{CpuKernel, CpuKernelConfig, SlideMethod};

/// Numbers, each with its name in tables of processors.
macro_rules! named {
    ($(#[$about:meta])* $kind:ident, $names:ident { $($(#[$doc:meta])* $name:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum $kind { $($(#[$doc])* $name,)* }
        const $names: &[&str] = &[$($text),*];
    };
}

named! {
    /// The first two are no ways: how threads add up, a copy's speed by so many over one's, and how much faster all is
    /// where caches hold all of the data.
    Operation, OPERATIONS {
        Threads = "threads",
        Cached = "cached",
        Swap = "swap",
        Tiles = "tiles",
        AxisSwap = "axis_swap",
        Barrier = "barrier",
        Gather = "gather",
        Cycles = "cycles",
        OwnCycles = "own_cycles",
        Rotate = "rotate",
        Rounds = "rounds",
        Shares = "shares",
        Blocks = "blocks",
        OutOfPlace = "out_of_place",
    }
}

named! {
    /// What an operation's speed depends on. Short cycles are found by walking: last, so that they are looked for last.
    Quantity, QUANTITIES {
        Threads = "threads",
        ElemBytes = "elem_bytes",
        UnitBytes = "unit_bytes",
        RowBytes = "row_bytes",
        SlotBytes = "slot_bytes",
        InstanceBytes = "instance_bytes",
        Bytes = "bytes",
        IsWord = "is_word",
        Backward = "backward",
        Balance = "balance",
        ShortCycles = "short_cycles",
    }
}

named! {
    /// What holds for every way.
    Constant, CONSTANTS {
        Copy = "copy",
        Start = "start",
        /// Seconds until a second thread works and is waited for, and of each further one.
        Fork = "fork",
        Worker = "worker",
        /// Bytes that a core's own cache keeps from one stage to the next, and bytes a second that come back to it from
        /// the caches of cores that had a share.
        Kept = "kept",
        Home = "home",
        /// What columns that are cut reach of a copy while they go aside and back.
        Aside = "aside",
        /// Super-elements of a cycle that counts as short.
        ShortCycle = "short_cycle",
    }
}

/// What tables of processors name.
pub const NAMES: CostSchema =
    CostSchema { operations: OPERATIONS, quantities: QUANTITIES, constants: CONSTANTS };

/// The numbers of a copy's speed by one thread, a constant, and of what more reach of it, an operation.
pub const COPY: usize = Constant::Copy as usize;
pub const THREADS_COPY: usize = Operation::Threads as usize;

/// Bytes of the longest words: a vector.
const VECTOR_BYTES: usize = 16;

/// What a mover's time depends on beside sizes.
struct Profile {
    /// None for a copy itself.
    operation: Option<Operation>,
    /// How often threads start, but for rounds of rows, each of which waits for the last.
    starts: usize,
    /// Equal pieces that threads take one at a time; 0 where shares are as equal as they can be.
    pieces: usize,
}

impl Profile {
    fn of(way: &CpuKernelConfig) -> Self {
        let batch = way.map.batch();
        let (operation, starts, pieces) = match way.kernel() {
            CpuKernel::SquareSwap(squares) if squares.mid > 1 => (Operation::Tiles, 1, 0),
            CpuKernel::InvolutionSwap(_) => (Operation::AxisSwap, 1, 0),
            CpuKernel::SquareSwap(_) => (Operation::Swap, 1, 0),
            CpuKernel::Barrier => (Operation::Barrier, 1, batch),
            CpuKernel::Gather(chunks, _) => (Operation::Gather, batch, chunks.slots.chunks()),
            // What every thread reads beyond its own is kept first; backward the last chunk is written before the others.
            CpuKernel::BandedGather(_, direction) => {
                (Operation::Gather, (2 + usize::from(*direction == Direction::Backward)) * batch, 0)
            }
            CpuKernel::RecordTiles(retile) => {
                let periods = retile.fields().records().div_ceil(retile.period());
                (Operation::Barrier, 1, periods)
            }
            CpuKernel::RecordGather(chunks, _) => (Operation::Gather, 1, chunks.slots.chunks()),
            // Segments, then what is in none.
            CpuKernel::Cycles => (Operation::Cycles, 2, 0),
            CpuKernel::TileRows(_) => (Operation::Cycles, 1, 0),
            CpuKernel::OwnCycles(_) => (Operation::OwnCycles, 1, batch),
            CpuKernel::Rotate => (Operation::Rotate, 1, 0),
            CpuKernel::Slide(rows, SlideMethod::Shares) if rows.is_up() => {
                (Operation::Shares, 2, 0)
            }
            CpuKernel::Slide(_, by) | CpuKernel::Cut(_, by, ..) => match by {
                SlideMethod::Rounds(_) => (Operation::Rounds, 0, 0),
                SlideMethod::Shares => (Operation::Shares, 1, 0),
                SlideMethod::Blocks(_) => (Operation::Blocks, 1, 0),
            },
            CpuKernel::OutOfPlace => (Operation::OutOfPlace, 1, 0),
            // What was not measured is priced as what is most like it.
            CpuKernel::TransposeRows(_) | CpuKernel::TransposeThroughScratch(_) => {
                (Operation::Swap, 1, 0)
            }
            CpuKernel::SaveGaps(..) | CpuKernel::SwapGaps(..) => (Operation::Rounds, 1, 0),
            CpuKernel::Copy => return Profile { operation: None, starts: 1, pieces: 0 },
        };
        Profile { operation: Some(operation), starts, pieces }
    }

    /// What shares of the pieces `parts` threads have over the largest.
    fn balance(&self, parts: usize) -> f64 {
        match self.pieces {
            0 => 1.0,
            pieces => pieces as f64 / (pieces.div_ceil(parts) * parts) as f64,
        }
    }
}

/// What a way's seconds are made of, by any number of threads.
pub struct Estimate<'a> {
    way: &'a CpuKernelConfig,
    costs: &'a CostTable,
    profile: Profile,
    /// By number, but for those that are found when they are asked for.
    quantities: [f64; QUANTITIES.len()],
    short_cycles: OnceCell<bool>,
}

impl<'a> Estimate<'a> {
    /// Of a way, for its own number of threads and others.
    pub fn new(way: &'a CpuKernelConfig, costs: &'a CostTable) -> Self {
        let (shape, elem_bytes) = (&way.map, way.elem_bytes);
        let yes = |is: bool| f64::from(u8::from(is));
        let (row, slot, backward) = match shape {
            StageMap::SlotGather { slots, direction, .. } => {
                (0, slots.slot(), *direction == Direction::Backward)
            }
            StageMap::RecordGather { slots, direction } => {
                (0, slots.slot(), *direction == Direction::Backward)
            }
            StageMap::Slide(rows) => (rows.cols(), 0, false),
            StageMap::Cut { rows, .. } => (rows.cols(), 0, false),
            _ => match way.kernel() {
                CpuKernel::InvolutionSwap(together) => (together * shape.unit(), 0, false),
                _ => (shape.elementary().map_or(0, |e| e.rows), 0, false),
            },
        };
        let bytes_of = |elements: usize| (elements * elem_bytes).max(1) as f64;
        // Of slots, what is held at a time.
        let instance = match shape {
            StageMap::SlotGather { .. }
            | StageMap::RecordGather { .. }
            | StageMap::RecordTiles(_) => way.resources().scratch_bytes.max(1) as f64,
            _ => bytes_of(shape.instance_len()),
        };
        let mut quantities = [0.0; QUANTITIES.len()];
        for (quantity, value) in [
            (Quantity::ElemBytes, elem_bytes as f64),
            (Quantity::UnitBytes, bytes_of(shape.unit())),
            (Quantity::RowBytes, bytes_of(row)),
            (Quantity::SlotBytes, bytes_of(slot)),
            (Quantity::InstanceBytes, instance),
            (Quantity::Bytes, bytes_of(shape.len())),
            (Quantity::IsWord, yes(elem_bytes.is_power_of_two() && elem_bytes <= VECTOR_BYTES)),
            (Quantity::Backward, yes(backward)),
        ] {
            quantities[quantity as usize] = value;
        }
        let (profile, short_cycles) = (Profile::of(way), OnceCell::new());
        Estimate { way, costs, profile, quantities, short_cycles }
    }

    fn constant(&self, constant: Constant) -> f64 {
        self.costs.constant(constant as usize)
    }

    fn quantity(&self, parts: usize, which: usize) -> f64 {
        const THREADS: usize = Quantity::Threads as usize;
        const BALANCE: usize = Quantity::Balance as usize;
        const SHORT_CYCLES: usize = Quantity::ShortCycles as usize;
        let is_short = || {
            let most = self.constant(Constant::ShortCycle) as usize;
            self.way.map.has_short_cycles(most)
        };
        match which {
            THREADS => parts as f64,
            BALANCE => self.profile.balance(parts),
            SHORT_CYCLES => f64::from(u8::from(*self.short_cycles.get_or_init(is_short))),
            _ => self.quantities[which],
        }
    }

    fn bytes(&self) -> f64 {
        self.quantities[Quantity::Bytes as usize]
    }

    /// Seconds beside those of the bytes.
    fn fixed(&self, parts: usize) -> f64 {
        let threads = self.profile.starts as f64 * fork(self.costs, parts) + self.home(parts);
        self.constant(Constant::Start) + threads + self.waits(parts)
    }

    /// Seconds beside the start and those of the bytes.
    fn waits(&self, parts: usize) -> f64 {
        match self.way.kernel() {
            CpuKernel::Cut(_, _, columns, _) => {
                // Columns that are cut go aside and back by one thread, transposed.
                let bytes = 2.0 * 2.0 * (columns.gaps() * self.way.elem_bytes) as f64;
                bytes / (self.constant(Constant::Aside) * self.constant(Constant::Copy))
            }
            CpuKernel::Slide(rows, SlideMethod::Rounds(least)) if parts > 1 => {
                rounds(rows, *least, parts, self.costs)
            }
            _ => 0.0,
        }
    }

    /// Seconds until what one core's cache kept, and other threads had a share of, is back there.
    fn home(&self, parts: usize) -> f64 {
        let bytes = self.bytes();
        if bytes > self.constant(Constant::Kept) {
            return 0.0;
        }
        let away = bytes * (1.0 - 1.0 / parts as f64);
        away / self.constant(Constant::Home)
    }

    /// Seconds of a copy of as many bytes.
    fn copy(&self, parts: usize) -> f64 {
        let bytes = self.bytes();
        let cached = self.costs.fraction(Operation::Cached as usize, |_| bytes);
        let passes = if matches!(self.way.kernel(), CpuKernel::TransposeThroughScratch(_)) {
            2.0
        } else {
            1.0
        };
        2.0 * passes * bytes / (copy_speed(self.costs, parts) * cached)
    }

    /// Estimated seconds by `parts` threads: a start, what waits, and every byte read and written at the speed that the
    /// table has for the way.
    pub fn seconds(&self, parts: usize) -> f64 {
        let quantity = |which| self.quantity(parts, which);
        let speed = |o: Operation| self.costs.fraction(o as usize, quantity);
        let fraction = self.profile.operation.map_or(1.0, speed);
        self.fixed(parts) + self.copy(parts) / fraction
    }
}

/// What a way that took `seconds` reached of a copy; none for a copy itself, and where most of the time is not the bytes'.
pub fn sample(way: &CpuKernelConfig, costs: &CostTable, seconds: f64) -> Option<Sample> {
    let (price, parts) = (Estimate::new(way, costs), way.resources().threads);
    let fixed = price.fixed(parts);
    // Where starts take most of the time, they are what was measured.
    if fixed > seconds / 2.0 {
        return None;
    }
    let fraction = price.copy(parts) / (seconds - fixed);
    let quantities = (0..NAMES.quantities.len()).map(|which| price.quantity(parts, which));
    let operation = price.profile.operation? as usize;
    let sample = Sample { operation, quantities: quantities.collect(), fraction };
    (fraction > 0.0 && fraction.is_finite()).then_some(sample)
}

/// Seconds that `parts` threads take to start and to be waited for.
fn fork(costs: &CostTable, parts: usize) -> f64 {
    match parts {
        0 | 1 => 0.0,
        _ => {
            let others = (parts - 2) as f64 * costs.constant(Constant::Worker as usize);
            costs.constant(Constant::Fork as usize) + others
        }
    }
}

/// Bytes a second, read and written, that `threads` threads copy.
pub fn copy_speed(costs: &CostTable, threads: usize) -> f64 {
    costs.constant(COPY) * costs.fraction(THREADS_COPY, |_| threads as f64)
}

/// Seconds that no pass over `bytes` bytes is faster than, on so many threads as `counts` has.
pub fn least_seconds(costs: &CostTable, bytes: usize, counts: impl Iterator<Item = usize>) -> f64 {
    let ways = Operation::Swap as usize..OPERATIONS.len();
    let most = ways.map(|which| costs.most(which)).fold(1.0, f64::max);
    let most = most * costs.fraction(Operation::Cached as usize, |_| bytes as f64);
    let speed = counts.map(|threads| copy_speed(costs, threads)).fold(0.0, f64::max);
    costs.constant(Constant::Start as usize) + 2.0 * bytes as f64 / (speed * most)
}

/// Seconds that rows, counted in bytes, moved in rounds take beyond those of their bytes: all threads for each round, and
/// one alone where rows go one by one.
fn rounds(rows: &RowSlide, least: usize, parts: usize, costs: &CostTable) -> f64 {
    let fork = fork(costs, parts);
    let each = |round: SlideRound| {
        let bytes = 2 * round.rows.len() * rows.cols();
        if round.together { fork } else { bytes as f64 / costs.constant(COPY) }
    };
    rows.rounds(least).map(each).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_core_keeps_stays_with_one_thread() {
        let most = |threads, rows, cols| {
            let problem = turntile_plan::Problem::new(rows, cols, 8).unwrap();
            let plan = turntile_plan::Planner::new(crate::CpuDevice::new(threads)).plan(&problem);
            plan.unwrap().stages().map(crate::CpuDevice::threads_of).max().unwrap()
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
        let costs = crate::CpuDevice::new(1).costs().clone();
        let mut seen = 0;
        for (threads, (rows, cols, elem_bytes)) in
            [(1, (7200, 1800, 4)), (4, (4093, 8191, 4)), (2, (100_000, 8, 2)), (1, (3000, 3000, 3))]
        {
            let planner = turntile_plan::Planner::new(crate::CpuDevice::new(threads));
            let problem = turntile_plan::Problem::new(rows, cols, elem_bytes).unwrap();
            for plan in planner.survey(&problem).candidates {
                for stage in plan.stages() {
                    let way = stage.implementation.launch_config.get::<CpuKernelConfig>().unwrap();
                    let Some(sample) = sample(way, &costs, stage.implementation.seconds) else {
                        continue;
                    };
                    let says = costs.fraction(sample.operation, |k| sample.quantities[k]);
                    assert!((sample.fraction / says - 1.0).abs() < 1e-6, "{stage}: {sample:?}");
                    seen += 1;
                }
            }
        }
        assert!(seen >= 40, "{seen} stages");
    }
}
