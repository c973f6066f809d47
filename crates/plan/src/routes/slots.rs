//! Aligned slots: two passes for any shape.

use super::route::{Query, Route, RouteRow, Step, Tile};
use crate::device::Want;
use crate::infeasible::Infeasible;
use crate::problem::Matrices;
use crate::shape::{Direction, StageShape};

/// Slots gathered into each chunk's own memory, then moved; mirrored when there are more columns
/// than rows, so that a chunk is always `slot` or more short rows. A tile `m x n` is a slot of `m`
/// elements and chunks of `n` rows.
pub const ALIGNED_SLOTS: RouteRow = RouteRow {
    route: Route::AlignedSlots,
    about: "slots gathered chunk by chunk, then moved; any shape; mirrored where there are more columns than rows",
    source: "docs/routes.md",
    of_thesis: false,
    // One, when a single chunk holds the matrix.
    passes: 1,
    any_axes: false,
    ways: |query| {
        let tall = query.matrices.rows >= query.matrices.cols;
        [tall, !tall]
    },
    tiles,
    steps: |query, Tile { m, n }| {
        let Matrices { batch, rows, cols } = query.matrices;
        let Some(slots) = query.device.slots(rows, cols, m, n) else { return Vec::new() };
        let direction = Direction::Forward;
        vec![
            Step { shape: StageShape::SlotGather { batch, slots, direction }, want: Want::Any },
            Step { shape: StageShape::SlotMove { batch, slots, direction }, want: Want::Cycles },
        ]
    },
    mirrored_steps: None,
};

/// Longest slot worth trying: moves are as fast as a copy from here on.
const LONGEST_SLOT_BYTES: usize = 4096;

/// Slots of a power of two of elements (every length for sides up to 64 where all are asked for; a single
/// element would be the one-stage route), with the chunks that suit the device.
fn tiles(query: &Query) -> Result<Vec<Tile>, Infeasible> {
    let Matrices { rows, cols, .. } = query.matrices;
    let elem_bytes = query.elem_bytes();
    let longest = (LONGEST_SLOT_BYTES / elem_bytes).clamp(2, rows);
    let lengths: Vec<usize> = if query.every && rows <= 64 {
        (2..=rows).collect()
    } else {
        std::iter::successors(Some(2), |slot| Some(slot * 2))
            .take_while(|&slot| slot <= longest)
            .collect()
    };
    let chunks = |slot| query.device.chunks(rows, cols, slot, elem_bytes, query.every);
    let with = |(m, n)| query.device.slots(rows, cols, m, n).map(|_| Tile { m, n });
    let pairs = lengths.into_iter().flat_map(|m| chunks(m).into_iter().map(move |n| (m, n)));
    let tiles: Vec<Tile> = pairs.filter_map(with).collect();
    if tiles.is_empty() {
        return Err(Infeasible::OnChip {
            need: 2 * cols * elem_bytes,
            have: query.device.holds()[1],
        });
    }
    Ok(tiles)
}
