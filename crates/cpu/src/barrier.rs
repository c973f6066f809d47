//! Barrier-sync: an instance is read whole into scratch, permuted on the way, then written back.

use std::sync::{Mutex, PoisonError};

use turntile_perm::AxisPermutation;

use crate::parallel;
use crate::plane_tiling::PlaneTiling;
use turntile_simd::Byte;

/// Every instance of `axes` through scratch of its own size; `parts` threads draw instances. Scratch for each part: the
/// bytes of an instance.
pub fn run(
    data: &mut [Byte],
    axes: &AxisPermutation,
    elem_bytes: usize,
    parts: usize,
    scratch: &mut [Byte],
) {
    let batch = axes.batch();
    let instance_bytes = data.len() / batch.max(1);
    let planes = PlaneTiling::of_axes(&axes.without_batch(), elem_bytes).whole_planes();
    let turn = parallel::grain(batch, parts) * instance_bytes;
    let turns = Mutex::new(data.chunks_mut(turn.max(1)));
    let each = scratch.len() / parts.max(1);
    parallel::for_each_thread(0..parts, scratch, each.min(instance_bytes), |_, scratch| {
        // The lock is let go before the work.
        let draw = || turns.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(instances) = draw() {
            for instance in instances.chunks_exact_mut(instance_bytes) {
                planes.transpose(instance, scratch);
                instance.copy_from_slice(scratch);
            }
        }
    });
}
