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
mod moves;
mod pad;
mod tiles;
mod wide;

use turntile_plan::{Method, Scope, Stage, StageShape};

use crate::call::{Call, Device};
use crate::error::Infeasible;

pub use barrier::through_registers;
pub use moves::{Holding, move_held};
pub(crate) use wide::grid_register_bytes;

/// The launches that run `stage`: one, or for rows that are padded in steps one for each.
///
/// # Errors
/// As [`lower`].
pub fn lower_all(
    stage: &Stage,
    elem_bytes: usize,
    alignment: usize,
    device: &Device,
) -> Result<Vec<Call>, Infeasible> {
    match (stage.shape, stage.method) {
        (StageShape::Pad { padding, direction }, Method::Rows { least }) => {
            pad::rows(padding, direction, least, At { elem_bytes, alignment, device })
        }
        _ => Ok(vec![lower(stage, elem_bytes, alignment, device)?]),
    }
}

/// The launch that runs `stage` on elements of `elem_bytes` bytes in memory aligned to `alignment` bytes.
///
/// # Errors
/// [`Infeasible`], when no kernel does it on `device`.
pub fn lower(
    stage: &Stage,
    elem_bytes: usize,
    alignment: usize,
    device: &Device,
) -> Result<Call, Infeasible> {
    let at = At { elem_bytes, alignment, device };
    match (stage.shape, stage.method) {
        (StageShape::Elementary(e), Method::TileSwap { tile }) => tiles::swap(e, tile, at),
        (StageShape::Elementary(e), Method::BarrierSync { scope: Scope::Group }) => {
            barrier::block(e, at)
        }
        (StageShape::Elementary(e), Method::BarrierSync { scope: Scope::Cluster(groups) }) => {
            wide::cluster(e, groups, at)
        }
        (StageShape::Elementary(e), Method::BarrierSync { scope: Scope::Grid }) => {
            wide::grid(e, at)
        }
        (
            StageShape::SlotGather { batch, slots, direction },
            Method::BarrierSync { scope: Scope::Team(blocks) },
        ) => {
            let count = stage.launch.groups;
            gather::by_teams(batch, slots, direction, (count, blocks), at)
        }
        (
            StageShape::SlotGather { batch, slots, direction },
            Method::BarrierSync { scope: Scope::Group },
        ) => gather::by_runs(batch, slots, direction, stage.launch.groups, at),
        (StageShape::Elementary(e), Method::PttwacOnChip { flags }) => {
            moves::on_chip(e, flags, stage.launch.threads, at)
        }
        (shape, Method::PttwacGlobal { flags }) => moves::global(shape, flags, at),
        (shape, Method::PerCycle) => moves::per_cycle(shape, at),
        (StageShape::Pad { padding, direction }, Method::Slide { block }) => {
            pad::slide(padding, direction, block, at)
        }
        _ => Err(Infeasible::NoKernel),
    }
}

/// What a launch depends on beside the stage.
#[derive(Clone, Copy)]
struct At<'a> {
    elem_bytes: usize,
    alignment: usize,
    device: &'a Device,
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
pub(crate) fn shared(bytes: usize, device: &Device) -> Result<u32, Infeasible> {
    if bytes <= device.shared_bytes {
        Ok(bytes as u32)
    } else {
        Err(Infeasible::OnChip { need: bytes, have: device.shared_bytes })
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
