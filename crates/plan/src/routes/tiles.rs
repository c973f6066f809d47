//! Which tiles a route looks at.

use super::route::TileSize;
use crate::infeasible::Infeasible;
use crate::phase_problem::PhaseProblem;

/// Those of a side's `divisors` that lie from `least` to `most`.
pub(super) fn between(
    divisors: &[usize],
    least: usize,
    most: usize,
) -> Result<impl Iterator<Item = usize> + Clone, Infeasible> {
    let all = divisors.iter().copied().filter(move |d| (least..=most).contains(d));
    if all.clone().next().is_none() {
        let side = divisors.last().copied().unwrap_or(0);
        return Err(Infeasible::NoDivisor { side, least, most });
    }
    Ok(all)
}

/// The tiles among `tiles` that a barrier of any scope can hold.
pub(super) fn holdable(
    part: &PhaseProblem,
    tiles: impl Iterator<Item = TileSize>,
) -> Result<Vec<TileSize>, Infeasible> {
    let [_, have] = part.device.on_chip_bytes();
    let bytes = |tile: TileSize| tile.m * tile.n * part.elem_bytes();
    let (fitting, over): (Vec<TileSize>, Vec<TileSize>) =
        tiles.partition(|&tile| bytes(tile) <= have);
    if fitting.is_empty() {
        let need = over.into_iter().map(bytes).min().unwrap_or(0);
        return Err(Infeasible::OnChip { need, have });
    }
    Ok(fitting)
}

/// Bytes of the widest word that devices move.
const WORD_BYTES: usize = 16;

/// All pairs of proper divisors whose tile one worker can hold, as the staged routes use them.
///
/// Unless every pair is asked for, for each `n` only the largest `m` whose tile fits once and the
/// largest whose tile fits twice, as moving it takes, of all and of those that wide words divide: longer
/// super-elements of as wide words never cost more.
pub(super) fn pairs(part: &PhaseProblem) -> Result<Vec<TileSize>, Infeasible> {
    let elem_bytes = part.elem_bytes();
    let down = between(part.row_divisors(), 2, part.matrices.rows - 1)?;
    let across = between(part.col_divisors(), 2, part.matrices.cols - 1)?;
    let [have, _] = part.device.on_chip_bytes();
    let fitting = |n: usize, copies: usize| {
        let most = have / (copies * n * elem_bytes);
        down.clone().take_while(move |&m| m <= most)
    };
    let tiles: Vec<TileSize> = if part.exhaustive {
        across.flat_map(|n| fitting(n, 1).map(move |m| TileSize { m, n })).collect()
    } else {
        let wide = |m: &usize| (m * elem_bytes).is_multiple_of(WORD_BYTES);
        let largest = |n: usize| {
            let of = |copies| [fitting(n, copies).last(), fitting(n, copies).filter(wide).last()];
            let mut sides: Vec<usize> = [1, 2].map(of).into_iter().flatten().flatten().collect();
            sides.sort_unstable();
            sides.dedup();
            sides.into_iter().map(move |m| TileSize { m, n })
        };
        across.flat_map(largest).collect()
    };
    if tiles.is_empty() {
        Err(Infeasible::OnChip { need: 4 * elem_bytes, have })
    } else {
        Ok(tiles)
    }
}
