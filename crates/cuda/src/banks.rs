//! Cost of a warp's accesses to shared memory.
//!
//! Shared memory has 32 banks of 4 bytes. An access takes one *wavefront* per different word in the bank with the most words.
//! Lanes that access one word share it. Accesses of 8 and 16 bytes are processed per half and per quarter warp.

/// Lanes of a warp.
pub const WARP: usize = 32;
const BANKS: usize = 32;

/// Returns the wavefronts of one access. `addresses` are the byte addresses of the active lanes, with `bytes` bytes each (1, 2,
/// 4, 8 or 16, aligned).
pub fn wavefronts(addresses: &[usize], bytes: usize) -> usize {
    let together = WARP / (bytes / 4).max(1);
    addresses.chunks(together).map(|lanes| turns(lanes, bytes)).sum()
}

fn turns(lanes: &[usize], bytes: usize) -> usize {
    let mut words: Vec<usize> =
        lanes.iter().flat_map(|&at| at / 4..(at + bytes).div_ceil(4)).collect();
    words.sort_unstable();
    words.dedup();
    let mut wanted = [0; BANKS];
    words.iter().for_each(|word| wanted[word % BANKS] += 1);
    wanted.into_iter().max().unwrap_or(0)
}

/// Numbers of accesses and wavefronts, and the maximum wavefronts of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankConflicts {
    /// Number of accesses by whole or partial warps.
    pub accesses: usize,
    /// Number of wavefronts. For words of 4 bytes, profilers count `wavefronts - accesses` as bank conflicts.
    pub wavefronts: usize,
    /// Maximum wavefronts of an access.
    pub worst: usize,
}

impl BankConflicts {
    /// Adds an access, unless no lane is active.
    #[must_use]
    pub fn and(self, addresses: &[usize], bytes: usize) -> Self {
        if addresses.is_empty() {
            return self;
        }
        let turns = wavefronts(addresses, bytes);
        BankConflicts {
            accesses: self.accesses + 1,
            wavefronts: self.wavefronts + turns,
            worst: self.worst.max(turns),
        }
    }

    /// Returns the wavefronts in excess of one per access.
    pub fn conflicts(&self) -> usize {
        self.wavefronts - self.accesses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(stride: usize, bytes: usize) -> usize {
        wavefronts(&(0..WARP).map(|lane| lane * stride).collect::<Vec<_>>(), bytes)
    }

    #[test]
    fn known_strides() {
        for (stride, turns) in [(0, 1), (4, 1), (8, 2), (12, 1), (128, 32), (132, 1), (64, 16)] {
            assert_eq!(strided(stride, 4), turns, "{stride}");
        }
        assert_eq!(strided(1, 1), 1, "four lanes share a word");
        assert_eq!(strided(4 * 33, 1), 1);
        assert_eq!(strided(8, 8), 2, "half a warp at a time");
        assert_eq!(strided(8 * 33, 8), 2);
        assert_eq!(strided(8 * 32, 8), 32);
        assert_eq!(strided(16, 16), 4);
        assert_eq!(wavefronts(&[], 4), 0);
    }

    #[test]
    fn costs_add_up() {
        let cost = BankConflicts::default().and(&[0, 128], 4).and(&[0, 4], 4).and(&[], 4);
        assert_eq!(cost, BankConflicts { accesses: 2, wavefronts: 3, worst: 2 });
        assert_eq!(cost.conflicts(), 1);
    }
}
