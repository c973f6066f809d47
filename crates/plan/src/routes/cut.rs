//! Square tiles of one side, and what they leave of the other cut off.

use turntile_perm::Pitched;

use super::panels::on_square_tiles;
use super::route::{BOTH, Route, RouteRow, Step, Tile};
use crate::device::Want;
use crate::infeasible::Infeasible;
use crate::part::Part;
use crate::problem::Matrices;
use crate::shape::{Direction, StageShape};

/// The columns that square tiles leave over cut off, then route `square-tile`, of one stage for a near-square
/// matrix; what was cut off lies behind, as the last rows of the result. Mirrored: the first rows by route
/// `square-tile`, then the last ones put back as columns of the result. A tile `m x n` is square
/// tiles of side `m` on the first `n` columns.
///
/// Workspace: the columns cut off, `(N - n) M` elements.
pub const CUT: RouteRow = RouteRow {
    route: Route::CUT,
    about: "columns that square tiles leave over cut off in place, then square-tile; mirrored rows; one matrix",
    source: "FFTW 3 (transpose-cut); docs/algorithm.md",
    of_thesis: false,
    passes: 2,
    any_axes: false,
    ways: BOTH,
    tiles,
    steps: |part, Tile { m, n }| {
        let rows = part.matrices.rows;
        let mut steps = vec![cut(part, n, Direction::Forward)];
        steps.extend(on_square_tiles(Matrices { batch: 1, rows, cols: n }, m));
        steps
    },
    mirrored_steps: Some(|part, Tile { m, n }| {
        // Tiles before moves here too: they lie one after the other.
        let cols = part.matrices.rows;
        let mut steps = on_square_tiles(Matrices { batch: 1, rows: n, cols }, m);
        steps.push(cut(part, n, Direction::Backward));
        steps
    }),
};

/// Tiles of every side that divides the rows and leaves some columns over.
fn tiles(part: &Part) -> Result<Vec<Tile>, Infeasible> {
    let Matrices { batch, rows, cols } = part.matrices;
    if batch > 1 {
        return Err(Infeasible::Batch { batch });
    }
    let cap = part.request.cap;
    let bytes = |m: usize| cols % m * rows * part.elem_bytes();
    let leaves_some = |&m: &usize| m > 1 && m < cols && bytes(m) > 0;
    let sides = part.row_divisors().iter().copied().filter(leaves_some);
    let Some(need) = sides.clone().map(bytes).min() else {
        return Err(Infeasible::NothingCut { tiled: rows, cut: cols });
    };
    if need > cap {
        return Err(Infeasible::Workspace { need, cap });
    }
    Ok(sides.filter(|&m| bytes(m) <= cap).map(|m| Tile { m, n: cols / m * m }).collect())
}

/// The first `packed` columns packed, or the others put back.
fn cut(part: &Part, packed: usize, direction: Direction) -> Step {
    let Matrices { rows, cols, .. } = part.matrices;
    let rows = Pitched::new(rows, packed, cols).expect("fewer columns than there are");
    Step { shape: StageShape::Cut { rows, direction }, want: Want::Any }
}
