//! Rows moved from one pitch to another.

use turntile_perm::slide::Round;
use turntile_perm::{Pitched, Slide};

use super::fit::{At, field, groups, shared};
use crate::args::pad::{Rows, RowsArgs, SlideArgs, SpreadArgs};
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

fn in_bytes(slide: Slide, at: At) -> Result<Slide, LowerError> {
    let slide = Some(slide).filter(Slide::is_alike).and_then(|slide| slide.scaled(at.elem_bytes));
    slide.ok_or(LowerError::NoKernel)
}

/// By data sliding, blocks of `block` bytes.
pub fn slide(slide: Slide, block: usize, at: At) -> Result<Call, LowerError> {
    let slide = in_bytes(slide, at)?;
    let blocks = slide.blocks(block);
    // Rows without gaps are one.
    let rows = |rows: Pitched| match rows.is_dense() {
        true => Rows { cols: rows.len() as u64, pitch: rows.len() as u64 },
        false => Rows { cols: rows.cols() as u64, pitch: rows.pitch() as u64 },
    };
    let params = SlideArgs {
        data: Address::default(),
        flags: Address::default(),
        len: slide.len() as u64,
        from: rows(slide.from()),
        to: rows(slide.to()),
        block: field(block)?,
        blocks: field(blocks)?,
        up: u32::from(slide.is_up()),
        pad: 0,
    };
    let call = call("pad_slide", groups(blocks)?, shared(block, at.limits)?, params.into());
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
pub fn rows(slide: Slide, least: usize, at: At) -> Result<Vec<Call>, LowerError> {
    let slide = in_bytes(slide, at)?;
    let held = at.limits.shared_bytes / 16 * 16;
    let launch = |Round { rows, together }: Round| {
        let params = Args::from(RowsArgs {
            data: Address::default(),
            first: rows.start as u64,
            count: rows.len() as u64,
            cols: slide.cols() as u64,
            from: slide.from().pitch() as u64,
            to: slide.to().pitch() as u64,
            held: field(held)?,
            pad: 0,
        });
        Ok(if together {
            call("pad_rows_together", groups(rows.len())?, 0, params)
        } else {
            call("pad_rows_alone", 1, shared(held, at.limits)?, params)
        })
    };
    slide.rounds(least).map(launch).collect()
}
