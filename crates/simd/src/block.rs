//! Types of the data that SIMD kernels move: bytes, cache lines and blocks of units.

use std::mem::MaybeUninit;

/// Byte that is moved but never read as a value.
pub type Byte = MaybeUninit<u8>;

/// Size of a cache line in bytes.
pub const CACHE_LINE: usize = 64;

/// Shape of a block of a row-major array of units: `rows` by `cols`. Pitches are row strides in
/// units. For raw transpositions, a pitch may be negative, modulo 2^64: the first row is then the
/// last in memory.
#[derive(Clone, Copy, Debug)]
pub struct BlockShape {
    /// Number of rows of the source block.
    pub rows: usize,
    /// Number of columns of the source block.
    pub cols: usize,
    /// Row stride of the source, in units.
    pub from_pitch: usize,
    /// Row stride of the destination, in units. Row `j` of the destination is column `j` of the
    /// source.
    pub to_pitch: usize,
}

impl BlockShape {
    /// Returns `true` if the block has no units.
    pub fn is_empty(&self) -> bool {
        self.rows == 0 || self.cols == 0
    }

    /// Returns the span of the source in units, from the first to the last unit inclusive.
    /// Saturates at `usize::MAX`.
    pub fn from_len(&self) -> usize {
        self.span(self.rows, self.from_pitch, self.cols)
    }

    /// Returns the span of the destination in units, from the first to the last unit inclusive.
    /// Saturates at `usize::MAX`.
    pub fn to_len(&self) -> usize {
        self.span(self.cols, self.to_pitch, self.rows)
    }

    /// Returns the address of unit `(i, j)` of a source at `from`, for units of `bytes` bytes.
    #[inline(always)]
    pub(crate) fn source(
        &self,
        from: *const Byte,
        i: usize,
        j: usize,
        bytes: usize,
    ) -> *const Byte {
        from.wrapping_add(i.wrapping_mul(self.from_pitch).wrapping_add(j).wrapping_mul(bytes))
    }

    /// Returns the address of unit `(i, j)` of the source in a destination at `to`.
    #[inline(always)]
    pub(crate) fn dest(&self, to: *mut Byte, i: usize, j: usize, bytes: usize) -> *mut Byte {
        to.wrapping_add(j.wrapping_mul(self.to_pitch).wrapping_add(i).wrapping_mul(bytes))
    }

    fn span(&self, rows: usize, pitch: usize, cols: usize) -> usize {
        if self.is_empty() { 0 } else { (rows - 1).saturating_mul(pitch).saturating_add(cols) }
    }
}
