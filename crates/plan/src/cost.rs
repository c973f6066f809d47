//! The cost model: seconds that a stage would take.

use turntile_perm::padding::Step;
use turntile_perm::{Elementary, Padding, Slots};

use crate::limits::{DeviceKind, Limits};
use crate::method::{Method, Scope};
use crate::rates::{Curve, Rates, at};
use crate::stage::{Direction, Stage, StageShape};
use crate::strips::{self, Strips};

/// Estimated seconds of a stage over elements of `elem_bytes` bytes: a start, and every byte read
/// and written at the fraction of copy speed that [`Rates`] gives for the method.
pub fn seconds(stage: &Stage, elem_bytes: usize, limits: &Limits) -> f64 {
    let bytes = (stage.shape.len() * elem_bytes) as f64;
    let threads = match limits.kind {
        DeviceKind::Host => stage.launch.groups.max(1),
        DeviceKind::Gpu => 1,
    };
    let fraction = match limits.kind {
        DeviceKind::Host => host_fraction(stage, elem_bytes, &limits.rates),
        DeviceKind::Gpu => gpu_fraction(stage, elem_bytes, limits),
    };
    let speed = limits.rates.copy * threads as f64 * fraction;
    let start = limits.rates.start + limits.rates.fork * (threads - 1) as f64;
    start + waits(stage, elem_bytes, limits) + 2.0 * bytes / speed
}

/// Seconds that a stage takes beside its start and its bytes': for all groups to wait, or for steps of rows.
fn waits(stage: &Stage, elem_bytes: usize, limits: &Limits) -> f64 {
    match stage.shape {
        // Before anything is written and after everything: 64x48 floats in 14 µs instead of 6.
        StageShape::SlotGather { .. } if limits.kind == DeviceKind::Gpu => 2.0 * limits.rates.wait,
        // Columns that are cut go aside and back by one thread, transposed: 600x599 cut to 300 columns at 9 GB/s,
        // 700x705 cut by 5 at 24.
        StageShape::Cut { padding, .. } => {
            4.0 * (padding.gaps() * elem_bytes) as f64 / (0.25 * limits.rates.copy)
        }
        StageShape::Pad { padding, direction } => match stage.method {
            Method::Rows { least } => steps(padding, direction, least, elem_bytes, limits),
            _ => 0.0,
        },
        _ => 0.0,
    }
}

/// Seconds that rows moved in steps take beyond those of their bytes: a start for each step, and what a
/// row by itself loses to many.
fn steps(
    padding: Padding,
    direction: Direction,
    least: usize,
    elem_bytes: usize,
    limits: &Limits,
) -> f64 {
    let Limits { rates, units, kind, .. } = limits;
    // One thread's rows go one by one in any case.
    if *kind == DeviceKind::Host && *units == 1 {
        return 0.0;
    }
    let each = |step: Step| match (step.together, kind) {
        (true, DeviceKind::Host) => rates.fork * (*units - 1) as f64,
        (true, DeviceKind::Gpu) => rates.start,
        (false, _) => {
            let bytes = (2 * step.rows.len() * padding.cols() * elem_bytes) as f64;
            let one = match kind {
                DeviceKind::Host => rates.copy,
                // One group alone, and a wait between reading a row and writing it.
                DeviceKind::Gpu => rates.copy / *units as f64,
            };
            bytes / one + step.rows.len() as f64 * rates.wait
        }
    };
    match direction {
        Direction::Forward => padding.pad_steps(least).map(each).sum(),
        Direction::Backward => padding.unpad_steps(least).map(each).sum(),
    }
}

/// The fraction of copy speed at which `stage` moves its bytes.
fn fraction(stage: &Stage, elem_bytes: usize, rates: &Rates) -> f64 {
    let unit_bytes = stage.shape.unit() * elem_bytes;
    match (stage.method, stage.shape) {
        // Never faster than a barrier without the bookkeeping of slots.
        (_, StageShape::SlotGather { slots, .. }) => {
            at(rates.gather, slots.slot() * elem_bytes).min(at(rates.group, elem_bytes))
        }
        (Method::TileSwap { .. }, _) => at(rates.swap, elem_bytes),
        (
            Method::BarrierSync { scope: Scope::Group },
            StageShape::Elementary(Elementary { rows, mid: 2.., unit: 1, .. }),
        ) => at(rates.tiles, rows * elem_bytes),
        (Method::BarrierSync { scope }, _) => match scope {
            Scope::Group => at(rates.group, unit_bytes),
            Scope::Cluster(_) => at(rates.cluster, unit_bytes),
            Scope::Grid | Scope::Team(_) => at(rates.grid, unit_bytes),
        },
        (Method::PttwacOnChip { .. }, _) => at(rates.on_chip_moves, unit_bytes),
        (Method::PttwacGlobal { .. }, StageShape::FusedTiles { .. }) => {
            // Moved and transposed at once: both costs, one trip through memory.
            at(rates.moves, unit_bytes).min(at(rates.group, elem_bytes))
        }
        (Method::PttwacGlobal { .. }, _) => at(rates.moves, unit_bytes),
        (Method::PerCycle, _) => at(rates.per_cycle, unit_bytes),
        (Method::Rows { .. } | Method::Shares | Method::Slide { .. }, _) => {
            at(rates.pad, unit_bytes)
        }
    }
}

/// Super-elements that a host moves faster along short cycles than along long ones; 40x250000 does not in tiles of 1600
/// bytes (8 GB/s, of 8 KB and more 14 to 15), 40000000x2 not from 80 KB on.
const SHORT_CYCLE_BYTES: std::ops::RangeInclusive<usize> = 4000..=65_536;

/// Bytes of a line of a GPU's cache.
const LINE_BYTES: usize = 128;
/// Super-elements that keep every worker of a GPU busy, some 8000, for a few cycles each.
const MANY_UNITS: usize = 1 << 16;

/// The same on a host, whose curve for barriers is for instances that, with their scratch, fit the
/// second-level cache well.
fn host_fraction(stage: &Stage, elem_bytes: usize, rates: &Rates) -> f64 {
    let plain = fraction(stage, elem_bytes, rates);
    match (stage.method, stage.shape) {
        // 4093x8191, 3001x7919 and 9973x10007 floats at 9.3 to 9.8 GB/s where 8191x4093, 7919x3001 and 10007x9973 are at 10.7
        // to 11.7.
        (_, StageShape::SlotGather { direction: Direction::Backward, .. }) => 0.87 * plain,
        // Tiles of 16 to 250 KB are as fast as each other, 10000000x8 and 19x5000000 as well as a tenth of them; tall
        // ones of 500 KB 5-10%, those of 1 MB, which leave the second-level cache with their scratch, 10-20% behind.
        (Method::BarrierSync { .. }, StageShape::Elementary(e)) if e.mid == 1 => {
            plain
                * match e.instance_len() * elem_bytes {
                    0..=262_144 => 1.0,
                    262_145..=655_360 => 0.85,
                    _ => 0.65,
                }
        }
        // Square tiles of narrow words are bound by the processor, as tiles in scratch are.
        (Method::BarrierSync { .. }, StageShape::Elementary(e)) if e.mid > 1 && e.unit == 1 => {
            plain.min(at(rates.group, elem_bytes)) * swaps_by_words(elem_bytes)
        }
        (Method::TileSwap { .. }, _) => plain * swaps_by_words(elem_bytes),
        // Short cycles, as those of sides that are powers of two, start one beside the other, so that runs follow
        // each other in memory: 16384x4096 in tiles of 256, 1024 and 4096 at 80, 91 and 97% of a copy.
        (Method::PttwacGlobal { .. }, shape)
            if SHORT_CYCLE_BYTES.contains(&(shape.unit() * elem_bytes))
                && has_short_cycles(&shape) =>
        {
            plain * 1.2
        }
        // Through scratch, and lines from one core to another: 10 to 15 GB/s where shares make 18 and more a thread.
        (Method::Slide { .. }, _) => plain * 0.5,
        _ => plain,
    }
}

/// The same on a GPU, whose curves are for whole lines and wide words, long cycles, rows read once and
/// every multiprocessor at work.
fn gpu_fraction(stage: &Stage, elem_bytes: usize, limits: &Limits) -> f64 {
    let rates = &limits.rates;
    let unit_bytes = stage.shape.unit() * elem_bytes;
    let busy = (stage.launch.groups as f64 / limits.units as f64).min(1.0);
    let plain = fraction(stage, elem_bytes, rates);
    match (stage.method, stage.shape) {
        (
            Method::BarrierSync { scope: Scope::Group },
            StageShape::SlotGather { slots, direction, .. },
        ) => {
            // 56 and 61 columns of floats: 73% forward and 65% back, 7 columns 80 and 79; of bytes 28-34 and 18-20,
            // of words of two 44-55 and 15-27 (`slot_runs.csv`).
            let row_bytes = (slots.cols() * elem_bytes) as f64;
            let back = match direction {
                Direction::Forward => 1.0,
                Direction::Backward if !elem_bytes.is_multiple_of(4) => 0.6,
                Direction::Backward => 1.0 - 0.15 * (row_bytes / 250.0).min(1.0),
            };
            busy * back * at(rates.runs, elem_bytes) * alone(stage.launch.on_chip_bytes, limits)
        }
        (
            Method::BarrierSync { scope: Scope::Team(blocks) },
            StageShape::SlotGather { batch, slots, direction },
        ) => {
            let teams = (stage.launch.groups / blocks, blocks);
            busy * in_teams(batch, &slots, direction, teams, elem_bytes, limits)
        }
        (Method::BarrierSync { .. }, StageShape::Elementary(e)) if e.mid > 1 && e.unit == 1 => {
            let held = e.rows * e.cols * elem_bytes;
            match e.rows.is_power_of_two() && e.rows <= TILE_SIDE {
                true => plain * alone(held, limits),
                false => at(rates.bands, elem_bytes),
            }
        }
        (Method::BarrierSync { scope }, StageShape::Elementary(e)) => {
            // Moved word by word.
            let word = 1 << unit_bytes.trailing_zeros().min(4);
            let narrow = word < 4 && !(e.cols * unit_bytes).is_multiple_of(4);
            let held = e.instance_len() * elem_bytes;
            match scope {
                Scope::Group => {
                    let alone = alone(held, limits);
                    busy * at(rates.group, word) * alone * if narrow { 0.85 } else { 1.0 }
                }
                Scope::Cluster(blocks) => {
                    let alone = alone(held / blocks, limits);
                    busy * at(rates.cluster, word) * alone * if narrow { 0.5 } else { 1.0 }
                }
                Scope::Grid if narrow => at(rates.grid, word) * narrow_on_chip(word, held, limits),
                Scope::Grid | Scope::Team(_) => at(rates.grid, word),
            }
        }
        // A block takes as long for a tile beyond the edge, and words where rows are no whole vectors:
        // 5003x5003 at 68% of copy, 23001x23001 at 61%; squares of 8 to 60 floats, many at a time, at
        // a few percent.
        (Method::TileSwap { tile }, StageShape::Elementary(e)) => {
            let tile = tile.max(if elem_bytes <= 4 { 64 } else { 32 });
            let used = e.rows as f64 / e.rows.next_multiple_of(tile) as f64;
            let vectors = (e.rows * elem_bytes).is_multiple_of(16);
            plain * used * used * if vectors { 1.0 } else { 0.7 }
        }
        (Method::PttwacOnChip { .. }, _) => busy * plain,
        (Method::PttwacGlobal { .. }, StageShape::FusedTiles { .. }) => {
            busy * plain.min(rates.fused)
        }
        (Method::PttwacGlobal { .. }, shape) => {
            let short = if has_short_cycles(&shape) { 0.85 } else { 1.0 };
            busy * by_words(plain * whole_lines(unit_bytes), unit_bytes) * short
        }
        // One worker a cycle is enough, and needs no claims, where cycles are short, as those of sides
        // that are powers of two: 83-89% of copy at cycles of 2 to 23, where PTTWAC has 45-78%.
        // It takes many of them, and long ones: 900 super-elements of 14 KB moved at 2%, 13 million of
        // 4 bytes at 0.3%.
        (Method::PerCycle, shape)
            if unit_bytes >= LINE_BYTES
                && shape.batch() * shape.instance_units() >= MANY_UNITS
                && has_short_cycles(&shape) =>
        {
            by_words(at(rates.moves, unit_bytes) * whole_lines(unit_bytes), unit_bytes)
        }
        _ => plain,
    }
}

/// What squares on a host lose when elements are no words and go through a buffer one by one: 2000x2000 of 3, 6, 12 and 24
/// bytes at 2.7, 3.9, 7.0 and 10.8 GB/s, of 4 at 28, where aligned slots of 2000x2003 reach 3.7, 4.7, 4.7, 4.8 and 5.7.
fn swaps_by_words(elem_bytes: usize) -> f64 {
    match elem_bytes {
        1 | 2 | 4 | 8 | 16 => 1.0,
        _ => (elem_bytes as f64 / 24.0).clamp(0.27, 1.0),
    }
}

/// A gather by teams: even shares of chunks, by the bytes of a group's part of a chunk, and by what both ends of a strip's
/// rows waste. Backward, with one chunk or two on chip, with columns that leave lanes idle, with narrow words and with elements
/// of several words it is slower (`slots.csv`).
fn in_teams(
    batch: usize,
    slots: &Slots,
    direction: Direction,
    teams: (usize, usize),
    elem_bytes: usize,
    limits: &Limits,
) -> f64 {
    let word = 1 << elem_bytes.trailing_zeros().min(4);
    let strips = Strips::new(slots, batch, (elem_bytes, word), teams, limits.group_bytes);
    let strips = strips.expect("launches are of strips that fit");
    let most = slots.chunks().div_ceil(strips.runs) * (batch * strips.runs).div_ceil(strips.teams);
    let even = (batch * slots.chunks()) as f64 / (strips.teams * most) as f64;
    let row_bytes = (strips.cols * elem_bytes) as f64;
    // With one chunk on chip reading and writing take turns.
    let shallow = match strips.depth {
        1 => 0.58,
        2 => 0.9,
        _ => 1.0,
    };
    // Narrow words pass one by one; of short columns a warp moves few.
    const FORWARD: Curve = &[(64, 0.7), (128, 0.77), (256, 0.97), (512, 1.0)];
    const BACKWARD: Curve = &[(64, 0.56), (128, 0.6), (256, 0.81), (512, 1.0)];
    let column_bytes = slots.chunk() * elem_bytes;
    let narrow = match (word, direction) {
        (1, Direction::Forward) => 0.77 * at(FORWARD, column_bytes),
        (1, Direction::Backward) => 0.7 * at(BACKWARD, column_bytes),
        (2, Direction::Forward) => 0.92 * at(FORWARD, column_bytes),
        (2, Direction::Backward) => 0.83 * at(BACKWARD, column_bytes),
        (_, Direction::Forward) => 1.0,
        (_, Direction::Backward) => 0.94,
    };
    // A column that leaves lanes idle takes a warp as long as one that does not: 8 and 24 floats at 10 and 26%, 8 words
    // of 8 and 16 bytes at 22 and 44. Elements of several words go word by word.
    let short =
        if strips::fills_warps(slots, word) { 1.0 } else { (column_bytes as f64 / 260.0).min(1.0) };
    let short = if elem_bytes == word { short } else { 0.73 * short };
    // Rows moved by less than 16 bytes; rows that lie alike on chip, so that lanes meet the same banks.
    let coarse = match (strips.lines.granule, direction) {
        (16, _) => 1.0,
        (_, Direction::Forward) => 0.65,
        (_, Direction::Backward) => 0.85,
    };
    let alike = match (word, (slots.cols() * elem_bytes).is_multiple_of(16)) {
        (1, true) => 0.75,
        (2..=8, true) => 0.92,
        _ => 1.0,
    };
    let part = at(limits.rates.strips, slots.chunk() * strips.cols * elem_bytes);
    even * part * narrow * shallow * short * coarse * alike * row_bytes / (row_bytes + 32.0)
}

/// What rows that are no multiples of 4 bytes cost a barrier over the grid: 37-45% of copy for bytes and
/// 57 for words of two, 24-26 and 49 from 24 MB on, where registers hold a part (`planner_first.csv`); the
/// curve has 57 and 70%.
fn narrow_on_chip(word: usize, bytes: usize, limits: &Limits) -> f64 {
    let registers = bytes > limits.units * limits.group_bytes / 5 * 4;
    match (word, registers) {
        (1, false) => 0.7,
        (1, true) => 0.3,
        (_, false) => 0.8,
        (_, true) => 0.7,
    }
}

/// Sides of the tiles, all powers of two, that have a kernel of their own.
const TILE_SIDE: usize = 128;

/// What a block that has a multiprocessor to itself, because of what it holds, loses over two that
/// overlap reading and writing: tiles of 128 words of 8 bytes at 76% of copy and of 64 at 98%, clusters
/// of 32x20000 floats at 62% and of 32x12000 at 76%, instances of 32x1600 floats at 78 and of 32x889 at 86 (`barrier.csv`).
fn alone(held_bytes: usize, limits: &Limits) -> f64 {
    if 2 * held_bytes > limits.group_bytes { 0.8 } else { 1.0 }
}

/// `fraction` for super-elements that only narrow words divide: 519, 4831, 9662 and 19324 bytes at 16, 7, 6
/// and 34% of copy where 16 divides it at 88% (7188528x35, `sweeps.csv`); and for those that are longer
/// than what keeps many workers going.
fn by_words(fraction: f64, unit_bytes: usize) -> f64 {
    let (most, long) = match unit_bytes.trailing_zeros() {
        0 => (0.12, 4 << 10),
        1 => (0.2, 4 << 10),
        2 => (0.75, 8 << 10),
        3 => (1.0, 16 << 10),
        _ => (1.0, 32 << 10),
    };
    fraction.min(most) * (f64::from(long) / unit_bytes as f64).min(1.0)
}

/// The share of what is moved for a run of `bytes` that is the run: lines of 128 bytes are fetched by
/// sectors of 32, and written in part at both ends when the runs do not begin with them.
///
/// Runs of 96, 132, 200 and 400 bytes at 43, 37, 52 and 67% of copy (H200, `moves.csv`) where the
/// curve of whole lines has 57, 70, 80 and 87.
fn whole_lines(bytes: usize) -> f64 {
    let more = match bytes {
        // The curves of short runs are of runs that share their lines.
        _ if bytes <= 64 || bytes.is_multiple_of(LINE_BYTES) => 0,
        _ if bytes.is_multiple_of(32) => 32,
        _ => 112,
    };
    bytes as f64 / (bytes + more) as f64
}

/// Whether cycles are of at most 32 super-elements, by walking from a few places.
fn has_short_cycles(shape: &StageShape) -> bool {
    const SHORT: usize = 32;
    const SAMPLES: usize = 8;
    let units = shape.instance_units();
    (1..=SAMPLES).all(|k| {
        let start = units / (SAMPLES + 1) * k + k % units.max(1);
        let start = start % units.max(1);
        let mut at = start;
        (0..SHORT).any(|_| {
            at = shape.succ(at);
            at == start
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_cycles_are_recognised() {
        let shape = |rows, mid, cols| {
            StageShape::Elementary(Elementary { batch: 1, rows, mid, cols, unit: 64 })
        };
        assert!(has_short_cycles(&shape(256, 64, 256)));
        assert!(has_short_cycles(&shape(256, 64, 128)), "16384 x 8192 in tiles of 64");
        assert!(!has_short_cycles(&shape(312, 64, 188)));
        assert!(!has_short_cycles(&shape(16_384, 1, 509)));
    }

    #[test]
    fn partial_lines_cost_what_they_did() {
        for (bytes, curve, measured) in [(96, 0.57, 0.43), (132, 0.70, 0.37), (200, 0.80, 0.52)] {
            let modelled: f64 = curve * whole_lines(bytes);
            assert!((modelled - measured).abs() < 0.03, "{bytes}: {modelled}");
        }
    }
}
