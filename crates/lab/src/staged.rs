//! The four-stage routes of Karlsson and Gustavson, rows beside the planner's own table.

use turntile::plan::{Route, TileSize};
use turntile_perm::Elementary;
use turntile_plan::routes::{PhaseProblem, RouteSpec, StageSpec};
use turntile_plan::{Infeasible, MatrixBatch, MethodFilter, ROUTES, StageMap};

use crate::turned::TurnedTiles;

/// Four stages.
pub const FOUR_STAGE: Route = Route::named("four-stage");
/// The four stages with the second and third in one pass.
pub const FOUR_STAGE_FUSED: Route = Route::named("four-stage-fused");

/// Both, for [`Planner::with_routes`](turntile::plan::Planner::with_routes).
pub static FOUR_STAGES: [RouteSpec; 2] = [
    RouteSpec {
        route: FOUR_STAGE,
        summary: "0100! on n, 0010! on m x n tiles, 1000! on m·n, 0100! on m",
        source: "thesis section 4.4; Gustavson 2012, Karlsson 2009",
        in_thesis: true,
        min_passes: 4,
        any_axes: false,
        orientations: |_| [true, false],
        tiles,
        stages: |part, tile| {
            let (TurnedTiles { batch, rows, cols, m, n }, [first, last]) = stages(part, tile);
            let tiles = step(batch * rows * cols, m, n, 1);
            vec![first, tiles, step(batch, rows, cols, m * n), last]
        },
        mirrored_stages: None,
    },
    RouteSpec {
        route: FOUR_STAGE_FUSED,
        summary: "0100! on n, 1010! moving and transposing m x n tiles, 0100! on m",
        source: "thesis section 4.8.3 (+fusion)",
        in_thesis: true,
        min_passes: 3,
        any_axes: false,
        orientations: |_| [true, false],
        tiles,
        stages: |part, tile| {
            let (turned, [first, last]) = stages(part, tile);
            let turned =
                StageSpec { map: StageMap::Axes(turned.into()), methods: MethodFilter::Any };
            vec![first, turned, last]
        },
        mirrored_stages: None,
    },
];

/// As of the three stages.
fn tiles(part: &PhaseProblem) -> Result<Vec<TileSize>, Infeasible> {
    let three = ROUTES.iter().find(|row| row.route == Route::THREE_STAGE);
    (three.expect("in the table").tiles)(part)
}

/// The tiles in the middle, with the stages before and after.
fn stages(part: &PhaseProblem, TileSize { m, n }: TileSize) -> (TurnedTiles, [StageSpec; 2]) {
    let MatrixBatch { batch, rows, cols } = part.matrices;
    let (rows, cols) = (rows / m, cols / n);
    let ends = [step(batch * rows, m, cols, n), step(batch * cols, rows, n, m)];
    (TurnedTiles { batch, rows, cols, m, n }, ends)
}

fn step(batch: usize, rows: usize, cols: usize, unit: usize) -> StageSpec {
    StageSpec {
        map: Elementary { batch, rows, mid: 1, cols, unit }.into(),
        methods: MethodFilter::Any,
    }
}
