//! From a stage, as data, to a launch, as data: which kernel, which geometry, which parameters.
//!
//! | stage and method | kernels |
//! |---|---|
//! | square, squares side by side, tile-swap | `tiles`: `square_swap_*` |
//! | cubes, tile-swap | `cube`: `cube_forward`, `cube_back` |
//! | 010!, 0210! of squares, barrier | `tiles`, `barrier` |
//! | any axes that fit a block, barrier | `barrier_axes` |
//! | 010!, barrier over a cluster or the grid | `cluster_barrier`, `grid_barrier` |
//! | any other axes, the same | `cluster_axes`, `grid_axes` |
//! | slot gather, a block a run; a team a run | `slot_runs`; `slot_gather` |
//! | PTTWAC, flags in memory: axes; slots | `moves`; `moves_slots`; either `moves_shared` |
//! | PTTWAC, flags on chip | `moves_on_chip` |
//! | P-IPT | `per_cycle` |
//! | rows, slide | `pad` |
//! | out of place, matrices; any axes | `out_of_place`; `into_axes` |
//! | leading dimensions, gaps kept; scaled | `tiles`, `out_of_place`, `pitched`, `pad`; `scale` |

mod axes_tile;
mod barrier;
mod barrier_axes;
pub(crate) mod cost;
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
use crate::family::Family;
use crate::names::Operation;
use crate::way::{Scope, Tiling, Way};

pub(crate) use cost::Cost;
use cost::Quantities;
pub(crate) use cube::geometry as cube_geometry;
pub use fit::At;
pub(crate) use pad::slide_block;
pub(crate) use pitched::rest;
pub(crate) use scale::scale;
pub use scale::{Number, Scaling};
pub(crate) use tiles::LINE;
pub(crate) use wide::grid_register_bytes;

/// The launches that move `shape` in `way`: one, or for rows that are padded in rounds one for each.
///
/// # Errors
/// [`LowerError`], when no kernel does it on the device.
pub fn lower(shape: &StageShape, way: Way, at: At) -> Result<Vec<Call>, LowerError> {
    lowered(shape, way, at).map(|(calls, _)| calls)
}

/// The same, and what a table of costs is asked about them; nothing where it has no such operation.
pub(crate) fn lowered(
    shape: &StageShape,
    way: Way,
    at: At,
) -> Result<(Vec<Call>, Option<Cost>), LowerError> {
    match (*shape, way) {
        (StageShape::Slide(rows), Way::Rounds { least }) if least > 0 => {
            let calls = pad::rows(rows, least, at)?;
            let first = calls.first().map(|call| Quantities::new(shape, call, at));
            Ok((calls, Some(first.unwrap_or_default().of(Operation::Rounds))))
        }
        (StageShape::Turn(leading), Way::TileSwap { tile }) => {
            Ok((pitched::turn_in_place(&leading, tile, at)?, None))
        }
        (StageShape::Turn(leading), Way::ThroughWorkspace) => {
            Ok((pitched::through(&leading, at)?, None))
        }
        (StageShape::Gaps { leading, direction }, Way::Keep) => {
            Ok((vec![pitched::gaps(&leading, direction, at)?], None))
        }
        _ => lower_one(shape, way, at).map(|(call, cost)| (vec![call], Some(cost))),
    }
}

fn lower_one(shape: &StageShape, way: Way, at: At) -> Result<(Call, Cost), LowerError> {
    let e = shape.elementary();
    let of = |call: &Call| Quantities::new(shape, call, at);
    let held = |call: &Call| of(call).hold(call.shared_bytes() as usize, at);
    Ok(match (*shape, way, e) {
        (_, Way::TileSwap { tile }, Some(e)) if e.is_involution() => {
            let call = tiles::swap(e, tile, at)?;
            (call, of(&call).swap(&e, &call, at))
        }
        (_, Way::TileSwap { tile }, Some(e)) => {
            let call = cube::rotate(e, tile, at)?;
            (call, of(&call).cube(&e, tile))
        }
        (StageShape::Axes(axes), Way::Barrier(Scope::Block), e) => {
            match e.filter(|e| e.mid == 1 || e.rows == e.cols) {
                Some(e) => {
                    let call = barrier::block(e, at)?;
                    let cost = match call.family() {
                        _ if e.mid == 1 || e.unit > 1 => of(&call).barrier(&e, Scope::Block, at),
                        Family::Tiles => of(&call).tiles(&e, Operation::Tiles, at),
                        _ => of(&call).tiles(&e, Operation::TilesAny, at),
                    };
                    (call, cost)
                }
                None => {
                    let call = barrier_axes::block(&axes, at)?;
                    (call, held(&call).of(Operation::BlockAxes))
                }
            }
        }
        (_, Way::Barrier(scope @ Scope::Cluster(groups)), Some(e)) if e.mid == 1 => {
            let call = wide::cluster(e, groups, at)?;
            (call, of(&call).barrier(&e, scope, at))
        }
        (_, Way::Barrier(Scope::Grid), Some(e)) if e.mid == 1 => {
            let call = wide::grid(e, at)?;
            (call, of(&call).barrier(&e, Scope::Grid, at))
        }
        (StageShape::Axes(axes), Way::Barrier(Scope::Cluster(groups)), _) => {
            let call = wide_axes::cluster(&axes, groups, at)?;
            (call, held(&call).tiled_axes(&call).of(Operation::ClusterAxes))
        }
        (StageShape::Axes(axes), Way::Barrier(Scope::Grid), _) => {
            let call = wide_axes::grid(&axes, at)?;
            (call, held(&call).tiled_axes(&call).of(Operation::GridAxes))
        }
        (StageShape::SlotGather { batch, slots, direction }, Way::Teams { groups, blocks }, _) => {
            let call = gather::by_teams(batch, slots, direction, (groups, blocks), at)?;
            let quantities = of(&call).slots(&slots, direction, at);
            (call, quantities.teams(batch, &slots, call.params(), at).of(Operation::Teams))
        }
        (StageShape::SlotGather { batch, slots, direction }, Way::Runs { groups }, _) => {
            let call = gather::by_runs(batch, slots, direction, groups, at)?;
            (call, held(&call).slots(&slots, direction, at).of(Operation::Runs))
        }
        (_, Way::OnChipMoves { threads }, Some(e)) => {
            let call = moves::on_chip(e, threads, at)?;
            (call, of(&call).of(Operation::OnChipMoves))
        }
        (_, Way::Moves, _) => {
            let call = moves::global(shape, at)?;
            (call, of(&call).cycles(shape, at).of(Operation::Moves))
        }
        (_, Way::PerCycle, _) => {
            let call = moves::per_cycle(shape, at)?;
            (call, of(&call).cycles(shape, at).of(Operation::PerCycle))
        }
        (StageShape::Slide(rows), Way::Blocks { block }, _) if block > 0 => {
            let call = pad::slide(rows, block, at)?;
            (call, of(&call).of(Operation::Blocks))
        }
        (StageShape::Axes(axes), Way::OutOfPlace { tiling: Tiling::Axes { held }, .. }, _) => {
            let call = into_axes::call(&axes, held, at)?;
            (call, of(&call).tiled_axes(&call).of(Operation::IntoAxes))
        }
        (_, Way::OutOfPlace { tiling, swath }, Some(e)) => {
            let call = into::call(tiling, swath, &e, at)?;
            (call, of(&call).into(&e, tiling, swath, call.word(), at))
        }
        _ => return Err(LowerError::NoKernel),
    })
}
