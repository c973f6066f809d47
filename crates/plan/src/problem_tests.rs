//! Tests of problem validation.

use super::*;
use turntile_perm::RecordSchema;

#[test]
fn constructors_reject_sizes_beyond_address_space() {
    assert_eq!(Problem::new(3, 4, 8).unwrap().bytes(), 96);
    assert_eq!(Problem::new(3, 4, 0), Err(ProblemError::ZeroSizedElement));
    let huge = usize::MAX / 2;
    for (batch, rows, cols, elem_bytes) in
        [(1, huge, 3, 1), (1, huge, 1, 2), (0, huge, huge, 1), (huge, 2, 2, 1)]
    {
        let extents = [batch, rows, cols];
        let extents = if batch == 1 { &extents[1..] } else { &extents }.to_vec();
        assert_eq!(
            Problem::with_batch(batch, rows, cols, elem_bytes),
            Err(ProblemError::TooLarge { extents, elem_bytes })
        );
    }
    assert!(Problem::with_batch(0, 5, 5, 1).unwrap().is_empty());
}

#[test]
fn permuted_rejects_invalid_orders() {
    let problem = Problem::permuted(&[2, 3, 4], &[2, 0, 1], 8).unwrap();
    assert_eq!((problem.len(), problem.bytes()), (24, 192));
    assert_eq!(problem.matrices(), Some(MatrixBatch { batch: 1, rows: 6, cols: 4 }));
    assert_eq!(problem.to_string(), "2x3x4 axes 2,0,1 w8");
    for order in [&[0, 1][..], &[0, 1, 1], &[1, 2, 3], &[0, 1, 2, 3]] {
        assert!(matches!(Problem::permuted(&[2, 3, 4], order, 8), Err(ProblemError::Axes(_))));
    }
    let many = Problem::permuted(&[1; 65], &(0..65).collect::<Vec<_>>(), 1);
    assert_eq!(many, Err(ProblemError::TooManyAxes { axes: 65 }));
    let one = Problem::permuted(&[], &[], 3).unwrap();
    assert_eq!((one.len(), one.dest(0), one.axes().unwrap().is_identity()), (1, 0, true));
}

#[test]
fn dest_matches_numpy_transpose() {
    // np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1).ravel()
    let moved =
        [0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23];
    let problem = Problem::permuted(&[2, 3, 4], &[2, 0, 1], 1).unwrap();
    (0..24).for_each(|k| assert_eq!(moved[problem.dest(k)], k));
}

#[test]
fn kinds_are_mutually_exclusive() {
    let change = LayoutChange::new(RecordSchema::new(7, &[1, 2]).unwrap(), 1, 7);
    let records = Problem::for_records(change, 4).unwrap();
    assert_eq!(records.with_leading(3, 3), Err(ProblemError::Leading { with: "records" }));
    assert_eq!(records.out_of_place(), Err(ProblemError::OutOfPlace { what: "records" }));
    let dense = Problem::new(3, 5, 4).unwrap();
    let leading = dense.with_leading(5, 3).unwrap();
    assert_eq!(
        leading.out_of_place(),
        Err(ProblemError::OutOfPlace { what: "leading dimensions" })
    );
    let into = dense.out_of_place().unwrap();
    assert_eq!(
        into.with_leading(5, 3),
        Err(ProblemError::Leading { with: "an out-of-place result" })
    );
    assert_eq!(into.out_of_place(), Ok(into));
    assert_eq!(leading.with_leading(5, 3), Ok(leading));
}

#[test]
fn with_alignment_rounds_down_to_power_of_two_divisor() {
    for (given, expected) in [(0, 1), (1, 1), (3, 1), (24, 8), (64, 64), (usize::MAX, 1)] {
        assert_eq!(Problem::new(3, 5, 4).unwrap().with_alignment(given).alignment(), expected);
    }
}

/// Checks that source and result must each fit in the address space, including the gap after the
/// last row.
#[test]
fn rows_are_no_farther_apart_than_memory_is_long() {
    let dense = Problem::new(8, 8, 1).unwrap();
    let most = isize::MAX as usize / 8;
    for (lda, ldb) in [(most, 8), (8, most), (most, most)] {
        assert!(dense.with_leading(lda, ldb).is_ok());
    }
    for (lda, ldb) in [(most + 1, 8), (8, most + 1), (usize::MAX, 8), (8, usize::MAX)] {
        let error = ProblemError::TooFarApart { rows: 8, cols: 8, lda, ldb, elem_bytes: 1 };
        assert_eq!(dense.with_leading(lda, ldb), Err(error));
    }
}

/// Checks that maps whose length overflows, which only callers can build, are rejected, and that
/// offsets past the end are returned unchanged.
#[test]
fn of_stage_rejects_overflow_and_dest_ignores_offsets_past_end() {
    use crate::{Direction, Plan, StageMap};
    let slots = turntile_perm::AlignedSlots::new(720, 180, 4, 4).unwrap();
    let map = StageMap::SlotMove { batch: usize::MAX / 2, slots, direction: Direction::Forward };
    let planner = crate::Planner::new(crate::testing::Toy::default());
    let plan = planner.plan(&Problem::new(3, 5, 4).unwrap()).unwrap();
    let implementation = plan.stages().next().unwrap().implementation.clone();
    let overflow = Plan::from_stage("toy", map, implementation, 4);
    assert!(matches!(overflow, Err(ProblemError::TooLarge { .. })));
    let problem = Problem::permuted(&[2, 3, 4], &[2, 0, 1], 1).unwrap();
    assert_eq!([24, 25, 99].map(|k| problem.dest(k)), [24, 25, 99]);
    assert_eq!(Problem::new(0, 3, 1).unwrap().dest(5), 5);
}

#[test]
fn check_rejects_cut_when_element_count_overflows() {
    use crate::testing::Toy;
    let planner = crate::Planner::new(Toy { held: 1 << 20, ..Toy::default() });
    let cut = planner.with_route(crate::Route::CUT).with_mirrored(false);
    let mut plan = cut.plan(&Problem::new(101, 205, 4).unwrap()).unwrap();
    plan.phases[0].stages[0].elems_per_unit = usize::MAX;
    assert!(matches!(plan.check(), Err(crate::InvalidPlan::Length { number: 1, .. })));
}
