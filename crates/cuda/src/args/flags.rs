//! Where PTTWAC's flags lie.

use super::Address;
use super::divisor::Divisor32;
use crate::flags;

mirror! {
    /// Position to word and bit.
    FlagLayout = "FlagLayout" in "flags.cuh", 32 bytes {
        shift: u32 = 0, "Flags of a word are 2 to this: 5 packed, 0 spread by 32.";
        padded: u32 = 4, "Whether every 33rd word stays unused.";
        remapped: u32 = 8, "Whether neighbours lie in different words.";
        pad: u32 = 12, "Not used.";
        words: Divisor32 = 16, "Words, where remapped.";
    }
    /// Flags of a whole launch.
    GlobalFlags = "GlobalFlags" in "flags.cuh", 40 bytes {
        words: Address = 0, "The workspace.";
        layout: FlagLayout = 8, "Which bit is whose.";
    }
}

impl FlagLayout {
    /// `layout` of `positions` flags.
    pub fn new(layout: flags::FlagLayout, positions: usize) -> Self {
        let (shift, padded, remapped) = match layout {
            flags::FlagLayout::Spread { spreading, padded } => {
                ((32 / spreading).ilog2(), u32::from(padded), 0)
            }
            flags::FlagLayout::Remapped => (5, 0, 1),
        };
        // Words of a remapped layout; the device divides by them for remapped flags alone.
        let words = Divisor32::new(u32::try_from(positions.div_ceil(32)).unwrap_or(u32::MAX));
        FlagLayout { shift, padded, remapped, pad: 0, words }
    }
}
