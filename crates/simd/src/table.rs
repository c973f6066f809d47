//! The table of micro-kernels, a row for each instruction set, and the row in use.

use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::copy::copy_lane;
use crate::copy::{Copy, copy_plain};
#[cfg(target_arch = "x86_64")]
use crate::copy::{copy_avx2, copy_avx512};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::exchange::squares_lane;
use crate::exchange::{Exchange, no_squares};
#[cfg(target_arch = "x86_64")]
use crate::exchange::{squares_avx2, squares_avx512};
use crate::ring::{FromRing, IntoRing, from_plain, into_plain};
#[cfg(target_arch = "x86_64")]
use crate::ring::{from_avx2, from_avx512, into_avx2, into_avx512};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::ring::{from_lane, into_lane};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::vector::narrow;
use crate::vector::{Words, plain};
#[cfg(target_arch = "x86_64")]
use crate::vector::{avx2, avx512};

/// A micro-kernel: one way to transpose blocks of words.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its name: the instruction set.
    pub name: &'static str,
    /// Whether this machine can run it.
    pub available: fn() -> bool,
    /// For words of 1, 2, 4, 8 and 16 bytes.
    words: [Words; 5],
    /// Runs of bytes.
    pub(crate) copy: Copy,
    /// Lines out of a ring.
    pub(crate) from_ring: FromRing,
    /// Lines into a ring.
    pub(crate) into_ring: IntoRing,
    /// Bytes of a vector, 0 without vectors.
    pub(crate) vector_bytes: usize,
    /// Two squares of words change places, for words of 1, 2, 4, 8 and 16 bytes.
    squares: [Exchange; 5],
}

impl Kernel {
    /// For units that are words.
    pub(crate) fn of(&self, unit_bytes: usize) -> Option<Words> {
        word_log(unit_bytes).map(|log| self.words[log])
    }

    /// For squares of `side` units that are words, whose rows are whole vectors.
    pub(crate) fn squares_of(&self, side: usize, unit_bytes: usize) -> Option<Exchange> {
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

macro_rules! rows {
    ($kernel:ident) => {
        [$kernel::<1>, $kernel::<2>, $kernel::<4>, $kernel::<8>, $kernel::<16>]
    };
}

/// Every micro-kernel that this build has, widest first; the last runs anywhere.
#[cfg(target_arch = "x86_64")]
pub static KERNELS: &[Kernel] = &[
    Kernel {
        name: "avx512",
        available: || is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx2"),
        words: rows!(avx512),
        copy: copy_avx512,
        from_ring: from_avx512,
        into_ring: into_avx512,
        vector_bytes: 64,
        squares: rows!(squares_avx512),
    },
    Kernel {
        name: "avx2",
        available: || is_x86_feature_detected!("avx2"),
        words: rows!(avx2),
        copy: copy_avx2,
        from_ring: from_avx2,
        into_ring: into_avx2,
        vector_bytes: 32,
        squares: rows!(squares_avx2),
    },
    Kernel {
        name: "sse2",
        available: || true,
        words: rows!(narrow),
        copy: copy_lane,
        from_ring: from_lane,
        into_ring: into_lane,
        vector_bytes: 16,
        squares: rows!(squares_lane),
    },
    PORTABLE,
];

/// Every micro-kernel that this build has, widest first; the last runs anywhere.
#[cfg(target_arch = "aarch64")]
pub static KERNELS: &[Kernel] = &[
    Kernel {
        name: "neon",
        available: || true,
        words: rows!(narrow),
        copy: copy_lane,
        from_ring: from_lane,
        into_ring: into_lane,
        vector_bytes: 16,
        squares: rows!(squares_lane),
    },
    PORTABLE,
];

/// Every micro-kernel that this build has: the one that runs anywhere.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub static KERNELS: &[Kernel] = &[PORTABLE];

const PORTABLE: Kernel = Kernel {
    name: "portable",
    available: || true,
    words: rows!(plain),
    copy: copy_plain,
    from_ring: from_plain,
    into_ring: into_plain,
    vector_bytes: 0,
    squares: rows!(no_squares),
};

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
    let best = best();
    IN_USE.store(best + 1, Ordering::Relaxed);
    &KERNELS[best]
}

/// The number of the first row that this machine can run.
pub(crate) fn best() -> usize {
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
