//! Near-square matrices made square.

use turntile_perm::Padding;

use super::{Infeasible, Route, Step, Tile, Want, something_moves, step};
use crate::problem::Problem;
use crate::stage::{Direction, StageShape};

/// Padded to a square of the longer side where they lie, transposed, unpadded; the only route that
/// needs memory behind the matrices.
///
/// Of a single matrix one of the two is nothing: rows added below need no move, and rows of the longer
/// side have no gaps.
pub const PADDED_SQUARE: Route = Route {
    name: "padded-square",
    about: "rows padded to a square in place, 010! by tile pairs, unpadded; needs room behind the matrix",
    source: "thesis section 4.1; Dow 1995",
    passes: 2,
    tiles: |ask| {
        something_moves(ask.problem)?;
        let side = ask.problem.rows().max(ask.problem.cols());
        if ask.problem.rows() == ask.problem.cols() {
            return Err(Infeasible::Square { side });
        }
        let (need, have) = (room(ask.problem, side), ask.problem.room());
        match need {
            Some(need) if need <= have => Ok(vec![Tile { m: side, n: side }]),
            Some(need) => Err(Infeasible::Room { need, have }),
            None => Err(Infeasible::TooLarge { side }),
        }
    },
    steps: |p, _, Tile { m: side, .. }| {
        let pad = |padding, direction| {
            let shape = StageShape::Pad { padding, direction };
            Step { shape, want: Want::Any }
        };
        let swap = step(p.batch(), side, 1, side, 1, Want::Swap);
        let [before, after] = paddings(p, side);
        vec![pad(before, Direction::Forward), swap, pad(after, Direction::Backward)]
    },
};

/// Elements of all squares, if their bytes fit the address space.
pub fn room(p: &Problem, side: usize) -> Option<usize> {
    let room = side.checked_mul(side)?.checked_mul(p.batch())?;
    let bytes = room.checked_mul(p.elem_bytes())?;
    (bytes <= isize::MAX as usize).then_some(room)
}

/// The rows of all matrices with the square's pitch, and the transposed ones likewise; or the matrices
/// themselves, where their rows have that length already.
fn paddings(p: &Problem, side: usize) -> [Padding; 2] {
    let of = |rows, cols| {
        let (count, len, pitch) = if cols == side {
            (p.batch(), rows * cols, side * side)
        } else {
            (p.batch() * rows, cols, side)
        };
        Padding::new(count, len, pitch).expect("within the room")
    };
    [of(p.rows(), p.cols()), of(p.cols(), p.rows())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Planner};

    #[test]
    fn squares_that_cannot_be_counted_say_so() {
        let side = 1 << 40;
        let survey = Planner::new(Limits::host(1)).survey(&Problem::new(side, 3, 1).unwrap());
        let of_route = survey.declined.iter().find(|declined| declined.route == PADDED_SQUARE.name);
        let reason = of_route.map(|declined| &declined.why);
        assert_eq!(reason, Some(&Infeasible::TooLarge { side }));
    }
}
