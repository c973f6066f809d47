//! Movers of super-elements along cycles: every one goes where the map says, whoever carries it.

use turntile_cuda::args::Args;
use turntile_cuda::args::flags::FlagLayout;

use super::maps::{Map, NARROW, SlotsOf};
use super::{Answer, Launch, Moved, aligned, last_number, need, on_chip, threads};

/// What a mover is told, whatever its map.
struct Mover {
    units: u64,
    lanes: u64,
    vectors: u64,
    /// Rows and columns of a tile that is transposed on the way.
    tile: (u64, u64),
}

pub fn moves(call: &Launch, offset: u64) -> Moved {
    macro_rules! moved {
        ($a:ident, $map:expr) => {{
            let (units, lanes) = ($a.units, u64::from($a.lanes));
            let tile = (u64::from($a.rows), u64::from($a.cols));
            let mover = Mover { units, lanes, vectors: u64::from($a.vectors), tile };
            let bytes = call.workspace.bytes() as u64;
            flags(&$a.flags.layout, units, bytes / 4)?;
            by_kernel(call, &$map, mover, offset)
        }};
    }
    macro_rules! per_cycle {
        ($a:ident, $map:expr) => {{
            let (units, lanes) = ($a.units, u64::from($a.lanes));
            let mover = Mover { units, lanes, vectors: u64::from($a.vectors), tile: (1, 1) };
            threads(call, 256)?;
            go(call, &$map, mover, offset)
        }};
    }
    let entry = call.entry;
    match &call.params {
        Args::MoveSwap32(a) if entry.starts_with("move_swap32_") => moved!(a, a.map),
        Args::MoveSwap64(a)
            if entry.starts_with("move_swap64_")
                || ["move_shared_swap", "move_block"].contains(&entry) =>
        {
            moved!(a, a.map)
        }
        Args::MoveSlots32(a) if entry.starts_with("move_slots32_") => {
            moved!(a, SlotsOf::from(&a.map))
        }
        Args::MoveSlots64(a)
            if entry.starts_with("move_slots64_") || entry == "move_shared_slots" =>
        {
            moved!(a, SlotsOf::from(&a.map))
        }
        Args::MoveAxes32(a) if entry.starts_with("move_axes32_") => moved!(a, a.map),
        Args::MoveAxes64(a) if entry.starts_with("move_axes64_") || entry == "move_shared_axes" => {
            moved!(a, a.map)
        }
        Args::PerCycleAxes32(a) if entry == "per_cycle_axes32" => per_cycle!(a, a.map),
        Args::PerCycleAxes64(a) if entry == "per_cycle_axes64" => per_cycle!(a, a.map),
        Args::PerCycleSwap32(a) if entry == "per_cycle_swap32" => per_cycle!(a, a.map),
        Args::PerCycleSwap64(a) if entry == "per_cycle_swap64" => per_cycle!(a, a.map),
        Args::PerCycleSlots(a) if entry == "per_cycle_slots" => {
            per_cycle!(a, SlotsOf::from(&a.map))
        }
        Args::OnChip(a) => {
            threads(call, 1024)?;
            let held = match entry {
                "move_on_chip_words" => u64::from(a.lanes == 1),
                "move_on_chip_1" => u64::from(a.lanes),
                "move_on_chip_4" => 4 * u64::from(a.lanes),
                other => panic!("{other}"),
            };
            let vectors = u64::from(a.vectors);
            need(vectors <= held, || format!("{vectors} vectors, {held} held"))?;
            flags(&a.layout, u64::from(a.units), u64::from(a.flag_words))?;
            on_chip(call, 4 * u64::from(a.flag_words))?;
            aligned(call.word as u64, &[a.instance_bytes])?;
            let (instance, rest) = (offset / a.instance_bytes, offset % a.instance_bytes);
            if instance >= a.instances {
                return Ok(None);
            }
            let (units, lanes) = (u64::from(a.units), u64::from(a.lanes));
            // A block goes on to other instances, so that any number of blocks will do.
            need(call.groups > 0, || "no block".into())?;
            let mover = Mover { units, lanes, vectors, tile: (1, 1) };
            let moved = go(call, &a.map, mover, rest)?;
            Ok(moved.map(|to| instance * a.instance_bytes + to))
        }
        other => panic!("{entry} does not take {other:?}"),
    }
}

/// Every super-element has a flag of its own in `words` words.
fn flags(layout: &FlagLayout, units: u64, words: u64) -> Answer<()> {
    if units == 0 {
        return Ok(());
    }
    let last = if layout.remapped != 0 {
        // 32 turns through the words.
        let turns = units.div_ceil(u64::from(layout.words.divisor));
        need(units <= NARROW.0 && turns <= 32, || format!("{units} flags: {layout:?}"))?;
        u64::from(layout.words.divisor) - 1
    } else {
        need(layout.shift <= 5, || format!("{layout:?}"))?;
        let word = (units - 1) >> layout.shift;
        if layout.padded != 0 { word + word / 32 } else { word }
    };
    need(last < words, || format!("{units} flags in {words} words: {layout:?}"))
}

/// What a kernel holds of super-elements.
fn by_kernel(call: &Launch, map: &impl Map, mover: Mover, offset: u64) -> Moved {
    let turns = mover.tile.0 > 1 && mover.tile.1 > 1;
    let held = match call.entry {
        "move_shared_swap" | "move_shared_slots" | "move_shared_axes" => {
            threads(call, 256)?;
            // Each worker carries one and fetches another.
            let workers = u64::from(call.threads) / mover.lanes;
            on_chip(call, workers * 2 * mover.vectors * call.word as u64)?;
            mover.vectors
        }
        "move_block" => {
            threads(call, 1024)?;
            need(!turns, || "a block does not turn tiles".into())?;
            need(mover.vectors <= u64::from(call.threads), || format!("{call:?}"))?;
            return go(call, map, Mover { lanes: 1, ..mover }, offset);
        }
        entry => {
            threads(call, 256)?;
            need(!turns, || "registers do not turn tiles".into())?;
            last_number(entry) * mover.lanes
        }
    };
    need(mover.vectors <= held, || format!("{} vectors, {held} held", mover.vectors))?;
    go(call, map, mover, offset)
}

fn go(call: &Launch, map: &impl Map, mover: Mover, offset: u64) -> Moved {
    let (word, Mover { units, lanes, vectors, tile: (rows, cols) }) = (call.word as u64, mover);
    need(lanes.is_power_of_two() && lanes <= 32, || format!("{lanes} lanes"))?;
    need(call.groups > 0, || "no block".into())?;
    // 32-bit numbers leave room for the search for candidates.
    let numbered = map.width().0 > NARROW.0 || units <= 1 << 31;
    need(numbered, || format!("{units} super-elements in 32 bits"))?;
    map.check(units, word)?;
    let (s, within) = map.find(offset);
    if s >= units || within >= vectors * word {
        return Ok(None);
    }
    let to = map.offset(map.succ(s)?);
    let grain = vectors / (rows * cols);
    let (element, rest) = (within / word / grain, within % (grain * word));
    let (r, c) = (element / cols, element % cols);
    let turned = if rows > 1 { c * rows + r } else { element };
    Ok(Some(to + turned * grain * word + rest))
}
