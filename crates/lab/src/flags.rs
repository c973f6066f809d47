//! The flag words of PTTWAC: which bit of which 32-bit word belongs to a position
//! (thesis section 4.5.1).

/// How the one-bit flags of a set of positions lie in 32-bit words.
///
/// | layout | word of position `p` | source |
/// |---|---|---|
/// | packed | `p / 32` | eq. 4.4 |
/// | spread by `s` | `p / (32 / s)`: fewer flags a word, fewer colliding atomics | eq. 4.5 |
/// | padded | one unused word after every 32: fewer bank and lock conflicts | figure 4.12 |
/// | remapped | `p mod words`: neighbours in different words without more memory | eq. 4.6 |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlagLayout {
    /// `32 / spreading` flags a word, and with `padded` one unused word after every 32.
    Spread {
        /// A power of two from 1 (packed) to 32 (one flag a word).
        spreading: u32,
        /// Whether every 33rd word stays unused.
        padded: bool,
    },
    /// Neighbouring positions in neighbouring words.
    Remapped,
}

impl FlagLayout {
    /// 32 flags a word.
    pub const PACKED: Self = FlagLayout::Spread { spreading: 1, padded: false };

    /// Words that one plane of `positions` flags takes.
    pub fn words(&self, positions: usize) -> usize {
        match *self {
            _ if positions == 0 => 0,
            FlagLayout::Spread { .. } => self.place(positions - 1, positions).0 + 1,
            FlagLayout::Remapped => positions.div_ceil(32),
        }
    }

    /// Word and bit of position `p` of `positions`.
    #[inline]
    pub fn place(&self, p: usize, positions: usize) -> (usize, u32) {
        match *self {
            FlagLayout::Spread { spreading, padded } => {
                // 32 flags a word, less by a power of two.
                let word = p >> (5 - spreading.trailing_zeros());
                // The bit stays where the packed layout has it: moving it would change nothing.
                (word + if padded { word / 32 } else { 0 }, (p % 32) as u32)
            }
            FlagLayout::Remapped => {
                let words = positions.div_ceil(32);
                (p % words, (p / words) as u32)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn all_layouts() -> Vec<FlagLayout> {
        let spread = (0..6).flat_map(|log| {
            [false, true].map(|padded| FlagLayout::Spread { spreading: 1 << log, padded })
        });
        spread.chain([FlagLayout::Remapped]).collect()
    }

    #[test]
    fn every_position_has_a_bit_of_its_own_within_the_words() {
        for layout in all_layouts() {
            for positions in (0..200).chain([1023, 1024, 1025, 4097]) {
                let words = layout.words(positions);
                let places: HashSet<_> =
                    (0..positions).map(|p| layout.place(p, positions)).collect();
                assert_eq!(places.len(), positions, "{layout:?}");
                assert!(places.iter().all(|&(word, bit)| word < words && bit < 32), "{layout:?}");
            }
        }
    }

    #[test]
    fn equations_4_4_to_4_6() {
        let spread = |spreading, padded| FlagLayout::Spread { spreading, padded };
        assert_eq!(FlagLayout::PACKED.place(70, 640), (2, 6));
        assert_eq!(spread(8, false).place(70, 640), (17, 6));
        assert_eq!(spread(32, true).place(70, 640), (72, 6));
        assert_eq!(FlagLayout::Remapped.place(70, 640), (10, 3));
        assert_eq!(FlagLayout::Remapped.words(640), 20);
    }
}
