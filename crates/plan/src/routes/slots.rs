//! Aligned slots: two passes, for any shape.

use super::route::{Route, RouteSpec, StageSpec, TileSize};
use crate::device::{MethodFilter, SlotParams};
use crate::infeasible::Infeasible;
use crate::phase_problem::PhaseProblem;
use crate::problem::MatrixBatch;
use crate::stage_map::{Direction, StageMap};

/// Gathers slots into the memory of each chunk, then moves the slots.
///
/// Mirrored if there are more columns than rows, so that a chunk always has at least `slot` short
/// rows. A tile `m x n` means slots of `m` elements and chunks of `n` rows.
pub const ALIGNED_SLOTS: RouteSpec = RouteSpec {
    route: Route::ALIGNED_SLOTS,
    summary: "gathers slots chunk by chunk, then moves them; any shape; mirrored if there are more columns than rows",
    source: "docs/explanation/how-it-works.md",
    in_thesis: false,
    // One pass, if a single chunk contains the matrix.
    min_passes: 1,
    any_axes: false,
    orientations: |part| {
        let tall = part.matrices.rows >= part.matrices.cols;
        [tall, !tall]
    },
    tiles,
    stages: |part, TileSize { m, n }| {
        let batch = part.matrices.batch;
        let Some(slots) = part.device.aligned_slots(&slot_params(part, m), n) else {
            return Vec::new();
        };
        let direction = Direction::Forward;
        vec![
            StageSpec {
                map: StageMap::SlotGather { batch, slots, direction },
                methods: MethodFilter::Any,
            },
            StageSpec {
                map: StageMap::SlotMove { batch, slots, direction },
                methods: MethodFilter::Cycles,
            },
        ]
    },
    mirrored_stages: None,
};

/// Returns the parameters of slots with `slot` elements.
fn slot_params(part: &PhaseProblem, slot: usize) -> SlotParams {
    let MatrixBatch { rows, cols, .. } = part.matrices;
    SlotParams { rows, cols, slot, elem_bytes: part.itemsize() }
}

/// Bytes of the longest slots to try. Longer slots gain nothing: 4 KiB reach the speed of a copy.
const LONGEST_SLOT_BYTES: usize = 4096;

/// Returns the tiles to try: each slot length with each chunk length that suits the device.
///
/// Slot lengths, in elements, are powers of two, from 2: a single element would be route
/// `one-stage`. If every tile is wanted and there are at most 64 rows, they are all lengths from 2
/// to the number of rows.
fn tiles(part: &PhaseProblem) -> Result<Vec<TileSize>, Infeasible> {
    let MatrixBatch { rows, cols, .. } = part.matrices;
    let elem_bytes = part.itemsize();
    let longest = (LONGEST_SLOT_BYTES / elem_bytes).clamp(2, rows);
    let lengths: Vec<usize> = if part.exhaustive && rows <= 64 {
        (2..=rows).collect()
    } else {
        std::iter::successors(Some(2), |slot| Some(slot * 2))
            .take_while(|&slot| slot <= longest)
            .collect()
    };
    let with = |m| {
        let (slot_params, device) = (slot_params(part, m), part.device);
        let mut chunks = device.chunk_lengths(&slot_params, part.exhaustive);
        chunks.sort_unstable();
        chunks.dedup();
        chunks.retain(|&n| device.aligned_slots(&slot_params, n).is_some());
        chunks.into_iter().map(move |n| TileSize { m, n })
    };
    let tiles: Vec<TileSize> = lengths.into_iter().flat_map(with).collect();
    if tiles.is_empty() {
        return Err(Infeasible::OnChip {
            need: 2 * cols * elem_bytes,
            have: part.device.on_chip_bytes()[1],
        });
    }
    Ok(tiles)
}
