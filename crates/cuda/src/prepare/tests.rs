//! Tests of rejected plans, strategies and buffers, and of the launches of plans.

use super::*;
use crate::GpuDevice;
use crate::buffers::Place;
use crate::strategy::Scope;
use turntile_perm::{AlignedSlots, Elementary};
use turntile_plan::{Device, Direction, MethodFilter, Planner, Problem, StageRequest};

fn plan() -> Plan {
    let problem = Problem::new(4096, 1024, 4).unwrap();
    Planner::new(GpuDevice::h200()).plan(&problem).unwrap()
}

/// Returns the launches of an in-place plan, changed to need at least 100 bytes of workspace.
fn with_flags() -> Work {
    let mut work = Work::of_plan(&plan()).unwrap();
    work.calls[0].0.workspace = crate::launch::WorkspacePart::Flags(100);
    work
}

fn at(data: Place, workspace: Place) -> Buffers {
    Buffers { data, source: None, workspace: Some(workspace) }
}

#[test]
fn memory_is_checked_before_anything_runs() {
    let work = with_flags();
    let (need, room) = (work.bytes, (256, 100));
    let data = (1024, need);
    assert_eq!(work.check(&at(data, room)), Ok(()));
    let short = CudaError::Length { what: "matrix", need, have: need - 1 };
    assert_eq!(work.check(&at((1024, need - 1), room)), Err(short));
    assert_eq!(
        work.check(&at((1032, need), room)),
        Err(CudaError::Misaligned { what: "matrix", address: 1032, need: 16 })
    );
    let short = CudaError::Workspace { need: 100, have: 99 };
    assert_eq!(work.check(&at(data, (256, 99))), Err(short));
    let none = Buffers { data, ..Buffers::default() };
    assert_eq!(work.check(&none), Err(CudaError::Workspace { need: 100, have: 0 }));
    assert_eq!(
        work.check(&at(data, (264, 100))),
        Err(CudaError::Misaligned { what: "workspace", address: 264, need: 16 })
    );
    let answer = work.check(&at(data, (1024 + need as u64 - 16, 100)));
    assert!(matches!(answer, Err(CudaError::Overlap { .. })), "{answer:?}");
}

#[test]
fn out_of_place_there_is_a_source() {
    let problem = Problem::new(200, 300, 4).unwrap().out_of_place().unwrap().with_alignment(4);
    let work = Work::of_plan(&Planner::new(GpuDevice::h200()).plan(&problem).unwrap()).unwrap();
    assert_eq!(work.spots(), [[BufferOffset::Data(0), BufferOffset::Source(0)]]);
    assert_eq!((work.bytes(), work.alignment(), work.workspace_bytes()), (240_000, 4, 0));
    let (laid_out, end) = work.laid_out(512);
    let [data, source] = [(512, 240_000), (512 + 240_128, 240_000)];
    assert_eq!(laid_out, Buffers { data, source: Some(source), workspace: None });
    assert_eq!((end, work.check(&laid_out)), (512 + 2 * 240_128, Ok(())));
    assert_eq!(laid_out.source.map(|_| BufferOffset::Source(8).of(&laid_out)), Some(source.0 + 8));
    let refused = |out_of_place| Err(InvalidPlan::WrongDestination { out_of_place }.into());
    assert_eq!(work.check(&Buffers { source: None, ..laid_out }), refused(true));
    assert_eq!(with_flags().check(&laid_out), refused(false));
    let short = Buffers { source: Some((source.0, 239_999)), ..laid_out };
    let answer = work.check(&short);
    assert!(matches!(answer, Err(CudaError::Length { what: "source", .. })), "{answer:?}");
    let unaligned = Buffers { source: Some((source.0 + 2, 240_000)), ..laid_out };
    assert!(work.is_aligned(&laid_out) && !work.is_aligned(&unaligned));
    let answer = work.check(&unaligned);
    assert!(matches!(answer, Err(CudaError::Misaligned { what: "source", .. })), "{answer:?}");
    let endless = Work { bytes: usize::MAX, ..work };
    assert_eq!(endless.laid_out(512).1, u64::MAX);
}

/// Checks that two works on the same memory need the maximum of their requirements.
#[test]
fn works_that_follow_one_another_need_what_either_needs() {
    let e = |rows| Elementary { batch: 1, rows, mid: 1, cols: 64, unit: 1 };
    let of = |rows, alignment, strategy| {
        Work::of_stage(&e(rows).into(), strategy, 4, alignment, &DeviceLimits::H200).unwrap()
    };
    let lines = Strategy::OutOfPlace { tiling: crate::strategy::Tiling::Lines, swath: 1 };
    let block = Strategy::Barrier(Scope::Block);
    for (one, other) in [
        (of(64, 16, block), of(32, 4, block)),
        (of(64, 4, block), of(32, 16, block)),
        (of(64, 16, block), of(32, 4, lines)),
    ] {
        let one = Work { held: 48, ..one };
        for both in [one.clone().then(other.clone()), other.clone().then(one.clone())] {
            assert_eq!((both.bytes(), both.alignment()), (64 * 64 * 4, 16));
            assert_eq!(both.workspace_bytes(), 48);
            assert_eq!(both.calls().len(), one.calls().len() + other.calls().len());
            assert_eq!(both.is_out_of_place(), other.is_out_of_place());
        }
    }
}

/// Checks that changed plans are rejected, so that no launch accesses memory outside the matrix.
#[test]
fn plans_put_together_by_hand_are_checked() {
    let good = plan();
    let refused = |plan: &Plan| Work::of_plan(plan).unwrap_err();
    let mut short = good.clone();
    short.problem = Problem::new(4096, 1023, 4).unwrap();
    assert!(matches!(refused(&short), CudaError::Flawed(InvalidPlan::Length { number: 1, .. })));
    let mut other = good.clone();
    other.phases[0].stages[0].implementation.method = Method::Shares;
    assert!(matches!(refused(&other), CudaError::Flawed(InvalidPlan::Method { number: 1, .. })));
    // Launches for another shape of equal length, for narrower elements, and for a larger alignment than the plan's.
    let geometry = |plan: &Plan| {
        let refused = refused(plan);
        assert!(
            matches!(refused, CudaError::Flawed(InvalidPlan::LaunchConfig { number: 1, .. })),
            "{refused:?}"
        );
    };
    let mut turned = good.clone();
    turned.phases[0].stages[0].map = turned.phases[0].stages[0].map.inverse();
    if turned.phases[0].stages[0].map == good.phases[0].stages[0].map {
        let e = Elementary { batch: 1, rows: 1024, mid: 1, cols: 4096, unit: 1 };
        turned.phases[0].stages[0].map = e.into();
    }
    geometry(&turned);
    let mut wide = good.clone();
    wide.problem = Problem::new(4096, 1024, 8).unwrap();
    geometry(&wide);
    let mut elsewhere = good.clone();
    elsewhere.problem = elsewhere.problem.out_of_place().unwrap();
    assert!(matches!(
        refused(&elsewhere),
        CudaError::Flawed(InvalidPlan::Method { number: 1, .. })
    ));
    // Another method that supports the shape.
    let mut otherwise = good.clone();
    otherwise.phases[0].stages[0].implementation.method = Method::PIpt;
    geometry(&otherwise);
    let mut unaligned = good;
    unaligned.problem = unaligned.problem.with_alignment(4);
    geometry(&unaligned);
}

#[test]
fn ways_of_no_device_are_refused() {
    let slots = AlignedSlots::new(1000, 300, 64, 256).unwrap();
    let shape = StageMap::SlotGather { batch: 1, slots, direction: Direction::Forward };
    let by = |strategy| Work::of_stage(&shape, strategy, 4, 16, &DeviceLimits::H200);
    assert_eq!(by(Strategy::Teams { groups: 6, blocks: 3 }).unwrap().bytes(), 1000 * 300 * 4);
    for strategy in [
        Strategy::Teams { groups: 6, blocks: 0 },
        Strategy::Teams { groups: 0, blocks: 3 },
        Strategy::Runs { groups: 0 },
        Strategy::Runs { groups: usize::MAX },
        Strategy::PerCycle,
    ] {
        let answer = by(strategy);
        let refused =
            matches!(&answer, Err(CudaError::Infeasible { why: LowerError::NoKernel, .. }));
        assert!(refused, "{strategy}: {answer:?}");
    }
    let e = Elementary { batch: 1, rows: 20, mid: 1, cols: 30, unit: 4 };
    let threads = Strategy::OnChipMoves { threads: 2048 };
    assert!(Work::of_stage(&e.into(), threads, 4, 16, &DeviceLimits::H200).is_err(), "{threads}");
    let many = StageMap::SlotMove { batch: usize::MAX, slots, direction: Direction::Forward };
    let answer = Work::of_stage(&many, Strategy::PerCycle, 4, 16, &DeviceLimits::H200);
    assert!(matches!(answer, Err(CudaError::Flawed(InvalidPlan::Overflow { .. }))), "{answer:?}");
}

/// Checks the workspace of aligned slots. Teams save `T - 1` rows per team forward, none backward, plus at most 160 bytes per
/// team. Runs save `T - 1` rows per block and the rows of the last chunk, forward and backward.
#[test]
fn slots_take_workspace_by_the_documented_formulas() {
    let (slot, cols) = (64, 150);
    let slots = AlignedSlots::new(1000, cols, slot, 64).unwrap();
    let (_, last) = slots.chunk_rows(slots.chunks() - 1);
    for direction in [Direction::Forward, Direction::Backward] {
        let shape = StageMap::SlotGather { batch: 1, slots, direction };
        let bytes = |strategy| {
            let work = Work::of_stage(&shape, strategy, 4, 16, &DeviceLimits::H200).unwrap();
            work.workspace_bytes()
        };
        for groups in [1, 3] {
            let rows = groups * (slot - 1) + last;
            assert_eq!(bytes(Strategy::Runs { groups }), rows * cols * 4, "{groups} {direction:?}");
        }
        for (groups, blocks, teams) in [(6, 3, 2), (4, 1, 4)] {
            let rows = if direction == Direction::Forward { teams * (slot - 1) } else { 0 };
            let few = bytes(Strategy::Teams { groups, blocks }) - rows * cols * 4;
            assert!((1..=teams * 160).contains(&few), "{groups} {blocks} {direction:?}: {few}");
        }
    }
}

/// Checks that a loaded kernel is reused only for launches that do not need more. If blocks wait for each other, more blocks are
/// more.
#[test]
fn no_more_blocks_are_at_work_together_than_had_room() {
    let call = |batch, rows, scope| {
        let e = Elementary { batch, rows, mid: 1, cols: 64, unit: 1 };
        Work::of_stage(&e.into(), Strategy::Barrier(scope), 4, 16, &DeviceLimits::H200)
            .unwrap()
            .calls[0]
    };
    for (batch, rows, scope, together) in
        [(1, 4096, Scope::Grid, true), (100, 64, Scope::Block, false)]
    {
        let known = call(batch, rows, scope);
        let with = |groups| CheckedLaunch(crate::launch::Launch { groups, ..*known });
        assert!(with(known.groups).needs_no_more_than(&known));
        assert!(with(known.groups - 1).needs_no_more_than(&known));
        assert_eq!(with(known.groups + 1).needs_no_more_than(&known), !together, "{scope:?}");
    }
}

/// Checks that the largest power of two in an alignment is used: a multiple of 24 is a multiple of 8.
#[test]
fn alignments_are_powers_of_two() {
    let e = Elementary { batch: 1, rows: 64, mid: 1, cols: 64, unit: 1 };
    for (promised, used) in [(24, 8), (16, 16), (4096, 16), (3, 1)] {
        let strategy = Strategy::Barrier(Scope::Block);
        let work = Work::of_stage(&e.into(), strategy, 4, promised, &DeviceLimits::H200).unwrap();
        assert_eq!(work.alignment(), used);
    }
}

#[test]
fn a_host_plan_is_refused() {
    #[derive(Debug, PartialEq)]
    struct Elsewhere;
    impl std::fmt::Display for Elsewhere {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("elsewhere")
        }
    }
    impl turntile_plan::LaunchConfigData for Elsewhere {
        fn variant(&self) -> String {
            String::new()
        }
    }
    let mut plan = plan();
    plan.device = "host".into();
    plan.phases[0].stages[0].implementation.launch_config =
        turntile_plan::LaunchConfig::new(Elsewhere);
    assert_eq!(Work::of_plan(&plan), Err(CudaError::NotForGpu { device: "host".into() }));
}

/// Checks that every implementation of every preset is executed exactly as offered.
#[test]
fn offers_say_what_is_launched() {
    let problem = Problem::new(4096, 1024, 4).unwrap();
    for chip in GpuDevice::presets() {
        let request = StageRequest::new(&problem, &chip, MethodFilter::Any);
        let planner = Planner::new(chip.clone());
        for plan in planner.candidates(&problem).candidates {
            let work = Work::of_plan(&plan).unwrap();
            assert!(work.workspace_bytes() <= plan.workspace_bytes, "{plan}");
            for stage in plan.stages() {
                let offers = chip.implementations(&stage.map, &request).unwrap();
                assert!(offers.contains(&stage.implementation), "{stage}");
                let least = offers.iter().map(|offer| offer.seconds).fold(f64::MAX, f64::min);
                assert_eq!(chip.best(&stage.map, &request).unwrap().seconds, least, "{stage}");
                for offer in offers {
                    let launches: &LaunchList = offer.launch_config.get().unwrap();
                    let strategy = launches.strategy;
                    let again = Work::of_stage(&stage.map, strategy, 4, 16, chip.limits());
                    assert_eq!(again.unwrap().calls, launches.calls(), "{strategy}");
                    assert_eq!(launches.workspace_bytes(), offer.workspace_bytes);
                }
            }
        }
    }
}

/// Checks that a second plan, for less aligned memory, must solve the same problem.
#[test]
fn a_second_plan_is_of_the_same_problem() {
    let planner = Planner::new(GpuDevice::h200());
    let work = |rows, alignment| {
        let problem = Problem::new(rows, 300, 4).unwrap().out_of_place().unwrap();
        Work::of_plan(&planner.plan(&problem.with_alignment(alignment)).unwrap()).unwrap()
    };
    let first = work(200, 16);
    assert_eq!(first.same_problem(&work(200, 4)), Ok(()));
    let answer = first.same_problem(&work(201, 4));
    assert!(matches!(answer, Err(CudaError::OtherProblem { .. })), "{answer:?}");
    let single = first.one_by_one().next().unwrap();
    assert!(single.same_problem(&first).is_err(), "single launches do not have a problem");
}
