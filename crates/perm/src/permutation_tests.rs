//! Tests of axis permutations against their definition.

use super::*;
use proptest::prelude::*;

/// Returns the destination of every source offset, computed from the definition.
fn dest_by_loops(extents: &[usize], order: &[usize]) -> Vec<usize> {
    let stride = |axis: usize| -> usize {
        let position = order.iter().position(|&other| other == axis).unwrap();
        order[position + 1..].iter().map(|&later| extents[later]).product()
    };
    let mut dest = vec![0];
    for (axis, &extent) in extents.iter().enumerate() {
        let step = stride(axis);
        dest = dest.iter().flat_map(|&at| (0..extent).map(move |i| at + i * step)).collect();
    }
    dest
}

fn orders(rank: usize) -> Vec<Vec<usize>> {
    (0..rank).fold(vec![vec![]], |all, axis| {
        all.iter()
            .flat_map(|order| {
                (0..=order.len()).map(move |at| {
                    let mut longer = order.clone();
                    longer.insert(at, axis);
                    longer
                })
            })
            .collect()
    })
}

fn check(extents: &[usize], order: &[usize]) {
    let p = AxisPermutation::new(extents, order).unwrap();
    let dest = dest_by_loops(extents, order);
    assert_eq!(p.len(), dest.len());
    let axes = p.strided_axes();
    for (offset, &to) in dest.iter().enumerate() {
        let moved = |axis: StridedAxis| offset / axis.src_stride % axis.extent * axis.dst_stride;
        assert_eq!(axes.clone().map(moved).sum::<usize>(), to, "{extents:?} {order:?} at {offset}");
        assert_eq!(p.dest(offset), to, "{extents:?} {order:?} at {offset}");
        assert_eq!(p.inverse().dest(to), offset, "{extents:?} {order:?} at {to}");
    }
    let moves = dest.iter().enumerate().any(|(from, &to)| from != to);
    assert_eq!(p.is_identity(), !moves, "{extents:?} {order:?}");
    assert_eq!(p.inverse().inverse(), p);
    let is_involution = dest.iter().enumerate().all(|(from, &to)| dest[to] == from);
    assert_eq!(p.is_involution(), is_involution, "{extents:?} {order:?}");
    if let Some(e) = p.elementary() {
        let [batch, rows, mid, cols, unit] = [e.batch, e.rows, e.mid, e.cols, e.unit];
        let by_axes = AxisPermutation::new(&[batch, rows, mid, cols, unit], &[0, 3, 2, 1, 4]);
        assert_eq!(Ok(AxisPermutation::from(e)), by_axes);
        let units = e.instance_units();
        for k in 0..p.len() {
            let (first, s) = (k / unit / units * units, k / unit % units);
            let to = (first + e.succ(s)) * unit + k % unit;
            assert_eq!(to, p.dest(k), "{extents:?} {order:?}: {e:?}");
        }
        assert!(p.is_empty() || AxisPermutation::from(e) == p);
    }
    let (one, units) = (p.without_batch(), p.without_unit());
    let scaled = |k: usize| units.dest(k / p.unit()) * p.unit() + k % p.unit();
    assert!((0..p.len()).all(|k| scaled(k) == p.dest(k)), "{extents:?} {order:?}");
    assert!((0..one.len()).all(|k| one.dest(k) == p.dest(k)), "{extents:?} {order:?}");
    // Super-elements move as one run, and every element stays in its instance.
    let (unit, instance) = (p.unit(), p.len() / p.batch().max(1));
    for (from, &to) in dest.iter().enumerate() {
        assert_eq!(to % unit, from % unit);
        assert_eq!(to / instance, from / instance);
    }
}

#[test]
fn maps_match_the_definition_for_small_arrays() {
    for rank in 0..6usize {
        let most = if rank < 5 { 3 } else { 2usize };
        for code in 0..(most + 1).pow(rank as u32) {
            let extent = |axis: usize| code / (most + 1).pow(axis as u32) % (most + 1);
            let extents: Vec<usize> = (0..rank).map(extent).collect();
            orders(rank).iter().for_each(|order| check(&extents, order));
        }
    }
}

/// Checks that `From<Elementary>` and `AxisPermutation::new` agree for all extents below 4.
#[test]
fn elementary_converts_to_the_same_axis_permutation() {
    for code in 0..4usize.pow(5) {
        let [batch, rows, mid, cols, unit] = [0, 1, 2, 3, 4].map(|k| code / 4usize.pow(k) % 4);
        let e = Elementary { batch, rows, mid, cols, unit };
        let by_axes = AxisPermutation::new(&[batch, rows, mid, cols, unit], &[0, 3, 2, 1, 4]);
        assert_eq!(Ok(AxisPermutation::from(e)), by_axes, "{e:?}");
    }
}

#[test]
fn form_classifies_every_order() {
    let e = |batch, rows, mid, cols, unit| Elementary { batch, rows, mid, cols, unit };
    let matrices = [e(1, 7, 1, 5, 1), e(9, 7, 1, 7, 1), e(3, 9, 1, 7, 5), e(1, 4, 1, 16, 1)];
    let tiles = [e(2, 8, 3, 8, 1), e(1, 8, 3, 8, 1)];
    let strided = [e(2, 8, 3, 4, 1), e(2, 8, 3, 8, 2), e(1, 2, 3, 4, 5)];
    let form = |e: Elementary| AxisPermutation::from(e).form();
    matrices.into_iter().for_each(|e| assert_eq!(form(e), SwapKind::Transpose(e)));
    tiles.into_iter().for_each(|e| assert_eq!(form(e), SwapKind::SquareTiles(e)));
    strided.into_iter().for_each(|e| assert_eq!(form(e), SwapKind::Strided(e)));
    assert_eq!(form(e(2, 1, 3, 1, 5)), SwapKind::Transpose(e(1, 1, 1, 30, 1)));
    let general = AxisPermutation::new(&[2, 3, 4, 5], &[2, 0, 3, 1]).unwrap();
    assert_eq!(general.form(), SwapKind::General);
}

/// Checks that permutations with equal index maps have equal fused axes.
#[test]
fn permutations_with_equal_maps_are_equal() {
    let p = |extents: &[usize], order: &[usize]| AxisPermutation::new(extents, order).unwrap();
    assert_eq!(p(&[2, 3, 4], &[2, 0, 1]), p(&[6, 4], &[1, 0]));
    assert_eq!(p(&[1, 6, 1, 4], &[2, 3, 0, 1]), p(&[6, 4], &[1, 0]));
    assert_eq!(p(&[6, 4], &[0, 1]), p(&[24], &[0]));
    assert_eq!(p(&[6, 0, 4], &[2, 1, 0]), p(&[0], &[0]));
    assert_eq!(p(&[], &[]), p(&[1, 1], &[1, 0]));
}

#[test]
fn names_match_the_thesis() {
    let shown = |extents: &[usize], order: &[usize]| {
        AxisPermutation::new(extents, order).unwrap().to_string()
    };
    assert_eq!(shown(&[7, 5], &[1, 0]), "010!(7x5)");
    assert_eq!(shown(&[9, 7, 5], &[0, 2, 1]), "010!(9*7x5)");
    assert_eq!(shown(&[9, 7, 5], &[1, 0, 2]), "100!(9x7, unit 5)");
    assert_eq!(shown(&[2, 9, 7, 5], &[0, 2, 1, 3]), "0100!(2*9x7, unit 5)");
    assert_eq!(shown(&[2, 8, 3, 8], &[0, 3, 2, 1]), "0210!(2*8x3x8)");
    assert_eq!(shown(&[8, 3, 8], &[2, 1, 0]), "210!(8x3x8)");
    assert_eq!(shown(&[8, 3, 8, 5], &[2, 1, 0, 3]), "2100!(8x3x8, unit 5)");
    assert_eq!(shown(&[2, 8, 3, 8, 4], &[0, 3, 2, 1, 4]), "02100!(2*8x3x8, unit 4)");
    assert_eq!(shown(&[9, 7, 5, 4], &[1, 0, 3, 2]), "1010!(9x7x5x4)");
    assert_eq!(shown(&[2, 9, 7, 5, 4], &[0, 2, 1, 4, 3]), "01010!(2x9x7x5x4)");
    assert_eq!(shown(&[2, 3, 4, 5], &[2, 0, 3, 1]), "2010!(2x3x4x5)");
}

#[test]
fn invalid_permutations_are_rejected() {
    let error =
        |extents: &[usize], order: &[usize]| AxisPermutation::new(extents, order).unwrap_err();
    for order in [&[0][..], &[0, 0], &[0, 2], &[0, 1, 2]] {
        assert_eq!(
            error(&[2, 3], order),
            PermutationError::Order { axes: 2, order: order.to_vec() }
        );
    }
    let huge = [usize::MAX, 0, 2];
    assert_eq!(error(&huge, &[0, 1, 2]), PermutationError::Overflow { extents: huge.to_vec() });
    let reversed: Vec<usize> = (0..=MAX_FUSED_RANK).rev().collect();
    let too_many = PermutationError::TooMany { axes: MAX_FUSED_RANK + 1 };
    assert_eq!(error(&[2; MAX_FUSED_RANK + 1], &reversed), too_many);
    let unmoved: Vec<usize> = (0..40).collect();
    assert!(AxisPermutation::new(&[2; 40], &unmoved).unwrap().is_identity());
}

proptest! {
    #[test]
    fn maps_match_strides_for_large_arrays(
        order in Just((0..6).collect::<Vec<usize>>()).prop_shuffle(),
        extents in proptest::collection::vec(1usize..1 << 10, 6),
        offset: usize,
    ) {
        let p = AxisPermutation::new(&extents, &order).unwrap();
        let offset = offset % p.len();
        let to = p.dest(offset);
        prop_assert_eq!(p.inverse().dest(to), offset);
        // Computes the destination from strides.
        let (mut rest, mut by_strides) = (offset, 0);
        for axis in (0..6).rev() {
            let position = order.iter().position(|&other| other == axis).unwrap();
            let stride: usize = order[position + 1..].iter().map(|&a| extents[a]).product();
            by_strides += rest % extents[axis] * stride;
            rest /= extents[axis];
        }
        prop_assert_eq!(to, by_strides);
    }
}

#[test]
fn offsets_past_the_end_are_unchanged() {
    for (extents, order) in [(&[3, 5][..], &[1, 0][..]), (&[0, 3], &[1, 0]), (&[], &[])] {
        let axes = AxisPermutation::new(extents, order).unwrap();
        (axes.len()..axes.len() + 40).for_each(|k| assert_eq!(axes.dest(k), k));
    }
    let change = crate::LayoutChange::new(crate::RecordSchema::new(5, &[1, 2]).unwrap(), 1, 5);
    assert_eq!([15, 99].map(|k| change.dest(k)), [15, 99]);
}

/// Checks arguments that the planner never passes: counts of 0, an invalid order, and steps of 3
/// axes.
#[test]
fn degenerate_arguments_do_not_panic() {
    let square = AxisPermutation::new(&[400, 400], &[1, 0]).unwrap();
    assert_eq!(crate::TilePairs::new(&square, 400, 0), crate::TilePairs::new(&square, 400, 1));
    let fused = crate::FusedAxes::new(&[2, 3], &[1, 0]).unwrap();
    assert!(fused.involution_midpoints(&[7], &[7], 1).is_empty());
    let four = crate::FusedAxes::new(&[2, 3, 5, 7], &[0, 2, 1, 3]).unwrap();
    assert_eq!(four.waypoints(3), four.waypoints(4));
    assert_eq!(crate::row_slide::split_evenly(5, 0, 0), 0..5);
    assert_eq!(crate::RowSlide::new(3, 2, 2, 4).unwrap().blocks(0), 6);
}

#[test]
#[should_panic = "do not keep their order"]
fn run_by_run_panics_when_the_matrix_is_transposed() {
    crate::LeadingDims::transposed(2, 3, 5, 4).unwrap().run_by_run(|_, _, _| {});
}
