//! Routes of one stage.

use super::route::{Route, RouteSpec, StageSpec, TileSize, UNMIRRORED, whole_tile};
use crate::device::MethodFilter;
use crate::infeasible::Infeasible;
use crate::problem::MatrixBatch;
use crate::stage_map::StageMap;

/// Swaps tiles: pairs across the diagonal of a square, pairs of an involution of axes, or 3-cycles
/// of the tiles of a cube.
pub const SQUARE: RouteSpec = RouteSpec {
    route: Route::SQUARE,
    summary: "swaps tiles: pairs across a square's diagonal or of a self-inverse axis permutation; 3-cycles of a cube",
    source: "thesis section 4.1",
    in_thesis: true,
    min_passes: 1,
    any_axes: true,
    orientations: UNMIRRORED,
    tiles: |part| {
        let MatrixBatch { rows, cols, .. } = part.matrices;
        match part.axes.elementary() {
            Some(e) if e.is_of_tiles() => Ok(vec![TileSize { m: e.rows, n: e.cols }]),
            _ if part.axes.is_involution() => Ok(vec![whole_tile(part)]),
            _ if !part.is_matrices() => Err(Infeasible::NotSwapped),
            _ => Err(Infeasible::NotSquare { rows, cols }),
        }
    },
    // The squares of 0210! may also be transposed on chip, by a barrier.
    stages: |part, _| {
        let methods = if !part.is_matrices() { MethodFilter::Tiles } else { MethodFilter::Swap };
        vec![StageSpec { map: StageMap::Axes(part.axes), methods }]
    },
    mirrored_stages: None,
};

/// Reads all elements of an instance on chip, waits at one barrier, then writes them.
pub const ON_CHIP: RouteSpec = RouteSpec {
    route: Route::ON_CHIP,
    summary: "010! on the whole matrix: reads it on chip, one barrier, writes it transposed",
    source: "thesis section 4.5 (barrier-sync), the scope widened to the device",
    in_thesis: true,
    min_passes: 1,
    any_axes: true,
    orientations: UNMIRRORED,
    tiles: |part| Ok(vec![whole_tile(part)]),
    stages: |part, _| {
        vec![StageSpec { map: StageMap::Axes(part.axes), methods: MethodFilter::Barrier }]
    },
    mirrored_stages: None,
};

/// Permutes a few long runs, one piece of each at a time.
///
/// All pieces at one offset within their runs form a closed set, however long the runs are.
pub const LONG_RUNS: RouteSpec = RouteSpec {
    route: Route::LONG_RUNS,
    summary: "a few long runs: reads one piece of each run on chip, writes it to the run's destination",
    source: "docs/explanation/how-it-works.md",
    in_thesis: false,
    min_passes: 1,
    any_axes: true,
    orientations: UNMIRRORED,
    tiles: |part| match part.axes.unit() {
        1 => Err(Infeasible::LastMoves),
        _ => Ok(vec![whole_tile(part)]),
    },
    stages: |part, _| {
        vec![StageSpec { map: StageMap::Axes(part.axes), methods: MethodFilter::Pieces }]
    },
    mirrored_stages: None,
};

/// Moves single elements along their cycles.
pub const ONE_STAGE: RouteSpec = RouteSpec {
    route: Route::ONE_STAGE,
    summary: "cycles of single elements: slow for small elements, suitable for very long ones",
    source: "thesis section 4.2; Berman 1958, Windley 1959",
    in_thesis: true,
    min_passes: 1,
    any_axes: true,
    orientations: UNMIRRORED,
    tiles: |part| Ok(vec![whole_tile(part)]),
    stages: |part, _| {
        vec![StageSpec { map: StageMap::Axes(part.axes), methods: MethodFilter::Cycles }]
    },
    mirrored_stages: None,
};

/// Writes the result to another buffer, with tiles chosen by the device.
pub const OUT_OF_PLACE: RouteSpec = RouteSpec {
    route: Route::OUT_OF_PLACE,
    summary: "010! from one buffer to another",
    source: "docs/explanation/how-it-works.md",
    in_thesis: false,
    min_passes: 1,
    any_axes: true,
    orientations: UNMIRRORED,
    tiles: |part| Ok(vec![whole_tile(part)]),
    stages: |part, _| {
        vec![StageSpec { map: StageMap::Axes(part.axes), methods: MethodFilter::Any }]
    },
    mirrored_stages: None,
};
