//! All small shapes by every method, compared with `StageMap::dest` on the host.

use std::collections::BTreeMap;

use cust::memory::DeviceBuffer;
use turntile_cuda::args::Args;
use turntile_cuda::launch::{DeviceLimits, widest_word};
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_cuda::{CudaError, Work};
use turntile_perm::{AlignedSlots, Elementary};
use turntile_plan::{Direction, StageMap};

use crate::common::{Bench, fault, memory, pattern, run_on};

const WORKSPACE: usize = 1 << 20;
/// Bytes before the matrix, which allow unaligned addresses.
const SKEW: usize = 64;

pub struct Suite<'a> {
    bench: &'a mut Bench,
    data: DeviceBuffer<u8>,
    workspace: DeviceBuffer<u8>,
    /// Number of runs per kernel, and of declined cases per reason.
    pub runs: BTreeMap<String, usize>,
    pub failures: usize,
}

impl<'a> Suite<'a> {
    pub fn new(bench: &'a mut Bench) -> Self {
        let (data, workspace) = (memory(128 << 20), memory(WORKSPACE));
        Suite { bench, data, workspace, runs: BTreeMap::new(), failures: 0 }
    }

    pub fn print_runs(&self) {
        for (what, count) in &self.runs {
            println!("  {count:8} {what}");
        }
    }

    /// Runs one stage and compares every byte, including those around the matrix.
    pub fn case(
        &mut self,
        shape: StageMap,
        elem: usize,
        skew: usize,
        work: Result<Work, CudaError>,
        what: &str,
    ) {
        let work = match work {
            Ok(work) => work,
            Err(error) => {
                let CudaError::Infeasible { why, .. } = error else {
                    panic!("{shape} w{elem} {what}: {error}");
                };
                let reason = why.to_string();
                let kind = reason.split(char::is_numeric).next().unwrap_or_default();
                *self.runs.entry(format!("declined {what}: {kind}")).or_default() += 1;
                return;
            }
        };
        let kernel = work.calls()[0].kernel();
        *self.runs.entry(kernel.clone()).or_default() += 1;
        let bytes = shape.len() * elem;
        let (before, at) = (pattern(bytes + 2 * SKEW), SKEW + skew);
        let mut after = before.clone();
        for k in 0..shape.len() {
            let (from, to) = (at + k * elem, at + shape.dest(k) * elem);
            after[to..to + elem].copy_from_slice(&before[from..from + elem]);
        }
        let prepared = self.bench.prepare(work).expect("loads");
        let memory = (&self.data, &before[..]);
        let left = run_on(&prepared, self.bench, memory, (at, bytes), &self.workspace);
        if let Some(fault) = fault(left, &after, |_| true) {
            self.failures += 1;
            if self.failures < 20 {
                println!("WRONG {shape} w{elem} skew {skew} {what} {kernel}: {fault}");
            }
        }
    }

    pub fn way(&mut self, shape: StageMap, elem: usize, way: Strategy) {
        let limits = *self.bench.gpu.device().limits();
        self.way_within(shape, elem, way, &limits);
    }

    /// Does what [`way`](Self::way) does, with launches for the given limits.
    pub fn way_within(
        &mut self,
        shape: StageMap,
        elem: usize,
        way: Strategy,
        limits: &DeviceLimits,
    ) {
        // Skewed by the element's own alignment, so that no wider access is valid.
        let own = widest_word(&[elem]);
        for (skew, alignment) in [(0, 16), (own, own)] {
            if skew == 16 {
                continue;
            }
            let work = Work::of_stage(&shape, way, elem, alignment, limits);
            self.case(shape.clone(), elem, skew, work, &way.to_string());
        }
    }
}

const BLOCK: Strategy = Strategy::Barrier(Scope::Block);

/// Runs all shapes up to `side` by `side`, with words of every size and two elements of several
/// words.
pub fn small(bench: &mut Bench, side: usize) -> usize {
    let mut suite = Suite::new(bench);
    for rows in 1..=side {
        for cols in 1..=side {
            for elem in [1, 2, 4, 8, 16, 12, 6] {
                shapes(&mut suite, rows, cols, elem);
            }
        }
    }
    let words = [1, 2, 4, 8, 16, 12, 6];
    // Rows long enough for whole vectors of any word, and chunks whose columns are whole words.
    let wide = [
        (97, 261, 4, 8),
        (40, 401, 7, 7),
        (64, 391, 16, 16),
        (33, 513, 3, 9),
        (200, 146, 12, 24),
        (150, 130, 32, 32),
        (300, 61, 32, 64),
        (600, 45, 64, 128),
        (700, 67, 128, 256),
        (1200, 40, 256, 512),
    ];
    let wide = wide.into_iter().flat_map(|shape| words.map(|elem| (shape, elem)));
    // By their bytes, one block holds one chunk of these rows, and two or three blocks hold two.
    // The last chunk is shorter or longer than the others, or the only one. Columns are whole words
    // or not.
    let deep = words.into_iter().flat_map(|elem| {
        [
            (100, 5003, 16, 16),
            (300, 2999, 32, 32),
            (79, 3001, 16, 32),
            (47, 3008, 16, 32),
            (170, 3001, 7, 35),
            (520, 1201, 64, 64),
            (500, 1100, 32, 128),
        ]
        .map(|(rows, bytes, slot, chunk)| ((rows, bytes / elem, slot, chunk), elem))
    });
    // A small `side` runs fewer of these, for tools that slow execution.
    let step = match side {
        0..2 => 12,
        2..8 => 3,
        _ => 1,
    };
    for ((rows, cols, slot, chunk), elem) in wide.chain(deep).step_by(step) {
        let slots = AlignedSlots::new(rows, cols, slot, chunk).expect("fits");
        for batch in 1..=if side < 8 { 1 } else { 3 } {
            for direction in [Direction::Forward, Direction::Backward] {
                let shape = StageMap::SlotGather { batch, slots, direction };
                in_teams(&mut suite, shape, elem, cols);
            }
        }
    }
    // Pixels and planes: a few rows or columns of narrow words, in whole vectors or not.
    for (batch, few, many) in [
        (1, 3, 50176),
        (400, 3, 50176),
        (1000, 4, 784),
        (3, 2, 90_000),
        (70_000, 3, 16),
        (50, 4, 1001),
        (9, 3, 8),
    ] {
        for (rows, cols) in [(few, many), (many, few)] {
            for elem in [1, 2] {
                let e = Elementary { batch, rows, mid: 1, cols, unit: 1 };
                suite.way(e.into(), elem, Strategy::Barrier(Scope::Block));
            }
        }
    }
    // Squares of many tiles, with rows of any alignment that share cache lines; also adjacent
    // squares.
    for (elem, least) in [(1, 3840), (2, 1920), (4, 1984), (4, 3300), (8, 992), (16, 1024)] {
        for side in [least + 1, least + 20] {
            for (batch, mid, tile) in [(1, 1, 64), (1, 1, 128), (2, 1, 64), (1, 2, 64)] {
                let e = Elementary { batch, rows: side, mid, cols: side, unit: 1 };
                suite.way(e.into(), elem, Strategy::TileSwap { tile });
            }
        }
    }
    // Cubes of whole and partial tiles.
    for elem in [1, 2, 4, 8, 16] {
        for side in [8, 16, 24, 40, 48, 72, 96, 136, 200] {
            for (rows, cols) in [(side, side * side), (side * side, side)] {
                for tile in [8, 16, 32, 64] {
                    // The largest cubes of 16-byte elements fill the memory, so their batch is 1.
                    let batch = if side < 200 { 1 + side / 8 % 2 } else { 1 };
                    let e = Elementary { batch, rows, mid: 1, cols, unit: 1 };
                    suite.way(e.into(), elem, Strategy::TileSwap { tile });
                }
            }
        }
    }
    suite.print_runs();
    suite.failures
}

/// Runs a gather by up to three teams of one to three blocks. Counts the chunks that the teams
/// hold.
fn in_teams(suite: &mut Suite, shape: StageMap, elem: usize, cols: usize) {
    for blocks in 1..=cols.min(3) {
        for teams in 1..=3 {
            let way = Strategy::Teams { groups: teams * blocks, blocks };
            let limits = suite.bench.gpu.device().limits();
            let least = widest_word(&[elem]);
            if let Ok(work) = Work::of_stage(&shape, way, elem, least, limits)
                && let Args::Gather(strips) = work.calls()[0].params
            {
                let chunks = format!("gathers by teams with {} chunks on chip", strips.depth);
                *suite.runs.entry(chunks).or_default() += 1;
            }
            suite.way(shape.clone(), elem, way);
        }
    }
}

fn shapes(suite: &mut Suite, rows: usize, cols: usize, elem: usize) {
    let elementary = |batch, mid, unit| StageMap::from(Elementary { batch, rows, mid, cols, unit });
    // Extents determine the cluster size and unit of a shape, so that all values occur with all
    // others.
    let turn = rows * 7 + cols * 3 + elem;
    let cluster = [2, 4, 8, 16][turn % 4];

    let tiles = elementary(1 + turn % 5, 1, 1);
    for way in [
        BLOCK,
        Strategy::Barrier(Scope::Cluster(cluster)),
        Strategy::Barrier(Scope::Team(1 + turn % 9)),
        Strategy::OnChipMoves { threads: 128 },
        Strategy::Moves,
        Strategy::PerCycle,
    ] {
        suite.way(tiles.clone(), elem, way);
    }
    suite.way(elementary(1, 1, 1), elem, Strategy::Barrier(Scope::Grid));
    let units = elementary(1 + turn % 3, 1, [2, 3, 5, 8, 16, 33, 64][turn % 7]);
    let across = elementary(1 + turn % 2, 2 + turn % 3, [1, 2, 4, 7][turn % 4]);
    for shape in [units, across] {
        for way in
            [BLOCK, Strategy::Moves, Strategy::OnChipMoves { threads: 128 }, Strategy::PerCycle]
        {
            suite.way(shape.clone(), elem, way);
        }
    }
    if rows == cols {
        // Includes larger sides: tiles that have a kernel, and partial tiles.
        for side in [rows, rows * 4, 128 - rows] {
            for tile in [16, 32, 64, 128] {
                let square =
                    Elementary { batch: 1 + turn % 3, rows: side, mid: 1, cols: side, unit: 1 };
                suite.way(square.into(), elem, Strategy::TileSwap { tile });
            }
        }
        for side in [16, 32, 64, 128, rows] {
            let mid = Elementary {
                batch: 1 + turn % 3,
                rows: side,
                mid: 1 + turn % 3,
                cols: side,
                unit: 1,
            };
            if mid.len() * elem < 3 << 20 {
                suite.way(mid.into(), elem, BLOCK);
            }
        }
    }
    let slot = 1 + turn % rows;
    let chunk = slot * (1 + turn % (rows / slot));
    if let Some(slots) = AlignedSlots::new(rows, cols, slot, chunk) {
        for direction in [Direction::Forward, Direction::Backward] {
            let batch = 1 + turn % 2;
            let shape = StageMap::SlotGather { batch, slots, direction };
            for runs in 1..=slots.chunks().min(3) {
                suite.way(shape.clone(), elem, Strategy::Runs { groups: runs });
            }
            in_teams(suite, shape, elem, cols);
            let shape = StageMap::SlotMove { batch, slots, direction };
            for way in [Strategy::Moves, Strategy::PerCycle] {
                suite.way(shape.clone(), elem, way);
            }
        }
    }
}
