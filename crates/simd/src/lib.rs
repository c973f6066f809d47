//! Blocks of units transposed between two buffers, in vector registers where there are some.
//!
//! | module | holds |
//! |---|---|
//! | `vector` | the micro-kernels of words of 1, 2, 4, 8 and 16 bytes, and their table: `unsafe`, as are |
//! | `lanes` | what they are made of, for each instruction set |
//! | `lines` | lines asked for meanwhile |
//! | `exchange` | squares that change places |
//! | `copy` | runs copied while others are asked for |
//! | `ring` | lines to and from a ring, across its end |
//! | `stream` | runs written past the caches |
//! | `structures` | structures of at most 8 bytes, by shuffles |
//! | `portable` | units of any other length |
//!
//! A [`Kernel`] is a row of the table [`KERNELS`]; the first that the machine can run is used,
//! found out once. [`force`] takes another, for tests and comparisons.

mod copy;
mod exchange;
mod lanes;
mod lines;
mod portable;
mod ring;
mod stream;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod structures;
mod vector;

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use copy::{Run, copy_runs_raw};
pub use exchange::swap_squares_raw;
pub use lines::{Lines, Rows};
pub use ring::{LINE, copy_from_ring, copy_into_ring};
pub use stream::{fence, stream_raw};
pub use vector::{prefetch, transpose_raw};

/// A byte that is moved but never looked at.
pub type Byte = MaybeUninit<u8>;

/// A block of a row-major array of units: `rows` by `cols`, pitches in units from row to row.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Units of the block down.
    pub rows: usize,
    /// Units of the block across.
    pub cols: usize,
    /// Units from one row of the source to the next.
    pub from_pitch: usize,
    /// Units from one row of the destination, a column of the source, to the next.
    pub to_pitch: usize,
}

impl Block {
    /// Whether there is nothing to move.
    pub fn is_empty(&self) -> bool {
        self.rows == 0 || self.cols == 0
    }

    /// Units from the first to the last of the source, both included.
    pub fn from_len(&self) -> usize {
        if self.is_empty() { 0 } else { (self.rows - 1) * self.from_pitch + self.cols }
    }

    /// Units from the first to the last of the destination, both included.
    pub fn to_len(&self) -> usize {
        if self.is_empty() { 0 } else { (self.cols - 1) * self.to_pitch + self.rows }
    }
}

/// A micro-kernel: one way to transpose blocks of words.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its name: the instruction set.
    pub name: &'static str,
    /// Whether this machine can run it.
    pub available: fn() -> bool,
    /// For words of 1, 2, 4, 8 and 16 bytes.
    words: [vector::Words; 5],
    /// Runs of bytes.
    copy: copy::Copy,
    /// Lines out of a ring.
    from_ring: ring::FromRing,
    /// Lines into a ring.
    into_ring: ring::IntoRing,
    /// Bytes of a vector, 0 without vectors.
    vector_bytes: usize,
    /// Two squares of words change places, for words of 1, 2, 4, 8 and 16 bytes.
    squares: [exchange::Squares; 5],
}

/// Every micro-kernel that this build has, widest first; the last runs anywhere.
pub static KERNELS: &[Kernel] = vector::KERNELS;

/// One more than the row in use, 0 before anybody asked.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// The micro-kernel in use.
#[inline]
pub fn kernel() -> &'static Kernel {
    match IN_USE.load(Ordering::Relaxed) {
        0 => detect(),
        row => &KERNELS[row - 1],
    }
}

#[cold]
fn detect() -> &'static Kernel {
    let best = KERNELS.iter().position(|kernel| (kernel.available)());
    let best = best.expect("the last row runs anywhere");
    IN_USE.store(best + 1, Ordering::Relaxed);
    &KERNELS[best]
}

/// Uses the micro-kernel of that name from now on, in the whole process; false, with nothing
/// changed, when there is none or this machine cannot run it.
pub fn force(name: &str) -> bool {
    let row = KERNELS.iter().position(|kernel| kernel.name == name && (kernel.available)());
    if let Some(row) = row {
        IN_USE.store(row + 1, Ordering::Relaxed);
    }
    row.is_some()
}

/// `to[j][i] = from[i][j]` for units of `unit_bytes` bytes; both buffers start at unit (0, 0).
///
/// # Panics
/// When a buffer is shorter than the block says, or `unit_bytes` is 0.
pub fn transpose(from: &[Byte], to: &mut [Byte], block: Block, unit_bytes: usize) {
    assert!(unit_bytes > 0 && block.from_len() <= from.len() / unit_bytes);
    assert!(block.to_len() <= to.len() / unit_bytes);
    if !vector::transpose(from, to, block, unit_bytes) {
        portable::transpose(from, to, block, unit_bytes);
    }
}

#[cfg(test)]
mod tests;
