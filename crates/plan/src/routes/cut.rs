//! Square tiles of one side, and what they leave of the other cut off.

use turntile_perm::PitchedRows;

use super::panels::on_square_tiles;
use super::route::{BOTH, Route, RouteSpec, StageSpec, TileSize};
use crate::device::MethodFilter;
use crate::infeasible::Infeasible;
use crate::phase_problem::PhaseProblem;
use crate::problem::MatrixBatch;
use crate::stage_map::{Direction, StageMap};

/// The columns that square tiles leave over cut off, then route `square-tile`, of one stage for a near-square
/// matrix; what was cut off lies behind, as the last rows of the result. Mirrored: the first rows by route
/// `square-tile`, then the last ones put back as columns of the result. A tile `m x n` is square
/// tiles of side `m` on the first `n` columns.
///
/// Workspace: the columns cut off, `(N - n) M` elements.
pub const CUT: RouteSpec = RouteSpec {
    route: Route::CUT,
    summary: "columns that square tiles leave over cut off in place, then square-tile; mirrored rows; one matrix",
    source: "FFTW 3 (transpose-cut); docs/algorithm.md",
    in_thesis: false,
    min_passes: 2,
    any_axes: false,
    orientations: BOTH,
    tiles,
    stages: |part, TileSize { m, n }| {
        let rows = part.matrices.rows;
        let mut steps = vec![cut(part, n, Direction::Forward)];
        steps.extend(on_square_tiles(MatrixBatch { batch: 1, rows, cols: n }, m));
        steps
    },
    mirrored_stages: Some(|part, TileSize { m, n }| {
        // Tiles before moves here too: they lie one after the other.
        let cols = part.matrices.rows;
        let mut steps = on_square_tiles(MatrixBatch { batch: 1, rows: n, cols }, m);
        steps.push(cut(part, n, Direction::Backward));
        steps
    }),
};

/// Tiles of every side that divides the rows and leaves some columns over.
fn tiles(part: &PhaseProblem) -> Result<Vec<TileSize>, Infeasible> {
    let MatrixBatch { batch, rows, cols } = part.matrices;
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
    Ok(sides.filter(|&m| bytes(m) <= cap).map(|m| TileSize { m, n: cols / m * m }).collect())
}

/// The first `packed` columns packed, or the others put back.
fn cut(part: &PhaseProblem, packed: usize, direction: Direction) -> StageSpec {
    let MatrixBatch { rows, cols, .. } = part.matrices;
    let rows = PitchedRows::new(rows, packed, cols).expect("fewer columns than there are");
    StageSpec { map: StageMap::Cut { rows, direction }, methods: MethodFilter::Any }
}
