//! Axis permutations in the format of the checking kernels.

use turntile_perm::{FlippedAxes, FusedAxes, MAX_RANK};

/// Rank and source of the first element, followed by the extents and the source strides of the axes, in the order of the
/// result. Strides are in elements, and negative (modulo 2^64) for reversed axes.
pub type PlainAxes = [u64; 2 + 2 * MAX_RANK];

/// Converts an axis permutation to the format of the checking kernels.
pub fn plain_axes(fused: &FusedAxes) -> PlainAxes {
    plain(fused.extents(), fused.order().iter().map(|&axis| (axis, false)))
}

/// Converts an axis permutation that reverses axes to the format of the checking kernels.
pub fn plain_flipped(axes: &FlippedAxes) -> PlainAxes {
    plain(axes.extents(), axes.order().map(|axis| (axis, axes.is_reversed(axis))))
}

/// Converts axes of the result: the number of the source axis of each, and whether it is reversed.
fn plain(extents: &[usize], order: impl ExactSizeIterator<Item = (usize, bool)>) -> PlainAxes {
    let mut plain = [0; 2 + 2 * MAX_RANK];
    plain[0] = order.len() as u64;
    for (place, (axis, reversed)) in order.enumerate() {
        let (extent, stride) =
            (extents[axis] as u64, extents[axis + 1..].iter().product::<usize>() as u64);
        plain[1] += if reversed { (extent - 1) * stride } else { 0 };
        plain[2 + place] = extent;
        plain[2 + MAX_RANK + place] = if reversed { stride.wrapping_neg() } else { stride };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_plan::Problem;

    /// Computes the source offset of the element at a result offset, as the kernel does.
    fn source(plain: &PlainAxes, offset: usize) -> usize {
        let (mut rest, mut from) = (offset as u64, plain[1]);
        for axis in (0..plain[0] as usize).rev() {
            let step = (rest % plain[2 + axis]).wrapping_mul(plain[2 + MAX_RANK + axis]);
            (rest, from) = (rest / plain[2 + axis], from.wrapping_add(step));
        }
        from as usize
    }

    #[test]
    fn elements_come_from_where_they_were() {
        let many: Vec<usize> = (0..10).rev().collect();
        for (extents, order) in [
            (&[3, 4, 5, 2][..], &[2, 0, 3, 1][..]),
            (&[7, 1, 6], &[2, 1, 0]),
            (&[12], &[0]),
            (&[2, 5, 3, 4, 7], &[0, 3, 2, 1, 4]),
            (&[], &[]),
            (&[2; 10], &many),
        ] {
            let problem = Problem::permuted(extents, order, 4).unwrap();
            let plain = plain_axes(&problem.fused());
            assert!((0..problem.len()).all(|k| source(&plain, problem.dest(k)) == k), "{problem}");
            let flip: Vec<usize> = (0..extents.len()).step_by(2).collect();
            let problem = problem.with_flip(&flip).unwrap();
            let plain = plain_flipped(&problem.flipped_axes().unwrap());
            assert!((0..problem.len()).all(|k| source(&plain, problem.dest(k)) == k), "{problem}");
        }
    }
}
