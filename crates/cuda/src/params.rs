//! A kernel's one parameter, a structure of 4- and 8-byte fields, written field by field in the
//! order of its declaration in `kernels/`.

use turntile_perm::FastDiv;
use turntile_plan::FlagLayout;

/// Longest parameter, in 8-byte words.
const LONGEST: usize = 48;

/// The parameter structure as the device reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    words: [u64; LONGEST],
    /// In units of 4 bytes.
    len: usize,
}

impl Default for Params {
    fn default() -> Self {
        Self::new()
    }
}

impl Params {
    /// A structure that begins with the matrix's address, which [`at`](Self::at) fills in.
    pub fn new() -> Self {
        Params { words: [0; LONGEST], len: 0 }.u64(0)
    }

    /// Appends a 4-byte field.
    pub fn u32(mut self, value: u32) -> Self {
        self.words[self.len / 2] |= u64::from(value) << (32 * (self.len % 2));
        self.len += 1;
        self
    }

    /// Appends an 8-byte field, aligned.
    pub fn u64(mut self, value: u64) -> Self {
        self.len = self.len.next_multiple_of(2);
        self.words[self.len / 2] = value;
        self.len += 2;
        self
    }

    /// Appends a `Divisor<u64>`.
    pub fn div64(self, divisor: u64) -> Self {
        let (magic, pre, post) = FastDiv::new(divisor.max(1)).expect("not 0").parts();
        self.u64(divisor.max(1)).u64(magic).u32(pre).u32(post)
    }

    /// Appends a `Divisor<u32>`.
    pub fn div32(self, divisor: u32) -> Self {
        let (magic, pre, post) = magic32(divisor.max(1));
        self.u32(divisor.max(1)).u32(magic).u32(pre).u32(post)
    }

    /// Appends a `FlagLayout` of `positions` flags.
    pub fn layout(self, layout: FlagLayout, positions: usize) -> Self {
        let (shift, padded, remapped) = match layout {
            FlagLayout::Spread { spreading, padded } => {
                ((32 / spreading).ilog2(), u32::from(padded), 0)
            }
            FlagLayout::Remapped => (5, 0, 1),
        };
        // Words of a remapped layout; the device divides by them for remapped flags alone.
        let words = u32::try_from(positions.div_ceil(32)).unwrap_or(u32::MAX);
        self.u32(shift).u32(padded).u32(remapped).u32(0).div32(words)
    }

    /// The structure with the matrix's address in its first field and, where the kernel takes one, the
    /// workspace's in its second.
    pub fn at(mut self, data: u64, workspace: Option<u64>) -> [u64; LONGEST] {
        self.words[0] = data;
        if let Some(workspace) = workspace {
            self.words[1] = workspace;
        }
        self.words
    }

    /// Bytes written, the structure's padding to 8 included.
    pub fn bytes(&self) -> usize {
        self.len.next_multiple_of(2) * 4
    }
}

/// [`FastDiv`]'s numbers for 32-bit dividends.
fn magic32(divisor: u32) -> (u32, u32, u32) {
    let log = u32::BITS - (divisor - 1).leading_zeros();
    let excess = (1u64 << log) - u64::from(divisor);
    let magic = ((excess << 32) / u64::from(divisor) + 1) as u32;
    (magic, log.min(1), log.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn divide(n: u32, (magic, pre, post): (u32, u32, u32)) -> u32 {
        let t = ((u64::from(magic) * u64::from(n)) >> 32) as u32;
        (t + ((n - t) >> pre)) >> post
    }

    #[test]
    fn fields_are_laid_out_as_in_c() {
        let params = Params::new().u32(1).u32(2).u32(3).u64(4).u32(5);
        assert_eq!(params.words[..5], [0, 1 | 2 << 32, 3, 4, 5]);
        assert_eq!(params.bytes(), 40);
        assert_eq!(params.at(7, Some(8))[..2], [7, 8]);
    }

    #[test]
    fn edges_of_division() {
        for divisor in (1..200).chain([u32::MAX, u32::MAX - 1, 1 << 31, (1 << 31) + 1]) {
            for n in (0..400).chain([u32::MAX, u32::MAX - 1, 1 << 31]) {
                assert_eq!(divide(n, magic32(divisor)), n / divisor, "{n} / {divisor}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_division(divisor in 1u32.., n: u32, shift in 0u32..32) {
            prop_assert_eq!(divide(n, magic32(divisor)), n / divisor);
            let small = (divisor >> shift).max(1);
            prop_assert_eq!(divide(n, magic32(small)), n / small);
        }
    }
}
