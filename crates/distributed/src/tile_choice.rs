//! Choice of the side of the square tiles that GPUs swap.

use turntile::Transpose;
use turntile::plan::Planner;
use turntile_cuda::GpuDevice;
use turntile_cuda::peers::{PeerBlock, Swap};

use crate::local::plan_stages;
use crate::peer_squares::PeerSquares;
use crate::redistribution::Redistribution;

/// Maximum number of tile sides whose time is estimated, largest first. Smaller sides are not
/// tried: sides of half a part or less already give enough independent tiles.
const MAX_SIDES: usize = 8;

/// Returns the tiles with the smallest estimated time on the first chip, or `None` if no tile side
/// is supported by all chips. The estimate is the local stage after the swap plus an in-place
/// transpose of all tiles, as if no tile left its rank. A core, whose border takes two more passes,
/// is taken only if no supported tiling covers the matrix.
pub fn fastest_tiles(change: &Redistribution, chips: &[&GpuDevice]) -> Option<PeerSquares> {
    let planner = Planner::new(GpuDevice::clone(chips.first()?));
    let plan = |request: &Transpose| Ok(planner.plan(&request.problem()?)?);
    let seconds = |squares: &PeerSquares| {
        let stages = [change.tile_transposes(squares), change.stages_after_swap(squares)].concat();
        let plans = plan_stages(&stages, plan).ok()?;
        Some(plans.iter().map(|(_, plan)| plan.seconds).sum::<f64>())
    };
    let (elem_bytes, ranks) = (change.itemsize(), change.ranks());
    let is_supported = |squares: &PeerSquares| {
        let pairs = (0..ranks).flat_map(|i| (0..ranks).map(move |j| (i, j)));
        let mut blocks = pairs.filter_map(|(i, j)| squares.block(i, j)).collect::<Vec<_>>();
        blocks.dedup();
        let lowers = |chip: &&GpuDevice, block: &PeerBlock| {
            Swap::lower(*block, elem_bytes, 16, chip.limits()).is_ok()
        };
        blocks.iter().all(|block| chips.iter().all(|chip| lowers(chip, block)))
    };
    let fastest = |candidates: &mut dyn Iterator<Item = PeerSquares>| {
        let candidates = candidates.filter(is_supported).take(MAX_SIDES);
        let timed = candidates.filter_map(|squares| Some((seconds(&squares)?, squares)));
        timed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, squares)| squares)
    };
    fastest(&mut change.squares()).or_else(|| fastest(&mut change.core_squares()))
}
