//! Stages that the tests of launches share.

use turntile_cuda::launch::DeviceLimits;
use turntile_cuda::lower::TargetParams;
use turntile_cuda::strategy::{Scope, Strategy, Tiling};
use turntile_perm::{
    AlignedSlots, AxisPermutation, Elementary, FieldSlots, FlippedAxes, LayoutChange, LeadingDims,
    RecordSchema, RowSlide, TileRows,
};
use turntile_plan::{Direction, StageMap};

/// Both directions.
pub const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];

/// Element sizes in bytes.
pub const ELEMENTS: [usize; 7] = [1, 2, 4, 8, 16, 12, 24];

/// Element sizes in bytes, for out-of-place stages.
pub const ELEMENTS_ELSEWHERE: [usize; 10] = [1, 2, 4, 8, 16, 3, 12, 24, 40, 300_000];

/// Matrices for out-of-place stages: number of matrices, rows and columns.
pub const MATRICES: [(usize, usize, usize); 15] = [
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
];

/// Returns the alignment that elements of `elem` bytes have by their size, and 16.
pub fn alignments(elem: usize) -> [usize; 2] {
    [(elem & elem.wrapping_neg()).min(16), 16]
}

/// A device without barriers over several blocks, and with little shared memory.
pub const OLD: DeviceLimits = DeviceLimits {
    units: 13,
    shared_bytes: 48 << 10,
    cluster: 1,
    cooperative: false,
    ..DeviceLimits::H200
};

/// Returns target parameters for an H200.
pub fn at(elem_bytes: usize, alignment: usize) -> TargetParams<'static> {
    TargetParams { elem_bytes, alignment, limits: &DeviceLimits::H200 }
}

/// Returns the stage from `[batch][rows][mid][cols][unit]` to `[batch][cols][mid][rows][unit]`.
pub fn swap([batch, rows, mid, cols, unit]: [usize; 5]) -> StageMap {
    Elementary { batch, rows, mid, cols, unit }.into()
}

/// Returns the stage 1010!: `batch` times `rows x cols` tiles of `m x n`, moved and transposed in
/// one pass.
pub fn turned(batch: usize, [rows, cols]: [usize; 2], [m, n]: [usize; 2]) -> StageMap {
    axes(&[batch, rows, cols, m, n], &[0, 2, 1, 4, 3])
}

/// Returns the stage that permutes axes by `order`.
pub fn axes(extents: &[usize], order: &[usize]) -> StageMap {
    StageMap::Axes(AxisPermutation::new(extents, order).unwrap())
}

/// Returns the stage that permutes axes by `order`, with the axes of the result in `reversed`
/// reversed.
pub fn flipped(extents: &[usize], order: &[usize], reversed: &[usize]) -> StageMap {
    let reversed: Vec<bool> = (0..order.len()).map(|axis| reversed.contains(&axis)).collect();
    StageMap::Flipped(FlippedAxes::new(extents, order, &reversed).unwrap())
}

/// Extents, order and reversed axes: flips of long and short runs, of many heads and of more than
/// 2^32 elements, quarter turns of squares, and other permutations.
pub const FLIPPED: [(&[usize], &[usize], &[usize]); 18] = [
    (&[64, 4096, 4096], &[0, 1, 2], &[0]),
    (&[64, 4096, 4096], &[0, 1, 2], &[1]),
    (&[64, 4096, 4096], &[0, 1, 2], &[2]),
    (&[1001, 3], &[0, 1], &[1]),
    (&[7, 33, 5, 9], &[0, 1, 2, 3], &[1, 3]),
    (&[5, 4, 3, 2, 3], &[0, 1, 2, 3, 4], &[0, 2, 4]),
    (&[3, 99_991], &[0, 1], &[0]),
    (&[20_011], &[0], &[0]),
    (&[1 << 17, 3, 1 << 16], &[0, 1, 2], &[0, 2]),
    (&[3, 1 << 33], &[0, 1], &[0]),
    (&[100, 100], &[1, 0], &[0]),
    (&[3, 333, 333], &[0, 2, 1], &[2]),
    (&[50_000, 50_000], &[1, 0], &[0]),
    (&[70, 70, 5], &[1, 0, 2], &[1]),
    (&[9, 9], &[1, 0], &[0, 1]),
    (&[13, 11, 7], &[0, 2, 1], &[0, 2]),
    (&[1 << 17, 1 << 15, 4], &[1, 0, 2], &[0, 1]),
    (&[30, 40, 64], &[1, 0, 2], &[1]),
];

/// Returns `count` random extents and orders of 2 to `rank` axes and at most `elements` elements,
/// from a fixed sequence of Knuth's.
pub fn drawn(count: usize, rank: usize, elements: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut state = 1u64;
    let mut below = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(state) * n as u128) >> 64) as usize
    };
    let mut found = Vec::new();
    while found.len() < count {
        let rank = 2 + below(rank - 1);
        let most = [60, 24, 12, 8, 6, 5, 4, 4][rank - 2];
        let extents: Vec<usize> = (0..rank).map(|_| 1 + below(most)).collect();
        let mut order: Vec<usize> = Vec::new();
        (0..rank).for_each(|axis| order.insert(below(axis + 1), axis));
        let axes = AxisPermutation::new(&extents, &order);
        // Kernels take at most 8 axes.
        let few = axes.is_ok_and(|axes| axes.extents().len() <= 8);
        if few && extents.iter().product::<usize>() <= elements {
            found.push((extents, order));
        }
    }
    found
}

/// One block per instance.
pub const BLOCK: Strategy = Strategy::Barrier(Scope::Block);

/// Returns every in-place strategy, with parameters. Slots are gathered with each number of blocks
/// in `groups`.
pub fn ways(groups: &[usize]) -> Vec<Strategy> {
    let mut ways = vec![
        Strategy::OnChipMoves { threads: 128 },
        Strategy::Moves,
        Strategy::PerCycle,
        BLOCK,
        Strategy::SwapAxes,
        Strategy::Flip,
        Strategy::Turn,
        Strategy::Barrier(Scope::Team(20)),
        Strategy::Barrier(Scope::Grid),
    ];
    ways.extend([Strategy::Rounds { least: 2 }, Strategy::Blocks { block: 48_384 }]);
    ways.extend([2, 4, 8, 16].map(|n| Strategy::Barrier(Scope::Cluster(n))));
    for &groups in groups {
        ways.push(Strategy::Runs { groups });
        ways.extend([1, 7, 132].map(|blocks| Strategy::Teams { groups, blocks }));
    }
    ways.extend([8, 16, 32, 64, 128].map(|tile| Strategy::TileSwap { tile }));
    ways.extend([64, 1024].map(|piece| Strategy::Pieces { piece }));
    ways
}

/// Returns every out-of-place tiling, in swaths of `swath` rows of tiles.
pub fn elsewhere(swath: usize) -> [Strategy; 5] {
    [Tiling::Micro, Tiling::Lines, Tiling::Band, Tiling::Stack, Tiling::Units]
        .map(|tiling| Strategy::OutOfPlace { tiling, swath })
}

/// Out-of-place strategies for axes in any order: large tiles, small tiles, and long
/// super-elements.
pub const AXES_ELSEWHERE: [Strategy; 3] = [
    Strategy::OutOfPlace { tiling: Tiling::AXES[0], swath: 1 },
    Strategy::OutOfPlace { tiling: Tiling::Axes { held: 4 << 10, near: 1 << 10 }, swath: 1 },
    Strategy::OutOfPlace { tiling: Tiling::Units, swath: 1 },
];

/// Returns shapes of every form, from a few elements to more than 2^32.
pub fn shapes() -> Vec<StageMap> {
    let mut shapes: Vec<StageMap> = [
        [1, 1, 1, 1, 1],
        [1, 7, 1, 5, 1],
        [3, 64, 1, 64, 1],
        [1, 36, 1, 20, 1],
        [5, 128, 9, 128, 1],
        [2, 61, 3, 61, 1],
        [1, 100, 1, 40, 64],
        [1, 100, 4, 40, 33],
        [4, 10, 1, 30, 2048],
        [1, 4000, 1, 3000, 1],
        [1, 1 << 17, 1, 1 << 16, 1],
        // Planes and pixels of images.
        [50, 3, 1, 784, 1],
        [5, 4096, 1, 4, 1],
        // Instances of any extents, and small ones in micro-blocks.
        [3, 6, 2, 10, 1],
        [50, 64, 1, 48, 1],
        [2, 100, 1, 90, 1],
        // Super-elements of a few words, and of the most words that registers hold.
        [2, 9, 1, 4, 7],
        [1, 30, 1, 20, 48],
        [1, 30, 1, 20, 100],
        // Square tiles that have a kernel.
        [2, 16, 1, 16, 1],
        [2, 32, 3, 32, 1],
        [1, 128, 1, 128, 1],
        // Tiles moved in granules, in groups.
        [1, 4001, 1, 4001, 1],
        // 2^33 and 2^32 super-elements of several words.
        [1, 1 << 17, 1, 1 << 16, 3],
        [1, 1 << 17, 1, 1 << 15, 100],
    ]
    .map(swap)
    .to_vec();
    shapes.push(turned(2, [9, 7], [5, 4]));
    shapes.extend([
        // Four or more axes of which no two stay adjacent: in shared memory, several instances per
        // block, with runs, with 64-bit indices.
        axes(&[6, 5, 4, 3], &[2, 3, 1, 0]),
        axes(&[50, 6, 5, 4, 3], &[0, 3, 4, 2, 1]),
        axes(&[9, 8, 16, 7, 12], &[2, 3, 1, 0, 4]),
        axes(&[30, 8, 32, 40, 48], &[3, 0, 2, 1, 4]),
        axes(&[13, 11, 9, 6, 99], &[3, 1, 0, 2, 4]),
        axes(&[3, 4, 2, 5, 3, 2, 4, 3], &[6, 1, 7, 2, 4, 0, 5, 3]),
        axes(&[4, 3, 2, 4, 2, 3, 2, 5], &[0, 3, 5, 1, 6, 2, 4, 7]),
        axes(&[5, 3, 4, 6, 3000], &[3, 1, 0, 2, 4]),
        axes(&[1 << 9, 300, 1 << 10, 50], &[3, 1, 0, 2]),
        axes(&[1 << 9, 300, 1 << 10, 50, 99], &[3, 1, 0, 2, 4]),
        // Axes that swap in pairs, in vectors and in granules.
        axes(&[64, 48, 64, 48], &[2, 3, 0, 1]),
        axes(&[9, 7, 70, 7, 70], &[0, 3, 4, 1, 2]),
        // A few long runs: of whole vectors, of a prime number of words, in a batch.
        axes(&[32, 2, 1 << 22], &[1, 0, 2]),
        axes(&[3, 5, 7, 400_003], &[2, 0, 1, 3]),
        axes(&[9, 20, 2, 3001], &[0, 2, 1, 3]),
        // Cubes, in both directions.
        swap([1, 40, 1, 1600, 1]),
        swap([2, 2304, 1, 48, 1]),
        // Adjacent squares with a middle axis, too large for a block.
        swap([2, 300, 3, 300, 1]),
        swap([1, 301, 2, 301, 1]),
    ]);
    for (extents, order, reversed) in FLIPPED {
        shapes.push(flipped(extents, order, reversed));
    }
    for (from, to) in [(4900, 5000), (5000, 4900)] {
        shapes.push(RowSlide::new(5000, 4900, from, to).unwrap().into());
    }
    // Records with equal and different fields, with a short last tile, and in tiles too large for a
    // block.
    for (records, widths, tile) in [
        (1009, &[4, 12, 1, 8][..], 32),
        (1009, &[1; 5], 64),
        (80_000, &[1, 2], 70_000),
        (96, &[2, 1, 1], 32),
    ] {
        let fields = RecordSchema::new(records, widths).unwrap();
        for (from, to) in [(1, tile), (tile, 1)] {
            shapes.push(LayoutChange::new(fields.clone(), from, to).into());
        }
    }
    // Rows of tiles between two pitches: with few words, and with more words than a warp has lanes.
    for (sides, lds, side) in [([6, 5], [6, 9], 3), ([198, 100], [198, 297], 99)] {
        let leading = LeadingDims::transposed(sides[0], sides[1], lds[0], lds[1]).unwrap();
        let runs = TileRows::new(&leading, side).unwrap();
        shapes.extend([runs, runs.inverse()].map(StageMap::TileRows));
    }
    // Slots of records, from AoS and from tiles.
    for (records, widths, tile, slot, chunk) in
        [(1009, &[4, 12, 1, 8][..], 1, 16, 64), (9973, &[3, 1, 2], 32, 64, 128)]
    {
        let fields = RecordSchema::new(records, widths).unwrap();
        let slots = FieldSlots::new(fields, tile, slot, chunk).unwrap();
        for direction in DIRECTIONS {
            shapes.push(StageMap::RecordGather { slots: slots.clone(), direction });
            shapes.push(StageMap::RecordMove { slots: slots.clone(), direction });
        }
    }
    for (rows, cols, slot, chunk) in [
        (1000, 300, 64, 256),
        (61, 7, 4, 8),
        (1000, 30, 100, 100),
        // Slots of single bytes, too long for registers.
        (1400, 7, 301, 602),
        (70_000, 70_000, 64, 64),
        (92_683, 46_341, 16, 16),
    ] {
        let slots = AlignedSlots::new(rows, cols, slot, chunk).unwrap();
        for direction in DIRECTIONS {
            shapes.push(StageMap::SlotGather { batch: 1, slots, direction });
            shapes.push(StageMap::SlotMove { batch: 2, slots, direction });
        }
    }
    shapes
}
