//! Strategies: the kernel and main parameters chosen for a stage. Lowering derives the complete launches from them.

use std::fmt;

use turntile_plan::Method;

/// Scope of the barrier in barrier-sync. All data of an instance is read before any of it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One thread block moves a whole instance.
    Block,
    /// This number of blocks, one cluster, moves an instance.
    Cluster(usize),
    /// This number of blocks, a team, moves one instance after another. All teams are co-resident.
    Team(usize),
    /// All blocks of the grid move one instance; arrays whose axes are permuted, one after another.
    Grid,
}

/// Tiling of a matrix or an array for an out-of-place stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tiling {
    /// Micro-blocks in registers, with 16 bytes per access.
    Micro,
    /// Tiles for any sides and alignment; the destination is written in whole sectors of 32 bytes.
    Lines,
    /// Tiles of any shape, for matrices with a short side and for elements of several words.
    Band,
    /// Several small matrices per block.
    Stack,
    /// Long super-elements, copied directly to their destination.
    Units,
    /// Tiles for any axis permutation. A tile spans enough axes for long rows and columns.
    Axes {
        /// Maximum bytes of shared memory per tile.
        held: usize,
        /// Bytes of source and of result within which tiles are processed consecutively.
        near: usize,
    },
}

impl Tiling {
    /// Tilings for any axis permutation. On an H200 multiprocessor, five blocks fit with the larger tiles and eight with the
    /// smaller.
    pub const AXES: [Tiling; 2] = [
        Tiling::Axes { held: 44 << 10, near: 8 << 10 },
        Tiling::Axes { held: 27 << 10, near: 8 << 10 },
    ];

    /// Returns `true` if a matrix has many tiles in both directions, so that their order matters.
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

/// Kernel choice for a stage, with its main parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Swap of pairs of `tile x tile` tiles across the diagonal, or rotation of three `tile x tile x tile` tiles of a cube.
    TileSwap {
        /// Side of a tile, in elements.
        tile: usize,
    },
    /// Swap of pairs of tiles of an array, for a permutation that swaps pairs of axes.
    SwapAxes,
    /// Swap of pieces of an array with their mirror images, for axes that are only reversed.
    Flip,
    /// Rotation of four tiles of a square, for quarter turns.
    Turn,
    /// Barrier-sync: read an instance into shared memory and registers, wait, write it.
    Barrier(Scope),
    /// Read one piece of each long run of an instance into shared memory, wait, write them.
    Pieces {
        /// Bytes of a piece: a power of two, at least 64.
        piece: usize,
    },
    /// Gather pass of aligned slots. Each block processes a run of consecutive chunks.
    Runs {
        /// Number of blocks.
        groups: usize,
    },
    /// Gather pass of aligned slots by teams. The blocks of a team share each chunk, and the team processes a run of consecutive
    /// chunks.
    Teams {
        /// Total number of blocks.
        groups: usize,
        /// Blocks per team.
        blocks: usize,
    },
    /// PTTWAC with flags in shared memory. One block processes an instance.
    OnChipMoves {
        /// Threads per block.
        threads: usize,
    },
    /// PTTWAC with flags in global memory.
    Moves,
    /// P-IPT: cycles without flags.
    PerCycle,
    /// Rows moved in rounds. A round moves all rows whose destination is free.
    Rounds {
        /// Minimum number of rows for a round.
        least: usize,
    },
    /// Rows moved in blocks of consecutive bytes.
    Blocks {
        /// Bytes per block.
        block: usize,
    },
    /// Move from source to destination by tiles. Tiles are processed in swaths, column by column within each swath.
    OutOfPlace {
        /// Tiling of the matrix or array.
        tiling: Tiling,
        /// Rows of tiles per swath.
        swath: usize,
    },
    /// Transposition into the workspace, then a copy back row by row.
    ThroughWorkspace,
    /// Copy of gap elements to the start of the workspace, or back.
    Keep,
}

impl Strategy {
    /// Returns the method that the strategy implements.
    pub fn method(self) -> Method {
        match self {
            Strategy::TileSwap { .. } | Strategy::SwapAxes | Strategy::Flip | Strategy::Turn => {
                Method::TileSwap
            }
            Strategy::Barrier(_) | Strategy::Runs { .. } | Strategy::Teams { .. } => {
                Method::BarrierSync
            }
            Strategy::Pieces { .. } => Method::Pieces,
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

    /// Returns the suffix that distinguishes strategies of one method.
    pub fn variant(self) -> String {
        match self {
            Strategy::TileSwap { tile } => format!(" {tile}"),
            Strategy::SwapAxes
            | Strategy::Flip
            | Strategy::Turn
            | Strategy::Barrier(Scope::Block)
            | Strategy::OnChipMoves { .. }
            | Strategy::Moves
            | Strategy::PerCycle
            | Strategy::Rounds { .. }
            | Strategy::Blocks { .. }
            | Strategy::ThroughWorkspace
            | Strategy::Keep => String::new(),
            Strategy::Barrier(Scope::Cluster(blocks)) => format!("/cluster {blocks}"),
            Strategy::Barrier(Scope::Team(blocks)) => format!("/team {blocks}"),
            Strategy::Barrier(Scope::Grid) => "/grid".to_owned(),
            Strategy::Pieces { piece } => format!(" {piece}"),
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
