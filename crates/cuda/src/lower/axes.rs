//! Axis permutations by tiles, in place with a barrier over a cluster or the grid, or out of place. Long super-elements are
//! copied out of place without tiles.

use turntile_perm::AxisPermutation;

use super::axes_tile::{Tile, Words};
use super::fit::{Lowered, Size, TargetParams, field, threads_for};
use super::maps::{axes32, digits};
use super::wide::{ARRAYS, TEAM_BYTES};
use crate::args::{AxesTileArgs, Divisor32, Divisor64, TeamAxesArgs, TeamShare, UnitArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{WorkspacePart, widest_word};
use crate::strategy::Scope;

/// Bytes added to the cost of a tile's row and of its column, for partial sectors (a guess).
const BESIDE: [usize; 2] = [32, 64];

/// Bytes added to the cost of a tile out of place, for its thread block's first computations (a guess).
const ALONE: usize = 1024;

/// Maximum bytes of a tile out of place: its offsets in shared memory are 16-bit numbers.
const MOST_HELD: usize = 64 << 10;

/// Minimum bytes of a super-element that is copied without tiles.
pub const LEAST_UNIT: usize = 32;

/// Bytes of the result per thread block of `into_units`, and bytes of a granule.
const UNITS_PART: usize = 16 << 10;
const GRANULE: usize = 16;

/// Maximum bytes of the rows and columns that are tried.
const LONGEST: usize = 16 << 10;

/// Returns the in-place launch: each instance in the shared memory of a cluster, a team or the grid.
pub fn wide(axes: &AxisPermutation, scope: Scope, at: TargetParams) -> Lowered {
    at.barrier(scope)?;
    let limits = at.limits;
    let (family, entry, most, shared_bytes) = match scope {
        Scope::Cluster(most) => {
            (Family::ClusterAxes, "barrier_cluster_axes", most, limits.shared_bytes)
        }
        Scope::Team(most) => {
            (Family::GridAxes, "barrier_team_axes", most, ARRAYS.shared_bytes(limits))
        }
        Scope::Grid => (Family::GridAxes, "barrier_grid_axes", limits.units, limits.shared_bytes),
        Scope::Block => return Err(LowerError::NoKernel),
    };
    let (one, instances) = (axes.without_batch(), axes.batch());
    let need = one.len() * at.elem_bytes;
    let too_long = LowerError::OnChip { need, have: most * shared_bytes };
    if need > most * shared_bytes {
        return Err(too_long);
    }
    // Instances of a batch are only as aligned as their length.
    let words = Words::of(&one, if instances > 1 { at.and(&[need]) } else { at })?;
    let fits = |tile: &Tile| tile.shared_bytes <= shared_bytes;
    let tile = words.split(BESIDE, most, shared_bytes, fits).ok_or(too_long)?;
    let teams = ARRAYS.teams(tile.tiles, instances, limits);
    let shared_bytes = tile.shared_bytes;
    let threads = threads_for(shared_bytes, 1024);
    let (blocks, threads) = match scope {
        Scope::Grid => (tile.tiles, threads),
        Scope::Team(_) if teams > 0 => (teams * tile.tiles, ARRAYS.threads),
        Scope::Cluster(_) => {
            let blocks = instances.checked_mul(most);
            (blocks.ok_or(LowerError::TooManyBlocks { blocks: usize::MAX })?, threads)
        }
        _ => return Err(LowerError::NoKernel),
    };
    let launch = at.launch((family, words.word, entry), Size { blocks, threads, shared_bytes })?;
    let (bytes, instance_bytes) = ((instances * need) as u64, need as u64);
    let (tiles, map) = (field(tile.tiles)?, words.map(&tile, 0)?.0);
    if let Scope::Team(_) = scope {
        let share = TeamShare { instances: instances as u64, blocks: tiles, pad: 0 };
        let counters = WorkspacePart::Saved(teams * TEAM_BYTES);
        let args = TeamAxesArgs { bytes, share, instance_bytes, tiles, map, ..zeroed() };
        return Ok(launch.using(counters, args));
    }
    let launch = if let Scope::Cluster(most) = scope { launch.in_clusters(most) } else { launch };
    Ok(launch.with(AxesTileArgs { bytes, instance_bytes, tiles, map, ..zeroed() }))
}

/// Returns the out-of-place launch: a tile of at most `held` bytes per thread block, in groups within `near` bytes.
pub fn into(axes: &AxisPermutation, [held, near]: [usize; 2], at: TargetParams) -> Lowered {
    let words = Words::of(axes, at)?;
    let most = held.min(MOST_HELD).min(at.limits.shared_bytes);
    let [row, column] = BESIDE;
    let tile = words.best([row, column, ALONE], LONGEST, |tile| tile.shared_bytes <= most);
    let tile = tile.ok_or(LowerError::NoKernel)?;
    let (map, blocks) = words.map(&tile, near)?;
    let size = Size { blocks, threads: 256, shared_bytes: tile.shared_bytes };
    let launch = at.launch((Family::IntoAxes, words.word, "into_axes"), size)?;
    let bytes = (axes.len() * at.elem_bytes) as u64;
    let tiles = field(blocks)?;
    Ok(launch.with(AxesTileArgs { bytes, instance_bytes: bytes, tiles, map, ..zeroed() }))
}

/// Returns the out-of-place launch that copies whole super-elements in the order of the result.
pub fn units(axes: &AxisPermutation, at: TargetParams) -> Lowered {
    let (unit_bytes, bytes) = (axes.unit() * at.elem_bytes, axes.len() * at.elem_bytes);
    if unit_bytes < LEAST_UNIT {
        return Err(LowerError::NoKernel);
    }
    let word = widest_word(&[unit_bytes, at.alignment]);
    let source = axes32((&digits(&axes.without_unit().inverse()), 0), 1, unit_bytes)?;
    // The first granule may start before the result.
    let blocks = (bytes + GRANULE - word).div_ceil(UNITS_PART);
    let size = Size { blocks, threads: 256, shared_bytes: 0 };
    Ok(at.launch((Family::IntoUnits, word, "into_units"), size)?.with(UnitArgs {
        bytes: bytes as u64,
        unit: Divisor64::new(unit_bytes as u64),
        of_part: Divisor32::new(field(unit_bytes.min(2 * UNITS_PART))?),
        source,
        word: word as u32,
        ..zeroed()
    }))
}
