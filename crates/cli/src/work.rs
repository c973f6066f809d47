//! Reading, transposing and writing: the part that every command on a file shares.

use std::io::{BufReader, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow, bail};
use turntile::plan::Problem;
use turntile::stored::Stored;
use turntile::{Bytes, Options, Planned, RunError, Transpose};

use crate::blocks::{self, Part};
use crate::common::Common;
use crate::copy::copy;
use crate::error::On;
use crate::file::Target;
use crate::free::{self, Free};
use crate::input::Input;
use crate::memory::{Memory, Pages};
use crate::output::Sink;
use crate::progress::Progress;
use crate::say::shown;
use crate::settings::Settings;
use crate::values::Amount;

/// Bytes read between two movements of the progress bar.
const CHUNK: usize = 8 << 20;

/// Bytes copied at a time from or to a temporary file.
const COPIED: usize = 1 << 18;

/// Memory that nothing is moved in less of: the command alone takes more, and runs would be of a few bytes.
const LEAST: usize = 1 << 20;

/// Bytes of memory that may be used to change the data of a file.
fn allowed(path: &Path, data: usize, asked: Option<Amount>) -> Result<usize> {
    let free = free::memory().unwrap_or(Free { bytes: usize::MAX, limit: free::MACHINE });
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
    let is_memory = |error: &turntile::Error| match error {
        turntile::Error::Run(RunError::OutOfMemory { bytes }) => Some(*bytes),
        _ => None,
    };
    let Some(asked) = error.downcast_ref().and_then(is_memory) else { return error };
    let free = match free::memory() {
        Some(Free { bytes, limit }) => format!("{bytes} are free ({limit})"),
        None => "--memory says how many to take at most".to_string(),
    };
    let asked = format!("{asked} of memory were asked for and not given");
    let name = shown(path);
    anyhow!("not enough memory for {name}: its data take {data} bytes, {asked}; {free}")
}

/// Reads the data into memory.
fn read(input: &mut Input, bytes: usize, progress: &Progress) -> Result<Memory> {
    let mut memory = Memory::new(bytes, Pages::Huge)?;
    progress.bytes("reading", bytes);
    input.data(bytes, |from| {
        let mut read = 0;
        for chunk in memory.bytes()[..bytes].chunks_mut(CHUNK) {
            from.read_exact(chunk)?;
            read += chunk.len();
            progress.set(read);
        }
        Ok(())
    })?;
    Ok(memory)
}

/// A change of a file: new bytes before the data, and a permutation of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Everything before the data in the new file.
    pub header: Vec<u8>,
    /// Bytes of the data, which end the old file and the new.
    pub data_bytes: usize,
    /// How the data are permuted, if they are.
    pub step: Option<Problem>,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Done {
    /// Time to read the data.
    pub read: Duration,
    /// Time to run the plan; to read, permute and write all blocks where it did not fit in memory.
    pub transpose: Duration,
    /// Time to write and sync the new file and rename it.
    pub write: Duration,
    /// The plan, where it ran in memory.
    pub plan: Option<Planned>,
    /// How it was moved where it did not fit.
    pub blocks: Option<Stored>,
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
    Common { settings, memory, dry_run, quiet, .. }: &Common,
    progress: &Progress,
) -> Result<Done> {
    // All that can be refused is refused before the first byte of data is read.
    let memory = allowed(input.path(), change.data_bytes, *memory)?;
    let planned = match &change.step {
        Some(problem) if change.data_bytes <= memory => Some(settings.transpose(problem).plan()?),
        _ => None,
    };
    let extra = planned.as_ref().map_or(0, Planned::workspace_bytes);
    let need = change.data_bytes.saturating_add(extra);
    let fits = need <= free::less_the_command(memory) || change.data_bytes == 0;
    if !fits && settings.route.is_some() {
        let (name, need) = (shown(input.path()), format!("which takes {need} bytes"));
        bail!(
            "{name}: --route is for data in memory, {need}, and there are {memory}; see --memory"
        );
    }
    let stored = if fits { None } else { Some(plan_blocks(change, settings, memory)?) };
    let bytes = (change.header.len() + change.data_bytes) as u64;
    let sink = Sink::begin(&mut input, target, bytes, *quiet)?;
    let mut done = Done {
        plan: planned.filter(|_| fits),
        blocks: stored.clone(),
        memory,
        dry: *dry_run,
        ..Done::default()
    };
    if *dry_run {
        return Ok(done);
    }
    let moved = match &stored {
        None => in_memory(&mut input, &sink, change, &mut done, progress),
        Some(stored) => in_blocks(&mut input, &sink, change, (stored, &mut done), progress),
    };
    moved.map_err(|error| of_memory(error, input.path(), change.data_bytes))?;
    progress.waiting("syncing");
    let start = Instant::now();
    done.unsynced = sink.commit(&input)?;
    done.write += start.elapsed();
    Ok(done)
}

fn plan_blocks(change: &Change, settings: &Settings, memory: usize) -> Result<Stored> {
    let transpose = match &change.step {
        Some(problem) => settings.transpose(problem),
        None => Transpose::of_axes_bytes(&[change.data_bytes], &[0], 1),
    };
    Ok(transpose.stored(free::less_the_command(memory))?)
}

fn in_memory(
    input: &mut Input,
    sink: &Sink,
    change: &Change,
    done: &mut Done,
    progress: &Progress,
) -> Result<()> {
    let start = Instant::now();
    let mut memory = read(input, change.data_bytes, progress)?;
    done.read = start.elapsed();

    let start = Instant::now();
    let data = &mut memory.bytes()[..change.data_bytes];
    if let Some(planned) = &done.plan {
        progress.passes("transposing", planned.plan().passes());
        let mut tell = |done| progress.set(done);
        planned.run_with(&mut Bytes(&mut *data), Options::new().progress(&mut tell))?;
    }
    done.transpose = start.elapsed();

    let start = Instant::now();
    sink.put(input, &change.header, (&mut &*data, change.data_bytes), progress)?;
    done.write = start.elapsed();
    Ok(())
}

/// What is no file, or no plain one, lies in a temporary file before or after.
fn in_blocks(
    input: &mut Input,
    sink: &Sink,
    change: &Change,
    (stored, done): (&Stored, &mut Done),
    progress: &Progress,
) -> Result<()> {
    let bytes = change.data_bytes;
    let start = Instant::now();
    let read = match input.plain() {
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
    let from = match (&read, input.source()) {
        (None, Some(source)) => {
            Part { file: &source.file, path, start: source.bytes() - bytes as u64 }
        }
        (read, _) => Part { file: read.as_ref().expect("no file, so it was read"), path, start: 0 },
    };
    let onto = match (&written, sink.plain()) {
        (None, Some(pending)) => {
            pending.file().write_all(&change.header).on("write the new", pending.path())?;
            let start = change.header.len() as u64;
            Part { file: pending.file(), path: pending.path(), start }
        }
        (written, _) => {
            Part { file: written.as_ref().expect("no file, so there is another"), path, start: 0 }
        }
    };
    blocks::run(stored, (from, onto), bytes, |bytes| sink.scratch(bytes), progress)?;
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
fn spooled(
    input: &mut Input,
    sink: &Sink,
    bytes: usize,
    progress: &Progress,
) -> Result<std::fs::File> {
    let mut file = sink.scratch(bytes as u64)?;
    progress.bytes("reading", bytes);
    input.data(bytes, |from| {
        // No more than expected: surplus data are another error.
        let from = &mut BufReader::with_capacity(COPIED, from.take(bytes as u64));
        copy(from, &mut file, bytes, progress)
    })?;
    Ok(file)
}
