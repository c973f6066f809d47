//! Reading, permuting and writing: what all subcommands on files share.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow, bail};
use turntile::run::RunOptions;
use turntile::stored::OutOfCore;
use turntile::{ErrorKind, RawElements, Transpose, Transposer};
use turntile_plan::units;

use crate::args::{Common, Settings};
use crate::change::Change;
use crate::error::On;
use crate::file::Target;
use crate::memory::{self, AnonymousMap, Free, Pages};
use crate::progress::Progress;
use crate::say::shown;
use crate::sink::{Sink, put_after, put_before, unwritten};
use crate::source::Source;
use crate::transfer::{self, CHUNK, Part, copy};

/// Bytes copied at a time from or to a temporary file.
pub const COPIED: usize = 1 << 18;

/// Minimum of `--memory` in bytes: the program itself takes more, and blocks would have runs of a few bytes.
const MIN_MEMORY: usize = 1 << 20;

/// Data of more bytes than this are moved from file to file in blocks, even if they fit in memory. A block's memory is used
/// again and again, while memory for all of the data is new, and a system may take longer to provide it than to move the data:
/// 2.16 GB took 4.0 s in blocks and 11 to 34 s in memory (virtual machine of two Xeon cores, 2026-11).
const MAX_WHOLE: usize = 128 << 20;

/// Memory for blocks of data that would fit: the data's bytes divided by the first number, at most the second. On that machine
/// 128 and 256 MiB were faster than 64 MiB and 512 MiB.
const BLOCKS: (usize, usize) = (4, 256 << 20);

/// Returns the bytes of memory that may be used to change the data of a file.
pub fn allowed(path: &Path, data: usize, asked: Option<usize>) -> Result<usize> {
    let free = || memory::free().unwrap_or(Free { bytes: usize::MAX, limit: memory::MACHINE });
    let Free { bytes, limit } = match asked {
        Some(bytes) => Free { bytes, limit: "--memory" },
        None => free(),
    };
    if bytes < MIN_MEMORY && data > 0 {
        let [least, have] = [MIN_MEMORY, bytes].map(units::bytes);
        bail!("{}: needs at least {least} of memory, {have} may be used ({limit})", shown(path));
    }
    Ok(bytes)
}

/// Explains a failed allocation; returns any other error unchanged.
fn of_memory(error: Error, path: &Path, data: usize) -> Error {
    let is_memory = |error: &turntile::Error| match error.kind() {
        ErrorKind::OutOfMemory { bytes } => Some(bytes),
        _ => None,
    };
    let Some(asked) = error.downcast_ref().and_then(is_memory) else { return error };
    let [data, asked] = [data, asked].map(units::bytes);
    let name = shown(path);
    anyhow!(
        "not enough memory for {name} ({data}): {asked} could not be allocated; --memory sets a limit"
    )
}

/// Outcome of the work.
#[derive(Debug, Default)]
pub struct Done {
    /// Time to read the data.
    pub read: Duration,
    /// Time to run the plan; in blocks, or for `split`, time to read, move and write.
    pub transpose: Duration,
    /// Time to write, sync and rename the new file.
    pub write: Duration,
    /// The plan, if it ran in memory.
    pub plan: Option<Transposer>,
    /// Plan for a move in blocks, if the data moved in blocks.
    pub blocks: Option<OutOfCore>,
    /// Whether elements are permuted or converted, not only copied.
    pub moves: bool,
    /// Number of files that `split` wrote.
    pub files: usize,
    /// Memory limit in bytes.
    pub memory: usize,
    /// Limit of the threads, if one is set.
    pub threads: Option<NonZeroUsize>,
    /// Whether nothing was written (`--dry-run`).
    pub dry: bool,
}

/// Applies `change` to the source and writes the result: in memory, or in blocks (see [`planned`]).
pub fn apply(
    (mut source, target): (Source, Option<Target>),
    change: &Change,
    common: &Common,
    progress: &Progress,
) -> Result<Done> {
    // Everything that can be rejected is rejected before the first byte of data is read.
    let memory = allowed(source.path(), change.bytes, common.memory)?;
    let in_files = target.is_some() && source.part(0).is_some();
    let (plan, blocks) = planned(source.path(), change, &common.settings, (memory, in_files))?;
    let moves = change.step.is_some();
    let (dry, threads) = (common.dry_run, common.settings.threads);
    let mut done = Done { memory, threads, dry, moves, ..Done::default() };
    if !done.dry {
        let sink = Sink::begin(&source, target, change, common.quiet)?;
        let moved = match &blocks {
            None => in_memory(&mut source, &sink, change, (plan.as_ref(), &mut done), progress),
            Some(stored) => in_blocks(&mut source, &sink, change, (stored, &mut done), progress),
        };
        moved.map_err(|error| of_memory(error, source.path(), change.bytes))?;
        progress.waiting("syncing");
        let start = Instant::now();
        sink.commit(&source)?;
        done.write += start.elapsed();
    }
    Ok(Done { plan, blocks, ..done })
}

/// Returns the plan for all data in memory, if an element moves; or how to move blocks, if memory is too small or blocks are
/// faster.
fn planned(
    path: &Path,
    change: &Change,
    settings: &Settings,
    (memory, in_files): (usize, bool),
) -> Result<(Option<Transposer>, Option<OutOfCore>)> {
    let (bytes, room) = (change.bytes, memory::less_the_command(memory));
    let step = change.step.clone();
    let step = step.unwrap_or_else(|| Transpose::permute::<u8>(&[bytes], &[0]).itemsize(1));
    if in_files && change.packed.is_none() {
        let blocks = faster_blocks(&step, bytes, settings, room);
        if blocks.is_some() {
            return Ok((None, blocks));
        }
    }
    let through_files = settings.on_threads(step.clone());
    let plan = match change.step {
        Some(_) if bytes <= memory || settings.route.is_some() => {
            Some(settings.apply(step).plan()?)
        }
        _ => None,
    };
    let mut workspace = plan.as_ref().map_or(0, Transposer::workspace_bytes);
    if change.packed.is_some() && change.step.is_none() {
        workspace = change.new_bytes;
    }
    if bytes.saturating_add(workspace) <= room || bytes == 0 {
        return Ok((plan, None));
    }
    if settings.route.is_some() {
        return Err(too_large(path, "--route needs the data", (bytes, workspace), memory));
    }
    if change.packed.is_some() {
        return Err(too_large(path, "--bits needs the data", (bytes, workspace), memory));
    }
    Ok((None, Some(through_files.stored(room)?)))
}

/// Returns how to move data from file to file in blocks, if that is faster than in memory. `room`
/// is the number of bytes of memory that may be used.
fn faster_blocks(
    step: &Transpose,
    bytes: usize,
    settings: &Settings,
    room: usize,
) -> Option<OutOfCore> {
    let is_large = (MAX_WHOLE + 1..=room).contains(&bytes) && !settings.need_memory();
    let most = room.min(bytes / BLOCKS.0).min(BLOCKS.1);
    let blocks = is_large.then(|| settings.on_threads(step.clone()).stored(most))?.ok()?;
    (blocks.passes() == 1).then_some(blocks)
}

/// Returns how `transpose` moves the data of a file in blocks, or `None` if it does not. `workspace` is the number of bytes of
/// workspace of the plan in memory. A route is only used in memory; other settings do not prevent blocks if memory is too small.
pub fn blocks_of(
    path: &Path,
    step: &Transpose,
    (bytes, workspace): (usize, usize),
    settings: &Settings,
    in_files: bool,
) -> Result<Option<OutOfCore>> {
    let room = memory::less_the_command(allowed(path, bytes, None)?);
    let faster = in_files.then(|| faster_blocks(step, bytes, settings, room)).flatten();
    if faster.is_some() || settings.route.is_some() || bytes.saturating_add(workspace) <= room {
        return Ok(faster);
    }
    Ok(Some(settings.on_threads(step.clone()).stored(room)?))
}

/// The error for data that must be in memory and does not fit.
pub fn too_large(
    path: &Path,
    what: &str,
    (data, workspace): (usize, usize),
    memory: usize,
) -> Error {
    let need = memory::with_the_command(data.saturating_add(workspace));
    let [need, memory] = [need, memory].map(units::bytes);
    anyhow!(
        "{}: {what} in memory: {need} are needed, {memory} may be used; see --memory",
        shown(path)
    )
}

fn in_memory(
    source: &mut Source,
    sink: &Sink,
    change: &Change,
    (plan, done): (Option<&Transposer>, &mut Done),
    progress: &Progress,
) -> Result<()> {
    let bytes = change.bytes;
    let start = Instant::now();
    let mut memory = AnonymousMap::new(bytes, Pages::Huge)?;
    let data = &mut memory.bytes()[..bytes];
    progress.bytes("reading", bytes);
    source.data((change.start, bytes, change.tail), |from| {
        for (number, chunk) in data.chunks_mut(CHUNK).enumerate() {
            progress.set(number * CHUNK);
            from.read_exact(chunk)?;
        }
        Ok(())
    })?;
    done.read = start.elapsed();

    let start = Instant::now();
    let mut second = None;
    if let (Some(matrix), None) = (&change.packed, plan) {
        let to = second.insert(AnonymousMap::new(change.new_bytes, Pages::Huge)?);
        matrix.transpose_into(data, &mut to.bytes()[..change.new_bytes])?;
    }
    if let Some(plan) = plan {
        if let Some(matrix) = &change.packed {
            matrix.turn_blocks(data, plan.threads())?;
        }
        progress.passes("transposing", plan.plan().passes());
        let mut passed = |passes| progress.set(passes);
        plan.run_with(&mut RawElements(&mut *data), RunOptions::new().progress(&mut passed))?;
    }
    done.transpose = start.elapsed();

    let start = Instant::now();
    let result = match &mut second {
        Some(to) => &to.bytes()[..change.new_bytes],
        None => &*data,
    };
    sink.put(source, change, &mut &*result, progress)?;
    done.write = start.elapsed();
    Ok(())
}

/// Moves the data in blocks, from file to file. Streams and members of archives are stored in a temporary file meanwhile.
fn in_blocks(
    source: &mut Source,
    sink: &Sink,
    change: &Change,
    (stored, done): (&OutOfCore, &mut Done),
    progress: &Progress,
) -> Result<()> {
    let bytes = change.bytes;
    let start = Instant::now();
    let read = match source.part(0) {
        Some(_) => None,
        None => Some(spooled(source, sink, change, progress)?),
    };
    done.read = start.elapsed();

    let start = Instant::now();
    let written = match sink.file() {
        Some(new) => {
            let put = put_before(source, change, &mut new.file());
            put.map_err(|error| unwritten(error, new.path()))?;
            None
        }
        None => Some(sink.scratch(bytes as u64)?),
    };
    let path = source.path();
    let temporary = |file| Part { file, path, start: 0 };
    let from = read.as_ref().map(temporary).or_else(|| source.part(change.start));
    let onto = match sink.file() {
        Some(new) => Some(Part { file: new.file(), path: new.path(), start: change.new_start() }),
        None => written.as_ref().map(temporary),
    };
    let parts = from.zip(onto).expect("a stream has a temporary file");
    if read.is_none() && bytes <= done.memory {
        progress.waiting("reading ahead");
        parts.0.fetch_in_order(bytes);
    }
    let kept = written.is_none();
    // Without other threads, all is synced at the end.
    let syncs = if kept { done.threads.map_or(usize::MAX, |threads| threads.get() - 1) } else { 0 };
    transfer::in_blocks(stored, parts, (bytes, syncs), |bytes| sink.scratch(bytes), progress)?;
    drop(read);
    if let Some(new) = sink.file() {
        let mut to = new.file();
        to.seek(std::io::SeekFrom::Start(change.end())).on("write the new", new.path())?;
        put_after(source, change, &mut to).map_err(|error| unwritten(error, new.path()))?;
    }
    done.transpose = start.elapsed();

    let start = Instant::now();
    if let Some(mut written) = written {
        written.rewind().on("read a temporary file for", source.path())?;
        let mut data = BufReader::with_capacity(COPIED, written);
        sink.put(source, change, &mut data, progress)?;
    }
    done.write = start.elapsed();
    Ok(())
}

/// Stores the data in a temporary file.
fn spooled(source: &mut Source, sink: &Sink, change: &Change, progress: &Progress) -> Result<File> {
    let bytes = change.bytes;
    let mut file = sink.scratch(bytes as u64)?;
    progress.bytes("reading", bytes);
    source.data((change.start, bytes, change.tail), |from| {
        // Reads at most `bytes` bytes. Surplus data is a separate error.
        let from = &mut BufReader::with_capacity(COPIED, from.take(bytes as u64));
        copy(from, &mut file, bytes, progress)
    })?;
    Ok(file)
}
