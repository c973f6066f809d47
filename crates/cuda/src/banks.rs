//! What a warp's accesses to shared memory cost.
//!
//! Shared memory has 32 banks of 4 bytes; a warp's access takes as many turns (*wavefronts*) as there are
//! different words wanted from the bank that is wanted most. Lanes that want the same word share it.
//! Words of 8 and 16 bytes are moved for half and quarter warps at a time.

/// Lanes of a warp.
pub const WARP: usize = 32;
const BANKS: usize = 32;

/// Turns that an access takes, by the byte addresses of the lanes that take part, `bytes` bytes each
/// (1, 2, 4, 8 or 16, aligned).
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

/// Accesses, the turns that they take, and the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankConflicts {
    /// Accesses of whole or partial warps.
    pub accesses: usize,
    /// Turns: `wavefronts - accesses` is what profilers count as bank conflicts for words of 4 bytes.
    pub wavefronts: usize,
    /// Turns of the worst access.
    pub worst: usize,
}

impl BankConflicts {
    /// Adds an access, unless no lane takes part.
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

    /// Turns beyond one an access.
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
