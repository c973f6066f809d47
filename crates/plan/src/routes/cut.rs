//! Square tiles on the columns that they cover, with the remaining columns cut off.

use turntile_perm::PitchedRows;

use super::panels::on_square_tiles;
use super::route::{BOTH_ORIENTATIONS, Route, RouteSpec, StageSpec, TileSize};
use crate::device::MethodFilter;
use crate::infeasible::Infeasible;
use crate::phase_problem::PhaseProblem;
use crate::problem::MatrixBatch;
use crate::stage_map::{Direction, StageMap};

/// Cuts off the columns that square tiles do not cover, then applies route `square-tile`, which has
/// one stage if tiles are as wide as the covered columns.
///
/// The columns that are cut off become the last rows of the result. Mirrored: route `square-tile`
/// on the first rows, then the last rows are inserted as columns of the result. A tile `m x n`
/// means square tiles of side `m` on the first `n` columns.
///
/// Workspace: the columns that are cut off, `(N - n) M` elements of an `M x N` matrix.
pub const CUT: RouteSpec = RouteSpec {
    route: Route::CUT,
    summary: "cuts off, in place, the columns that square tiles do not cover, then square-tile; mirrored: rows; one matrix",
    source: "FFTW 3 (transpose-cut); docs/explanation/how-it-works.md",
    in_thesis: false,
    min_passes: 2,
    any_axes: false,
    orientations: BOTH_ORIENTATIONS,
    tiles,
    stages: |part, TileSize { m, n }| {
        let rows = part.matrices.rows;
        let mut stages = vec![cut(part, n, Direction::Forward)];
        stages.extend(on_square_tiles(MatrixBatch { batch: 1, rows, cols: n }, m));
        stages
    },
    mirrored_stages: Some(|part, TileSize { m, n }| {
        // `on_square_tiles` transposes the tiles first, also when mirrored. Tiles as wide as the
        // matrix are consecutive squares.
        let cols = part.matrices.rows;
        let mut stages = on_square_tiles(MatrixBatch { batch: 1, rows: n, cols }, m);
        stages.push(cut(part, n, Direction::Backward));
        stages
    }),
};

/// Returns a tile for every side that divides the number of rows, leaves columns uncovered and
/// fits the workspace cap.
fn tiles(part: &PhaseProblem) -> Result<Vec<TileSize>, Infeasible> {
    let MatrixBatch { batch, rows, cols } = part.matrices;
    if batch > 1 {
        return Err(Infeasible::Batch { batch });
    }
    let cap = part.request.cap;
    let bytes = |m: usize| cols % m * rows * part.itemsize();
    let leaves_rest = |&m: &usize| m > 1 && m < cols && bytes(m) > 0;
    let sides = part.row_divisors().iter().copied().filter(leaves_rest);
    let Some(need) = sides.clone().map(bytes).min() else {
        return Err(Infeasible::NoRemainder { tiled: rows, cut: cols });
    };
    if need > cap {
        return Err(Infeasible::Workspace { need, cap });
    }
    Ok(sides.filter(|&m| bytes(m) <= cap).map(|m| TileSize { m, n: cols / m * m }).collect())
}

/// Returns the stage that makes the first `packed` columns contiguous and cuts off the rest.
/// Backward, the stage inserts the rest again.
fn cut(part: &PhaseProblem, packed: usize, direction: Direction) -> StageSpec {
    let MatrixBatch { rows, cols, .. } = part.matrices;
    let rows = PitchedRows::new(rows, packed, cols).expect("packed <= cols");
    StageSpec { map: StageMap::Cut { rows, direction }, methods: MethodFilter::Any }
}
