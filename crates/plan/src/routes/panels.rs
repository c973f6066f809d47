//! Two stages: one on chip, one moving long super-elements.

use super::route::{AS_IT_IS, BOTH, Route, RouteRow, Step, Tile, step};
use super::tiles::{between, holdable};
use crate::device::Want;
use crate::infeasible::Infeasible;
use crate::problem::Matrices;

/// Square tiles where they lie, then their rows across the matrix.
///
/// `(M', T, N', T)`: 0210! transposes every tile in place, 2100! takes row `a` of tile `(I, J)`,
/// which is now part of row `J·T + a` of the result, to its place there. No on-chip limit but a tile.
pub const SQUARE_TILE: RouteRow = RouteRow {
    route: Route::SquareTile,
    about: "0210! on square tiles, then 2100! on their rows",
    source: "docs/routes.md",
    of_thesis: false,
    passes: 2,
    ways: AS_IT_IS,
    tiles: |query| {
        let (rows, cols) = (query.matrices.rows, query.matrices.cols);
        let common = query.row_divisors.iter().filter(|&&side| side > 1 && cols % side == 0);
        let tiles: Vec<Tile> = common.map(|&t| Tile { m: t, n: t }).collect();
        if tiles.is_empty() { Err(Infeasible::Coprime { rows, cols }) } else { Ok(tiles) }
    },
    steps: |query, tile| on_square_tiles(query.matrices, tile.m),
    mirrored_steps: None,
};

/// The steps of route `square-tile` with tiles of `side`.
pub(super) fn on_square_tiles(matrices: Matrices, side: usize) -> Vec<Step> {
    let Matrices { batch, rows, cols } = matrices;
    let (down, across) = (rows / side, cols / side);
    vec![
        // Tiles as wide as the matrix are squares one after the other.
        step(batch * down, side, across, side, 1, Want::Tiles),
        step(batch, down, side, across, side, Want::Any),
    ]
}

/// Super-elements of `n` into panels, then every panel on chip. Mirrored: every panel of `n` rows on
/// chip, then super-elements out of them.
pub const PANEL: RouteRow = RouteRow {
    route: Route::Panel,
    about: "100! into panels of n columns, then 010! on every panel; mirrored 010!, then 100!",
    source: "thesis section 4.7, two of its stages done by one barrier; chapter 5 (AoS, ASTA, SoA) where a side is short",
    of_thesis: true,
    passes: 2,
    ways: BOTH,
    tiles: |query| {
        let Matrices { rows, cols, .. } = query.matrices;
        let sides = between(query.col_divisors, 2, cols - 1)?;
        holdable(query, sides.map(|n| Tile { m: rows, n }))
    },
    steps: |query, Tile { n, .. }| {
        let Matrices { batch, rows, cols } = query.matrices;
        let across = cols / n;
        vec![
            step(batch, rows, 1, across, n, Want::Any),
            step(batch * across, rows, 1, n, 1, Want::Barrier),
        ]
    },
    mirrored_steps: None,
};
