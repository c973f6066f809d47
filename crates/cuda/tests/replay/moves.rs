//! Movers of super-elements along cycles: every one goes where the map says, whoever carries it.

use turntile_cuda::args::Args;

use super::maps::{Map, NARROW, SlotsOf};
use super::{Answer, Launch, Moved, aligned, last_number, need, on_chip, threads};

/// The parameters of a mover, whatever its map.
struct Mover {
    units: u64,
    lanes: u64,
    vectors: u64,
    word: u64,
}

pub fn moves(call: &Launch, offset: u64) -> Moved {
    macro_rules! moved {
        ($a:ident, $map:expr) => {{
            let [lanes, vectors, word] = [$a.lanes, $a.vectors, $a.word].map(u64::from);
            by_kernel(call, &$map, Mover { units: $a.units, lanes, vectors, word }, offset)
        }};
    }
    let entry = call.entry;
    let one_of = |start: &str, others: &[&str]| entry.starts_with(start) || others.contains(&entry);
    match &call.params {
        Args::MoveSlots32(a) if one_of("move_slots32_", &[]) => moved!(a, SlotsOf::from(&a.map)),
        Args::MoveSlots64(a)
            if one_of("move_slots64_", &["move_shared_slots", "per_cycle_slots"]) =>
        {
            moved!(a, SlotsOf::from(&a.map))
        }
        Args::MoveAxes32(a) if one_of("move_axes32_", &["per_cycle_axes32"]) => moved!(a, a.map),
        Args::MoveAxes64(a)
            if one_of("move_axes64_", &["move_shared_axes", "per_cycle_axes64"]) =>
        {
            moved!(a, a.map)
        }
        Args::MoveRuns(a) if one_of("move_runs_", &[]) => {
            // What is no place of a run that moves is not started from.
            let (x, y) = (
                offset / a.map.unit_bytes / u64::from(a.map.from.divisor),
                offset / a.map.unit_bytes % u64::from(a.map.from.divisor),
            );
            let side = u64::from(a.map.side.divisor);
            if x >= a.map.rows.into() || y * side + x % side >= a.map.cols.into() {
                return Ok(None);
            }
            moved!(a, a.map)
        }
        Args::MoveFields(a) if one_of("move_fields_", &[]) => moved!(a, a.map),
        Args::OnChip(a) if one_of("move_on_chip", &[]) => {
            threads(call, 1024)?;
            let (vectors, word) = (u64::from(a.vectors), u64::from(a.word));
            let held = 4 * u64::from(a.lanes);
            need(vectors <= held, || format!("{vectors} vectors, {held} held"))?;
            flags(u64::from(a.units), u64::from(a.flag_words))?;
            on_chip(call, 4 * u64::from(a.flag_words))?;
            aligned(word, &[a.instance_bytes])?;
            let (instance, rest) = (offset / a.instance_bytes, offset % a.instance_bytes);
            if instance >= a.instances {
                return Ok(None);
            }
            let (units, lanes) = (u64::from(a.units), u64::from(a.lanes));
            // A block goes on to other instances, so that any number of blocks will do.
            need(call.groups > 0, || "no block".into())?;
            let moved = go(call, &a.map, Mover { units, lanes, vectors, word }, rest)?;
            Ok(moved.map(|to| instance * a.instance_bytes + to))
        }
        other => panic!("{entry} does not take {other:?}"),
    }
}

/// Every super-element has a flag of its own in `words` words.
fn flags(units: u64, words: u64) -> Answer<()> {
    need(units.div_ceil(32) <= words, || format!("{units} flags in {words} words"))
}

/// What a kernel holds of super-elements.
fn by_kernel(call: &Launch, map: &impl Map, mover: Mover, offset: u64) -> Moved {
    threads(call, 256)?;
    if call.entry.starts_with("per_cycle") {
        return go(call, map, mover, offset);
    }
    flags(mover.units, call.workspace.bytes() as u64 / 4)?;
    let held = match call.entry {
        "move_shared_slots" | "move_shared_axes" => {
            // Each worker carries one and fetches another.
            let workers = u64::from(call.threads) / mover.lanes;
            on_chip(call, workers * 2 * mover.vectors * mover.word)?;
            mover.vectors
        }
        entry => last_number(entry) * mover.lanes,
    };
    need(mover.vectors <= held, || format!("{} vectors, {held} held", mover.vectors))?;
    go(call, map, mover, offset)
}

fn go(call: &Launch, map: &impl Map, mover: Mover, offset: u64) -> Moved {
    let Mover { units, lanes, vectors, word } = mover;
    // The kernel accesses what the launch says, and has code for these widths only.
    need(word == call.word as u64 && matches!(word, 1 | 2 | 4 | 8 | 16), || {
        format!("{}: accesses of {word} bytes", call.kernel())
    })?;
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
    Ok(Some(map.offset(map.succ(s)?) + within))
}
