//! The thesis's composition of elementary transpositions, with `M = M'·m` and `N = N'·n`.

use super::route::{BOTH_ORIENTATIONS, Route, RouteSpec, TileSize, step};
use super::tiles::pairs;
use crate::device::MethodFilter;
use crate::problem::MatrixBatch;

/// Three stages on axes `(M, N', n)`: to `(N', M, n) = (N', M', m, n)`, to `(N', M', n, m)`, and to
/// `(N', n, M', m)`.
pub const THREE_STAGE: RouteSpec = RouteSpec {
    route: Route::THREE_STAGE,
    summary: "100! on n, 0010! on m x n tiles, 0100! on m; mirrored: the inverse stages in reverse order",
    source: "thesis section 4.7",
    in_thesis: true,
    min_passes: 3,
    any_axes: false,
    orientations: BOTH_ORIENTATIONS,
    tiles: pairs,
    stages: |part, TileSize { m, n }| {
        let MatrixBatch { batch, rows, cols } = part.matrices;
        let (down, across) = (rows / m, cols / n);
        vec![
            step(batch, rows, 1, across, n, MethodFilter::Any),
            step(batch * across * down, m, 1, n, 1, MethodFilter::Any),
            step(batch * across, down, 1, n, m, MethodFilter::Any),
        ]
    },
    mirrored_stages: None,
};
