//! Near-square matrices made square.

use turntile_perm::Padding;

use super::route::{AS_IT_IS, Route, RouteRow, Step, Tile, step};
use crate::device::Want;
use crate::infeasible::Infeasible;
use crate::problem::Matrices;
use crate::shape::{Direction, StageShape};

/// Padded to a square of the longer side where they lie, transposed, unpadded; the only route that
/// needs memory behind the matrices.
///
/// Of a single matrix one of the two is nothing: rows added below need no move, and rows of the longer
/// side have no gaps.
pub const PADDED_SQUARE: RouteRow = RouteRow {
    route: Route::PaddedSquare,
    about: "rows padded to a square in place, 010! by tile pairs, unpadded; needs room behind the matrix",
    source: "thesis section 4.1; Dow 1995",
    of_thesis: true,
    passes: 2,
    any_axes: false,
    ways: AS_IT_IS,
    tiles: |query| {
        let Matrices { rows, cols, .. } = query.matrices;
        let side = rows.max(cols);
        if rows == cols {
            return Err(Infeasible::Square { side });
        }
        let need = room(&query.matrices, side, query.elem_bytes());
        match (need, query.problem.room()) {
            (Some(need), have) if need <= have => Ok(vec![Tile { m: side, n: side }]),
            (Some(need), have) => Err(Infeasible::Room { need, have }),
            (None, _) => Err(Infeasible::TooLarge { side }),
        }
    },
    steps: |query, tile| steps(&query.matrices, tile.m),
    mirrored_steps: None,
};

/// Padded, swapped, unpadded.
pub fn steps(matrices: &Matrices, side: usize) -> Vec<Step> {
    let pad = |padding, direction| {
        let shape = StageShape::Pad { padding, direction };
        Step { shape, want: Want::Any }
    };
    let swap = step(matrices.batch, side, 1, side, 1, Want::Swap);
    let [before, after] = [*matrices, matrices.transposed()].map(|m| padding(m, side));
    vec![pad(before, Direction::Forward), swap, pad(after, Direction::Backward)]
}

/// Elements of all squares, if their bytes fit the address space.
pub fn room(matrices: &Matrices, side: usize, elem_bytes: usize) -> Option<usize> {
    let room = side.checked_mul(side)?.checked_mul(matrices.batch)?;
    let bytes = room.checked_mul(elem_bytes)?;
    (bytes <= isize::MAX as usize).then_some(room)
}

/// The rows of all matrices with the square's pitch; or the matrices themselves, where their rows have
/// that length already.
fn padding(Matrices { batch, rows, cols }: Matrices, side: usize) -> Padding {
    let (count, len, pitch) =
        if cols == side { (batch, rows * cols, side * side) } else { (batch * rows, cols, side) };
    Padding::new(count, len, pitch).expect("within the room")
}
