//! One pass over the data, or two where the memory is so small that the runs of one would be short.

use crate::stored::blocks::Blocks;
use crate::stored::job::{Axis, Job, dense};

/// Bytes that storage moves as easily as one: beginning a run costs as much as so many.
const BEGIN: f64 = 4096.0;

/// From where to where a job moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
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
    pub leg: Leg,
    /// What is moved.
    pub job: Job,
    /// In which parts.
    pub blocks: Blocks,
}

impl Pass {
    fn new(leg: Leg, job: Job, memory: u64) -> Self {
        let whole = job.bytes() <= memory;
        // Two at a time: while one is written the next is read.
        let blocks = Blocks::of(&job, if whole { memory } else { memory / 2 });
        Pass { leg, job, blocks }
    }

    /// Bytes of memory for its blocks.
    pub fn buffer_bytes(&self) -> u64 {
        if self.blocks.bytes < self.job.bytes() { 2 * self.blocks.bytes } else { self.blocks.bytes }
    }
}

/// The cheapest passes of a job in so much memory, in order.
pub fn passes(job: Job, memory: u64) -> Vec<Pass> {
    let last = job.axes.last().map_or(1, |axis| axis.extent);
    let widths = (0..63).map(|k| 1 << k).take_while(|&width| width < last);
    let two = widths.map(|width| by_panels(&job, width, memory));
    let one = vec![one(&job, memory)];
    // One where it costs no more.
    two.fold(one, |best, two| if cost(&two) < cost(&best) { two } else { best })
}

/// In one pass.
pub fn one(job: &Job, memory: u64) -> Pass {
    Pass::new(Leg::Whole, job.clone(), memory)
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
/// innermost; then the width is moved to its place. The columns that make no panel are one of their own.
pub fn by_panels(job: &Job, width: u64, memory: u64) -> Vec<Pass> {
    let last = *job.axes.last().expect("there is an axis to be cut");
    let whole = last.extent / width;
    let mut passes = [Vec::new(), Vec::new()];
    let mut scratch = 0;
    for (first, panels, width) in [(0, whole, width), (whole * width, 1, last.extent % width)] {
        if panels * width == 0 {
            continue;
        }
        let mut axes = job.axes[..job.axes.len() - 1].to_vec();
        axes.push(Axis { extent: panels, from: width * last.from, to: width * last.to });
        axes.push(Axis { extent: width, ..last });
        let (source, dest) = (job.source + first * last.from, job.dest + first * last.to);
        let part = Job { source, dest, axes, ..*job };
        let [out, home] = through_scratch(&part, scratch);
        scratch += part.bytes();
        passes[0].push(Pass::new(Leg::Out, out, memory));
        passes[1].push(Pass::new(Leg::Home, home, memory));
    }
    passes.concat()
}

/// The two jobs of a part whose last axis goes innermost first.
fn through_scratch(part: &Job, scratch: u64) -> [Job; 2] {
    let last = part.axes.len() - 1;
    let mut between: Vec<usize> = part.order();
    between.retain(|&k| k != last);
    between.push(last);
    let extents: Vec<u64> = between.iter().map(|&k| part.axes[k].extent).collect();
    let pitches = dense(&extents, part.elem_bytes);
    let mut out = Job { dest: scratch, ..part.clone() };
    for (&k, &pitch) in between.iter().zip(&pitches) {
        out.axes[k].to = pitch;
    }
    let axis = |(&k, &pitch): (&usize, &u64)| Axis { from: pitch, ..part.axes[k] };
    let axes = between.iter().zip(&pitches).map(axis).collect();
    let home = Job { source: scratch, axes, ..part.clone() };
    [out.fused(), home.fused()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_passes_are_for_small_memories_alone() {
        let job = || Job::permuting(&[100_003, 99_991], &[1, 0], 4);
        for (memory, legs) in [
            (1 << 30, &[Leg::Whole][..]),
            (8 << 20, &[Leg::Whole]),
            (1 << 19, &[Leg::Out, Leg::Out, Leg::Home, Leg::Home]),
        ] {
            let passes = passes(job(), memory);
            let got: Vec<Leg> = passes.iter().map(|pass| pass.leg).collect();
            assert_eq!(got, legs, "{memory}");
            for pass in &passes {
                assert!(pass.buffer_bytes() <= memory);
            }
        }
        // What fits is moved at once, however short it is.
        assert_eq!(passes(Job::permuting(&[3, 5], &[1, 0], 4), 60).len(), 1);
    }
}
