//! Every kernel in which threads or blocks wait for each other, at small sizes that still take
//! several blocks.
//!
//! For tools that slow execution a thousandfold: runs each kernel a few times, not each shape.
//! Kernels for more than 2^31 super-elements or 2^32 elements are too large for these tools (`huge`
//! runs them). They have the same code with wider indices.

use turntile_cuda::Work;
use turntile_cuda::launch::DeviceLimits;
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_cuda::sync::SYNCHRONISED;
use turntile_perm::{
    AlignedSlots, AxisPermutation, Elementary, FlippedAxes, LayoutChange, RecordSchema, RowSlide,
};
use turntile_plan::{Direction, StageMap};

use crate::cases::Suite;
use crate::common::Bench;
use crate::{into_axes, leading, padding, panels};

const BLOCK: Strategy = Strategy::Barrier(Scope::Block);
const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];

/// Kernels, in addition to [`SYNCHRONISED`], whose threads wait for each other within a block or by
/// flags.
const WITHIN: [&str; 35] = [
    "barrier_block",
    "barrier_micro",
    "barrier_few",
    "barrier_axes",
    "long_runs",
    "long_runs_records",
    "swap_axes_granules",
    "square_swap_granules",
    "square_swap_16",
    "square_swap_32",
    "square_swap_64",
    "square_swap_128",
    "cube_forward",
    "cube_back",
    "tiles_16",
    "tiles_32",
    "tiles_64",
    "tiles_128",
    "move_slots32_1",
    "move_slots32_2",
    "move_slots32_4",
    "move_axes32_1",
    "move_axes32_2",
    "move_axes32_4",
    "move_shared_axes",
    "move_shared_slots",
    "move_on_chip",
    "per_cycle_slots",
    "per_cycle_axes32",
    "pad_rows_alone",
    "pad_rows_together",
    "into_axes",
    "flip",
    "turn_squares",
    "turn_squares_granules",
];

fn swap([batch, rows, mid, cols, unit]: [usize; 5]) -> StageMap {
    Elementary { batch, rows, mid, cols, unit }.into()
}

/// Returns shapes, bytes of an element, and strategies.
fn selection() -> Vec<(StageMap, usize, Strategy)> {
    let mut all = Vec::new();
    let mut add = |extents, elems: &[usize], ways: &[Strategy]| {
        let shape = swap(extents);
        let each = |&elem| ways.iter().map(move |&way| (elem, way));
        all.extend(elems.iter().flat_map(each).map(|(elem, way)| (shape.clone(), elem, way)));
    };
    let words = [1, 2, 4, 8, 16];
    // Barriers of a block: several instances per block, one instance, and tiles of a panel; in
    // whole micro-blocks and not.
    for extents in [
        [40, 33, 1, 17, 1],
        [40, 64, 1, 48, 1],
        [5, 60, 1, 90, 1],
        [2, 61, 9, 61, 1],
        [40, 3, 1, 48, 1],
        [3, 4000, 1, 2, 1],
        [3, 6, 2, 10, 1],
        [6, 20, 1, 12, 5],
    ] {
        add(extents, &words, &[BLOCK]);
    }
    // Barriers of a cluster and of the grid.
    for n in [2, 4, 8, 16] {
        add([3, 70, 1, 90, 1], &words, &[Strategy::Barrier(Scope::Cluster(n))]);
        add([2, 64, 1, 96, 1], &[1, 2], &[Strategy::Barrier(Scope::Cluster(n))]);
        add([5, 70, 1, 90, 1], &words, &[Strategy::Barrier(Scope::Team(n))]);
        add([5, 64, 1, 96, 1], &[1, 2, 4], &[Strategy::Barrier(Scope::Team(n))]);
        add([5, 65, 1, 96, 1], &[1, 2], &[Strategy::Barrier(Scope::Team(n))]);
        add([5, 64, 1, 96, 3], &[1, 2], &[Strategy::Barrier(Scope::Team(n))]);
    }
    add([1, 301, 1, 203, 1], &words, &[Strategy::Barrier(Scope::Grid)]);
    add([1, 300, 1, 204, 1], &[1, 2], &[Strategy::Barrier(Scope::Grid)]);
    // Squares by pairs of tiles, and tiles transposed in place.
    for side in [256, 250] {
        let swaps = [16, 32, 64, 128].map(|tile| Strategy::TileSwap { tile });
        add([2, side, 1, side, 1], &words, &swaps);
    }
    for (side, elem) in [(3841, 1), (1921, 2), (1985, 4), (993, 8)] {
        add([1, side, 1, side, 1], &[elem], &[Strategy::TileSwap { tile: 64 }]);
    }
    for (rows, cols) in [(72, 5184), (5184, 72)] {
        let tiles = [8, 16, 32, 64].map(|tile| Strategy::TileSwap { tile });
        add([1, rows, 1, cols, 1], &words, &tiles);
    }
    for side in [16, 32, 64, 128] {
        add([2, side, 3, side, 1], &words, &[BLOCK]);
    }
    // Cycles with flags, in shared and in global memory, and without flags.
    let ways = [Strategy::Moves, Strategy::OnChipMoves { threads: 256 }];
    for unit in [1, 3, 40, 70, 128] {
        add([3, 31, 1, 23, unit], &[4], &ways);
    }
    add([3, 31, 1, 23, 8], &words, &ways);
    add([1, 13, 1, 11, 2000], &[4], &ways);
    for unit in [1, 40] {
        add([3, 31, 1, 23, unit], &[1, 4, 16], &[Strategy::PerCycle]);
    }
    // Axes in any order, in shared memory and along cycles; adjacent squares by pairs of tiles.
    for (extents, order) in [
        ([6, 5, 4, 3, 1], [2, 3, 1, 0, 4]),
        ([7, 6, 5, 4, 3], [0, 3, 4, 2, 1]),
        ([13, 6, 5, 7, 40], [3, 1, 0, 2, 4]),
        ([13, 6, 5, 7, 70], [3, 1, 0, 2, 4]),
        ([5, 3, 4, 6, 600], [3, 1, 0, 2, 4]),
    ] {
        let axes = AxisPermutation::new(&extents, &order).expect("few axes");
        for way in [BLOCK, Strategy::Moves, Strategy::PerCycle, Strategy::Pieces { piece: 64 }] {
            all.extend([1, 2, 4, 8, 12, 16].map(|elem| (StageMap::Axes(axes), elem, way)));
        }
    }
    let fields = RecordSchema::new(60, &[3, 1, 2]).expect("counted");
    for (from, to) in [(1, 20), (20, 1)] {
        let change = LayoutChange::new(fields.clone(), from, to);
        let way = Strategy::Pieces { piece: 64 };
        all.extend([1, 2, 4, 8, 16, 100].map(|elem| (change.clone().into(), elem, way)));
    }
    // Flips of long and short runs, and quarter turns.
    for (extents, order, flipped) in [
        (&[3, 31, 700][..], &[0, 1, 2][..], &[true, false, false][..]),
        (&[5, 31, 37], &[0, 1, 2], &[false, false, true]),
        (&[7, 60, 3], &[0, 1, 2], &[true, false, true]),
        (&[3, 150, 150], &[0, 2, 1], &[false, true, false]),
        (&[301, 301, 3], &[1, 0, 2], &[false, true, false]),
        (&[2, 136, 136], &[0, 2, 1], &[false, false, true]),
        (&[9, 24, 24], &[0, 2, 1], &[false, true, false]),
    ] {
        let axes = FlippedAxes::new(extents, order, flipped).expect("few axes");
        for way in [Strategy::Flip, Strategy::Turn] {
            all.extend(words.map(|elem| (axes.into(), elem, way)));
        }
    }
    // Two shapes of many blocks, which take these tools the longest.
    for (extents, order) in
        [([7, 6, 5, 4, 3], [0, 3, 4, 2, 1]), ([13, 6, 5, 7, 40], [3, 1, 0, 2, 4])]
    {
        let axes = AxisPermutation::new(&extents, &order).expect("few axes");
        let scopes = [Scope::Cluster(8), Scope::Cluster(16), Scope::Team(3), Scope::Grid];
        for way in scopes.map(Strategy::Barrier) {
            all.extend([1, 4, 12].map(|elem| (StageMap::Axes(axes), elem, way)));
        }
    }
    for tile in [16, 32, 64, 128] {
        let way = Strategy::TileSwap { tile };
        all.extend(words.map(|elem| (swap([2, 256, 3, 256, 1]), elem, way)));
    }
    // Slots: both passes in both directions.
    for (rows, cols, slot, chunk) in
        [(331, 37, 16, 32), (200, 130, 12, 24), (640, 61, 64, 64), (640, 9, 256, 256)]
    {
        let slots = AlignedSlots::new(rows, cols, slot, chunk).expect("fits");
        for direction in DIRECTIONS {
            let gather = StageMap::SlotGather { batch: 2, slots, direction };
            let moves = StageMap::SlotMove { batch: 2, slots, direction };
            for elem in [1, 2, 4, 8, 16, 12] {
                let (one, three) = (Strategy::Runs { groups: 1 }, Strategy::Runs { groups: 3 });
                let teams = [(1, 1), (6, 3), (12, 2)];
                let teams = teams.map(|(groups, blocks)| Strategy::Teams { groups, blocks });
                let ways = [one, three].into_iter().chain(teams);
                all.extend(ways.map(|way| (gather.clone(), elem, way)));
                all.push((moves.clone(), elem, Strategy::Moves));
            }
            all.push((moves, 4, Strategy::PerCycle));
        }
    }
    all
}

/// Runs the selection and compares every byte. A kernel that the selection does not meet is a
/// failure.
pub fn racecheck(bench: &mut Bench) -> usize {
    let of_device = *bench.gpu.device().limits();
    let mut suite = Suite::new(bench);
    for (shape, elem, way) in selection() {
        suite.way(shape, elem, way);
    }
    // The shared memory of eight blocks holds 5/12 of a matrix, their registers hold 5/12, and the workspace the rest.
    for (elem, [rows, cols]) in
        [(1, [300, 204]), (2, [300, 204]), (4, [301, 203]), (8, [301, 203]), (16, [301, 203])]
    {
        let shared_bytes = rows * cols * elem / 8 * 5 / 12;
        let limits = DeviceLimits { units: 8, shared_bytes, ..of_device };
        let grid = Strategy::Barrier(Scope::Grid);
        suite.way_within(swap([1, rows, 1, cols, 1]), elem, grid, &limits);
    }
    suite.print_runs();
    let mut met: Vec<String> = suite.runs.keys().cloned().collect();
    let mut failures = suite.failures;
    failures += padded(bench, &mut met);
    failures += leading::few(bench, &mut met);
    failures += into_axes::few(bench, &mut met);
    failures += panels::few(bench, &mut met);
    let all = SYNCHRONISED.iter().map(|row| row.0).chain(WITHIN);
    for entry in
        all.filter(|entry| !met.iter().any(|kernel| kernel.ends_with(&format!("/{entry}"))))
    {
        println!("  NOT MET {entry}");
        failures += 1;
    }
    failures
}

/// Runs only the axis permutations of the selection, in less time.
pub fn of_axes(bench: &mut Bench) -> usize {
    let mut suite = Suite::new(bench);
    let of_axes =
        |shape: &StageMap| matches!(shape, StageMap::Axes(_)) && shape.elementary().is_none();
    for (shape, elem, way) in selection().into_iter().filter(|stage| of_axes(&stage.0)) {
        suite.way(shape, elem, way);
    }
    suite.print_runs();
    suite.failures + into_axes::few(bench, &mut Vec::new())
}

/// Pads and unpads rows, by blocks and in rounds.
fn padded(bench: &mut Bench, met: &mut Vec<String>) -> usize {
    let mut failures = 0;
    for (rows, cols, pitch) in [(100, 99, 100), (50, 1999, 2001), (300, 7, 11)] {
        let pad = RowSlide::new(rows, cols, cols, pitch).expect("rows with gaps");
        for shape in [pad, pad.inverse()].map(StageMap::Slide) {
            for way in [Strategy::Blocks { block: 1008 }, Strategy::Rounds { least: 2 }] {
                let limits = bench.gpu.device().limits();
                let work = Work::of_stage(&shape, way, 4, 16, limits).expect("has a kernel");
                met.extend(work.calls().iter().map(|call| call.kernel()));
                failures += padding::one(bench, (shape.clone(), way), 4);
            }
        }
    }
    failures
}
