//! Axes in any order from one place to another.

use turntile_perm::AxisPermutation;

use super::axes_tile::Words;
use super::fit::{At, shared};
use crate::args::Address;
use crate::args::axes_tile::IntoAxesArgs;
use crate::call::{Call, WorkspacePart};
use crate::error::LowerError;
use crate::family::Family;

/// Places on chip are numbers of 16 bits.
const MOST_HELD: usize = 64 << 10;

/// Bytes that a row of a tile, a column and a tile count more than they have: sectors in part, and what every block works
/// out first. (A guess.)
const BESIDE: [usize; 3] = [32, 64, 1024];

/// Longest rows and columns that are looked for.
const LONGEST: usize = 16 << 10;

const THREADS: u32 = 256;

/// The launch, a tile of at most `held` bytes to a block.
pub fn call(axes: &AxisPermutation, held: usize, at: At) -> Result<Call, LowerError> {
    let words = Words::of(axes, at)?;
    let most = held.min(MOST_HELD).min(at.limits.shared_bytes);
    let tile = words.best(BESIDE, LONGEST, |tile| tile.shared_bytes <= most);
    let tile = tile.ok_or(LowerError::NoKernel)?;
    Ok(Call {
        family: Family::IntoAxes,
        word: words.word,
        entry: "into_axes",
        groups: tile.blocks()?,
        threads: THREADS,
        shared_bytes: shared(tile.shared_bytes, at.limits)?,
        params: IntoAxesArgs {
            to: Address::default(),
            from: Address::default(),
            bytes: (axes.len() * at.elem_bytes) as u64,
            map: words.map(&tile)?,
        }
        .into(),
        workspace: WorkspacePart::None,
    })
}
