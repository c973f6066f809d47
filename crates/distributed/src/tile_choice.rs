//! In which squares blocks change places between GPUs.

use turntile::Transpose;
use turntile::plan::Planner;
use turntile_cuda::Chip;
use turntile_cuda::peers::Swap;
use turntile_perm::PeerSquares;

use crate::local::planned;
use crate::redistribution::Redistribution;

/// Sides that are tried, the largest of those that there are: half of a side or less leaves more than enough to do side by side.
const MOST_SIDES: usize = 8;

/// Those that launches on all chips can swap, of which the local stage is estimated to take least, together with turning them as
/// if none left its rank.
pub fn fastest(change: &Redistribution, chips: &[&Chip]) -> Option<PeerSquares> {
    let planner = Planner::new(Chip::clone(chips.first()?));
    let plan = |asked: &Transpose| Ok(planner.plan(&asked.problem()?)?);
    let seconds = |squares: &PeerSquares| {
        let stages = [change.turning(squares), change.after_squares(squares)].concat();
        let plans = planned(&stages, plan).ok()?;
        Some(plans.iter().map(|(_, plan)| plan.seconds).sum::<f64>())
    };
    let lowers = |squares: &PeerSquares| {
        let elem_bytes = change.elem_bytes();
        chips.iter().all(|chip| Swap::lower(squares, elem_bytes, chip.limits()).is_ok())
    };
    let able = change.squares().filter(lowers).take(MOST_SIDES);
    let timed = able.filter_map(|squares| Some((seconds(&squares)?, squares)));
    timed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, squares)| squares)
}
