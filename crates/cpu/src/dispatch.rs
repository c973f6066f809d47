//! Dispatch of a stage to its kernel.

use std::sync::atomic::{AtomicU32, Ordering};

use turntile_perm::{Elementary, RowSlide};
use turntile_plan::{Direction, StageMap};
use turntile_simd::Byte;

use crate::blocks::in_blocks;
use crate::chunk_pass;
use crate::cycle_walk::VisitedBits;
use crate::epilogue::Epilogue;
use crate::follow::{follow_cycles, move_pieces, move_runs, rotate_cycles};
use crate::gap_swap::GapSwap;
use crate::involution::InvolutionSwap;
use crate::kernel_config::{CpuKernel, CpuKernelConfig, Resources, SlideMethod};
use crate::leading;
use crate::parallel;
use crate::plane_tiling::PlaneTiling;
use crate::record_gather::convert_period;
use crate::rounds::{in_rounds, in_shares, reshape, with_gaps_kept};
use crate::scratch::through_scratch;
use crate::source_map::SourceMap;
use crate::swaps::turn_squares;

/// Runs `config` on `data`, which covers what the stage reads and writes.
///
/// `flags` are zero. `bytes` is workspace for saved bytes, followed by every thread's scratch, or
/// [`CpuKernelConfig::buffer_bytes`] bytes. Both have at least the sizes in `config`. The epilogue
/// `finish` is passed to the kernel that supports it, and ignored by others.
///
/// # Panics
/// If the stage is out-of-place.
pub fn run(
    config: &CpuKernelConfig,
    data: &mut [Byte],
    flags: &[AtomicU32],
    bytes: &mut [Byte],
    finish: Option<&Epilogue>,
) {
    use Direction::{Backward, Forward};
    let (elem_bytes, resources) = (config.elem_bytes, config.resources());
    let threads = resources.threads;
    let (saved, scratch) = bytes.split_at_mut(resources.saved_bytes);
    let scratch = &mut scratch[..(threads * resources.scratch_bytes).max(config.buffer_bytes())];
    let source_map = || SourceMap::new(&config.map, elem_bytes);
    match *config.kernel() {
        CpuKernel::SquareSwap(squares) => turn_squares(data, squares, threads, None),
        CpuKernel::InvolutionSwap(_) => {
            let swap = InvolutionSwap::new(config.axes(), elem_bytes)
                .expect("the configuration was made from this permutation");
            swap.run(data, threads, scratch);
        }
        CpuKernel::Flip(ref flip) => flip.run(data, threads),
        CpuKernel::SquareTurn(turn) => turn.run(data, threads, scratch),
        CpuKernel::Barrier(_) => {
            let instance_bytes = resources.scratch_bytes;
            // Closures own what they use: one indirection less per instance, and 7% more speed for
            // instances of 192 bytes (EPYC, one thread, November 2026).
            if let StageMap::RecordTiles(change) = &config.map {
                through_scratch(data, instance_bytes, threads, scratch, move |from, to| {
                    convert_period(from, change, elem_bytes, to);
                });
            } else {
                let axes = config.axes().without_batch();
                let planes = PlaneTiling::of_axes(&axes, elem_bytes).whole_planes();
                through_scratch(data, instance_bytes, threads, scratch, move |from, to| {
                    planes.transpose(from, to);
                });
            }
        }
        CpuKernel::Gather(chunks, direction) => {
            for matrix in data.chunks_exact_mut(chunks.bytes()) {
                chunk_pass::run(&chunks, direction, matrix, threads, saved, scratch);
            }
        }
        CpuKernel::BandedGather(banded, direction) => {
            for matrix in data.chunks_exact_mut(banded.chunks.bytes()) {
                match direction {
                    Forward => banded.gather(matrix, threads, saved, scratch),
                    Backward => banded.scatter(matrix, threads, saved, scratch),
                }
            }
        }
        CpuKernel::RecordGather(ref chunks, direction) => {
            chunk_pass::run(chunks, direction, data, threads, saved, scratch);
        }
        CpuKernel::Cycles => follow_cycles(data, &source_map(), flags, threads, scratch),
        CpuKernel::OwnCycles(e) => own_cycles(data, e, elem_bytes, resources, flags, scratch),
        CpuKernel::Pieces(piece) => move_pieces(data, &source_map(), piece, threads, scratch),
        CpuKernel::Rotate => rotate_cycles(data, &source_map(), threads),
        CpuKernel::Slide(rows, schedule) => {
            slide(data, rows, schedule, threads, flags, saved, scratch)
        }
        CpuKernel::Reshape(rows) => reshape(data, rows),
        CpuKernel::Cut(rows, schedule, columns, direction) => {
            let (gaps, heads) = saved.split_at_mut(columns.gaps() * elem_bytes);
            with_gaps_kept(data, columns, direction, elem_bytes, gaps, |data| {
                slide(data, rows, schedule, threads, flags, heads, scratch);
            });
        }
        CpuKernel::TileRows(runs) => {
            move_runs(data, &runs, elem_bytes, VisitedBits(flags), scratch)
        }
        CpuKernel::TransposeRows(matrix) => matrix.transpose(data, threads, finish, scratch),
        CpuKernel::TransposeThroughScratch(matrix) => matrix.turn_through(data, scratch),
        CpuKernel::SaveGaps(gaps, Forward) => leading::save(&gaps, elem_bytes, data, saved),
        CpuKernel::SaveGaps(gaps, Backward) => leading::restore(&gaps, elem_bytes, data, saved),
        CpuKernel::SwapGaps(rows, Forward) => GapSwap::new(rows, threads).together(data),
        CpuKernel::SwapGaps(rows, Backward) => GapSwap::new(rows, threads).apart(data),
        CpuKernel::OutOfPlace | CpuKernel::Copy => unreachable!("{config} is out-of-place"),
    }
}

/// Moves rows to another pitch by `schedule`.
fn slide(
    data: &mut [Byte],
    rows: RowSlide,
    schedule: SlideMethod,
    threads: usize,
    flags: &[AtomicU32],
    heads: &mut [Byte],
    scratch: &mut [Byte],
) {
    match schedule {
        SlideMethod::Rounds(least) => in_rounds(data, rows, least, threads),
        SlideMethod::Shares => in_shares(data, rows, threads, heads),
        SlideMethod::Blocks(block) => in_blocks(data, rows, block, flags, threads, scratch),
    }
}

/// Follows the cycles of whole instances, each by one thread with its own flags.
fn own_cycles(
    data: &mut [Byte],
    instances: Elementary,
    elem_bytes: usize,
    resources: Resources,
    flags: &[AtomicU32],
    scratch: &mut [Byte],
) {
    let Resources { threads, scratch_bytes, .. } = resources;
    let source_map =
        SourceMap::new(&StageMap::from(Elementary { batch: 1, ..instances }), elem_bytes);
    let (batch, positions) = (instances.batch, instances.instance_units());
    let words = VisitedBits::words(positions);
    let instance_bytes = positions * source_map.unit_bytes();
    let lengths = (0..threads)
        .map(|thread| parallel::split_evenly(batch, threads, thread).len() * instance_bytes);
    let shares = parallel::cut(data, lengths).into_iter().zip(flags.chunks(words));
    parallel::for_each_thread(shares, scratch, scratch_bytes, |(own, flags), scratch| {
        for instance in own.chunks_exact_mut(instance_bytes) {
            flags.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            follow_cycles(instance, &source_map, flags, 1, scratch);
        }
    });
}
