//! Cases of each table.

use turntile_cuda::GpuDevice;
use turntile_cuda::gpu_device::strategy_of;
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_perm::{AlignedSlots, Elementary};
use turntile_plan::{Device, Direction, MethodFilter, SlotParams, StageMap, StageRequest};

use crate::timing::{Case, What};

type Table = (&'static str, fn() -> Vec<Case>);

pub const ALL: [Table; 10] = [
    ("square", square),
    ("cube", cube),
    ("tiles", tiles),
    ("moves", moves),
    ("long_runs", long_runs),
    ("barrier", barrier),
    ("on_chip", on_chip),
    ("slots", slots),
    ("slot_runs", slot_runs),
    ("words", words),
];

const GLOBAL: What = What::Strategy(Strategy::Moves);
const GROUP: What = What::Strategy(Strategy::Barrier(Scope::Block));
const GRID: What = What::Strategy(Strategy::Barrier(Scope::Grid));
const PER_CYCLE: What = What::Strategy(Strategy::PerCycle);

fn case(name: &str, extents: [usize; 5], word: usize, what: What) -> Case {
    let [batch, rows, mid, cols, unit] = extents;
    let shape = Elementary { batch, rows, mid, cols, unit }.into();
    Case { name: name.to_owned(), shape, word, what }
}

fn swap(tile: usize) -> What {
    What::Strategy(Strategy::TileSwap { tile })
}

/// Cubes in both directions, by a block and by a cluster.
fn cube() -> Vec<Case> {
    let cube = |(side, word, tile): (usize, usize, usize)| {
        let both = [[1, side, 1, side * side, 1], [1, side * side, 1, side, 1]];
        both.map(|extents| case("cube", extents, word, swap(tile)))
    };
    let both =
        |(side, word, tile): (usize, usize, usize)| [tile, 2 * tile].map(|tile| (side, word, tile));
    [
        (704, 4, 16),
        (640, 4, 16),
        (700, 4, 16),
        (1024, 4, 16),
        (200, 4, 16),
        (512, 8, 16),
        (700, 8, 16),
        (400, 16, 8),
        (700, 16, 8),
        (800, 2, 32),
        (1000, 2, 32),
        (1024, 1, 32),
        (1000, 1, 32),
    ]
    .into_iter()
    .flat_map(both)
    .flat_map(cube)
    .collect()
}

fn square() -> Vec<Case> {
    let square = |side, word, tile| case("square", [1, side, 1, side, 1], word, swap(tile));
    vec![
        square(16384, 4, 64),
        square(16384, 4, 32),
        square(32768, 4, 64),
        square(32768, 8, 32),
        // Rows that share cache lines, and rows of any alignment.
        square(23000, 4, 64),
        square(23000, 4, 128),
        square(10000, 4, 64),
        square(10000, 4, 128),
        square(5000, 4, 64),
        square(12344, 8, 32),
        square(12344, 2, 128),
        square(12344, 1, 128),
        square(8200, 16, 16),
        square(23001, 4, 64),
        square(12345, 4, 64),
        square(5001, 4, 64),
        square(12345, 8, 32),
        square(16001, 2, 128),
        square(16001, 1, 128),
        square(16384, 8, 32),
        square(16384, 8, 64),
        square(32768, 2, 64),
        square(32768, 2, 128),
        square(32768, 1, 64),
        square(32768, 1, 128),
        square(8192, 16, 16),
        square(8192, 16, 32),
        case("square of many", [1000, 500, 1, 500, 1], 4, swap(64)),
    ]
}

fn tiles() -> Vec<Case> {
    let tile = |t: usize, word: usize| {
        let mid = 16384 / t;
        case("0210! in place", [(1 << 30) / (t * 16384 * word), t, mid, t, 1], word, GROUP)
    };
    let mut cases: Vec<Case> = [
        (32, 4),
        (64, 4),
        (128, 4),
        (50, 4),
        (61, 4),
        (100, 4),
        (96, 4),
        (200, 4),
        (225, 4),
        (200, 2),
        (100, 8),
        (128, 1),
        (64, 2),
        (128, 2),
        (32, 8),
        (64, 8),
        (16, 16),
        (32, 16),
    ]
    .map(|(t, word)| tile(t, word))
    .to_vec();
    cases.push(case("0210! in place 2 GiB", [512, 64, 256, 64, 1], 4, GROUP));
    cases
}

fn moves() -> Vec<Case> {
    let mut cases = Vec::new();
    // Shapes of a square-tile route's second pass: 19968x12032, 32768x24576, 16384x8192 and others.
    for (rows, cols, t) in [
        (19968, 12032, 64),
        (19968, 12032, 128),
        (32768, 16384, 64),
        (24576, 20480, 128),
        (16384, 8192, 64),
        (16384, 8192, 128),
        (7168, 1792, 64),
    ] {
        let shape = [1, rows / t, t, cols / t, t];
        cases.push(case("2100!", shape, 4, GLOBAL));
        cases.push(case("2100! permuted copy", shape, 4, What::Permuted));
    }
    for unit in [32, 64, 128, 256, 512, 1024, 2048] {
        for (rows, cols) in [((1 << 28) / unit / 509, 509), ((1 << 28) / unit / 512, 512)] {
            cases.push(case("100!", [1, rows, 1, cols, unit], 4, GLOBAL));
        }
        if unit <= 128 {
            cases.push(case(
                "100! permuted copy",
                [1, (1 << 28) / unit / 509, 1, 509, unit],
                4,
                What::Permuted,
            ));
        }
    }
    // Super-elements without a power of two as factor, and unaligned ones.
    for unit in [24, 33, 36, 50, 100] {
        cases.push(case("100!", [1, (1 << 28) / unit / 509, 1, 509, unit], 4, GLOBAL));
    }
    cases.push(case("0100!", [256, 64, 1, 255, 64], 4, GLOBAL));
    cases.push(case("0100!", [16, 1000, 1, 262, 64], 4, GLOBAL));
    for unit in [64, 128] {
        let shape = [1, 16384 / unit, unit, 16384 / unit, unit];
        cases.push(case("2100! of equal sides", shape, 4, GLOBAL));
        cases.push(case("2100! of equal sides swapped", shape, 4, PER_CYCLE));
        let shape = [1, 16384 / unit, unit, 8192 / unit, unit];
        cases.push(case("2100! of short cycles P-IPT", shape, 4, PER_CYCLE));
    }
    cases.push(case("100! P-IPT", [1, 8239, 1, 509, 64], 4, PER_CYCLE));
    cases.push(case("elements along cycles", [1, 16381, 1, 8191, 1], 4, GLOBAL));
    cases
}

/// Long runs by every piece that fits, and along cycles if an H200 offers that.
fn long_runs() -> Vec<Case> {
    let mut cases = Vec::new();
    for (batch, rows, cols, unit, word) in [
        (1, 2, 3, 100_000_000, 4),
        (64, 2, 2, 2880 * 1440, 2),
        (1, 32, 2, 14_680_064, 2),
        (1, 15, 7, 4_000_003, 4),
        (1, 15, 7, 4_000_003, 2),
        (1, 15, 7, 4_000_003, 1),
        (1, 8, 64, 750_000, 4),
        (100, 7, 9, 40_001, 4),
        (1, 24, 40, 262_144, 4),
        (1, 40, 45, 131_072, 4),
        (1, 40, 45, 131_073, 4),
        (1, 60, 60, 65_536, 4),
        // Second passes over instances of a batch.
        (1000, 20, 30, 128, 4),
        (300, 30, 40, 256, 4),
        (300, 30, 40, 257, 4),
    ] {
        let shape = [batch, rows, 1, cols, unit];
        let e = Elementary { batch, rows, mid: 1, cols, unit };
        let long = |way: &Strategy| matches!(way, Strategy::Pieces { .. } | Strategy::Moves);
        for way in offered(&e.into(), word).into_iter().filter(long) {
            cases.push(case(&way.to_string(), shape, word, What::Strategy(way)));
        }
    }
    cases
}

fn barrier() -> Vec<Case> {
    let mut cases = Vec::new();
    for (rows, cols) in [
        (32, 32),
        (32, 215),
        (16, 215),
        (64, 215),
        (32, 400),
        (32, 880),
        (16, 1700),
        (64, 400),
        (32, 889),
        (61, 457),
        (32, 1600),
        (7, 8),
        (3, 50),
        (100, 3),
        (64, 4),
    ] {
        cases.push(case("010!", [(1 << 28) / (rows * cols), rows, 1, cols, 1], 4, GROUP));
    }
    cases.push(case("0100! on chip", [(1 << 28) / 25_600, 16, 1, 100, 16], 4, GROUP));
    for (rows, cols, n) in [
        (32, 2500, 2),
        (32, 6000, 4),
        (32, 12000, 8),
        (32, 20000, 16),
        (500, 500, 8),
        (32, 2500, 4),
        (32, 6000, 8),
        (32, 12000, 16),
    ] {
        let what = What::Strategy(Strategy::Barrier(Scope::Cluster(n)));
        cases.push(case(
            "010! over a cluster",
            [(1 << 28) / (rows * cols), rows, 1, cols, 1],
            4,
            what,
        ));
    }
    cases
}

fn on_chip() -> Vec<Case> {
    let six = [(7200, 1800), (5100, 2500), (4000, 3200), (3300, 3900), (2500, 5100), (1800, 7200)];
    let more = [(3001, 3989), (1801, 3607), (2500, 2500), (3607, 1801)];
    let mut cases: Vec<Case> = six
        .into_iter()
        .chain(more)
        .map(|(r, c)| case("whole matrix", [1, r, 1, c, 1], 4, GRID))
        .collect();
    cases.push(case("whole matrix", [1, 3600, 1, 1800, 1], 8, GRID));
    cases.push(case("whole matrix", [1, 1800, 1, 1800, 1], 16, GRID));
    cases.push(case("whole matrix", [1, 7200, 1, 3600, 1], 2, GRID));
    cases.push(case("whole matrix", [1, 7200, 1, 7200, 1], 1, GRID));
    cases.push(case("whole matrix", [1, 7001, 1, 3601, 1], 2, GRID));
    cases.push(case("whole matrix", [1, 1500, 1, 2500, 3], 4, GRID));
    cases
}

/// The kernels for each word size, at equal bytes.
fn words() -> Vec<Case> {
    let mut cases = Vec::new();
    for word in [1, 2, 4, 8, 16] {
        let tile = match word {
            1 | 2 => 128,
            4 => 64,
            8 => 32,
            _ => 16,
        };
        let side = (1 << 14) * if word <= 2 { 2 } else { 1 } / if word == 16 { 2 } else { 1 };
        cases.push(case("square", [1, side, 1, side, 1], word, swap(tile)));
        cases.push(case(
            "0210!",
            [(1 << 30) / (tile * 16384 * word), tile, 16384 / tile, tile, 1],
            word,
            GROUP,
        ));
        cases.push(case("2100! of 256 bytes", [1, 222, 64, 299, 256 / word], word, GLOBAL));
        cases.push(case("100! of 512 bytes", [1, 4119, 1, 509, 512 / word], word, GLOBAL));
        let cols = 1600 / word;
        cases.push(case(
            "010! of 50 KB",
            [(1 << 30) / (32 * cols * word), 32, 1, cols, 1],
            word,
            GROUP,
        ));
        let cols = 3528 / word / 4 * 4;
        cases.push(case(
            "010! of 110 KB",
            [(1 << 30) / (32 * cols * word), 32, 1, cols, 1],
            word,
            GROUP,
        ));
        cases.push(case(
            "010! of 56 KB odd",
            [(1 << 30) / (33 * 1700), 33, 1, (1700 / word) | 1, 1],
            word,
            GROUP,
        ));
    }
    cases
}

/// Passes of aligned slots: strips of chunks by teams of blocks.
fn slots() -> Vec<Case> {
    let mut cases = Vec::new();
    for (rows, cols, slot, chunk, word) in [
        (16381, 20011, 64, 64, 4),
        (16381, 20011, 64, 128, 4),
        (16381, 20011, 128, 128, 4),
        (20011, 16381, 128, 128, 4),
        (30011, 30000, 64, 64, 4),
        (20011, 90001, 32, 32, 4),
        (20011, 90001, 16, 64, 4),
        (20011, 90001, 16, 32, 4),
        (20011, 90001, 16, 16, 4),
        (40009, 10007, 8, 8, 4),
        (40009, 10007, 8, 24, 4),
        (40009, 10007, 16, 16, 4),
        (40009, 10007, 32, 32, 4),
        (40009, 10007, 64, 64, 4),
        (40009, 10007, 64, 128, 4),
        (40009, 10007, 128, 128, 4),
        (40009, 10007, 128, 256, 4),
        (7919, 3001, 64, 64, 4),
        (7919, 3001, 64, 128, 4),
        (100_003, 5003, 64, 64, 4),
        (100_003, 5003, 64, 128, 4),
        (100_003, 5003, 128, 128, 4),
        (100_003, 5003, 256, 256, 4),
        (400_009, 1021, 64, 64, 4),
        (400_009, 1021, 64, 128, 4),
        (4_000_037, 35, 64, 64, 4),
        (1_000_003, 61, 64, 64, 4),
        (1_000_003, 61, 64, 128, 4),
        (1_000_003, 401, 64, 128, 4),
        (40009, 20011, 64, 64, 1),
        (40009, 20011, 128, 128, 1),
        (40009, 20011, 256, 256, 1),
        (40009, 20011, 256, 512, 1),
        (40009, 20012, 256, 256, 1),
        (40009, 20000, 256, 256, 1),
        (20011, 20011, 32, 32, 2),
        (20011, 20011, 64, 64, 2),
        (20011, 20011, 128, 128, 2),
        (20011, 20011, 128, 256, 2),
        (20011, 20012, 128, 128, 2),
        (20011, 20000, 128, 128, 2),
        (20011, 10007, 8, 8, 8),
        (20011, 10007, 16, 16, 8),
        (20011, 10007, 32, 64, 8),
        (10007, 9973, 8, 8, 16),
        (10007, 9973, 16, 16, 16),
        (10007, 9973, 16, 32, 16),
        (10007, 9973, 16, 32, 12),
    ] {
        let slots = AlignedSlots::new(rows, cols, slot, chunk).expect("fits");
        for direction in [Direction::Forward, Direction::Backward] {
            // The largest number of teams whose blocks hold enough chunks.
            let gather = StageMap::SlotGather { batch: 1, slots, direction };
            let found = offered(&gather, word).into_iter();
            let teams = |way: &Strategy| matches!(way, Strategy::Teams { .. });
            if let Some(Strategy::Teams { groups, blocks }) = found.clone().find(teams) {
                let name = format!("gather {}x{blocks}", groups / blocks);
                let what = What::Strategy(Strategy::Teams { groups, blocks });
                cases.push(slot_case(&name, gather, word, what));
            }
        }
        let moves = StageMap::SlotMove { batch: 1, slots, direction: Direction::Forward };
        cases.push(slot_case("move", moves, word, GLOBAL));
    }
    cases
}

fn slot_case(name: &str, shape: StageMap, word: usize, what: What) -> Case {
    Case { name: name.to_owned(), shape, word, what }
}

/// Returns the strategies that an H200 offers for a shape, in its order.
fn offered(shape: &StageMap, elem_bytes: usize) -> Vec<Strategy> {
    let (alignment, cap, want) = (16, usize::MAX, MethodFilter::Any);
    let request = StageRequest { elem_bytes, alignment, out_of_place: false, cap, methods: want };
    let offers = GpuDevice::h200().implementations(shape, &request).unwrap_or_default();
    offers.iter().filter_map(strategy_of).collect()
}

/// Gather passes with few columns, so that a block holds several chunks.
fn slot_runs() -> Vec<Case> {
    let mut cases = Vec::new();
    for (rows, cols, word) in [
        (9_999_991, 7, 4),
        (9_999_991, 2, 4),
        (9_999_991, 8, 4),
        (4_000_037, 35, 4),
        (1_000_003, 61, 4),
        (9_999_991, 7, 1),
        (9_999_991, 7, 2),
        (9_999_991, 7, 16),
    ] {
        for (slot, more) in [(64, 1), (64, 2), (64, 4), (128, 1), (128, 2)] {
            // The most rows with which blocks share a multiprocessor, and a multiple.
            let slotting = SlotParams { rows, cols, slot, elem_bytes: word };
            let chunks = GpuDevice::h200().chunk_lengths(&slotting, false);
            let chunk = chunks.into_iter().max().expect("a slot long") * more;
            let Some(slots) = AlignedSlots::new(rows, cols, slot, chunk) else { continue };
            for direction in [Direction::Forward, Direction::Backward] {
                let gather = StageMap::SlotGather { batch: 1, slots, direction };
                let runs = |way: &Strategy| matches!(way, Strategy::Runs { .. });
                if let Some(way) = offered(&gather, word).into_iter().find(runs) {
                    cases.push(slot_case("gather by blocks", gather, word, What::Strategy(way)));
                }
            }
        }
    }
    cases
}
