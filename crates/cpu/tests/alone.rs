//! Tests of stages assembled by hand: each runs as its map specifies, or is rejected with the data
//! unchanged.

use crate::numbered;
use crate::stages::Elsewhere;
use turntile_cpu::kernel_config::{CpuKernelConfig, KernelLimits};
use turntile_cpu::{Byte, Executor, RunError, Workspace, transpose_into};
use turntile_perm::{
    AlignedSlots, AxisPermutation, Elementary, LayoutChange, LeadingDims, PitchedRows,
    RecordSchema, RowSlide,
};
use turntile_plan::{
    Direction, Implementation, InvalidPlan, LaunchConfig, Method, SavedGaps, StageMap,
};

fn elsewhere(method: Method) -> Implementation {
    Implementation::new(method, LaunchConfig::new(Elsewhere), 0, 0.0)
}

/// All methods, for any stage map.
const METHODS: [Method; 12] = [
    Method::TileSwap,
    Method::BarrierSync,
    Method::PttwacOnChip,
    Method::PttwacGlobal,
    Method::PIpt,
    Method::Rounds,
    Method::Shares,
    Method::Blocks,
    Method::OutOfPlace,
    Method::ThroughWorkspace,
    Method::SaveGaps,
    Method::GapSwap,
];

/// Checks that the transposition of rows is rejected for a slide: its pitches may be too short for
/// the transpose, and threads would write data that others read.
#[test]
fn transpose_rows_is_rejected_when_rows_slide() {
    for (rows, cols, lda, ldb) in [(3, 5, 5, 5), (1 << 20, 2, 3, 3), (4, 4, 6, 8)] {
        let map = StageMap::TransposeRows(LeadingDims::row_slide(rows, cols, lda, ldb).unwrap());
        for method in [Method::TileSwap, Method::ThroughWorkspace] {
            assert!(CpuKernelConfig::new(&map, 1, method, KernelLimits::new(2, 1 << 30)).is_none());
            let error = Executor::of_stage(map.clone(), elsewhere(method), 1, 2).unwrap_err();
            assert!(
                matches!(error, RunError::Plan(InvalidPlan::Method { number: 1, .. })),
                "{error}"
            );
        }
    }
}

/// Checks that a single stage for gaps is rejected: it would restore gaps that no stage has saved.
#[test]
fn restore_of_gaps_is_rejected_when_none_were_saved() {
    let gaps = SavedGaps::new(LeadingDims::transposed(3, 2, 4, 5).unwrap());
    for direction in [Direction::Forward, Direction::Backward] {
        let map = StageMap::Gaps { gaps, direction };
        let of_cpu =
            CpuKernelConfig::new(&map, 4, Method::SaveGaps, KernelLimits::new(1, 1 << 20)).unwrap();
        for config in [LaunchConfig::new(of_cpu), LaunchConfig::new(Elsewhere)] {
            let implementation = Implementation::new(Method::SaveGaps, config, 0, 0.0);
            let error = Executor::of_stage(map.clone(), implementation, 4, 1).unwrap_err();
            assert!(matches!(error, RunError::Plan(InvalidPlan::Leading { .. })), "{error}");
        }
    }
}

#[test]
fn empty_maps_have_no_implementation() {
    let slots = AlignedSlots::new(12, 7, 4, 4).unwrap();
    let empty_rows = PitchedRows::new(3, 0, 2).unwrap();
    let direction = Direction::Forward;
    let change = LayoutChange::new(RecordSchema::new(0, &[1, 2]).unwrap(), 1, 7);
    let axes = |extents: &[usize], order| AxisPermutation::new(extents, order).unwrap();
    for map in [
        StageMap::Axes(axes(&[0], &[0])),
        StageMap::Axes(axes(&[0, 7], &[1, 0])),
        StageMap::SlotMove { batch: 0, slots, direction },
        StageMap::SlotGather { batch: 0, slots, direction },
        StageMap::RecordTiles(change),
        StageMap::TransposeRows(LeadingDims::transposed(0, 1, 2, 2).unwrap()),
        StageMap::TransposeRows(LeadingDims::transposed(1, 0, 2, 2).unwrap()),
        StageMap::SwapGaps { rows: empty_rows, direction },
        StageMap::Cut { rows: PitchedRows::new(0, 3, 5).unwrap(), direction },
        StageMap::Slide(RowSlide::new(0, 3, 5, 4).unwrap()),
    ] {
        for method in METHODS {
            assert!(
                CpuKernelConfig::new(&map, 4, method, KernelLimits::new(2, 1 << 20)).is_none(),
                "{map}"
            );
            let error = Executor::of_stage(map.clone(), elsewhere(method), 4, 2);
            assert!(matches!(error, Err(RunError::Plan(_))), "{map} {method}");
        }
    }
    let map = StageMap::from(Elementary { batch: 1, rows: 5, mid: 1, cols: 7, unit: 1 });
    for method in METHODS {
        assert!(
            CpuKernelConfig::new(&map, 0, method, KernelLimits::new(1, 1 << 20)).is_none(),
            "{method}"
        );
    }
}

#[test]
fn out_of_place_stage_is_rejected_when_run_in_place() {
    let map = StageMap::Axes(AxisPermutation::new(&[3, 5], &[1, 0]).unwrap());
    let config =
        CpuKernelConfig::new(&map, 1, Method::OutOfPlace, KernelLimits::new(1, 1 << 20)).unwrap();
    let implementation = Implementation::new(Method::OutOfPlace, LaunchConfig::new(config), 0, 0.0);
    let executor = Executor::of_stage(map, implementation, 1, 1).unwrap();
    let mut data = numbered(15, 1);
    let error = executor.run_bytes(&mut data, &mut Workspace::new(0).unwrap());
    assert_eq!(error, Err(RunError::Plan(InvalidPlan::WrongDestination { out_of_place: true })));
    assert_eq!(data, numbered(15, 1));
    let from: Vec<Byte> = data.iter().copied().map(Byte::new).collect();
    let mut to = vec![Byte::new(0); 15];
    executor.run_into(&mut to, &from).unwrap();
    for (to, from) in [(14, 15), (16, 15), (15, 14), (15, 16)] {
        let (mut to, from) = (vec![Byte::new(0); to], vec![Byte::new(1); from]);
        let got = if to.len() == 15 { from.len() } else { to.len() };
        let error = executor.run_into(&mut to, &from);
        assert_eq!(error, Err(RunError::Length { expected: 15, got }));
    }
}

/// Checks that no byte depends on the pitch of a single row.
#[test]
fn single_row_may_have_any_pitch() {
    for (rows, cols, pitch) in [(3, 1, [2, 1 << 61]), (1, 3, [1 << 61, 2]), (1, 1, [1 << 61; 2])] {
        let leading = LeadingDims::transposed(rows, cols, pitch[0], pitch[1]).unwrap();
        let map = StageMap::TransposeRows(leading);
        let mut ran = 0;
        for method in [Method::ThroughWorkspace, Method::TileSwap] {
            let Some(config) = CpuKernelConfig::new(&map, 8, method, KernelLimits::new(1, 1 << 20))
            else {
                continue;
            };
            let implementation = Implementation::new(
                method,
                LaunchConfig::new(config.clone()),
                config.resources().bytes(),
                0.0,
            );
            let executor = Executor::of_stage(map.clone(), implementation, 8, 1).unwrap();
            let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
            let before = numbered(leading.span(), 8);
            let mut data = before.clone();
            executor.run_bytes(&mut data, &mut workspace).unwrap();
            for at in (0..leading.span()).filter(|&at| leading.source().index(at).is_some()) {
                let to = leading.dest(at);
                assert_eq!(data[to * 8..][..8], before[at * 8..][..8], "{map} {method}: {at}");
            }
            ran += 1;
        }
        assert!(ran > 0, "{map}");
    }
}

#[test]
fn transpose_into_returns_an_error_when_lengths_differ() {
    let from = [Byte::new(1); 6];
    let mut to = [Byte::new(0); 6];
    for (sides, expected) in [([2, 4], 8), ([usize::MAX, 2], usize::MAX), ([0, 3], 0)] {
        let error = transpose_into(&mut to, &from, sides, 1, 1);
        assert_eq!(error, Err(RunError::Length { expected, got: 6 }));
    }
    let error = transpose_into(&mut to[..5], &from, [2, 3], 1, 1);
    assert_eq!(error, Err(RunError::Length { expected: 6, got: 5 }));
    assert_eq!(transpose_into(&mut to, &from, [2, 3], 1, 1), Ok(()));
    assert_eq!(transpose_into(&mut [], &[], [usize::MAX, 0], 4, 3), Ok(()));
}

#[test]
fn workspace_has_room_for_the_requested_bytes() {
    for bytes in 0..20 {
        assert_eq!(Workspace::new(bytes).unwrap().bytes(), bytes.next_multiple_of(8));
    }
}
