//! Tests of record conversions between layouts, by size and offset of the fields.

use proptest::prelude::*;
use turntile::error::Reason;
use turntile::layout::{LayoutError, RecordConversion, RecordOrder};
use turntile::mode::Dynamic;
use turntile::plan::{GpuDevice, PlanError, Planner, Route};
use turntile::{ErrorKind, RawElements, Transpose};

/// Returns the expected bytes of all records, stored in `layout`.
fn expected_bytes(layout: RecordOrder, records: usize, fields: &[Vec<Vec<u8>>]) -> Vec<u8> {
    let tile = match layout {
        RecordOrder::Aos => 1,
        RecordOrder::Soa => records.max(1),
        RecordOrder::Asta(tile) => tile,
    };
    let mut all = Vec::new();
    for first in (0..records).step_by(tile) {
        for field in fields {
            field[first..records.min(first + tile)].iter().for_each(|bytes| all.extend(bytes));
        }
    }
    all
}

fn fields(records: usize, sizes: &[usize]) -> Vec<Vec<Vec<u8>>> {
    let mut next = 0u32;
    let mut byte = || {
        next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (next >> 24) as u8
    };
    let mut bytes = |size: usize| (0..size).map(|_| byte()).collect::<Vec<u8>>();
    sizes.iter().map(|&size| (0..records).map(|_| bytes(size)).collect()).collect()
}

fn check(
    records: usize,
    sizes: &[usize],
    from: RecordOrder,
    to: RecordOrder,
    change: impl Fn(Transpose) -> Transpose,
) {
    let (fields, conversion) = (fields(records, sizes), RecordConversion::new(records, sizes));
    let mut data = expected_bytes(from, records, &fields);
    let planned = change(conversion.clone().from(from).to(to)).plan().unwrap();
    planned.run(&mut RawElements(&mut data[..])).unwrap();
    assert!(data == expected_bytes(to, records, &fields), "{planned}");
    for (f, field) in fields.iter().enumerate() {
        if to == RecordOrder::Soa {
            assert_eq!(data[conversion.column(f)], field.concat(), "{planned}: field {f}");
        }
        for (i, bytes) in field.iter().enumerate().step_by(1 + records / 64) {
            assert_eq!(&data[conversion.offset(to, i, f)..][..bytes.len()], bytes, "{planned}");
        }
    }
}

fn layouts() -> impl Iterator<Item = (RecordOrder, RecordOrder)> {
    let all = [1, 2, 5, 32, 64]
        .map(RecordOrder::Asta)
        .into_iter()
        .chain([RecordOrder::Aos, RecordOrder::Soa]);
    let all: Vec<RecordOrder> = all.collect();
    all.clone().into_iter().flat_map(move |from| all.clone().into_iter().map(move |to| (from, to)))
}

#[test]
fn conversion_is_correct_for_all_small_records() {
    let sizes: [&[usize]; 8] = [
        &[1],
        &[4, 4],
        &[1, 16],
        &[4, 12, 1, 8],
        &[2, 3],
        &[8, 8, 8, 8, 8, 8],
        &[16, 1, 2, 4, 8, 1],
        &[6, 9],
    ];
    for sizes in sizes {
        for records in [0, 1, 2, 31, 32, 33, 70] {
            layouts().for_each(|(from, to)| check(records, sizes, from, to, |plan| plan));
        }
    }
}

#[test]
fn conversion_is_correct_for_any_workspace_and_threads() {
    let records = if crate::largest_side() > 20 { 10_007 } else { 1_009 };
    for sizes in [&[4, 12, 1, 8][..], &[4; 7], &[3, 3, 2]] {
        for (from, to) in layouts() {
            for (threads, cap) in [(1, 0), (2, 0), (3, 1 << 20)] {
                check(records, sizes, from, to, |plan| plan.threads(threads).workspace_limit(cap));
            }
        }
    }
}

#[test]
fn by_offsets_keeps_gaps() {
    // Records of 1 byte, 3 bytes of padding, 4 bytes, 1 byte, 7 bytes of padding.
    let layout = RecordConversion::by_offsets(3, 16, &[(4, 4), (0, 1), (8, 1)]).unwrap();
    assert_eq!(layout.record_bytes(), 16);
    assert_eq!([0, 1, 2].map(|f| layout.column(f)), [0..12, 12..15, 15..18]);
    let before: Vec<u8> = (0..48).collect();
    let mut data = before.clone();
    layout
        .clone()
        .to(RecordOrder::Soa)
        .plan()
        .unwrap()
        .run(&mut RawElements(&mut data[..]))
        .unwrap();
    assert_eq!(data[layout.column(0)], [4, 5, 6, 7, 20, 21, 22, 23, 36, 37, 38, 39]);
    assert_eq!(data[layout.column(2)], [8, 24, 40]);
    let to_aos = layout.from(RecordOrder::Soa).to(RecordOrder::Aos);
    to_aos.plan().unwrap().run(&mut RawElements(&mut data[..])).unwrap();
    assert_eq!(data, before);
}

/// Checks that each field is stored at [`RecordConversion::offset`], for fields given in any order.
#[test]
fn columns_follow_order_of_fields() {
    for (record_bytes, given) in [
        (16, &[(8, 8), (0, 4), (4, 1)][..]),
        (25, &[(17, 8), (4, 12), (0, 4), (16, 1)]),
        (12, &[(8, 4), (4, 4), (0, 4)]),
        (6, &[(5, 1), (0, 2)]),
    ] {
        for records in [0, 1, 2, 33, 70] {
            let aos: Vec<u8> =
                (0..records * record_bytes).map(|k| (k * 7 + k / 256) as u8).collect();
            let layout = RecordConversion::by_offsets(records, record_bytes, given).unwrap();
            let in_layout = |order: RecordOrder| {
                let mut data = aos.clone();
                let planned = layout.clone().to(order).plan().unwrap();
                planned.run(&mut RawElements(&mut data[..])).unwrap();
                data
            };
            for (from, to) in layouts() {
                let (mut data, want) = (in_layout(from), in_layout(to));
                for (i, (f, &(at, bytes))) in
                    (0..records).flat_map(|i| given.iter().enumerate().map(move |g| (i, g)))
                {
                    let offset = layout.offset(to, i, f);
                    assert_eq!(want[offset..][..bytes], aos[i * record_bytes + at..][..bytes]);
                }
                let planned = layout.clone().from(from).to(to).plan().unwrap();
                planned.run(&mut RawElements(&mut data[..])).unwrap();
                assert!(data == want, "{planned}");
            }
        }
    }
    let layout = RecordConversion::by_offsets(10, 16, &[(8, 8), (0, 4), (4, 1)]).unwrap();
    assert_eq!([0, 1, 2].map(|f| layout.column(f)), [0..80, 80..120, 120..130]);
}

#[test]
fn invalid_layouts_are_rejected() {
    let planned =
        |layout: RecordConversion, to| layout.to(to).plan().map(|planned| planned.to_string());
    let rejected = |layout: RecordConversion, to| match planned(layout, to).unwrap_err().reason() {
        Reason::Layout(error) => error.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(rejected(RecordConversion::new(3, &[]), RecordOrder::Soa), LayoutError::NoFields);
    assert!(matches!(RecordConversion::by_offsets(3, 3, &[]), Err(LayoutError::NoFields)));
    assert_eq!(
        rejected(RecordConversion::new(3, &[1, 0]), RecordOrder::Soa),
        LayoutError::EmptyField { field: 1 }
    );
    assert_eq!(
        rejected(RecordConversion::new(3, &[1, 2]), RecordOrder::Asta(0)),
        LayoutError::EmptyTile
    );
    let from = RecordConversion::new(3, &[1, 2]).from(RecordOrder::Asta(0));
    assert_eq!(rejected(from, RecordOrder::Soa), LayoutError::EmptyTile);
    let many = RecordConversion::new(usize::MAX / 2, &[1, 2]);
    assert_eq!(rejected(many, RecordOrder::Soa), LayoutError::TooLarge { records: usize::MAX / 2 });
    let by_offsets = |fields: &[(usize, usize)]| RecordConversion::by_offsets(3, 8, fields);
    for (fields, why) in [
        (&[(0, 4), (2, 2)][..], LayoutError::Overlap { first: 0, second: 1, begins: 2, ends: 4 }),
        (&[], LayoutError::NoFields),
        (&[(4, 4), (0, 0)], LayoutError::EmptyField { field: 1 }),
        (&[(4, 5)], LayoutError::Beyond { field: 0, ends: 9, record_bytes: 8 }),
        (&[(usize::MAX, 2)], LayoutError::Beyond { field: 0, ends: usize::MAX, record_bytes: 8 }),
    ] {
        assert_eq!(by_offsets(fields), Err(why));
    }
    for (change, with) in [
        ((|plan| plan.batch(2)) as fn(Transpose<Dynamic>) -> Transpose<Dynamic>, "a batch"),
        (|plan| plan.out_of_place(), "an out-of-place result"),
        (|plan| plan.leading(9, 9), "leading dimensions"),
    ] {
        let plan = change(RecordConversion::new(3, &[1, 2]).to(RecordOrder::Soa).dynamic()).plan();
        assert_eq!(plan.map(drop).unwrap_err(), LayoutError::With { with }.into());
    }
    let stored = RecordConversion::new(3, &[1, 2]).to(RecordOrder::Soa).stored(1 << 20);
    let with = "stored arrays";
    assert_eq!(stored.unwrap_err(), LayoutError::With { with }.into());
    for (text, layout) in [
        ("aos", Ok(RecordOrder::Aos)),
        ("soa", Ok(RecordOrder::Soa)),
        ("asta:32", Ok(RecordOrder::Asta(32))),
        ("asta:0", Err(LayoutError::EmptyTile)),
        ("asta:+2", Err(LayoutError::Unknown { text: "asta:+2".into() })),
        ("asta", Err(LayoutError::Unknown { text: "asta".into() })),
        ("AoS", Err(LayoutError::Unknown { text: "AoS".into() })),
    ] {
        assert_eq!(text.parse::<RecordOrder>(), layout);
    }
    for layout in [RecordOrder::Aos, RecordOrder::Soa, RecordOrder::Asta(7)] {
        assert_eq!(layout.to_string().parse(), Ok(layout));
    }
}

/// Checks that GPU plans of conversions from AoS have at most two stages and the right
/// destinations.
#[test]
fn gpu_plans_any_records_to_tiles_and_columns() {
    let planner = Planner::new(GpuDevice::h200());
    let plan = |records, sizes: &[usize], to| {
        planner.plan(&RecordConversion::new(records, sizes).to(to).problem().unwrap())
    };
    for (records, sizes, to) in [
        (4096, &[4; 5][..], RecordOrder::Asta(32)),
        (4096, &[4; 5], RecordOrder::Soa),
        (4099, &[4; 5], RecordOrder::Soa),
        (4099, &[4; 5], RecordOrder::Asta(32)),
        (4099, &[4, 12, 1, 8], RecordOrder::Asta(32)),
        (4099, &[4, 12, 1, 8], RecordOrder::Soa),
        (40_009, &[4, 12, 1, 8], RecordOrder::Soa),
        (40_000, &[4, 12, 8], RecordOrder::Soa),
        (50_021, &[200, 4, 96], RecordOrder::Soa),
    ] {
        let plan = plan(records, sizes, to).unwrap();
        assert_eq!(plan.check(), Ok(()));
        assert!(plan.stages().count() <= 2, "{plan}");
        for offset in 0..plan.problem.len() {
            assert_eq!(plan.dest(offset), plan.problem.dest(offset), "{plan} at {offset}");
        }
    }
    // For conversions to SoA, the GPU kernels support at most 64 fields of unequal sizes.
    let sizes: Vec<usize> = (0..65).map(|f| 1 + f % 2).collect();
    let rejected = plan(400_096, &sizes, RecordOrder::Soa);
    assert!(matches!(rejected, Err(PlanError::Infeasible { .. })));
}

#[test]
fn run_keeps_data_when_length_is_wrong() {
    let planned = RecordConversion::new(5, &[1, 2]).to(RecordOrder::Soa).plan().unwrap();
    let mut short = *b"aA1bB2cC3dD4eE";
    let error = planned.run(&mut RawElements(&mut short[..])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length { expected: 15, got: 14 });
    assert_eq!(&short, b"aA1bB2cC3dD4eE");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn conversion_is_correct_for_any_records(records in 0usize..5000, sizes in prop::collection::vec(1usize..24, 1..8),
                   from in 0usize..70, to in 0usize..70) {
        let layout = |tile| match tile {
            0 => RecordOrder::Soa,
            1 => RecordOrder::Aos,
            _ => RecordOrder::Asta(tile),
        };
        check(records, &sizes, layout(from), layout(to), |plan| plan);
    }
}

#[test]
fn sizes_saturate_when_they_overflow() {
    let huge = RecordConversion::new(usize::MAX, &[2]);
    assert_eq!(huge.column(0), 0..usize::MAX);
    assert_eq!(RecordConversion::new(5, &[usize::MAX, 2]).record_bytes(), usize::MAX);
    assert_eq!(huge.offset(RecordOrder::Aos, usize::MAX - 1, 0), usize::MAX);
    assert!(huge.to(RecordOrder::Soa).plan().is_err());
}

#[test]
fn route_is_accepted_when_nothing_moves() {
    let planned =
        RecordConversion::new(64, &[4]).to(RecordOrder::Soa).route(Route::ON_CHIP).plan().unwrap();
    assert_eq!(planned.plan().passes(), 0);
}
