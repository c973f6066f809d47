//! `wide_barrier.cuh`: several blocks hold an instance in shared memory and registers, one
//! rectangle per block.

use turntile_cuda::args::WideArgs;
use turntile_cuda::sync::BlockSync;

use super::barrier::{WIDE_STORES, rows_on_chip};
use super::{Launch, Moved, aligned, need, on_chip, threads};

pub fn wide(call: &Launch, a: &WideArgs, alignment: u64, offset: u64) -> Moved {
    let (word, unit) = (call.word as u64, u64::from(a.unit.divisor) * call.word as u64);
    let [rows, cols, pitch] = [a.rows, a.cols, a.pitch].map(u64::from);
    let [block_rows, block_cols, across] = [a.block_rows, a.block_cols, a.across].map(u64::from);
    let grid = call.entry.starts_with("barrier_grid");
    assert!(grid || call.entry.starts_with("barrier_cluster"), "{}", call.entry);
    threads(call, if grid { 512 } else { 1024 })?;
    let blocks = if grid { u64::from(call.groups) } else { u64::from(call.cluster) };
    need(grid || call.sync() == BlockSync::Cluster, || format!("{call:?}"))?;
    let granule = if call.entry.contains("_wide") { 4 } else { word };
    let registers = if grid { 88 } else { 0 };

    // Rows beyond the rows in shared memory are in registers. They pass through shared memory when
    // they are written.
    let (row, column) = (cols * unit, rows * unit);
    let low = u64::from(a.shared_rows).min(block_rows);
    let high = block_rows - low;
    let held = u64::from(call.threads) * registers * 4 / granule;
    need(high * (block_cols * unit / granule) <= held && high <= low, || format!("{a:?}"))?;
    rows_on_chip(pitch, block_cols * unit, granule)?;
    on_chip(call, low * pitch)?;
    aligned(granule, &[alignment, row, block_cols * unit, a.instance_bytes])?;
    if word < 4 && a.wide & WIDE_STORES != 0 {
        aligned(4, &[alignment, column, block_rows * unit, low * unit, a.instance_bytes])?;
    }

    let instance = if grid { 0 } else { offset / a.instance_bytes };
    let rest = offset - instance * a.instance_bytes;
    let (r, c, within) = (rest / row, rest % row / unit, rest % unit);
    if r >= rows || c / block_cols >= across {
        return Ok(None);
    }
    let rank = r / block_rows * across + c / block_cols;
    let block = if grid { rank } else { instance * blocks + rank };
    let read = rank < blocks && block < u64::from(call.groups);
    Ok(read.then(|| instance * a.instance_bytes + c * column + r * unit + within))
}
