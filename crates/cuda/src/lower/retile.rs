//! Conversion of records between AoS and tiles by barrier-sync at block scope.

use turntile_perm::{LayoutChange, RecordSchema};

use super::fit::{Lowered, Size, TargetParams, field, shared, threads_for};
use crate::args::{Divisor32, FieldGroup, MOST_FIELD_GROUPS, RetileArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, widest_word};

/// Maximum bytes of several small tiles in a thread block, so that several blocks share a multiprocessor.
const BLOCK_BYTES: usize = 24 << 10;
/// Bytes of the widest access.
const PACK: usize = 16;

/// Returns the launch in which a thread block converts one tile, or several small ones.
pub fn block(retile: &LayoutChange, at: TargetParams) -> Lowered<CheckedLaunch> {
    let (fields, [aos, tile]) = (retile.schema(), sides(retile));
    if aos > 1 {
        return Err(LowerError::NoKernel);
    }
    let (records, record_bytes) = (fields.records(), fields.words() * at.elem_bytes);
    let tile = tile.max(1).min(records.max(1));
    // Reject tiles that do not fit before counting words.
    let tile_bytes = tile.saturating_mul(record_bytes);
    shared(tile_bytes, at.limits)?;
    let word = word(fields, at);
    let group = groups(fields, aos, |elements| elements * at.elem_bytes / word)?;
    let tiles = records.div_ceil(tile);
    // A multiple of the number of tiles that fill whole packs, if it fits: thread blocks then start at packs.
    let whole = PACK / widest_word(&[tile_bytes]);
    let most = (BLOCK_BYTES / tile_bytes).clamp(1, tiles.max(1));
    let stacked = if most >= whole { most / whole * whole } else { most };
    let (block, words) = (stacked * tile, record_bytes / word);
    let bytes = block.min(records) * record_bytes;
    let aligned =
        at.alignment >= PACK && (tiles <= stacked || (stacked * tile_bytes).is_multiple_of(PACK));
    // Byte fields of different widths take different times, so the lanes of a warp take packs of one field from several tiles.
    // Otherwise the packs of a field step over rows of records. An odd number of packs should separate rows.
    let slabs = word == 1 && group.len() > 1 && tile.is_multiple_of(PACK);
    let row_packs = if slabs { tile * record_bytes / PACK } else { words };
    let padding = bytes / (row_packs * PACK) * PACK;
    let table = (group.len() * size_of::<FieldGroup>()).next_multiple_of(PACK);
    let held = table + bytes + if aligned { 0 } else { PACK };
    // Narrow words are read 4 bytes at a time, which may cross the end.
    let held = held + if word < 4 { 4 } else { 0 };
    let pads = aligned && row_packs.is_multiple_of(2) && held + padding <= at.limits.shared_bytes;
    let size = Size {
        blocks: records.div_ceil(block),
        threads: threads_for(bytes, 1024),
        shared_bytes: held + if pads { padding } else { 0 },
    };
    let entry = match (retile.from() == aos, word) {
        (true, 1) => "retile_split_1",
        (true, _) => "retile_split_4",
        (false, 1) => "retile_join_1",
        (false, _) => "retile_join_4",
    };
    let launch = at.launch((Family::Retile, word, entry), size)?;
    let last = records - records.saturating_sub(1) / tile * tile;
    let mut params = RetileArgs {
        records: records as u64,
        block: field(block)?,
        pad: if pads { PACK as u32 } else { 0 },
        groups: group.len() as u32,
        slab: if slabs { field(tile * word / PACK)? } else { 0 },
        words: field(words)?,
        row: Divisor32::new(field(row_packs)?),
        tile: Divisor32::new(field(tile)?),
        last: Divisor32::new(field(last.max(1))?),
        tile_words: Divisor32::new(field(tile * words)?),
        tiles: Divisor32::new(field(stacked)?),
        ..zeroed()
    };
    params.group[..group.len()].copy_from_slice(&group);
    Ok(launch.with(params))
}

/// Returns the records per tile of both layouts, the shorter tile first. AoS is shorter than tiles of one record.
pub(super) fn sides(retile: &LayoutChange) -> [usize; 2] {
    [retile.from().min(retile.to()), retile.from().max(retile.to())]
}

/// Returns the bytes of a word, 4 if every field and the alignment are multiples of that, otherwise 1.
fn word(fields: &RecordSchema, at: TargetParams) -> usize {
    let widths = fields.widths().fold(0, |all, width| all | width);
    if widest_word(&[widths * at.elem_bytes, at.alignment]) < 4 { 1 } else { 4 }
}

/// Returns the fields in groups of equal width that are consecutive in both layouts, in the words that `words` converts to.
pub(super) fn groups(
    fields: &RecordSchema,
    aos: usize,
    words: impl Fn(usize) -> usize,
) -> Lowered<Vec<FieldGroup>> {
    let mut groups: Vec<FieldGroup> = Vec::new();
    for (f, width) in fields.widths().enumerate() {
        let [width, begin, place] =
            [width, fields.field_start(f), fields.begin_in(aos, f)].map(&words);
        let follows = groups.last().is_some_and(|last| {
            let before = last.width.divisor as usize;
            before == width && last.place as usize + begin - last.begin as usize == place
        });
        if !follows {
            let width = Divisor32::new(field(width)?);
            groups.push(FieldGroup { width, begin: field(begin)?, place: field(place)? });
        }
    }
    if groups.len() > MOST_FIELD_GROUPS { Err(LowerError::NoKernel) } else { Ok(groups) }
}
