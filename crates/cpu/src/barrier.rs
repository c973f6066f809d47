//! Barrier-sync: an instance is read whole into scratch, transposed on the way, then written back.

use turntile_perm::Elementary;

use crate::parts;
use turntile_simd::{self as simd, Block, Byte};

/// Every instance of `shape` through scratch of its own size; instances are shared out over
/// `parts` threads. Scratch for each part: the bytes of an instance.
pub fn run(
    data: &mut [Byte],
    shape: Elementary,
    elem_bytes: usize,
    parts: usize,
    scratch: &mut [Byte],
) {
    let instance_bytes = shape.instance_len() * elem_bytes;
    let shares = split(data, shape.batch, instance_bytes, parts);
    let each = scratch.len() / parts.max(1);
    parts::run_on(shares, scratch, each.min(instance_bytes), |share, scratch| {
        for instance in share.chunks_exact_mut(instance_bytes) {
            through_scratch(instance, shape, elem_bytes, scratch);
            instance.copy_from_slice(scratch);
        }
    });
}

/// `scratch = instance` with its axes swapped.
fn through_scratch(instance: &[Byte], shape: Elementary, elem_bytes: usize, scratch: &mut [Byte]) {
    let Elementary { rows, mid, cols, unit, .. } = shape;
    let unit_bytes = unit * elem_bytes;
    // [rows][mid][cols] to [cols][mid][rows]: for each mid, a block with pitches mid times as long.
    let block = Block { rows, cols, from_pitch: mid * cols, to_pitch: mid * rows };
    for m in 0..mid {
        let from = &instance[m * cols * unit_bytes..];
        simd::transpose(from, &mut scratch[m * rows * unit_bytes..], block, unit_bytes);
    }
}

/// `data` cut into `parts` runs of whole instances.
fn split(data: &mut [Byte], instances: usize, bytes: usize, parts: usize) -> Vec<&mut [Byte]> {
    let mut rest = data;
    (0..parts)
        .map(|part| {
            let share = parts::share(instances, parts, part).len() * bytes;
            rest.split_off_mut(..share).expect("shares add up to the whole")
        })
        .collect()
}
