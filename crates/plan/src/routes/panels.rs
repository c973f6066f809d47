//! Routes of two stages: one on chip, and one that moves long super-elements.

use turntile_perm::{AxisPermutation, PermutationError};

use super::route::{BOTH_ORIENTATIONS, Route, RouteSpec, StageSpec, TileSize, step};
use super::tiles::{between, fitting_on_chip};
use crate::device::MethodFilter;
use crate::infeasible::Infeasible;
use crate::problem::MatrixBatch;
use crate::stage_map::StageMap;

/// Transposes square tiles of side `T` in place, then moves their rows across the matrix.
///
/// On axes `(M', T, N', T)`, 0210! transposes every tile in place. Row `a` of tile `(I, J)` is then
/// part of row `J·T + a` of the result, and 2100! moves it there. Only a tile must fit on chip.
pub const SQUARE_TILE: RouteSpec = RouteSpec {
    route: Route::SQUARE_TILE,
    summary: "0210! on square tiles, then 2100! on their rows",
    source: "docs/explanation/how-it-works.md",
    in_thesis: false,
    min_passes: 2,
    any_axes: true,
    // For matrices the mirrored route has the same stages in another order, which matters only to
    // axes that are reversed in the stage that moves runs.
    orientations: |part| [true, part.flipped || !part.is_matrices()],
    tiles: |part| {
        let (rows, cols) = (part.matrices.rows, part.matrices.cols);
        if part.axes.unit() > 1 {
            return Err(Infeasible::LastStays);
        }
        let mut common = part.row_divisors().iter().filter(|&&side| side > 1 && cols % side == 0);
        if !part.is_matrices()
            && common.clone().next().is_some_and(|&t| on_any_axes(&part.axes, t).is_none())
        {
            let axes = part.axes.extents().len() + 2;
            return Err(PermutationError::TooMany { axes }.into());
        }
        let tiles: Vec<TileSize> = common.by_ref().map(|&t| TileSize { m: t, n: t }).collect();
        if tiles.is_empty() { Err(Infeasible::Coprime { rows, cols }) } else { Ok(tiles) }
    },
    stages: |part, tile| {
        if !part.is_matrices() {
            on_any_axes(&part.axes, tile.m).unwrap_or_default()
        } else {
            on_square_tiles(part.matrices, tile.m)
        }
    },
    mirrored_stages: None,
};

/// Returns the stages of route `square-tile` for any axes, with square tiles of side `side`.
///
/// `f` is the last axis of the source and `g` the last axis of the result; `side` divides both
/// extents. Each of the two axes is split into a high digit and a low digit of extent `side`. The
/// first stage swaps the low digits, so that of `g` is last, as in the result. The second stage
/// moves runs of `side` elements.
///
/// Returns `None` if the second stage permutes more digits than an [`AxisPermutation`] supports.
fn on_any_axes(axes: &AxisPermutation, side: usize) -> Option<Vec<StageSpec>> {
    let (extents, order): (_, Vec<usize>) = (axes.extents(), axes.order().collect());
    let (f, g) = (extents.len() - 1, *order.last()?);
    // Digit `2 · axis` is the only or the high digit of an axis, `2 · axis + 1` the low digit.
    let digits = |axis: usize| {
        let split = axis == f || axis == g;
        let high = (2 * axis, if split { extents[axis] / side } else { extents[axis] });
        std::iter::once(high).chain(split.then_some((2 * axis + 1, side)))
    };
    let mut layout: Vec<(usize, usize)> = (0..=f).flat_map(digits).collect();
    let position =
        |layout: &[(usize, usize)], digit| layout.iter().position(|&(other, _)| other == digit);
    let (low, last) = (position(&layout, 2 * g + 1)?, layout.len() - 1);
    let count = |digits: &[(usize, usize)]| digits.iter().map(|&(_, extent)| extent).product();
    let (before, between) = (count(&layout[..low]), count(&layout[low + 1..last]));
    let tiles = step(before, side, between, side, 1, MethodFilter::Tiles);
    layout.swap(low, last);
    let goal = order.iter().flat_map(|&axis| digits(axis));
    let goal: Vec<usize> = goal.filter_map(|(digit, _)| position(&layout, digit)).collect();
    let extents: Vec<usize> = layout.iter().map(|&(_, extent)| extent).collect();
    let runs = AxisPermutation::new(&extents, &goal).ok()?;
    Some(vec![tiles, StageSpec { map: StageMap::Axes(runs), methods: MethodFilter::Any }])
}

/// Returns the stages of route `square-tile` for matrices, with square tiles of side `side`.
pub(super) fn on_square_tiles(matrices: MatrixBatch, side: usize) -> Vec<StageSpec> {
    let MatrixBatch { batch, rows, cols } = matrices;
    let (down, across) = (rows / side, cols / side);
    vec![
        // If a tile is as wide as the matrix, the tiles are consecutive squares.
        step(batch * down, side, across, side, 1, MethodFilter::Tiles),
        step(batch, down, side, across, side, MethodFilter::Any),
    ]
}

/// Minimum bytes of a run of route `panel` for axes that are not matrices, unless every tile is
/// wanted. Compared with runs of 33 bytes, three phases were twice as fast (H200, 483x45x271x165
/// bytes).
const RUN_BYTES: usize = 64;

/// Moves super-elements of `n` elements into panels, then transposes every panel on chip.
///
/// Mirrored: transposes every panel of `n` rows on chip, then moves super-elements out of them.
///
/// For axes that are not matrices, a panel has `n` columns of the source's last axis. Its rows are
/// all axes that follow that axis in the result.
pub const PANEL: RouteSpec = RouteSpec {
    route: Route::PANEL,
    summary: "moves runs of n into panels of n columns, then 010! on every panel; mirrored: 010!, then runs",
    source: "thesis section 4.7, two of its stages done by one barrier; chapter 5 (AoS, ASTA, SoA) where a side is short",
    in_thesis: true,
    min_passes: 2,
    any_axes: true,
    orientations: BOTH_ORIENTATIONS,
    tiles: |part| {
        if part.axes.unit() > 1 {
            return Err(Infeasible::LastStays);
        }
        let (rows, cols) = (panel_rows(&part.axes), part.matrices.cols);
        let short = part.exhaustive || part.is_matrices();
        let least = if short { 2 } else { RUN_BYTES.div_ceil(part.itemsize()).max(2) };
        let sides = between(part.col_divisors(), least, cols - 1)?;
        fitting_on_chip(part, sides.map(|n| TileSize { m: rows, n }))
    },
    stages: |part, TileSize { m, n }| {
        let panels = part.axes.len() / (m * n);
        let tiles = step(panels, m, 1, n, 1, MethodFilter::Barrier);
        let runs = runs_into_panels(&part.axes, n).into_iter();
        runs.map(|map| StageSpec { map, methods: MethodFilter::Any }).chain([tiles]).collect()
    },
    mirrored_stages: None,
};

/// Returns the number of rows of a panel: the product of the extents that follow the source's last
/// axis in the result.
fn panel_rows(axes: &AxisPermutation) -> usize {
    let (extents, last) = (axes.extents(), axes.extents().len() - 1);
    axes.order().skip_while(|&axis| axis != last).skip(1).map(|axis| extents[axis]).product()
}

/// Returns the map that moves runs of `n` elements of the source's last axis to their panels in the
/// result.
fn runs_into_panels(axes: &AxisPermutation, n: usize) -> Option<StageMap> {
    let (mut extents, last) = (axes.extents().to_vec(), axes.extents().len() - 1);
    extents[last] /= n;
    extents.push(n);
    let order: Vec<usize> = axes.order().chain([last + 1]).collect();
    AxisPermutation::new(&extents, &order).ok().map(StageMap::Axes)
}
