//! The thesis's compositions of elementary transpositions, with `M = M'·m` and `N = N'·n`.

use super::tiles::pairs;
use super::{Route, Step, Tile, Want, step};
use crate::problem::Problem;
use crate::stage::StageShape;

/// `(M, N', n)` to `(N', M, n)`; `(N', M', m, n)` to `(N', M', n, m)`; to `(N', n, M', m)`.
pub const THREE_STAGE: Route = Route {
    name: "three-stage",
    about: "100! on n, 0010! on m x n tiles, 0100! on m",
    source: "thesis section 4.7",
    passes: 3,
    tiles: pairs,
    steps: |p, _, Tile { m, n }| {
        let (batch, down, across) = (p.batch(), p.rows() / m, p.cols() / n);
        vec![
            step(batch, p.rows(), 1, across, n, Want::Any),
            step(batch * across * down, m, 1, n, 1, Want::Any),
            step(batch * across, down, 1, n, m, Want::Any),
        ]
    },
};

/// `(M', m, N', n)` to `(M', N', m, n)` to `(M', N', n, m)`; `(M', N, m)` to `(N, M', m)`.
pub const THREE_STAGE_MIRRORED: Route = Route {
    name: "three-stage-mirrored",
    about: "0100! on n, 0010! on m x n tiles, 100! on m",
    source: "thesis section 4.7, the other order",
    passes: 3,
    tiles: pairs,
    steps: |p, _, Tile { m, n }| {
        let (batch, down, across) = (p.batch(), p.rows() / m, p.cols() / n);
        vec![
            step(batch * down, m, 1, across, n, Want::Any),
            step(batch * down * across, m, 1, n, 1, Want::Any),
            step(batch, down, 1, p.cols(), m, Want::Any),
        ]
    },
};

/// Gustavson's and Karlsson's four stages.
pub const FOUR_STAGE: Route = Route {
    name: "four-stage",
    about: "0100! on n, 0010! on m x n tiles, 1000! on m·n, 0100! on m",
    source: "thesis section 4.4; Gustavson 2012, Karlsson 2009",
    passes: 4,
    tiles: pairs,
    steps: |p, _, tile| {
        let Tile { m, n } = tile;
        let (batch, down, across) = (p.batch(), p.rows() / m, p.cols() / n);
        vec![
            first_stage(p, tile),
            step(batch * down * across, m, 1, n, 1, Want::Any),
            step(batch, down, 1, across, m * n, Want::Any),
            last_stage(p, tile),
        ]
    },
};

/// The four stages with the second and third in one pass.
pub const FOUR_STAGE_FUSED: Route = Route {
    name: "four-stage-fused",
    about: "0100! on n, 1010! moving and transposing m x n tiles, 0100! on m",
    source: "thesis section 4.8.3 (+fusion)",
    passes: 3,
    tiles: pairs,
    steps: |p, _, tile| {
        let Tile { m, n } = tile;
        let (batch, rows, cols) = (p.batch(), p.rows() / m, p.cols() / n);
        let fused = StageShape::FusedTiles { batch, rows, cols, m, n };
        vec![first_stage(p, tile), Step { shape: fused, want: Want::Any }, last_stage(p, tile)]
    },
};

fn first_stage(p: &Problem, Tile { m, n }: Tile) -> Step {
    step(p.batch() * (p.rows() / m), m, 1, p.cols() / n, n, Want::Any)
}

fn last_stage(p: &Problem, Tile { m, n }: Tile) -> Step {
    step(p.batch() * (p.cols() / n), p.rows() / m, 1, n, m, Want::Any)
}
