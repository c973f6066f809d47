//! The thesis's compositions of elementary transpositions, with `M = M'·m` and `N = N'·n`.

use turntile_perm::TurnedTiles;

use super::route::{AS_IT_IS, BOTH, Query, Route, RouteRow, Step, Tile, step};
use super::tiles::pairs;
use crate::device::Want;
use crate::problem::Matrices;
use crate::shape::StageShape;

/// `(M, N', n)` to `(N', M, n)`; `(N', M', m, n)` to `(N', M', n, m)`; to `(N', n, M', m)`.
pub const THREE_STAGE: RouteRow = RouteRow {
    route: Route::ThreeStage,
    about: "100! on n, 0010! on m x n tiles, 0100! on m; mirrored the other order",
    source: "thesis section 4.7",
    of_thesis: true,
    passes: 3,
    any_axes: false,
    ways: BOTH,
    tiles: pairs,
    steps: |query, Tile { m, n }| {
        let Matrices { batch, rows, cols } = query.matrices;
        let (down, across) = (rows / m, cols / n);
        vec![
            step(batch, rows, 1, across, n, Want::Any),
            step(batch * across * down, m, 1, n, 1, Want::Any),
            step(batch * across, down, 1, n, m, Want::Any),
        ]
    },
    mirrored_steps: None,
};

/// Gustavson's and Karlsson's four stages.
pub const FOUR_STAGE: RouteRow = RouteRow {
    route: Route::FourStage,
    about: "0100! on n, 0010! on m x n tiles, 1000! on m·n, 0100! on m",
    source: "thesis section 4.4; Gustavson 2012, Karlsson 2009",
    of_thesis: true,
    passes: 4,
    any_axes: false,
    ways: AS_IT_IS,
    tiles: pairs,
    steps: |query, tile| {
        let Tile { m, n } = tile;
        let Matrices { batch, rows, cols } = query.matrices;
        let (down, across) = (rows / m, cols / n);
        vec![
            first_stage(query, tile),
            step(batch * down * across, m, 1, n, 1, Want::Any),
            step(batch, down, 1, across, m * n, Want::Any),
            last_stage(query, tile),
        ]
    },
    mirrored_steps: None,
};

/// The four stages with the second and third in one pass.
pub const FOUR_STAGE_FUSED: RouteRow = RouteRow {
    route: Route::FourStageFused,
    about: "0100! on n, 1010! moving and transposing m x n tiles, 0100! on m",
    source: "thesis section 4.8.3 (+fusion)",
    of_thesis: true,
    passes: 3,
    any_axes: false,
    ways: AS_IT_IS,
    tiles: pairs,
    steps: |query, tile| {
        let Tile { m, n } = tile;
        let Matrices { batch, rows, cols } = query.matrices;
        let turned = TurnedTiles { batch, rows: rows / m, cols: cols / n, m, n };
        let turned = Step { shape: StageShape::Axes(turned.into()), want: Want::Any };
        vec![first_stage(query, tile), turned, last_stage(query, tile)]
    },
    mirrored_steps: None,
};

fn first_stage(query: &Query, Tile { m, n }: Tile) -> Step {
    let Matrices { batch, rows, cols } = query.matrices;
    step(batch * (rows / m), m, 1, cols / n, n, Want::Any)
}

fn last_stage(query: &Query, Tile { m, n }: Tile) -> Step {
    let Matrices { batch, rows, cols } = query.matrices;
    step(batch * (cols / n), rows / m, 1, n, m, Want::Any)
}
