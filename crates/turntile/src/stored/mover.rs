//! A pass, block after block: read in runs, permuted in memory, written in runs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use crate::stored::at::{ReadAt, WriteAt};
use crate::stored::error::StoredError;
use crate::stored::job::{CopyAxis, StridedCopy};
use crate::stored::passes::Pass;
use crate::{RawElements, Transpose, Transposer};

/// Reads that are under way at once: storage answers many as soon as one.
const READERS: usize = 16;

/// Bytes of a reader's stack: what it runs is a [`ReadAt`] of the caller's, which may decompress, decrypt or talk to a network.
/// Less than the system's, since there are many.
const READER_STACK: usize = 512 << 10;

/// Bytes that a reader takes at a time, in whole runs: few of a small block, so that there is work for many readers.
const SHARE: std::ops::RangeInclusive<usize> = 1 << 14..=1 << 18;

/// What a pass needs beside its source and its result.
pub struct Context<'a> {
    /// Threads that permute.
    pub threads: usize,
    /// Most bytes that permuting needs beside a block.
    pub workspace: usize,
    /// Room for a block, and for the next one where there are several.
    pub buffer: &'a mut [u8],
    /// Called with how many bytes more are read or written.
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
    fn offset(&self, number: u64) -> u64 {
        let mut rest = number;
        self.outer.iter().rev().fold(self.start, |at, &(extent, pitch)| {
            let place = rest % extent;
            rest /= extent;
            at + place * pitch
        })
    }
}

/// A block: where it begins and how large it is, along all axes.
type Block = (Vec<u64>, Vec<u64>);

/// One side of a pass: the axes as they lie there, and where its first element is.
struct Side<'a> {
    job: &'a StridedCopy,
    order: Vec<usize>,
    base: u64,
    pitch: fn(&CopyAxis) -> u64,
}

impl Side<'_> {
    fn runs(&self, (first, size): &Block) -> Runs {
        let Side { job, order, base, pitch } = self;
        let steps = job.axes.iter().zip(first).map(|(axis, &at)| at * pitch(axis));
        let start = base + steps.sum::<u64>();
        let (mut outer, mut bytes, mut joined) = (Vec::new(), job.elem_bytes, true);
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
}

/// Moves all blocks of a pass. While one is permuted and written, the next is read, or at least fetched.
pub fn run(
    pass: &Pass,
    source: &(impl ReadAt + ?Sized),
    dest: &mut (impl WriteAt + ?Sized),
    tools: &mut Context<'_>,
) -> Result<(), StoredError> {
    let &Pass { ref job, ref blocks, ahead, .. } = pass;
    let from = Side {
        job,
        order: (0..job.axes.len()).collect(),
        base: job.source,
        pitch: |axis| axis.from,
    };
    let to = Side { job, order: job.order(), base: job.dest, pitch: |axis| axis.to };
    // Those at the ends of the axes differ from the others; each kind is planned once.
    let mut planned: HashMap<Vec<u64>, Transposer> = HashMap::new();
    let bytes_of = |(_, size): &Block| (size.iter().product::<u64>() * job.elem_bytes) as usize;
    let mut each = blocks.each(job).peekable();
    let (mut now, mut next) =
        tools.buffer.split_at_mut((blocks.bytes as usize).min(tools.buffer.len()));
    if let Some(first) = each.peek() {
        read(source, &mut now[..bytes_of(first)], &from.runs(first)).map_err(StoredError::Read)?;
    }
    let threads = if ahead { tools.threads } else { 1 };
    while let Some(block) = each.next() {
        let plan = match planned.entry(block.1.clone()) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(new) => {
                new.insert(plan(job, &block.1, &to.order, threads, tools.workspace)?)
            }
        };
        let data = &mut now[..bytes_of(&block)];
        (tools.progress)(data.len() as u64);
        let mut put = || {
            plan.run(&mut RawElements(&mut *data))?;
            write(dest, data, &to.runs(&block), tools.progress).map_err(StoredError::Write)
        };
        let Some(following) = each.peek() else { return put() };
        let (bytes, runs) = (bytes_of(following), from.runs(following));
        if !ahead {
            let is_fetched = fetched(source, bytes, &runs);
            put()?;
            let (room, read) = (&mut now[..bytes], if is_fetched { read_alone } else { read });
            read(source, room, &runs).map_err(StoredError::Read)?;
        } else {
            let room = &mut next[..bytes];
            both(|| read(source, room, &runs), put)?;
            std::mem::swap(&mut now, &mut next);
        }
    }
    Ok(())
}

/// Reads in a thread while this one puts; where none can be started, afterwards.
fn both(
    read: impl FnOnce() -> io::Result<()> + Send,
    put: impl FnOnce() -> Result<(), StoredError>,
) -> Result<(), StoredError> {
    // Taken by whichever thread reads.
    let read = Mutex::new(Some(read));
    let taken = || {
        let read = read.lock().unwrap_or_else(PoisonError::into_inner).take();
        read.map_or(Ok(()), |read| read())
    };
    thread::scope(|scope| {
        let reader = thread::Builder::new().spawn_scoped(scope, taken);
        put()?;
        reader.map_or_else(|_| taken(), joined).map_err(StoredError::Read)
    })
}

/// A thread's result; its panic continues here.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn plan(
    job: &StridedCopy,
    size: &[u64],
    order: &[usize],
    threads: usize,
    workspace: usize,
) -> Result<Transposer, StoredError> {
    let extents: Vec<usize> = size.iter().map(|&extent| extent as usize).collect();
    let transpose = Transpose::of_axes_bytes(&extents, order, job.elem_bytes as usize);
    Ok(transpose.threads(threads).workspace_cap(workspace).plan()?)
}

/// Whether storage fetches a block's runs from now on.
fn fetched(source: &(impl ReadAt + ?Sized), bytes: usize, runs: &Runs) -> bool {
    (0..bytes / runs.bytes).all(|number| source.fetch(runs.offset(number as u64), runs.bytes))
}

/// Writes a block, run after run.
fn write(
    dest: &mut (impl WriteAt + ?Sized),
    block: &[u8],
    runs: &Runs,
    progress: &mut dyn FnMut(u64),
) -> io::Result<()> {
    for (number, run) in block.chunks(runs.bytes).enumerate() {
        dest.write_all_at(run, runs.offset(number as u64))?;
        progress(run.len() as u64);
    }
    Ok(())
}

/// Fills a block, run after run.
fn read_alone(source: &(impl ReadAt + ?Sized), block: &mut [u8], runs: &Runs) -> io::Result<()> {
    let mut numbered = block.chunks_mut(runs.bytes).enumerate();
    numbered.try_for_each(|(number, run)| source.read_exact_at(run, runs.offset(number as u64)))
}

/// Fills a block, by several readers where there are several runs.
fn read(source: &(impl ReadAt + ?Sized), block: &mut [u8], runs: &Runs) -> io::Result<()> {
    let share = (block.len() / READERS).clamp(*SHARE.start(), *SHARE.end());
    let group = (share / runs.bytes).max(1);
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
    thread::scope(|scope| {
        let start =
            |_| thread::Builder::new().stack_size(READER_STACK).spawn_scoped(scope, reader).ok();
        let others: Vec<_> = (1..READERS.min(shares)).filter_map(start).collect();
        others.into_iter().fold(reader(), |read, other| read.and(joined(other)))
    })
}
