//! Movers of super-elements along cycles: each super-element moves to its destination in the map,
//! regardless of the worker.

use turntile_cuda::args::Args;

use super::maps::{Map, NARROW, SlotsOf};
use super::{Answer, Launch, Moved, aligned, last_number, need, on_chip, threads};

/// Parameters of a mover with any map.
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
            // Places outside the runs that move are not starts.
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
            // A block processes several instances, so any number of blocks is valid.
            need(call.groups > 0, || "no block".into())?;
            let moved = go(call, &a.map, Mover { units, lanes, vectors, word }, rest)?;
            Ok(moved.map(|to| instance * a.instance_bytes + to))
        }
        other => panic!("{entry} does not take {other:?}"),
    }
}

/// Checks that `words` words have a flag for every super-element.
fn flags(units: u64, words: u64) -> Answer<()> {
    need(units.div_ceil(32) <= words, || format!("{units} flags in {words} words"))
}

/// Follows a super-element, within the number of words that the kernel holds.
fn by_kernel(call: &Launch, map: &impl Map, mover: Mover, offset: u64) -> Moved {
    threads(call, 256)?;
    if call.entry.starts_with("per_cycle") {
        return go(call, map, mover, offset);
    }
    flags(mover.units, call.workspace.bytes() as u64 / 4)?;
    let held = match call.entry {
        "move_shared_slots" | "move_shared_axes" => {
            // Each worker has one super-element in shared memory and loads another.
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
    // The kernel uses the launch's access width, and has code only for these widths.
    need(word == call.word as u64 && matches!(word, 1 | 2 | 4 | 8 | 16), || {
        format!("{}: accesses of {word} bytes", call.kernel())
    })?;
    need(lanes.is_power_of_two() && lanes <= 32, || format!("{lanes} lanes"))?;
    need(call.groups > 0, || "no block".into())?;
    // In 32 bits, the search for candidates needs spare range.
    let numbered = map.width().0 > NARROW.0 || units <= 1 << 31;
    need(numbered, || format!("{units} super-elements in 32 bits"))?;
    map.check(units, word)?;
    let (s, within) = map.find(offset);
    if s >= units || within >= vectors * word {
        return Ok(None);
    }
    Ok(Some(map.offset(map.succ(s)?) + within))
}
