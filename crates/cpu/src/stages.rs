//! Which mover runs which stage.

use turntile_perm::{Elementary, Pitched};
use turntile_plan::{Direction, StageShape};
use turntile_simd::Byte;

use crate::banded::Banded;
use crate::barrier;
use crate::blocks::in_blocks;
use crate::cycles::Marks;
use crate::exchange::Exchange;
use crate::finish::Finish;
use crate::follow::follow_cycles;
use crate::gaps;
use crate::gather::Chunks;
use crate::parts;
use crate::path::Path;
use crate::pitched::Matrix;
use crate::rotate::rotate_cycles;
use crate::rounds;
use crate::swaps::turn_squares;
use crate::way::{self, HostWay, Mover, Needs};
use std::sync::atomic::AtomicU32;

/// Runs `way` over `data`, as long as what it reads or writes. `flags` are zero and, like `bytes` (kept rows, then
/// every thread's scratch), as many as it needs. `finish` is for the mover that can call it.
pub fn run(
    way: &HostWay,
    data: &mut [Byte],
    flags: &[AtomicU32],
    bytes: &mut [Byte],
    finish: Option<&Finish>,
) {
    let (shape, elem_bytes, needs) = (*way.shape(), way.elem_bytes(), way.needs());
    let parts = needs.parts;
    let (kept, scratch) = bytes.split_at_mut(needs.kept_bytes);
    let scratch = &mut scratch[..parts * needs.scratch_bytes];
    match (way.mover(), shape) {
        (Mover::Turn, StageShape::Turn(leading)) => {
            Matrix { leading, elem_bytes }.turn(data, parts, finish);
        }
        (Mover::Through, StageShape::Turn(leading)) => {
            Matrix { leading, elem_bytes }.turn_through(data, scratch);
        }
        (Mover::Keep, StageShape::Gaps { leading, direction }) => {
            let matrix = Matrix { leading, elem_bytes };
            match direction {
                Direction::Forward => matrix.keep(data, kept),
                Direction::Backward => matrix.restore(data, kept),
            }
        }
        (Mover::Exchange, StageShape::Exchange { rows, direction }) => {
            let exchange = Exchange::new(in_bytes(rows, elem_bytes), parts);
            match direction {
                Direction::Forward => exchange.together(data),
                Direction::Backward => exchange.apart(data),
            }
        }
        (Mover::Rounds(_) | Mover::Shares | Mover::Blocks(_), _) => {
            move_rows(way, data, flags, kept, scratch);
        }
        (Mover::Gather, StageShape::SlotGather { slots, direction, .. }) => {
            let chunks = Chunks { slots, elem_bytes };
            for matrix in data.chunks_exact_mut(slots.len() * elem_bytes) {
                match direction {
                    Direction::Forward => chunks.gather(matrix, parts, kept, scratch),
                    Direction::Backward => chunks.scatter(matrix, parts, kept, scratch),
                }
            }
        }
        (Mover::GatherBands(bands), StageShape::SlotGather { slots, direction, .. }) => {
            let banded = Banded { slots, elem_bytes, bands };
            for matrix in data.chunks_exact_mut(slots.len() * elem_bytes) {
                match direction {
                    Direction::Forward => banded.gather(matrix, parts, kept, scratch),
                    Direction::Backward => banded.scatter(matrix, parts, kept, scratch),
                }
            }
        }
        (Mover::Cycles, _) => {
            follow_cycles(data, Path::new(shape, elem_bytes), flags, parts, scratch);
        }
        (Mover::Rotate, _) => rotate_cycles(data, Path::new(shape, elem_bytes), parts),
        (Mover::Barrier, StageShape::Axes(axes)) => {
            barrier::run(data, &axes, elem_bytes, parts, scratch);
        }
        (mover, _) => {
            let e = shape.elementary().unwrap_or_else(|| unreachable!("{mover:?} of {shape}"));
            match mover {
                Mover::Squares => {
                    let squares = way::squares(&e, elem_bytes).expect("made of squares");
                    turn_squares(data, squares, parts, None);
                }
                Mover::OwnCycles => own_cycles(data, e, elem_bytes, needs, flags, scratch),
                _ => unreachable!("{mover:?} does not move {shape} in place"),
            }
        }
    }
}

fn in_bytes(rows: Pitched, elem_bytes: usize) -> Pitched {
    rows.scaled(elem_bytes).expect("as long as the data")
}

/// Rows moved apart or together; what lies in the gaps of those that are cut set aside meanwhile.
fn move_rows(
    way: &HostWay,
    data: &mut [Byte],
    flags: &[AtomicU32],
    kept: &mut [Byte],
    scratch: &mut [Byte],
) {
    let (parts, elem_bytes) = (way.needs().parts, way.elem_bytes());
    let rows = way.shape().slide().and_then(|rows| rows.scaled(elem_bytes)).expect("made of rows");
    let gap_bytes = match way.shape() {
        StageShape::Cut { rows, .. } => rows.gaps() * elem_bytes,
        _ => 0,
    };
    let (gaps, heads) = kept.split_at_mut(gap_bytes);
    let mut move_rows = |data: &mut [Byte]| match way.mover() {
        Mover::Blocks(block) => in_blocks(data, rows, block, flags, parts, scratch),
        Mover::Rounds(least) => rounds::in_rounds(data, rows, least, parts),
        _ => rounds::in_shares(data, rows, parts, heads),
    };
    match *way.shape() {
        StageShape::Cut { rows, direction } => {
            gaps::kept(data, rows, direction, elem_bytes, gaps, move_rows);
        }
        _ => move_rows(data),
    }
}

/// The cycles of every instance by one thread, with flags that are that thread's own.
fn own_cycles(
    data: &mut [Byte],
    shape: Elementary,
    elem_bytes: usize,
    needs: Needs,
    flags: &[AtomicU32],
    scratch: &mut [Byte],
) {
    let Needs { parts, scratch_bytes, .. } = needs;
    let path = Path::new(StageShape::from(Elementary { batch: 1, ..shape }), elem_bytes);
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
