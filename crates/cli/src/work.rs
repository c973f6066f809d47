//! Reading, transposing and writing: the part that every command on a file shares.

use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use turntile::plan::Problem;
use turntile::{Bytes, Options, Planned, Transpose};

use crate::args::Common;
use crate::blocks;
use crate::error::Error;
use crate::file::{self, Pending, Source, Target};
use crate::free;
use crate::memory::{Memory, Pages};
use crate::progress::Progress;
use crate::settings::Settings;

/// Bytes read or written between two movements of the progress bar.
const CHUNK: usize = 8 << 20;

/// Reads the last `bytes` bytes of the source, into memory with room for `room`, zero from there on.
fn read(
    source: &mut Source,
    bytes: usize,
    room: usize,
    progress: &Progress,
) -> Result<Memory, Error> {
    let mut memory = Memory::new(room, Pages::Huge)
        .map_err(|_| Error::Memory { path: source.path.clone(), bytes: room })?;
    let from = SeekFrom::Start(source.bytes() - bytes as u64);
    source.file.seek(from).map_err(Error::io("read", &source.path))?;
    progress.bytes("reading", bytes);
    let mut read = 0;
    for chunk in memory.bytes()[..bytes].chunks_mut(CHUNK) {
        source.file.read_exact(chunk).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => source.changed(),
            _ => Error::io("read", &source.path)(error),
        })?;
        read += chunk.len();
        progress.set(read);
    }
    Ok(memory)
}

/// What is to become of a file: new bytes before the data, and a permutation of the data.
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
    pub blocks: Option<blocks::Facts>,
    /// Whether nothing was to be done yet.
    pub dry: bool,
    /// Why the new file, though in place, may not outlast a power cut.
    pub unsynced: Option<Error>,
}

/// Makes `change` of `source` and puts the result in the target's place: in memory where there is enough, else block by block.
pub fn apply(
    claimed: (Source, Target),
    change: &Change,
    Common { settings, memory, dry_run, quiet, .. }: &Common,
    progress: &Progress,
) -> Result<Done, Error> {
    // All that can be refused is refused before the first byte of data is read.
    let free = free::memory().unwrap_or(usize::MAX);
    let memory = memory.map_or(free, |amount| amount.of(free));
    let rates = settings.rates.host(*quiet)?;
    let planned = match &change.step {
        Some(problem) if change.data_bytes <= memory => {
            Some(settings.transpose(problem, rates).plan()?)
        }
        _ => None,
    };
    let extra = planned.as_ref().map_or(0, Planned::extra_bytes);
    let need = change.data_bytes.saturating_add(extra);
    let fits = need <= free::less_the_command(memory) || change.data_bytes == 0;
    if *dry_run && fits {
        drop(begin(&claimed.0, claimed.1, change)?);
        return Ok(Done { plan: planned, dry: true, ..Done::default() });
    }
    if fits {
        return in_memory(claimed, change, planned, progress);
    }
    if settings.route.is_some() {
        return Err(Error::RouteInBlocks { path: claimed.0.path, need, have: memory });
    }
    in_blocks(claimed, change, (settings, *dry_run), memory, progress)
}

/// Opens the new file, with room for all of it.
fn begin(source: &Source, target: Target, change: &Change) -> Result<Pending, Error> {
    let bytes = (change.header.len() + change.data_bytes) as u64;
    file::begin(target, Some((&source.file, &source.metadata)), bytes)
}

fn in_memory(
    (mut source, target): (Source, Target),
    change: &Change,
    planned: Option<Planned>,
    progress: &Progress,
) -> Result<Done, Error> {
    let mut done = Done::default();
    let pending = begin(&source, target, change)?;

    let start = Instant::now();
    let room = planned.as_ref().map_or(0, |plan| plan.plan().room_bytes());
    let mut memory = read(&mut source, change.data_bytes, room.max(change.data_bytes), progress)?;
    done.read = start.elapsed();

    let start = Instant::now();
    let data = memory.bytes();
    if let Some(planned) = &planned {
        progress.passes("transposing", planned.plan().passes());
        let mut tell = |done| progress.set(done);
        let matrix = &mut data[..planned.plan().room_bytes()];
        planned.run_with(&mut Bytes(matrix), Options::new().progress(&mut tell))?;
    }
    done.transpose = start.elapsed();

    let start = Instant::now();
    write(&pending, &change.header, &data[..change.data_bytes], progress)?;
    drop(memory);
    progress.waiting("syncing");
    done.unsynced = pending.commit(|| source.unchanged())?;
    done.write = start.elapsed();
    done.plan = planned;
    Ok(done)
}

fn in_blocks(
    (source, target): (Source, Target),
    change: &Change,
    (settings, dry): (&Settings, bool),
    memory: usize,
    progress: &Progress,
) -> Result<Done, Error> {
    let mut done = Done::default();
    let transpose = match &change.step {
        Some(problem) => settings.transpose(problem, settings.rates.host(true)?),
        None => Transpose::of_axes_bytes(1, &[change.data_bytes], &[0]),
    };
    let stored = blocks::plan(&transpose, memory)?;
    let facts = blocks::Facts::of(&stored, memory);
    let pending = begin(&source, target, change)?;
    if dry {
        return Ok(Done { blocks: Some(facts), dry, ..done });
    }
    let start = Instant::now();
    pending.file().write_all(&change.header).map_err(Error::io("write the new", pending.path()))?;
    blocks::run(&stored, &source, &pending, (change.header.len(), change.data_bytes), progress)?;
    done.transpose = start.elapsed();
    let start = Instant::now();
    done.unsynced = pending.commit(|| source.unchanged())?;
    done.write = start.elapsed();
    done.blocks = Some(facts);
    Ok(done)
}

fn write(pending: &Pending, header: &[u8], data: &[u8], progress: &Progress) -> Result<(), Error> {
    let failed = || Error::io("write the new", pending.path());
    progress.bytes("writing", data.len());
    let mut file = pending.file();
    file.write_all(header).map_err(failed())?;
    let mut written = 0;
    for chunk in data.chunks(CHUNK) {
        file.write_all(chunk).map_err(failed())?;
        written += chunk.len();
        progress.set(written);
    }
    Ok(())
}
