//! Where the launches of a stage have their addresses: most in the whole matrix, those for leading dimensions in parts of
//! it and in the workspace.

use turntile_plan::{Method, StageShape};

use crate::args::Second;
use crate::buffers::Spot;
use crate::launches::Launches;
use crate::lower::rest;

/// The first and second address of each launch. `kept` bytes at the workspace's start hold what is kept of gaps.
pub fn of(launches: &Launches, kept: usize) -> impl Iterator<Item = [Spot; 2]> {
    let (data, own) = (Spot::Data(0), Spot::Workspace(kept));
    let of = move |number: usize| {
        let reads = launches.calls()[number].params().second() == Some(Second::Source);
        match (launches.shape(), launches.way().method()) {
            (_, Method::Keep) => [data, Spot::Workspace(0)],
            (_, Method::ThroughWorkspace) => [[own, data], [data, own]][number.min(1)],
            (StageShape::Turn(leading), _) if reads => {
                let (_, [from, to]) = rest(leading, launches.elem_bytes());
                [Spot::Data(to), Spot::Data(from)]
            }
            _ if reads => [data, Spot::Source(0)],
            _ => [data, own],
        }
    };
    (0..launches.calls().len()).map(of)
}
