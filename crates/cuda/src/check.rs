//! Axis permutations in the format of the checking kernels.

use turntile_perm::{FusedAxes, MAX_RANK};

/// Rank, followed by the extents and the source strides of the axes, in the order of the result. Strides are in elements.
pub type PlainAxes = [u64; 1 + 2 * MAX_RANK];

/// Converts an axis permutation to the format of the checking kernels.
pub fn plain_axes(fused: &FusedAxes) -> PlainAxes {
    let (extents, order) = (fused.extents(), fused.order());
    let mut plain = [0; 1 + 2 * MAX_RANK];
    plain[0] = order.len() as u64;
    for (place, &axis) in order.iter().enumerate() {
        plain[1 + place] = extents[axis] as u64;
        plain[1 + MAX_RANK + place] = extents[axis + 1..].iter().product::<usize>() as u64;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_plan::Problem;

    /// Computes the source offset of the element at a result offset, as the kernel does.
    fn source(plain: &PlainAxes, offset: usize) -> usize {
        let (mut rest, mut from) = (offset as u64, 0);
        for axis in (0..plain[0] as usize).rev() {
            from += rest % plain[1 + axis] * plain[1 + MAX_RANK + axis];
            rest /= plain[1 + axis];
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
        }
    }
}
