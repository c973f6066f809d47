//! Barrier-sync at block scope, axes in any order.

use turntile_perm::AxisPermutation;

use super::fit::{Lowered, STACK_BYTES, Size, TargetParams, field, pitch, shared, threads_for};
use super::maps::{self, AxisDigit};
use crate::args::{AxesArgs, zeroed};
use crate::family::Family;

/// Bytes that addresses within runs of whole words stray from a multiple of.
const SKEW: usize = 16;

/// A block holds a whole instance, or several small ones.
pub fn block(axes: &AxisPermutation, at: TargetParams) -> Lowered {
    let (word, unit) = at.words(axes.unit());
    let instances = axes.batch();
    let bytes = axes.len() / instances.max(1) * at.elem_bytes;
    // More than a block holds need not be counted in words.
    shared(bytes, at.limits)?;
    let stacked = (STACK_BYTES / bytes.max(1)).clamp(1, instances.max(1));
    let digits = of_words(axes, unit);
    let held = Held::new(row_of(&digits, word, unit), stacked * bytes, word, at);
    let on_chip = |(extent, words): AxisDigit| (extent, held.place(words * word));
    let digits: Vec<AxisDigit> = digits.into_iter().map(on_chip).collect();
    let source = maps::axes32(&digits, 1, word)?;
    let size = Size {
        blocks: instances.div_ceil(stacked),
        threads: threads_for(stacked * bytes, 1024),
        shared_bytes: held.shared_bytes,
    };
    let launch = at.launch((Family::BarrierAxes, word, "barrier_axes"), size)?;
    Ok(launch.with(AxesArgs {
        instances: instances as u64,
        instance_bytes: bytes as u64,
        words: field(bytes / word)?,
        stacked: field(stacked)?,
        row: field(held.row)?,
        pitch: field(held.pitch)?,
        granule: held.granule as u32,
        pack: pack(&digits, word) as u32,
        source,
        ..zeroed()
    }))
}

/// The axes of the result from the last one on, words of a super-element before all, each with the words that it counts
/// in the source.
fn of_words(axes: &AxisPermutation, unit: usize) -> Vec<AxisDigit> {
    let words = (unit > 1).then_some((unit, 1));
    let whole = maps::digits(&axes.without_unit().inverse()).into_iter();
    words.into_iter().chain(whole.map(|(extent, stride)| (extent, stride * unit))).collect()
}

/// Words that a thread writes at a time: 16 bytes where most packs lie within the result's last axis.
fn pack(digits: &[AxisDigit], word: usize) -> usize {
    let (wide, narrow) = (16 / word, 4usize.div_ceil(word));
    let &(last, _) = digits.first().unwrap_or(&(1, 0));
    if last.is_multiple_of(wide) || last >= 2 * wide { wide } else { narrow }
}

/// Bytes that the result's last axis steps over, beside a super-element's words.
fn row_of(digits: &[AxisDigit], word: usize, unit: usize) -> usize {
    let last = digits.get(usize::from(unit > 1));
    last.map_or(unit, |&(_, words)| words) * word
}

/// How instances lie on chip.
struct Held {
    /// Bytes that lie together, and from one such run to the next.
    row: usize,
    pitch: usize,
    /// Bytes that they are read by; 0 for one run whatever its address.
    granule: usize,
    shared_bytes: usize,
}

impl Held {
    /// `bytes` bytes in runs of `row`, so that reading along what steps over them meets no bank twice where there is
    /// room to pad them.
    fn new(row: usize, bytes: usize, word: usize, at: TargetParams) -> Self {
        let granule = if word < 4 { 4 } else { 16 };
        if at.alignment < granule || !row.is_multiple_of(granule) {
            // The run begins where its address stands to 16.
            let skew = if at.alignment >= SKEW && bytes.is_multiple_of(SKEW) { 0 } else { SKEW };
            return Held { row, pitch: row, granule: 0, shared_bytes: bytes + skew };
        }
        let padded = pitch(row, granule);
        let fits = bytes / row * padded <= at.limits.shared_bytes;
        let pitch = if fits { padded } else { row };
        Held { row, pitch, granule, shared_bytes: bytes / row * pitch }
    }

    /// Where on chip the byte at `offset` of the instances lies, a multiple of a run or within the first.
    fn place(&self, offset: usize) -> usize {
        offset / self.row * self.pitch + offset % self.row
    }
}
