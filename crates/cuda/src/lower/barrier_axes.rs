//! Barrier-sync of axis permutations at block scope.

use turntile_perm::AxisPermutation;

use super::fit::{Lowered, STACK_BYTES, Size, TargetParams, field, pitch, shared, threads_for};
use super::maps::{self, AxisDigit};
use crate::args::{AxesArgs, zeroed};
use crate::family::Family;

/// Bytes of shared memory by which a run may shift to keep its address modulo 16.
const SKEW: usize = 16;

/// Returns the launch in which a thread block holds one instance, or several small ones.
pub fn block(axes: &AxisPermutation, at: TargetParams) -> Lowered {
    let (word, unit) = at.words(axes.unit());
    let instances = axes.batch();
    let bytes = axes.len() / instances.max(1) * at.elem_bytes;
    // Reject instances that do not fit before counting words.
    shared(bytes, at.limits)?;
    let stacked = (STACK_BYTES / bytes.max(1)).clamp(1, instances.max(1));
    let digits = of_words(axes, unit);
    let held = Held::new(row_of(&digits, word, unit), stacked * bytes, word, at);
    let on_chip = |(extent, words): AxisDigit| (extent, held.place(words * word));
    let digits: Vec<AxisDigit> = digits.into_iter().map(on_chip).collect();
    let source = maps::axes32((&digits, 0), 1, word)?;
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

/// Returns the extents of the result's axes, from the last one on, with their strides in the source in words. The words of a
/// super-element come first.
fn of_words(axes: &AxisPermutation, unit: usize) -> Vec<AxisDigit> {
    let words = (unit > 1).then_some((unit, 1));
    let whole = maps::digits(&axes.without_unit().inverse()).into_iter();
    words.into_iter().chain(whole.map(|(extent, stride)| (extent, stride * unit))).collect()
}

/// Returns the words per write access: 16 bytes if most packs are within the result's last axis, otherwise at least 4 bytes.
fn pack(digits: &[AxisDigit], word: usize) -> usize {
    let (wide, narrow) = (16 / word, 4usize.div_ceil(word));
    let &(last, _) = digits.first().unwrap_or(&(1, 0));
    if last.is_multiple_of(wide) || last >= 2 * wide { wide } else { narrow }
}

/// Returns the stride in the source, in bytes, of the result's last axis; the words of a super-element are not an axis.
fn row_of(digits: &[AxisDigit], word: usize, unit: usize) -> usize {
    let last = digits.get(usize::from(unit > 1));
    last.map_or(unit, |&(_, words)| words) * word
}

/// Layout of instances in shared memory.
struct Held {
    /// Bytes of a contiguous run, and from one run to the next.
    row: usize,
    pitch: usize,
    /// Bytes per read; 0 to read everything as one run of any address.
    granule: usize,
    shared_bytes: usize,
}

impl Held {
    /// Creates the layout of `bytes` bytes in runs of `row` bytes. If they fit, padded runs avoid bank conflicts of reads
    /// that step from run to run.
    fn new(row: usize, bytes: usize, word: usize, at: TargetParams) -> Self {
        let granule = if word < 4 { 4 } else { 16 };
        if at.alignment < granule || !row.is_multiple_of(granule) {
            // The run keeps its address modulo 16.
            let skew = if at.alignment >= SKEW && bytes.is_multiple_of(SKEW) { 0 } else { SKEW };
            return Held { row, pitch: row, granule: 0, shared_bytes: bytes + skew };
        }
        let padded = pitch(row, granule);
        let fits = bytes / row * padded <= at.limits.shared_bytes;
        let pitch = if fits { padded } else { row };
        Held { row, pitch, granule, shared_bytes: bytes / row * pitch }
    }

    /// Returns the offset in shared memory of byte `offset`, which is a multiple of a run or in the first run.
    fn place(&self, offset: usize) -> usize {
        offset / self.row * self.pitch + offset % self.row
    }
}
