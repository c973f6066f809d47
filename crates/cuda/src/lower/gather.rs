//! The gather pass of aligned slots.

use turntile_perm::{Order, Slots};
use turntile_plan::{Direction, runs};

use super::moves::slot_map;
use super::wide::Room;
use super::{At, field, groups, shared};
use crate::call::{Call, Workspace, widest_word};
use crate::error::Infeasible;
use crate::family::Family;
use crate::params::Params;

/// The kernels' blocks wait for each other, and know slots column by column.
fn check(slots: &Slots, at: At) -> Result<(), Infeasible> {
    match (at.device.cooperative, slots.order()) {
        (false, _) => Err(Infeasible::NoBarrier { scope: "the grid" }),
        (true, Order::Rows) => Err(Infeasible::NoKernel),
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
) -> Result<Call, Infeasible> {
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
        shared_bytes: shared(runs::on_chip_bytes(&slots, at.elem_bytes), at.device)?,
        cooperative: true,
        cluster: 1,
        params: slot_map(Params::new().u64(0), batch, slots, direction, at.elem_bytes, false)
            .u64(batch as u64)
            .u64((slots.len() * at.elem_bytes) as u64)
            .u32(field(count)?)
            .u32(field(pitch)?)
            .u32(field(runs::table_bytes(&slots))?)
            .u32(u32::from(vectors))
            .div32(field(at.elem_bytes / word)?)
            .div32(field(slots.chunk() / slots.slot())?),
        workspace: Workspace::Kept(runs::kept_bytes(&slots, at.elem_bytes, count)),
    })
}

/// Threads of a block of the gather pass over the grid.
const GATHER_THREADS: u32 = 1024;
/// Shared memory of a column's run; see `kernels/slot_gather.cu`.
const RUN_BYTES: usize = 16;

/// Chunk after chunk, the grid together.
pub fn by_chunks(
    batch: usize,
    slots: Slots,
    direction: Direction,
    at: At,
) -> Result<Call, Infeasible> {
    check(&slots, at)?;
    let word = widest_word(&[at.elem_bytes, at.alignment]);
    let room = Room {
        blocks: at.device.units,
        shared_bytes: at.device.shared_bytes,
        column_bytes: RUN_BYTES,
        granules_held: 0,
        granule: word,
        row_step: 1,
        col_step: 1,
    };
    let extended = slots.longest_chunk() + slots.slot() - 1;
    let split = room.split(extended, slots.cols(), at.elem_bytes).ok_or(Infeasible::OnChip {
        need: extended * slots.cols() * at.elem_bytes,
        have: room.blocks * room.shared_bytes,
    })?;
    let kept = (slots.slot() - 1) * slots.cols() * at.elem_bytes;
    Ok(Call {
        family: Family::SlotGather,
        word,
        entry: match direction {
            Direction::Forward => "slot_gather",
            Direction::Backward => "slot_scatter",
        },
        groups: groups(split.down * split.across)?,
        threads: GATHER_THREADS,
        shared_bytes: (split.block_cols * RUN_BYTES + split.shared_rows * split.pitch) as u32,
        cooperative: true,
        cluster: 1,
        params: slot_map(Params::new().u64(0), batch, slots, direction, at.elem_bytes, false)
            .u64(batch as u64)
            .u64((slots.len() * at.elem_bytes) as u64)
            .u64(slots.chunks() as u64)
            .u32(field(split.block_rows)?)
            .u32(field(split.block_cols)?)
            .u32(field(split.across)?)
            .u32(field(split.pitch)?)
            .div32(field(at.elem_bytes / word)?),
        workspace: Workspace::Kept(kept),
    })
}
