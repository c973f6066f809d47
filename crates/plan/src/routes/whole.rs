//! Routes of one stage.

use super::route::{AS_IT_IS, Route, RouteRow, step, whole_tile};
use crate::device::Want;
use crate::infeasible::Infeasible;

/// Tile pairs across the diagonal.
pub const SQUARE: RouteRow = RouteRow {
    route: Route::Square,
    about: "010! by swapping tile pairs across the diagonal",
    source: "thesis section 4.1",
    of_thesis: true,
    passes: 1,
    ways: AS_IT_IS,
    tiles: |query| {
        let (rows, cols) = (query.matrices.rows, query.matrices.cols);
        if rows == cols { Ok(whole_tile(query)) } else { Err(Infeasible::NotSquare { rows, cols }) }
    },
    steps: |query, tile| vec![step(query.matrices.batch, tile.m, 1, tile.n, 1, Want::Swap)],
    mirrored_steps: None,
};

/// Everything read before anything is written.
pub const ON_CHIP: RouteRow = RouteRow {
    route: Route::OnChip,
    about: "010! on the whole matrix: read on chip, one barrier, written transposed",
    source: "thesis section 4.5 (barrier-sync), the scope widened to the device",
    of_thesis: true,
    passes: 1,
    ways: AS_IT_IS,
    tiles: |query| Ok(whole_tile(query)),
    steps: |query, tile| vec![step(query.matrices.batch, tile.m, 1, tile.n, 1, Want::Barrier)],
    mirrored_steps: None,
};

/// Element by element along the cycles.
pub const ONE_STAGE: RouteRow = RouteRow {
    route: Route::OneStage,
    about: "cycles of single elements: slow for small elements, right for very long ones",
    source: "thesis section 4.2; Berman 1958, Windley 1959",
    of_thesis: true,
    passes: 1,
    ways: AS_IT_IS,
    tiles: |query| Ok(whole_tile(query)),
    steps: |query, tile| vec![step(query.matrices.batch, tile.m, 1, tile.n, 1, Want::Cycles)],
    mirrored_steps: None,
};
