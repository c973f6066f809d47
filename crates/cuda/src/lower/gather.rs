//! The gather pass of aligned slots.

use turntile_perm::{Order, Slots};
use turntile_plan::Direction;

use super::fit::{At, field, groups, shared};
use super::teams::{self, Teams};
use super::{maps, runs};
use crate::args::Address;
use crate::args::divisor::Divisor32;
use crate::args::gather::{GatherArgs, RunArgs};
use crate::call::{Call, WorkspacePart, widest_word};
use crate::error::LowerError;
use crate::family::Family;

/// The kernels' blocks wait for each other, and know slots column by column.
fn check(slots: &Slots, at: At) -> Result<(), LowerError> {
    match (at.limits.cooperative, slots.order()) {
        (false, _) => Err(LowerError::NoBarrier { scope: "the grid" }),
        (true, Order::Rows) => Err(LowerError::NoKernel),
        (true, Order::Columns) => Ok(()),
    }
}

/// A run of chunks for each of `count` blocks.
pub fn by_runs(
    batch: usize,
    slots: Slots,
    direction: Direction,
    count: usize,
    at: At,
) -> Result<Call, LowerError> {
    check(&slots, at)?;
    let word = widest_word(&[at.elem_bytes, at.alignment]);
    let pitch = runs::pitch(&slots, at.elem_bytes);
    let as_in_memory = pitch == slots.cols() * at.elem_bytes;
    let matrices = if batch > 1 { slots.len() * at.elem_bytes } else { 0 };
    let vectors =
        as_in_memory && widest_word(&[slots.chunk() * pitch, at.alignment, matrices]) == 16;
    Ok(Call {
        family: Family::SlotRuns,
        word,
        entry: match direction {
            Direction::Forward => "slot_runs",
            Direction::Backward => "slot_runs_back",
        },
        groups: groups(count)?,
        threads: runs::THREADS as u32,
        shared_bytes: shared(runs::on_chip_bytes(&slots, at.elem_bytes), at.limits)?,
        params: RunArgs {
            data: Address::default(),
            kept: Address::default(),
            slots: maps::slots64(batch, slots, direction, at.elem_bytes),
            batch: batch as u64,
            matrix_bytes: (slots.len() * at.elem_bytes) as u64,
            runs: field(count)?,
            pitch: field(pitch)?,
            table: field(runs::table_bytes(&slots))?,
            vectors: u32::from(vectors),
            grain: Divisor32::new(field(at.elem_bytes / word)?),
            per_column: Divisor32::new(field(slots.chunk() / slots.slot())?),
        }
        .into(),
        workspace: WorkspacePart::Kept(runs::kept_bytes(&slots, at.elem_bytes, count)),
    })
}

/// A team of `blocks` blocks for each run, `count` blocks in all.
pub fn by_teams(
    batch: usize,
    slots: Slots,
    direction: Direction,
    (count, blocks): (usize, usize),
    at: At,
) -> Result<Call, LowerError> {
    check(&slots, at)?;
    let word = widest_word(&[at.elem_bytes, at.alignment]);
    let teams = (count / blocks.max(1)).max(1);
    let have = at.limits.shared_bytes;
    let fit = |blocks| Teams::new(&slots, batch, (at.elem_bytes, word), (teams, blocks), have);
    let these = fit(blocks).ok_or(LowerError::OnChip {
        need: (slots.longest_chunk() + slots.slot())
            * slots.cols().div_ceil(blocks)
            * at.elem_bytes,
        have,
    })?;
    Ok(Call {
        family: Family::SlotGather,
        word,
        entry: match direction {
            Direction::Forward => "slot_gather",
            Direction::Backward => "slot_scatter",
        },
        groups: groups(these.count * blocks)?,
        threads: teams::THREADS as u32,
        shared_bytes: shared(these.on_chip_bytes(), at.limits)?,
        params: GatherArgs {
            data: Address::default(),
            kept: Address::default(),
            slots: maps::slots64(batch, slots, direction, at.elem_bytes),
            batch: batch as u64,
            matrix_bytes: (slots.len() * at.elem_bytes) as u64,
            kept_bytes: Teams::run_bytes(&slots, at.elem_bytes, direction) as u64,
            runs: field(these.runs)?,
            teams: field(these.count)?,
            blocks: field(blocks)?,
            block_cols: field(these.cols)?,
            depth: field(these.depth)?,
            readers: field(these.readers(&slots, (at.elem_bytes, word), direction))?,
            ring_rows: field(these.ring_rows)?,
            pitch: field(these.layout.pitch)?,
            period: these.layout.period,
            granule: field(these.layout.granule)?,
            grain: Divisor32::new(field(at.elem_bytes / word)?),
        }
        .into(),
        workspace: WorkspacePart::Kept(these.kept_bytes(&slots, at.elem_bytes, direction)),
    })
}
