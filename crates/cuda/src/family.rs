//! The device code: one module for each family of kernels and word, loaded when first needed.

use std::ffi::CStr;

use crate::archive;

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
    /// Rows a pitch apart: squares of any elements, what lies in gaps.
    Pitched,
    /// Numbers multiplied and conjugated.
    Scale,
    /// Filling and comparing, for tests.
    Check,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 24] = [
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
        Family::Pitched,
        Family::Scale,
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
            Family::Pitched => "pitched",
            Family::Scale => "scale",
            Family::Check => "check",
        }
    }

    /// PTX of the family for words of `word` bytes (1, 2, 4, 8 or 16), ending in a zero.
    ///
    /// # Panics
    /// There is no such word.
    pub fn ptx(self, word: usize) -> &'static str {
        let text = archive::PTX.code(self.name(), word).expect("there is PTX for every word");
        str::from_utf8(text).expect("PTX is ASCII")
    }

    pub(crate) fn image(self, word: usize) -> &'static CStr {
        #[cfg(backend)]
        return CStr::from_bytes_until_nul(self.ptx(word).as_bytes()).expect("ends in a zero");
        // No program is to carry what it cannot load.
        #[cfg(not(backend))]
        {
            let _ = word;
            c""
        }
    }

    /// Machine code of the family for a device of that architecture, if there is any; newer drivers alone take it.
    pub(crate) fn machine(self, word: usize, architecture: usize) -> Option<&'static [u8]> {
        #[cfg(backend)]
        return archive::machine(architecture)?.code(self.name(), word);
        #[cfg(not(backend))]
        {
            let _ = (word, architecture);
            None
        }
    }

    /// The oldest architecture that it is compiled for.
    #[cfg(test)]
    pub(crate) fn architecture(self) -> usize {
        let in_clusters = matches!(self, Family::ClusterBarrier | Family::ClusterAxes);
        if in_clusters { 90 } else { NEEDED_ARCHITECTURE }
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
                assert_eq!(target, family.architecture(), "{family:?}");
            }
        }
    }
}
