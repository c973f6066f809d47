//! Table of kernel sets, one per instruction set, and the active one.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::copy::{CopyFn, RingReadFn, RingWriteFn};
use crate::isa::*;
use crate::reverse::ReverseFn;
use crate::square_swap::SquareSwapFn;
use crate::transpose::TransposeFn;

/// Kernels for one instruction set.
#[derive(Clone, Copy, Debug)]
pub struct KernelSet {
    /// Name of the instruction set.
    pub name: &'static str,
    /// Function that returns `true` if this machine can run the set.
    pub available: fn() -> bool,
    /// Transposition kernels for words of 1, 2, 4, 8 and 16 bytes.
    words: [TransposeFn; 5],
    /// Function that copies and prefetches.
    pub(crate) copy: CopyFn,
    /// Function that copies out of a ring buffer.
    pub(crate) from_ring: RingReadFn,
    /// Function that copies into a ring buffer.
    pub(crate) into_ring: RingWriteFn,
    /// Functions that swap words in reverse order, for words of 1, 2, 4, 8 and 16 bytes.
    reversed: [ReverseFn; 5],
    /// Bytes per SIMD vector; 0 in the portable set.
    pub(crate) vector_bytes: usize,
    /// Square swaps for words of 1, 2, 4, 8 and 16 bytes; `None` in the portable set.
    squares: Option<[SquareSwapFn; 5]>,
}

impl KernelSet {
    /// Returns the transposition kernel for units of `unit_bytes` bytes, or `None` if that is not a
    /// word size.
    pub(crate) fn transpose_fn(&self, unit_bytes: usize) -> Option<TransposeFn> {
        word_log(unit_bytes).map(|log| self.words[log])
    }

    /// Returns the function that swaps units of `unit_bytes` bytes in reverse order, or `None` if
    /// that is not a word size.
    pub(crate) fn reverse_fn(&self, unit_bytes: usize) -> Option<ReverseFn> {
        word_log(unit_bytes).map(|log| self.reversed[log])
    }

    /// Returns the square swap for squares of `side` words. Returns `None` if units are not words,
    /// if rows are not whole vectors, or for the portable set.
    pub(crate) fn squares_of(&self, side: usize, unit_bytes: usize) -> Option<SquareSwapFn> {
        let log = word_log(unit_bytes)?;
        let squares = self.squares?;
        (side * unit_bytes).is_multiple_of(self.vector_bytes).then_some(squares[log])
    }
}

/// Returns `true` if units of `unit_bytes` bytes are words, of 1, 2, 4, 8 or 16 bytes, which have
/// SIMD kernels.
pub fn is_word(unit_bytes: usize) -> bool {
    word_log(unit_bytes).is_some()
}

/// Returns log2 of the unit size, or `None` if that is not a word size (1, 2, 4, 8 or 16 bytes).
fn word_log(unit_bytes: usize) -> Option<usize> {
    let log = unit_bytes.trailing_zeros() as usize;
    (unit_bytes.is_power_of_two() && log < 5).then_some(log)
}

macro_rules! kernel {
    ($name:literal, $set:ident, $available:expr) => {
        kernel!($name, $set, $available, Some(kernel!(@words $set::squares)))
    };
    ($name:literal, $set:ident, $available:expr, $squares:expr) => {
        KernelSet {
            name: $name,
            available: || $available,
            words: kernel!(@words $set::words),
            copy: $set::copy,
            from_ring: $set::from_ring,
            into_ring: $set::into_ring,
            reversed: kernel!(@words $set::reversed),
            vector_bytes: $set::BYTES,
            squares: $squares,
        }
    };
    (@words $set:ident::$function:ident) => {
        [
            $set::$function::<1>,
            $set::$function::<2>,
            $set::$function::<4>,
            $set::$function::<8>,
            $set::$function::<16>,
        ]
    };
}

/// All kernel sets of this build, widest vectors first. The last one runs on any machine.
pub static KERNELS: &[KernelSet] = &[
    #[cfg(target_arch = "x86_64")]
    kernel!(
        "avx512",
        avx512,
        is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx2")
    ),
    #[cfg(target_arch = "x86_64")]
    kernel!("avx2", avx2, is_x86_feature_detected!("avx2")),
    #[cfg(target_arch = "x86_64")]
    kernel!("sse2", lane, true),
    #[cfg(target_arch = "aarch64")]
    kernel!("neon", lane, true),
    kernel!("portable", portable, true, None),
];

/// Index of the active kernel set plus 1; 0 before the first use.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// Returns the active kernel set.
#[inline]
pub fn active() -> &'static KernelSet {
    match IN_USE.load(Ordering::Relaxed) {
        0 => detect(),
        row => &KERNELS[row - 1],
    }
}

#[cold]
fn detect() -> &'static KernelSet {
    let best = best();
    IN_USE.store(best + 1, Ordering::Relaxed);
    &KERNELS[best]
}

/// Returns the index of the first kernel set that this machine can run. Under Miri, returns the
/// last, which never loads bytes into integers.
pub(crate) fn best() -> usize {
    if cfg!(miri) {
        return KERNELS.len() - 1;
    }
    let best = KERNELS.iter().position(|kernel| (kernel.available)());
    best.expect("the last kernel set runs on any machine")
}

/// Selects the kernel set called `name` for the whole process. Returns `false`, with nothing
/// changed, if there is no such set or this machine cannot run it.
pub fn force(name: &str) -> bool {
    let row = KERNELS.iter().position(|kernel| kernel.name == name && (kernel.available)());
    if let Some(row) = row {
        IN_USE.store(row + 1, Ordering::Relaxed);
    }
    row.is_some()
}
