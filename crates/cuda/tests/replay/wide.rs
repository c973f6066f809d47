//! `wide_barrier.cuh`: several blocks hold an instance in shared memory and registers, one
//! rectangle per block.

use turntile_cuda::args::{GridArgs, TeamArgs, TeamShare, WideArgs};
use turntile_cuda::launch::{DeviceLimits, WorkspacePart};
use turntile_cuda::sync::BlockSync;

use super::barrier::{WIDE_STORES, rows_on_chip};
use super::{Answer, Launch, Moved, aligned, need, on_chip, threads};

/// Teams move one instance after another; each fits two blocks per multiprocessor.
pub fn teams(call: &Launch, a: &TeamArgs, alignment: u64, offset: u64) -> Moved {
    let blocks = u64::from(a.share.blocks);
    need(call.entry.starts_with("barrier_team"), || call.entry.into())?;
    need(call.sync() == BlockSync::Grid, || format!("{a:?}"))?;
    in_teams(call, &a.share, 4)?;
    let moved = rectangle(call, &a.rectangle, (256, 0, blocks), [0, 0], alignment, offset);
    let in_batch = |(instance, to)| (instance < a.share.instances).then_some(to);
    moved.map(|moved| moved.and_then(in_batch))
}

/// Checks the launch of teams: whole teams, at most one per instance, `per_unit` blocks per
/// multiprocessor, and counters in the workspace.
pub fn in_teams(call: &Launch, share: &TeamShare, per_unit: usize) -> Answer<()> {
    let (blocks, groups) = (u64::from(share.blocks), u64::from(call.groups));
    let teams = groups / blocks.max(1);
    need(blocks > 0 && groups == teams * blocks && teams > 0 && teams <= share.instances, || {
        format!("{share:?}")
    })?;
    let counters =
        matches!(call.workspace, WorkspacePart::Saved(bytes) if bytes as u64 >= teams * 128);
    need(counters, || format!("{call:?}"))?;
    need(
        per_unit * (call.shared_bytes as usize + 1024) <= DeviceLimits::H200.unit_shared_bytes,
        || format!("{call:?}"),
    )
}

pub fn wide(call: &Launch, a: &WideArgs, alignment: u64, offset: u64) -> Moved {
    let grid = call.entry.starts_with("barrier_grid");
    assert!(grid || call.entry.starts_with("barrier_cluster"), "{}", call.entry);
    let blocks = if grid { u64::from(call.groups) } else { u64::from(call.cluster) };
    need(grid || call.sync() == BlockSync::Cluster, || format!("{call:?}"))?;
    let (most, registers) = if grid { (512, 88) } else { (1024, 0) };
    let all = u64::from(a.block_rows);
    let moved = rectangle(call, a, (most, registers, blocks), [all, 0], alignment, offset)?;
    Ok(moved.and_then(|(instance, to)| {
        let clusters = u64::from(call.groups) / blocks;
        (grid && instance == 0 || !grid && instance < clusters).then_some(to)
    }))
}

/// All multiprocessors, with rows beyond shared memory and registers in the workspace.
pub fn grid(call: &Launch, a: &GridArgs, alignment: u64, offset: u64) -> Moved {
    need(call.entry.starts_with("barrier_grid_kept"), || call.entry.into())?;
    let (blocks, kept) = (u64::from(call.groups), u64::from(a.kept_bytes));
    aligned(128, &[kept])?;
    need(call.workspace == WorkspacePart::Saved((blocks * kept) as usize), || format!("{call:?}"))?;
    let rows = [u64::from(a.held_rows), kept];
    let moved = rectangle(call, &a.rectangle, (512, 88, blocks), rows, alignment, offset)?;
    Ok(moved.and_then(|(instance, to)| (instance == 0).then_some(to)))
}

/// Returns the instance of a byte, and where the rectangles of `blocks` blocks move it.
fn rectangle(
    call: &Launch,
    a: &WideArgs,
    (most, registers, blocks): (u32, u64, u64),
    [held_rows, kept_bytes]: [u64; 2],
    alignment: u64,
    offset: u64,
) -> Answer<Option<(u64, u64)>> {
    let (word, unit) = (call.word as u64, u64::from(a.unit.divisor) * call.word as u64);
    let [rows, cols, pitch] = [a.rows, a.cols, a.pitch].map(u64::from);
    let [block_rows, block_cols, across] = [a.block_rows, a.block_cols, a.across].map(u64::from);
    threads(call, most)?;
    let micro = call.entry.ends_with("_micro");
    let columns = call.entry.ends_with("_columns");
    let vector = if word == 1 { 8 } else { 16 };
    let granule = match micro {
        true => vector,
        false if call.entry.contains("_wide") => 4,
        false => word,
    };

    // Rows beyond the rows in shared memory are in registers, and rows beyond those in the
    // workspace. They pass through shared memory when they are written.
    let (row, column) = (cols * unit, rows * unit);
    let low = u64::from(a.shared_rows).min(block_rows);
    let high = (block_rows - low).min(held_rows);
    let over = block_rows - low - high;
    let held = u64::from(call.threads) * registers * 4 / granule;
    need(high * (block_cols * unit / granule) <= held && high <= low, || format!("{a:?}"))?;
    need(over * block_cols * unit <= kept_bytes && over <= low, || format!("{a:?}"))?;
    if micro {
        // Swaths of 2^pitch rows of micro-blocks, one slot per row of each.
        aligned((vector / word) << pitch, &[block_rows])?;
        aligned(granule, &[column, block_rows * unit])?;
        on_chip(call, block_rows * block_cols * word)?;
    } else if columns {
        // Parts of four rows and one vector. Rows below the rectangle complete its columns' vectors.
        let part = 16 / word;
        need(a.unit.divisor == 1 && word <= 4, || format!("{a:?}"))?;
        aligned(4 * word, &[pitch])?;
        need(pitch >= (block_rows + part - 1).min(rows) * word, || format!("{a:?}"))?;
        on_chip(call, block_cols.div_ceil(part) * (part * pitch + 4 * word))?;
    } else {
        rows_on_chip(pitch, block_cols * unit, granule)?;
        on_chip(call, low * pitch)?;
    }
    aligned(granule, &[alignment, row, block_cols * unit, a.instance_bytes])?;
    if word < 4 && a.wide & WIDE_STORES != 0 {
        aligned(4, &[alignment, column, block_rows * unit, low * unit, a.instance_bytes])?;
        aligned(4, &[if over > 0 { high * unit } else { 0 }])?;
    }

    let instance = offset / a.instance_bytes;
    let rest = offset - instance * a.instance_bytes;
    let (r, c, within) = (rest / row, rest % row / unit, rest % unit);
    if r >= rows || c / block_cols >= across {
        return Ok(None);
    }
    let rank = r / block_rows * across + c / block_cols;
    let to = instance * a.instance_bytes + c * column + r * unit + within;
    Ok((rank < blocks).then_some((instance, to)))
}
