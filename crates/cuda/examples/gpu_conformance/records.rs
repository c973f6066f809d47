//! Records between AoS, tiles and columns: small ones byte by byte, and ones that fill the chip,
//! with every word compared.

use turntile_cuda::Work;
use turntile_cuda::launch::widest_word;
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_perm::{AOS, FieldSlots, LayoutChange, RecordSchema};
use turntile_plan::{Direction, Planner, Problem, StageMap};

use crate::cases::Suite;
use crate::common::{self, Bench};

/// Fields of equal and different widths, packed, and a structure with padding.
const WIDTHS: [&[usize]; 8] = [
    &[1; 5],
    &[4, 12, 1, 8],
    &[4, 12, 1, 7, 8],
    &[1, 1, 2, 2, 3],
    &[2, 4],
    &[1; 32],
    &[8, 8, 4, 4],
    &[3, 3, 5, 1, 1, 1, 7],
];

/// Runs all sections. Records that fill the chip run `times` times.
pub fn records(bench: &mut Bench, times: usize) -> usize {
    small(bench) + full(bench, times)
}

/// Bytes of runs, whole vectors or not.
const LONG: [usize; 7] = [65, 96, 100, 510, 1024, 3003, 40_004];

/// Returns the offsets of fields whose order in a record is reversed.
fn aos_offsets(widths: &[usize]) -> Vec<usize> {
    (0..widths.len()).map(|f| widths[f + 1..].iter().sum()).collect()
}

fn small(bench: &mut Bench) -> usize {
    let mut suite = Suite::new(bench);
    let mut meet = |fields: RecordSchema, aos: usize, tile: usize, elem: usize| {
        for (from, to) in [(aos, tile), (tile, aos)] {
            let retile = LayoutChange::new(fields.clone(), from, to);
            if !retile.is_identity() {
                suite.way(retile.into(), elem, Strategy::Barrier(Scope::Block));
            }
        }
    };
    for widths in WIDTHS {
        for records in [2, 33, 97, 1009] {
            let fields = RecordSchema::new(records, widths).expect("counted");
            for tile in [1, 2, 7, 8, 32, 128, 1009] {
                for elem in [1, 2, 4, 8, 16, 12] {
                    meet(fields.clone(), 1, tile, elem);
                }
            }
        }
    }
    for records in [7, 1009] {
        let fields = RecordSchema::new(records, &[8, 4, 4, 1, 3]).expect("counted");
        let fields = fields.with_aos_offsets(&[4, 0, 12, 19, 16]).expect("they fill a record");
        for (tile, elem) in [1, 8, 32].into_iter().flat_map(|t| [1, 2, 4].map(|e| (t, e))) {
            meet(fields.clone(), AOS, tile, elem);
        }
    }
    // Fields that are long runs, of any alignment.
    for (widths, tile) in [(&[1, 1][..], 12), (&[4, 1, 1], 4), (&[3, 1, 2, 1], 6), (&[2; 5], 24)] {
        let fields = RecordSchema::new(72, widths).expect("counted");
        let order = fields.with_aos_offsets(&aos_offsets(widths)).expect("they fill a record");
        for (aos, fields) in [(1, fields), (AOS, order)] {
            for (from, to) in [(aos, tile), (tile, aos)] {
                let change = LayoutChange::new(fields.clone(), from, to);
                for (elem, piece) in LONG.into_iter().flat_map(|e| [64, 256].map(|p| (e, p))) {
                    suite.way(change.clone().into(), elem, Strategy::Pieces { piece });
                }
            }
        }
    }
    for (widths, tile, slot, chunk) in [
        (&[4, 12, 1, 8][..], 1, 32, 64),
        (&[4, 12, 1, 8], 8, 16, 32),
        (&[1, 1, 2, 2, 3], 1, 64, 64),
        (&[3, 1, 2], 32, 128, 128),
        (&[1; 64], 1, 16, 48),
        (&[1; 3], 1, 32, 64),
        (&[1; 4], 1, 64, 64),
        (&[1; 6], 1, 16, 48),
        (&[8, 8, 4, 4], 1, 16, 16),
    ] {
        for records in [128, 131, 250, 1009, 5003] {
            let fields = RecordSchema::new(records, widths).expect("counted");
            let slots = FieldSlots::new(fields, tile, slot, chunk).expect("valid slots");
            for direction in [Direction::Forward, Direction::Backward] {
                for elem in [1, 2, 4, 8, 16, 12] {
                    for groups in [1, 5, 40] {
                        let way = Strategy::Runs { groups };
                        suite.way(
                            StageMap::RecordGather { slots: slots.clone(), direction },
                            elem,
                            way,
                        );
                    }
                    suite.way(
                        StageMap::RecordMove { slots: slots.clone(), direction },
                        elem,
                        Strategy::Moves,
                    );
                }
            }
        }
    }
    suite.print_runs();
    suite.failures
}

/// Records that fill the chip: field widths in words, bytes of a word, number of records (a prime,
/// or whole tiles), records of a tile.
pub const FULL: [(&[usize], usize, usize, usize); 12] = [
    (&[1; 5], 4, 9_999_991, 32),
    (&[1; 8], 4, 8_388_593, 32),
    (&[1; 19], 4, 2_999_999, 32),
    (&[1; 6], 8, 4_999_999, 32),
    (&[3, 1, 2], 4, 9_999_991, 32),
    (&[4, 12, 1, 8], 1, 9_999_991, 32),
    (&[4, 12, 1, 8], 1, 9_999_992, 128),
    (&[4, 12, 1, 7, 8], 1, 9_999_991, 32),
    (&[8, 2, 2, 4], 1, 14_999_981, 64),
    (&[2, 4], 2, 19_999_999, 32),
    (&[1; 4], 1, 29_999_999, 128),
    (&[1; 6], 1, 19_999_999, 32),
];

/// Records of long fields, in the same notation: each tile is permuted in one pass.
pub const LONG_FIELDS: [(&[usize], usize, usize, usize); 4] = [
    (&[4, 1, 1], 360_448, 400, 4),
    (&[1, 1], 2816, 98_304, 1536),
    (&[8, 1, 1], 262_147, 320, 8),
    (&[5, 2, 1], 40_000, 1500, 100),
];

/// Runs the planner's choice in both directions, at aligned and unaligned addresses.
fn full(bench: &mut Bench, times: usize) -> usize {
    let mut failures = 0;
    let cases = FULL.iter().map(|case| (case, true)).chain(LONG_FIELDS.iter().map(|c| (c, false)));
    for (&(widths, elem, records, tile), columns) in cases {
        let fields = RecordSchema::new(records, widths).expect("counted");
        let mut ends = vec![(1, tile), (tile, 1)];
        if columns {
            ends.extend([(1, records), (records, 1), (tile, records), (records, tile)]);
        }
        for (from, to) in ends {
            let retile = LayoutChange::new(fields.clone(), from, to);
            // Conversions to and from columns need 16-byte aligned addresses.
            let skews = if from.max(to) == records { vec![0] } else { vec![0, elem] };
            for skew in skews {
                let alignment = if skew == 0 { 16 } else { widest_word(&[elem]) };
                let problem = Problem::for_records(retile.clone(), elem).expect("counted");
                let problem = problem.with_alignment(alignment);
                let plan = Planner::new(bench.gpu.device().clone()).plan(&problem);
                let work = plan.map_err(|why| why.to_string()).and_then(|plan| {
                    let what = format!("{plan} skew {skew}");
                    Work::of_plan(&plan).map(|work| (work, what)).map_err(|why| why.to_string())
                });
                match work {
                    Ok((work, what)) => {
                        let runs = if skew == 0 { times } else { 2 };
                        let size = (fields.len(), elem);
                        failures +=
                            common::repeat(bench, work, size, skew, runs, &what, |bench, data| {
                                bench.wrong_records(data, &retile, elem)
                            });
                    }
                    Err(why) => {
                        println!("  FAILED {problem}: {why}");
                        failures += 1;
                    }
                }
            }
        }
    }
    failures
}
