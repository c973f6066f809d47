//! What the kernels move: bytes, lines of them, and blocks of units.

use std::mem::MaybeUninit;

/// A byte that is moved but never looked at.
pub type Byte = MaybeUninit<u8>;

/// Bytes of a cache line.
pub const CACHE_LINE: usize = 64;

/// A block of a row-major array of units: `rows` by `cols`, pitches in units from row to row.
#[derive(Clone, Copy, Debug)]
pub struct BlockShape {
    /// Units of the block down.
    pub rows: usize,
    /// Units of the block across.
    pub cols: usize,
    /// Units from one row of the source to the next.
    pub from_pitch: usize,
    /// Units from one row of the destination, a column of the source, to the next.
    pub to_pitch: usize,
}

impl BlockShape {
    /// Whether there is nothing to move.
    pub fn is_empty(&self) -> bool {
        self.rows == 0 || self.cols == 0
    }

    /// Units from the first to the last of the source, both included; the most that there can be when more cannot be
    /// counted.
    pub fn from_len(&self) -> usize {
        self.span(self.rows, self.from_pitch, self.cols)
    }

    /// Units from the first to the last of the destination, both included; else as above.
    pub fn to_len(&self) -> usize {
        self.span(self.cols, self.to_pitch, self.rows)
    }

    fn span(&self, rows: usize, pitch: usize, cols: usize) -> usize {
        if self.is_empty() { 0 } else { (rows - 1).saturating_mul(pitch).saturating_add(cols) }
    }
}
