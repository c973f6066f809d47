//! Barrier-sync over a cluster, a team or the grid.

use turntile_perm::Elementary;

use super::fit::{
    Lowered, Size, TargetParams, VECTOR_BYTES, field, pitch, region_flags, threads_for,
    vector_bytes,
};
use super::tiles::LINE;
use crate::args::{Divisor32, GridArgs, TeamArgs, TeamShare, WideArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{DeviceLimits, WorkspacePart};
use crate::strategy::Scope;

/// Kernels over a cluster, a team and the grid: for words, and for narrow words loaded 4 bytes at a time.
const CLUSTER: [&str; 2] = ["barrier_cluster", "barrier_cluster_wide"];
const TEAM: [&str; 2] = ["barrier_team", "barrier_team_wide"];
const GRID: [&str; 2] = ["barrier_grid", "barrier_grid_wide"];
const GRID_KEPT: [&str; 2] = ["barrier_grid_kept", "barrier_grid_kept_wide"];

/// Kernel of a team that moves micro-blocks of bytes, and log2 of the height of its swaths, in micro-blocks. 64 of 4096x1024 bytes
/// ran at 81% of a copy, by words at 58%; wider words gained 3 points at most and lost 9 (H100, 2026-11-28).
pub(super) const TEAM_MICRO: &str = "barrier_team_micro";
const SWATH: usize = 2;

/// Kernel of a team that moves words of at most 4 bytes, 16 bytes at a time, at any alignment (`kernels/columns.cuh`). Words of 4
/// bytes use it only if rows or columns are not whole vectors. There, 64 x 1801x1603 floats ran at 66% of a copy, by rows at
/// 58%; in whole vectors, 64 x 2560x2832 floats ran at 57%, by rows at 66% (H200, 2026-11-28).
pub(super) const TEAM_COLUMNS: &str = "barrier_team_columns";

/// Threads per block of the grid kernel, and 4-byte registers per thread that hold data (`kernels/grid_barrier.cu`).
const GRID_THREADS: usize = 512;
const GRID_REGISTERS: usize = 88;

/// Launch bounds of a kernel with teams (`kernels/grid_barrier.cu`, `kernels/grid_axes.cu`): blocks per multiprocessor, some of
/// which read while others write, and threads per block.
#[derive(Clone, Copy, Debug)]
pub struct TeamKernel {
    per_unit: usize,
    pub threads: usize,
}

/// Teams for matrices. Medians over 8 shapes, % of a copy: 67 with 2 blocks of 512 threads, 66 with 3 of 384, 70 with 4 of 256, 70
/// with 5 of 256 (H200, 2026-11-27).
pub const MATRICES: TeamKernel = TeamKernel { per_unit: 4, threads: 256 };

/// Teams for arrays whose axes are permuted: larger tiles have longer rows.
pub const ARRAYS: TeamKernel = TeamKernel { per_unit: 2, threads: 512 };

/// Bytes per team counter (`kernels/team.cuh`).
pub(super) const TEAM_BYTES: usize = 128;

impl TeamKernel {
    /// Returns the shared memory of a block, in bytes.
    pub fn shared_bytes(self, limits: &DeviceLimits) -> usize {
        limits.shared_bytes_of(self.per_unit)
    }

    /// Returns the number of co-resident blocks.
    pub fn blocks(self, limits: &DeviceLimits) -> usize {
        self.per_unit * limits.units
    }

    /// Returns how many teams of `blocks` blocks are co-resident, at most one per instance.
    pub fn teams(self, blocks: usize, instances: usize, limits: &DeviceLimits) -> usize {
        (self.blocks(limits) / blocks.max(1)).min(instances)
    }
}

/// Registers per thread that the grid kernel is compiled for: 512 threads use all 65536 of a multiprocessor.
const GRID_COMPILED: usize = 128;

/// Returns the bytes of registers in which a block of the grid kernel holds data; 0 if registers would spill.
pub(crate) fn grid_register_bytes(limits: &DeviceLimits) -> usize {
    let fits = limits.registers >= GRID_THREADS * GRID_COMPILED;
    if fits { GRID_THREADS * GRID_REGISTERS * 4 } else { 0 }
}

/// Maximum bytes of the workspace in which a barrier over the grid keeps rows that do not fit on chip: the least default limit
/// of the workspace. They are read back from device memory: 4500x3500 floats, 63 MB with
/// 9 MB kept, read 73 MB of it, so the L2 cache does not hold them (H200, Nsight Compute, 2026-11-28).
const KEPT_BYTES: usize = 16 << 20;

/// Returns the bytes in which a block of the grid kernel can hold rows: in shared memory, registers and the workspace. Rows in
/// registers and in the workspace pass through shared memory, so neither can exceed it. The workspace consists of whole cache
/// lines, so that all blocks together use at most `KEPT_BYTES`.
fn grid_block_bytes(limits: &DeviceLimits) -> [usize; 3] {
    let kept = KEPT_BYTES / limits.units.max(1) / LINE * LINE;
    [limits.shared_bytes, grid_register_bytes(limits), kept].map(|n| n.min(limits.shared_bytes))
}

/// Returns the bytes of a matrix that a barrier over the grid can hold: in shared memory, registers and the workspace.
pub(crate) fn grid_bytes(limits: &DeviceLimits) -> usize {
    let block = grid_block_bytes(limits).iter().sum::<usize>();
    if limits.cooperative { limits.units * block } else { 0 }
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
    held_rows: usize,
    kept_rows: usize,
    shared_bytes: usize,
}

/// Storage of a rectangle in shared memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Padded rows.
    Rows,
    /// Whole swaths of micro-blocks of this side, without padding.
    Micro(usize),
    /// Columns that include the rows below the rectangle whose words share a vector with it (`kernels/columns.cuh`).
    Columns,
}

/// Returns the split into at most `blocks` rectangles that moves the fewest bytes; each run of a row or column costs 64 more,
/// or 128 more if it starts within a cache line. A block stores the rows of its rectangle in at most `shared_bytes` of shared
/// memory, then in at most `register_bytes` of registers, then in at most `kept_bytes` of workspace. A split that needs no
/// workspace is preferred, because the caller may not allow any.
///
/// Also returns whether narrow words are loaded and stored 4 bytes at a time; rectangles then start at multiples of 4 bytes.
fn rectangles(
    e: Elementary,
    word: usize,
    at: TargetParams,
    blocks: usize,
    [shared_bytes, register_bytes, kept_bytes]: [usize; 3],
    layout: Layout,
) -> Lowered<(Split, [bool; 2])> {
    let aligned = |extent: usize| {
        layout == Layout::Rows
            && word < 4
            && at.alignment >= 4
            && (extent * e.unit * word).is_multiple_of(4)
    };
    let wide @ [wide_loads, _] = [e.cols, e.rows].map(aligned);
    let granule = if wide_loads { 4 } else { word };
    // If loads have fewer than 4 bytes, other routes are faster than a workspace (`grid` in the cost table).
    let kept_bytes = if granule < 4 { 0 } else { kept_bytes };
    let vector = VECTOR_BYTES / word;
    let steps = match layout {
        Layout::Rows => wide.map(|wide| if wide { 4 / word } else { 1 }),
        Layout::Micro(side) => [side, side << SWATH],
        Layout::Columns => [vector, 1],
    };
    let unit_bytes = e.unit * word;
    // Multiples at which rectangles start at cache lines.
    let whole = if LINE.is_multiple_of(unit_bytes) { LINE / unit_bytes } else { 1 };
    let on_lines = |extent: usize, part: usize| {
        part >= extent || [extent, part].iter().all(|n| (n * unit_bytes).is_multiple_of(LINE))
    };
    let cost = |[block_rows, block_cols]: [usize; 2]| {
        let run = |extent, part| if on_lines(extent, part) { 64 } else { 128 };
        2 * block_rows * block_cols * unit_bytes
            + run(e.cols, block_cols) * block_rows
            + run(e.rows, block_rows) * block_cols
    };
    let fit = |[block_rows, block_cols]: [usize; 2]| {
        let row_bytes = block_cols * unit_bytes;
        let (down, across) = (e.rows.div_ceil(block_rows), e.cols.div_ceil(block_cols));
        let split = |pitch, [shared_rows, held_rows, kept_rows]: [usize; 3], shared_bytes| Split {
            down,
            across,
            block_rows,
            block_cols,
            pitch,
            shared_rows,
            held_rows,
            kept_rows,
            shared_bytes,
        };
        if layout == Layout::Columns {
            let loaded = (block_rows + vector - 1).min(e.rows);
            let pitch = loaded.next_multiple_of(4) * word;
            let padding = block_cols / vector * (4 * word);
            let need = (block_cols * pitch + padding).next_multiple_of(VECTOR_BYTES);
            return (need <= shared_bytes).then(|| split(pitch, [block_rows, 0, 0], need));
        }
        let pitch = match layout {
            Layout::Rows => pitch(row_bytes, granule),
            _ => row_bytes,
        };
        let most = shared_bytes / pitch / steps[1] * steps[1];
        let shared_rows = block_rows.min(most);
        let held = (register_bytes / granule / row_bytes.div_ceil(granule).max(1)).min(most);
        let held_rows = (block_rows - shared_rows).min(held / steps[1] * steps[1]);
        let kept_rows = block_rows - shared_rows - held_rows;
        let fits = kept_rows <= most && kept_rows * row_bytes <= kept_bytes;
        fits.then(|| split(pitch, [shared_rows, held_rows, kept_rows], shared_rows * pitch))
    };
    // Rectangles of whole cache lines, where rows and columns of the matrix are.
    let line = |extent: usize, step: usize| {
        if (extent * unit_bytes).is_multiple_of(LINE) { step.max(whole) } else { step }
    };
    let lines = [line(e.cols, steps[0]), line(e.rows, steps[1])];
    let mut choices = vec![steps, [lines[0], steps[1]], [steps[0], lines[1]], lines];
    choices.sort_unstable();
    choices.dedup();
    let have = blocks * (shared_bytes + register_bytes + kept_bytes);
    let need = e.rows * e.cols * unit_bytes;
    let (mut split, mut least) = (None, (true, usize::MAX));
    for down in 1..=blocks {
        let (rows, cols) = (e.rows.div_ceil(down), e.cols.div_ceil(blocks / down));
        for &[col_step, row_step] in &choices {
            // Steps are powers of two.
            let block =
                [(rows, row_step), (cols, col_step)].map(|(n, step)| (n + step - 1) & !(step - 1));
            let bytes = cost(block);
            if (false, bytes) < least
                && let Some(fitting) = fit(block)
                // Rows in the workspace are written and read once more.
                && let kept = 2 * fitting.kept_rows * block[1] * unit_bytes
                && let key = (kept > 0, bytes + kept)
                && key < least
            {
                (split, least) = (Some(fitting), key);
            }
        }
    }
    Ok((split.ok_or(LowerError::OnChip { need, have })?, wide))
}

/// Returns the layout of a team's rectangles: micro-blocks if rows and columns are whole, aligned micro-blocks of bytes; columns
/// of narrow words.
fn team_layout(e: &Elementary, word: usize, at: TargetParams) -> Layout {
    let vector = vector_bytes(word);
    let side = vector / word;
    let whole = [e.rows, e.cols].iter().all(|extent| extent.is_multiple_of(side));
    let vectors = at.alignment >= vector && whole;
    match e.unit {
        1 if word == 1 && vectors => Layout::Micro(side),
        1 if word < 4 || word == 4 && !vectors => Layout::Columns,
        _ => Layout::Rows,
    }
}

/// Returns the launch: each instance in a cluster's or a team's shared memory, or in the grid's shared memory, registers and
/// workspace.
pub fn call(e: Elementary, scope: Scope, at: TargetParams) -> Lowered {
    at.barrier(scope)?;
    let (e, word) = at.in_words(e);
    let shared_bytes = at.limits.shared_bytes;
    let (family, entries, most, on_chip) = match scope {
        Scope::Cluster(most) => (Family::ClusterBarrier, CLUSTER, most, [shared_bytes, 0, 0]),
        Scope::Team(most) => {
            (Family::GridBarrier, TEAM, most, [MATRICES.shared_bytes(at.limits), 0, 0])
        }
        Scope::Grid if e.batch == 1 => {
            (Family::GridBarrier, GRID, at.limits.units, grid_block_bytes(at.limits))
        }
        _ => return Err(LowerError::NoKernel),
    };
    let instance_bytes = e.rows * e.cols * e.unit * word;
    let layout = match scope {
        Scope::Team(_) => team_layout(&e, word, at),
        _ => Layout::Rows,
    };
    let (split, [wide_loads, wide_stores]) = rectangles(e, word, at, most, on_chip, layout)?;
    let all = split.down * split.across;
    let teams = MATRICES.teams(all, e.batch, at.limits);
    let (blocks, threads) = match scope {
        Scope::Grid => (all, GRID_THREADS),
        Scope::Team(_) if teams > 0 => (teams * all, MATRICES.threads),
        Scope::Cluster(_) => {
            let bytes = split.block_rows * split.block_cols * e.unit * word;
            (e.batch * most, threads_for(bytes, 1024))
        }
        _ => return Err(LowerError::NoKernel),
    };
    let (entry, pitch) = match layout {
        Layout::Rows if split.kept_rows > 0 => (GRID_KEPT[usize::from(wide_loads)], split.pitch),
        Layout::Rows => (entries[usize::from(wide_loads)], split.pitch),
        Layout::Micro(_) => (TEAM_MICRO, SWATH),
        Layout::Columns => (TEAM_COLUMNS, split.pitch),
    };
    let size = Size { blocks, threads, shared_bytes: split.shared_bytes };
    let launch = at.launch((family, word, entry), size)?;
    let rectangle = WideArgs {
        instance_bytes: instance_bytes as u64,
        rows: field(e.rows)?,
        cols: field(e.cols)?,
        block_rows: field(split.block_rows)?,
        block_cols: field(split.block_cols)?,
        across: field(split.across)?,
        pitch: field(pitch)?,
        shared_rows: field(split.shared_rows)?,
        wide: region_flags([wide_loads, wide_stores, false, false]),
        unit: Divisor32::new(field(e.unit)?),
        ..zeroed()
    };
    Ok(match scope {
        Scope::Cluster(most) => launch.in_clusters(most).with(rectangle),
        Scope::Team(_) => {
            let share = TeamShare { instances: e.batch as u64, blocks: field(all)?, pad: 0 };
            let counters = WorkspacePart::Saved(teams * TEAM_BYTES);
            launch.using(counters, TeamArgs { share, rectangle, ..zeroed() })
        }
        _ if split.kept_rows > 0 => {
            let row_bytes = split.block_cols * e.unit * word;
            let kept_bytes = (split.kept_rows * row_bytes).next_multiple_of(LINE);
            let held_rows = field(split.held_rows)?;
            let args =
                GridArgs { held_rows, kept_bytes: field(kept_bytes)?, rectangle, ..zeroed() };
            launch.using(WorkspacePart::Saved(all * kept_bytes), args)
        }
        _ => launch.with(rectangle),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_those_that_the_preset_plans_with() {
        assert_eq!(grid_register_bytes(&DeviceLimits::H200), 88 * 512 * 4);
        let half = DeviceLimits { registers: 32 << 10, ..DeviceLimits::H200 };
        assert_eq!(grid_register_bytes(&half), 0);
        // On 16 multiprocessors, the workspace is limited by shared memory.
        let part = DeviceLimits { units: 16, ..DeviceLimits::H200 };
        assert_eq!(grid_bytes(&part), 16 * (2 * part.shared_bytes + 88 * 512 * 4));
    }

    /// Checks that the thesis's six shapes in f32, and an equally large shape of primes, fit an H200, and larger ones with a workspace.
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
            assert_eq!(call.workspace, WorkspacePart::None);
        }
        for (rows, cols) in [(4500, 3500), (3001, 5003), (4000, 4250), (61, 270_001)] {
            let e = Elementary { batch: 1, rows, mid: 1, cols, unit: 1 };
            let at = TargetParams { elem_bytes: 4, alignment: 16, limits: &DeviceLimits::H200 };
            let call = call(e, Scope::Grid, at).unwrap();
            let kept = call.workspace.bytes();
            assert!(kept > 0 && kept <= KEPT_BYTES, "{rows}x{cols}: {call:?}");
        }
        // A split with fewer runs would need a workspace, but one without exists.
        for (rows, cols, elem_bytes) in [(6680, 506, 16), (9679, 701, 8), (751, 18063, 4)] {
            let e = Elementary { batch: 1, rows, mid: 1, cols, unit: 1 };
            let at = TargetParams { elem_bytes, alignment: 16, limits: &DeviceLimits::H200 };
            let call = call(e, Scope::Grid, at).unwrap();
            assert_eq!(call.workspace, WorkspacePart::None, "{rows}x{cols}: {call:?}");
        }
        let e = Elementary { batch: 1, rows: 8000, mid: 1, cols: 8000, unit: 1 };
        let at = TargetParams { elem_bytes: 4, alignment: 16, limits: &DeviceLimits::H200 };
        assert!(matches!(call(e, Scope::Grid, at), Err(LowerError::OnChip { .. })));
    }

    /// Checks matrices that nearly fill the workspace: parts of blocks are rounded up to whole cache lines.
    #[test]
    fn workspace_of_the_grid_is_at_most_the_default_limit() {
        for (rows, cols, elem_bytes) in
            [(853, 10_396, 8), (165, 53_698, 8), (79, 220_689, 4), (54, 80_633, 16)]
        {
            let e = Elementary { batch: 1, rows, mid: 1, cols, unit: 1 };
            let at = TargetParams { elem_bytes, alignment: 16, limits: &DeviceLimits::H200 };
            if let Ok(call) = call(e, Scope::Grid, at) {
                assert!(call.workspace.bytes() <= KEPT_BYTES, "{rows}x{cols}: {call:?}");
            }
        }
    }

    #[test]
    fn rectangles_cover_the_matrix_and_fit() {
        for (rows, cols, word) in
            [(1, 1, 4), (1, 5000, 2), (70000, 3, 1), (36, 36, 16), (999, 1001, 8)]
        {
            let e = Elementary { batch: 1, rows, mid: 1, cols, unit: 1 };
            let at = TargetParams { elem_bytes: word, alignment: 16, limits: &DeviceLimits::H200 };
            let (s, _) = rectangles(
                e,
                word,
                at,
                132,
                [227 << 10, GRID_THREADS * GRID_REGISTERS * 4, 0],
                Layout::Rows,
            )
            .unwrap();
            assert!(s.down * s.block_rows >= rows && s.across * s.block_cols >= cols);
            assert!(s.down * s.across <= 132);
            assert!(s.shared_rows * s.pitch <= DeviceLimits::H200.shared_bytes);
        }
    }
}
