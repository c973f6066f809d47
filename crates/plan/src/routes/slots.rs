//! Aligned slots: two passes for any shape.

use super::route::{Route, RouteSpec, StageSpec, TileSize};
use crate::device::{MethodFilter, SlotParams};
use crate::infeasible::Infeasible;
use crate::phase_problem::PhaseProblem;
use crate::problem::MatrixBatch;
use crate::stage_map::{Direction, StageMap};

/// Slots gathered into each chunk's own memory, then moved; mirrored when there are more columns
/// than rows, so that a chunk is always `slot` or more short rows. A tile `m x n` is a slot of `m`
/// elements and chunks of `n` rows.
pub const ALIGNED_SLOTS: RouteSpec = RouteSpec {
    route: Route::ALIGNED_SLOTS,
    summary: "slots gathered chunk by chunk, then moved; any shape; mirrored where there are more columns than rows",
    source: "docs/algorithm.md",
    in_thesis: false,
    // One, when a single chunk holds the matrix.
    min_passes: 1,
    any_axes: false,
    orientations: |part| {
        let tall = part.matrices.rows >= part.matrices.cols;
        [tall, !tall]
    },
    tiles,
    stages: |part, TileSize { m, n }| {
        let batch = part.matrices.batch;
        let Some(slots) = part.device.aligned_slots(&slotting(part, m), n) else {
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

/// The matrices with slots of `slot` elements.
fn slotting(part: &PhaseProblem, slot: usize) -> SlotParams {
    let MatrixBatch { rows, cols, .. } = part.matrices;
    SlotParams { rows, cols, slot, elem_bytes: part.elem_bytes() }
}

/// Longest slot worth trying: moves are as fast as a copy from here on.
const LONGEST_SLOT_BYTES: usize = 4096;

/// Slots of a power of two of elements (every length for sides up to 64 where all are asked for; a single
/// element would be the one-stage route), with the chunks that suit the device.
fn tiles(part: &PhaseProblem) -> Result<Vec<TileSize>, Infeasible> {
    let MatrixBatch { rows, cols, .. } = part.matrices;
    let elem_bytes = part.elem_bytes();
    let longest = (LONGEST_SLOT_BYTES / elem_bytes).clamp(2, rows);
    let lengths: Vec<usize> = if part.exhaustive && rows <= 64 {
        (2..=rows).collect()
    } else {
        std::iter::successors(Some(2), |slot| Some(slot * 2))
            .take_while(|&slot| slot <= longest)
            .collect()
    };
    let with = |m| {
        let (slotting, device) = (slotting(part, m), part.device);
        let mut chunks = device.chunk_lengths(&slotting, part.exhaustive);
        chunks.sort_unstable();
        chunks.dedup();
        chunks.retain(|&n| device.aligned_slots(&slotting, n).is_some());
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
