//! Rows padded and unpadded.

use turntile_perm::padding::Round;
use turntile_perm::{Padding, Pitched};
use turntile_plan::Direction;

use super::fit::{At, field, groups, shared};
use crate::args::pad::{PitchesArgs, RowsArgs, SlideArgs, SpreadArgs};
use crate::args::{Address, Args};
use crate::call::{Call, Limits, WorkspacePart};
use crate::error::LowerError;
use crate::family::Family;

/// Bytes of a block that slides: with what a kernel has besides they fit 48 KiB.
const SLIDE_BYTES: usize = (48 << 10) - 256;

/// Bytes of a block that suits the device: whole vectors, so that blocks begin as aligned as the matrix.
pub fn slide_block(limits: &Limits) -> usize {
    SLIDE_BYTES.min(limits.shared_bytes.max(16)) / 16 * 16
}

/// Threads of a block, as `kernels/pad.cu` has them.
const THREADS: u32 = 512;

fn call(entry: &'static str, groups: u32, shared_bytes: u32, params: Args) -> Call {
    Call {
        family: Family::Pad,
        word: 1,
        entry,
        groups,
        threads: THREADS,
        shared_bytes,
        params,
        workspace: WorkspacePart::None,
    }
}

fn in_bytes(padding: Padding, at: At) -> Result<Padding, LowerError> {
    padding.scaled(at.elem_bytes).ok_or(LowerError::NoKernel)
}

/// By data sliding, blocks of `block` bytes.
pub fn slide(
    padding: Padding,
    direction: Direction,
    block: usize,
    at: At,
) -> Result<Call, LowerError> {
    let padding = in_bytes(padding, at)?;
    let blocks = padding.blocks(block);
    let params = SlideArgs {
        data: Address::default(),
        flags: Address::default(),
        rows: padding.rows() as u64,
        cols: padding.cols() as u64,
        pitch: padding.pitch() as u64,
        block: field(block)?,
        blocks: field(blocks)?,
        back: u32::from(direction == Direction::Backward),
        pad: 0,
    };
    let call = call("pad_slide", groups(blocks)?, shared(block, at.limits)?, params.into());
    Ok(Call { workspace: WorkspacePart::Flags(4 * (blocks + 1)), ..call })
}

/// Rows from one pitch to another by data sliding.
pub fn between(from: Pitched, to: Pitched, block: usize, at: At) -> Result<Call, LowerError> {
    if (from.rows(), from.cols()) != (to.rows(), to.cols()) {
        return Err(LowerError::NoKernel);
    }
    let in_bytes = |rows: Pitched| rows.scaled(at.elem_bytes).ok_or(LowerError::NoKernel);
    let (from, to) = (in_bytes(from)?, in_bytes(to)?);
    let blocks = from.len().div_ceil(block);
    let params = PitchesArgs {
        data: Address::default(),
        flags: Address::default(),
        rows: from.rows() as u64,
        cols: from.cols() as u64,
        from: from.pitch() as u64,
        to: to.pitch() as u64,
        block: field(block)?,
        blocks: field(blocks)?,
    };
    let call = call("pad_slide_pitches", groups(blocks)?, shared(block, at.limits)?, params.into());
    Ok(Call { workspace: WorkspacePart::Flags(4 * (blocks + 1)), ..call })
}

/// Rows, in bytes, that lie together elsewhere copied to their places.
pub fn spread(to: Pitched, limits: &Limits) -> Result<Call, LowerError> {
    let params = SpreadArgs {
        to: Address::default(),
        from: Address::default(),
        rows: to.rows() as u64,
        cols: to.cols() as u64,
        pitch: to.pitch() as u64,
    };
    // A warp a row, or a block: see the kernel.
    let each = if to.cols() >= 4096 { 1 } else { THREADS as usize / 32 };
    let blocks = to.rows().div_ceil(each).min(limits.units * 8);
    Ok(call("pad_spread", groups(blocks)?, 0, params.into()))
}

/// By a launch for each round, in order.
pub fn rows(
    padding: Padding,
    direction: Direction,
    least: usize,
    at: At,
) -> Result<Vec<Call>, LowerError> {
    let padding = in_bytes(padding, at)?;
    let held = at.limits.shared_bytes / 16 * 16;
    let launch = |Round { rows, together }: Round| {
        let params = Args::from(RowsArgs {
            data: Address::default(),
            first: rows.start as u64,
            count: rows.len() as u64,
            cols: padding.cols() as u64,
            pitch: padding.pitch() as u64,
            back: u32::from(direction == Direction::Backward),
            held: field(held)?,
        });
        Ok(if together {
            call("pad_rows_together", groups(rows.len())?, 0, params)
        } else {
            call("pad_rows_alone", 1, shared(held, at.limits)?, params)
        })
    };
    direction.rounds(padding, least).map(launch).collect()
}
