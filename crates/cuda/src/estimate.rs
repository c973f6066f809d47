//! How long launches take: what decides it, looked up in the chip's table.

use std::cell::OnceCell;

use turntile_perm::padding::Round;
use turntile_perm::{Elementary, Padding, Slots};
use turntile_plan::costs::Sample;
use turntile_plan::{Costs, Direction, StageShape};

use crate::args::Args;
use crate::args::axes_tile::{IntoAxesArgs, WideAxesArgs};
use crate::call::{Call, widest_word};
use crate::family::Family;
use crate::launches::Launches;
use crate::lower::{At, LINE as LINE_BYTES, any_tile, teams};
use crate::names::{Constant, Operation, Quantity as Q};
use crate::way::{Scope, Tiling, Way};

/// Bytes of a sector of a cache's line, of the widest access and of a bank of shared memory.
const SECTOR_BYTES: usize = 32;
const VECTOR_BYTES: usize = 16;
const BANK_BYTES: usize = 4;

/// The quantities of a launch, by name.
struct Measures([f64; Q::NAMES.len()]);

impl Measures {
    fn new() -> Self {
        Measures([1.0; Q::NAMES.len()])
    }

    fn with(mut self, name: Q, value: impl Into<f64>) -> Self {
        self.0[name as usize] = value.into();
        self
    }

    fn bytes(self, name: Q, bytes: usize) -> Self {
        self.with(name, bytes.max(1) as f64)
    }

    fn is(self, name: Q, yes: bool) -> Self {
        self.with(name, u8::from(yes))
    }
}

/// Estimated seconds: a start, what waits, and every byte read and written at the speed that the table has.
/// `short_cycles` says whether the shape has any, once it is known.
pub fn seconds(
    shape: &StageShape,
    launches: &Launches,
    at: At,
    costs: &Costs,
    short_cycles: &OnceCell<bool>,
) -> f64 {
    if is_like_a_copy(shape) {
        // Not measured: a start for each launch, and as fast as a copy.
        let calls = launches.calls().len().max(1) as f64;
        let passes = if launches.held_bytes() > 0 { 2.0 } else { 1.0 };
        let copies = 2.0 * passes * (shape.len() * at.elem_bytes) as f64
            / costs.constant(Constant::Copy as usize);
        return calls * costs.constant(Constant::Start as usize) + copies;
    }
    let (operation, measures) = measure(shape, launches, at);
    let fraction = fraction(shape, operation, &measures, costs, short_cycles);
    whole(shape, launches.way(), at, costs, fraction)
}

/// What launches reached of a copy in `took` seconds; none without a launch, and where the bytes took none of them.
pub fn sample(
    shape: &StageShape,
    launches: &Launches,
    at: At,
    costs: &Costs,
    took: f64,
) -> Option<Sample> {
    launches.calls().first().filter(|_| !is_like_a_copy(shape))?;
    let (operation, measures) = measure(shape, launches, at);
    let short = shape.has_short_cycles(costs.constant(Constant::ShortCycle as usize) as usize);
    let quantities = measures.is(Q::ShortCycles, short).0.to_vec();
    let reaching = |fraction| whole(shape, launches.way(), at, costs, fraction);
    let fixed = reaching(f64::INFINITY);
    let fraction = (reaching(1.0) - fixed) / (took - fixed);
    let sample = Sample { operation: operation as usize, quantities, fraction };
    (fraction > 0.0 && fraction.is_finite()).then_some(sample)
}

/// Whether the table has no operation for it.
fn is_like_a_copy(shape: &StageShape) -> bool {
    matches!(shape, StageShape::Turn(_) | StageShape::Slide { .. } | StageShape::Gaps { .. })
}

/// What the table has for an operation.
fn fraction(
    shape: &StageShape,
    operation: Operation,
    measures: &Measures,
    costs: &Costs,
    short_cycles: &OnceCell<bool>,
) -> f64 {
    let most = costs.constant(Constant::ShortCycle as usize) as usize;
    let short = || *short_cycles.get_or_init(|| shape.has_short_cycles(most));
    costs.fraction(operation as usize, |which| {
        if which == Q::ShortCycles as usize {
            f64::from(u8::from(short()))
        } else {
            measures.0[which]
        }
    })
}

/// The seconds of a stage that reaches `fraction` of a copy.
fn whole(shape: &StageShape, way: Way, at: At, costs: &Costs, fraction: f64) -> f64 {
    let bytes = (shape.len() * at.elem_bytes) as f64;
    let speed = costs.constant(Constant::Copy as usize) * fraction;
    costs.constant(Constant::Start as usize) + waits(shape, way, at, costs) + 2.0 * bytes / speed
}

/// Seconds that a way takes at least, before its launch is known.
pub fn least(
    shape: &StageShape,
    way: Way,
    at: At,
    costs: &Costs,
    short_cycles: &OnceCell<bool>,
) -> f64 {
    if way != Way::PerCycle {
        return 0.0;
    }
    // A worker a cycle, as many as there are: a launch decides nothing.
    let measures = cycles(Measures::new(), shape, shape.unit(), at);
    let fraction = fraction(shape, Operation::PerCycle, &measures, costs, short_cycles);
    whole(shape, way, at, costs, fraction)
}

/// Seconds that no pass over `bytes` bytes is faster than.
pub fn least_seconds(costs: &Costs, bytes: usize) -> f64 {
    let most = (0..Operation::NAMES.len()).map(|which| costs.most(which)).fold(0.0, f64::max);
    costs.constant(Constant::Start as usize)
        + 2.0 * bytes as f64 / (costs.constant(Constant::Copy as usize) * most)
}

/// The operation that a launch is, and what decides its speed.
fn measure(shape: &StageShape, launches: &Launches, at: At) -> (Operation, Measures) {
    let Some(call) = launches.calls().first() else { return (Operation::Slide, Measures::new()) };
    let busy = (f64::from(call.groups()) / at.limits.units as f64).min(1.0);
    let unit_bytes = shape.unit() * at.elem_bytes;
    let measures = Measures::new()
        .bytes(Q::ElemBytes, at.elem_bytes)
        .bytes(Q::Word, call.word())
        .bytes(Q::UnitBytes, unit_bytes)
        .bytes(Q::UnitWord, widest_word(&[unit_bytes]))
        .with(Q::Busy, busy);
    match (launches.way(), shape.elementary()) {
        (Way::TileSwap { tile }, Some(e)) if !e.is_involution() => {
            let side = e.rows.min(e.cols);
            let used = side as f64 / side.next_multiple_of(tile) as f64;
            (Operation::Cube, measures.with(Q::Used, used))
        }
        (Way::TileSwap { .. }, Some(e)) => (Operation::Swap, swap(measures, &e, call, at)),
        (Way::Barrier(Scope::Block), _) if call.family() == Family::BarrierAxes => {
            let held = call.shared_bytes() as usize;
            (Operation::BlockAxes, hold(measures, held, at))
        }
        (Way::Barrier(Scope::Block), Some(e)) if e.mid > 1 && e.unit == 1 => {
            let held = e.rows * e.cols * at.elem_bytes;
            let name =
                if call.family() == Family::Tiles { Operation::Tiles } else { Operation::TilesAny };
            (name, hold(measures, held, at).bytes(Q::RowBytes, e.rows * at.elem_bytes))
        }
        (Way::Barrier(scope), _) if matches!(call.params(), Args::WideAxes(_)) => {
            let measures = hold(measures, call.shared_bytes() as usize, at);
            let measures = tiled_axes(measures, call.params(), call.word());
            (
                if scope == Scope::Grid { Operation::GridAxes } else { Operation::ClusterAxes },
                measures,
            )
        }
        (Way::Barrier(scope), Some(e)) => barrier(measures, &e, scope, at),
        (Way::Runs { .. }, _) => {
            let held = call.shared_bytes() as usize;
            (Operation::Runs, slots_of(hold(measures, held, at), shape, at))
        }
        (Way::Teams { .. }, _) => {
            (Operation::Teams, teams(slots_of(measures, shape, at), shape, call.params(), at))
        }
        (Way::OnChipMoves { .. }, _) => (Operation::OnChipMoves, measures),
        (Way::Moves { .. }, _) => match call.params() {
            Args::MoveAxes32(_) | Args::MoveAxes64(_) => {
                (Operation::AxesMoves, cycles(measures, shape, shape.unit(), at))
            }
            _ => (Operation::Moves, cycles(measures, shape, shape.unit(), at)),
        },
        (Way::PerCycle, _) => (Operation::PerCycle, cycles(measures, shape, shape.unit(), at)),
        (Way::Rows { .. }, _) => (Operation::Rows, measures),
        (Way::Slide { .. }, _) => (Operation::Slide, measures),
        (Way::OutOfPlace { tiling: Tiling::Axes { .. }, .. }, _) => {
            (Operation::IntoAxes, tiled_axes(measures, call.params(), call.word()))
        }
        (Way::OutOfPlace { tiling, swath }, Some(e)) => {
            elsewhere(measures, &e, tiling, swath, call.word(), at)
        }
        (way, _) => unreachable!("{way} of {shape}"),
    }
}

/// A block that has a multiprocessor to itself, because of what it holds, does not overlap reading and writing.
fn hold(measures: Measures, bytes: usize, at: At) -> Measures {
    measures.with(Q::Held, bytes as f64 / at.limits.shared_bytes as f64)
}

/// A block takes as long for a tile beyond the edge, and longer where it moves no vectors.
fn swap(measures: Measures, e: &Elementary, call: &Call, at: At) -> Measures {
    let across = match call.params() {
        Args::Square(args) => args.across.max(1) as usize,
        _ => 1,
    };
    // Tiles' sides add up to more than the matrix's by what the last one has beyond it; small squares leave most of a
    // block idle, as much as where they are swapped word by word.
    let side = e.rows.div_ceil(across).next_power_of_two().max(any_tile(at.elem_bytes));
    let used = e.rows as f64 / e.rows.next_multiple_of(side) as f64;
    let pitch = e.mid * e.cols * at.elem_bytes;
    measures
        .with(Q::Used, used)
        .is(Q::Vectors, !matches!(call.entry, "square_swap_granules" | "square_swap_any"))
        .with(Q::Straddle, if pitch.is_multiple_of(LINE_BYTES) { 0 } else { 2 })
}

fn barrier(measures: Measures, e: &Elementary, scope: Scope, at: At) -> (Operation, Measures) {
    let unit_bytes = e.unit * at.elem_bytes;
    let word = widest_word(&[unit_bytes]);
    let narrow = word < BANK_BYTES && !(e.cols * unit_bytes).is_multiple_of(BANK_BYTES);
    let bytes = e.instance_len() * at.elem_bytes;
    let measures = measures.is(Q::Narrow, narrow);
    match scope {
        Scope::Block => (Operation::Block, hold(measures, bytes, at)),
        Scope::Cluster(blocks) => (Operation::Cluster, hold(measures, bytes / blocks, at)),
        Scope::Grid => {
            let each = bytes as f64 / at.limits.units as f64;
            (Operation::Grid, measures.with(Q::Held, each / at.limits.shared_bytes as f64))
        }
    }
}

fn slots_of(measures: Measures, shape: &StageShape, at: At) -> Measures {
    let &StageShape::SlotGather { slots, direction, .. } = shape else { return measures };
    measures
        .bytes(Q::RowBytes, slots.cols() * at.elem_bytes)
        .bytes(Q::ColumnBytes, slots.chunk() * at.elem_bytes)
        .is(Q::Backward, direction == Direction::Backward)
}

/// Even shares of chunks, a block's part of a chunk, what both ends of a strip's rows waste, and what slows
/// lanes down.
fn teams(measures: Measures, shape: &StageShape, args: &Args, at: At) -> Measures {
    let (&StageShape::SlotGather { batch, slots, .. }, Args::Gather(args)) = (shape, args) else {
        return measures;
    };
    let (runs, teams, cols) = (args.runs as usize, args.teams as usize, args.block_cols as usize);
    let word = widest_word(&[at.elem_bytes, at.alignment]);
    let most = slots.chunks().div_ceil(runs) * (batch * runs).div_ceil(teams);
    let even = (batch * slots.chunks()) as f64 / (teams * most) as f64;
    let whole_rows = |slots: &Slots| (slots.cols() * at.elem_bytes).is_multiple_of(VECTOR_BYTES);
    measures
        .with(Q::Even, even)
        .bytes(Q::RowBytes, cols * at.elem_bytes)
        .bytes(Q::PartBytes, slots.chunk() * cols * at.elem_bytes)
        .bytes(Q::ColumnBytes, slots.chunk() * at.elem_bytes)
        .with(Q::Depth, args.depth)
        .is(Q::Fills, teams::fills_warps(&slots, word))
        .is(Q::SeveralWords, at.elem_bytes != word)
        .with(Q::Granule, args.granule)
        .is(Q::Alike, whole_rows(&slots))
}

/// Of runs of `unit` elements along cycles.
fn cycles(measures: Measures, shape: &StageShape, unit: usize, at: At) -> Measures {
    let unit_bytes = unit * at.elem_bytes;
    // Short runs share their lines with others'.
    let straddle: u8 = match unit_bytes {
        _ if unit_bytes <= LINE_BYTES / 2 || unit_bytes.is_multiple_of(LINE_BYTES) => 0,
        _ if unit_bytes.is_multiple_of(SECTOR_BYTES) => 1,
        _ => 2,
    };
    measures
        .bytes(Q::UnitBytes, unit_bytes)
        .bytes(Q::UnitWord, widest_word(&[unit_bytes]))
        .with(Q::Straddle, straddle)
        .bytes(Q::Units, shape.batch() * shape.instance_len().div_ceil(unit))
}

fn elsewhere(
    measures: Measures,
    e: &Elementary,
    tiling: Tiling,
    swath: usize,
    word: usize,
    at: At,
) -> (Operation, Measures) {
    let elem_bytes = e.unit * at.elem_bytes;
    let words = |elements: usize| (elements * elem_bytes / word).max(1) as f64;
    let measures = measures
        .bytes(Q::ElemBytes, elem_bytes)
        .is(Q::SeveralWords, elem_bytes != word)
        .with(Q::ShortWords, words(e.rows.min(e.cols)))
        .with(Q::ColumnWords, words(e.rows))
        // Small matrices, of which several share a block.
        .bytes(Q::PartBytes, if e.batch > 1 { e.rows * e.cols * elem_bytes } else { usize::MAX })
        .with(Q::Depth, swath as f64);
    let name = match tiling {
        Tiling::Micro => Operation::IntoMicro,
        Tiling::Lines => Operation::IntoLines,
        Tiling::Band => Operation::IntoBand,
        Tiling::Stack => Operation::IntoStack,
        Tiling::Units => Operation::IntoUnits,
        Tiling::Axes { .. } => Operation::IntoAxes,
    };
    (name, measures)
}

/// How long a tile's rows and columns are, and whether they begin and end with whole vectors.
fn tiled_axes(measures: Measures, args: &Args, word: usize) -> Measures {
    let (Args::IntoAxes(IntoAxesArgs { map, .. }) | Args::WideAxes(WideAxesArgs { map, .. })) =
        args
    else {
        return measures;
    };
    let (line, run) = (map.line_bytes(), map.run as usize * word);
    let vectors =
        map.granules as usize * VECTOR_BYTES == line && map.packs as usize * VECTOR_BYTES == run;
    measures.bytes(Q::RowBytes, line).bytes(Q::ColumnBytes, run).is(Q::Vectors, vectors)
}

/// Seconds beside the start and the bytes: for all blocks to wait, or for rounds of rows.
fn waits(shape: &StageShape, way: Way, at: At, costs: &Costs) -> f64 {
    match (*shape, way) {
        // Before anything is written and after everything: 64x48 floats in 14 µs instead of 6.
        (StageShape::SlotGather { .. }, _) => 2.0 * costs.constant(Constant::Wait as usize),
        (StageShape::Pad { padding, direction }, Way::Rows { least }) => {
            rounds(padding, direction, least, at, costs)
        }
        _ => 0.0,
    }
}

/// A start for each round, and what a row by itself loses to many: one block alone, and a wait between
/// reading a row and writing it.
fn rounds(padding: Padding, direction: Direction, least: usize, at: At, costs: &Costs) -> f64 {
    let alone = costs.constant(Constant::Copy as usize) / at.limits.units as f64;
    let each = |Round { rows, together }| {
        let bytes = (2 * rows.len() * padding.cols() * at.elem_bytes) as f64;
        if together {
            costs.constant(Constant::Start as usize)
        } else {
            bytes / alone + rows.len() as f64 * costs.constant(Constant::Wait as usize)
        }
    };
    direction.rounds(padding, least).map(each).sum()
}
