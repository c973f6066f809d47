//! The table of micro-kernels, a row for each instruction set, and the row in use.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::copy::{CopyFn, RingReadFn, RingWriteFn};
use crate::isa::*;
use crate::square_swap::SquareSwapFn;
use crate::transpose::TransposeFn;

/// A micro-kernel: one way to transpose blocks of words.
#[derive(Clone, Copy, Debug)]
pub struct KernelSet {
    /// Its name: the instruction set.
    pub name: &'static str,
    /// Whether this machine can run it.
    pub available: fn() -> bool,
    /// For words of 1, 2, 4, 8 and 16 bytes.
    words: [TransposeFn; 5],
    /// Runs of bytes.
    pub(crate) copy: CopyFn,
    /// Lines out of a ring.
    pub(crate) from_ring: RingReadFn,
    /// Lines into a ring.
    pub(crate) into_ring: RingWriteFn,
    /// Bytes of a vector, 0 without vectors.
    pub(crate) vector_bytes: usize,
    /// Two squares of words change places, for words of 1, 2, 4, 8 and 16 bytes.
    squares: [SquareSwapFn; 5],
}

impl KernelSet {
    /// For units that are words.
    pub(crate) fn of(&self, unit_bytes: usize) -> Option<TransposeFn> {
        word_log(unit_bytes).map(|log| self.words[log])
    }

    /// For squares of `side` units that are words, whose rows are whole vectors.
    pub(crate) fn squares_of(&self, side: usize, unit_bytes: usize) -> Option<SquareSwapFn> {
        let log = word_log(unit_bytes)?;
        let whole = self.vector_bytes > 0 && (side * unit_bytes).is_multiple_of(self.vector_bytes);
        whole.then_some(self.squares[log])
    }
}

/// Which of the words of 1, 2, 4, 8 and 16 bytes a unit is.
fn word_log(unit_bytes: usize) -> Option<usize> {
    let log = unit_bytes.trailing_zeros() as usize;
    (unit_bytes.is_power_of_two() && log < 5).then_some(log)
}

macro_rules! kernel {
    ($name:literal, $set:ident, $available:expr) => {
        KernelSet {
            name: $name,
            available: || $available,
            words: kernel!(@words $set::words),
            copy: $set::copy,
            from_ring: $set::from_ring,
            into_ring: $set::into_ring,
            vector_bytes: $set::BYTES,
            squares: kernel!(@words $set::squares),
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

/// Every micro-kernel that this build has, widest first; the last runs anywhere.
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
    active!("neon", lane, true),
    kernel!("portable", portable, true),
];

/// One more than the row in use, 0 before anybody asked.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// The micro-kernel in use.
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

/// Returns the number of the first row that this machine can run; under Miri of the last, whose words need not be
/// initialised.
pub(crate) fn best() -> usize {
    if cfg!(miri) {
        return KERNELS.len() - 1;
    }
    let best = KERNELS.iter().position(|kernel| (kernel.available)());
    best.expect("the last row runs anywhere")
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
