//! SIMD vectors as lanes of 16 bytes: loads, stores and interleaving for each instruction set.
#![allow(unsafe_code)]

use crate::block::Byte;

/// SIMD vector type of one lane, which every machine of the architecture has.
#[cfg(target_arch = "x86_64")]
pub type Lane = std::arch::x86_64::__m128i;
#[cfg(target_arch = "aarch64")]
pub type Lane = std::arch::aarch64::uint8x16_t;

/// SIMD vector of one or more lanes of 16 bytes.
///
/// # Safety
/// The machine must have the instructions of every method called. Call methods inside a function
/// with the target features, into which they are inlined. Loads and stores need no alignment.
pub unsafe trait Vector: Copy {
    /// Number of lanes.
    const LANES: usize;
    /// Loads lane `q` from the 16 bytes at `from + q · stride`, modulo 2^64.
    unsafe fn load(from: *const Byte, stride: usize) -> Self;
    /// Loads all lanes from consecutive bytes.
    unsafe fn load_all(from: *const Byte) -> Self;
    /// Stores all lanes to consecutive bytes.
    unsafe fn store(self, to: *mut Byte);
    /// Interleaves the `W`-byte words of the lower half of each lane with those of `other`.
    unsafe fn low<const W: usize>(self, other: Self) -> Self;
    /// Interleaves the `W`-byte words of the upper half of each lane with those of `other`.
    unsafe fn high<const W: usize>(self, other: Self) -> Self;

    /// Returns the columns of the micro-tile of `W`-byte words at `from`, whose rows are `pitch`
    /// bytes apart, modulo 2^64.
    #[inline(always)]
    unsafe fn columns<const W: usize>(from: *const Byte, pitch: usize) -> [Self; 16] {
        let b = 16 / W;
        // Registers from index `b` on are unused copies; the compiler removes them.
        // SAFETY: rows k, k + B, ... of the micro-tile; the caller guarantees the target features.
        unsafe {
            Self::interleave::<W>(std::array::from_fn(|k| {
                let row = from.wrapping_add(k.min(b - 1).wrapping_mul(pitch));
                Self::load(row, pitch.wrapping_mul(b))
            }))
        }
    }

    /// Transposes the first `16 / W` registers as matrices of words, one matrix per lane.
    #[inline(always)]
    unsafe fn interleave<const W: usize>(rows: [Self; 16]) -> [Self; 16] {
        let b = 16 / W;
        let mut all = rows;
        for _ in 0..b.trailing_zeros() {
            let before = all;
            for k in 0..b / 2 {
                // SAFETY: the caller guarantees the target features.
                unsafe {
                    all[2 * k] = before[k].low::<W>(before[k + b / 2]);
                    all[2 * k + 1] = before[k].high::<W>(before[k + b / 2]);
                }
            }
        }
        all
    }
}

/// SIMD vector with arbitrary byte shuffles within each lane, which SSE2 does not have.
///
/// # Safety
/// The requirements of [`Vector`].
pub unsafe trait Shuffle: Vector {
    /// Returns a vector with `lane` in every lane.
    unsafe fn splat(lane: &[u8; 16]) -> Self;
    /// Moves byte `mask[b]` of each lane to byte `b`; writes zero if `mask[b]` is 128.
    unsafe fn shuffle(self, mask: Self) -> Self;
    /// Returns the bitwise OR of two vectors.
    unsafe fn or(self, other: Self) -> Self;
    /// Stores lane `q` to the 16 bytes at `to + q · stride`.
    unsafe fn store_lanes(self, to: *mut Byte, stride: usize);
}

/// SIMD vector with arbitrary permutations of the words of two vectors.
///
/// # Safety
/// The requirements of [`Vector`].
#[cfg(target_arch = "x86_64")]
pub unsafe trait Permute: Vector {
    /// Moves word `index[k]` of `self`, followed by `other`, to word `k`. Indices are words of `W`
    /// bytes, 4 or 8.
    unsafe fn permute<const W: usize>(self, index: Self, other: Self) -> Self;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Byte, Permute, Shuffle, Vector};
    use std::arch::x86_64::*;

    macro_rules! vector {
        ($vector:ty, $lanes:literal, $load:expr, $load_all:expr, $store:expr, $low:tt, $high:tt) => {
            // SAFETY: plain loads, stores and shuffles.
            unsafe impl Vector for $vector {
                const LANES: usize = $lanes;
                #[inline(always)]
                unsafe fn load(from: *const Byte, stride: usize) -> Self {
                    // SAFETY: the caller guarantees the bytes and the target features.
                    unsafe { $load(from, stride) }
                }
                #[inline(always)]
                unsafe fn load_all(from: *const Byte) -> Self {
                    // SAFETY: the caller guarantees the bytes and the target features.
                    unsafe { $load_all(from.cast()) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut Byte) {
                    // SAFETY: the caller guarantees the bytes and the target features.
                    unsafe { $store(to.cast(), self) }
                }
                #[inline(always)]
                unsafe fn low<const W: usize>(self, other: Self) -> Self {
                    // SAFETY: the caller guarantees the target features.
                    unsafe { vector!(@words $low, self, other) }
                }
                #[inline(always)]
                unsafe fn high<const W: usize>(self, other: Self) -> Self {
                    // SAFETY: the caller guarantees the target features.
                    unsafe { vector!(@words $high, self, other) }
                }
            }
        };
        (@words [$w1:ident, $w2:ident, $w4:ident, $w8:ident], $a:expr, $b:expr) => {
            match W {
                1 => $w1($a, $b),
                2 => $w2($a, $b),
                4 => $w4($a, $b),
                _ => $w8($a, $b),
            }
        };
    }

    #[inline(always)]
    unsafe fn lane(at: *const Byte) -> __m128i {
        // SAFETY: the caller guarantees 16 bytes.
        unsafe { _mm_loadu_si128(at.cast()) }
    }

    vector!(
        __m128i,
        1,
        |from, _| lane(from),
        _mm_loadu_si128,
        _mm_storeu_si128,
        [_mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm_unpacklo_epi32, _mm_unpacklo_epi64],
        [_mm_unpackhi_epi8, _mm_unpackhi_epi16, _mm_unpackhi_epi32, _mm_unpackhi_epi64]
    );
    vector!(
        __m256i,
        2,
        |from: *const Byte, stride| {
            let first = _mm256_castsi128_si256(lane(from));
            _mm256_inserti128_si256::<1>(first, lane(from.wrapping_add(stride)))
        },
        _mm256_loadu_si256,
        _mm256_storeu_si256,
        [_mm256_unpacklo_epi8, _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64],
        [_mm256_unpackhi_epi8, _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64]
    );
    vector!(
        __m512i,
        4,
        |from: *const Byte, stride: usize| {
            let first = _mm512_castsi128_si512(lane(from));
            let row = |q: usize| lane(from.wrapping_add(stride.wrapping_mul(q)));
            let second = _mm512_inserti32x4::<1>(first, row(1));
            let third = _mm512_inserti32x4::<2>(second, row(2));
            _mm512_inserti32x4::<3>(third, row(3))
        },
        _mm512_loadu_si512,
        _mm512_storeu_si512,
        [_mm512_unpacklo_epi8, _mm512_unpacklo_epi16, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64],
        [_mm512_unpackhi_epi8, _mm512_unpackhi_epi16, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64]
    );

    macro_rules! shuffle {
        ($vector:ty, $splat:ident, $shuffle:ident, $or:ident, $first:ident, $lane:ident: $($q:literal)+) => {
            // SAFETY: plain shuffles and stores.
            unsafe impl Shuffle for $vector {
                #[inline(always)]
                unsafe fn splat(lane: &[u8; 16]) -> Self {
                    // SAFETY: the caller guarantees the target features; 16 bytes are read.
                    unsafe { $splat(_mm_loadu_si128(lane.as_ptr().cast())) }
                }
                #[inline(always)]
                unsafe fn shuffle(self, mask: Self) -> Self {
                    // SAFETY: the caller guarantees the target features.
                    unsafe { $shuffle(self, mask) }
                }
                #[inline(always)]
                unsafe fn or(self, other: Self) -> Self {
                    // SAFETY: the caller guarantees the target features.
                    unsafe { $or(self, other) }
                }
                #[inline(always)]
                unsafe fn store_lanes(self, to: *mut Byte, stride: usize) {
                    // SAFETY: the caller guarantees the bytes and the target features.
                    unsafe {
                        _mm_storeu_si128(to.cast(), $first(self));
                        $(_mm_storeu_si128(to.add($q * stride).cast(), $lane::<$q>(self));)+
                    }
                }
            }
        };
    }

    shuffle!(
        __m256i,
        _mm256_broadcastsi128_si256,
        _mm256_shuffle_epi8,
        _mm256_or_si256,
        _mm256_castsi256_si128,
        _mm256_extracti128_si256: 1
    );
    shuffle!(
        __m512i,
        _mm512_broadcast_i32x4,
        _mm512_shuffle_epi8,
        _mm512_or_si512,
        _mm512_castsi512_si128,
        _mm512_extracti32x4_epi32: 1 2 3
    );

    // SAFETY: plain permutations.
    unsafe impl Permute for __m512i {
        #[inline(always)]
        unsafe fn permute<const W: usize>(self, index: Self, other: Self) -> Self {
            // SAFETY: the caller guarantees the target features.
            unsafe {
                match W {
                    4 => _mm512_permutex2var_epi32(self, index, other),
                    _ => _mm512_permutex2var_epi64(self, index, other),
                }
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::{Byte, Shuffle, Vector};
    use std::arch::aarch64::*;

    macro_rules! words {
        ($a:expr, $b:expr, $w1:ident, $w2:ident, $w4:ident, $w8:ident) => {{
            let (a, b) = ($a, $b);
            // SAFETY: every machine of the architecture has NEON.
            unsafe {
                match W {
                    1 => $w1(a, b),
                    2 => {
                        vreinterpretq_u8_u16($w2(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)))
                    }
                    4 => {
                        vreinterpretq_u8_u32($w4(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)))
                    }
                    _ => {
                        vreinterpretq_u8_u64($w8(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)))
                    }
                }
            }
        }};
    }

    // SAFETY: plain loads, stores and shuffles.
    unsafe impl Vector for uint8x16_t {
        const LANES: usize = 1;
        #[inline(always)]
        unsafe fn load(from: *const Byte, _: usize) -> Self {
            // SAFETY: the caller guarantees 16 bytes.
            unsafe { vld1q_u8(from.cast()) }
        }
        #[inline(always)]
        unsafe fn load_all(from: *const Byte) -> Self {
            // SAFETY: the caller guarantees the bytes and the target features.
            unsafe { vld1q_u8(from.cast()) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut Byte) {
            // SAFETY: the caller guarantees the bytes and the target features.
            unsafe { vst1q_u8(to.cast(), self) }
        }
        #[inline(always)]
        unsafe fn low<const W: usize>(self, other: Self) -> Self {
            words!(self, other, vzip1q_u8, vzip1q_u16, vzip1q_u32, vzip1q_u64)
        }
        #[inline(always)]
        unsafe fn high<const W: usize>(self, other: Self) -> Self {
            words!(self, other, vzip2q_u8, vzip2q_u16, vzip2q_u32, vzip2q_u64)
        }
    }

    // SAFETY: plain shuffles and stores.
    unsafe impl Shuffle for uint8x16_t {
        #[inline(always)]
        unsafe fn splat(lane: &[u8; 16]) -> Self {
            // SAFETY: 16 bytes are read.
            unsafe { vld1q_u8(lane.as_ptr()) }
        }
        #[inline(always)]
        unsafe fn shuffle(self, mask: Self) -> Self {
            // SAFETY: every machine of the architecture has NEON.
            unsafe { vqtbl1q_u8(self, mask) }
        }
        #[inline(always)]
        unsafe fn or(self, other: Self) -> Self {
            // SAFETY: every machine of the architecture has NEON.
            unsafe { vorrq_u8(self, other) }
        }
        #[inline(always)]
        unsafe fn store_lanes(self, to: *mut Byte, _: usize) {
            // SAFETY: the caller guarantees the bytes.
            unsafe { self.store(to) }
        }
    }
}
