//! Embedded device code: one module per kernel family and word size, loaded on first use.

use std::ffi::CStr;

use crate::archive;

/// CUDA version, major and minor, of the oldest driver that accepts the PTX, which has ISA version 8.4.
pub const NEEDED_CUDA: (u32, u32) = (12, 4);
/// CUDA version of the assembler that made the machine code, and of the oldest driver that loads it.
pub(crate) const MACHINE_CODE_CUDA: (u32, u32) = (13, 0);
/// Release of the first driver with CUDA [`NEEDED_CUDA`].
pub const NEEDED_DRIVER: u32 = 550;
/// Oldest architecture of the PTX: 10 times the major number of the compute capability plus the minor number.
pub const NEEDED_ARCHITECTURE: usize = 80;

/// Bytes of the words that families are compiled for.
const WORDS: [usize; 5] = [1, 2, 4, 8, 16];

/// Declares one family per file of `kernels/`, by the file's name without extension.
macro_rules! families {
    ($($(#[$meta:meta])* $name:ident = $file:literal;)*) => {
        /// Kernel family: a file of `kernels/`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Family {
            $($(#[$meta])* $name,)*
        }

        impl Family {
            /// All families.
            pub const ALL: [Family; [$($file),*].len()] = [$(Family::$name,)*];

            /// Returns the file name without extension.
            pub fn name(self) -> &'static str {
                match self {
                    $(Family::$name => $file,)*
                }
            }
        }
    };
}

families! {
    /// Swaps of pairs of square tiles, and transposition of each tile in place.
    Tiles = "tiles";
    /// Swaps of squares with their mirror images in another block, for example on another GPU.
    PeerSquares = "peer_squares";
    /// Rotation of three tiles of a cube by one block.
    Cube = "cube";
    /// Rotation of three tiles of a cube by a cluster.
    CubeCluster = "cube_cluster";
    /// Swaps of pairs of tiles, for permutations that swap pairs of axes.
    SwapAxes = "swap_axes";
    /// Reversal of axes.
    Flip = "flip";
    /// Quarter turns of square matrices.
    Turn = "turn";
    /// Transposition of elements of 1, 2 or 4 bits.
    Bits = "bits";
    /// Barrier-sync by a block.
    Barrier = "barrier";
    /// Barrier-sync by a block, for any axis permutation.
    BarrierAxes = "barrier_axes";
    /// Barrier-sync by a cluster.
    ClusterBarrier = "cluster_barrier";
    /// Barrier-sync by the grid.
    GridBarrier = "grid_barrier";
    /// Barrier-sync by a cluster, for any axis permutation.
    ClusterAxes = "cluster_axes";
    /// Barrier-sync by the grid, for any axis permutation.
    GridAxes = "grid_axes";
    /// Permutation of a few long runs, one piece of each run per block.
    LongRuns = "long_runs";
    /// Gather pass of aligned slots, with a run of chunks per block.
    SlotRuns = "slot_runs";
    /// Gather pass of aligned slots, with a run of chunks per team of blocks.
    SlotGather = "slot_gather";
    /// Conversion of records between AoS and tiles.
    Retile = "retile";
    /// Both passes of aligned slots, for records with fields of different sizes.
    Fields = "fields";
    /// PTTWAC for any axis permutation.
    Moves = "moves";
    /// PTTWAC for aligned slots.
    MovesSlots = "moves_slots";
    /// PTTWAC for rows of tiles between two pitches.
    MovesRuns = "moves_runs";
    /// PTTWAC with flags in shared memory.
    MovesOnChip = "moves_on_chip";
    /// P-IPT for axis permutations and aligned slots.
    PerCycle = "per_cycle";
    /// Padding and unpadding of rows.
    Pad = "pad";
    /// Out-of-place transposition.
    OutOfPlace = "out_of_place";
    /// Out-of-place axis permutation by tiles.
    IntoAxes = "into_axes";
    /// Out-of-place axis permutation of long super-elements.
    IntoUnits = "into_units";
    /// Swaps in squares with a pitch, for elements of several words.
    PitchedSwap = "pitched_swap";
    /// Moves of long elements and of gap elements, for matrices with a pitch.
    Pitched = "pitched";
    /// Multiplication and conjugation of numbers.
    Scale = "scale";
    /// Filling and comparing buffers, for tests.
    Check = "check";
}

impl Family {
    /// Returns the family's PTX for words of `word` bytes (1, 2, 4, 8 or 16), with a terminating NUL.
    ///
    /// # Panics
    /// If there is no such word size.
    pub fn ptx(self, word: usize) -> &'static str {
        let text = archive::PTX.code(self.name(), self.compiled_word(word));
        let text = text.expect("there is PTX for every word");
        str::from_utf8(text).expect("PTX is ASCII")
    }

    /// Returns the word size that the code for words of `word` bytes was compiled with. One module can support all word sizes.
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
        // Omit code that the program cannot load.
        #[cfg(not(all(feature = "cuda", target_os = "linux")))]
        {
            let _ = word;
            c""
        }
    }

    /// Returns the family's machine code for a device of this architecture, if available. Only drivers from [`MACHINE_CODE_CUDA`]
    /// on load it.
    pub(crate) fn machine(self, word: usize, architecture: usize) -> Option<&'static [u8]> {
        #[cfg(all(feature = "cuda", target_os = "linux"))]
        return archive::machine(architecture)?.code(self.name(), self.compiled_word(word));
        #[cfg(not(all(feature = "cuda", target_os = "linux")))]
        {
            let _ = (word, architecture);
            None
        }
    }

    /// Returns the oldest architecture that the family is compiled for.
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

    /// Relies on CUDA 12.n having introduced PTX ISA 8.n.
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
