//! The device code: one module for each family of kernels and word, loaded when first needed.

use std::ffi::CStr;

/// CUDA of the oldest driver that takes the PTX, which is of ISA 8.4: major and minor number.
pub const NEEDED_CUDA: (u32, u32) = (12, 4);
/// Release of the first such driver.
pub const NEEDED_DRIVER: u32 = 550;
/// The oldest architecture that the PTX is for, as 10 times the major number of the compute capability, and the minor one.
pub const NEEDED_ARCHITECTURE: usize = 80;

/// A file of `kernels/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Square tiles: swapped in pairs, or each in place.
    Tiles,
    /// Tiles of cubes, three at a time.
    Cube,
    /// Barrier-sync by a block.
    Barrier,
    /// Barrier-sync by a block, axes in any order.
    BarrierAxes,
    /// Barrier-sync by a cluster.
    ClusterBarrier,
    /// Barrier-sync by the grid.
    GridBarrier,
    /// Barrier-sync by a cluster, axes in any order.
    ClusterAxes,
    /// Barrier-sync by the grid, axes in any order.
    GridAxes,
    /// The gather pass of aligned slots, a run of chunks for each block.
    SlotRuns,
    /// The same, chunk after chunk by the grid.
    SlotGather,
    /// PTTWAC through registers.
    Moves,
    /// The same for 2^31 super-elements and more.
    MovesWide,
    /// The same for aligned slots.
    MovesSlots,
    /// The same for axes in any order.
    MovesAxes,
    /// PTTWAC through shared memory.
    MovesShared,
    /// PTTWAC by blocks, the baseline.
    MovesBlock,
    /// PTTWAC with flags on chip.
    MovesOnChip,
    /// P-IPT.
    PerCycle,
    /// Rows padded and unpadded.
    Pad,
    /// From one place to another.
    OutOfPlace,
    /// The same, axes in any order.
    IntoAxes,
    /// Filling and comparing, for tests.
    Check,
}

/// Code of a family for words of one size.
#[derive(Clone, Copy)]
struct Code {
    /// With a final zero.
    ptx: &'static str,
    #[cfg(backend)]
    machine: &'static [u8],
}

/// Bytes where the driver may read words.
#[cfg(backend)]
#[repr(C, align(16))]
struct Aligned<T: ?Sized>(T);

#[cfg(backend)]
macro_rules! machine {
    ($file:expr) => {{
        static CODE: &Aligned<[u8]> = &Aligned(*include_bytes!($file));
        &CODE.0
    }};
}
macro_rules! by_word {
    ($name:literal) => {
        [
            by_word!($name, "1"),
            by_word!($name, "2"),
            by_word!($name, "4"),
            by_word!($name, "8"),
            by_word!($name, "16"),
        ]
    };
    ($name:literal, $word:literal) => {
        Code {
            ptx: concat!(include_str!(concat!("../code/", $name, ".w", $word, ".ptx")), "\0"),
            #[cfg(backend)]
            machine: machine!(concat!("../code/", $name, ".w", $word, ".fatbin")),
        }
    };
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 22] = [
        Family::Tiles,
        Family::Cube,
        Family::Barrier,
        Family::BarrierAxes,
        Family::ClusterBarrier,
        Family::GridBarrier,
        Family::ClusterAxes,
        Family::GridAxes,
        Family::SlotRuns,
        Family::SlotGather,
        Family::Moves,
        Family::MovesWide,
        Family::MovesSlots,
        Family::MovesAxes,
        Family::MovesShared,
        Family::MovesBlock,
        Family::MovesOnChip,
        Family::PerCycle,
        Family::Pad,
        Family::OutOfPlace,
        Family::IntoAxes,
        Family::Check,
    ];

    /// The file's name without its ending.
    pub fn name(self) -> &'static str {
        match self {
            Family::Tiles => "tiles",
            Family::Cube => "cube",
            Family::Barrier => "barrier",
            Family::BarrierAxes => "barrier_axes",
            Family::ClusterBarrier => "cluster_barrier",
            Family::GridBarrier => "grid_barrier",
            Family::ClusterAxes => "cluster_axes",
            Family::GridAxes => "grid_axes",
            Family::SlotRuns => "slot_runs",
            Family::SlotGather => "slot_gather",
            Family::Moves => "moves",
            Family::MovesWide => "moves_wide",
            Family::MovesSlots => "moves_slots",
            Family::MovesAxes => "moves_axes",
            Family::MovesShared => "moves_shared",
            Family::MovesBlock => "moves_block",
            Family::MovesOnChip => "moves_on_chip",
            Family::PerCycle => "per_cycle",
            Family::Pad => "pad",
            Family::OutOfPlace => "out_of_place",
            Family::IntoAxes => "into_axes",
            Family::Check => "check",
        }
    }

    /// PTX of the family for words of `word` bytes (1, 2, 4, 8 or 16), ending in a zero.
    pub fn ptx(self, word: usize) -> &'static str {
        self.code(word).ptx
    }

    /// The same as a fat binary: machine code for common architectures, compressed; it has no PTX, and newer drivers alone
    /// take it. Empty where the backend is not built in.
    pub fn machine(self, word: usize) -> &'static [u8] {
        #[cfg(backend)]
        return self.code(word).machine;
        // No program is to carry what it cannot load.
        #[cfg(not(backend))]
        {
            let _ = word;
            &[]
        }
    }

    fn code(self, word: usize) -> Code {
        let words = match self {
            Family::Tiles => by_word!("tiles"),
            Family::Cube => by_word!("cube"),
            Family::Barrier => by_word!("barrier"),
            Family::BarrierAxes => by_word!("barrier_axes"),
            Family::ClusterBarrier => by_word!("cluster_barrier"),
            Family::GridBarrier => by_word!("grid_barrier"),
            Family::ClusterAxes => by_word!("cluster_axes"),
            Family::GridAxes => by_word!("grid_axes"),
            Family::SlotRuns => by_word!("slot_runs"),
            Family::SlotGather => by_word!("slot_gather"),
            Family::Moves => by_word!("moves"),
            Family::MovesWide => by_word!("moves_wide"),
            Family::MovesSlots => by_word!("moves_slots"),
            Family::MovesAxes => by_word!("moves_axes"),
            Family::MovesShared => by_word!("moves_shared"),
            Family::MovesBlock => by_word!("moves_block"),
            Family::MovesOnChip => by_word!("moves_on_chip"),
            Family::PerCycle => by_word!("per_cycle"),
            // Compiled once: they count in bytes.
            Family::Pad => [by_word!("pad", "4"); 5],
            Family::OutOfPlace => by_word!("out_of_place"),
            Family::IntoAxes => by_word!("into_axes"),
            Family::Check => [by_word!("check", "4"); 5],
        };
        words[word.ilog2() as usize]
    }

    pub(crate) fn image(self, word: usize) -> &'static CStr {
        #[cfg(backend)]
        return CStr::from_bytes_until_nul(self.ptx(word).as_bytes()).expect("ends in a zero");
        #[cfg(not(backend))]
        {
            let _ = word;
            c""
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CUDA 12.n came with PTX ISA 8.n.
    #[test]
    fn what_is_needed_is_what_the_ptx_says() {
        for family in Family::ALL {
            for word in [1, 2, 4, 8, 16] {
                let line = |start: &str| {
                    family.ptx(word).lines().find_map(|line| line.strip_prefix(start)).unwrap()
                };
                let isa = format!("{}.{}", NEEDED_CUDA.0 - 4, NEEDED_CUDA.1);
                assert_eq!(line(".version "), isa, "{family:?}");
                let target: usize = line(".target sm_").parse().unwrap();
                let in_clusters = matches!(family, Family::ClusterBarrier | Family::ClusterAxes);
                let oldest = if in_clusters { 90 } else { NEEDED_ARCHITECTURE };
                assert_eq!(target, oldest, "{family:?}");
            }
        }
    }
}
