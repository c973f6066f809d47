//! One pass over the data, or two where the memory is so small that the runs of one would be short.

use crate::stored::blocks::BlockTiling;
use crate::stored::job::{CopyAxis, StridedCopy, dense};

/// Bytes that storage moves as easily as one: beginning a run costs as much as so many.
const BEGIN: f64 = 4096.0;

/// Memory in which blocks are moved one after the other. In more there are two: while one is written, threads read the next.
/// To begin and to await a thread takes as long as to read some hundred thousand bytes, and many times that on a busy
/// machine; of a small block storage fetches the next one by itself, and one that is twice as large has longer runs.
const ALONE: u64 = 1 << 23;

/// Bytes of scratch that are no more than the system keeps in memory, and gives back without writing them: what the
/// second pass has read the next part is written over.
const SCRATCH: u64 = 1 << 28;

/// Parts that go through the scratch one after the other at most, since each is listed: of more than 34 TB, parts are larger
/// than [`SCRATCH`].
const MOST_PARTS: u64 = 1 << 17;

/// From where to where a job moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassKind {
    /// From the source into the result.
    Whole,
    /// From the source into the scratch.
    Out,
    /// From the scratch into the result.
    Home,
}

/// A job with the blocks that it is cut into.
#[derive(Clone, Debug)]
pub struct Pass {
    /// From where to where.
    pub leg: PassKind,
    /// What is moved.
    pub job: StridedCopy,
    /// In which parts.
    pub blocks: BlockTiling,
    /// Whether a block is read while the one before it is written.
    pub ahead: bool,
}

impl Pass {
    fn new(leg: PassKind, job: StridedCopy, memory: u64) -> Self {
        let ahead = job.bytes() > memory && memory > ALONE;
        let blocks = BlockTiling::of(&job, if ahead { memory / 2 } else { memory });
        Pass { leg, job, blocks, ahead }
    }

    /// Bytes of memory for its blocks.
    pub fn buffer_bytes(&self) -> u64 {
        if self.ahead { 2 * self.blocks.bytes } else { self.blocks.bytes }
    }
}

/// The cheapest passes of a job in so much memory, in order.
pub fn passes(job: StridedCopy, memory: u64) -> Vec<Pass> {
    let last = job.axes.last().map_or(1, |axis| axis.extent);
    let widths = (0..63).map(|k| 1 << k).take_while(|&width| width < last);
    let two = widths.map(|width| by_panels(&job, width, memory, SCRATCH));
    let one = vec![one(&job, memory)];
    // One where it costs no more.
    two.fold(one, |best, two| if cost(&two) < cost(&best) { two } else { best })
}

/// In one pass.
pub fn one(job: &StridedCopy, memory: u64) -> Pass {
    Pass::new(PassKind::Whole, job.clone(), memory)
}

/// Bytes read and written, and as many more as the runs take to begin.
fn cost(passes: &[Pass]) -> f64 {
    let of = |Pass { job, blocks, .. }: &Pass| {
        let begin = |run: u64| 1.0 + BEGIN / run as f64;
        job.bytes() as f64 * (begin(blocks.run_from) + begin(blocks.run_to))
    };
    passes.iter().map(of).sum()
}

/// In two passes: panels of `width` of the innermost axis are brought into the order of the result with their width
/// innermost; then the width is moved to its place. The columns that make no panel are one of their own. As many panels go
/// both ways at a time as fit into so many bytes of scratch, but no fewer than a block reads.
pub fn by_panels(job: &StridedCopy, width: u64, memory: u64, scratch: u64) -> Vec<Pass> {
    let last = *job.axes.last().expect("there is an axis to be cut");
    let whole = last.extent / width;
    let part = |first: u64, panels: u64, width: u64| {
        let mut axes = job.axes[..job.axes.len() - 1].to_vec();
        axes.push(CopyAxis { extent: panels, from: width * last.from, to: width * last.to });
        axes.push(CopyAxis { extent: width, ..last });
        let (source, dest) = (job.source + first * last.from, job.dest + first * last.to);
        through_scratch(&StridedCopy { source, dest, axes, ..*job })
    };
    let each = if whole > 0 {
        let [all, _] = part(0, whole, width);
        let read = panels_read(&BlockTiling::of(&all, memory), &all, &last, width).clamp(1, whole);
        match scratch / (all.bytes() / whole) {
            room if room >= whole => whole,
            // In whole blocks.
            room => (room / read).max(1) * read,
        }
    } else {
        1
    };
    let each = each.max(whole.div_ceil(MOST_PARTS));
    let panels = (0..whole).step_by(each as usize);
    let parts = panels.map(|first| (first * width, each.min(whole - first), width));
    let rest = (whole * width, 1, last.extent % width);
    parts
        .chain((rest.2 > 0).then_some(rest))
        .flat_map(|(first, panels, width)| {
            let [out, home] = part(first, panels, width);
            [Pass::new(PassKind::Out, out, memory), Pass::new(PassKind::Home, home, memory)]
        })
        .collect()
}

/// How many panels a block of all panels reads.
fn panels_read(blocks: &BlockTiling, job: &StridedCopy, last: &CopyAxis, width: u64) -> u64 {
    let axes = job.axes.iter().zip(&blocks.extents);
    let panels = axes.filter(|(axis, _)| axis.from == width * last.from).map(|(_, &extent)| extent);
    panels.max().unwrap_or(1)
}

/// The two jobs of a part whose last axis goes innermost first.
fn through_scratch(part: &StridedCopy) -> [StridedCopy; 2] {
    let last = part.axes.len() - 1;
    let mut between: Vec<usize> = part.order();
    between.retain(|&k| k != last);
    between.push(last);
    let extents: Vec<u64> = between.iter().map(|&k| part.axes[k].extent).collect();
    let pitches = dense(&extents, part.elem_bytes);
    let mut out = StridedCopy { dest: 0, ..part.clone() };
    for (&k, &pitch) in between.iter().zip(&pitches) {
        out.axes[k].to = pitch;
    }
    let axis = |(&k, &pitch): (&usize, &u64)| CopyAxis { from: pitch, ..part.axes[k] };
    let axes = between.iter().zip(&pitches).map(axis).collect();
    let home = StridedCopy { source: 0, axes, ..part.clone() };
    [out.fused(), home.fused()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_passes_are_for_small_memories_alone() {
        let job = || StridedCopy::permuting(&[100_003, 99_991], &[1, 0], 4);
        for (memory, legs) in [
            (1 << 30, &[PassKind::Whole][..]),
            (8 << 20, &[PassKind::Whole]),
            (1 << 19, &[PassKind::Out, PassKind::Home, PassKind::Out, PassKind::Home]),
        ] {
            let passes = passes(job(), memory);
            let got: Vec<PassKind> = passes.iter().map(|pass| pass.leg).take(legs.len()).collect();
            assert_eq!(got, legs, "{memory}");
            for pass in &passes {
                assert!(pass.buffer_bytes() <= memory);
            }
        }
        // Passes can be listed, whatever the size.
        let huge = passes(StridedCopy::permuting(&[2_147_483_647, 548_101_761], &[1, 0], 1), 0);
        assert!(huge.len() <= 2 * MOST_PARTS as usize + 2, "{}", huge.len());
        // What fits is moved at once, however short it is.
        assert_eq!(passes(StridedCopy::permuting(&[3, 5], &[1, 0], 4), 60).len(), 1);
    }
}
