//! A kernel launch as data, and what of a device decides it.

use crate::args::Args;
use crate::family::Family;

/// What a stage's lowering must know of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Streaming multiprocessors.
    pub units: usize,
    /// Opt-in shared memory of a block, in bytes.
    pub shared_bytes: usize,
    /// Most blocks of a cluster; 1 where there are none.
    pub cluster: usize,
    /// Whether a launch can be cooperative.
    pub cooperative: bool,
}

impl Device {
    /// The H200 (and H100): 132 multiprocessors, 227 KiB, clusters of 16.
    pub const H200: Device =
        Device { units: 132, shared_bytes: 227 << 10, cluster: 16, cooperative: true };
}

/// Which part of the workspace a kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workspace {
    /// None.
    None,
    /// Flags: so many bytes, zero when it starts.
    Flags(usize),
    /// Rows set aside: so many bytes.
    Kept(usize),
}

impl Workspace {
    /// Bytes.
    pub fn bytes(self) -> usize {
        match self {
            Workspace::None => 0,
            Workspace::Flags(bytes) | Workspace::Kept(bytes) => bytes,
        }
    }
}

/// One launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
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
    /// Whether all blocks must be resident together.
    pub cooperative: bool,
    /// Blocks of a cluster, 1 for none.
    pub cluster: u32,
    /// The parameter.
    pub params: Args,
    /// Workspace.
    pub workspace: Workspace,
}

impl Call {
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
