//! Which mover runs which stage.

use std::sync::atomic::{AtomicU32, Ordering};

use turntile_perm::{Elementary, Slide};
use turntile_plan::{Direction, StageShape};
use turntile_simd::Byte;

use crate::axis_swap::AxisSwap;
use crate::barrier;
use crate::blocks::in_blocks;
use crate::cycles::Marks;
use crate::exchange::Exchange;
use crate::fields;
use crate::finish::Finish;
use crate::follow::{follow_cycles, rotate_cycles};
use crate::parts;
use crate::path::Path;
use crate::rounds::{in_rounds, in_shares, with_gaps_kept};
use crate::swaps::turn_squares;
use crate::tile_runs::move_runs;
use crate::way::{By, HostWay, Mover, Needs};

/// Runs `way` over `data`, as long as what it reads or writes. `flags` are zero and, like `bytes` (kept rows, then
/// every thread's scratch), as many as it needs. `finish` is for the mover that can call it.
///
/// # Panics
/// When the way is out of place.
pub fn run(
    way: &HostWay,
    data: &mut [Byte],
    flags: &[AtomicU32],
    bytes: &mut [Byte],
    finish: Option<&Finish>,
) {
    use Direction::{Backward, Forward};
    let (elem_bytes, needs) = (way.elem_bytes, way.needs());
    let parts = needs.parts;
    let (kept, scratch) = bytes.split_at_mut(needs.kept_bytes);
    let scratch = &mut scratch[..(parts * needs.scratch_bytes).max(way.buffer_bytes())];
    let path = || Path::new(way.shape, elem_bytes);
    match *way.mover() {
        Mover::Squares(squares) => turn_squares(data, squares, parts, None),
        Mover::AxisSwap(_) => {
            let swap = AxisSwap::new(way.axes(), elem_bytes).expect("what the way was made of");
            swap.run(data, parts, scratch);
        }
        Mover::Barrier => barrier::run(data, way.axes(), elem_bytes, parts, scratch),
        Mover::Gather(chunks, direction) => {
            for matrix in data.chunks_exact_mut(chunks.bytes()) {
                match direction {
                    Forward => chunks.gather(matrix, parts, kept, scratch),
                    Backward => chunks.scatter(matrix, parts, kept, scratch),
                }
            }
        }
        Mover::GatherBands(banded, direction) => {
            for matrix in data.chunks_exact_mut(banded.chunks.bytes()) {
                match direction {
                    Forward => banded.gather(matrix, parts, kept, scratch),
                    Backward => banded.scatter(matrix, parts, kept, scratch),
                }
            }
        }
        Mover::Retile(retile) => fields::retile(data, retile, elem_bytes, parts, scratch),
        Mover::FieldGather(chunks, Forward) => chunks.gather(data, parts, kept, scratch),
        Mover::FieldGather(chunks, Backward) => chunks.scatter(data, parts, kept, scratch),
        Mover::Cycles => follow_cycles(data, &path(), flags, parts, scratch),
        Mover::OwnCycles(e) => own_cycles(data, e, elem_bytes, needs, flags, scratch),
        Mover::Rotate => rotate_cycles(data, &path(), parts),
        Mover::Slide(rows, by) => slide(data, rows, by, parts, flags, kept, scratch),
        Mover::Cut(rows, by, columns, direction) => {
            let (gaps, heads) = kept.split_at_mut(columns.gaps() * elem_bytes);
            with_gaps_kept(data, columns, direction, elem_bytes, gaps, |data| {
                slide(data, rows, by, parts, flags, heads, scratch);
            });
        }
        Mover::TileRuns(runs) => move_runs(data, &runs, elem_bytes, Marks(flags), scratch),
        Mover::Turn(matrix) => matrix.turn(data, parts, finish, scratch),
        Mover::Through(matrix) => matrix.turn_through(data, scratch),
        Mover::Keep(matrix, Forward) => matrix.keep(data, kept),
        Mover::Keep(matrix, Backward) => matrix.restore(data, kept),
        Mover::Exchange(rows, Forward) => Exchange::new(rows, parts).together(data),
        Mover::Exchange(rows, Backward) => Exchange::new(rows, parts).apart(data),
        Mover::OutOfPlace | Mover::Copy => unreachable!("{way} is out of place"),
    }
}

/// Rows moved apart or together.
fn slide(
    data: &mut [Byte],
    rows: Slide,
    by: By,
    parts: usize,
    flags: &[AtomicU32],
    heads: &mut [Byte],
    scratch: &mut [Byte],
) {
    match by {
        By::Rounds(least) => in_rounds(data, rows, least, parts),
        By::Shares => in_shares(data, rows, parts, heads),
        By::Blocks(block) => in_blocks(data, rows, block, flags, parts, scratch),
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
    let lens = (0..parts).map(|part| parts::share(batch, parts, part).len() * instance_bytes);
    let shares = parts::cut(data, lens).into_iter().zip(flags.chunks(words));
    parts::run_on(shares, scratch, scratch_bytes, |(own, flags), scratch| {
        for instance in own.chunks_exact_mut(instance_bytes) {
            flags.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            follow_cycles(instance, &path, flags, 1, scratch);
        }
    });
}
