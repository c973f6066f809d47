//! Barrier-sync: an instance is permuted into scratch as a whole, then copied back.

use std::sync::{Mutex, PoisonError};

use turntile_perm::AxisPermutation;

use crate::parallel;
use crate::plane_tiling::PlaneTiling;
use turntile_simd::Byte;

/// Permutes every instance of `axes` through scratch; `threads` threads claim instances. Scratch:
/// the bytes of one instance per thread.
pub fn run(
    data: &mut [Byte],
    axes: &AxisPermutation,
    elem_bytes: usize,
    threads: usize,
    scratch: &mut [Byte],
) {
    let batch = axes.batch();
    let instance_bytes = data.len() / batch.max(1);
    let planes = PlaneTiling::of_axes(&axes.without_batch(), elem_bytes).whole_planes();
    let grain = parallel::grain(batch, threads) * instance_bytes;
    let queue = Mutex::new(data.chunks_mut(grain.max(1)));
    let each = scratch.len() / threads.max(1);
    parallel::for_each_thread(0..threads, scratch, each.min(instance_bytes), |_, scratch| {
        // The lock is released before the work.
        let claim = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(instances) = claim() {
            for instance in instances.chunks_exact_mut(instance_bytes) {
                planes.transpose(instance, scratch);
                instance.copy_from_slice(scratch);
            }
        }
    });
}
