//! Routes of one stage.

use super::route::{AS_IT_IS, Route, RouteRow, Step, Tile, whole_tile};
use crate::device::Want;
use crate::infeasible::Infeasible;
use crate::problem::Matrices;
use crate::shape::StageShape;

/// Tile pairs across the diagonal, and threes of a cube.
pub const SQUARE: RouteRow = RouteRow {
    route: Route::SQUARE,
    about: "010! by tiles that change places: pairs across a square's diagonal, threes of a cube",
    source: "thesis section 4.1",
    of_thesis: true,
    passes: 1,
    any_axes: true,
    ways: AS_IT_IS,
    tiles: |query| {
        let Matrices { rows, cols, .. } = query.matrices;
        match query.axes.elementary() {
            Some(e) if e.is_of_tiles() => Ok(vec![Tile { m: e.rows, n: e.cols }]),
            _ if query.is_general() => Err(Infeasible::NotSwapped),
            _ => Err(Infeasible::NotSquare { rows, cols }),
        }
    },
    // What lies between the two axes that change places makes them squares side by side.
    steps: |query, _| {
        let want = if query.is_general() { Want::Tiles } else { Want::Swap };
        vec![Step { shape: StageShape::Axes(query.axes), want }]
    },
    mirrored_steps: None,
};

/// Everything read before anything is written.
pub const ON_CHIP: RouteRow = RouteRow {
    route: Route::ON_CHIP,
    about: "010! on the whole matrix: read on chip, one barrier, written transposed",
    source: "thesis section 4.5 (barrier-sync), the scope widened to the device",
    of_thesis: true,
    passes: 1,
    any_axes: true,
    ways: AS_IT_IS,
    tiles: |query| Ok(whole_tile(query)),
    steps: |query, _| vec![Step { shape: StageShape::Axes(query.axes), want: Want::Barrier }],
    mirrored_steps: None,
};

/// Element by element along the cycles.
pub const ONE_STAGE: RouteRow = RouteRow {
    route: Route::ONE_STAGE,
    about: "cycles of single elements: slow for small elements, right for very long ones",
    source: "thesis section 4.2; Berman 1958, Windley 1959",
    of_thesis: true,
    passes: 1,
    any_axes: true,
    ways: AS_IT_IS,
    tiles: |query| Ok(whole_tile(query)),
    steps: |query, _| vec![Step { shape: StageShape::Axes(query.axes), want: Want::Cycles }],
    mirrored_steps: None,
};
