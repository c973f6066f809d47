//! Choice between one pass over an array in storage, and two through scratch storage if the memory
//! for blocks is too small for long contiguous runs.

use crate::stored::blocks::BlockTiling;
use crate::stored::job::{CopyAxis, StridedCopy, dense};

/// Cost of starting a contiguous run, as the number of bytes that storage could transfer in that
/// time.
const RUN_START_BYTES: f64 = 4096.0;

/// Maximum memory for blocks, in bytes, with which only one block of the array is in memory at a
/// time. With more, two are: while one is written, threads read the next. Starting and joining a
/// thread costs as much as reading some 100 KB, and many times that on a busy machine. For small
/// blocks the storage's own prefetching suffices, and a single block of twice the size has longer
/// runs.
const MAX_SINGLE_BLOCK: u64 = 1 << 23;

/// Maximum bytes of scratch storage, which fit in the system's page cache. After the second pass
/// has read a part from the scratch, the next part overwrites it before the system writes it to
/// disk.
const MAX_SCRATCH: u64 = 1 << 28;

/// Maximum number of parts of an array that go through scratch storage, to bound the list of
/// passes. For arrays of more than 35 TB, parts exceed [`MAX_SCRATCH`].
const MAX_PARTS: u64 = 1 << 17;

/// Memory for blocks.
#[derive(Clone, Copy, Debug)]
pub struct BlockMemory {
    /// Bytes.
    pub bytes: u64,
    /// `true` if another thread may read the next block while one is permuted and written.
    pub ahead: bool,
}

/// Storage that a pass reads and storage that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassKind {
    /// Pass from the source to the result.
    Direct,
    /// Pass from the source to the scratch.
    ToScratch,
    /// Pass from the scratch to the result.
    FromScratch,
}

/// Pass of an out-of-core plan: a strided copy and its division into blocks.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Storage that the pass reads and storage that it writes.
    pub kind: PassKind,
    /// Copy to perform.
    pub job: StridedCopy,
    /// Blocks of the copy.
    pub blocks: BlockTiling,
    /// `true` if the next block is read while one is permuted and written.
    pub ahead: bool,
}

impl Pass {
    fn new(kind: PassKind, job: StridedCopy, memory: BlockMemory) -> Self {
        let BlockMemory { bytes, ahead } = memory;
        let ahead = ahead && job.bytes() > bytes && bytes > MAX_SINGLE_BLOCK;
        let blocks = BlockTiling::of(&job, if ahead { bytes / 2 } else { bytes });
        Pass { kind, job, blocks, ahead }
    }

    /// Returns the bytes of memory for one block, or for two if the next is read ahead.
    pub fn buffer_bytes(&self) -> u64 {
        if self.ahead { 2 * self.blocks.bytes } else { self.blocks.bytes }
    }
}

/// Returns the cheapest passes that perform `job` with `memory` for blocks, in order.
pub fn passes(job: StridedCopy, memory: BlockMemory) -> Vec<Pass> {
    let last = job.axes.last().map_or(1, |axis| axis.extent);
    let widths = (0..63).map(|k| 1 << k).take_while(|&width| width < last);
    let two = widths.map(|width| by_panels(&job, width, memory, MAX_SCRATCH));
    let one = vec![one(&job, memory)];
    // Prefer one pass at equal cost.
    two.fold(one, |best, two| if cost(&two) < cost(&best) { two } else { best })
}

/// Returns the pass that performs all of `job`, from the source to the result.
pub fn one(job: &StridedCopy, memory: BlockMemory) -> Pass {
    Pass::new(PassKind::Direct, job.clone(), memory)
}

/// Returns the cost of `passes` in bytes: the bytes read and written, plus the cost of starting
/// runs.
fn cost(passes: &[Pass]) -> f64 {
    let of = |Pass { job, blocks, .. }: &Pass| {
        let factor = |run: u64| 1.0 + RUN_START_BYTES / run as f64;
        job.bytes() as f64 * (factor(blocks.run_from) + factor(blocks.run_to))
    };
    passes.iter().map(of).sum()
}

/// Returns two passes for each part of the data. The first writes panels of `width` columns, along
/// the innermost source axis, to scratch storage: in result order, but with a panel's columns
/// innermost. The second moves these columns to their positions in the result.
///
/// Columns that do not fill a panel form a narrower one. A part has the panels that fit in
/// `scratch` bytes, in whole blocks, but at least those of one block, and at least those that limit
/// the parts to `MAX_PARTS`.
pub fn by_panels(job: &StridedCopy, width: u64, memory: BlockMemory, scratch: u64) -> Vec<Pass> {
    let last = *job.axes.last().expect("the copy has an axis");
    let panel_count = last.extent / width;
    let part = |first: u64, panels: u64, width: u64| {
        let mut axes = job.axes[..job.axes.len() - 1].to_vec();
        axes.push(CopyAxis {
            extent: panels,
            from: width * last.from,
            to: width * last.to,
            ..last
        });
        axes.push(CopyAxis { extent: width, ..last });
        let (source, dest) = (
            job.source + first * last.from,
            job.dest + last.first_after(first, panels * width) * last.to,
        );
        through_scratch(&StridedCopy { source, dest, axes, ..*job })
    };
    let each = if panel_count > 0 {
        let [all, _] = part(0, panel_count, width);
        let blocks = BlockTiling::of(&all, memory.bytes);
        let read = panels_read(&blocks, &all, &last, width).clamp(1, panel_count);
        match scratch / (all.bytes() / panel_count) {
            room if room >= panel_count => panel_count,
            // Round the panels down to whole blocks, at least one.
            room => (room / read).max(1) * read,
        }
    } else {
        1
    };
    let each = each.max(panel_count.div_ceil(MAX_PARTS));
    let panels = (0..panel_count).step_by(each as usize);
    let parts = panels.map(|first| (first * width, each.min(panel_count - first), width));
    let rest = (panel_count * width, 1, last.extent % width);
    parts
        .chain((rest.2 > 0).then_some(rest))
        .flat_map(|(first, panels, width)| {
            let [to_scratch, from_scratch] = part(first, panels, width);
            [
                Pass::new(PassKind::ToScratch, to_scratch, memory),
                Pass::new(PassKind::FromScratch, from_scratch, memory),
            ]
        })
        .collect()
}

/// Returns the number of panels that a full block spans.
fn panels_read(blocks: &BlockTiling, job: &StridedCopy, last: &CopyAxis, width: u64) -> u64 {
    let axes = job.axes.iter().zip(&blocks.extents);
    let panels = axes.filter(|(axis, _)| axis.from == width * last.from).map(|(_, &extent)| extent);
    panels.max().unwrap_or(1)
}

/// Returns the copies of a part to and from scratch storage, where its axes are in result order,
/// except that its last axis is innermost.
fn through_scratch(part: &StridedCopy) -> [StridedCopy; 2] {
    let last = part.axes.len() - 1;
    let mut between: Vec<usize> = part.order();
    between.retain(|&k| k != last);
    between.push(last);
    let extents: Vec<u64> = between.iter().map(|&k| part.axes[k].extent).collect();
    let pitches = dense(&extents, part.elem_bytes);
    let mut to_scratch = StridedCopy { dest: 0, ..part.clone() };
    for (&k, &pitch) in between.iter().zip(&pitches) {
        // The second copy reverses.
        to_scratch.axes[k] = CopyAxis { to: pitch, reversed: false, ..to_scratch.axes[k] };
    }
    let axis = |(&k, &pitch): (&usize, &u64)| CopyAxis { from: pitch, ..part.axes[k] };
    let axes = between.iter().zip(&pitches).map(axis).collect();
    let from_scratch = StridedCopy { source: 0, axes, ..part.clone() };
    [to_scratch.fused(), from_scratch.fused()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::job::unreversed;

    #[test]
    fn two_passes_are_chosen_when_memory_is_small() {
        let of = |bytes| BlockMemory { bytes, ahead: true };
        let job = || unreversed(&[100_003, 99_991], &[1, 0], 4);
        for (memory, kinds) in [
            (1 << 30, &[PassKind::Direct][..]),
            (8 << 20, &[PassKind::Direct]),
            (
                1 << 19,
                &[
                    PassKind::ToScratch,
                    PassKind::FromScratch,
                    PassKind::ToScratch,
                    PassKind::FromScratch,
                ],
            ),
        ] {
            let passes = passes(job(), of(memory));
            let got: Vec<PassKind> =
                passes.iter().map(|pass| pass.kind).take(kinds.len()).collect();
            assert_eq!(got, kinds, "{memory}");
            for pass in &passes {
                assert!(pass.buffer_bytes() <= memory);
            }
        }
        // A single reader's block has all the memory.
        for ahead in [true, false] {
            let pass = one(&job(), BlockMemory { bytes: 16 << 20, ahead });
            assert_eq!(pass.ahead, ahead);
            assert!(pass.buffer_bytes() > 15 << 20 && pass.buffer_bytes() <= 16 << 20);
        }
        // The list of passes has a bounded length for any size.
        let huge = passes(unreversed(&[2_147_483_647, 548_101_761], &[1, 0], 1), of(0));
        assert!(huge.len() <= 2 * MAX_PARTS as usize + 2, "{}", huge.len());
        // An array that fits in memory takes one pass, even with short runs.
        assert_eq!(passes(unreversed(&[3, 5], &[1, 0], 4), of(60)).len(), 1);
    }
}
