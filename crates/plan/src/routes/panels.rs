//! Two stages: one on chip, one moving long super-elements.

use super::tiles::{between, choose};
use super::{Infeasible, Route, Step, Tile, Want, something_moves, step};
use crate::limits::DeviceKind;
use crate::problem::Problem;

/// Square tiles where they lie, then their rows across the matrix.
///
/// `(M', T, N', T)`: 0210! transposes every tile in place, 2100! takes row `a` of tile `(I, J)`,
/// which is now part of row `J·T + a` of the result, to its place there. No on-chip limit but a tile.
pub const SQUARE_TILE: Route = Route {
    name: "square-tile",
    about: "0210! on square tiles, then 2100! on their rows",
    source: "docs/routes.md",
    passes: 2,
    tiles: |ask| {
        something_moves(ask.problem)?;
        let (rows, cols) = (ask.problem.rows(), ask.problem.cols());
        let common = ask.row_divisors.iter().filter(|&&side| side > 1 && cols % side == 0);
        if common.clone().next().is_none() {
            return Err(Infeasible::Coprime { rows, cols });
        }
        // A host swaps within a tile, whatever its size; a GPU holds it.
        let host = ask.limits.kind == DeviceKind::Host;
        let held = |tile: Tile| if host { 0 } else { tile.m * tile.n };
        choose(ask, common.map(|&t| Tile { m: t, n: t }), held)
    },
    steps: |p, kind, Tile { m, n }| {
        let (down, across) = (p.rows() / m, p.cols() / n);
        // Tiles as wide as the matrix are squares one after the other, which a host need not hold.
        let want = if kind == DeviceKind::Host { Want::Squares } else { Want::LocalBarrier };
        vec![
            step(p.batch() * down, m, across, n, 1, want),
            step(p.batch(), down, m, across, n, Want::Any),
        ]
    },
};

/// Super-elements of `n` into panels, then every panel on chip.
pub const PANEL: Route = Route {
    name: "panel",
    about: "100! into panels of n columns, then 010! on every panel",
    source: "thesis section 4.7 with its last two stages done by one barrier",
    passes: 2,
    tiles: |ask| {
        something_moves(ask.problem)?;
        let sides = between(&ask.col_divisors, 2, ask.problem.cols() - 1)?;
        let tiles = sides.map(|n| Tile { m: ask.problem.rows(), n });
        choose(ask, tiles, |tile| tile.m * tile.n)
    },
    steps: |p, _, Tile { n, .. }| {
        let across = p.cols() / n;
        vec![
            step(p.batch(), p.rows(), 1, across, n, Want::Any),
            step(p.batch() * across, p.rows(), 1, n, 1, Want::LocalBarrier),
        ]
    },
};

/// Every panel of `m` rows on chip, then super-elements of `m` out of them.
pub const PANEL_MIRRORED: Route = Route {
    name: "panel-mirrored",
    about: "010! on every panel of m rows, then 100! out of them",
    source: "thesis section 4.7 mirrored, its first two stages done by one barrier",
    passes: 2,
    tiles: |ask| {
        something_moves(ask.problem)?;
        let sides = between(&ask.row_divisors, 2, ask.problem.rows() - 1)?;
        let tiles = sides.map(|m| Tile { m, n: ask.problem.cols() });
        choose(ask, tiles, |tile| tile.m * tile.n)
    },
    steps: |p, _, tile| mirrored_panels(p, tile),
};

/// The longest short side that counts as skinny.
const SKINNY_SIDE: usize = 64;

/// A panel route whose super-elements are long because the other side is short: arrays of
/// structures and back.
pub const SKINNY: Route = Route {
    name: "skinny",
    about: "one side at most 64: 010! on long tiles and 100! on super-elements as long",
    source: "thesis chapter 5 (AoS to ASTA to SoA)",
    passes: 2,
    tiles: |ask| {
        something_moves(ask.problem)?;
        let (rows, cols) = (ask.problem.rows(), ask.problem.cols());
        if rows.min(cols) > SKINNY_SIDE {
            return Err(Infeasible::NotSkinny { most: SKINNY_SIDE });
        }
        // Shorter super-elements than the short side would gain nothing over the panel routes.
        if rows >= cols {
            let sides = between(&ask.row_divisors, cols.min(rows - 1), rows - 1)?;
            choose(ask, sides.map(|m| Tile { m, n: cols }), |tile| tile.m * tile.n)
        } else {
            let sides = between(&ask.col_divisors, rows.min(cols - 1), cols - 1)?;
            choose(ask, sides.map(|n| Tile { m: rows, n }), |tile| tile.m * tile.n)
        }
    },
    steps: |p, kind, tile| {
        if p.rows() >= p.cols() { mirrored_panels(p, tile) } else { (PANEL.steps)(p, kind, tile) }
    },
};

fn mirrored_panels(p: &Problem, Tile { m, .. }: Tile) -> Vec<Step> {
    let down = p.rows() / m;
    vec![
        step(p.batch() * down, m, 1, p.cols(), 1, Want::LocalBarrier),
        step(p.batch(), down, 1, p.cols(), m, Want::Any),
    ]
}
