//! Barrier-sync over a cluster or the grid.

use turntile_perm::Elementary;

use super::fit::{Lowered, Size, TargetParams, field, pitch, region_flags, threads_for};
use crate::args::{Divisor32, WideArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::DeviceLimits;
use crate::strategy::Scope;

/// Kernels over a cluster and over the grid: for words, and for narrow words loaded 4 bytes at a time.
const CLUSTER: [&str; 2] = ["barrier_cluster", "barrier_cluster_wide"];
const GRID: [&str; 2] = ["barrier_grid", "barrier_grid_wide"];

/// Threads per block of the grid kernel, and 4-byte registers per thread that hold data (`kernels/grid_barrier.cu`).
const GRID_THREADS: usize = 512;
const GRID_REGISTERS: usize = 88;

/// Registers per thread that the grid kernel is compiled for: 512 threads use all 65536 of a multiprocessor.
const GRID_COMPILED: usize = 128;

/// Returns the bytes of registers in which a block of the grid kernel holds data; 0 if registers would spill.
pub(crate) fn grid_register_bytes(limits: &DeviceLimits) -> usize {
    let fits = limits.registers >= GRID_THREADS * GRID_COMPILED;
    if fits { GRID_THREADS * GRID_REGISTERS * 4 } else { 0 }
}

/// Split of a matrix into `down x across` rectangles, one per thread block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Split {
    down: usize,
    across: usize,
    block_rows: usize,
    block_cols: usize,
    pitch: usize,
    shared_rows: usize,
}

/// Returns the split into at most `blocks` rectangles that moves the fewest bytes; each run of a row or column costs 64 more.
/// Rows that exceed shared memory are in `register_bytes` bytes of registers.
///
/// Also returns whether narrow words are loaded and stored 4 bytes at a time; rectangles then start at multiples of 4 bytes.
fn rectangles(
    e: Elementary,
    word: usize,
    at: TargetParams,
    blocks: usize,
    register_bytes: usize,
) -> Lowered<(Split, [bool; 2])> {
    let aligned =
        |extent: usize| word < 4 && at.alignment >= 4 && (extent * e.unit * word).is_multiple_of(4);
    let wide @ [wide_loads, _] = [e.cols, e.rows].map(aligned);
    let granule = if wide_loads { 4 } else { word };
    let [col_step, row_step] = wide.map(|wide| if wide { 4 / word } else { 1 });
    let (unit_bytes, shared_bytes) = (e.unit * word, at.limits.shared_bytes);
    let cut = |down: usize| {
        let across = blocks / down;
        let block_rows = e.rows.div_ceil(down).next_multiple_of(row_step);
        let block_cols = e.cols.div_ceil(across).next_multiple_of(col_step);
        let row_bytes = block_cols * unit_bytes;
        let pitch = pitch(row_bytes, granule);
        let most = shared_bytes / pitch / row_step * row_step;
        let shared_rows = block_rows.min(most);
        let rest = block_rows - shared_rows;
        let held = rest * row_bytes.div_ceil(granule) <= register_bytes / granule;
        let split = Split { down, across, block_rows, block_cols, pitch, shared_rows };
        (held && rest <= most).then_some(split)
    };
    let cost = |s: &Split| {
        2 * s.block_rows * s.block_cols * unit_bytes + 64 * (s.block_rows + s.block_cols)
    };
    let (need, have) = (e.rows * e.cols * unit_bytes, blocks * (shared_bytes + register_bytes));
    let split = (1..=blocks).filter_map(cut).min_by_key(cost);
    Ok((split.ok_or(LowerError::OnChip { need, have })?, wide))
}

/// Returns the launch: each instance in a cluster's shared memory, or one matrix in the grid's shared memory and registers.
pub fn call(e: Elementary, scope: Scope, at: TargetParams) -> Lowered {
    at.barrier(scope)?;
    let (e, word) = at.in_words(e);
    let (family, entries, most, register_bytes) = match scope {
        Scope::Cluster(most) => (Family::ClusterBarrier, CLUSTER, most, 0),
        Scope::Grid if e.batch == 1 => {
            (Family::GridBarrier, GRID, at.limits.units, GRID_THREADS * GRID_REGISTERS * 4)
        }
        _ => return Err(LowerError::NoKernel),
    };
    let (split, [wide_loads, wide_stores]) = rectangles(e, word, at, most, register_bytes)?;
    let (blocks, threads) = match scope {
        Scope::Grid => (split.down * split.across, GRID_THREADS),
        _ => {
            let bytes = split.block_rows * split.block_cols * e.unit * word;
            (e.batch * most, threads_for(bytes, 1024))
        }
    };
    let entry = entries[usize::from(wide_loads)];
    let shared_bytes = split.shared_rows * split.pitch;
    let launch = at.launch((family, word, entry), Size { blocks, threads, shared_bytes })?;
    let launch = if let Scope::Cluster(most) = scope { launch.in_clusters(most) } else { launch };
    Ok(launch.with(WideArgs {
        instance_bytes: (e.rows * e.cols * e.unit * word) as u64,
        rows: field(e.rows)?,
        cols: field(e.cols)?,
        block_rows: field(split.block_rows)?,
        block_cols: field(split.block_cols)?,
        across: field(split.across)?,
        pitch: field(split.pitch)?,
        shared_rows: field(split.shared_rows)?,
        wide: region_flags([wide_loads, wide_stores, false, false]),
        unit: Divisor32::new(field(e.unit)?),
        ..zeroed()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_those_that_the_preset_plans_with() {
        assert_eq!(grid_register_bytes(&DeviceLimits::H200), 88 * 512 * 4);
        let half = DeviceLimits { registers: 32 << 10, ..DeviceLimits::H200 };
        assert_eq!(grid_register_bytes(&half), 0);
    }

    /// Checks that the thesis's six shapes in f32, and an equally large shape of primes, fit an H200.
    #[test]
    fn matrices_of_52_mb_fit_the_chip() {
        for (rows, cols) in [
            (7200, 1800),
            (5100, 2500),
            (4000, 3200),
            (3300, 3900),
            (2500, 5100),
            (1800, 7200),
            (3001, 3989),
        ] {
            let e = Elementary { batch: 1, rows, mid: 1, cols, unit: 1 };
            let at = TargetParams { elem_bytes: 4, alignment: 16, limits: &DeviceLimits::H200 };
            let call = call(e, Scope::Grid, at).unwrap();
            assert!(call.groups <= 132 && call.groups > 120, "{rows}x{cols}: {call:?}");
        }
        let e = Elementary { batch: 1, rows: 8000, mid: 1, cols: 8000, unit: 1 };
        let at = TargetParams { elem_bytes: 4, alignment: 16, limits: &DeviceLimits::H200 };
        assert!(matches!(call(e, Scope::Grid, at), Err(LowerError::OnChip { .. })));
    }

    #[test]
    fn rectangles_cover_the_matrix_and_fit() {
        for (rows, cols, word) in
            [(1, 1, 4), (1, 5000, 2), (70000, 3, 1), (36, 36, 16), (999, 1001, 8)]
        {
            let e = Elementary { batch: 1, rows, mid: 1, cols, unit: 1 };
            let at = TargetParams { elem_bytes: word, alignment: 16, limits: &DeviceLimits::H200 };
            let (s, _) = rectangles(e, word, at, 132, GRID_THREADS * GRID_REGISTERS * 4).unwrap();
            assert!(s.down * s.block_rows >= rows && s.across * s.block_cols >= cols);
            assert!(s.down * s.across <= 132);
            assert!(s.shared_rows * s.pitch <= DeviceLimits::H200.shared_bytes);
        }
    }
}
