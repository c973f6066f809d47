//! Lowering of a stage to kernel launches as plain data: kernel, launch geometry, parameter.
//!
//! | stage and method | kernels |
//! |---|---|
//! | square, adjacent squares, tile-swap | `tiles`: `square_swap_*`; small unaligned squares `swap_axes` |
//! | involutive axis permutations, tile-swap | `swap_axes` |
//! | reversed axes; quarter turns of squares, tile-swap | `flip`; `turn` |
//! | squares between GPUs | `peer_squares` |
//! | panels of unequal width between GPUs: core and border | `pad`, `out_of_place` |
//! | cubes, tile-swap | `cube`; over clusters `cube_cluster` |
//! | 010!, 0210! of squares, barrier | `tiles`, `barrier` |
//! | other axis permutations that fit a thread block, barrier | `barrier_axes` |
//! | 010!, barrier over a cluster; a team or the grid | `cluster_barrier`; `grid_barrier` |
//! | other axis permutations, barrier over a cluster; a team or the grid | `cluster_axes`; `grid_axes` |
//! | a few long runs of axes or of records, pieces | `long_runs` |
//! | records between AoS and tiles, barrier | `retile` |
//! | slot gather, one block per run; one team per run | `slot_runs`; `slot_gather` |
//! | slots of record fields: gather, PTTWAC | `fields` |
//! | PTTWAC, flags in global memory: axes; slots | `moves`; `moves_slots` |
//! | rows of tiles between pitches, PTTWAC | `moves_runs` |
//! | PTTWAC, flags in shared memory | `moves_on_chip` |
//! | P-IPT | `per_cycle` |
//! | slide | `pad` |
//! | cut, join | `out_of_place` or `pitched`, `pad` |
//! | out of place: matrices; axes; long super-elements | `out_of_place`, `barrier`; `into_axes`; `into_units` |
//! | elements of 1, 2 or 4 bits: squares in place; out of place | `bits` |
//! | leading dimensions, saved gaps; scaling | `tiles`, `out_of_place`, `pitched`, `pad`; `scale` |

pub(crate) mod axes;
mod axes_tile;
mod barrier;
mod barrier_axes;
pub(crate) mod bits;
pub(crate) mod cost;
pub(crate) mod fields;
mod fit;
mod flips;
pub(crate) mod gather;
pub(crate) mod into;
pub(crate) mod long_runs;
mod maps;
pub(crate) mod moves;
mod pad;
mod pitched;
mod retile;
pub(crate) mod runs;
mod scale;
mod swap_axes;
mod teams;
mod tiles;
pub(crate) mod wide;

use turntile_perm::SwapKind;
use turntile_plan::StageMap;

use crate::error::LowerError;
use crate::family::Family;
use crate::launch::CheckedLaunch;
use crate::names::Operation;
use crate::strategy::{Scope, Strategy, Tiling};

pub use bits::BitMatrix;
pub(crate) use cost::Cost;
use cost::Quantities;
pub use fit::{Lowered, TargetParams};
pub(crate) use pad::{
    apart as panels_apart, border_bytes, slide_block, together as panels_together,
};
pub(crate) use pitched::cut_places;
pub use scale::{ScalarKind, Scaling};
pub(crate) use scale::{scale, scaled_square};
pub(crate) use tiles::{LINE, apart, cube_tiles};
pub use tiles::{PeerBlock, Squares};
pub(crate) use wide::grid_bytes;

/// Returns the launches that execute the stage `shape` by `strategy`, in order. Most stages take one launch.
///
/// # Errors
/// [`LowerError`], if no kernel does so on the device.
pub fn lower(
    shape: &StageMap,
    strategy: Strategy,
    at: TargetParams,
) -> Lowered<Vec<CheckedLaunch>> {
    lowered(shape, strategy, at).map(|(calls, _)| calls)
}

/// Returns the launches of a stage and the key of their cost, or `None` if cost tables have no such operation.
pub(crate) fn lowered(
    shape: &StageMap,
    strategy: Strategy,
    at: TargetParams,
) -> Lowered<(Vec<CheckedLaunch>, Option<Cost>)> {
    let calls = match (shape, strategy) {
        (&StageMap::Slide(rows), Strategy::Rounds { least }) if least > 0 => {
            let calls = pad::rows(rows, least, at)?;
            let first = calls.first().map(|call| Quantities::new(shape, call, at));
            return Ok((calls, Some(first.unwrap_or_default().of(Operation::Rounds))));
        }
        (&StageMap::Cut { rows, direction }, Strategy::Blocks { block }) if block > 0 => {
            let calls = pitched::cut(rows, direction, block, at)?;
            let cost = Quantities::new(shape, &calls[1], at).slide(shape, at);
            return Ok((calls, Some(cost.of(Operation::Blocks))));
        }
        (&StageMap::RecordGather { ref slots, direction }, Strategy::Runs { groups })
            if groups > 0 =>
        {
            let calls = fields::gather(slots, direction, groups, at)?;
            let [_, call] = &calls[..] else { return Err(LowerError::NoKernel) };
            let held = Quantities::new(shape, call, at).hold(call.shared_bytes as usize, at);
            let cost = held.fields(slots, direction, at);
            return Ok((calls, Some(cost.of(Operation::FieldGather))));
        }
        (&StageMap::TransposeRows(leading), Strategy::TileSwap { tile }) => {
            pitched::turn_in_place(&leading, tile, at)?
        }
        (&StageMap::TransposeRows(leading), Strategy::ThroughWorkspace) => {
            pitched::through(&leading, at)?
        }
        (&StageMap::Gaps { gaps, direction }, Strategy::Keep) => {
            vec![pitched::gaps(&gaps, direction, at)?]
        }
        _ => {
            let (call, cost) = lower_one(shape, strategy, at)?;
            return Ok((vec![call], Some(cost)));
        }
    };
    Ok((calls, None))
}

fn lower_one(
    shape: &StageMap,
    strategy: Strategy,
    at: TargetParams,
) -> Lowered<(CheckedLaunch, Cost)> {
    let of = |call: &CheckedLaunch| Quantities::new(shape, call, at);
    let held = |call: &CheckedLaunch| of(call).hold(call.shared_bytes as usize, at);
    let along_cycles = |call: CheckedLaunch, operation| {
        (call, of(&call).cycles(shape, call.word, at).of(operation))
    };
    Ok(match (shape, strategy, shape.swap_kind()) {
        (
            _,
            Strategy::TileSwap { tile },
            Some(SwapKind::Transpose(e) | SwapKind::SquareTiles(e)),
        ) if e.is_squares() => {
            let call = tiles::swap(e, tile, at)?;
            (call, of(&call).swap(&e, &call, at))
        }
        (_, Strategy::TileSwap { tile }, Some(SwapKind::Transpose(e))) => {
            let call = tiles::rotate(e, tile, at)?;
            (call, of(&call).cube(&e, tile, &call))
        }
        (&StageMap::Axes(axes), Strategy::SwapAxes, _) => {
            let call = swap_axes::swap(&axes, at)?;
            (call, of(&call).swap_axes(&call))
        }
        (&StageMap::Flipped(axes), Strategy::Flip, _) => {
            let call = flips::flip(&axes, at)?;
            (call, of(&call).flip(&call))
        }
        (&StageMap::Flipped(axes), Strategy::Turn, _) => {
            let call = flips::turn(&axes, at)?;
            (call, of(&call).turn(&call))
        }
        (_, Strategy::Barrier(Scope::Block), Some(SwapKind::SquareTiles(e))) => {
            let call = barrier::block(e, at)?;
            let in_place = call.family == Family::Tiles;
            let operation = if in_place { Operation::Tiles } else { Operation::TilesAny };
            (call, of(&call).tiles(&e, operation, at))
        }
        (
            StageMap::Axes(axes),
            Strategy::Barrier(Scope::Block),
            Some(SwapKind::Transpose(e) | SwapKind::Strided(e)),
        ) if e.mid == 1 || axes.is_involution() => {
            let call = barrier::block(e, at)?;
            let cost = of(&call).barrier(&e, Scope::Block, &call, at);
            (call, cost)
        }
        (&StageMap::Axes(axes), Strategy::Barrier(Scope::Block), _) => {
            let call = barrier_axes::block(&axes, at)?;
            (call, held(&call).block_axes(&call))
        }
        (_, Strategy::Barrier(scope), Some(SwapKind::Transpose(e))) => {
            let call = wide::call(e, scope, at)?;
            let cost = of(&call).barrier(&e, scope, &call, at);
            (call, cost)
        }
        (&StageMap::Axes(axes), Strategy::Barrier(scope), _) => {
            let call = axes::wide(&axes, scope, at)?;
            let scopes = (Operation::ClusterAxes, Operation::TeamAxes, Operation::GridAxes);
            let cost = held(&call).tiled_axes(&call).of_scope(scopes, scope, &call);
            (call, cost)
        }
        (&StageMap::Axes(axes), Strategy::Pieces { piece }, _) => {
            let call = long_runs::pieces(&axes, piece, at)?;
            (call, held(&call).pieces(piece))
        }
        (StageMap::RecordTiles(change), Strategy::Pieces { piece }, _) => {
            let call = long_runs::record_pieces(change, piece, at)?;
            (call, held(&call).pieces(piece))
        }
        (StageMap::RecordTiles(retile), Strategy::Barrier(Scope::Block), _) => {
            let call = retile::block(retile, at)?;
            (call, held(&call).of(Operation::Retile))
        }
        (
            &StageMap::SlotGather { batch, slots, direction },
            Strategy::Teams { groups, blocks },
            _,
        ) => {
            let call = gather::by_teams(batch, slots, direction, (groups, blocks), at)?;
            let quantities = of(&call).slots(&slots, direction, at);
            (call, quantities.teams(batch, &slots, &call, at).of(Operation::Teams))
        }
        (&StageMap::SlotGather { batch, slots, direction }, Strategy::Runs { groups }, _) => {
            let call = gather::by_runs(batch, slots, direction, groups, at)?;
            (call, held(&call).slots(&slots, direction, at).of(Operation::Runs))
        }
        (_, Strategy::OnChipMoves { threads }, Some(SwapKind::Transpose(e))) => {
            let call = moves::on_chip(e, threads, at)?;
            (call, of(&call).of(Operation::OnChipMoves))
        }
        (_, Strategy::Moves, _) => along_cycles(moves::global(shape, at)?, Operation::Moves),
        (_, Strategy::PerCycle, _) => {
            along_cycles(moves::per_cycle(shape, at)?, Operation::PerCycle)
        }
        (&StageMap::Slide(rows), Strategy::Blocks { block }, _) if block > 0 => {
            let call = pad::slide(rows, block, at)?;
            (call, of(&call).slide(shape, at).of(Operation::Blocks))
        }
        (
            &StageMap::Axes(axes),
            Strategy::OutOfPlace { tiling: Tiling::Axes { held, near }, .. },
            _,
        ) => {
            let call = axes::into(&axes, [held, near], at)?;
            (call, of(&call).tiled_axes(&call).of(Operation::IntoAxes))
        }
        (&StageMap::Axes(axes), Strategy::OutOfPlace { tiling: Tiling::Units, .. }, _) => {
            let call = axes::units(&axes, at)?;
            (call, of(&call).of(Operation::IntoUnits))
        }
        (_, Strategy::OutOfPlace { tiling, swath }, Some(SwapKind::Transpose(e))) => {
            let call = into::call(tiling, swath, &e, at)?;
            (call, of(&call).into(&e, tiling, swath, call.word, at))
        }
        _ => return Err(LowerError::NoKernel),
    })
}
