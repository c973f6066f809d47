//! Barrier-sync over a cluster or the grid.

use turntile_perm::Elementary;

use super::fit::{At, field, groups, pitch, threads_for};
use crate::args::barrier::WideArgs;
use crate::args::divisor::Divisor32;
use crate::args::{Address, Args};
use crate::call::{Call, Limits, WorkspacePart, widest_word};
use crate::error::LowerError;
use crate::family::Family;

/// Threads of a block of the grid and registers of 4 bytes that each holds data in; see
/// `kernels/grid_barrier.cu`.
const GRID_THREADS: usize = 512;
const GRID_REGISTERS: usize = 88;

/// Registers of a thread that the kernel was compiled with: 512 threads of so many fill a multiprocessor's.
const GRID_COMPILED: usize = 128;

/// Bytes of registers that a block of the grid holds data in; none where it would spill them.
pub(crate) fn grid_register_bytes(limits: &Limits) -> usize {
    let fits = limits.registers >= GRID_THREADS * GRID_COMPILED;
    if fits { GRID_THREADS * GRID_REGISTERS * 4 } else { 0 }
}

/// A matrix cut into `down x across` rectangles, a block each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Split {
    down: usize,
    across: usize,
    block_rows: usize,
    block_cols: usize,
    pitch: usize,
    shared_rows: usize,
}

/// What the rectangles of a split must fit.
struct Bounds {
    /// Blocks at most, or exactly for a cluster.
    blocks: usize,
    shared_bytes: usize,
    /// Granules that the registers of a block hold.
    granules_held: usize,
    granule: usize,
    /// Rectangles begin at multiples of so many rows and columns.
    row_step: usize,
    col_step: usize,
}

impl Bounds {
    /// The split that moves fewest bytes, each run of a row or a column counted as 64 bytes more.
    fn split(&self, rows: usize, cols: usize, word: usize) -> Option<Split> {
        (1..=self.blocks).filter_map(|down| self.rectangles(rows, cols, word, down)).min_by_key(
            |s| 2 * s.block_rows * s.block_cols * word + 64 * (s.block_rows + s.block_cols),
        )
    }

    fn rectangles(&self, rows: usize, cols: usize, word: usize, down: usize) -> Option<Split> {
        let across = self.blocks / down;
        let block_rows = rows.div_ceil(down).next_multiple_of(self.row_step);
        let block_cols = cols.div_ceil(across).next_multiple_of(self.col_step);
        let pitch = pitch(block_cols * word, self.granule);
        let most = (self.shared_bytes / pitch) / self.row_step * self.row_step;
        let shared_rows = block_rows.min(most);
        let rest = block_rows - shared_rows;
        let granules = rest * (block_cols * word).div_ceil(self.granule);
        let fits = granules <= self.granules_held && rest <= most;
        fits.then_some(Split { down, across, block_rows, block_cols, pitch, shared_rows })
    }
}

/// Words of a super-element, and their size.
fn as_words(e: Elementary, at: At) -> Result<(Elementary, usize), LowerError> {
    let unit_bytes = e.unit * at.elem_bytes;
    let word = widest_word(&[unit_bytes, at.alignment]);
    let e = Elementary { unit: unit_bytes / word, ..e };
    if e.mid == 1 { Ok((e, word)) } else { Err(LowerError::NoKernel) }
}

/// The rectangles, with narrow words in granules of 4 bytes where rows and columns align to them.
fn rectangles(
    e: Elementary,
    word: usize,
    at: At,
    blocks: usize,
    threads: usize,
    registers: usize,
) -> Result<(Split, u32), LowerError> {
    let aligned = |extent: usize| {
        word < 4 && e.unit == 1 && at.alignment >= 4 && (extent * word).is_multiple_of(4)
    };
    let (wide_loads, wide_stores) = (aligned(e.cols), aligned(e.rows));
    let granule = if wide_loads { 4 } else { word };
    let step = |wide: bool| if wide { 4 / word } else { 1 };
    let bounds = Bounds {
        blocks,
        shared_bytes: at.limits.shared_bytes,
        granules_held: threads * registers * 4 / granule,
        granule,
        row_step: step(wide_stores),
        col_step: step(wide_loads),
    };
    let have = blocks * (bounds.shared_bytes + threads * registers * 4);
    let unit_bytes = e.unit * word;
    let need = e.rows * e.cols * unit_bytes;
    let split =
        bounds.split(e.rows, e.cols, unit_bytes).ok_or(LowerError::OnChip { need, have })?;
    Ok((split, u32::from(wide_loads) | u32::from(wide_stores) << 1))
}

fn params(e: Elementary, word: usize, split: Split, wide: u32) -> Result<Args, LowerError> {
    let args = WideArgs {
        data: Address::default(),
        instance_bytes: (e.rows * e.cols * e.unit * word) as u64,
        rows: field(e.rows)?,
        cols: field(e.cols)?,
        block_rows: field(split.block_rows)?,
        block_cols: field(split.block_cols)?,
        across: field(split.across)?,
        pitch: field(split.pitch)?,
        shared_rows: field(split.shared_rows)?,
        wide,
        unit: Divisor32::new(field(e.unit)?),
    };
    Ok(args.into())
}

/// An instance across the shared memories of a cluster.
pub fn cluster(e: Elementary, blocks: usize, at: At) -> Result<Call, LowerError> {
    if at.limits.cluster < blocks {
        return Err(LowerError::NoBarrier { scope: "a cluster" });
    }
    let (e, word) = as_words(e, at)?;
    let (split, wide) = rectangles(e, word, at, blocks, 1024, 0)?;
    let entry = match (blocks, wide & 1) {
        (2, 0) => "barrier_cluster_2",
        (4, 0) => "barrier_cluster_4",
        (8, 0) => "barrier_cluster_8",
        (16, 0) => "barrier_cluster_16",
        (2, _) => "barrier_cluster_wide_2",
        (4, _) => "barrier_cluster_wide_4",
        (8, _) => "barrier_cluster_wide_8",
        (16, _) => "barrier_cluster_wide_16",
        _ => return Err(LowerError::NoKernel),
    };
    Ok(Call {
        family: Family::ClusterBarrier,
        word,
        entry,
        groups: groups(e.batch * blocks)?,
        threads: threads_for(split.block_rows * split.block_cols * e.unit * word, 1024) as u32,
        shared_bytes: (split.shared_rows * split.pitch) as u32,
        params: params(e, word, split, wide)?,
        workspace: WorkspacePart::None,
    })
}

/// The whole matrix on chip.
pub fn grid(e: Elementary, at: At) -> Result<Call, LowerError> {
    if !at.limits.cooperative {
        return Err(LowerError::NoBarrier { scope: "the grid" });
    }
    if e.batch != 1 {
        return Err(LowerError::NoKernel);
    }
    let (e, word) = as_words(e, at)?;
    let (split, wide) = rectangles(e, word, at, at.limits.units, GRID_THREADS, GRID_REGISTERS)?;
    Ok(Call {
        family: Family::GridBarrier,
        word,
        entry: if wide & 1 == 1 { "barrier_grid_wide" } else { "barrier_grid" },
        groups: groups(split.down * split.across)?,
        threads: GRID_THREADS as u32,
        shared_bytes: (split.shared_rows * split.pitch) as u32,
        params: params(e, word, split, wide)?,
        workspace: WorkspacePart::None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_those_that_the_preset_plans_with() {
        assert_eq!(grid_register_bytes(&Limits::H200), 88 * 512 * 4);
        let half = Limits { registers: 32 << 10, ..Limits::H200 };
        assert_eq!(grid_register_bytes(&half), 0);
    }

    /// The thesis's six shapes in f32 fit an H200, and a shape of primes as large.
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
            let at = At { elem_bytes: 4, alignment: 16, limits: &Limits::H200 };
            let call = grid(e, at).unwrap();
            assert!(call.groups <= 132 && call.groups > 120, "{rows}x{cols}: {call:?}");
        }
        let e = Elementary { batch: 1, rows: 8000, mid: 1, cols: 8000, unit: 1 };
        let at = At { elem_bytes: 4, alignment: 16, limits: &Limits::H200 };
        assert!(matches!(grid(e, at), Err(LowerError::OnChip { .. })));
    }

    #[test]
    fn rectangles_cover_the_matrix_and_fit() {
        for (rows, cols, word) in
            [(1, 1, 4), (1, 5000, 2), (70000, 3, 1), (36, 36, 16), (999, 1001, 8)]
        {
            let e = Elementary { batch: 1, rows, mid: 1, cols, unit: 1 };
            let at = At { elem_bytes: word, alignment: 16, limits: &Limits::H200 };
            let (s, _) = rectangles(e, word, at, 132, GRID_THREADS, GRID_REGISTERS).unwrap();
            assert!(s.down * s.block_rows >= rows && s.across * s.block_cols >= cols);
            assert!(s.down * s.across <= 132);
            assert!(s.shared_rows * s.pitch <= Limits::H200.shared_bytes);
        }
    }
}
