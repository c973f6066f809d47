//! From a stage, as data, to a launch, as data: which kernel, which geometry, which parameters.
//!
//! | stage and method | kernels |
//! |---|---|
//! | square, tile-swap | `tiles`: `square_swap_*` |
//! | 010!, 0210!, any that fits a block, barrier | `tiles`, `barrier` (baseline: `barrier_registers_*`) |
//! | 010!, barrier over a cluster or the grid | `cluster_barrier`, `grid_barrier` |
//! | slot gather, a block a run; a team a run | `slot_runs`; `slot_gather` |
//! | PTTWAC, flags in memory; fused tiles | `moves`, `moves_shared` (baseline: `moves_block`) |
//! | PTTWAC, flags on chip | `moves_on_chip` |
//! | P-IPT | `per_cycle` |
//! | rows, slide | `pad` |

mod barrier;
mod gather;
pub(crate) mod into;
mod maps;
mod moves;
mod pad;
pub(crate) mod runs;
pub(crate) mod strips;
mod tiles;
mod wide;

use turntile_plan::StageShape;

use crate::call::{Call, Limits};
use crate::error::Infeasible;
use crate::way::{Scope, Way};

pub use barrier::through_registers;
pub use moves::{Holding, move_held};
pub(crate) use pad::slide_block;
pub(crate) use wide::grid_register_bytes;

/// What a launch depends on beside the stage's shape and its way.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// What the memory's address is a multiple of, in bytes: a power of two up to 16.
    pub alignment: usize,
    /// The device.
    pub limits: &'a Limits,
}

/// The launches that move `shape` in `way`: one, or for rows that are padded in steps one for each.
///
/// # Errors
/// [`Infeasible`], when no kernel does it on the device.
pub fn lower(shape: &StageShape, way: Way, at: At) -> Result<Vec<Call>, Infeasible> {
    match (*shape, way) {
        (StageShape::Pad { padding, direction }, Way::Rows { least }) if least > 0 => {
            pad::rows(padding, direction, least, at)
        }
        _ => Ok(vec![lower_one(shape, way, at)?]),
    }
}

fn lower_one(shape: &StageShape, way: Way, at: At) -> Result<Call, Infeasible> {
    let e = shape.elementary();
    match (*shape, way, e) {
        (_, Way::TileSwap { tile }, Some(e)) => tiles::swap(e, tile, at),
        (_, Way::Barrier(Scope::Block), Some(e)) => barrier::block(e, at),
        (_, Way::Barrier(Scope::Cluster(groups)), Some(e)) => wide::cluster(e, groups, at),
        (_, Way::Barrier(Scope::Grid), Some(e)) => wide::grid(e, at),
        (StageShape::SlotGather { batch, slots, direction }, Way::Teams { groups, blocks }, _) => {
            gather::by_teams(batch, slots, direction, (groups, blocks), at)
        }
        (StageShape::SlotGather { batch, slots, direction }, Way::Runs { groups }, _) => {
            gather::by_runs(batch, slots, direction, groups, at)
        }
        (_, Way::OnChipMoves { flags, threads }, Some(e)) => moves::on_chip(e, flags, threads, at),
        (_, Way::Moves { flags }, _) => moves::global(shape, flags, at),
        (_, Way::PerCycle, _) => moves::per_cycle(shape, at),
        (StageShape::Pad { padding, direction }, Way::Slide { block }, _) if block > 0 => {
            pad::slide(padding, direction, block, at)
        }
        (_, Way::OutOfPlace { tiling, swath }, Some(e)) => into::call(tiling, swath, &e, at),
        _ => Err(Infeasible::NoKernel),
    }
}

/// `blocks` as a launch takes them.
pub(crate) fn groups(blocks: usize) -> Result<u32, Infeasible> {
    if blocks <= i32::MAX as usize {
        Ok(blocks as u32)
    } else {
        Err(Infeasible::TooManyBlocks { blocks })
    }
}

/// `bytes` of shared memory as a launch takes them.
pub(crate) fn shared(bytes: usize, limits: &Limits) -> Result<u32, Infeasible> {
    if bytes <= limits.shared_bytes {
        Ok(bytes as u32)
    } else {
        Err(Infeasible::OnChip { need: bytes, have: limits.shared_bytes })
    }
}

/// An extent as a 32-bit field.
pub(crate) fn field(extent: usize) -> Result<u32, Infeasible> {
    u32::try_from(extent).map_err(|_| Infeasible::NoKernel)
}

/// Bytes between rows on chip: an odd number of granules where `row_bytes` are whole granules, and
/// of 4-byte banks where not.
fn pitch(row_bytes: usize, granule: usize) -> usize {
    let granule = granule.max(4);
    let granules = row_bytes.div_ceil(granule);
    (granules | 1) * granule
}

/// Vectors of a micro-block's row are this long; see `kernels/micro.cuh`.
pub(crate) fn vector_bytes(word: usize) -> usize {
    if word == 1 { 8 } else { 16 }
}

/// Threads so that each holds about 200 bytes: measured best on an H200 for instances of 50 KB (256
/// threads) and 110 KB (512); 1024 threads lost 8 points on both.
pub(crate) fn threads_for(bytes: usize, most: usize) -> usize {
    (bytes / 200).next_multiple_of(32).clamp(64, most)
}
