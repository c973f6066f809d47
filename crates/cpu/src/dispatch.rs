//! Which mover runs which stage.

use std::sync::atomic::{AtomicU32, Ordering};

use turntile_perm::{Elementary, RowSlide};
use turntile_plan::{Direction, StageMap};
use turntile_simd::Byte;

use crate::barrier;
use crate::blocks::in_blocks;
use crate::cycle_walk::VisitedBits;
use crate::epilogue::Epilogue;
use crate::follow::{follow_cycles, rotate_cycles};
use crate::gap_swap::GapSwap;
use crate::involution::InvolutionSwap;
use crate::kernel_config::{CpuKernel, CpuKernelConfig, Resources, SlideMethod};
use crate::parallel;
use crate::record_gather;
use crate::rounds::{in_rounds, in_shares, with_gaps_kept};
use crate::source_map::SourceMap;
use crate::swaps::turn_squares;
use crate::tile_runs::move_runs;

/// Runs `way` over `data`, as long as what it reads or writes. `flags` are zero and, like `bytes` (kept rows, then
/// every thread's scratch), as many as it needs. `finish` is for the mover that can call it.
///
/// # Panics
/// When the way is out of place.
pub fn run(
    way: &CpuKernelConfig,
    data: &mut [Byte],
    flags: &[AtomicU32],
    bytes: &mut [Byte],
    finish: Option<&Epilogue>,
) {
    use Direction::{Backward, Forward};
    let (elem_bytes, needs) = (way.elem_bytes, way.resources());
    let parts = needs.threads;
    let (kept, scratch) = bytes.split_at_mut(needs.saved_bytes);
    let scratch = &mut scratch[..(parts * needs.scratch_bytes).max(way.buffer_bytes())];
    let path = || SourceMap::new(way.map, elem_bytes);
    match *way.kernel() {
        CpuKernel::SquareSwap(squares) => turn_squares(data, squares, parts, None),
        CpuKernel::InvolutionSwap(_) => {
            let swap =
                InvolutionSwap::new(way.axes(), elem_bytes).expect("what the way was made of");
            swap.run(data, parts, scratch);
        }
        CpuKernel::Barrier => barrier::run(data, way.axes(), elem_bytes, parts, scratch),
        CpuKernel::Gather(chunks, direction) => {
            for matrix in data.chunks_exact_mut(chunks.bytes()) {
                match direction {
                    Forward => chunks.gather(matrix, parts, kept, scratch),
                    Backward => chunks.scatter(matrix, parts, kept, scratch),
                }
            }
        }
        CpuKernel::BandedGather(banded, direction) => {
            for matrix in data.chunks_exact_mut(banded.chunks.bytes()) {
                match direction {
                    Forward => banded.gather(matrix, parts, kept, scratch),
                    Backward => banded.scatter(matrix, parts, kept, scratch),
                }
            }
        }
        CpuKernel::RecordTiles(retile) => {
            record_gather::retile(data, retile, elem_bytes, parts, scratch)
        }
        CpuKernel::RecordGather(chunks, Forward) => chunks.gather(data, parts, kept, scratch),
        CpuKernel::RecordGather(chunks, Backward) => chunks.scatter(data, parts, kept, scratch),
        CpuKernel::Cycles => follow_cycles(data, &path(), flags, parts, scratch),
        CpuKernel::OwnCycles(e) => own_cycles(data, e, elem_bytes, needs, flags, scratch),
        CpuKernel::Rotate => rotate_cycles(data, &path(), parts),
        CpuKernel::Slide(rows, by) => slide(data, rows, by, parts, flags, kept, scratch),
        CpuKernel::Cut(rows, by, columns, direction) => {
            let (gaps, heads) = kept.split_at_mut(columns.gaps() * elem_bytes);
            with_gaps_kept(data, columns, direction, elem_bytes, gaps, |data| {
                slide(data, rows, by, parts, flags, heads, scratch);
            });
        }
        CpuKernel::TileRows(runs) => {
            move_runs(data, &runs, elem_bytes, VisitedBits(flags), scratch)
        }
        CpuKernel::TransposeRows(matrix) => matrix.turn(data, parts, finish, scratch),
        CpuKernel::TransposeThroughScratch(matrix) => matrix.turn_through(data, scratch),
        CpuKernel::SaveGaps(matrix, Forward) => matrix.keep(data, kept),
        CpuKernel::SaveGaps(matrix, Backward) => matrix.restore(data, kept),
        CpuKernel::SwapGaps(rows, Forward) => GapSwap::new(rows, parts).together(data),
        CpuKernel::SwapGaps(rows, Backward) => GapSwap::new(rows, parts).apart(data),
        CpuKernel::OutOfPlace | CpuKernel::Copy => unreachable!("{way} is out of place"),
    }
}

/// Rows moved apart or together.
fn slide(
    data: &mut [Byte],
    rows: RowSlide,
    by: SlideMethod,
    parts: usize,
    flags: &[AtomicU32],
    heads: &mut [Byte],
    scratch: &mut [Byte],
) {
    match by {
        SlideMethod::Rounds(least) => in_rounds(data, rows, least, parts),
        SlideMethod::Shares => in_shares(data, rows, parts, heads),
        SlideMethod::Blocks(block) => in_blocks(data, rows, block, flags, parts, scratch),
    }
}

/// The cycles of every instance by one thread, with flags that are that thread's own.
fn own_cycles(
    data: &mut [Byte],
    shape: Elementary,
    elem_bytes: usize,
    needs: Resources,
    flags: &[AtomicU32],
    scratch: &mut [Byte],
) {
    let Resources { threads: parts, scratch_bytes, .. } = needs;
    let path = SourceMap::new(StageMap::from(Elementary { batch: 1, ..shape }), elem_bytes);
    let (batch, positions) = (shape.batch, shape.instance_units());
    let words = VisitedBits::words(positions);
    let instance_bytes = positions * path.unit_bytes();
    let lens = (0..parts).map(|part| parallel::share(batch, parts, part).len() * instance_bytes);
    let shares = parallel::cut(data, lens).into_iter().zip(flags.chunks(words));
    parallel::for_each_thread(shares, scratch, scratch_bytes, |(own, flags), scratch| {
        for instance in own.chunks_exact_mut(instance_bytes) {
            flags.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            follow_cycles(instance, &path, flags, 1, scratch);
        }
    });
}
