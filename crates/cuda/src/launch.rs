//! A kernel launch as data, and the limits of a device that decide it.

use std::ops::Deref;

use crate::args::Args;
use crate::driver::LaunchDims;
use crate::family::Family;
use crate::sync::BlockSync;

/// The limits of a device that decide its launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Streaming multiprocessors.
    pub units: usize,
    /// Opt-in shared memory of a block, in bytes.
    pub shared_bytes: usize,
    /// Shared memory of a multiprocessor, in bytes.
    pub unit_shared_bytes: usize,
    /// Registers of 4 bytes of a block.
    pub registers: usize,
    /// Most blocks of a cluster; 1 where there are none.
    pub cluster: usize,
    /// Whether a launch can be cooperative.
    pub cooperative: bool,
}

impl DeviceLimits {
    /// The H200 (and H100): 132 multiprocessors, 227 KiB, clusters of 16.
    pub const H200: DeviceLimits = DeviceLimits {
        units: 132,
        shared_bytes: 227 << 10,
        unit_shared_bytes: 228 << 10,
        registers: 64 << 10,
        cluster: 16,
        cooperative: true,
    };
}

/// Which part of the workspace a kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspacePart {
    /// None.
    None,
    /// Flags: so many bytes, zero when it starts.
    Flags(usize),
    /// Rows set aside: so many bytes.
    Saved(usize),
}

impl WorkspacePart {
    /// Bytes.
    pub fn bytes(self) -> usize {
        match self {
            WorkspacePart::None => 0,
            WorkspacePart::Flags(bytes) | WorkspacePart::Saved(bytes) => bytes,
        }
    }
}

/// One launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Launch {
    /// The module.
    pub family: Family,
    /// Bytes of an access, which picks the module's variant.
    pub word: usize,
    /// The entry point.
    pub entry: &'static str,
    /// Blocks.
    pub groups: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Blocks of a cluster; 1 without clusters.
    pub cluster: u32,
    /// The parameter.
    pub params: Args,
    /// The part of the workspace that it uses.
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

    /// The kernel's full name: `moves.w16/move_axes32_1`.
    pub fn kernel(&self) -> String {
        format!("{}.w{}/{}", self.family.name(), self.word, self.entry)
    }

    pub(crate) fn config(&self) -> LaunchDims {
        let cooperative = self.sync() == BlockSync::Grid;
        let &Launch { groups, threads, shared_bytes, cluster, .. } = self;
        LaunchDims { groups, threads, shared_bytes, cluster, cooperative }
    }

    /// Whether a device that has room for `other` has room for this: the same kernel, blocks no larger, and no more of
    /// them where they must be at work together.
    pub(crate) fn needs_no_more_than(&self, other: &Launch) -> bool {
        (self.family, self.word, self.entry) == (other.family, other.word, other.entry)
            && (self.threads, self.shared_bytes, self.cluster)
                == (other.threads, other.shared_bytes, other.cluster)
            && self.co_resident_blocks() <= other.co_resident_blocks()
    }
}

/// A launch that [`lower`](crate::lower) made. It can be read, and neither put together nor changed elsewhere: what is run
/// on a device is what was lowered.
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

/// The widest access, up to 16 bytes, that every one of `quantities` (sizes and alignments, in bytes) is
/// a multiple of.
pub fn widest_word(quantities: &[usize]) -> usize {
    let all = quantities.iter().fold(16usize, |all, &quantity| all | quantity);
    1 << all.trailing_zeros()
}
