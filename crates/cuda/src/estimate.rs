//! How long launches take: what decides it, looked up in the chip's table.

use turntile_perm::padding::Step;
use turntile_perm::{Elementary, Padding, Slots};
use turntile_plan::costs::Names;
use turntile_plan::{Costs, Direction, StageShape};

use crate::args::Args;
use crate::call::widest_word;
use crate::family::Family;
use crate::launches::Launches;
use crate::lower::{At, strips};
use crate::way::{Scope, Tiling, Way};

/// What tables of GPUs name.
pub const NAMES: Names = Names {
    operations: &[
        "swap",
        "tiles",
        "bands",
        "block",
        "cluster",
        "grid",
        "runs",
        "teams",
        "moves",
        "turned_moves",
        "on_chip_moves",
        "per_cycle",
        "rows",
        "slide",
        "into_micro",
        "into_lines",
        "into_band",
        "into_stack",
        "into_units",
    ],
    quantities: &QUANTITIES,
    constants: &["copy", "start", "wait"],
};

/// What decides a speed. Flags are 0 or 1.
const QUANTITIES: [&str; 25] = [
    "elem_bytes",
    // Bytes of an access.
    "word",
    // Of a super-element, and of the widest word that divides it.
    "unit_bytes",
    "unit_word",
    // Of a row of a tile, of a matrix or of a strip.
    "row_bytes",
    // Blocks a multiprocessor, at most 1.
    "busy",
    // What a block holds of a multiprocessor's shared memory.
    "held",
    // Rows of narrow words that are no multiples of 4 bytes.
    "narrow",
    // What lies on chip is more than shared memory holds with comfort.
    "in_registers",
    "backward",
    // Super-elements are whole lines of 128 bytes (0), whole sectors of 32 (1) or neither (2).
    "straddle",
    "short_cycles",
    "units",
    // Share of tiles' sides that lies within the matrix.
    "used",
    "vectors",
    // Of a block's part of a chunk, and of a column of a chunk.
    "part_bytes",
    "column_bytes",
    // Chunks on chip, whether columns fill warps, whether elements are several words, bytes that rows are moved by,
    // whether rows lie alike on chip, share of the busiest team's chunks that the others have.
    "depth",
    "fills",
    "several_words",
    "granule",
    "alike",
    "even",
    // Words of the shorter side, and of the rows.
    "short_words",
    "column_words",
];

/// Numbers of the constants.
pub const COPY: usize = 0;
const START: usize = 1;
const WAIT: usize = 2;

/// Super-elements of a cycle that counts as short.
const SHORT_CYCLE: usize = 32;
/// Bytes of a line of the cache and of a sector of it.
const LINE_BYTES: usize = 128;
const SECTOR_BYTES: usize = 32;

/// The quantities of a launch, by name.
struct Measures([f64; QUANTITIES.len()]);

impl Measures {
    fn new() -> Self {
        Measures([1.0; QUANTITIES.len()])
    }

    fn with(mut self, name: Quantity, value: impl Into<f64>) -> Self {
        self.0[name as usize] = value.into();
        self
    }

    fn bytes(self, name: Quantity, bytes: usize) -> Self {
        self.with(name, bytes.max(1) as f64)
    }

    fn is(self, name: Quantity, yes: bool) -> Self {
        self.with(name, u8::from(yes))
    }
}

/// Numbers of the quantities, in the order of [`QUANTITIES`].
#[derive(Clone, Copy)]
enum Quantity {
    ElemBytes,
    Word,
    UnitBytes,
    UnitWord,
    RowBytes,
    Busy,
    Held,
    Narrow,
    InRegisters,
    Backward,
    Straddle,
    ShortCycles,
    Units,
    Used,
    Vectors,
    PartBytes,
    ColumnBytes,
    Depth,
    Fills,
    SeveralWords,
    Granule,
    Alike,
    Even,
    ShortWords,
    ColumnWords,
}
use Quantity as Q;

/// Estimated seconds: a start, what waits, and every byte read and written at the speed that the table has.
pub fn seconds(shape: &StageShape, launches: &Launches, at: At, costs: &Costs) -> f64 {
    let (operation, measures) = measure(shape, launches, at);
    let which = NAMES.operations.iter().position(|name| *name == operation);
    let fraction = costs.fraction(which.expect("every way has a name"), &measures.0);
    let bytes = (shape.len() * at.elem_bytes) as f64;
    let speed = costs.constant(COPY) * fraction;
    costs.constant(START) + waits(shape, launches.way(), at, costs) + 2.0 * bytes / speed
}

/// Seconds that no pass over `bytes` bytes is faster than.
pub fn least_seconds(costs: &Costs, bytes: usize) -> f64 {
    let most = (0..NAMES.operations.len()).map(|which| costs.most(which)).fold(0.0, f64::max);
    costs.constant(START) + 2.0 * bytes as f64 / (costs.constant(COPY) * most)
}

/// The operation that a launch is, and what decides its speed.
fn measure(shape: &StageShape, launches: &Launches, at: At) -> (&'static str, Measures) {
    let Some(call) = launches.calls().first() else { return ("slide", Measures::new()) };
    let busy = (f64::from(call.groups()) / at.limits.units as f64).min(1.0);
    let unit_bytes = shape.unit() * at.elem_bytes;
    let measures = Measures::new()
        .bytes(Q::ElemBytes, at.elem_bytes)
        .bytes(Q::Word, call.word())
        .bytes(Q::UnitBytes, unit_bytes)
        .bytes(Q::UnitWord, widest_word(&[unit_bytes]))
        .with(Q::Busy, busy);
    match (launches.way(), shape.elementary()) {
        (Way::TileSwap { .. }, Some(e)) => ("swap", swap(measures, &e, call.params(), at)),
        (Way::Barrier(Scope::Block), Some(e)) if e.mid > 1 && e.unit == 1 => {
            let held = e.rows * e.cols * at.elem_bytes;
            let name = if call.family() == Family::Tiles { "tiles" } else { "bands" };
            (name, hold(measures, held, at).bytes(Q::RowBytes, e.rows * at.elem_bytes))
        }
        (Way::Barrier(scope), Some(e)) => barrier(measures, &e, scope, at),
        (Way::Runs { .. }, _) => {
            let held = call.shared_bytes() as usize;
            ("runs", slots_of(hold(measures, held, at), shape, at))
        }
        (Way::Teams { .. }, _) => {
            ("teams", teams(slots_of(measures, shape, at), shape, call.params(), at))
        }
        (Way::OnChipMoves { .. }, _) => ("on_chip_moves", measures),
        (Way::Moves { .. }, _) if shape.turned_tiles().is_some() => ("turned_moves", measures),
        (Way::Moves { .. }, _) => ("moves", cycles(measures, shape, unit_bytes)),
        (Way::PerCycle, _) => ("per_cycle", cycles(measures, shape, unit_bytes)),
        (Way::Rows { .. }, _) => ("rows", measures),
        (Way::Slide { .. }, _) => ("slide", measures),
        (Way::OutOfPlace { tiling, swath }, e) => {
            let e = e.expect("what goes out of place is elementary");
            elsewhere(measures, &e, tiling, swath, call.word(), at)
        }
        (way, None) => unreachable!("{way} of {shape}"),
    }
}

/// A block that has a multiprocessor to itself, because of what it holds, does not overlap reading and writing.
fn hold(measures: Measures, bytes: usize, at: At) -> Measures {
    measures.with(Q::Held, bytes as f64 / at.limits.shared_bytes as f64)
}

/// A block takes as long for a tile beyond the edge, and words where rows are no whole vectors.
fn swap(measures: Measures, e: &Elementary, args: &Args, at: At) -> Measures {
    let across = match args {
        Args::Square(args) => args.across.max(1) as usize,
        _ => 1,
    };
    // Tiles' sides add up to more than the matrix's by what the last one has beyond it; small squares leave most of a
    // block idle.
    let least = if at.elem_bytes <= 4 { 64 } else { 32 };
    let side = e.rows.div_ceil(across).next_power_of_two().max(least);
    let used = e.rows as f64 / e.rows.next_multiple_of(side) as f64;
    measures.with(Q::Used, used).is(Q::Vectors, (e.rows * at.elem_bytes).is_multiple_of(16))
}

fn barrier(measures: Measures, e: &Elementary, scope: Scope, at: At) -> (&'static str, Measures) {
    let unit_bytes = e.unit * at.elem_bytes;
    let word = widest_word(&[unit_bytes]);
    let narrow = word < 4 && !(e.cols * unit_bytes).is_multiple_of(4);
    let bytes = e.instance_len() * at.elem_bytes;
    let measures = measures.is(Q::Narrow, narrow);
    match scope {
        Scope::Block => ("block", hold(measures, bytes, at)),
        Scope::Cluster(blocks) => ("cluster", hold(measures, bytes / blocks, at)),
        Scope::Grid => {
            let comfort = at.limits.units * at.limits.shared_bytes / 5 * 4;
            ("grid", measures.is(Q::InRegisters, bytes > comfort))
        }
    }
}

fn slots_of(measures: Measures, shape: &StageShape, at: At) -> Measures {
    let &StageShape::SlotGather { slots, direction, .. } = shape else { return measures };
    measures
        .bytes(Q::RowBytes, slots.cols() * at.elem_bytes)
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
    let whole_rows = |slots: &Slots| (slots.cols() * at.elem_bytes).is_multiple_of(16);
    measures
        .with(Q::Even, even)
        .bytes(Q::RowBytes, cols * at.elem_bytes)
        .bytes(Q::PartBytes, slots.chunk() * cols * at.elem_bytes)
        .bytes(Q::ColumnBytes, slots.chunk() * at.elem_bytes)
        .with(Q::Depth, args.depth)
        .is(Q::Fills, strips::fills_warps(&slots, word))
        .is(Q::SeveralWords, at.elem_bytes != word)
        .with(Q::Granule, args.granule)
        .is(Q::Alike, whole_rows(&slots))
}

fn cycles(measures: Measures, shape: &StageShape, unit_bytes: usize) -> Measures {
    // Short runs share their lines with others'.
    let straddle: u8 = match unit_bytes {
        _ if unit_bytes <= LINE_BYTES / 2 || unit_bytes.is_multiple_of(LINE_BYTES) => 0,
        _ if unit_bytes.is_multiple_of(SECTOR_BYTES) => 1,
        _ => 2,
    };
    measures
        .with(Q::Straddle, straddle)
        .is(Q::ShortCycles, shape.has_short_cycles(SHORT_CYCLE))
        .bytes(Q::Units, shape.batch() * shape.instance_units())
}

fn elsewhere(
    measures: Measures,
    e: &Elementary,
    tiling: Tiling,
    swath: usize,
    word: usize,
    at: At,
) -> (&'static str, Measures) {
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
        Tiling::Micro => "into_micro",
        Tiling::Lines => "into_lines",
        Tiling::Band => "into_band",
        Tiling::Stack => "into_stack",
        Tiling::Units => "into_units",
    };
    (name, measures)
}

/// Seconds beside the start and the bytes: for all blocks to wait, or for steps of rows.
fn waits(shape: &StageShape, way: Way, at: At, costs: &Costs) -> f64 {
    match (*shape, way) {
        // Before anything is written and after everything: 64x48 floats in 14 µs instead of 6.
        (StageShape::SlotGather { .. }, _) => 2.0 * costs.constant(WAIT),
        (StageShape::Pad { padding, direction }, Way::Rows { least }) => {
            steps(padding, direction, least, at, costs)
        }
        _ => 0.0,
    }
}

/// A start for each step, and what a row by itself loses to many: one block alone, and a wait between
/// reading a row and writing it.
fn steps(padding: Padding, direction: Direction, least: usize, at: At, costs: &Costs) -> f64 {
    let alone = costs.constant(COPY) / at.limits.units as f64;
    let each = |step: Step| {
        let bytes = (2 * step.rows.len() * padding.cols() * at.elem_bytes) as f64;
        if step.together {
            costs.constant(START)
        } else {
            bytes / alone + step.rows.len() as f64 * costs.constant(WAIT)
        }
    };
    match direction {
        Direction::Forward => padding.pad_steps(least).map(each).sum(),
        Direction::Backward => padding.unpad_steps(least).map(each).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_whole() {
        assert_eq!(Q::ColumnWords as usize + 1, QUANTITIES.len());
        Costs::parse(include_str!("../devices/h200.json"), NAMES).unwrap();
    }
}
