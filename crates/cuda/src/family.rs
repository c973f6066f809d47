//! The device code: one module for each family of kernels and word, loaded when first needed.

use std::ffi::CStr;

use crate::archive;

/// CUDA of the oldest driver that takes the PTX, which is of ISA 8.4: major and minor number.
pub const NEEDED_CUDA: (u32, u32) = (12, 4);
/// CUDA version whose assembler made the machine code, and of the oldest driver that loads it.
pub(crate) const MACHINE_CODE_CUDA: (u32, u32) = (13, 0);
/// Release of the first such driver.
pub const NEEDED_DRIVER: u32 = 550;
/// The oldest architecture that the PTX is for, as 10 times the major number of the compute capability, and the minor one.
pub const NEEDED_ARCHITECTURE: usize = 80;

/// Bytes of the words that families are compiled for.
const WORDS: [usize; 5] = [1, 2, 4, 8, 16];

/// Declares each file of `kernels/`, by its name without the ending.
macro_rules! families {
    ($($(#[$meta:meta])* $name:ident = $file:literal;)*) => {
        /// A file of `kernels/`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Family {
            $($(#[$meta])* $name,)*
        }

        impl Family {
            /// Every family.
            pub const ALL: [Family; [$($file),*].len()] = [$(Family::$name,)*];

            /// The file's name without its ending.
            pub fn name(self) -> &'static str {
                match self {
                    $(Family::$name => $file,)*
                }
            }
        }
    };
}

families! {
    /// Square tiles: swapped in pairs, or each in place.
    Tiles = "tiles";
    /// Squares swapped with their mirror images, between two GPUs.
    PeerSquares = "peer_squares";
    /// Tiles of cubes, three at a time.
    Cube = "cube";
    /// The same, a cluster to three.
    CubeCluster = "cube_cluster";
    /// Tiles of arrays whose axes change places in pairs.
    SwapAxes = "swap_axes";
    /// Barrier-sync by a block.
    Barrier = "barrier";
    /// Barrier-sync by a block, axes in any order.
    BarrierAxes = "barrier_axes";
    /// Barrier-sync by a cluster.
    ClusterBarrier = "cluster_barrier";
    /// Barrier-sync by the grid.
    GridBarrier = "grid_barrier";
    /// Barrier-sync by a cluster, axes in any order.
    ClusterAxes = "cluster_axes";
    /// Barrier-sync by the grid, axes in any order.
    GridAxes = "grid_axes";
    /// The gather pass of aligned slots, a run of chunks for each block.
    SlotRuns = "slot_runs";
    /// The same, chunk after chunk by the grid.
    SlotGather = "slot_gather";
    /// Records between AoS and tiles.
    Retile = "retile";
    /// Records to columns by aligned slots.
    Fields = "fields";
    /// PTTWAC of any permutation of axes.
    Moves = "moves";
    /// PTTWAC of aligned slots.
    MovesSlots = "moves_slots";
    /// PTTWAC of rows of tiles between two pitches.
    MovesRuns = "moves_runs";
    /// PTTWAC with flags in shared memory.
    MovesOnChip = "moves_on_chip";
    /// P-IPT of axes and of aligned slots.
    PerCycle = "per_cycle";
    /// Rows padded and unpadded.
    Pad = "pad";
    /// From one place to another.
    OutOfPlace = "out_of_place";
    /// The same, axes in any order.
    IntoAxes = "into_axes";
    /// The same of long super-elements.
    IntoUnits = "into_units";
    /// Squares of elements of several words, rows a pitch apart.
    PitchedSwap = "pitched_swap";
    /// Long elements and contents of gaps, rows a pitch apart.
    Pitched = "pitched";
    /// Numbers multiplied and conjugated.
    Scale = "scale";
    /// Filling and comparing, for tests.
    Check = "check";
}

impl Family {
    /// PTX of the family for words of `word` bytes (1, 2, 4, 8 or 16), ending in a zero.
    ///
    /// # Panics
    /// There is no such word.
    pub fn ptx(self, word: usize) -> &'static str {
        let text = archive::PTX.code(self.name(), self.compiled_word(word));
        let text = text.expect("there is PTX for every word");
        str::from_utf8(text).expect("PTX is ASCII")
    }

    /// Returns the word that the code for words of `word` bytes was compiled with: one module serves all words with that code.
    pub(crate) fn compiled_word(self, word: usize) -> usize {
        let words: Vec<usize> = archive::PTX.words(self.name()).collect();
        let own = words.contains(&word) || words.len() == WORDS.len() || !WORDS.contains(&word);
        if own { word } else { words[0] }
    }

    /// Returns the word that identifies the module for words of `word` bytes. A build without the backend loads no module, and is
    /// not to contain device code.
    pub(crate) fn module_word(self, word: usize) -> usize {
        if cfg!(all(feature = "cuda", target_os = "linux")) {
            self.compiled_word(word)
        } else {
            word
        }
    }

    pub(crate) fn image(self, word: usize) -> &'static CStr {
        #[cfg(all(feature = "cuda", target_os = "linux"))]
        return CStr::from_bytes_until_nul(self.ptx(word).as_bytes()).expect("ends in a zero");
        // No program is to carry what it cannot load.
        #[cfg(not(all(feature = "cuda", target_os = "linux")))]
        {
            let _ = word;
            c""
        }
    }

    /// Machine code of the family for a device of that architecture, if there is any; newer drivers alone take it.
    pub(crate) fn machine(self, word: usize, architecture: usize) -> Option<&'static [u8]> {
        #[cfg(all(feature = "cuda", target_os = "linux"))]
        return archive::machine(architecture)?.code(self.name(), self.compiled_word(word));
        #[cfg(not(all(feature = "cuda", target_os = "linux")))]
        {
            let _ = (word, architecture);
            None
        }
    }

    /// The oldest architecture that it is compiled for.
    #[cfg(test)]
    pub(crate) fn architecture(self) -> usize {
        use Family::{ClusterAxes, ClusterBarrier, CubeCluster};
        let in_clusters = matches!(self, ClusterBarrier | ClusterAxes | CubeCluster);
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
