//! The table of routes: each composes a full transposition of stages.
//!
//! A route says which tiles it could use and what its stages do to offsets; how each stage is moved, what
//! that costs and whether the workspace cap allows it is the device's to offer. Adding a route is one
//! file and one row.
//!
//! A route *mirrored* is the route of the transposed problem run backwards, every stage undone in turn.

mod cut;
mod into;
mod padded;
mod panels;
mod route;
mod slots;
mod staged;
mod tiles;
mod whole;

use crate::problem::Problem;
use crate::shape::StageShape;

pub use route::{Query, Route, RouteRow, Sides, Step, Tile, UnknownRoute};

/// Every route's row, in the order of [`Route::ALL`].
pub static ROUTES: [RouteRow; 12] = [
    whole::SQUARE,
    whole::ON_CHIP,
    panels::SQUARE_TILE,
    panels::PANEL,
    slots::ALIGNED_SLOTS,
    cut::CUT,
    padded::PADDED_SQUARE,
    staged::THREE_STAGE,
    staged::FOUR_STAGE_FUSED,
    staged::FOUR_STAGE,
    whole::ONE_STAGE,
    into::OUT_OF_PLACE,
];

/// The shapes of route `padded-square`'s stages for `problem`, where its room can be counted.
pub(crate) fn padded_square(problem: &Problem) -> Option<Vec<StageShape>> {
    let matrices = problem.matrices()?;
    let side = matrices.rows.max(matrices.cols);
    padded::room(&matrices, side, problem.elem_bytes())?;
    let shapes = padded::steps(&matrices, side).into_iter().map(|step| step.shape);
    Some(shapes.filter(|shape| !shape.is_identity()).collect())
}

/// The row of a route; none for [`Route::Nothing`].
pub fn row(route: Route) -> Option<&'static RouteRow> {
    ROUTES.iter().find(|row| row.route == route)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_has_its_row() {
        assert_eq!(ROUTES.each_ref().map(|row| row.route), Route::ALL);
    }
}
