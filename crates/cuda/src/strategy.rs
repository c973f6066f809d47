//! The ways that there are kernels for: what is chosen of a stage's launch, from which lowering gets the rest.

use std::fmt;

use turntile_plan::Method;

/// Who waits for whom in barrier-sync: everything within the scope is read before any of it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A block holds a whole instance.
    Block,
    /// So many blocks of a cluster hold one together.
    Cluster(usize),
    /// All blocks of the device hold one together.
    Grid,
}

/// How a matrix or an array is cut into tiles that are moved into another buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tiling {
    /// Micro-blocks through registers, 16 bytes an access.
    Micro,
    /// Any sides and alignment, destinations written in whole sectors.
    Lines,
    /// Tiles of any shape: matrices with a short side, elements of several words.
    Band,
    /// Several small matrices to a block.
    Stack,
    /// Long super-elements, straight across.
    Units,
    /// Axes in any order: tiles of as many of them as rows and columns need to be long.
    Axes {
        /// Bytes on chip that a tile takes at most.
        held: usize,
        /// Tiles within so many bytes, in the source and in the result, are taken one after the other.
        near: usize,
    },
}

impl Tiling {
    /// Tiles of axes in any order: five blocks of the larger ones share a multiprocessor of an H200, eight of the others.
    pub const AXES: [Tiling; 2] = [
        Tiling::Axes { held: 44 << 10, near: 8 << 10 },
        Tiling::Axes { held: 27 << 10, near: 8 << 10 },
    ];

    /// Whether tiles are many in both directions, so that their order can be chosen.
    pub fn has_swaths(self) -> bool {
        matches!(self, Tiling::Micro | Tiling::Lines | Tiling::Band)
    }
}

impl fmt::Display for Tiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tiling::Micro => "micro",
            Tiling::Lines => "lines",
            Tiling::Band => "band",
            Tiling::Stack => "stack",
            Tiling::Units => "units",
            Tiling::Axes { held, near } => return write!(f, "axes {held} {near}"),
        })
    }
}

/// A way to launch a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Pairs of `tile x tile` tiles across the diagonal change places, or three of `tile x tile x tile` of a cube.
    TileSwap {
        /// Side of a tile.
        tile: usize,
    },
    /// Pairs of tiles of an array whose axes change places in pairs.
    SwapAxes,
    /// Read everything on chip, wait, write everything.
    Barrier(Scope),
    /// Slots gathered by so many blocks, each of which walks down a run of chunks.
    Runs {
        /// Blocks.
        groups: usize,
    },
    /// Slots gathered by teams of blocks side by side, each of which walks down a run of chunks.
    Teams {
        /// Blocks in all.
        groups: usize,
        /// Blocks of a team.
        blocks: usize,
    },
    /// Cycles with flags on chip, a block of so many threads an instance.
    OnChipMoves {
        /// Threads of a block.
        threads: usize,
    },
    /// Cycles with flags in memory.
    Moves,
    /// Cycles without flags.
    PerCycle,
    /// Rows in rounds, at least so many at a time.
    Rounds {
        /// Fewest rows that are worth a round.
        least: usize,
    },
    /// Rows in blocks of so many bytes.
    Blocks {
        /// Bytes of a block.
        block: usize,
    },
    /// From one place to another, in swaths: so many rows of tiles, gone through column by column.
    OutOfPlace {
        /// How tiles are cut and held.
        tiling: Tiling,
        /// Rows of tiles that a swath has.
        swath: usize,
    },
    /// Transposed into the workspace, and copied out row by row.
    ThroughWorkspace,
    /// Gaps copied to the workspace's start, or back.
    Keep,
}

impl Strategy {
    /// The method that it is one of.
    pub fn method(self) -> Method {
        match self {
            Strategy::TileSwap { .. } | Strategy::SwapAxes => Method::TileSwap,
            Strategy::Barrier(_) | Strategy::Runs { .. } | Strategy::Teams { .. } => {
                Method::BarrierSync
            }
            Strategy::OnChipMoves { .. } => Method::PttwacOnChip,
            Strategy::Moves => Method::PttwacGlobal,
            Strategy::PerCycle => Method::PIpt,
            Strategy::Rounds { .. } => Method::Rounds,
            Strategy::Blocks { .. } => Method::Blocks,
            Strategy::OutOfPlace { .. } => Method::OutOfPlace,
            Strategy::ThroughWorkspace => Method::ThroughWorkspace,
            Strategy::Keep => Method::SaveGaps,
        }
    }

    /// What distinguishes it from other ways of its method.
    pub fn variant(self) -> String {
        match self {
            Strategy::TileSwap { tile } => format!(" {tile}"),
            Strategy::SwapAxes
            | Strategy::Barrier(Scope::Block)
            | Strategy::OnChipMoves { .. }
            | Strategy::Moves
            | Strategy::PerCycle
            | Strategy::Rounds { .. }
            | Strategy::Blocks { .. }
            | Strategy::ThroughWorkspace
            | Strategy::Keep => String::new(),
            Strategy::Barrier(Scope::Cluster(blocks)) => format!("/cluster {blocks}"),
            Strategy::Barrier(Scope::Grid) => "/grid".to_owned(),
            Strategy::Runs { groups } => format!("/runs {groups}"),
            Strategy::Teams { groups, blocks } => {
                format!("/teams {}x{blocks}", groups / blocks.max(1))
            }
            Strategy::OutOfPlace { tiling, swath } => format!(" {tiling} {swath}"),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.method(), self.variant())
    }
}
