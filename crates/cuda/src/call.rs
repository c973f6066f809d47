//! A kernel launch as data, and what of a device decides it.

use crate::args::Args;
use crate::driver::LaunchConfig;
use crate::family::Family;
use crate::waits::Waits;

/// What of a device decides its launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
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

impl Limits {
    /// The H200 (and H100): 132 multiprocessors, 227 KiB, clusters of 16.
    pub const H200: Limits = Limits {
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
    Kept(usize),
}

impl WorkspacePart {
    /// Bytes.
    pub fn bytes(self) -> usize {
        match self {
            WorkspacePart::None => 0,
            WorkspacePart::Flags(bytes) | WorkspacePart::Kept(bytes) => bytes,
        }
    }
}

/// One launch, made by [`lower`](crate::lower). It can be looked at, and
/// neither put together nor changed elsewhere: what is run on a device is what was lowered.
///
/// ```compile_fail,E0616
/// fn more(call: &mut turntile_cuda::call::Call) {
///     call.groups += 1;
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// The module.
    pub(crate) family: Family,
    /// Bytes of an access, which picks the module's variant.
    pub(crate) word: usize,
    /// The entry point.
    pub(crate) entry: &'static str,
    /// Blocks.
    pub(crate) groups: u32,
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub(crate) shared_bytes: u32,
    /// The parameter.
    pub(crate) params: Args,
    /// Workspace.
    pub(crate) workspace: WorkspacePart,
}

impl Call {
    /// The module.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Bytes of an access, which picks the module's variant.
    pub fn word(&self) -> usize {
        self.word
    }

    /// The entry point.
    pub fn entry(&self) -> &'static str {
        self.entry
    }

    /// Blocks.
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Dynamic shared memory of a block, in bytes.
    pub fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// Whom its blocks wait for.
    pub fn waits(&self) -> Waits {
        Waits::of(self.entry)
    }

    /// The parameter.
    pub fn params(&self) -> &Args {
        &self.params
    }

    /// Which part of the workspace it uses.
    pub fn workspace(&self) -> WorkspacePart {
        self.workspace
    }

    pub(crate) fn config(&self) -> LaunchConfig {
        let cooperative = self.waits() == Waits::Grid;
        let (groups, threads, shared_bytes) = (self.groups, self.threads, self.shared_bytes);
        LaunchConfig { groups, threads, shared_bytes, cooperative }
    }

    /// Whether a device that has room for `other` has room for this: the same kernel, blocks no larger, and no more of
    /// them where they must be at work together.
    pub(crate) fn needs_no_more_than(&self, other: &Call) -> bool {
        let together = |call: &Call| call.waits().together(call.groups);
        (self.family, self.word, self.entry) == (other.family, other.word, other.entry)
            && self.threads == other.threads
            && self.shared_bytes == other.shared_bytes
            && together(self) <= together(other)
    }

    /// The kernel's full name: `moves.w16/move_swap32_1`.
    pub fn kernel(&self) -> String {
        format!("{}.w{}/{}", self.family.name(), self.word, self.entry)
    }
}

/// The widest access, up to 16 bytes, that every one of `quantities` (sizes and alignments, in bytes) is
/// a multiple of.
pub fn widest_word(quantities: &[usize]) -> usize {
    let all = quantities.iter().fold(16usize, |all, &quantity| all | quantity);
    1 << all.trailing_zeros()
}
