//! Barrier-sync: an instance is read whole into scratch, permuted on the way, then written back.

use std::sync::{Mutex, PoisonError};

use turntile_perm::{AxisPermutation, Elementary};

use crate::parts;
use crate::permuted::{Moved, Permuted};
use turntile_simd::{self as simd, Block, Byte};

/// Every instance of `axes` through scratch of its own size; `parts` threads draw instances. Scratch for each part: the bytes of an instance.
pub fn run(
    data: &mut [Byte],
    axes: &AxisPermutation,
    elem_bytes: usize,
    parts: usize,
    scratch: &mut [Byte],
) {
    let batch = axes.batch();
    let instance_bytes = data.len() / batch.max(1);
    let instance = axes.without_batch();
    let elementary = axes.elementary();
    let permuted = Permuted::new(&instance, elem_bytes);
    let turn = parts::turn(batch, parts) * instance_bytes;
    let turns = Mutex::new(data.chunks_mut(turn.max(1)));
    let each = scratch.len() / parts.max(1);
    parts::run_on(0..parts, scratch, each.min(instance_bytes), |_, scratch| {
        // The lock is let go before the work.
        let draw = || turns.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(instances) = draw() {
            for instance in instances.chunks_exact_mut(instance_bytes) {
                match elementary {
                    Some(e) => swapped(instance, e, elem_bytes, scratch),
                    None => any(instance, &permuted, scratch),
                }
                instance.copy_from_slice(scratch);
            }
        }
    });
}

/// `scratch = instance` with its axes in any order.
fn any(instance: &[Byte], permuted: &Permuted, scratch: &mut [Byte]) {
    let unit_bytes = permuted.unit_bytes();
    for Moved { from, to, block } in (0..permuted.blocks()).map(|n| permuted.nth(n)) {
        simd::transpose(&instance[from..], &mut scratch[to..], block, unit_bytes);
    }
}

/// `scratch = instance` with two groups of axes swapped.
fn swapped(instance: &[Byte], e: Elementary, elem_bytes: usize, scratch: &mut [Byte]) {
    let Elementary { rows, mid, cols, unit, .. } = e;
    let unit_bytes = unit * elem_bytes;
    // [rows][mid][cols] to [cols][mid][rows]: for each mid, a block with pitches mid times as long.
    let block = Block { rows, cols, from_pitch: mid * cols, to_pitch: mid * rows };
    for m in 0..mid {
        let from = &instance[m * cols * unit_bytes..];
        simd::transpose(from, &mut scratch[m * rows * unit_bytes..], block, unit_bytes);
    }
}
