//! Lowering of row moves from one pitch to another.

use turntile_perm::row_slide::SlideRound;
use turntile_perm::{PitchedRows, RowSlide};

use super::fit::{LaunchBuilder, Lowered, Size, TargetParams, VECTOR_BYTES, field};
use crate::args::{Rows, RowsArgs, SlideArgs, SpreadArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, DeviceLimits, WorkspacePart, widest_word};

/// Maximum bytes of a data-sliding block. With the kernel's other shared memory and the padding of rows, they fit 48 KiB.
const SLIDE_BYTES: usize = (48 << 10) - 768;

/// Returns the bytes of a data-sliding block on the device: whole vectors, so that blocks are as aligned as the matrix.
pub fn slide_block(limits: &DeviceLimits) -> usize {
    SLIDE_BYTES.min(limits.shared_bytes.max(16)) / 16 * 16
}

/// Threads per block, and bytes from which a whole block moves one row, as in `kernels/pad.cu`.
const THREADS: usize = 512;
const LONG_ROW: usize = 4096;

fn launch(
    entry: &'static str,
    blocks: usize,
    shared_bytes: usize,
    at: TargetParams,
) -> Lowered<LaunchBuilder> {
    at.launch((Family::Pad, 1, entry), Size { blocks, threads: THREADS, shared_bytes })
}

fn in_bytes(slide: RowSlide, at: TargetParams) -> Lowered<RowSlide> {
    slide.scaled(at.elem_bytes).ok_or(LowerError::NoKernel)
}

/// Returns the launch of data sliding by blocks of `block` bytes.
pub fn slide(slide: RowSlide, block: usize, at: TargetParams) -> Lowered {
    let slide = in_bytes(slide, at)?;
    let blocks = slide.blocks(block);
    // Rows without gaps count as one. Long unaligned rows are separate in shared memory, so that whole vectors are read.
    let bytes = [slide.cols(), slide.from().pitch(), slide.to().pitch(), at.alignment];
    let whole = widest_word(&bytes) == VECTOR_BYTES;
    let apart = slide.cols() >= LONG_ROW && !whole;
    let held = if apart { block + 32 * (block / slide.cols() + 2) } else { block };
    let rows = |rows: PitchedRows| match rows.is_dense() && !apart {
        true => Rows { cols: rows.len() as u64, pitch: rows.len() as u64 },
        false => Rows { cols: rows.cols() as u64, pitch: rows.pitch() as u64 },
    };
    let params = SlideArgs {
        len: slide.from().len() as u64,
        from: rows(slide.from()),
        to: rows(slide.to()),
        block: field(block)?,
        blocks: field(blocks)?,
        up: u32::from(slide.is_up()),
        apart: u32::from(apart),
        ..zeroed()
    };
    let flags = WorkspacePart::Flags(4 * (blocks + 1));
    Ok(launch("pad_slide", blocks, held, at)?.using(flags, params))
}

/// Returns the launch that copies contiguous rows from another buffer to the rows `to`, in bytes.
pub fn spread(to: PitchedRows, at: TargetParams) -> Lowered {
    // A warp per row, or a thread block per long row, as in the kernel.
    let each = if to.cols() >= LONG_ROW { 1 } else { THREADS / 32 };
    let blocks = to.rows().div_ceil(each).min(at.limits.units * 8);
    Ok(launch("pad_spread", blocks, 0, at)?.with(SpreadArgs {
        rows: to.rows() as u64,
        cols: to.cols() as u64,
        pitch: to.pitch() as u64,
        ..zeroed()
    }))
}

/// Returns the launches of the rounds in order, one per round.
pub fn rows(slide: RowSlide, least: usize, at: TargetParams) -> Lowered<Vec<CheckedLaunch>> {
    let slide = in_bytes(slide, at)?;
    let held = at.limits.shared_bytes / 16 * 16;
    let round = |SlideRound { rows, together }: SlideRound| {
        let launch = match together {
            true => launch("pad_rows_together", rows.len(), 0, at)?,
            false => launch("pad_rows_alone", 1, held, at)?,
        };
        Ok(launch.with(RowsArgs {
            first: rows.start as u64,
            count: rows.len() as u64,
            cols: slide.cols() as u64,
            from: slide.from().pitch() as u64,
            to: slide.to().pitch() as u64,
            held: field(held)?,
            ..zeroed()
        }))
    };
    slide.rounds(least).map(round).collect()
}
