//! Aligned slots: two passes for any shape.

use turntile_perm::Slots;

use super::tiles::slot_tiles;
use super::{Route, Step, Tile, Want, something_moves};
use crate::limits::DeviceKind;
use crate::stage::{Direction, StageShape};

/// Slots gathered into each chunk's own memory, then moved; mirrored when there are more columns
/// than rows, so that a chunk is always `slot` or more short rows. A tile `m x n` is a slot of `m`
/// elements and chunks of `n` rows, on a host in row order where `n = m` is a power of two.
pub const ALIGNED_SLOTS: Route = Route {
    name: "aligned-slots",
    about: "slots gathered chunk by chunk, then moved; any shape",
    source: "docs/routes.md",
    // One, when a single chunk holds the matrix.
    passes: 1,
    tiles: |ask| {
        something_moves(ask.problem)?;
        slot_tiles(ask)
    },
    steps: |p, kind, Tile { m, n }| {
        let (long, short) = (p.rows().max(p.cols()), p.rows().min(p.cols()));
        let by_rows = Slots::by_rows(long, short, m).filter(|_| m == n && kind == DeviceKind::Host);
        let slots = by_rows.or_else(|| Slots::new(long, short, m, n));
        let slots = slots.expect("tiles of this route fit the long side");
        let forward = p.rows() >= p.cols();
        let direction = if forward { Direction::Forward } else { Direction::Backward };
        let batch = p.batch();
        let gather = StageShape::SlotGather { batch, slots, direction };
        let moves = StageShape::SlotMove { batch, slots, direction };
        let mut steps = vec![
            Step { shape: gather, want: Want::Any },
            Step { shape: moves, want: Want::Cycles },
        ];
        if !forward {
            steps.reverse();
        }
        steps
    },
};
