//! From a stage, as data, to a launch, as data: which kernel, which geometry, which parameters.
//!
//! | stage and method | kernels |
//! |---|---|
//! | square, squares side by side, tile-swap | `tiles`: `square_swap_*` |
//! | cubes, tile-swap | `cube`: `cube_forward`, `cube_back` |
//! | 010!, 0210! of squares, barrier | `tiles`, `barrier` (baseline: `barrier_registers_*`) |
//! | any axes that fit a block, barrier | `barrier_axes` |
//! | 010!, barrier over a cluster or the grid | `cluster_barrier`, `grid_barrier` |
//! | any other axes, the same | `cluster_axes`, `grid_axes` |
//! | slot gather, a block a run; a team a run | `slot_runs`; `slot_gather` |
//! | PTTWAC, flags in memory; fused tiles | `moves`, `moves_shared` (baseline: `moves_block`) |
//! | PTTWAC of any other axes | `moves_axes`, `moves_shared` |
//! | PTTWAC, flags on chip | `moves_on_chip` |
//! | P-IPT | `per_cycle` |
//! | rows, slide | `pad` |
//! | out of place, matrices; any axes | `out_of_place`; `into_axes` |
//! | leading dimensions, gaps kept; scaled | `tiles`, `out_of_place`, `pitched`, `pad`; `scale` |

mod axes_tile;
mod barrier;
mod barrier_axes;
mod cube;
mod fit;
mod gather;
pub(crate) mod into;
mod into_axes;
mod maps;
pub(crate) mod moves;
mod pad;
mod pitched;
pub(crate) mod runs;
mod scale;
pub(crate) mod teams;
mod tiles;
mod wide;
mod wide_axes;

use turntile_plan::StageShape;

use crate::call::Call;
use crate::error::LowerError;
use crate::way::{Scope, Tiling, Way};

pub use barrier::through_registers;
pub(crate) use cube::geometry as cube_geometry;
pub use fit::At;
pub use moves::{Holding, move_held};
pub(crate) use pad::slide_block;
pub(crate) use pitched::rest;
pub(crate) use scale::scale;
pub use scale::{Number, Scaling};
pub(crate) use tiles::{LINE, any_tile};
pub(crate) use wide::grid_register_bytes;

/// The launches that move `shape` in `way`: one, or for rows that are padded in rounds one for each.
///
/// # Errors
/// [`LowerError`], when no kernel does it on the device.
pub fn lower(shape: &StageShape, way: Way, at: At) -> Result<Vec<Call>, LowerError> {
    match (*shape, way) {
        (StageShape::Pad { padding, direction }, Way::Rows { least }) if least > 0 => {
            pad::rows(padding, direction, least, at)
        }
        (StageShape::Turn(leading), Way::TileSwap { tile }) => {
            pitched::turn_in_place(&leading, tile, at)
        }
        (StageShape::Turn(leading), Way::ThroughWorkspace) => pitched::through(&leading, at),
        _ => Ok(vec![lower_one(shape, way, at)?]),
    }
}

fn lower_one(shape: &StageShape, way: Way, at: At) -> Result<Call, LowerError> {
    let e = shape.elementary();
    match (*shape, way, e) {
        (_, Way::TileSwap { tile }, Some(e)) if e.is_involution() => tiles::swap(e, tile, at),
        (_, Way::TileSwap { tile }, Some(e)) => cube::rotate(e, tile, at),
        (StageShape::Axes(axes), Way::Barrier(Scope::Block), e) => {
            match e.filter(|e| e.mid == 1 || e.rows == e.cols) {
                Some(e) => barrier::block(e, at),
                None => barrier_axes::block(&axes, at),
            }
        }
        (_, Way::Barrier(Scope::Cluster(groups)), Some(e)) if e.mid == 1 => {
            wide::cluster(e, groups, at)
        }
        (_, Way::Barrier(Scope::Grid), Some(e)) if e.mid == 1 => wide::grid(e, at),
        (StageShape::Axes(axes), Way::Barrier(Scope::Cluster(groups)), _) => {
            wide_axes::cluster(&axes, groups, at)
        }
        (StageShape::Axes(axes), Way::Barrier(Scope::Grid), _) => wide_axes::grid(&axes, at),
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
        (StageShape::Slide { from, to }, Way::Slide { block }, _) if block > 0 => {
            pad::between(from, to, block, at)
        }
        (StageShape::Gaps { leading, direction }, Way::Keep, _) => {
            pitched::gaps(&leading, direction, at)
        }
        (StageShape::Axes(axes), Way::OutOfPlace { tiling: Tiling::Axes { held }, .. }, _) => {
            into_axes::call(&axes, held, at)
        }
        (_, Way::OutOfPlace { tiling, swath }, Some(e)) => into::call(tiling, swath, &e, at),
        _ => Err(LowerError::NoKernel),
    }
}
