//! Execution of an out-of-core pass, block by block: read, permute in memory, write.

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

/// Maximum number of threads that read storage at once. Storage serves many reads in about the time
/// of one.
pub const READERS: usize = 16;

/// Stack size of a reader thread in bytes. A reader calls the user's [`ReadAt`], which may
/// decompress, decrypt or use a network. The size is below the system's default because there are
/// many readers.
const READER_STACK: usize = 512 << 10;

/// Minimum and maximum bytes of a chunk, which a reader thread claims at a time; rounded down to
/// whole runs, but at least one run. Small blocks use small chunks, to occupy many readers.
const CHUNK_BYTES: std::ops::RangeInclusive<usize> = 1 << 14..=1 << 18;

/// Resources of an out-of-core pass, except its source and destination.
pub struct PassContext<'a> {
    /// Maximum number of threads that permute a block if the next is read ahead; otherwise only one
    /// does.
    pub threads: usize,
    /// Maximum number of threads that read storage, including the calling thread. If there are
    /// others, the calling thread does not read while it permutes and writes a block.
    pub readers: usize,
    /// Maximum bytes of workspace for permuting a block in memory.
    pub workspace: usize,
    /// Buffer for one block, or for two if the next is read ahead.
    pub buffer: &'a mut [u8],
    /// Callback that takes the number of bytes read or written since its last call.
    pub progress: &'a mut dyn FnMut(u64),
}

/// Contiguous runs of a block in the source or in the destination, numbered in row-major order of
/// the axes there.
struct Runs {
    /// Block extents and byte strides of the axes that a run does not cover, outermost first.
    outer: Vec<(u64, u64)>,
    start: u64,
    bytes: usize,
}

impl Runs {
    fn offset(&self, number: u64) -> u64 {
        let mut rest = number;
        self.outer.iter().rev().fold(self.start, |at, &(extent, pitch)| {
            let index = rest % extent;
            rest /= extent;
            at + index * pitch
        })
    }
}

/// Origin and extents of a block along the axes of the copy, in elements.
type Block = (Vec<u64>, Vec<u64>);

/// Source or destination of a pass: order of the axes there, byte offset of the first element, and
/// byte strides.
struct Side<'a> {
    job: &'a StridedCopy,
    order: Vec<usize>,
    base: u64,
    pitch: fn(&CopyAxis) -> u64,
    /// Returns a block's first index along an axis on this side, from its first index in the source
    /// and its extent.
    first: fn(&CopyAxis, u64, u64) -> u64,
}

impl Side<'_> {
    fn runs(&self, (first, size): &Block) -> Runs {
        let Side { job, order, base, pitch, .. } = self;
        let of_block = first.iter().zip(size);
        let steps = job
            .axes
            .iter()
            .zip(of_block)
            .map(|(axis, (&first, &size))| (self.first)(axis, first, size) * pitch(axis));
        let start = base + steps.sum::<u64>();
        let (mut outer, mut bytes, mut contiguous) = (Vec::new(), job.elem_bytes, true);
        for &k in order.iter().rev() {
            let axis = &job.axes[k];
            contiguous &= pitch(axis) == bytes || size[k] == 1;
            if !contiguous {
                outer.push((size[k], pitch(axis)));
            } else if size[k] > 1 {
                bytes *= size[k];
            }
        }
        outer.reverse();
        Runs { outer, start, bytes: bytes as usize }
    }
}

/// Moves all blocks of a pass. While a block is permuted and written, the next is read ahead or
/// announced for prefetching.
pub fn run(
    pass: &Pass,
    source: &(impl ReadAt + ?Sized),
    dest: &mut (impl WriteAt + ?Sized),
    context: &mut PassContext<'_>,
) -> Result<(), StoredError> {
    let &Pass { ref job, ref blocks, ahead, .. } = pass;
    let readers = context.readers;
    let from = Side {
        job,
        order: (0..job.axes.len()).collect(),
        base: job.source,
        pitch: |axis| axis.from,
        first: |_, first, _| first,
    };
    let to = Side {
        job,
        order: job.order(),
        base: job.dest,
        pitch: |axis| axis.to,
        first: CopyAxis::first_after,
    };
    // Plans by block extents: blocks at the ends of axes are smaller.
    let mut planned: HashMap<Vec<u64>, Transposer> = HashMap::new();
    let bytes_of = |(_, size): &Block| (size.iter().product::<u64>() * job.elem_bytes) as usize;
    let mut each = blocks.each(job).peekable();
    let (mut now, mut next) =
        context.buffer.split_at_mut((blocks.bytes as usize).min(context.buffer.len()));
    if let Some(first) = each.peek() {
        let room = &mut now[..bytes_of(first)];
        read(source, room, &from.runs(first), readers).map_err(StoredError::Read)?;
    }
    let threads = if ahead { context.threads } else { 1 };
    while let Some(block) = each.next() {
        let plan = match planned.entry(block.1.clone()) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(new) => {
                new.insert(plan(job, &block.1, &to.order, threads, context.workspace)?)
            }
        };
        let data = &mut now[..bytes_of(&block)];
        (context.progress)(data.len() as u64);
        let mut write_block = || {
            plan.run(&mut RawElements(&mut *data))?;
            write(dest, data, &to.runs(&block), context.progress).map_err(StoredError::Write)
        };
        let Some(following) = each.peek() else { return write_block() };
        let (bytes, runs) = (bytes_of(following), from.runs(following));
        if !ahead {
            let is_prefetched = prefetch(source, bytes, &runs);
            write_block()?;
            let readers = if is_prefetched { 1 } else { readers };
            read(source, &mut now[..bytes], &runs, readers).map_err(StoredError::Read)?;
        } else {
            let room = &mut next[..bytes];
            let readers = if readers < READERS { readers - 1 } else { readers };
            overlapped(|| read(source, room, &runs, readers), write_block)?;
            std::mem::swap(&mut now, &mut next);
        }
    }
    Ok(())
}

/// Runs `read` on another thread while this thread runs `write_block`. If no thread can be started,
/// runs `read` afterwards.
fn overlapped(
    read: impl FnOnce() -> io::Result<()> + Send,
    write_block: impl FnOnce() -> Result<(), StoredError>,
) -> Result<(), StoredError> {
    // Whichever thread reads takes the closure out, so it runs once.
    let read = Mutex::new(Some(read));
    let take_and_read = || {
        let read = read.lock().unwrap_or_else(PoisonError::into_inner).take();
        read.map_or(Ok(()), |read| read())
    };
    thread::scope(|scope| {
        let reader = thread::Builder::new().spawn_scoped(scope, take_and_read);
        write_block()?;
        reader.map_or_else(|_| take_and_read(), join).map_err(StoredError::Read)
    })
}

/// Returns a thread's result, or resumes its panic.
fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
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
    let transpose = Transpose::permute::<u8>(&extents, order).itemsize(job.elem_bytes as usize);
    let reversed = (0..order.len()).filter(|&to| job.axes[order[to]].reversed);
    Ok(transpose
        .flip(&reversed.collect::<Vec<_>>())
        .threads(threads)
        .workspace_limit(workspace)
        .plan()?)
}

/// Announces the runs of a block of `bytes` bytes to the source, up to the first that it does not
/// prefetch. Returns `true` if it prefetches all of them.
fn prefetch(source: &(impl ReadAt + ?Sized), bytes: usize, runs: &Runs) -> bool {
    (0..bytes / runs.bytes).all(|number| source.fetch(runs.offset(number as u64), runs.bytes))
}

/// Writes a block to storage run by run, and reports the bytes of each run to `progress`.
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

/// Reads the runs of a block from storage, on up to `readers` threads at the same time, including
/// the calling thread.
fn read(
    source: &(impl ReadAt + ?Sized),
    block: &mut [u8],
    runs: &Runs,
    readers: usize,
) -> io::Result<()> {
    let chunk_bytes = (block.len() / READERS).clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end());
    let group = (chunk_bytes / runs.bytes).max(1);
    let chunks = block.len().div_ceil(group * runs.bytes);
    let work = Mutex::new(block.chunks_mut(group * runs.bytes).enumerate());
    let reader = || {
        loop {
            let next = work.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, chunk)) = next else { return Ok(()) };
            for (k, run) in chunk.chunks_mut(runs.bytes).enumerate() {
                source.read_exact_at(run, runs.offset((index * group + k) as u64))?;
            }
        }
    };
    thread::scope(|scope| {
        let start =
            |_| thread::Builder::new().stack_size(READER_STACK).spawn_scoped(scope, reader).ok();
        let others: Vec<_> = (1..readers.min(chunks)).filter_map(start).collect();
        others.into_iter().fold(reader(), |read, other| read.and(join(other)))
    })
}
