//! The cost model: seconds that a stage would take.

use turntile_perm::Elementary;

use crate::limits::{DeviceKind, Limits};
use crate::method::{Method, Scope};
use crate::rates::{Rates, at};
use crate::stage::{Stage, StageShape};

/// Estimated seconds of a stage over elements of `elem_bytes` bytes: a start, and every byte read
/// and written at the fraction of copy speed that [`Rates`] gives for the method.
pub fn seconds(stage: &Stage, elem_bytes: usize, limits: &Limits) -> f64 {
    let bytes = (stage.shape.len() * elem_bytes) as f64;
    let threads = match limits.kind {
        DeviceKind::Host => stage.launch.groups.max(1),
        DeviceKind::Gpu => 1,
    };
    let speed = limits.rates.copy * threads as f64 * fraction(stage, elem_bytes, &limits.rates);
    let start = limits.rates.start + limits.rates.fork * (threads - 1) as f64;
    start + 2.0 * bytes / speed
}

/// The fraction of copy speed at which `stage` moves its bytes.
fn fraction(stage: &Stage, elem_bytes: usize, rates: &Rates) -> f64 {
    let unit_bytes = stage.shape.unit() * elem_bytes;
    match (stage.method, stage.shape) {
        // Never faster than a barrier without the bookkeeping of slots.
        (_, StageShape::SlotGather { slots, .. }) => {
            at(rates.gather, slots.slot() * elem_bytes).min(at(rates.group, elem_bytes))
        }
        (Method::TileSwap { .. }, _) => at(rates.swap, elem_bytes),
        (
            Method::BarrierSync { scope: Scope::Group },
            StageShape::Elementary(Elementary { rows, mid: 2.., unit: 1, .. }),
        ) => at(rates.tiles, rows * elem_bytes),
        (Method::BarrierSync { scope }, _) => match scope {
            Scope::Group => at(rates.group, unit_bytes),
            Scope::Cluster(_) => at(rates.cluster, unit_bytes),
            Scope::Grid => at(rates.grid, unit_bytes),
        },
        (Method::PttwacOnChip { .. }, _) => at(rates.on_chip_moves, unit_bytes),
        (Method::PttwacGlobal { .. }, StageShape::FusedTiles { .. }) => {
            // Moved and transposed at once: both costs, one trip through memory.
            at(rates.moves, unit_bytes).min(at(rates.group, elem_bytes))
        }
        (Method::PttwacGlobal { .. }, _) => at(rates.moves, unit_bytes),
        (Method::PerCycle, _) => at(rates.per_cycle, unit_bytes),
    }
}
