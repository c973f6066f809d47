//! Which mover runs which stage.

use turntile_perm::Elementary;
use turntile_plan::{Direction, Method, Stage, StageShape};
use turntile_simd::Byte;

use crate::bands::Banded;
use crate::barrier;
use crate::cycles::Marks;
use crate::follow::follow_cycles;
use crate::gaps;
use crate::gather::Chunks;
use crate::needs::{Needs, in_place};
use crate::parts;
use crate::path::Path;
use crate::rotate::rotate_cycles;
use crate::rows;
use crate::slide::slide;
use crate::squares::Squares;
use crate::swaps::turn_squares;
use std::sync::atomic::AtomicU32;

/// Runs `stage` over `data`, as long as what it reads or writes. `flags` are zero and, like `bytes` (kept rows, then every thread's
/// scratch), as many as `needs` says.
pub fn run(
    stage: &Stage,
    elem_bytes: usize,
    needs: Needs,
    data: &mut [Byte],
    flags: &[AtomicU32],
    bytes: &mut [Byte],
) {
    let parts = needs.parts;
    let (kept, scratch) = bytes.split_at_mut(needs.kept_bytes);
    let scratch = &mut scratch[..parts * needs.scratch_bytes];
    if let Some((padding, direction)) = stage.shape.padding() {
        let in_bytes = padding.scaled(elem_bytes).expect("as long as the data");
        let gap_bytes = match stage.shape {
            StageShape::Cut { .. } => padding.gaps() * elem_bytes,
            _ => 0,
        };
        let (gaps, heads) = kept.split_at_mut(gap_bytes);
        let mut move_rows = |data: &mut [Byte]| match stage.method {
            Method::Slide { block } => {
                slide(data, in_bytes, direction, block, flags, parts, scratch);
            }
            Method::Rows { least } => rows::in_steps(data, in_bytes, direction, least, parts),
            Method::Shares => rows::in_shares(data, in_bytes, direction, parts, heads),
            method => unreachable!("{method} does not pad rows"),
        };
        return match stage.shape {
            StageShape::Cut { direction, .. } => {
                gaps::kept(data, padding, direction, elem_bytes, gaps, move_rows);
            }
            _ => move_rows(data),
        };
    }
    match (stage.method, stage.shape) {
        (_, StageShape::SlotGather { slots, direction, .. }) => {
            let chunks = Chunks { slots, elem_bytes };
            for matrix in data.chunks_exact_mut(slots.len() * elem_bytes) {
                match (needs.bands, direction) {
                    (None, Direction::Forward) => chunks.gather(matrix, parts, kept, scratch),
                    (None, Direction::Backward) => chunks.scatter(matrix, parts, kept, scratch),
                    (Some(bands), _) => {
                        let banded = Banded { slots, elem_bytes, bands };
                        match direction {
                            Direction::Forward => banded.gather(matrix, parts, kept, scratch),
                            Direction::Backward => banded.scatter(matrix, parts, kept, scratch),
                        }
                    }
                }
            }
        }
        (Method::TileSwap { .. } | Method::BarrierSync { .. }, StageShape::Elementary(e))
            if in_place(&stage.shape) || matches!(stage.method, Method::TileSwap { .. }) =>
        {
            let squares = Squares::new(e.batch, e.rows, e.mid, elem_bytes);
            turn_squares(data, squares, parts);
        }
        (Method::BarrierSync { .. }, StageShape::Elementary(e)) => {
            barrier::run(data, e, elem_bytes, parts, scratch);
        }
        (Method::PttwacGlobal { .. }, shape) => {
            follow_cycles(data, Path::new(shape, elem_bytes), flags, parts, scratch);
        }
        (Method::PttwacOnChip { .. }, StageShape::Elementary(e)) => {
            on_chip_flags(data, e, elem_bytes, needs, flags, scratch);
        }
        (Method::PerCycle, shape) => {
            rotate_cycles(data, Path::new(shape, elem_bytes), parts);
        }
        (method, shape) => unreachable!("{method} does not run {shape}"),
    }
}

/// The cycles of every instance by one thread, with flags that are that thread's own.
fn on_chip_flags(
    data: &mut [Byte],
    shape: Elementary,
    elem_bytes: usize,
    needs: Needs,
    flags: &[AtomicU32],
    scratch: &mut [Byte],
) {
    let Needs { parts, scratch_bytes, .. } = needs;
    let path = Path::new(StageShape::Elementary(Elementary { batch: 1, ..shape }), elem_bytes);
    let (batch, positions) = (shape.batch, shape.instance_units());
    let words = Marks::words(positions);
    let instance_bytes = positions * path.unit_bytes();
    let mut rest = data;
    let shares: Vec<_> = (0..parts)
        .map(|part| {
            let bytes = parts::share(batch, parts, part).len() * instance_bytes;
            let own = rest.split_off_mut(..bytes).expect("shares add up to the whole");
            (own, &flags[part * words..][..words])
        })
        .collect();
    parts::run_on(shares, scratch, scratch_bytes, |(own, flags), scratch| {
        for instance in own.chunks_exact_mut(instance_bytes) {
            flags.iter().for_each(|word| word.store(0, std::sync::atomic::Ordering::Relaxed));
            follow_cycles(instance, path, flags, 1, scratch);
        }
    });
}
