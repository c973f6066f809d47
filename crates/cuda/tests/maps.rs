//! Launches replayed on the host: each puts every byte where its stage does.

// Each test uses a part of them.
#[allow(dead_code)]
mod cases;
mod replay;

use cases::{DIRECTIONS, ELEMENTS, alignments, layouts, methods, shapes, stage, swap};
use turntile_cuda::Work;
use turntile_cuda::call::{Call, Device, Workspace};
use turntile_cuda::family::Family;
use turntile_cuda::lower::{Holding, lower_all, move_held, through_registers};
use turntile_cuda::out_of_place::{choose, ladder};
use turntile_perm::{Elementary, Padding, Slots};
use turntile_plan::{Limits, Method, Planner, Problem, Scope, StageShape};

/// Most bytes of which every one is followed.
const FEW: usize = 1 << 12;

/// Offsets of `bytes` bytes: all of a few, else those at the ends, around powers of two and some between.
fn offsets(bytes: usize) -> Vec<usize> {
    if bytes <= FEW {
        return (0..bytes).collect();
    }
    let ends = (0..64).chain(bytes - 64..bytes);
    let powers = (10..60).flat_map(|log| (1usize << log) - 2..(1 << log) + 2);
    // A fixed sequence of Knuth's, spread over all.
    let spread = (0..400).scan(1u64, |x, _| {
        *x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(((u128::from(*x) * bytes as u128) >> 64) as usize)
    });
    ends.chain(powers).chain(spread).filter(|&offset| offset < bytes).collect()
}

/// `calls`, in order, put every byte of `shape` where it says.
fn agrees(calls: &[Call], shape: &StageShape, elem: usize, alignment: usize) {
    for offset in offsets(shape.spans().0 * elem) {
        let want = shape.dest(offset / elem) * elem + offset % elem;
        let mut at = offset as u64;
        for call in calls {
            at = replay::dest(call, alignment as u64, at).unwrap_or_else(|why| {
                panic!("{shape}, {elem} bytes, {alignment}: {why:?} {call:?}")
            });
        }
        assert_eq!(
            at, want as u64,
            "{shape}, {elem} bytes at {alignment}, byte {offset}: {calls:?}"
        );
    }
}

/// Lowers and follows; how many lowered, which the tests count so that none becomes a refusal unseen.
fn follow(shape: StageShape, methods: &[Method], groups: &[usize]) -> usize {
    let mut lowered = 0;
    for &method in methods {
        for elem in ELEMENTS {
            for alignment in alignments(elem) {
                for &groups in groups {
                    let stage = stage(shape, method, groups);
                    if let Ok(calls) = lower_all(&stage, elem, alignment, &Device::H200) {
                        agrees(&calls, &shape, elem, alignment);
                        lowered += 1;
                    }
                }
            }
        }
    }
    lowered
}

#[test]
fn every_shape_by_every_method() {
    let lowered: usize = shapes().iter().map(|&shape| follow(shape, &methods(), &[1, 132])).sum();
    assert_eq!(lowered, 5060);
}

/// The replay keeps to the geometry: with a block less something is not moved, with less memory on chip or
/// for flags the launch is broken.
#[test]
fn less_is_not_enough() {
    let (mut blocks, mut on_chip, mut flags) = (0, 0, 0);
    for shape in shapes().into_iter().filter(|shape| shape.spans().0 < 1 << 20) {
        for method in methods() {
            let calls = lower_all(&stage(shape, method, 4), 4, 16, &Device::H200);
            let Ok([call]) = calls.as_deref() else { continue };
            let broken = |call: &Call| replay::dest(call, 16, 0).is_err();
            if call.shared_bytes > 0 {
                let less = call.shared_bytes.saturating_sub(32);
                assert!(broken(&Call { shared_bytes: less, ..*call }), "{call:?}");
                on_chip += 1;
            }
            if let Workspace::Flags(bytes) | Workspace::Kept(bytes) = call.workspace {
                let workspace = match call.workspace {
                    Workspace::Flags(_) => Workspace::Flags(bytes - 4),
                    _ => Workspace::Kept(bytes.saturating_sub(4)),
                };
                assert!(bytes == 0 || broken(&Call { workspace, ..*call }), "{call:?}");
                assert!(broken(&Call { workspace: Workspace::None, ..*call }), "{call:?}");
                flags += 1;
            }
            // Others go on to what another would have taken, or leave the last blocks of a grid idle.
            let a_block_a_part = [Family::Tiles, Family::Barrier];
            let moves = (0..shape.len()).any(|k| shape.dest(k) != k);
            if a_block_a_part.contains(&call.family) && moves {
                let less = Call { groups: call.groups - 1, ..*call };
                let stays = |k: usize| match replay::dest(&less, 16, 4 * k as u64) {
                    Ok(to) => to != 4 * shape.dest(k) as u64,
                    Err(_) => true,
                };
                assert!((0..shape.len()).rev().any(stays), "{less:?}");
                blocks += 1;
            }
        }
    }
    assert_eq!((blocks, on_chip, flags), (25, 106, 44));
}

#[test]
fn small_shapes_by_every_method() {
    let mut lowered = 0;
    for batch in [1, 3] {
        for rows in [1, 2, 3, 5, 8, 16, 17, 32] {
            for cols in [1, 2, 4, 7, 8, 16, 32] {
                for (mid, unit) in [(1, 1), (3, 1), (1, 5), (2, 2)] {
                    lowered += follow(swap([batch, rows, mid, cols, unit]), &methods(), &[1]);
                }
            }
        }
    }
    assert_eq!(lowered, 36_464);
}

/// Tiles that have kernels of their own, alone, in pairs and beyond a band's width.
#[test]
fn square_tiles() {
    let mut lowered = 0;
    for side in [16, 20, 32, 64, 100, 128, 200] {
        for (batch, mid) in [(1, 1), (5, 1), (1, 2), (2, 5), (1, 19)] {
            let by = [Method::BarrierSync { scope: Scope::Group }];
            lowered += follow(swap([batch, side, mid, side, 1]), &by, &[1]);
        }
        let by = [16, 32, 64, 128].map(|tile| Method::TileSwap { tile });
        for batch in [1, 4] {
            lowered += follow(swap([batch, side, 1, side, 1]), &by, &[1]);
        }
    }
    assert_eq!(lowered, 980);
}

#[test]
fn barriers_over_clusters_and_the_grid() {
    let mut lowered = 0;
    let by: Vec<_> = [2, 4, 8, 16]
        .map(|n| Method::BarrierSync { scope: Scope::Cluster(n) })
        .into_iter()
        .chain([Method::BarrierSync { scope: Scope::Grid }])
        .collect();
    for (rows, cols) in
        [(300, 200), (131, 257), (131, 256), (256, 131), (1000, 12), (4000, 3000), (5100, 2500)]
    {
        for (batch, unit) in [(1, 1), (2, 1), (1, 3)] {
            lowered += follow(swap([batch, rows, 1, cols, unit]), &by, &[1]);
        }
    }
    assert_eq!(lowered, 870);
}

/// 2^31 super-elements are the first that 64-bit numbers count.
#[test]
fn around_two_to_the_31_super_elements() {
    let mut lowered = 0;
    for flags in layouts() {
        let by = [Method::PttwacGlobal { flags }, Method::PerCycle];
        for units in [(1 << 31) - 1, 1 << 31, (1 << 31) + 1] {
            for rows in [1, 3, 65_537].into_iter().filter(|rows| units % rows == 0) {
                lowered += follow(swap([1, rows, 1, units / rows, 1]), &by, &[1]);
                lowered += follow(swap([rows, 1, 1, units / rows, 7]), &by, &[1]);
            }
            lowered += follow(swap([1, 2, units / 2, 1, 1]), &by, &[1]);
        }
    }
    let slots = |rows, cols, slot| Slots::new(rows, cols, slot, slot).unwrap();
    for direction in DIRECTIONS {
        for batch in [1, 2] {
            for slots in
                [slots(70_000, 70_000, 2), slots(1 << 16, 65_535, 64), slots(92_683, 46_341, 3)]
            {
                let shape = StageShape::SlotMove { batch, slots, direction };
                lowered += follow(shape, &[Method::PttwacGlobal { flags: layouts()[0] }], &[1]);
                lowered += follow(shape, &[Method::PerCycle], &[1]);
            }
        }
    }
    assert_eq!(lowered, 1568);
}

#[test]
fn slots_both_ways() {
    let mut lowered = 0;
    let teams = [1, 3, 132].map(|n| Method::BarrierSync { scope: Scope::Team(n) });
    let gathers: Vec<_> =
        teams.into_iter().chain([Method::BarrierSync { scope: Scope::Group }]).collect();
    let moves: Vec<_> = layouts()
        .into_iter()
        .map(|flags| Method::PttwacGlobal { flags })
        .chain([Method::PerCycle])
        .collect();
    for direction in DIRECTIONS {
        for (rows, cols, slot, chunk) in [
            (10, 3, 2, 4),
            (61, 7, 4, 8),
            (64, 5, 8, 8),
            (9, 1, 3, 9),
            (97, 33, 16, 32),
            (40, 6, 1, 1),
        ] {
            let slots = Slots::new(rows, cols, slot, chunk).unwrap();
            let by_rows = Slots::by_rows(rows, cols, slot);
            for batch in [1, 2, 5] {
                let gather = StageShape::SlotGather { batch, slots, direction };
                lowered += follow(gather, &gathers, &[1, 4, 132]);
                lowered += follow(StageShape::SlotMove { batch, slots, direction }, &moves, &[1]);
                if let Some(slots) = by_rows {
                    let gather = StageShape::SlotGather { batch, slots, direction };
                    assert_eq!(follow(gather, &gathers, &[1, 4]), 0, "{gather}");
                }
            }
        }
    }
    assert_eq!(lowered, 8568);
}

/// Super-elements held as the caller says, and tiles turned on the way.
#[test]
fn held_in_every_way() {
    let mut lowered = 0;
    let mut shapes = vec![swap([1, 9, 2, 5, 3]), swap([3, 6, 1, 7, 48]), swap([2, 5, 1, 3, 1000])];
    for (batch, rows, cols, m, n) in
        [(2, 3, 4, 5, 2), (1, 7, 3, 1, 8), (3, 2, 2, 4, 1), (1, 5, 6, 16, 16)]
    {
        shapes.push(StageShape::FusedTiles { batch, rows, cols, m, n });
    }
    let slots = Slots::new(61, 7, 4, 8).unwrap();
    shapes.extend(DIRECTIONS.map(|direction| StageShape::SlotMove { batch: 2, slots, direction }));
    for shape in shapes {
        for flags in layouts() {
            for elem in ELEMENTS {
                for alignment in alignments(elem) {
                    for holding in [Holding::Registers, Holding::Shared, Holding::Block] {
                        let device = &Device::H200;
                        let call = move_held(shape, flags, holding, elem, alignment, device);
                        if let Ok(call) = call {
                            agrees(&[call], &shape, elem, alignment);
                            lowered += 1;
                        }
                    }
                    let stages = [Method::PttwacOnChip { flags }, Method::PttwacGlobal { flags }];
                    for method in stages {
                        let stage = stage(shape, method, 1);
                        if let Ok(calls) = lower_all(&stage, elem, alignment, &Device::H200) {
                            agrees(&calls, &shape, elem, alignment);
                            lowered += 1;
                        }
                    }
                }
            }
        }
    }
    for [batch, rows, cols, unit] in [[7, 5, 9, 1], [1000, 3, 2, 1], [3, 100, 40, 1], [2, 6, 5, 2]]
    {
        let e = Elementary { batch, rows, mid: 1, cols, unit };
        for elem in ELEMENTS {
            for alignment in alignments(elem) {
                if let Ok(call) = through_registers(e, elem, alignment) {
                    agrees(&[call], &StageShape::Elementary(e), elem, alignment);
                    lowered += 1;
                }
            }
        }
    }
    assert_eq!(lowered, 1702);
}

/// Rows are padded by several launches, of which none may overwrite what another has yet to read.
#[test]
fn padding_both_ways() {
    for direction in DIRECTIONS {
        for (rows, cols, pitch) in [
            (1, 5, 9),
            (10, 3, 7),
            (37, 100, 103),
            (64, 64, 65),
            (300, 2, 300),
            (20, 6, 6),
            (0, 2, 3),
        ] {
            let padding = Padding::new(rows, cols, pitch).unwrap();
            let shape = StageShape::Pad { padding, direction };
            for method in [
                Method::Rows { least: 1 },
                Method::Rows { least: 2 },
                Method::Rows { least: 1000 },
                Method::Slide { block: 16 },
                Method::Slide { block: 48_896 },
            ] {
                for elem in [1, 4, 12] {
                    let stage = stage(shape, method, 1);
                    let calls = lower_all(&stage, elem, 1, &Device::H200).unwrap();
                    agrees(&calls, &shape, elem, 1);
                    nothing_is_lost(&calls, padding.span() * elem, |memory| {
                        for offset in (0..shape.spans().0).filter(|&k| lies(&shape, k)) {
                            assert_eq!(memory[shape.dest(offset) * elem], offset * elem, "{stage}");
                        }
                    });
                }
            }
        }
    }
}

/// Whether an element lies at an offset, and not a gap.
fn lies(shape: &StageShape, offset: usize) -> bool {
    match shape {
        StageShape::Pad { padding, direction: turntile_plan::Direction::Backward } => {
            padding.packed(offset).is_some()
        }
        _ => true,
    }
}

/// Runs launches over memory in which every byte is told by its offset.
fn nothing_is_lost(calls: &[Call], bytes: usize, check: impl FnOnce(&[usize])) {
    let mut memory: Vec<usize> = (0..bytes).collect();
    for call in calls {
        let before = memory.clone();
        for (offset, &byte) in before.iter().enumerate() {
            let to = replay::dest(call, 1, offset as u64).unwrap() as usize;
            if to != offset {
                memory[to] = byte;
            }
        }
    }
    check(&memory);
}

#[test]
fn from_one_place_to_another() {
    let mut kernels = std::collections::BTreeSet::new();
    for (batch, rows, cols) in [
        (1, 1, 1),
        (1, 7, 5),
        (3, 10, 48),
        (9, 64, 48),
        (2, 300, 130),
        (1, 61, 1000),
        (1, 1000, 61),
        (1, 10_000_000, 3),
        (2, 3, 10_000_000),
        (1, 16384, 8192),
        (3, 7919, 3001),
        (1, 1, 1 << 33),
        (1, 1 << 33, 2),
        (100_000, 64, 48),
        (1, 160_000, 160_000),
    ] {
        for elem in [1, 2, 4, 8, 16, 3, 12, 24, 40, 300_000] {
            let Ok(problem) = Problem::with_batch(batch, rows, cols, elem) else { continue };
            let e = Elementary { batch, rows, mid: 1, cols, unit: 1 };
            for alignment in alignments(elem) {
                for way in choose::ways(&problem, alignment) {
                    for swath in [1, 8] {
                        let call = choose::call(way, swath, &problem, alignment, &Device::H200);
                        if let Ok(call) = call {
                            agrees(&[call], &StageShape::Elementary(e), elem, alignment);
                            kernels.insert(call.kernel());
                        }
                    }
                }
            }
        }
    }
    assert_eq!(kernels.len(), 23, "{kernels:?}");
}

#[test]
fn every_rung_of_the_ladder() {
    for rung in &ladder::RUNGS {
        for (tile, block_rows) in rung.sizes() {
            for (rows, cols) in [(1, 1), (100, 37), (1000, 777)] {
                let program = ladder::program(rung, tile, block_rows, rows, cols).unwrap();
                let [step] = program.steps[..] else { panic!("{program:?}") };
                let cols = if rung.transposes() { cols } else { rows * cols };
                let rows = if rung.transposes() { rows } else { 1 };
                agrees(&[step.call], &swap([1, rows, 1, cols, 1]), 4, 4);
            }
        }
    }
}

/// Whole plans, every stage by the launch that the planner chose.
#[test]
fn plans() {
    let planner = Planner::new(Limits::h200());
    for (rows, cols, elem) in [
        (4096, 6144, 4),
        (1000, 777, 2),
        (5000, 5000, 8),
        (30, 40, 1),
        (9_999_991, 7, 4),
        (61, 1_000_003, 4),
        (16381, 20011, 4),
        (158_003, 158_017, 4),
        (101, 89, 12),
    ] {
        let room = usize::max(rows, cols).pow(2);
        let problem = Problem::new(rows, cols, elem).unwrap().with_room(room);
        for plan in planner.survey(&problem).candidates {
            for stage in plan.stages.iter().filter(|stage| !stage.shape.is_empty()) {
                let Ok(calls) = lower_all(stage, elem, 16, &Device::H200) else { continue };
                agrees(&calls, &stage.shape, elem, 16);
            }
            if let Ok(work) = Work::of_plan(&plan, 16, &Device::H200) {
                for offset in offsets(problem.bytes()) {
                    let (r, c) = (offset / elem / cols, offset / elem % cols);
                    let want = (c * rows + r) * elem + offset % elem;
                    let at = work.calls.iter().fold(offset as u64, |at, call| {
                        replay::dest(call, 16, at).unwrap_or_else(|why| panic!("{plan}: {why:?}"))
                    });
                    assert_eq!(at, want as u64, "{plan}, byte {offset}");
                }
            }
        }
    }
}
