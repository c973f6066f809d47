//! Reading, transposing and writing: the part that every command on a file shares.

use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use turntile::plan::Problem;
use turntile::{Bytes, Options, Planned};

use crate::error::Error;
use crate::file::{self, Pending, Source, Target};
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

/// What is to become of a file: new bytes before the data, and transpositions of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Everything before the data in the new file.
    pub header: Vec<u8>,
    /// Bytes of the data, which end the old file and the new.
    pub data_bytes: usize,
    /// Run one after the other.
    pub steps: Vec<Problem>,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Done {
    /// Time to read the data.
    pub read: Duration,
    /// Time to run the plans.
    pub transpose: Duration,
    /// Time to write and sync the new file and rename it.
    pub write: Duration,
    /// The plan of each transposition.
    pub plans: Vec<Planned>,
    /// Why the new file, though in place, may not outlast a power cut.
    pub unsynced: Option<Error>,
}

/// Makes `change` of `source` and puts the result in the target's place.
pub fn apply(
    (mut source, target): (Source, Target),
    change: &Change,
    settings: &Settings,
    progress: &Progress,
) -> Result<Done, Error> {
    let mut done = Done::default();
    // All that can be refused is refused before the first byte of data is read.
    for problem in &change.steps {
        done.plans.push(settings.transpose(problem).plan()?);
    }
    let passes = |plan: &Planned| plan.plan().passes();
    let pending = file::begin(target, Some((&source.file, &source.metadata)))?;

    let start = Instant::now();
    let room = done.plans.iter().map(|plan| plan.plan().room_bytes()).max().unwrap_or(0);
    let room = room.max(change.data_bytes);
    let mut memory = read(&mut source, change.data_bytes, room, progress)?;
    done.read = start.elapsed();

    let start = Instant::now();
    progress.passes("transposing", done.plans.iter().map(passes).sum());
    let data = memory.bytes();
    let mut before = 0;
    for plan in &done.plans {
        let matrix = &mut data[..plan.plan().room_bytes()];
        let mut tell = |done| progress.set(before + done);
        plan.run_with(&mut Bytes(matrix), Options::new().progress(&mut tell))?;
        before += passes(plan);
    }
    done.transpose = start.elapsed();

    let start = Instant::now();
    write(&pending, &change.header, &data[..change.data_bytes], progress)?;
    drop(memory);
    done.unsynced = pending.commit(|| source.unchanged())?;
    done.write = start.elapsed();
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
