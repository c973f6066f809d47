//! Rows padded and unpadded.

use turntile_perm::Padding;
use turntile_perm::padding::Step;
use turntile_plan::{Direction, method};

use super::{At, field, groups, shared};
use crate::call::{Call, Workspace};
use crate::error::Infeasible;
use crate::family::Family;
use crate::params::Params;

/// Threads of a block, as `kernels/pad.cu` has them.
const THREADS: u32 = 512;

fn call(entry: &'static str, groups: u32, shared_bytes: u32, params: Params) -> Call {
    Call {
        family: Family::Pad,
        word: 1,
        entry,
        groups,
        threads: THREADS,
        shared_bytes,
        params,
        workspace: Workspace::None,
    }
}

fn in_bytes(padding: Padding, at: At) -> Result<Padding, Infeasible> {
    padding.scaled(at.elem_bytes).ok_or(Infeasible::NoKernel)
}

/// By data sliding, blocks of `block` bytes.
pub fn slide(
    padding: Padding,
    direction: Direction,
    block: usize,
    at: At,
) -> Result<Call, Infeasible> {
    let padding = in_bytes(padding, at)?;
    let blocks = padding.blocks(block);
    let params = Params::new()
        .u64(0)
        .u64(padding.rows() as u64)
        .u64(padding.cols() as u64)
        .u64(padding.pitch() as u64)
        .u32(field(block)?)
        .u32(field(blocks)?)
        .u32(u32::from(direction == Direction::Backward))
        .u32(0);
    let call = call("pad_slide", groups(blocks)?, shared(block, at.device)?, params);
    Ok(Call { workspace: Workspace::Flags(4 * method::slide_flags(blocks)), ..call })
}

/// By a launch for each step, in order.
pub fn rows(
    padding: Padding,
    direction: Direction,
    least: usize,
    at: At,
) -> Result<Vec<Call>, Infeasible> {
    let padding = in_bytes(padding, at)?;
    let held = at.device.shared_bytes / 16 * 16;
    let step = |Step { rows, together }: Step| {
        let params = Params::new()
            .u64(rows.start as u64)
            .u64(rows.len() as u64)
            .u64(padding.cols() as u64)
            .u64(padding.pitch() as u64)
            .u32(u32::from(direction == Direction::Backward))
            .u32(field(held)?);
        Ok(if together {
            call("pad_rows_together", groups(rows.len())?, 0, params)
        } else {
            call("pad_rows_alone", 1, shared(held, at.device)?, params)
        })
    };
    match direction {
        Direction::Forward => padding.pad_steps(least).map(step).collect(),
        Direction::Backward => padding.unpad_steps(least).map(step).collect(),
    }
}
