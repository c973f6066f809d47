//! Two stages: one on chip, one moving long super-elements.

use turntile_perm::{AxisPermutation, PermutationError};

use super::route::{BOTH, Route, RouteSpec, StageSpec, TileSize, step};
use super::tiles::{between, holdable};
use crate::device::MethodFilter;
use crate::infeasible::Infeasible;
use crate::problem::MatrixBatch;
use crate::stage_map::StageMap;

/// Square tiles where they lie, then their rows across the matrix.
///
/// `(M', T, N', T)`: 0210! transposes every tile in place, 2100! takes row `a` of tile `(I, J)`,
/// which is now part of row `J·T + a` of the result, to its place there. No on-chip limit but a tile.
pub const SQUARE_TILE: RouteSpec = RouteSpec {
    route: Route::SQUARE_TILE,
    summary: "0210! on square tiles, then 2100! on their rows",
    source: "docs/algorithm.md",
    in_thesis: false,
    min_passes: 2,
    any_axes: true,
    // Of matrices the mirror image is the same in another order.
    orientations: |part| [true, !part.is_matrices()],
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

/// The same for any axes, of which `f` is the last of the source and `g` the last of the result, both `side` times as
/// long as another: the last digits of both change places, so that `g`'s lies last as in the result, and its runs of
/// `side` elements go to their places.
///
/// `None` where more digits move apart than can be held.
fn on_any_axes(axes: &AxisPermutation, side: usize) -> Option<Vec<StageSpec>> {
    let (extents, order): (_, Vec<usize>) = (axes.extents(), axes.order().collect());
    let (f, g) = (extents.len() - 1, *order.last()?);
    // An axis' digits have twice its number; the lower of two has one more.
    let digits = |axis: usize| {
        let split = axis == f || axis == g;
        let high = (2 * axis, if split { extents[axis] / side } else { extents[axis] });
        std::iter::once(high).chain(split.then_some((2 * axis + 1, side)))
    };
    let mut lie: Vec<(usize, usize)> = (0..=f).flat_map(digits).collect();
    let place = |lie: &[(usize, usize)], digit| lie.iter().position(|&(other, _)| other == digit);
    let (low, last) = (place(&lie, 2 * g + 1)?, lie.len() - 1);
    let count = |digits: &[(usize, usize)]| digits.iter().map(|&(_, extent)| extent).product();
    let (before, between) = (count(&lie[..low]), count(&lie[low + 1..last]));
    let tiles = step(before, side, between, side, 1, MethodFilter::Tiles);
    lie.swap(low, last);
    let goal = order.iter().flat_map(|&axis| digits(axis));
    let goal: Vec<usize> = goal.filter_map(|(digit, _)| place(&lie, digit)).collect();
    let extents: Vec<usize> = lie.iter().map(|&(_, extent)| extent).collect();
    let runs = AxisPermutation::new(&extents, &goal).ok()?;
    Some(vec![tiles, StageSpec { map: StageMap::Axes(runs), methods: MethodFilter::Any }])
}

/// The steps of route `square-tile` with tiles of `side`.
pub(super) fn on_square_tiles(matrices: MatrixBatch, side: usize) -> Vec<StageSpec> {
    let MatrixBatch { batch, rows, cols } = matrices;
    let (down, across) = (rows / side, cols / side);
    vec![
        // Tiles as wide as the matrix are squares one after the other.
        step(batch * down, side, across, side, 1, MethodFilter::Tiles),
        step(batch, down, side, across, side, MethodFilter::Any),
    ]
}

/// Bytes of a run that goes anywhere, at least, unless all are asked for: of 33 bytes three legs were twice as fast (H200, 483x45x271x165 bytes).
const RUN_BYTES: usize = 64;

/// Super-elements of `n` into panels, then every panel on chip. Mirrored: every panel of `n` rows on
/// chip, then super-elements out of them.
///
/// Of any axes a panel has `n` columns of the source's last axis, and for rows all axes behind that one in the result.
/// Super-elements go to their panels whatever the order of the other axes.
pub const PANEL: RouteSpec = RouteSpec {
    route: Route::PANEL,
    summary: "runs of n into panels of n columns, then 010! on every panel; mirrored 010!, then runs",
    source: "thesis section 4.7, two of its stages done by one barrier; chapter 5 (AoS, ASTA, SoA) where a side is short",
    in_thesis: true,
    min_passes: 2,
    any_axes: true,
    orientations: BOTH,
    tiles: |part| {
        if part.axes.unit() > 1 {
            return Err(Infeasible::LastStays);
        }
        let (rows, cols) = (panel_rows(&part.axes), part.matrices.cols);
        let short = part.exhaustive || part.is_matrices();
        let least = if short { 2 } else { RUN_BYTES.div_ceil(part.elem_bytes()).max(2) };
        let sides = between(part.col_divisors(), least, cols - 1)?;
        holdable(part, sides.map(|n| TileSize { m: rows, n }))
    },
    stages: |part, TileSize { m, n }| {
        let panels = part.axes.len() / (m * n);
        let tiles = step(panels, m, 1, n, 1, MethodFilter::Barrier);
        let runs = runs_into_panels(&part.axes, n).into_iter();
        runs.map(|shape| StageSpec { map: shape, methods: MethodFilter::Any })
            .chain([tiles])
            .collect()
    },
    mirrored_stages: None,
};

/// Elements of the axes that lie behind the source's last one in the result.
fn panel_rows(axes: &AxisPermutation) -> usize {
    let (extents, last) = (axes.extents(), axes.extents().len() - 1);
    axes.order().skip_while(|&axis| axis != last).skip(1).map(|axis| extents[axis]).product()
}

/// Runs of `n` elements of the source's last axis to where the panels that hold them lie in the result.
fn runs_into_panels(axes: &AxisPermutation, n: usize) -> Option<StageMap> {
    let (mut extents, last) = (axes.extents().to_vec(), axes.extents().len() - 1);
    extents[last] /= n;
    extents.push(n);
    let order: Vec<usize> = axes.order().chain([last + 1]).collect();
    AxisPermutation::new(&extents, &order).ok().map(StageMap::Axes)
}
