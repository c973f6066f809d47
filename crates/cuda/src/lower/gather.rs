//! Lowering of the gather pass of aligned slots.

use turntile_perm::{AlignedSlots, SlotOrder};
use turntile_plan::Direction;

use super::fit::{Lowered, Size, TargetParams, field};
use super::teams::{self, Teams};
use super::{maps, runs};
use crate::args::{Divisor32, GatherArgs, RunArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{WorkspacePart, widest_word};
use crate::strategy::{Scope, Strategy};

/// Rejects devices without a barrier over the grid, and slots in row order.
fn check(slots: &AlignedSlots, at: TargetParams) -> Lowered<()> {
    at.barrier(Scope::Grid)?;
    if slots.order() == SlotOrder::Rows { Err(LowerError::NoKernel) } else { Ok(()) }
}

/// Returns the strategies for the pass; none without a barrier over the grid.
pub fn strategies(slots: &AlignedSlots, batch: usize, at: TargetParams) -> Vec<Strategy> {
    if check(slots, at).is_err() {
        return Vec::new();
    }
    let (word, _) = at.words(1);
    let mut found = runs::strategies(slots, at.elem_bytes, at.limits);
    found.extend(teams::strategies(slots, batch, at.elem_bytes, word, at.limits));
    found
}

/// Returns the launch in which each of `count` thread blocks gathers one run of chunks.
pub fn by_runs(
    batch: usize,
    slots: AlignedSlots,
    direction: Direction,
    count: usize,
    at: TargetParams,
) -> Lowered {
    check(&slots, at)?;
    let (word, grain) = at.words(1);
    let pitch = runs::pitch(&slots, at.elem_bytes);
    let as_in_memory = pitch == slots.cols() * at.elem_bytes;
    let matrices = if batch > 1 { slots.len() * at.elem_bytes } else { 0 };
    let vectors =
        as_in_memory && widest_word(&[slots.chunk() * pitch, at.alignment, matrices]) == 16;
    let entry = match direction {
        Direction::Forward => "slot_runs",
        Direction::Backward => "slot_runs_back",
    };
    let shared_bytes = runs::on_chip_bytes(&slots, at.elem_bytes);
    let size = Size { blocks: count, threads: runs::THREADS, shared_bytes };
    let kept = WorkspacePart::Saved(runs::kept_bytes(&slots, at.elem_bytes, count));
    let launch = at.launch((Family::SlotRuns, word, entry), size)?;
    let params = RunArgs {
        slots: maps::slots64(batch, slots, direction, at.elem_bytes),
        batch: batch as u64,
        matrix_bytes: (slots.len() * at.elem_bytes) as u64,
        runs: field(count)?,
        pitch: field(pitch)?,
        table: field(runs::table_bytes(&slots))?,
        vectors: u32::from(vectors),
        grain: Divisor32::new(field(grain)?),
        per_column: Divisor32::new(field(slots.chunk() / slots.slot())?),
        ..zeroed()
    };
    Ok(launch.using(kept, params))
}

/// Returns the launch of `count` thread blocks in teams of `blocks`, which gather runs of chunks.
pub fn by_teams(
    batch: usize,
    slots: AlignedSlots,
    direction: Direction,
    (count, blocks): (usize, usize),
    at: TargetParams,
) -> Lowered {
    check(&slots, at)?;
    let (word, grain) = at.words(1);
    let teams = (count / blocks.max(1)).max(1);
    let have = at.limits.shared_bytes;
    let fit = |blocks| Teams::new(&slots, batch, (at.elem_bytes, word), (teams, blocks), have);
    let these = fit(blocks).ok_or(LowerError::OnChip {
        need: (slots.longest_chunk() + slots.slot())
            * slots.cols().div_ceil(blocks)
            * at.elem_bytes,
        have,
    })?;
    let entry = match direction {
        Direction::Forward => "slot_gather",
        Direction::Backward => "slot_scatter",
    };
    let (threads, shared_bytes) = (teams::THREADS, these.on_chip_bytes());
    let size = Size { blocks: these.count * blocks, threads, shared_bytes };
    let kept = WorkspacePart::Saved(these.kept_bytes(&slots, at.elem_bytes, direction));
    let launch = at.launch((Family::SlotGather, word, entry), size)?;
    let params = GatherArgs {
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
        grain: Divisor32::new(field(grain)?),
        ..zeroed()
    };
    Ok(launch.using(kept, params))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::DeviceLimits;

    #[test]
    fn a_gpu_without_a_grid_barrier_has_none() {
        let old = DeviceLimits { cooperative: false, ..DeviceLimits::H200 };
        for (rows, cols, chunk) in [(1009, 997, 64), (9_999_991, 7, 512)] {
            let slots = AlignedSlots::new(rows, cols, 64, chunk).unwrap();
            let at = |limits| TargetParams { elem_bytes: 4, alignment: 4, limits };
            assert!(!strategies(&slots, 1, at(&DeviceLimits::H200)).is_empty());
            assert_eq!(strategies(&slots, 1, at(&old)), []);
        }
    }
}
