//! Rows of tiles from one pitch to another: along chains, most of which end in a gap.

use turntile_perm::TileRows;
use turntile_simd::Byte;

use crate::cycle_walk::VisitedBits;

/// Moves all runs, with room for two in `scratch`. `marks` are of their places before.
pub fn move_runs(
    data: &mut [Byte],
    runs: &TileRows,
    elem_bytes: usize,
    marks: VisitedBits,
    scratch: &mut [Byte],
) {
    let bytes = runs.side() * elem_bytes;
    let (mut carried, mut fetched) = scratch.split_at_mut(bytes);
    for start in 0..runs.places() {
        // What has been taken is behind one that has gone on.
        let Some(mut next) = runs.succ(start).filter(|_| !marks.has(start)) else { continue };
        marks.set(start);
        carried.copy_from_slice(&data[start * bytes..][..bytes]);
        loop {
            let after = runs.succ(next).filter(|_| !marks.has(next));
            let place = &mut data[next * bytes..][..bytes];
            if after.is_some() {
                marks.set(next);
                fetched.copy_from_slice(place);
            }
            place.copy_from_slice(carried);
            let Some(after) = after else { break };
            (carried, fetched) = (fetched, carried);
            next = after;
        }
    }
}
