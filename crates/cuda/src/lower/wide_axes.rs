//! Barrier-sync over a cluster or the grid, axes in any order.

use turntile_perm::AxisPermutation;

use super::axes_tile::{Tile, Words};
use super::fit::{At, groups, threads_for};
use crate::args::Address;
use crate::args::axes_tile::WideAxesArgs;
use crate::call::{Call, WorkspacePart, widest_word};
use crate::error::LowerError;
use crate::family::Family;

/// Bytes that a row of a tile and a column count more than they have. (A guess, as of `into_axes.rs`.)
const BESIDE: [usize; 2] = [32, 64];

const MOST_THREADS: usize = 1024;

/// One instance cut into tiles, `blocks` at most.
struct Cut {
    words: Words,
    tile: Tile,
    bytes: usize,
}

impl Cut {
    fn new(axes: &AxisPermutation, blocks: usize, at: At) -> Result<Self, LowerError> {
        let one = axes.without_batch();
        let (bytes, limits) = (one.len() * at.elem_bytes, at.limits);
        // Instances begin where their length lets them.
        let alignment =
            if axes.batch() > 1 { widest_word(&[at.alignment, bytes]) } else { at.alignment };
        let have = blocks * limits.shared_bytes;
        if bytes > have {
            return Err(LowerError::OnChip { need: bytes, have });
        }
        let words = Words::of(&one, At { alignment, ..at })?;
        let fits = |tile: &Tile| tile.shared_bytes <= limits.shared_bytes;
        let tile = words.split(BESIDE, blocks, limits.shared_bytes, fits);
        let tile = tile.ok_or(LowerError::OnChip { need: bytes, have })?;
        Ok(Cut { words, tile, bytes })
    }

    fn call(
        &self,
        (family, entry): (Family, &'static str),
        blocks: usize,
        instances: usize,
    ) -> Result<Call, LowerError> {
        Ok(Call {
            family,
            word: self.words.word,
            entry,
            groups: groups(blocks)?,
            threads: threads_for(self.tile.shared_bytes, MOST_THREADS) as u32,
            shared_bytes: self.tile.shared_bytes as u32,
            params: WideAxesArgs {
                data: Address::default(),
                bytes: (instances * self.bytes) as u64,
                instance_bytes: self.bytes as u64,
                tiles: self.tile.blocks()?,
                pad: 0,
                map: self.words.map(&self.tile)?,
            }
            .into(),
            workspace: WorkspacePart::None,
        })
    }
}

/// An instance across the shared memories of a cluster of `blocks`.
pub fn cluster(axes: &AxisPermutation, blocks: usize, at: At) -> Result<Call, LowerError> {
    if at.limits.cluster < blocks {
        return Err(LowerError::NoBarrier { scope: "a cluster" });
    }
    let entry = match blocks {
        8 => "barrier_cluster_axes_8",
        16 => "barrier_cluster_axes_16",
        _ => return Err(LowerError::NoKernel),
    };
    let instances = axes.batch();
    let cut = Cut::new(axes, blocks, at)?;
    let all =
        instances.checked_mul(blocks).ok_or(LowerError::TooManyBlocks { blocks: usize::MAX })?;
    cut.call((Family::ClusterAxes, entry), all, instances)
}

/// All of it across the shared memories of the device.
pub fn grid(axes: &AxisPermutation, at: At) -> Result<Call, LowerError> {
    if !at.limits.cooperative {
        return Err(LowerError::NoBarrier { scope: "the grid" });
    }
    if axes.batch() != 1 {
        return Err(LowerError::NoKernel);
    }
    let cut = Cut::new(axes, at.limits.units, at)?;
    cut.call((Family::GridAxes, "barrier_grid_axes"), cut.tile.tiles, 1)
}
