//! Gather pass of aligned slots between records and columns, forward and backward. Kernels count in bytes.

use turntile_perm::FieldSlots;
use turntile_plan::Direction;

use super::fit::{Lowered, Size, TargetParams, field};
use crate::args::{Divisor32, FieldColumn, FieldGatherArgs, MOST_FIELD_COLUMNS, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, WorkspacePart};
use crate::strategy::Strategy;

/// Bytes of the widest access.
const PACK: usize = 16;
/// Maximum bytes of a slot: one access per lane of a warp. Longer slots are hardly faster (`moves.csv`).
pub const SLOT_BYTES: usize = 512;
/// Chunks in shared memory: one is read while another is written, which also needs its neighbour.
const HELD: usize = 3;
const THREADS: usize = 256;
/// Maximum number of thread blocks per multiprocessor, which the kernels' registers allow.
const MOST_GROUPS: usize = 4;
/// Bytes of shared memory that the system reserves per thread block.
const RESERVED_BYTES: usize = 1 << 10;

/// Returns the bytes of a chunk at which four thread blocks share a multiprocessor, padding of rows included.
pub const fn chunk_bytes(shared_bytes: usize) -> usize {
    shared_bytes / MOST_GROUPS / HELD / 9 * 8 - 512
}

/// Layout of chunks in shared memory.
struct OnChip {
    /// Bytes of the table, of a chunk, and of the padding after every row.
    table: usize,
    held: usize,
    pad: usize,
    /// 16-byte packs in a row.
    row: usize,
}

impl OnChip {
    fn new(slots: &FieldSlots, direction: Direction, at: TargetParams) -> Self {
        let fields = slots.schema();
        let (record, bytes) =
            (fields.words() * at.elem_bytes, slots.chunk() * fields.words() * at.elem_bytes);
        // A row is at least four records, in whole packs, and neighbouring packs of a field step over one row. An odd number
        // of packs avoids bank conflicts. If all fields are single bytes, lanes alternate between fields, 16 records apart in
        // each: rows of at least 8 packs suffice. Slots, and fields of tiles, are read without padding.
        let least = PACK >> record.trailing_zeros().min(2);
        let single = record == fields.count() && record.is_multiple_of(2);
        let packs = if single { 8usize.next_multiple_of(record) } else { record * least / PACK };
        let by_record = direction == Direction::Forward && slots.tile() <= 1;
        let pads = by_record && packs.is_multiple_of(2);
        let (row, pad) = if pads { (packs, PACK) } else { (1, 0) };
        let held = bytes + bytes.div_ceil(row * PACK) * pad;
        OnChip { table: fields.count() * size_of::<FieldColumn>(), held, pad, row }
    }

    /// Returns the bytes of shared memory, including what a 4-byte read may reach after the last chunk.
    fn bytes(&self) -> usize {
        self.table + HELD * self.held + PACK
    }
}

/// Returns the number of records in the last chunk.
fn last_records(slots: &FieldSlots) -> usize {
    slots.chunk_records(slots.chunks() - 1).1
}

/// Returns the bytes of workspace: a slot per field for every run and the end, and the last chunk.
fn kept_bytes(slots: &FieldSlots, runs: usize, at: TargetParams) -> usize {
    let fields = slots.schema();
    let words = (runs + 1) * fields.count() * slots.slot() + last_records(slots) * fields.words();
    words.saturating_mul(at.elem_bytes)
}

/// Rejects slots and addresses that are not multiples of 16 bytes, long slots, too many fields, and gathers by sections.
pub fn check(slots: &FieldSlots, at: TargetParams) -> Lowered<()> {
    let slot_bytes = slots.slot() * at.elem_bytes;
    let suits = slot_bytes.is_multiple_of(PACK)
        && slot_bytes <= SLOT_BYTES
        && at.alignment >= PACK
        && slots.schema().count() <= MOST_FIELD_COLUMNS
        && slots.section().is_none();
    if suits { Ok(()) } else { Err(LowerError::NoKernel) }
}

/// Returns the strategy that fills the device, then others, each with half the runs of the one before: they save fewer bytes.
pub fn strategies(slots: &FieldSlots, direction: Direction, at: TargetParams) -> Vec<Strategy> {
    let bytes = OnChip::new(slots, direction, at).bytes();
    let each = at.limits.unit_shared_bytes / (bytes + RESERVED_BYTES);
    let most = at.limits.units * each.clamp(1, MOST_GROUPS);
    let most = most.min(slots.chunks() - 1).max(1);
    std::iter::successors(Some(most), |runs| Some(runs / 2).filter(|&runs| runs > 0))
        .map(|groups| Strategy::Runs { groups })
        .collect()
}

/// Returns two launches: one saves the bytes that runs share; in the other, a thread block gathers each of `runs` runs.
pub fn gather(
    slots: &FieldSlots,
    direction: Direction,
    runs: usize,
    at: TargetParams,
) -> Lowered<Vec<CheckedLaunch>> {
    check(slots, at)?;
    let (fields, tile, last) = (slots.schema(), slots.tile().max(1), slots.chunks() - 1);
    let on_chip = OnChip::new(slots, direction, at);
    let bytes = |words: usize| field(words.saturating_mul(at.elem_bytes));
    // Bytes of the last chunk are counted in 32 bits.
    bytes(last_records(slots).saturating_mul(fields.words()))?;
    let mut params = FieldGatherArgs {
        chunks: field(last)?,
        last_records: field(last_records(slots))?,
        each: field(last / runs)?,
        more: field(last % runs)?,
        fields: fields.count() as u32,
        backward: u32::from(direction == Direction::Backward),
        record: bytes(fields.words())?,
        chunk: field(slots.chunk())?,
        tiles: field(slots.chunk() / tile)?,
        slot: bytes(slots.slot())?,
        table: field(on_chip.table)?,
        held: field(on_chip.held)?,
        pad: on_chip.pad as u32,
        runs: field(runs)?,
        row: Divisor32::new(field(on_chip.row)?),
        tile: Divisor32::new(field(tile)?),
        tile_bytes: Divisor32::new(bytes(tile * fields.words())?),
        ..zeroed()
    };
    // The order in which the kernels search fields.
    let mut order: Vec<usize> = (0..fields.count()).collect();
    if direction == Direction::Backward {
        order.sort_by_key(|&f| fields.begin_in(slots.tile(), f));
    }
    for (column, &f) in params.field.iter_mut().zip(&order) {
        *column = FieldColumn {
            width: Divisor32::new(bytes(tile * fields.width(f))?),
            begin: bytes(slots.chunk() * fields.field_start(f))?,
            place: bytes(tile * fields.begin_in(slots.tile(), f))?,
            lead: bytes(slots.lead(0, f))?,
            last: field(slots.column(last, f).2)?,
        };
    }
    let kept = WorkspacePart::Saved(kept_bytes(slots, runs, at));
    let launch = |entry, blocks, shared_bytes| {
        let size = Size { blocks, threads: THREADS, shared_bytes };
        let launch = at.launch((Family::Fields, PACK, entry), size)?;
        Ok(launch.using(kept, params))
    };
    Ok(vec![
        launch("field_keep", runs + 1, on_chip.table)?,
        launch("field_gather", runs, on_chip.bytes())?,
    ])
}
