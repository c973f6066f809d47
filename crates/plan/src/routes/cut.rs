//! Square tiles of one side, and what they leave of the other cut off.

use turntile_perm::Padding;

use super::panels::SQUARE_TILE;
use super::{Ask, Infeasible, Route, Step, Tile, Want, something_moves};
use crate::limits::DeviceKind;
use crate::problem::Problem;
use crate::stage::{Direction, StageShape};

/// The columns that square tiles leave over cut off, then route `square-tile`, of one stage for a near-square
/// matrix; what was cut off lies behind, as the last rows of the result. A tile `m x n` is square tiles of side
/// `m` on the first `n` columns.
///
/// Workspace: the columns cut off, `(N - n) M` elements.
pub const CUT_COLUMNS: Route = Route {
    name: "cut-columns",
    about: "columns that square tiles leave over cut off in place, then square-tile; one matrix, on a host",
    source: "FFTW 3 (transpose-cut); docs/routes.md",
    passes: 2,
    tiles: |ask| tiles(ask, &ask.row_divisors, ask.problem.cols()),
    steps: |p, kind, tile| {
        let mut steps = vec![cut(p.rows(), tile.n, p.cols(), Direction::Forward)];
        steps.extend(on_tiles(p.rows(), tile.n, p, kind, tile));
        steps
    },
};

/// Mirrored: the first rows by route `square-tile`, then the last ones put back as columns of the result. A tile
/// `m x n` is square tiles of side `m` on the first `n` rows.
///
/// Workspace: the rows cut off, `(M - n) N` elements.
pub const CUT_ROWS: Route = Route {
    name: "cut-rows",
    about: "square-tile on the rows that square tiles divide, then the others put back as columns; one matrix, on a host",
    source: "FFTW 3 (transpose-cut); docs/routes.md",
    passes: 2,
    tiles: |ask| tiles(ask, &ask.col_divisors, ask.problem.rows()),
    steps: |p, kind, tile| {
        let mut steps = on_tiles(tile.n, p.cols(), p, kind, tile);
        steps.push(cut(p.cols(), tile.n, p.rows(), Direction::Backward));
        steps
    },
};

/// Tiles of every side among `divisors` that leaves some of `side` over.
fn tiles(ask: &Ask, divisors: &[usize], side: usize) -> Result<Vec<Tile>, Infeasible> {
    something_moves(ask.problem)?;
    let batch = ask.problem.batch();
    if batch > 1 {
        return Err(Infeasible::Batch { batch });
    }
    if ask.limits.kind == DeviceKind::Gpu {
        return Err(Infeasible::HostOnly);
    }
    let tiled = divisors.last().copied().unwrap_or(0);
    let cap = ask.limits.cap(ask.problem);
    let bytes = |&m: &usize| side % m * tiled * ask.problem.elem_bytes();
    let leaves_some = |m: &usize| *m > 1 && *m < side && bytes(m) > 0;
    let sides = divisors.iter().copied().filter(leaves_some);
    let Some(need) = sides.clone().map(|m| bytes(&m)).min() else {
        return Err(Infeasible::NothingCut { tiled, cut: side });
    };
    if need > cap {
        return Err(Infeasible::Workspace { need, cap });
    }
    Ok(sides.filter(|m| bytes(m) <= cap).map(|m| Tile { m, n: side / m * m }).collect())
}

/// The first `packed` of `cols` columns packed, or the others put back.
fn cut(rows: usize, packed: usize, cols: usize, direction: Direction) -> Step {
    let padding = Padding::new(rows, packed, cols).expect("fewer columns than there are");
    Step { shape: StageShape::Cut { padding, direction }, want: Want::Any }
}

/// Route `square-tile` on what is left.
fn on_tiles(rows: usize, cols: usize, p: &Problem, kind: DeviceKind, tile: Tile) -> Vec<Step> {
    let left = Problem::new(rows, cols, p.elem_bytes()).expect("less than the problem");
    (SQUARE_TILE.steps)(&left, kind, Tile { m: tile.m, n: tile.m })
}
