//! Replays launches on the host: each moves every byte to the destination of its stage.

use turntile_cuda::args::Args;
use turntile_cuda::family::Family;
use turntile_cuda::launch::{CheckedLaunch, Launch, WorkspacePart};
use turntile_cuda::lower::lower;
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_perm::{AOS, AlignedSlots, FieldSlots, LayoutChange, RecordSchema, RowSlide};
use turntile_plan::{Problem, StageMap};

use crate::cases::{
    AXES_ELSEWHERE, BLOCK, DIRECTIONS, ELEMENTS_ELSEWHERE, MATRICES, alignments, at, axes, drawn,
    elsewhere, flipped, shapes, swap, turned, ways,
};
use crate::follow::{agrees, exhaustive, follow};
use crate::replay;

#[test]
fn every_shape_by_every_way() {
    let lowered: usize = shapes().into_iter().map(|shape| follow(shape, &ways(&[1, 132]))).sum();
    assert_eq!(lowered, 7247);
}

/// The replay respects the geometry. With one block fewer, an element is not moved. With less
/// shared memory or workspace, the launch is broken.
#[test]
fn less_is_not_enough() {
    let (mut blocks, mut on_chip, mut flags) = (0, 0, 0);
    for shape in shapes().into_iter().filter(|shape| shape.spans().0 < 1 << 20) {
        for way in ways(&[4]) {
            let calls = lower(&shape, way, at(4, 16));
            let Ok([call]) = calls.as_deref() else { continue };
            let call = **call;
            let broken = |call: &Launch| replay::dest(call, 16, 0).is_err();
            if call.shared_bytes > 0 {
                let less = call.shared_bytes.saturating_sub(32);
                assert!(broken(&Launch { shared_bytes: less, ..call }), "{call:?}");
                on_chip += 1;
            }
            if let WorkspacePart::Flags(bytes) | WorkspacePart::Saved(bytes) = call.workspace {
                let workspace = match call.workspace {
                    WorkspacePart::Flags(_) => WorkspacePart::Flags(bytes - 4),
                    _ => WorkspacePart::Saved(bytes.saturating_sub(4)),
                };
                assert!(bytes == 0 || broken(&Launch { workspace, ..call }), "{call:?}");
                assert!(broken(&Launch { workspace: WorkspacePart::None, ..call }), "{call:?}");
                flags += 1;
            }
            // Blocks of other families process several parts, or the last blocks of a grid are
            // idle.
            let a_block_a_part =
                [Family::Tiles, Family::SwapAxes, Family::Turn, Family::Barrier, Family::LongRuns];
            let moves = (0..shape.len()).any(|k| shape.dest(k) != k);
            if a_block_a_part.contains(&call.family) && moves {
                let less = Launch { groups: call.groups - 1, ..call };
                let stays = |k: usize| match replay::dest(&less, 16, 4 * k as u64) {
                    Ok(to) => to != 4 * shape.dest(k) as u64,
                    Err(_) => true,
                };
                assert!((0..shape.len()).rev().any(stays), "{less:?}");
                blocks += 1;
            }
        }
    }
    assert_eq!((blocks, on_chip, flags), (84, 315, 113));
}

#[test]
fn small_shapes_by_every_way() {
    let mut lowered = 0;
    for batch in [1, 3] {
        for rows in [1, 2, 3, 5, 8, 16, 17, 32] {
            for cols in [1, 2, 4, 7, 8, 16, 32] {
                for (mid, unit) in [(1, 1), (3, 1), (1, 5), (2, 2)] {
                    lowered += follow(swap([batch, rows, mid, cols, unit]), &ways(&[1]));
                }
            }
        }
    }
    assert_eq!(lowered, 71_348);
}

/// Runs blocks of pieces on memory with guard bytes: every byte of a run that moves is written
/// once, and no other byte.
#[test]
fn pieces_of_long_runs_write_their_own_bytes() {
    const GUARD: usize = 48;
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let orders: [(&[usize], &[usize]); 8] = [
        (&[2, 2], &[1, 0]),
        (&[2, 3], &[1, 0]),
        (&[3, 2, 3], &[0, 2, 1]),
        (&[5, 7], &[1, 0]),
        (&[2, 3, 4], &[2, 0, 1]),
        (&[2, 3, 2, 3], &[0, 3, 2, 1]),
        (&[5, 2, 4], &[1, 2, 0]),
        (&[2, 19], &[1, 0]),
    ];
    let lengths = (1..=17).chain(60..=80).chain(113..=144).chain([1000]);
    let mut cases = 0;
    for (run_bytes, (k, (extents, order))) in
        lengths.flat_map(|bytes| orders.into_iter().enumerate().map(move |one| (bytes, one)))
    {
        let elem = [16, 12, 8, 6, 4, 3, 2, 1].into_iter().find(|&e| run_bytes % e == 0).unwrap();
        let extents = [extents, &[run_bytes / elem]].concat();
        let shape = axes(&extents, &[order, &[order.len()]].concat());
        let piece = [64, 128][(run_bytes + k) % 2];
        for alignment in alignments(elem) {
            let calls = lower(&shape, Strategy::Pieces { piece }, at(elem, alignment)).unwrap();
            let [call] = calls[..] else { panic!("{calls:?}") };
            let Args::Pieces(args) = call.params else { panic!("{call:?}") };
            let bytes = shape.len() * elem;
            let dest = |k: usize| shape.dest(k / elem) * elem + k % elem;
            for start in (GUARD..GUARD + 16).step_by(alignment) {
                let from: Vec<u8> = (0..bytes + 2 * GUARD).map(|_| random()).collect();
                let (mut memory, mut want, mut once) =
                    (from.clone(), from.clone(), vec![0; from.len()]);
                for k in 0..bytes {
                    want[start + dest(k)] = from[start + k];
                    let is_fixed = dest(k / run_bytes * run_bytes) == k / run_bytes * run_bytes;
                    once[start + k] = u8::from(!is_fixed);
                }
                let written = replay::long_runs::execute(&call, &args, &mut memory, start);
                let what = format!("{shape}, {elem} bytes at {start}, pieces of {piece}");
                assert!(memory == want && written == once, "{what}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 6576);
}

/// Follows small arrays with every set of reversed axes, and runs the blocks of flips and quarter
/// turns on memory with guard bytes: every byte of the array is written at most once, and no other.
#[test]
fn reversed_axes_write_their_own_bytes() {
    const GUARD: usize = 48;
    let (ways, mut runs) = ([Strategy::Flip, Strategy::Turn, Strategy::Moves], [0; 3]);
    for (extents, orders) in [
        (&[2][..], &[&[0][..]][..]),
        (&[47], &[&[0]]),
        (&[2, 3], &[&[0, 1]]),
        (&[5, 7], &[&[0, 1], &[1, 0]]),
        (&[8, 8], &[&[0, 1], &[1, 0]]),
        (&[1, 1, 9, 9], &[&[0, 1, 3, 2]]),
        (&[67, 67], &[&[1, 0]]),
        (&[2, 17, 17], &[&[0, 2, 1]]),
        (&[6, 6, 3], &[&[1, 0, 2]]),
        (&[31, 12, 12], &[&[0, 2, 1]]),
        (&[136, 136], &[&[1, 0]]),
        (&[2, 132, 132], &[&[0, 2, 1]]),
        (&[2, 70, 70], &[&[0, 2, 1]]),
        (&[80, 80, 3], &[&[1, 0, 2]]),
        (&[3, 4, 5], &[&[0, 1, 2], &[0, 2, 1]]),
        (&[3, 2, 4, 3], &[&[0, 1, 2, 3], &[2, 1, 0, 3]]),
        (&[2, 3, 2, 3, 2], &[&[0, 1, 2, 3, 4]]),
        (&[3, 700], &[&[0, 1]]),
        (&[3, 2, 6001], &[&[0, 1, 2]]),
    ] {
        for (order, set) in orders
            .iter()
            .flat_map(|&order| (1..1 << extents.len()).map(move |set: usize| (order, set)))
        {
            let reversed: Vec<usize> = (0..extents.len()).filter(|k| set >> k & 1 == 1).collect();
            let shape = flipped(extents, order, &reversed);
            if shape.is_identity() {
                continue;
            }
            for elem in [1, 2, 4, 8, 16, 3, 6, 12, 24, 100] {
                if shape.len() * elem > 200_000 {
                    continue;
                }
                let cases = alignments(elem).into_iter().flat_map(|a| [(a, 0), (a, 1), (a, 2)]);
                for (alignment, number) in cases {
                    let way = ways[number];
                    let Ok(calls) = lower(&shape, way, at(elem, alignment)) else { continue };
                    agrees(&calls, &shape, elem, alignment);
                    runs[number] += 1;
                    if way == Strategy::Moves {
                        continue;
                    }
                    let [call] = calls[..] else { panic!("{calls:?}") };
                    let bytes = shape.len() * elem;
                    // One start per alignment, because the words of the launch depend on it.
                    let start = GUARD + if alignment < 16 { alignment } else { 0 };
                    let from: Vec<u8> =
                        (0..bytes + 2 * GUARD).map(|k| (k * 131 + k / 251) as u8).collect();
                    let (mut memory, mut want) = (from.clone(), from.clone());
                    for k in 0..bytes {
                        want[start + shape.dest(k / elem) * elem + k % elem] = from[start + k];
                    }
                    let written = replay::flips::execute(&call, &mut memory, start);
                    let what = format!("{shape}, {elem} bytes at {alignment}, {way}: {call:?}");
                    assert!(memory == want, "{what}");
                    let is_own = |(k, &times): (usize, &usize)| {
                        times == 0 || times == 1 && (start..start + bytes).contains(&k)
                    };
                    assert!(written.iter().enumerate().all(is_own), "{what}");
                }
            }
        }
    }
    assert_eq!(runs, [1390, 448, 2998]);
}

#[test]
fn barriers_over_clusters_and_the_grid() {
    let mut lowered = 0;
    let by: Vec<_> = [2, 4, 8, 16]
        .map(|n| Strategy::Barrier(Scope::Cluster(n)))
        .into_iter()
        .chain([Scope::Team(7), Scope::Team(88), Scope::Grid].map(Strategy::Barrier))
        .collect();
    for (rows, cols) in [
        (300, 200),
        (131, 257),
        (131, 256),
        (256, 131),
        (1000, 12),
        (4000, 3000),
        (5100, 2500),
        // With elements of 4 bytes, some rows are in the workspace.
        (4500, 3500),
        (3001, 5003),
    ] {
        for (batch, unit) in [(1, 1), (2, 1), (1, 3)] {
            lowered += follow(swap([batch, rows, 1, cols, unit]), &by);
        }
    }
    assert_eq!(lowered, 1208);
}

/// Axes over clusters and the grid: random orders, and instances too large for a block.
#[test]
fn axes_over_clusters_and_the_grid() {
    let by = [Scope::Cluster(8), Scope::Cluster(16), Scope::Team(44), Scope::Grid];
    let by = by.map(Strategy::Barrier);
    let mut lowered = 0;
    for (extents, order) in drawn(250, 9, 6000) {
        let shape = axes(&extents, &order);
        if shape.elementary().is_none() {
            lowered += follow(shape, &by);
        }
    }
    for (extents, order) in [
        (&[9, 40, 30, 50, 7][..], &[0, 4, 2, 3, 1][..]),
        (&[3, 64, 24, 48, 8], &[0, 4, 3, 2, 1]),
        (&[5, 31, 37, 41], &[0, 3, 2, 1]),
        (&[100, 90, 110], &[2, 1, 0]),
        (&[40, 48, 28, 44], &[3, 1, 0, 2]),
        (&[12, 24, 30, 16, 20], &[4, 3, 2, 1, 0]),
        (&[101, 103, 107, 5], &[3, 2, 1, 0]),
    ] {
        lowered += follow(axes(extents, order), &by);
    }
    assert_eq!(lowered, 6282);
}

/// Random orders, from a fixed seed, in which no two axes stay adjacent. They have every number of
/// digits, with batches and last axes that stay, by every strategy for such axes.
#[test]
fn axes_in_any_order() {
    let (mut lowered, mut on_chip) = (0, 0);
    for (extents, order) in drawn(600, 9, 6000) {
        let shape = axes(&extents, &order);
        if shape.elementary().is_some() {
            continue;
        }
        let ways = [Strategy::Moves, Strategy::PerCycle];
        lowered += follow(shape.clone(), &ways);
        on_chip += follow(shape, &[BLOCK]);
    }
    assert_eq!((lowered, on_chip), (7392, 3676));
}

/// From 2^31 super-elements on, kernels use 64-bit indices.
#[test]
fn around_two_to_the_31_super_elements() {
    let mut lowered = 0;
    let by = [Strategy::Moves, Strategy::PerCycle];
    // The first count has many small prime factors. The second is prime, which leaves a single row.
    for units in [(1 << 31) - 2, (1 << 31) - 1, 1 << 31, (1 << 31) + 1] {
        for (batch, rows) in [(1, 1), (1, 2), (1, 3), (2, 2), (3, 7)] {
            if units % (batch * rows) == 0 {
                for unit in [1, 7] {
                    let shape = swap([batch, rows, 1, units / rows / batch, unit]);
                    lowered += follow(shape, &by);
                }
            }
        }
        for (rows, cols) in [(2, 2), (2, 3)] {
            if units % (rows * cols) == 0 {
                lowered += follow(swap([1, rows, units / rows / cols, cols, 1]), &by);
            }
        }
    }
    // 2^31 - 2, 2^31 and 2^31 + 2 elements.
    for extents in [[18, 217, 1661, 331], [8, 16, 1 << 12, 1 << 12], [50, 533, 61, 1321]] {
        let [a, b, c, d] = extents;
        for shape in [
            axes(&extents, &[2, 0, 3, 1]),
            axes(&extents, &[1, 3, 0, 2]),
            axes(&[a, b, c, d, 7], &[3, 1, 0, 2, 4]),
            axes(&[2, a / 2, b, c, d], &[0, 4, 2, 1, 3]),
        ] {
            lowered += follow(shape, &by);
        }
    }
    let slots = |rows, cols, slot| AlignedSlots::new(rows, cols, slot, slot).unwrap();
    for direction in DIRECTIONS {
        for batch in [1, 2] {
            for slots in
                [slots(70_000, 70_000, 2), slots(1 << 16, 65_535, 64), slots(92_683, 46_341, 3)]
            {
                let shape = StageMap::SlotMove { batch, slots, direction };
                lowered += follow(shape, &by);
            }
        }
    }
    assert_eq!(lowered, 1288);
}

#[test]
fn slots_both_ways() {
    let mut lowered = 0;
    let gathers: Vec<_> = [1, 4, 132]
        .into_iter()
        .flat_map(|groups| {
            let teams = [1, 3, 132].map(|blocks| Strategy::Teams { groups, blocks });
            teams.into_iter().chain([Strategy::Runs { groups }])
        })
        .collect();
    let moves = [Strategy::Moves, Strategy::PerCycle];
    for direction in DIRECTIONS {
        for (rows, cols, slot, chunk) in [
            (10, 3, 2, 4),
            (61, 7, 4, 8),
            (64, 5, 8, 8),
            (9, 1, 3, 9),
            (97, 33, 16, 32),
            (40, 6, 1, 1),
        ] {
            let slots = AlignedSlots::new(rows, cols, slot, chunk).unwrap();
            let by_rows = AlignedSlots::by_rows(rows, cols, slot);
            for batch in [1, 2, 5] {
                let gather = StageMap::SlotGather { batch, slots, direction };
                lowered += follow(gather, &gathers);
                lowered += follow(StageMap::SlotMove { batch, slots, direction }, &moves);
                if let Some(slots) = by_rows {
                    let gather = StageMap::SlotGather { batch, slots, direction };
                    assert_eq!(follow(gather.clone(), &gathers), 0, "{gather}");
                }
            }
        }
    }
    assert_eq!(lowered, 7056);
}

/// Records with fields of equal and different widths, between AoS and tiles: short last tiles,
/// several tiles per block, tiles too large for a block, fields in another order.
#[test]
fn records_between_aos_and_tiles() {
    let mut lowered = 0;
    let mut meet = |fields: RecordSchema, aos: usize, tile: usize| {
        for (from, to) in [(aos, tile), (tile, aos)] {
            let retile = LayoutChange::new(fields.clone(), from, to);
            if !retile.is_identity() {
                lowered += follow(retile.into(), &[BLOCK, Strategy::Pieces { piece: 64 }]);
            }
        }
    };
    for widths in [&[1; 5][..], &[4, 12, 1, 8], &[1, 1, 2, 2, 3], &[2, 4], &[1; 300]] {
        for records in [2, 31, 97, 1009, 99_991] {
            let fields = RecordSchema::new(records, widths).unwrap();
            for tile in [1, 2, 7, 8, 32, 128, 1009] {
                meet(fields.clone(), 1, tile);
            }
        }
    }
    for records in [7, 1009] {
        let fields = RecordSchema::new(records, &[8, 4, 4, 1, 3]).unwrap();
        let fields = fields.with_aos_offsets(&[4, 0, 12, 19, 16]).unwrap();
        for tile in [1, 8, 32] {
            meet(fields.clone(), AOS, tile);
        }
    }
    assert_eq!(lowered, 5736);
}

/// Slots of records: one chunk and several, remainders of every length, from AoS and from tiles,
/// fields in another order.
#[test]
fn slots_of_records() {
    let mut lowered = 0;
    let runs = [1, 3, 132].map(|groups| Strategy::Runs { groups });
    let mut meet = |fields: RecordSchema, tile, slot, chunk| {
        let Some(slots) = FieldSlots::new(fields, tile, slot, chunk) else { return };
        for direction in DIRECTIONS {
            lowered += follow(StageMap::RecordGather { slots: slots.clone(), direction }, &runs);
            lowered += follow(
                StageMap::RecordMove { slots: slots.clone(), direction },
                &[Strategy::Moves],
            );
        }
    };
    for widths in
        [&[4, 12, 1, 8][..], &[1; 5], &[1; 4], &[1; 6], &[1, 1, 2, 2, 3], &[2, 4], &[1; 64], &[7]]
    {
        for records in [16, 31, 97, 101, 1009] {
            let fields = RecordSchema::new(records, widths).unwrap();
            for (slot, chunk) in [(16, 16), (16, 48), (4, 8), (32, 32)] {
                for tile in [1, 4, 16, 32] {
                    meet(fields.clone(), tile, slot, chunk);
                }
            }
        }
    }
    for records in [31, 1009] {
        let fields = RecordSchema::new(records, &[8, 4, 4, 1, 3]).unwrap();
        let fields = fields.with_aos_offsets(&[4, 0, 12, 19, 16]).unwrap();
        meet(fields.clone(), AOS, 16, 16);
        meet(fields, AOS, 8, 24);
    }
    meet(RecordSchema::new(100, &[1; 65]).unwrap(), 1, 16, 16); // more fields than a kernel takes
    assert_eq!(lowered, 22_256);
}

/// Super-elements of every length, in registers and in shared memory, with flags in global and in
/// shared memory.
#[test]
fn super_elements_of_every_length() {
    let mut lowered = 0;
    let mut shapes = vec![swap([1, 9, 2, 5, 3]), swap([3, 6, 1, 7, 48]), swap([2, 5, 1, 3, 1000])];
    shapes.extend([turned(2, [3, 4], [5, 2]), turned(1, [5, 6], [16, 16])]);
    let slots = AlignedSlots::new(61, 7, 4, 8).unwrap();
    shapes.extend(DIRECTIONS.map(|direction| StageMap::SlotMove { batch: 2, slots, direction }));
    for shape in shapes {
        lowered += follow(shape, &[Strategy::OnChipMoves { threads: 128 }, Strategy::Moves]);
    }
    assert_eq!(lowered, 112);
}

/// Rows slide by several launches. No launch overwrites data that a later launch reads.
#[test]
fn rows_slide_both_ways() {
    for (rows, cols, pitch, other) in [
        (1, 5, 9, 5),
        (10, 3, 7, 3),
        (10, 3, 7, 4),
        (37, 100, 103, 100),
        (37, 100, 103, 101),
        (64, 64, 65, 64),
        (300, 2, 300, 2),
        (300, 2, 300, 150),
        (20, 6, 6, 6),
        (0, 2, 3, 2),
    ] {
        for (from, to) in [(pitch, other), (other, pitch)] {
            let slide = RowSlide::new(rows, cols, from, to).unwrap();
            let shape = StageMap::Slide(slide);
            for way in [
                Strategy::Rounds { least: 1 },
                Strategy::Rounds { least: 2 },
                Strategy::Rounds { least: 1000 },
                Strategy::Blocks { block: 16 },
                Strategy::Blocks { block: 48_384 },
            ] {
                for elem in [1, 4, 12] {
                    let bytes = slide.change().span() * elem;
                    // Every byte is followed through every launch.
                    if !exhaustive() && elem > 1 && bytes > 50_000 {
                        continue;
                    }
                    let calls = lower(&shape, way, at(elem, 1)).unwrap();
                    agrees(&calls, &shape, elem, 1);
                    nothing_is_lost(&calls, bytes, |memory| {
                        for k in (0..slide.from().len()).map(|k| slide.from().offset(k)) {
                            assert_eq!(
                                memory[slide.change().dest(k) * elem],
                                k * elem,
                                "{shape} {way}"
                            );
                        }
                    });
                }
            }
        }
    }
}

/// Runs launches on memory in which each byte has its offset as value.
fn nothing_is_lost(calls: &[CheckedLaunch], bytes: usize, check: impl FnOnce(&[usize])) {
    let mut memory: Vec<usize> = (0..bytes).collect();
    for call in calls.iter().map(|call| **call) {
        let before = memory.clone();
        for (offset, &byte) in before.iter().enumerate() {
            let to = replay::dest(&call, 1, offset as u64).unwrap() as usize;
            if to != offset {
                memory[to] = byte;
            }
        }
    }
    check(&memory);
}

#[test]
fn from_one_place_to_another() {
    let (mut kernels, mut lowered) = (std::collections::BTreeSet::new(), 0);
    for (batch, rows, cols) in MATRICES {
        for elem in ELEMENTS_ELSEWHERE {
            if Problem::with_batch(batch, rows, cols, elem).is_err() {
                continue;
            }
            let shape = swap([batch, rows, 1, cols, 1]);
            for alignment in alignments(elem) {
                for way in [1, 8].into_iter().flat_map(elsewhere) {
                    if let Ok(calls) = lower(&shape, way, at(elem, alignment)) {
                        agrees(&calls, &shape, elem, alignment);
                        kernels.insert(calls[0].kernel());
                        lowered += 1;
                    }
                }
            }
        }
    }
    assert_eq!((kernels.len(), lowered), (15, 1044), "{kernels:?}");
}

/// All orders of up to five short axes, and random orders of more axes, out of place: a single
/// tile, and several tiles with partial ones at the end.
#[test]
fn axes_from_one_place_to_another() {
    let mut lowered = 0;
    let mut meet = |shape: StageMap| {
        if !shape.is_empty() {
            lowered += follow(shape, &AXES_ELSEWHERE);
        }
    };
    for extents in
        [&[7, 5][..], &[6, 5, 4], &[70, 3, 90], &[5, 4, 3, 2], &[9, 33, 2, 70], &[3, 4, 2, 5, 3]]
    {
        for order in orders(extents.len()) {
            meet(axes(extents, &order));
        }
    }
    for (extents, order) in drawn(300, 9, 6000) {
        meet(axes(&extents, &order));
    }
    // Sizes that fill the chip, and more than 2^32 elements.
    for (extents, order) in [
        (&[64, 256, 112, 112][..], &[0, 2, 3, 1][..]),
        (&[64, 112, 112, 256], &[0, 3, 1, 2]),
        (&[256, 3, 224, 224], &[0, 2, 3, 1]),
        (&[4096, 16, 32, 128], &[0, 2, 1, 3]),
        (&[128, 96, 160, 144], &[3, 2, 1, 0]),
        (&[48, 28, 28, 28, 48], &[4, 3, 2, 1, 0]),
        (&[509, 641, 1021], &[2, 1, 0]),
        (&[2; 20], &[19, 18, 17, 16, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (&[1 << 9, 300, 1 << 10, 50], &[3, 1, 0, 2]),
        (&[3, 1 << 33, 2], &[2, 1, 0]),
    ] {
        meet(axes(extents, order));
    }
    assert_eq!(lowered, 14_409);
}

/// Returns all orders of `rank` axes.
fn orders(rank: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for axis in 0..rank {
        let with = |order: &Vec<usize>, at: usize| {
            let mut order = order.clone();
            order.insert(at, axis);
            order
        };
        all = all.iter().flat_map(|order| (0..=axis).map(move |at| with(order, at))).collect();
    }
    all
}

/// Square tiles that have a kernel: single, in pairs, and more adjacent tiles than a block holds.
#[test]
fn square_tiles() {
    let mut lowered = 0;
    for side in [16, 20, 32, 64, 100, 128, 200] {
        for (batch, mid) in [(1, 1), (5, 1), (1, 2), (2, 5), (1, 19)] {
            lowered += follow(swap([batch, side, mid, side, 1]), &[BLOCK]);
        }
        let by = [16, 32, 64, 128].map(|tile| Strategy::TileSwap { tile });
        for (batch, mid) in [(1, 1), (4, 1), (1, 3), (2, 5)] {
            lowered += follow(swap([batch, side, mid, side, 1]), &by);
        }
    }
    // Many tiles, in groups, with rows of any alignment and with shared cache lines.
    for (side, elem) in
        [(3840, 1), (3841, 1), (1921, 2), (1985, 4), (23000, 4), (23001, 4), (993, 8), (1032, 16)]
    {
        for (batch, mid) in [(1, 1), (2, 3)] {
            for way in [32, 64, 128].map(|tile| Strategy::TileSwap { tile }) {
                let shape = swap([batch, side, mid, side, 1]);
                for alignment in alignments(elem) {
                    let calls = lower(&shape, way, at(elem, alignment)).expect("a square");
                    agrees(&calls, &shape, elem, alignment);
                    lowered += 1;
                }
            }
        }
    }
    assert_eq!(lowered, 1636);
}

/// Cubes with rows of whole vectors, of whole and partial tiles, in both directions.
#[test]
fn cubes() {
    let mut lowered = 0;
    for side in [8, 16, 24, 40, 64, 104, 320] {
        for (rows, cols) in [(side, side * side), (side * side, side)] {
            for batch in [1, 3] {
                let by = [8, 16, 32, 64].map(|tile| Strategy::TileSwap { tile });
                lowered += follow(swap([batch, rows, 1, cols, 1]), &by);
            }
        }
    }
    assert_eq!(lowered, 336);
}

/// Axes that swap in pairs: short axes, an axis split with and without a remainder, axes that stay
/// or swap within a row, several words per element, and arrays of more than 2^32 elements.
#[test]
fn axes_in_pairs() {
    let shapes = [
        (&[7, 5, 7, 9][..], &[2, 1, 0, 3][..]),
        (&[6, 6, 4, 4], &[1, 0, 3, 2]),
        (&[8, 6, 8, 6], &[2, 3, 0, 1]),
        (&[5, 7, 7, 5, 3], &[3, 2, 1, 0, 4]),
        (&[4, 5, 3, 5, 4], &[4, 3, 2, 1, 0]),
        (&[3, 3, 2, 5, 5], &[1, 0, 2, 4, 3]),
        (&[20, 20, 20, 20, 20, 20], &[5, 4, 3, 2, 1, 0]),
        (&[23, 23, 23, 23, 23, 23], &[5, 4, 3, 2, 1, 0]),
        (&[113, 113, 113, 113], &[2, 3, 0, 1]),
        (&[17, 101, 53, 101, 53], &[0, 3, 4, 1, 2]),
        (&[21, 300, 5, 300, 9], &[0, 3, 2, 1, 4]),
        (&[40, 40, 40, 30, 30], &[2, 1, 0, 4, 3]),
        (&[64, 48, 64, 48, 12], &[2, 3, 0, 1, 4]),
        (&[4000, 3, 4000, 100_000], &[2, 1, 0, 3]),
        (&[4; 8], &[7, 6, 5, 4, 3, 2, 1, 0]),
    ];
    let lowered =
        shapes.map(|(extents, order)| follow(axes(extents, order), &[Strategy::SwapAxes]));
    // In the last shape but one, single bytes have more tiles than a launch has blocks.
    assert_eq!(lowered, [14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 12, 14]);
}
