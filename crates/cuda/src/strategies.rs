//! Candidate strategies for the index map of a stage.

use turntile_perm::{Elementary, SwapKind};
use turntile_plan::{Method, StageMap};

use crate::launch::{DeviceLimits, widest_word};
use crate::lower::axes::LEAST_UNIT;
use crate::lower::long_runs::runs_of_records;
use crate::lower::moves::{carried, flag_words};
use crate::lower::wide::{ARRAYS, MATRICES, TeamKernel};
use crate::lower::{LINE, TargetParams, cube_tiles, fields, gather, into, slide_block};
use crate::strategy::{Scope, Strategy, Tiling};

/// Threads per warp, and maximum threads per block.
const WARP: usize = 32;
const MOST_THREADS: usize = 1024;
/// Maximum bytes of a super-element for a barrier over the grid. The matrix is split into rectangles of whole super-elements.
const GRID_UNIT_BYTES: usize = 4096;
/// Cluster sizes, in blocks, that the kernels for general axis permutations support.
const CLUSTERS: [usize; 2] = [8, 16];
/// Bytes of a tile row for swapping tiles of a square, and maximum tile side in elements. Sides of 128 for words of 1 and 2
/// bytes, 64 for 4, 32 for 8 and 16 for 16 measured best on the H200.
const SWAP_ROW_BYTES: usize = 256;
const SWAP_SIDE: usize = 128;
/// Element bytes, tile side and minimum rows of squares with larger tiles, if rows are not whole 128-byte lines. Larger tiles
/// share fewer lines. H200, % of copy with sides 128 and 64: 23000x23000 85 and 80, 10000x10000 84 and 83, 5000x5000 83 and 85.
const LARGER: (usize, usize, usize) = (4, 128, 8192);
/// Bytes of the pieces of long runs that are tried.
const PIECES: [usize; 7] = [64, 128, 256, 512, 1024, 2048, 4096];
/// Minimum number of rows for a separate launch.
const LEAST_ROWS: usize = 2;

/// Returns the candidate strategies for `shape`, in the order that breaks ties. Lowering may reject any of them. The caller skips
/// strategies whose method is not in [`StageMap::methods`].
pub fn strategies(
    shape: &StageMap,
    out_of_place: bool,
    at: TargetParams,
    grid_bytes: usize,
) -> Vec<Strategy> {
    if out_of_place {
        return elsewhere(shape, at);
    }
    match *shape {
        StageMap::Axes(axes) => {
            let mut found = match axes.form() {
                SwapKind::Transpose(e) => on_chip(&e, at, grid_bytes),
                // Tiles that fit the shared memory of a block are transposed by barrier-sync.
                SwapKind::SquareTiles(e) => {
                    let beyond = e.rows * e.cols * at.elem_bytes > at.limits.shared_bytes;
                    let swap = if beyond { swap(&e, at) } else { None };
                    swap.into_iter().chain([Strategy::Barrier(Scope::Block)]).collect()
                }
                SwapKind::Strided(_) | SwapKind::General => {
                    general_on_chip(shape, axes.is_involution(), at, grid_bytes)
                }
            };
            // Squares whose elements are single words have separate kernels.
            let word = widest_word(&[at.elem_bytes, at.alignment]) == at.elem_bytes;
            let squares = word && axes.elementary().is_some_and(|e| e.is_squares());
            let swaps = axes.is_involution() && !squares && !axes.is_identity();
            found.extend(swaps.then_some(Strategy::SwapAxes));
            let runs = [shape.instance_units(), shape.unit() * at.elem_bytes];
            found.extend(pieces(runs, at));
            found.extend(along_cycles(shape, at));
            found
        }
        StageMap::SlotMove { .. } => along_cycles(shape, at),
        StageMap::TileRows(_) => vec![Strategy::Moves],
        StageMap::SlotGather { batch, slots, .. } => gather::strategies(&slots, batch, at),
        StageMap::Slide(_) => {
            vec![
                Strategy::Rounds { least: LEAST_ROWS },
                Strategy::Blocks { block: slide_block(at.limits) },
            ]
        }
        StageMap::Cut { .. } => vec![Strategy::Blocks { block: slide_block(at.limits) }],
        StageMap::TransposeRows(leading) => {
            let source = leading.source();
            let side = source.rows().min(source.cols());
            let tile = || swap_tile(side, source.pitch() * at.elem_bytes, at).unwrap_or(1);
            let equal = shape.methods().contains(&Method::TileSwap);
            let swap = equal.then(|| Strategy::TileSwap { tile: tile() });
            swap.into_iter().chain([Strategy::ThroughWorkspace]).collect()
        }
        StageMap::Gaps { .. } => vec![Strategy::Keep],
        StageMap::RecordTiles(ref change) => {
            let runs = runs_of_records(change);
            let long = runs.map(|runs| pieces([runs, at.elem_bytes], at));
            long.into_iter().flatten().chain([Strategy::Barrier(Scope::Block)]).collect()
        }
        StageMap::RecordGather { ref slots, direction } => fields::strategies(slots, direction, at),
        StageMap::RecordMove { .. } => vec![Strategy::Moves],
        StageMap::Flipped(axes) if axes.is_flip() => vec![Strategy::Flip],
        StageMap::Flipped(axes) => {
            // A transposition that reverses both axes has cycles of two.
            let turns = axes.squares().is_some_and(|(_, [rows, cols])| rows != cols);
            let turn = turns.then_some(Strategy::Turn);
            turn.into_iter().chain(along_cycles(shape, at)).collect()
        }
        // Only CPU plans swap gaps and then reshape rows.
        StageMap::Reshape(_) | StageMap::SwapGaps { .. } => Vec::new(),
    }
}

/// Returns the strategies with instances or flags in shared memory, for elementary transpositions.
fn on_chip(e: &Elementary, at: TargetParams, grid_bytes: usize) -> Vec<Strategy> {
    let DeviceLimits { shared_bytes, cluster, .. } = *at.limits;
    let bytes = e.instance_len() * at.elem_bytes;
    let mut found = Vec::new();
    if e.is_squares() {
        found.extend(swap(e, at));
    } else if e.is_of_tiles() {
        let fit = cube_tiles(at.elem_bytes).filter(|tiles| tiles.blocks <= cluster);
        found.extend(fit.map(|tiles| Strategy::TileSwap { tile: tiles.side }));
    }
    if bytes <= shared_bytes {
        found.push(Strategy::Barrier(Scope::Block));
    }
    // If only one block fits a multiprocessor, loads and stores do not overlap. Then try a cluster as well.
    if 2 * bytes > shared_bytes && bytes <= cluster * shared_bytes {
        // Two blocks per multiprocessor overlap loads and stores. Each uses half of the shared memory, if the cluster size allows
        // it (H200: 76-79% of copy, with one block 62-70%).
        let least = bytes.div_ceil(shared_bytes).next_power_of_two();
        if least <= cluster {
            found.push(Strategy::Barrier(Scope::Cluster((2 * least).min(cluster))));
        }
    }
    if e.unit * at.elem_bytes <= GRID_UNIT_BYTES && bytes > shared_bytes && bytes <= grid_bytes {
        found.extend(teams(bytes, e.batch, MATRICES, at));
        found.extend((e.batch == 1).then_some(Strategy::Barrier(Scope::Grid)));
    }
    let positions = e.instance_units();
    if flag_words(positions) * 4 <= shared_bytes {
        let threads = positions.div_ceil(4).max(1).next_multiple_of(WARP).min(MOST_THREADS);
        found.push(Strategy::OnChipMoves { threads });
    }
    found
}

/// Returns candidate numbers of teams for instances of `bytes` bytes: the maximum, one fewer, and two thirds of it, because tiles
/// do not fill every block.
fn teams(bytes: usize, instances: usize, kernel: TeamKernel, at: TargetParams) -> Vec<Strategy> {
    let least = bytes.div_ceil(kernel.shared_bytes(at.limits).max(1));
    let most = if instances < 2 { 0 } else { kernel.teams(least, instances, at.limits) };
    let mut counts = vec![most, most.saturating_sub(1), 2 * most / 3];
    counts.retain(|&teams| teams > 0);
    counts.dedup();
    let team = |teams| Strategy::Barrier(Scope::Team(kernel.blocks(at.limits) / teams));
    counts.into_iter().map(team).collect()
}

/// Returns the barrier-sync strategies for general axis permutations.
fn general_on_chip(
    shape: &StageMap,
    swaps: bool,
    at: TargetParams,
    grid_bytes: usize,
) -> Vec<Strategy> {
    let DeviceLimits { shared_bytes, cluster, units, .. } = *at.limits;
    let bytes = shape.instance_len() * at.elem_bytes;
    let block = (bytes <= shared_bytes).then_some(Scope::Block);
    if 2 * bytes <= shared_bytes {
        return block.map(Strategy::Barrier).into_iter().collect();
    }
    let fits = |&blocks: &usize| blocks <= cluster && bytes <= blocks * shared_bytes;
    let clusters = CLUSTERS.into_iter().filter(fits).map(Scope::Cluster);
    // These kernels use shared memory only, not registers.
    let grid = grid_bytes > 0 && bytes > shared_bytes && bytes <= units * shared_bytes;
    // Swaps of tiles are faster: 82% of a copy, teams 61% (40x30x40x30x50 floats by 0,3,2,1,4, H200).
    let in_teams =
        if grid && !swaps { teams(bytes, shape.batch(), ARRAYS, at) } else { Vec::new() };
    let grid = grid && (shape.batch() == 1 || in_teams.is_empty() && !swaps);
    block
        .into_iter()
        .chain(clusters)
        .map(Strategy::Barrier)
        .chain(in_teams)
        .chain(grid.then_some(Strategy::Barrier(Scope::Grid)))
        .collect()
}

/// Returns the strategies for long runs, given their number in an instance and their bytes: each piece shorter than a run, if a
/// piece of every run fits in shared memory. The shortest is not left out, so that lowering reports what it needs.
fn pieces(
    [runs, run_bytes]: [usize; 2],
    at: TargetParams,
) -> impl Iterator<Item = Strategy> + use<> {
    let most = (at.limits.shared_bytes / runs.max(1)).max(PIECES[0]);
    let fits = move |&piece: &usize| piece < run_bytes && piece <= most;
    PIECES.into_iter().filter(fits).map(|piece| Strategy::Pieces { piece })
}

/// Returns the tile swap across the diagonal, if two tiles fit in shared memory.
fn swap(e: &Elementary, at: TargetParams) -> Option<Strategy> {
    let pitch = e.mid * e.cols * at.elem_bytes;
    swap_tile(e.rows, pitch, at).map(|tile| Strategy::TileSwap { tile })
}

/// Returns the tile side for swapping a square with this number of rows, `pitch` bytes apart. A block stores two tiles in shared
/// memory.
fn swap_tile(rows: usize, pitch: usize, at: TargetParams) -> Option<usize> {
    let mut tile = (SWAP_ROW_BYTES / at.elem_bytes).clamp(1, SWAP_SIDE);
    let (elem_bytes, larger, least) = LARGER;
    if at.elem_bytes == elem_bytes && !pitch.is_multiple_of(LINE) && rows >= least {
        tile = larger;
    }
    let held = |tile: usize| 2 * tile * tile * at.elem_bytes;
    while tile > 1 && held(tile) > at.limits.shared_bytes {
        tile /= 2;
    }
    (held(tile) <= at.limits.shared_bytes).then_some(tile)
}

/// Returns the strategies that follow cycles of super-elements.
fn along_cycles(shape: &StageMap, at: TargetParams) -> Vec<Strategy> {
    // PTTWAC needs shared memory for two super-elements.
    let flagged = carried(shape.unit(), at).then_some(Strategy::Moves);
    flagged.into_iter().chain([Strategy::PerCycle]).collect()
}

/// Returns the out-of-place strategies: each tiling, with swaths of 1 and of 32 rows of tiles if it has swaths.
fn elsewhere(shape: &StageMap, at: TargetParams) -> Vec<Strategy> {
    let mut tilings = match shape.swap_kind() {
        Some(SwapKind::Transpose(e)) => into::tilings(&e, at),
        Some(_) => Vec::new(),
        None => return Vec::new(),
    };
    if shape.unit() * at.elem_bytes >= LEAST_UNIT {
        tilings.push(Tiling::Units);
    }
    // No other tiling is faster than micro-blocks.
    if tilings.first() != Some(&Tiling::Micro) {
        tilings.extend(Tiling::AXES);
    }
    tilings
        .into_iter()
        .flat_map(|tiling| {
            let heights: &[usize] = if tiling.has_swaths() { &[1, 32] } else { &[1] };
            heights.iter().map(move |&swath| Strategy::OutOfPlace { tiling, swath })
        })
        .collect()
}
