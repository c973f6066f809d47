//! What a launch depends on, and how launches are put together.

use turntile_perm::Elementary;

use crate::args::{Args, Divisor32, TileOrder};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, DeviceLimits, Launch, WorkspacePart, widest_word};
use crate::strategy::Scope;

/// What lowering returns.
pub type Lowered<T = CheckedLaunch> = Result<T, LowerError>;

/// What a launch depends on beside the stage's shape and its way.
#[derive(Clone, Copy, Debug)]
pub struct TargetParams<'a> {
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// What the memory's address is a multiple of, in bytes: a power of two up to 16.
    pub alignment: usize,
    /// The device.
    pub limits: &'a DeviceLimits,
}

impl TargetParams<'_> {
    /// As aligned as all of these, too.
    pub fn and(self, quantities: &[usize]) -> Self {
        TargetParams { alignment: widest_word(quantities).min(self.alignment), ..self }
    }

    /// The widest word that super-elements of `unit` elements are moved by, in bytes, and how many of them they have.
    pub(super) fn words(self, unit: usize) -> (usize, usize) {
        let bytes = unit * self.elem_bytes;
        let word = widest_word(&[bytes, self.alignment]);
        (word, bytes / word)
    }

    /// The same transposition of words, and their bytes.
    pub(super) fn in_words(self, e: Elementary) -> (Elementary, usize) {
        let (word, unit) = self.words(e.unit);
        (Elementary { unit, ..e }, word)
    }

    /// Whether the device has a barrier over so many blocks.
    pub(super) fn barrier(self, scope: Scope) -> Lowered<()> {
        match scope {
            Scope::Grid if !self.limits.cooperative => {
                Err(LowerError::NoBarrier { scope: "the grid" })
            }
            Scope::Cluster(blocks) if blocks > self.limits.cluster => {
                Err(LowerError::NoBarrier { scope: "a cluster" })
            }
            Scope::Cluster(..2) => Err(LowerError::NoKernel),
            _ => Ok(()),
        }
    }

    /// `blocks` blocks of a kernel, if the device can launch so many and has as much shared memory.
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

/// Blocks of a launch, threads of each, and bytes that each has on chip.
pub struct Size {
    pub blocks: usize,
    pub threads: usize,
    pub shared_bytes: usize,
}

/// A launch without its parameter.
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

    /// With this parameter, and no workspace.
    pub fn with(self, params: impl Into<Args>) -> CheckedLaunch {
        self.using(WorkspacePart::None, params)
    }

    /// With this parameter and a part of the workspace.
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

/// Bytes that small instances are stacked to in a block, word by word: 16 to 64 KB measured alike on an H200.
pub const STACK_BYTES: usize = 24 << 10;

/// `blocks` as a launch takes them.
pub fn groups(blocks: usize) -> Lowered<u32> {
    if blocks <= i32::MAX as usize {
        Ok(blocks as u32)
    } else {
        Err(LowerError::TooManyBlocks { blocks })
    }
}

/// `bytes` of shared memory as a launch takes them.
pub fn shared(bytes: usize, limits: &DeviceLimits) -> Lowered<u32> {
    if bytes <= limits.shared_bytes {
        Ok(bytes as u32)
    } else {
        Err(LowerError::OnChip { need: bytes, have: limits.shared_bytes })
    }
}

/// An extent as a 32-bit field.
pub fn field(extent: usize) -> Lowered<u32> {
    u32::try_from(extent).map_err(|_| LowerError::NoKernel)
}

/// Bytes between rows on chip: an odd number of granules where `row_bytes` are whole granules, and
/// of 4-byte banks where not.
pub fn pitch(row_bytes: usize, granule: usize) -> usize {
    let granule = granule.max(4);
    let granules = row_bytes.div_ceil(granule);
    (granules | 1) * granule
}

/// Flags of `kernels/region.cuh`: contiguous instances are written as one run; a tile is a row of squares in place.
pub const RUNS: u32 = 4;
pub const SQUARES: u32 = 16;

/// Returns the other flags of `kernels/region.cuh`: whether narrow words are loaded and stored by 4 bytes, and whether
/// instances are stored and loaded as one run.
pub fn region_flags([wide_loads, wide_stores, runs, run_loads]: [bool; 4]) -> u32 {
    let [wide_loads, wide_stores, runs, run_loads] =
        [wide_loads, wide_stores, runs, run_loads].map(u32::from);
    wide_loads | wide_stores << 1 | runs << 2 | run_loads << 3
}

/// Returns the order in which blocks take `down` by `across` tiles per matrix in swaths of `swath` rows of tiles, and the
/// number of blocks.
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

/// Vectors of a micro-block's row are this long; see `kernels/micro.cuh`.
pub fn vector_bytes(word: usize) -> usize {
    if word == 1 { 8 } else { 16 }
}

/// Threads so that each holds about 200 bytes: measured best on an H200 for instances of 50 KB (256
/// threads) and 110 KB (512); 1024 threads lost 8 points on both.
pub fn threads_for(bytes: usize, most: usize) -> usize {
    (bytes / 200).next_multiple_of(32).clamp(64, most)
}
