//! Cost model: estimated seconds of a stage, from the processor's cost table.

use std::cell::OnceCell;

use turntile_perm::RowSlide;
use turntile_perm::row_slide::SlideRound;
use turntile_plan::cost_table::{CostSchema, Sample};
use turntile_plan::{CostTable, Direction, StageMap};

use crate::chunk_gather::is_narrow;
use crate::kernel_config::{CpuKernel, CpuKernelConfig, SlideMethod};

/// Defines an enum and the names of its variants in cost tables.
macro_rules! string_names {
    ($(#[$about:meta])* $kind:ident, $names:ident { $($(#[$doc:meta])* $name:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum $kind { $($(#[$doc])* $name,)* }
        const $names: &[&str] = &[$($text),*];
    };
}

string_names! {
    /// Cost curves. `Threads` is the copy speed of several threads relative to one, and `Cached`
    /// the speed-up if all data fit the caches. The others are speeds of kernels relative to a
    /// copy.
    CostCurve, COST_CURVES {
        Threads = "threads",
        Cached = "cached",
        Swap = "swap",
        Tiles = "tiles",
        AxisSwap = "axis_swap",
        Barrier = "barrier",
        Gather = "gather",
        Cycles = "cycles",
        OwnCycles = "own_cycles",
        Pieces = "pieces",
        Rotate = "rotate",
        Rounds = "rounds",
        Shares = "shares",
        Blocks = "blocks",
        OutOfPlace = "out_of_place",
    }
}

string_names! {
    /// Quantities on which the speed of an operation depends. `ShortCycles` is evaluated last,
    /// because it is found by walking cycles.
    Feature, FEATURES {
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

string_names! {
    /// Constants that apply to all operations.
    Constant, CONSTANTS {
        Copy = "copy",
        Start = "start",
        /// Seconds to start a second thread and wait for it; `Worker` is the same for each further
        /// thread.
        Fork = "fork",
        Worker = "worker",
        /// Maximum bytes of data that a core's own caches retain from one stage to the next.
        ResidentBytes = "kept",
        /// Bytes per second that return to a core from the caches of other cores.
        TransferRate = "home",
        /// Speed of saving and restoring cut columns, as a fraction of a copy's.
        ColumnSpeed = "aside",
        /// Maximum number of super-elements of a short cycle.
        ShortCycle = "short_cycle",
    }
}

/// Schema of the cost tables of processors.
pub const NAMES: CostSchema =
    CostSchema { operations: COST_CURVES, quantities: FEATURES, constants: CONSTANTS };

/// Index of the constant for the copy speed of one thread.
pub const COPY: usize = Constant::Copy as usize;
/// Index of the cost curve for the copy speed of several threads, relative to one.
pub const THREADS_COPY: usize = CostCurve::Threads as usize;

/// Properties of a kernel, other than sizes, on which its time depends.
struct Profile {
    /// Cost curve, or `None` for a plain copy.
    operation: Option<CostCurve>,
    /// Number of times that threads start. Rounds of rows are counted separately.
    fork_count: usize,
    /// Number of equal, indivisible work items, or 0 if the work can be divided evenly.
    work_items: usize,
}

impl Profile {
    fn of(config: &CpuKernelConfig) -> Self {
        let batch = config.map.batch();
        let (operation, fork_count, work_items) = match config.kernel() {
            CpuKernel::SquareSwap(squares) if squares.mid > 1 => (CostCurve::Tiles, 1, 0),
            CpuKernel::InvolutionSwap(_) => (CostCurve::AxisSwap, 1, 0),
            CpuKernel::SquareSwap(_) => (CostCurve::Swap, 1, 0),
            CpuKernel::Barrier(instances) => (CostCurve::Barrier, 1, *instances),
            CpuKernel::Gather(chunks, _) => (CostCurve::Gather, batch, chunks.slots.chunks()),
            // Threads start to save halos and to process bands; backward, also to write the last
            // chunk.
            CpuKernel::BandedGather(_, direction) => {
                (CostCurve::Gather, (2 + usize::from(*direction == Direction::Backward)) * batch, 0)
            }
            CpuKernel::RecordGather(chunks, _) => (CostCurve::Gather, 1, chunks.slots.chunks()),
            // Threads start for segments, then for the cycles without a splitter.
            CpuKernel::Cycles => (CostCurve::Cycles, 2, 0),
            CpuKernel::TileRows(_) => (CostCurve::Cycles, 1, 0),
            CpuKernel::OwnCycles(_) => (CostCurve::OwnCycles, 1, batch),
            CpuKernel::Pieces(_) => (CostCurve::Pieces, 1, 0),
            CpuKernel::Rotate => (CostCurve::Rotate, 1, 0),
            CpuKernel::Slide(rows, SlideMethod::Shares) if rows.is_up() => {
                (CostCurve::Shares, 2, 0)
            }
            CpuKernel::Slide(_, by) | CpuKernel::Cut(_, by, ..) => match by {
                SlideMethod::Rounds(_) => (CostCurve::Rounds, 0, 0),
                SlideMethod::Shares => (CostCurve::Shares, 1, 0),
                SlideMethod::Blocks(_) => (CostCurve::Blocks, 1, 0),
            },
            CpuKernel::Reshape(_) => (CostCurve::Rounds, 0, 0),
            CpuKernel::OutOfPlace => (CostCurve::OutOfPlace, 1, 0),
            CpuKernel::TransposeRows(_) | CpuKernel::TransposeThroughScratch(_) => {
                (CostCurve::Swap, 1, 0)
            }
            CpuKernel::SaveGaps(..) | CpuKernel::SwapGaps(..) => (CostCurve::Rounds, 1, 0),
            // Kernels without a measurement use the curve of the most similar kernel, or a copy's.
            CpuKernel::SquareTurn(_) => (CostCurve::Swap, 1, 0),
            CpuKernel::Copy | CpuKernel::Flip(_) => {
                return Profile { operation: None, fork_count: 1, work_items: 0 };
            }
        };
        Profile { operation: Some(operation), fork_count, work_items }
    }

    /// Returns the average work per thread relative to the largest share, for `threads` threads.
    fn balance(&self, threads: usize) -> f64 {
        match self.work_items {
            0 => 1.0,
            work_items => work_items as f64 / (work_items.div_ceil(threads) * threads) as f64,
        }
    }
}

/// Estimate of a stage's seconds for any number of threads.
pub struct Estimate<'a> {
    config: &'a CpuKernelConfig,
    costs: &'a CostTable,
    profile: Profile,
    /// Values of the quantities, by index, except quantities that are computed on demand.
    quantities: [f64; FEATURES.len()],
    short_cycles: OnceCell<bool>,
}

impl<'a> Estimate<'a> {
    /// Creates the estimate of `config`, also for other numbers of threads than its own.
    pub fn new(config: &'a CpuKernelConfig, costs: &'a CostTable) -> Self {
        let (map, elem_bytes) = (&config.map, config.elem_bytes);
        let flag = |is: bool| f64::from(u8::from(is));
        let (row, slot, backward) = match map {
            // Rows count only in narrow matrices, whose chunks are transposed whole.
            StageMap::SlotGather { slots, direction, .. } => {
                let is_whole = matches!(config.kernel(), CpuKernel::Gather(..));
                let is_narrow = is_whole && is_narrow(slots.cols(), elem_bytes);
                let row = if is_narrow { slots.cols() } else { 0 };
                (row, slots.slot(), *direction == Direction::Backward)
            }
            StageMap::RecordGather { slots, direction } => {
                (0, slots.slot(), *direction == Direction::Backward)
            }
            StageMap::Slide(rows) => (rows.cols(), 0, false),
            StageMap::Reshape(leading) => (leading.source().cols(), 0, false),
            StageMap::Cut { rows, .. } => (rows.cols(), 0, false),
            _ => match config.kernel() {
                CpuKernel::SquareTurn(turn) => (turn.side(), 0, false),
                CpuKernel::InvolutionSwap(together) => (together * map.unit(), 0, false),
                _ => (map.elementary().map_or(0, |e| e.rows), 0, false),
            },
        };
        let bytes_of = |elements: usize| (elements * elem_bytes).max(1) as f64;
        // For slots and records, the instance size is the bytes of scratch per thread.
        let instance = match map {
            StageMap::SlotGather { .. }
            | StageMap::RecordGather { .. }
            | StageMap::RecordTiles(_) => config.resources().scratch_bytes.max(1) as f64,
            _ => bytes_of(map.instance_len()),
        };
        let mut quantities = [0.0; FEATURES.len()];
        for (quantity, value) in [
            (Feature::ElemBytes, elem_bytes as f64),
            (Feature::UnitBytes, bytes_of(map.unit())),
            (Feature::RowBytes, bytes_of(row)),
            (Feature::SlotBytes, bytes_of(slot)),
            (Feature::InstanceBytes, instance),
            (Feature::Bytes, bytes_of(map.len())),
            (Feature::IsWord, flag(turntile_simd::is_word(elem_bytes))),
            (Feature::Backward, flag(backward)),
        ] {
            quantities[quantity as usize] = value;
        }
        let (profile, short_cycles) = (Profile::of(config), OnceCell::new());
        Estimate { config, costs, profile, quantities, short_cycles }
    }

    fn constant(&self, constant: Constant) -> f64 {
        self.costs.constant(constant as usize)
    }

    fn quantity(&self, threads: usize, which: usize) -> f64 {
        const THREADS: usize = Feature::Threads as usize;
        const BALANCE: usize = Feature::Balance as usize;
        const SHORT_CYCLES: usize = Feature::ShortCycles as usize;
        let is_short = || {
            let most = self.constant(Constant::ShortCycle) as usize;
            self.config.map.has_short_cycles(most)
        };
        match which {
            THREADS => threads as f64,
            BALANCE => self.profile.balance(threads),
            SHORT_CYCLES => f64::from(u8::from(*self.short_cycles.get_or_init(is_short))),
            _ => self.quantities[which],
        }
    }

    fn bytes(&self) -> f64 {
        self.quantities[Feature::Bytes as usize]
    }

    /// Returns the fixed seconds of a stage: its start, starts of `threads` threads, transfers
    /// between caches, and serial work.
    fn fixed(&self, threads: usize) -> f64 {
        let forks = self.profile.fork_count as f64 * fork(self.costs, threads);
        self.constant(Constant::Start)
            + (forks + self.cache_transfer(threads))
            + self.serial(threads)
    }

    /// Returns the seconds of serial work, and of thread starts in each round of rows.
    fn serial(&self, threads: usize) -> f64 {
        match self.config.kernel() {
            CpuKernel::Cut(_, _, columns, _) => {
                // One thread saves and restores the cut columns, transposed.
                let bytes = 2.0 * 2.0 * (columns.gaps() * self.config.elem_bytes) as f64;
                bytes / (self.constant(Constant::ColumnSpeed) * self.constant(Constant::Copy))
            }
            CpuKernel::Slide(rows, SlideMethod::Rounds(least)) if threads > 1 => {
                rounds(rows, *least, threads, self.costs)
            }
            _ => 0.0,
        }
    }

    /// Returns the seconds to transfer data between cores, or 0 if the data do not fit one core's
    /// caches.
    fn cache_transfer(&self, threads: usize) -> f64 {
        let bytes = self.bytes();
        if bytes > self.constant(Constant::ResidentBytes) {
            return 0.0;
        }
        let elsewhere_bytes = bytes * (1.0 - 1.0 / threads as f64);
        elsewhere_bytes / self.constant(Constant::TransferRate)
    }

    /// Returns the seconds of a copy of the stage's bytes, or of two copies for a transposition
    /// through scratch.
    fn copy(&self, threads: usize) -> f64 {
        let bytes = self.bytes();
        let cached = self.costs.fraction(CostCurve::Cached as usize, |_| bytes);
        let passes = if matches!(self.config.kernel(), CpuKernel::TransposeThroughScratch(_)) {
            2.0
        } else {
            1.0
        };
        2.0 * passes * bytes / (copy_speed(self.costs, threads) * cached)
    }

    /// Returns the estimated seconds for `threads` threads: fixed costs, and a copy's time divided
    /// by the operation's relative speed.
    pub fn seconds(&self, threads: usize) -> f64 {
        let quantity = |which| self.quantity(threads, which);
        let speed = |o: CostCurve| self.costs.fraction(o as usize, quantity);
        let fraction = self.profile.operation.map_or(1.0, speed);
        self.fixed(threads) + self.copy(threads) / fraction
    }
}

/// Returns the speed of a stage that took `seconds`, as a fraction of a copy's.
///
/// Returns `None` for a plain copy, and if fixed costs are estimated at more than half of the time.
pub fn sample(config: &CpuKernelConfig, costs: &CostTable, seconds: f64) -> Option<Sample> {
    let (estimate, threads) = (Estimate::new(config, costs), config.resources().threads);
    let fixed = estimate.fixed(threads);
    // If fixed costs take most of the time, the measured speed is inaccurate.
    if fixed > seconds / 2.0 {
        return None;
    }
    let fraction = estimate.copy(threads) / (seconds - fixed);
    let quantities = (0..NAMES.quantities.len()).map(|which| estimate.quantity(threads, which));
    let operation = estimate.profile.operation? as usize;
    let sample = Sample { operation, quantities: quantities.collect(), fraction };
    (fraction > 0.0 && fraction.is_finite()).then_some(sample)
}

/// Returns the seconds to start `threads` threads and wait for them.
fn fork(costs: &CostTable, threads: usize) -> f64 {
    match threads {
        0 | 1 => 0.0,
        _ => {
            let others = (threads - 2) as f64 * costs.constant(Constant::Worker as usize);
            costs.constant(Constant::Fork as usize) + others
        }
    }
}

/// Returns the copy speed of `threads` threads, in bytes read and written per second.
pub fn copy_speed(costs: &CostTable, threads: usize) -> f64 {
    costs.constant(COPY) * costs.fraction(THREADS_COPY, |_| threads as f64)
}

/// Returns a lower bound, in seconds, of one pass over `bytes` bytes with any number of threads in
/// `counts`.
pub fn least_seconds(costs: &CostTable, bytes: usize, counts: impl Iterator<Item = usize>) -> f64 {
    let curves = CostCurve::Swap as usize..COST_CURVES.len();
    let most = curves.map(|which| costs.most(which)).fold(1.0, f64::max);
    let most = most * costs.fraction(CostCurve::Cached as usize, |_| bytes as f64);
    let speed = counts.map(|threads| copy_speed(costs, threads)).fold(0.0, f64::max);
    costs.constant(Constant::Start as usize) + 2.0 * bytes as f64 / (speed * most)
}

/// Returns the seconds of rounds in addition to moving the bytes: a start of all threads per
/// parallel round, and the time of one thread for rows that move one by one. Row lengths are in
/// bytes.
fn rounds(rows: &RowSlide, least: usize, threads: usize, costs: &CostTable) -> f64 {
    let fork = fork(costs, threads);
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
    fn one_thread_is_planned_when_data_stay_in_a_core_cache() {
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
    fn sample_returns_the_table_value_when_given_the_estimate() {
        let costs = crate::CpuDevice::new(1).costs().clone();
        let mut samples = 0;
        for (threads, (rows, cols, elem_bytes)) in
            [(1, (7200, 1800, 4)), (4, (4093, 8191, 4)), (2, (100_000, 8, 2)), (1, (3000, 3000, 3))]
        {
            let planner = turntile_plan::Planner::new(crate::CpuDevice::new(threads));
            let problem = turntile_plan::Problem::new(rows, cols, elem_bytes).unwrap();
            for plan in planner.candidates(&problem).candidates {
                for stage in plan.stages() {
                    let config =
                        stage.implementation.launch_config.get::<CpuKernelConfig>().unwrap();
                    let Some(sample) = sample(config, &costs, stage.implementation.seconds) else {
                        continue;
                    };
                    let expected = costs.fraction(sample.operation, |k| sample.quantities[k]);
                    assert!((sample.fraction / expected - 1.0).abs() < 1e-6, "{stage}: {sample:?}");
                    samples += 1;
                }
            }
        }
        assert!(samples >= 40, "{samples} stages");
    }
}
