//! Routes of at most one stage.

use super::{Ask, Infeasible, Route, Tile, Want, nothing_moves, something_moves, step};

/// A row, a column or no element at all.
pub const NOTHING: Route = Route {
    name: "nothing",
    about: "no stage: a row, a column or an empty matrix is its own transpose in memory",
    source: "",
    passes: 0,
    tiles: |ask| {
        if nothing_moves(ask.problem) { whole(ask) } else { Err(Infeasible::ElementsMove) }
    },
    steps: |_, _, _| Vec::new(),
};

/// Tile pairs across the diagonal.
pub const SQUARE: Route = Route {
    name: "square",
    about: "010! by swapping tile pairs across the diagonal",
    source: "thesis section 4.1",
    passes: 1,
    tiles: |ask| {
        something_moves(ask.problem)?;
        let (rows, cols) = (ask.problem.rows(), ask.problem.cols());
        if rows == cols { whole(ask) } else { Err(Infeasible::NotSquare { rows, cols }) }
    },
    steps: |p, _, _| vec![step(p.batch(), p.rows(), 1, p.cols(), 1, Want::Swap)],
};

/// Everything read before anything is written.
pub const ON_CHIP: Route = Route {
    name: "on-chip",
    about: "010! on the whole matrix: read on chip, one barrier, written transposed",
    source: "thesis section 4.5 (barrier-sync), the scope widened to the device",
    passes: 1,
    tiles: |ask| {
        something_moves(ask.problem)?;
        whole(ask)
    },
    steps: |p, _, _| vec![step(p.batch(), p.rows(), 1, p.cols(), 1, Want::Barrier)],
};

/// Element by element along the cycles.
pub const ONE_STAGE: Route = Route {
    name: "one-stage",
    about: "cycles of single elements: slow for small elements, right for very long ones",
    source: "thesis section 4.2; Berman 1958, Windley 1959",
    passes: 1,
    tiles: |ask| {
        something_moves(ask.problem)?;
        whole(ask)
    },
    steps: |p, _, _| {
        // A single axis pair with unit 1 is named 010! whatever its method.
        vec![step(p.batch(), p.rows(), 1, p.cols(), 1, Want::Cycles)]
    },
};

/// The matrix as its own tile.
fn whole(ask: &Ask) -> Result<Vec<Tile>, Infeasible> {
    Ok(vec![Tile { m: ask.problem.rows(), n: ask.problem.cols() }])
}
