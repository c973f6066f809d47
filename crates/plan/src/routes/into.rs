//! From one place to another.

use super::route::{AS_IT_IS, Route, RouteRow, Step, whole_tile};
use crate::device::Want;
use crate::shape::StageShape;

/// One pass, with tiles of the device's own.
pub const OUT_OF_PLACE: RouteRow = RouteRow {
    route: Route::OUT_OF_PLACE,
    about: "010! read in one place and written in another",
    source: "docs/algorithm.md",
    of_thesis: false,
    passes: 1,
    any_axes: true,
    ways: AS_IT_IS,
    tiles: |query| Ok(whole_tile(query)),
    steps: |query, _| vec![Step { shape: StageShape::Axes(query.axes), want: Want::Any }],
    mirrored_steps: None,
};
