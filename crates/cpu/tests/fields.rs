//! Tests of layout changes of records: every stage by every method, and every plan, against a list
//! of their words.

use std::env;

use turntile_cpu::{CpuDevice, Executor, Workspace};
use turntile_perm::{AOS, FieldSlots, LayoutChange, RecordSchema};
use turntile_plan::{Direction, Planner, Problem, StageMap};

use crate::numbered;
use crate::stages::check_all_methods;

const RECORDS: [&[usize]; 7] =
    [&[1, 1, 1], &[1, 3], &[4, 12, 1, 8], &[5], &[2, 2, 3, 1, 1, 6], &[16, 1], &[1; 9]];

/// Returns two schemas of these fields: in reverse order in the record, and in order.
fn placed(records: usize, widths: &[usize]) -> [RecordSchema; 2] {
    let fields = RecordSchema::new(records, widths).unwrap();
    let offsets: Vec<usize> = (0..widths.len()).map(|f| widths[f + 1..].iter().sum()).collect();
    [fields.with_aos_offsets(&offsets).unwrap(), fields]
}

#[test]
fn tile_changes_are_right_by_every_method() {
    for widths in RECORDS {
        for records in [1, 2, 7, 16, 33] {
            for fields in placed(records, widths) {
                for (from, to) in
                    [(AOS, 4), (4, AOS), (1, 33), (33, AOS), (AOS, 1), (2, 6), (4, 16), (5, 3)]
                {
                    let map: StageMap = LayoutChange::new(fields.clone(), from, to).into();
                    [1, 3, 4].into_iter().for_each(|bytes| check_all_methods(map.clone(), bytes));
                }
            }
        }
    }
}

#[test]
fn record_slots_are_right_by_every_method() {
    for widths in RECORDS {
        for records in [1, 8, 13, 40] {
            let cuts = [
                (1, 1, 1),
                (1, 2, 4),
                (1, 1, 13),
                (1, 2, 20),
                (2, 2, 20),
                (AOS, 3, 36),
                (4, 2, 8),
                (3, 5, 15),
                (AOS, 8, 8),
                (AOS, 2, 6),
            ];
            let all = placed(records, widths).into_iter();
            for (fields, (tile, slot, chunk)) in all.flat_map(|f| cuts.map(|cut| (f.clone(), cut)))
            {
                let Some(slots) = FieldSlots::new(fields, tile, slot, chunk) else { continue };
                for direction in [Direction::Forward, Direction::Backward] {
                    let step = if env::var_os("TURNTILE_EXHAUSTIVE").is_some() { 1 } else { 3 };
                    let sections = (1 + records % step..chunk).step_by(step);
                    let sections = sections.filter_map(|section| slots.in_sections(section));
                    for slots in sections.filter(|slots| slots.section().is_some()) {
                        check_all_methods(
                            StageMap::RecordGather { slots: slots.clone(), direction },
                            3,
                        );
                        check_all_methods(StageMap::RecordMove { slots, direction }, 3);
                    }
                    for bytes in [1, 4, 8] {
                        check_all_methods(
                            StageMap::RecordGather { slots: slots.clone(), direction },
                            bytes,
                        );
                        check_all_methods(
                            StageMap::RecordMove { slots: slots.clone(), direction },
                            bytes,
                        );
                    }
                }
            }
        }
    }
}

/// Checks sections whose slots start before their records. The last section's slots have more words
/// than two sections of records.
#[test]
fn sections_buffer_the_slots_next_to_them() {
    let fields = RecordSchema::new(23, &[2, 2]).unwrap();
    let slots = FieldSlots::new(fields, 1, 9, 18).unwrap().in_sections(8).unwrap();
    let words = (slots.schema().len() - slots.section_place(0, 1) * 9, slots.longest_section() * 4);
    assert_eq!((slots.sections(0), words), (2, (65, 64)));
    for direction in [Direction::Forward, Direction::Backward] {
        check_all_methods(StageMap::RecordGather { slots: slots.clone(), direction }, 3);
    }
}

/// Returns `(record, word)` of all words in order: tile by tile, field by field, record by record.
fn listed(records: usize, widths: &[usize], tile: usize) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    for first in (0..records).step_by(tile) {
        let mut begin = 0;
        for width in widths {
            for i in first..records.min(first + tile) {
                words.extend((begin..begin + width).map(|c| (i, c)));
            }
            begin += width;
        }
    }
    words
}

fn check_plans(records: usize, widths: &[usize], from: usize, to: usize, word_bytes: usize) {
    let fields = RecordSchema::new(records, widths).unwrap();
    let problem = Problem::for_records(LayoutChange::new(fields, from, to), word_bytes).unwrap();
    let record = widths.iter().sum::<usize>();
    let aos = numbered(records * record, word_bytes);
    let in_tiles = |tile| -> Vec<u8> {
        let word = |(i, c): (usize, usize)| &aos[(i * record + c) * word_bytes..][..word_bytes];
        listed(records, widths, tile).into_iter().flat_map(word).copied().collect()
    };
    let (before, after) = (in_tiles(from), in_tiles(to));
    for threads in [1, 3] {
        // Small scratch, so that small arrays have many chunks.
        let host = CpuDevice::new(threads).with_scratch(2048);
        let survey = Planner::new(host).candidates(&problem);
        assert!(!survey.candidates.is_empty(), "{problem}: {:?}", survey.rejected);
        for plan in survey.candidates {
            let (name, executor) = (plan.to_string(), Executor::new(plan, threads).unwrap());
            let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
            workspace.poison(0xC3);
            let mut data = before.clone();
            executor.run_bytes(&mut data, &mut workspace).unwrap();
            assert!(data == after, "{name}");
        }
    }
}

#[test]
fn all_plans_are_right_for_small_records() {
    for widths in RECORDS {
        for records in [1, 2, 31, 64, 70] {
            for tile in [1, 2, 7, 32, 64] {
                for (from, to) in
                    [(1, tile), (tile, 1), (records, tile), (tile, records), (tile, 3)]
                {
                    check_plans(records, widths, from, to, 4);
                }
            }
        }
    }
}

#[test]
fn all_plans_are_right_for_many_records() {
    for (records, word_bytes) in [(10_007, 1), (4099, 4), (8192, 8)] {
        for widths in [&[4, 12, 1, 8][..], &[1; 19], &[3, 3, 1]] {
            for (from, to) in
                [(1, 32), (32, 1), (1, records), (records, 1), (32, records), (records, 32)]
            {
                check_plans(records, widths, from, to, word_bytes);
            }
        }
    }
}
