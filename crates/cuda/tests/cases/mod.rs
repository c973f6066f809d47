//! Stages that the tests of launches share.

use turntile_perm::{Elementary, Padding, Slots};
use turntile_plan::{Direction, FlagLayout, Launch, Method, Scope, Stage, StageShape};

/// Both directions.
pub const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];

/// Bytes of elements.
pub const ELEMENTS: [usize; 7] = [1, 2, 4, 8, 16, 12, 24];

/// The least alignment that elements of so many bytes have, and the best.
pub fn alignments(elem: usize) -> [usize; 2] {
    [(elem & elem.wrapping_neg()).min(16), 16]
}

/// A stage by a launch of `groups` blocks of 128 threads.
pub fn stage(shape: StageShape, method: Method, groups: usize) -> Stage {
    let launch =
        Launch { groups, threads: 128, lanes: 1, on_chip_bytes: 0, flag_words: 0, kept_bytes: 0 };
    Stage { shape, method, launch }
}

/// `[batch][rows][mid][cols][unit]` to `[batch][cols][mid][rows][unit]`.
pub fn swap([batch, rows, mid, cols, unit]: [usize; 5]) -> StageShape {
    StageShape::Elementary(Elementary { batch, rows, mid, cols, unit })
}

/// The layouts of flags.
pub fn layouts() -> Vec<FlagLayout> {
    let spread = |spreading, padded| FlagLayout::Spread { spreading, padded };
    vec![FlagLayout::PACKED, spread(8, false), spread(32, true), FlagLayout::Remapped]
}

/// Every method that a GPU has, with what it takes.
pub fn methods() -> Vec<Method> {
    let flags = FlagLayout::PACKED;
    let mut methods = vec![
        Method::PttwacOnChip { flags },
        Method::PttwacGlobal { flags },
        Method::PerCycle,
        Method::BarrierSync { scope: Scope::Group },
        Method::BarrierSync { scope: Scope::Grid },
    ];
    methods.extend([Method::Rows { least: 2 }, Method::Slide { block: 48_896 }]);
    methods.extend([2, 4, 8, 16].map(|n| Method::BarrierSync { scope: Scope::Cluster(n) }));
    methods.extend([1, 7, 132].map(|n| Method::BarrierSync { scope: Scope::Team(n) }));
    methods.extend([16, 32, 64, 128].map(|tile| Method::TileSwap { tile }));
    methods
}

/// Shapes of every form, of a few elements to more than 2^32.
pub fn shapes() -> Vec<StageShape> {
    let mut shapes: Vec<StageShape> = [
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
        // An instance of any extents, and small ones by micro-blocks.
        [3, 6, 2, 10, 1],
        [50, 64, 1, 48, 1],
        [2, 100, 1, 90, 1],
        // Super-elements of a few words, and of as many as registers hold.
        [2, 9, 1, 5, 7],
        [1, 30, 1, 20, 48],
        [1, 30, 1, 20, 100],
        // Tiles that have kernels of their own.
        [2, 16, 1, 16, 1],
        [2, 32, 3, 32, 1],
        [1, 128, 1, 128, 1],
        // 2^32 super-elements of several words.
        [1, 1 << 17, 1, 1 << 16, 3],
        [1, 1 << 17, 1, 1 << 15, 100],
    ]
    .map(swap)
    .to_vec();
    shapes.push(StageShape::FusedTiles { batch: 2, rows: 9, cols: 7, m: 5, n: 4 });
    for direction in DIRECTIONS {
        let padding = Padding::new(5000, 4900, 5000).unwrap();
        shapes.push(StageShape::Pad { padding, direction });
    }
    for (rows, cols, slot, chunk) in [
        (1000, 300, 64, 256),
        (61, 7, 4, 8),
        (1000, 30, 100, 100),
        (70_000, 70_000, 64, 64),
        (92_683, 46_341, 16, 16),
    ] {
        let slots = Slots::new(rows, cols, slot, chunk).unwrap();
        for direction in DIRECTIONS {
            shapes.push(StageShape::SlotGather { batch: 1, slots, direction });
            shapes.push(StageShape::SlotMove { batch: 2, slots, direction });
        }
    }
    shapes
}
