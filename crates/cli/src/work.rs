//! Reading, transposing and writing: the part that every command on a file shares.

use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow, bail};
use turntile::run::RunOptions;
use turntile::stored::OutOfCore;
use turntile::{ErrorKind, RawElements, Transpose, Transposer};

use crate::args::{Common, Settings};
use crate::error::On;
use crate::file::Target;
use crate::input::Input;
use crate::memory::{self, AnonymousMap, Free, Pages};
use crate::output::Sink;
use crate::progress::Progress;
use crate::say::shown;
use crate::transfer::{self, CHUNK, Part, copy};
use crate::values::Amount;

/// Bytes copied at a time from or to a temporary file.
pub const COPIED: usize = 1 << 18;

/// Memory that nothing is moved in less of: the command alone takes more, and runs would be of a few bytes.
const LEAST: usize = 1 << 20;

/// Bytes of memory that may be used to change the data of a file.
pub fn allowed(path: &Path, data: usize, asked: Option<Amount>) -> Result<usize> {
    let free = memory::free().unwrap_or(Free { bytes: usize::MAX, limit: memory::MACHINE });
    let Free { bytes: have, limit } = match asked {
        Some(amount) => Free { bytes: amount.of(free.bytes), limit: "as --memory says" },
        None => free,
    };
    if have < LEAST && data > 0 {
        let need = format!("{LEAST} bytes of memory are needed at least (its data take {data})");
        bail!("{}: {need}, {have} may be used: {limit}", shown(path));
    }
    Ok(have)
}

/// Explains what memory that was refused was for; any other error stays as it is.
fn of_memory(error: Error, path: &Path, data: usize) -> Error {
    let is_memory = |error: &turntile::Error| match error.kind() {
        ErrorKind::OutOfMemory { bytes } => Some(bytes),
        _ => None,
    };
    let Some(asked) = error.downcast_ref().and_then(is_memory) else { return error };
    let free = match memory::free() {
        Some(Free { bytes, limit }) => format!("{bytes} are free ({limit})"),
        None => "--memory says how many to take at most".to_string(),
    };
    let asked = format!("{asked} of memory were asked for and not given");
    let name = shown(path);
    anyhow!("not enough memory for {name}: its data take {data} bytes, {asked}; {free}")
}

/// A change of a file: new bytes before the data, and a permutation of the data.
#[derive(Debug)]
pub struct Change {
    /// Everything before the data in the new file.
    pub header: Vec<u8>,
    /// Bytes of the data, which end the old file and the new.
    pub data_bytes: usize,
    /// How the data are permuted, if they are.
    pub step: Option<Transpose>,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Done {
    /// Time to read the data.
    pub read: Duration,
    /// Time to run the plan; to read, move and write all blocks or records where they are moved some at a time.
    pub transpose: Duration,
    /// Time to write and sync the new file and rename it.
    pub write: Duration,
    /// The plan, where it ran in memory.
    pub plan: Option<Transposer>,
    /// How it was moved where it did not fit.
    pub blocks: Option<OutOfCore>,
    /// Whether records are written to a file of each field, some at a time.
    pub split: bool,
    /// The most bytes of memory that it might take.
    pub memory: usize,
    /// Whether nothing was to be done yet.
    pub dry: bool,
    /// Why the new file, though in place, may not outlast a power cut.
    pub unsynced: Option<Error>,
}

/// Makes `change` of the input and puts the result where it goes: in memory where there is enough, else block by block.
pub fn apply(
    (mut input, target): (Input, Option<Target>),
    change: &Change,
    common: &Common,
    progress: &Progress,
) -> Result<Done> {
    // All that can be refused is refused before the first byte of data is read.
    let memory = allowed(input.path(), change.data_bytes, common.memory)?;
    let (plan, blocks) = planned(input.path(), change, &common.settings, memory)?;
    let bytes = (change.header.len() + change.data_bytes) as u64;
    let sink = Sink::begin(&mut input, target, bytes, common.quiet)?;
    let mut done = Done { memory, dry: common.dry_run, ..Done::default() };
    if !done.dry {
        let moved = match &blocks {
            None => in_memory(&mut input, &sink, change, (plan.as_ref(), &mut done), progress),
            Some(stored) => in_blocks(&mut input, &sink, change, (stored, &mut done), progress),
        };
        moved.map_err(|error| of_memory(error, input.path(), change.data_bytes))?;
        progress.waiting("syncing");
        let start = Instant::now();
        done.unsynced = sink.commit(&input)?;
        done.write += start.elapsed();
    }
    Ok(Done { plan, blocks, ..done })
}

/// The plan for all in memory, if something has to move; where memory is too small for that, how blocks are moved.
fn planned(
    path: &Path,
    change: &Change,
    settings: &Settings,
    memory: usize,
) -> Result<(Option<Transposer>, Option<OutOfCore>)> {
    let (bytes, room) = (change.data_bytes, memory::less_the_command(memory));
    let unmoved = || Transpose::permute::<u8>(&[bytes], &[0]).itemsize(1);
    let transpose = match &change.step {
        Some(step) => settings.apply(step.clone())?,
        None => unmoved(),
    };
    let by_blocks = settings.route.is_none() && transpose.problem()?.records().is_none();
    let moves = change.step.is_some() && (bytes <= memory || !by_blocks);
    let plan = if moves { Some(transpose.plan()?) } else { None };
    let workspace = plan.as_ref().map_or(0, Transposer::workspace_bytes);
    if bytes.saturating_add(workspace) <= room || bytes == 0 {
        return Ok((plan, None));
    }
    if !by_blocks {
        let what = match settings.route {
            Some(_) => ("--route is for data", "; see --memory"),
            // A headerless file is not split into its fields.
            None if change.header.is_empty() => ("records are moved", ""),
            None => ("records are moved", "; --split writes a file of each field in less"),
        };
        return Err(too_large(path, what, (bytes, workspace), memory));
    }
    let through_files = change.step.clone().unwrap_or_else(unmoved);
    Ok((None, Some(settings.on_threads(through_files).stored(room)?)))
}

/// What is to be in memory, and is more than may be used.
pub fn too_large(
    path: &Path,
    (what, hint): (&str, &str),
    (bytes, workspace): (usize, usize),
    memory: usize,
) -> Error {
    let all = bytes.saturating_add(workspace);
    let need = memory::with_the_command(all);
    let own = need - all;
    let parts = format!("{bytes} bytes of data, {workspace} of workspace and {own} of the command");
    let name = shown(path);
    anyhow!("{name}: {what} in memory: {parts} are {need}, and {memory} may be used{hint}")
}

fn in_memory(
    input: &mut Input,
    sink: &Sink,
    change: &Change,
    (plan, done): (Option<&Transposer>, &mut Done),
    progress: &Progress,
) -> Result<()> {
    let bytes = change.data_bytes;
    let start = Instant::now();
    let mut memory = AnonymousMap::new(bytes, Pages::Huge)?;
    let data = &mut memory.bytes()[..bytes];
    progress.bytes("reading", bytes);
    input.data(bytes, |from| {
        for (number, chunk) in data.chunks_mut(CHUNK).enumerate() {
            progress.set(number * CHUNK);
            from.read_exact(chunk)?;
        }
        Ok(())
    })?;
    done.read = start.elapsed();

    let start = Instant::now();
    if let Some(plan) = plan {
        progress.passes("transposing", plan.plan().passes());
        let mut passed = |passes| progress.set(passes);
        plan.run_with(&mut RawElements(&mut *data), RunOptions::new().progress(&mut passed))?;
    }
    done.transpose = start.elapsed();

    let start = Instant::now();
    sink.put(input, &change.header, (&mut &*data, bytes), progress)?;
    done.write = start.elapsed();
    Ok(())
}

/// What is no plain file lies in a temporary file before or after.
fn in_blocks(
    input: &mut Input,
    sink: &Sink,
    change: &Change,
    (stored, done): (&OutOfCore, &mut Done),
    progress: &Progress,
) -> Result<()> {
    let bytes = change.data_bytes;
    let start = Instant::now();
    let read = match input.part(bytes) {
        Some(_) => None,
        None => Some(spooled(input, sink, bytes, progress)?),
    };
    done.read = start.elapsed();

    let start = Instant::now();
    let written = match sink.plain() {
        Some(_) => None,
        None => Some(sink.scratch(bytes as u64)?),
    };
    let path = input.path();
    let temporary = |file| Part { file, path, start: 0 };
    let from = read.as_ref().map(temporary).or_else(|| input.part(bytes));
    let onto = match sink.plain() {
        Some(pending) => {
            let (mut file, path) = (pending.file(), pending.path());
            file.write_all(&change.header).on("write the new", path)?;
            Some(Part { file, path, start: change.header.len() as u64 })
        }
        None => written.as_ref().map(temporary),
    };
    let parts = from.zip(onto).expect("what is no part of a file has a temporary one");
    transfer::in_blocks(stored, parts, bytes, |bytes| sink.scratch(bytes), progress)?;
    drop(read);
    done.transpose = start.elapsed();

    let start = Instant::now();
    if let Some(mut written) = written {
        written.rewind().on("read a temporary file for", input.path())?;
        let mut data = BufReader::with_capacity(COPIED, written);
        sink.put(input, &change.header, (&mut data, bytes), progress)?;
    }
    done.write = start.elapsed();
    Ok(())
}

/// The data in a temporary file.
fn spooled(input: &mut Input, sink: &Sink, bytes: usize, progress: &Progress) -> Result<File> {
    let mut file = sink.scratch(bytes as u64)?;
    progress.bytes("reading", bytes);
    input.data(bytes, |from| {
        // No more than expected: surplus data are another error.
        let from = &mut BufReader::with_capacity(COPIED, from.take(bytes as u64));
        copy(from, &mut file, bytes, progress)
    })?;
    Ok(file)
}
