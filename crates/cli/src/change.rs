//! A change of a file, as data.

use turntile::Transpose;
use turntile::bits::PackedMatrix;

/// A change of a file: new bytes in place of its header, and a permutation of the data. Everything else stays.
#[derive(Debug)]
pub struct Change {
    /// The new header.
    pub header: Vec<u8>,
    /// Bytes of the source that the new header replaces.
    pub replaced: u64,
    /// Offset of the data in the source.
    pub start: u64,
    /// Bytes of the data.
    pub bytes: usize,
    /// Bytes after the data.
    pub tail: u64,
    /// The permutation of the data, if an element moves.
    pub step: Option<Transpose>,
    /// Matrices of elements of less than a byte. Before `step`, micro-blocks are turned; without it, the matrices are
    /// transposed in a second buffer.
    pub packed: Option<PackedMatrix>,
    /// Bytes of the data in the result: differs from `bytes` if padding bits do.
    pub new_bytes: usize,
}

impl Change {
    /// Offset of the data in the result.
    pub fn new_start(&self) -> u64 {
        self.header.len() as u64 + (self.start - self.replaced)
    }

    /// Offset of the end of the data in the result.
    pub fn end(&self) -> u64 {
        self.new_start() + self.new_bytes as u64
    }
}
