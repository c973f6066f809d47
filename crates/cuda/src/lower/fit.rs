//! Construction of launches, and the limits that they must meet.

use turntile_perm::Elementary;

use crate::args::{Args, Divisor32, TileOrder};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, DeviceLimits, Launch, WorkspacePart, widest_word};
use crate::strategy::Scope;

/// Result of lowering.
pub type Lowered<T = CheckedLaunch> = Result<T, LowerError>;

/// Inputs of lowering in addition to the stage's shape and strategy.
#[derive(Clone, Copy, Debug)]
pub struct TargetParams<'a> {
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// Alignment of the data address in bytes: a power of two, at most 16.
    pub alignment: usize,
    /// Limits of the device.
    pub limits: &'a DeviceLimits,
}

impl TargetParams<'_> {
    /// Reduces the alignment to the largest one that also divides all `quantities`, in bytes.
    pub fn and(self, quantities: &[usize]) -> Self {
        TargetParams { alignment: widest_word(quantities).min(self.alignment), ..self }
    }

    /// Returns the bytes of the widest word that moves super-elements of `unit` elements, and the words of each.
    pub(super) fn words(self, unit: usize) -> (usize, usize) {
        let bytes = unit * self.elem_bytes;
        let word = widest_word(&[bytes, self.alignment]);
        (word, bytes / word)
    }

    /// Returns the transposition with `unit` counted in words, and the bytes of a word.
    pub(super) fn in_words(self, e: Elementary) -> (Elementary, usize) {
        let (word, unit) = self.words(e.unit);
        (Elementary { unit, ..e }, word)
    }

    /// Checks that the device supports a barrier over `scope`.
    pub(super) fn barrier(self, scope: Scope) -> Lowered<()> {
        match scope {
            Scope::Grid | Scope::Team(_) if !self.limits.cooperative => {
                Err(LowerError::NoBarrier { scope: "the grid" })
            }
            Scope::Team(0) => Err(LowerError::NoKernel),
            Scope::Cluster(blocks) if blocks > self.limits.cluster => {
                Err(LowerError::NoBarrier { scope: "a cluster" })
            }
            Scope::Cluster(..2) => Err(LowerError::NoKernel),
            _ => Ok(()),
        }
    }

    /// Creates a launch; rejects too many thread blocks and too much shared memory.
    pub(super) fn launch(
        self,
        (family, word, entry): (Family, usize, &'static str),
        Size { blocks, threads, shared_bytes }: Size,
    ) -> Lowered<LaunchBuilder> {
        let (groups, threads) = (groups(blocks)?, threads as u32);
        let shared_bytes = shared(shared_bytes, self.limits)?;
        Ok(LaunchBuilder { family, word, entry, groups, threads, shared_bytes, cluster: 1 })
    }
}

/// Number of thread blocks, threads per block, and bytes of shared memory per block.
pub struct Size {
    pub blocks: usize,
    pub threads: usize,
    pub shared_bytes: usize,
}

/// Launch whose parameter is not yet set.
pub struct LaunchBuilder {
    family: Family,
    word: usize,
    entry: &'static str,
    groups: u32,
    threads: u32,
    shared_bytes: u32,
    cluster: u32,
}

impl LaunchBuilder {
    /// Sets the number of blocks per cluster, which divides the number of blocks.
    pub fn in_clusters(self, cluster: usize) -> Self {
        LaunchBuilder { cluster: cluster as u32, ..self }
    }

    /// Completes the launch with a parameter, without workspace.
    pub fn with(self, params: impl Into<Args>) -> CheckedLaunch {
        self.using(WorkspacePart::None, params)
    }

    /// Completes the launch with a parameter and a part of the workspace.
    pub fn using(self, workspace: WorkspacePart, params: impl Into<Args>) -> CheckedLaunch {
        let LaunchBuilder { family, word, entry, groups, threads, shared_bytes, cluster } = self;
        let params = params.into();
        CheckedLaunch(Launch {
            family,
            word,
            entry,
            groups,
            threads,
            shared_bytes,
            cluster,
            params,
            workspace,
        })
    }
}

/// Bytes of small instances that a thread block holds and moves word by word. 16 to 64 KB measured alike on an H200.
pub const STACK_BYTES: usize = 24 << 10;

/// Converts a number of thread blocks to a grid size, at most `i32::MAX`.
pub fn groups(blocks: usize) -> Lowered<u32> {
    if blocks <= i32::MAX as usize {
        Ok(blocks as u32)
    } else {
        Err(LowerError::TooManyBlocks { blocks })
    }
}

/// Converts `bytes` of shared memory to 32 bits; rejects more than the device's limit.
pub fn shared(bytes: usize, limits: &DeviceLimits) -> Lowered<u32> {
    if bytes <= limits.shared_bytes {
        Ok(bytes as u32)
    } else {
        Err(LowerError::OnChip { need: bytes, have: limits.shared_bytes })
    }
}

/// Converts an extent to a 32-bit field; larger extents have no kernel.
pub fn field(extent: usize) -> Lowered<u32> {
    u32::try_from(extent).map_err(|_| LowerError::NoKernel)
}

/// Returns the bytes from row to row in shared memory: `row_bytes`, rounded up to an odd number of granules of at least
/// 4 bytes.
pub fn pitch(row_bytes: usize, granule: usize) -> usize {
    let granule = granule.max(4);
    let granules = row_bytes.div_ceil(granule);
    (granules | 1) * granule
}

/// Flags of `kernels/region.cuh`. `RUNS`: contiguous instances are written as one run. `SQUARES`: a tile is a row of squares.
pub const RUNS: u32 = 4;
pub const SQUARES: u32 = 16;

/// Returns the other flags of `kernels/region.cuh`: narrow words are loaded, and stored, 4 bytes at a time; instances are
/// stored, and loaded, as one run.
pub fn region_flags([wide_loads, wide_stores, runs, run_loads]: [bool; 4]) -> u32 {
    let [wide_loads, wide_stores, runs, run_loads] =
        [wide_loads, wide_stores, runs, run_loads].map(u32::from);
    wide_loads | wide_stores << 1 | runs << 2 | run_loads << 3
}

/// Returns the order in which thread blocks take `down` by `across` tiles per matrix, in swaths of `swath` tile rows, and
/// the number of blocks.
pub fn tile_order(
    batch: usize,
    [down, across]: [usize; 2],
    swath: usize,
) -> Lowered<(TileOrder, usize)> {
    let swath = swath.clamp(1, down.max(1));
    let tiles = down.checked_mul(across).ok_or(LowerError::NoKernel)?;
    let blocks =
        tiles.checked_mul(batch).ok_or(LowerError::TooManyBlocks { blocks: usize::MAX })?;
    groups(blocks)?;
    let order = TileOrder {
        matrix: Divisor32::new(field(tiles)?),
        swath: Divisor32::new(field(swath * across)?),
        down: field(down)?,
        high: field(swath)?,
    };
    Ok((order, blocks))
}

/// Bytes of the widest access.
pub const VECTOR_BYTES: usize = 16;

/// Returns the bytes of a vector in a micro-block's row (`kernels/micro.cuh`).
pub fn vector_bytes(word: usize) -> usize {
    if word == 1 { 8 } else { 16 }
}

/// Returns the number of threads per block, 64 to `most`: one per 200 bytes. On an H200, this measured best for
/// instances of 50 KB (256 threads) and 110 KB (512); 1024 threads lost 8 points on both.
pub fn threads_for(bytes: usize, most: usize) -> usize {
    (bytes / 200).next_multiple_of(32).clamp(64, most)
}
