//! Tiles that the routes try.

use super::route::TileSize;
use crate::infeasible::Infeasible;
use crate::phase_problem::PhaseProblem;

/// Returns those of the `divisors` of a side that are in `least..=most`: at least one, or an error.
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

/// Returns the `tiles` that fit on chip in the largest group of workers that can synchronise: at
/// least one, or an error.
pub(super) fn fitting_on_chip(
    part: &PhaseProblem,
    tiles: impl Iterator<Item = TileSize>,
) -> Result<Vec<TileSize>, Infeasible> {
    let [_, have] = part.device.on_chip_bytes();
    let bytes = |tile: TileSize| tile.m * tile.n * part.itemsize();
    let (fitting, too_large): (Vec<TileSize>, Vec<TileSize>) =
        tiles.partition(|&tile| bytes(tile) <= have);
    if fitting.is_empty() {
        let need = too_large.into_iter().map(bytes).min().unwrap_or(0);
        return Err(Infeasible::OnChip { need, have });
    }
    Ok(fitting)
}

/// Bytes of the widest word that devices move.
const WORD_BYTES: usize = 16;

/// Returns tiles `m x n` for the staged routes that fit on chip in one worker. `m` and `n` are
/// proper divisors of the numbers of rows and columns.
///
/// Unless every pair is wanted, returns up to four `m` for each `n`: the largest whose tile fits
/// once, and the largest whose tile fits twice. Each is chosen once among all divisors and once
/// among divisors whose super-elements are whole words of [`WORD_BYTES`]. For equally wide words,
/// longer super-elements never cost more.
pub(super) fn pairs(part: &PhaseProblem) -> Result<Vec<TileSize>, Infeasible> {
    let elem_bytes = part.itemsize();
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
