//! Moves rows of tiles from one pitch to another, along chains. Most chains end in a gap.

use turntile_perm::TileRows;
use turntile_simd::Byte;

use crate::cycle_walk::VisitedBits;

/// Moves all runs. `scratch` has the size of two runs. `visited` has one bit per run position in
/// the source.
pub fn move_runs(
    data: &mut [Byte],
    runs: &TileRows,
    elem_bytes: usize,
    visited: VisitedBits,
    scratch: &mut [Byte],
) {
    let bytes = runs.side() * elem_bytes;
    let (mut carried, mut fetched) = scratch.split_at_mut(bytes);
    for start in 0..runs.places() {
        // A visited position is behind a run that has already moved on.
        let Some(mut next) = runs.succ(start).filter(|_| !visited.has(start)) else { continue };
        visited.set(start);
        carried.copy_from_slice(&data[start * bytes..][..bytes]);
        loop {
            let after = runs.succ(next).filter(|_| !visited.has(next));
            let dest = &mut data[next * bytes..][..bytes];
            if after.is_some() {
                visited.set(next);
                fetched.copy_from_slice(dest);
            }
            dest.copy_from_slice(carried);
            let Some(after) = after else { break };
            (carried, fetched) = (fetched, carried);
            next = after;
        }
    }
}
