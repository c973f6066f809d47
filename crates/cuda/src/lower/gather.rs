//! The gather pass of aligned slots.

use turntile_perm::{Order, Slots};
use turntile_plan::strips::{self, Strips};
use turntile_plan::{Direction, runs};

use super::moves::slot_map;
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

/// A team of `blocks` blocks for each run, `count` blocks in all.
pub fn by_teams(
    batch: usize,
    slots: Slots,
    direction: Direction,
    (count, blocks): (usize, usize),
    at: At,
) -> Result<Call, Infeasible> {
    check(&slots, at)?;
    let word = widest_word(&[at.elem_bytes, at.alignment]);
    let teams = (count / blocks.max(1)).max(1);
    let have = at.device.shared_bytes;
    let fit = |blocks| Strips::new(&slots, batch, (at.elem_bytes, word), (teams, blocks), have);
    let strips = fit(blocks).ok_or(Infeasible::OnChip {
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
        groups: groups(strips.teams * blocks)?,
        threads: strips::THREADS as u32,
        shared_bytes: shared(strips.on_chip_bytes(), at.device)?,
        params: slot_map(Params::new().u64(0), batch, slots, direction, at.elem_bytes, false)
            .u64(batch as u64)
            .u64((slots.len() * at.elem_bytes) as u64)
            .u64(Strips::run_bytes(&slots, at.elem_bytes, direction) as u64)
            .u32(field(strips.runs)?)
            .u32(field(strips.teams)?)
            .u32(field(blocks)?)
            .u32(field(strips.cols)?)
            .u32(field(strips.depth)?)
            .u32(field(strips.readers(&slots, (at.elem_bytes, word), direction))?)
            .u32(field(strips.ring_rows)?)
            .u32(field(strips.lines.pitch)?)
            .u32(strips.lines.band)
            .u32(field(strips.lines.granule)?)
            .div32(field(at.elem_bytes / word)?),
        workspace: Workspace::Kept(strips.kept_bytes(&slots, at.elem_bytes, direction)),
    })
}
