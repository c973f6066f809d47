//! What a launch depends on, and numbers as a launch takes them.

use crate::call::{Limits, widest_word};
use crate::error::LowerError;

/// What a launch depends on beside the stage's shape and its way.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// What the memory's address is a multiple of, in bytes: a power of two up to 16.
    pub alignment: usize,
    /// The device.
    pub limits: &'a Limits,
}

impl At<'_> {
    /// As aligned as all of these, too.
    pub fn and(self, quantities: &[usize]) -> Self {
        At { alignment: widest_word(quantities).min(self.alignment), ..self }
    }
}

/// Bytes that small instances are stacked to in a block, word by word: 16 to 64 KB measured alike on an H200.
pub const STACK_BYTES: usize = 24 << 10;

/// `blocks` as a launch takes them.
pub fn groups(blocks: usize) -> Result<u32, LowerError> {
    if blocks <= i32::MAX as usize {
        Ok(blocks as u32)
    } else {
        Err(LowerError::TooManyBlocks { blocks })
    }
}

/// `bytes` of shared memory as a launch takes them.
pub fn shared(bytes: usize, limits: &Limits) -> Result<u32, LowerError> {
    if bytes <= limits.shared_bytes {
        Ok(bytes as u32)
    } else {
        Err(LowerError::OnChip { need: bytes, have: limits.shared_bytes })
    }
}

/// An extent as a 32-bit field.
pub fn field(extent: usize) -> Result<u32, LowerError> {
    u32::try_from(extent).map_err(|_| LowerError::NoKernel)
}

/// Bytes between rows on chip: an odd number of granules where `row_bytes` are whole granules, and
/// of 4-byte banks where not.
pub fn pitch(row_bytes: usize, granule: usize) -> usize {
    let granule = granule.max(4);
    let granules = row_bytes.div_ceil(granule);
    (granules | 1) * granule
}

/// Vectors of a micro-block's row are this long; see `kernels/micro.cuh`.
pub fn vector_bytes(word: usize) -> usize {
    if word == 1 { 8 } else { 16 }
}

/// Threads so that each holds about 200 bytes: measured best on an H200 for instances of 50 KB (256
/// threads) and 110 KB (512); 1024 threads lost 8 points on both.
pub fn threads_for(bytes: usize, most: usize) -> usize {
    (bytes / 200).next_multiple_of(32).clamp(64, most)
}
