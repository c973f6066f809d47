//! A pass, block after block: read in runs, permuted in memory, written in runs.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use crate::stored::at::{ReadAt, WriteAt};
use crate::stored::job::{Axis, Job};
use crate::stored::passes::Pass;
use crate::stored::{Failed, StoredError};
use crate::{Bytes, Planned, Transpose};

/// Reads that are under way at once: storage answers many as soon as one.
const READERS: usize = 8;

/// Bytes that a reader takes at a time, in whole runs.
const SHARE: usize = 1 << 18;

/// What a pass needs beside its source and its result.
pub struct Tools<'a> {
    /// Threads that permute.
    pub threads: usize,
    /// Most bytes that permuting needs beside a block.
    pub workspace: usize,
    /// Room for a block.
    pub buffer: &'a mut [u8],
    /// Told how many bytes more are read or written.
    pub progress: &'a mut dyn FnMut(u64),
}

/// Runs of a block on one side: where each begins, in the order of a dense array with that side's axes.
struct Runs {
    /// Extents and pitches of the axes that a run does not cover, the outermost first.
    outer: Vec<(u64, u64)>,
    start: u64,
    bytes: usize,
}

impl Runs {
    /// Of a block on the side whose axes lie in this order with these pitches.
    fn new(job: &Job, size: &[u64], order: &[usize], start: u64, pitch: fn(&Axis) -> u64) -> Self {
        let (mut outer, mut bytes) = (Vec::new(), job.elem_bytes);
        let mut joined = true;
        for &k in order.iter().rev() {
            let axis = &job.axes[k];
            joined &= pitch(axis) == bytes || size[k] == 1;
            if !joined {
                outer.push((size[k], pitch(axis)));
            } else if size[k] > 1 {
                bytes *= size[k];
            }
        }
        outer.reverse();
        Runs { outer, start, bytes: bytes as usize }
    }

    fn offset(&self, number: u64) -> u64 {
        let mut rest = number;
        self.outer.iter().rev().fold(self.start, |at, &(extent, pitch)| {
            let place = rest % extent;
            rest /= extent;
            at + place * pitch
        })
    }
}

/// Moves all blocks of a pass.
pub fn run(
    pass: &Pass,
    source: &(impl ReadAt + ?Sized),
    dest: &mut (impl WriteAt + ?Sized),
    tools: &mut Tools<'_>,
) -> Result<(), StoredError> {
    let Pass { job, blocks, .. } = pass;
    let source_order: Vec<usize> = (0..job.axes.len()).collect();
    let dest_order = job.order();
    // Those at the ends of the axes differ from the others; each kind is planned once.
    let mut planned: HashMap<Vec<u64>, Planned> = HashMap::new();
    for (first, size) in blocks.each(job) {
        let plan = match planned.entry(size.clone()) {
            std::collections::hash_map::Entry::Occupied(found) => found.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(plan(job, &size, &dest_order, tools)?)
            }
        };
        let place = |pitch: fn(&Axis) -> u64, base: u64| {
            let steps = job.axes.iter().zip(&first).map(|(axis, &at)| at * pitch(axis));
            base + steps.sum::<u64>()
        };
        let (from, to): (fn(&Axis) -> u64, fn(&Axis) -> u64) = (|axis| axis.from, |axis| axis.to);
        let bytes = (size.iter().product::<u64>() * job.elem_bytes) as usize;
        let block = &mut tools.buffer[..bytes];
        let runs = Runs::new(job, &size, &source_order, place(from, job.source), from);
        read(source, block, &runs).map_err(Failed::Read.at())?;
        (tools.progress)(bytes as u64);
        plan.run(&mut Bytes(&mut *block))?;
        let runs = Runs::new(job, &size, &dest_order, place(to, job.dest), to);
        for (number, chunk) in block.chunks(runs.bytes).enumerate() {
            dest.write_all_at(chunk, runs.offset(number as u64)).map_err(Failed::Write.at())?;
            (tools.progress)(chunk.len() as u64);
        }
    }
    Ok(())
}

fn plan(
    job: &Job,
    size: &[u64],
    order: &[usize],
    tools: &Tools<'_>,
) -> Result<Planned, StoredError> {
    let extents: Vec<usize> = size.iter().map(|&extent| extent as usize).collect();
    let transpose = Transpose::of_axes_bytes(job.elem_bytes as usize, &extents, order);
    Ok(transpose.threads(tools.threads).workspace_cap(tools.workspace).plan()?)
}

/// Fills a block, by several readers where there are several runs.
fn read(source: &(impl ReadAt + ?Sized), block: &mut [u8], runs: &Runs) -> io::Result<()> {
    let group = (SHARE / runs.bytes).max(1);
    let shares = block.len().div_ceil(group * runs.bytes);
    let work = Mutex::new(block.chunks_mut(group * runs.bytes).enumerate());
    let reader = || {
        loop {
            let next = work.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((share, chunk)) = next else { return Ok(()) };
            for (k, run) in chunk.chunks_mut(runs.bytes).enumerate() {
                source.read_exact_at(run, runs.offset((share * group + k) as u64))?;
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..READERS.min(shares))
            .filter_map(|_| {
                std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, reader).ok()
            })
            .collect();
        let mut read = reader();
        for other in others {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            read = read.and(other);
        }
        read
    })
}
