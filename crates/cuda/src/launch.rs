//! Kernel launches as plain data, and the device limits that they depend on.

use std::ops::Deref;

use crate::args::Args;
use crate::driver::LaunchDims;
use crate::family::Family;
use crate::sync::BlockSync;

/// Device limits that decide its launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Number of streaming multiprocessors.
    pub units: usize,
    /// Opt-in shared memory per block, in bytes.
    pub shared_bytes: usize,
    /// Shared memory per multiprocessor, in bytes.
    pub unit_shared_bytes: usize,
    /// Maximum resident threads per multiprocessor.
    pub unit_threads: usize,
    /// Registers of 4 bytes per block.
    pub registers: usize,
    /// Maximum blocks of a cluster; 1 if the device does not support clusters.
    pub cluster: usize,
    /// Support for cooperative launches.
    pub cooperative: bool,
}

impl DeviceLimits {
    /// Returns the shared memory per block if `blocks` blocks share a multiprocessor, in bytes. The device reserves 1 KiB per
    /// block.
    pub fn shared_bytes_of(&self, blocks: usize) -> usize {
        (self.unit_shared_bytes / blocks).saturating_sub(1 << 10).min(self.shared_bytes)
    }

    /// H200 (and H100): 132 multiprocessors, 227 KiB opt-in shared memory per block, clusters of 16 blocks.
    pub const H200: DeviceLimits = DeviceLimits {
        units: 132,
        shared_bytes: 227 << 10,
        unit_shared_bytes: 228 << 10,
        unit_threads: 2048,
        registers: 64 << 10,
        cluster: 16,
        cooperative: true,
    };
}

/// Part of the workspace that a kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspacePart {
    /// No workspace.
    None,
    /// Flags of this many bytes, cleared before the kernel starts.
    Flags(usize),
    /// Saved rows of this many bytes.
    Saved(usize),
}

impl WorkspacePart {
    /// Returns the number of bytes.
    pub fn bytes(self) -> usize {
        match self {
            WorkspacePart::None => 0,
            WorkspacePart::Flags(bytes) | WorkspacePart::Saved(bytes) => bytes,
        }
    }
}

/// Kernel launch as plain data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Launch {
    /// File of `kernels/` that contains the kernel.
    pub family: Family,
    /// Word size in bytes, which selects the compiled module.
    pub word: usize,
    /// Name of the entry point.
    pub entry: &'static str,
    /// Number of thread blocks.
    pub groups: u32,
    /// Threads per block.
    pub threads: u32,
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// Blocks per cluster; 1 without clusters.
    pub cluster: u32,
    /// Kernel parameter.
    pub params: Args,
    /// Part of the workspace that the kernel uses.
    pub workspace: WorkspacePart,
}

impl Launch {
    /// Returns the blocks that a block of the kernel waits for.
    pub fn sync(&self) -> BlockSync {
        BlockSync::of(self.entry)
    }

    /// Returns the number of blocks that must be resident on the device at the same time.
    pub fn co_resident_blocks(&self) -> u32 {
        match self.sync() {
            BlockSync::None | BlockSync::Earlier => 1,
            BlockSync::Grid => self.groups,
            BlockSync::Cluster => self.cluster,
        }
    }

    /// Returns the full name of the kernel, such as `moves.w16/move_axes32_1`.
    pub fn kernel(&self) -> String {
        format!("{}.w{}/{}", self.family.name(), self.word, self.entry)
    }

    pub(crate) fn config(&self) -> LaunchDims {
        let cooperative = self.sync() == BlockSync::Grid;
        let &Launch { groups, threads, shared_bytes, cluster, .. } = self;
        LaunchDims { groups, threads, shared_bytes, cluster, cooperative }
    }

    /// Returns `true` if a device that can execute `other` can also execute this launch: the kernel and the block and cluster
    /// sizes are equal, and not more blocks must be co-resident.
    pub(crate) fn needs_no_more_than(&self, other: &Launch) -> bool {
        (self.family, self.word, self.entry) == (other.family, other.word, other.entry)
            && (self.threads, self.shared_bytes, self.cluster)
                == (other.threads, other.shared_bytes, other.cluster)
            && self.co_resident_blocks() <= other.co_resident_blocks()
    }
}

/// Launch created by [`lower`](crate::lower). Other code can read but not create or change it, so only lowered launches are
/// executed.
///
/// ```compile_fail,E0594
/// fn more(call: &mut turntile_cuda::launch::CheckedLaunch) {
///     call.groups += 1;
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckedLaunch(pub(crate) Launch);

impl Deref for CheckedLaunch {
    type Target = Launch;

    fn deref(&self) -> &Launch {
        &self.0
    }
}

/// Returns the widest word, at most 16 bytes, that divides all `quantities` (sizes and alignments, in bytes).
pub fn widest_word(quantities: &[usize]) -> usize {
    let all = quantities.iter().fold(16usize, |all, &quantity| all | quantity);
    1 << all.trailing_zeros()
}
