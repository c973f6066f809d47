//! Routes of one stage.

use super::route::{AS_IT_IS, Route, RouteSpec, StageSpec, TileSize, whole_tile};
use crate::device::MethodFilter;
use crate::infeasible::Infeasible;
use crate::problem::MatrixBatch;
use crate::stage_map::StageMap;

/// Tile pairs across the diagonal, or of axes that change places in pairs, and threes of a cube.
pub const SQUARE: RouteSpec = RouteSpec {
    route: Route::SQUARE,
    summary: "tiles that change places: pairs across a square's diagonal, or where axes change places in pairs; threes of a cube",
    source: "thesis section 4.1",
    in_thesis: true,
    min_passes: 1,
    any_axes: true,
    orientations: AS_IT_IS,
    tiles: |part| {
        let MatrixBatch { rows, cols, .. } = part.matrices;
        match part.axes.elementary() {
            Some(e) if e.is_of_tiles() => Ok(vec![TileSize { m: e.rows, n: e.cols }]),
            _ if part.axes.is_involution() => Ok(vec![whole_tile(part)]),
            _ if !part.is_matrices() => Err(Infeasible::NotSwapped),
            _ => Err(Infeasible::NotSquare { rows, cols }),
        }
    },
    // What lies between the two axes that change places makes them squares side by side.
    stages: |part, _| {
        let want = if !part.is_matrices() { MethodFilter::Tiles } else { MethodFilter::Swap };
        vec![StageSpec { map: StageMap::Axes(part.axes), methods: want }]
    },
    mirrored_stages: None,
};

/// Everything read before anything is written.
pub const ON_CHIP: RouteSpec = RouteSpec {
    route: Route::ON_CHIP,
    summary: "010! on the whole matrix: read on chip, one barrier, written transposed",
    source: "thesis section 4.5 (barrier-sync), the scope widened to the device",
    in_thesis: true,
    min_passes: 1,
    any_axes: true,
    orientations: AS_IT_IS,
    tiles: |part| Ok(vec![whole_tile(part)]),
    stages: |part, _| {
        vec![StageSpec { map: StageMap::Axes(part.axes), methods: MethodFilter::Barrier }]
    },
    mirrored_stages: None,
};

/// Element by element along the cycles.
pub const ONE_STAGE: RouteSpec = RouteSpec {
    route: Route::ONE_STAGE,
    summary: "cycles of single elements: slow for small elements, right for very long ones",
    source: "thesis section 4.2; Berman 1958, Windley 1959",
    in_thesis: true,
    min_passes: 1,
    any_axes: true,
    orientations: AS_IT_IS,
    tiles: |part| Ok(vec![whole_tile(part)]),
    stages: |part, _| {
        vec![StageSpec { map: StageMap::Axes(part.axes), methods: MethodFilter::Cycles }]
    },
    mirrored_stages: None,
};

/// From one place to another, with tiles of the device's own.
pub const OUT_OF_PLACE: RouteSpec = RouteSpec {
    route: Route::OUT_OF_PLACE,
    summary: "010! read in one place and written in another",
    source: "docs/algorithm.md",
    in_thesis: false,
    min_passes: 1,
    any_axes: true,
    orientations: AS_IT_IS,
    tiles: |part| Ok(vec![whole_tile(part)]),
    stages: |part, _| {
        vec![StageSpec { map: StageMap::Axes(part.axes), methods: MethodFilter::Any }]
    },
    mirrored_stages: None,
};
