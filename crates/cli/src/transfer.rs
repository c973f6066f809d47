//! Data in motion: streams, and files larger than memory in blocks.

use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Write};
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};

use anyhow::Result;
use turntile::stored::{OutOfCore, ReadAt, StoredError, WriteAt};

use crate::error::On;
use crate::file::changed;
use crate::memory::{AnonymousMap, Pages};
use crate::progress::Progress;

/// Bytes moved between two updates of the progress bar.
pub const CHUNK: usize = 8 << 20;

/// An error of the writer, not of the reader.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Unwritten(io::Error);

/// Marks an error as the writer's.
pub fn unwritten(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), Unwritten(error))
}

/// Returns whether the writer of [`copy`] failed.
pub fn is_unwritten(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<Unwritten>())
}

/// Copies `bytes` bytes and shows the progress.
pub fn copy(
    from: &mut dyn BufRead,
    to: &mut dyn Write,
    bytes: usize,
    progress: &Progress,
) -> io::Result<()> {
    let mut copied = 0;
    while copied < bytes {
        let part = from.fill_buf()?;
        let part = &part[..part.len().min(CHUNK).min(bytes - copied)];
        if part.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        to.write_all(part).map_err(unwritten)?;
        copied += part.len();
        let count = part.len();
        from.consume(count);
        progress.set(copied);
    }
    Ok(())
}

/// Runs shorter than this, in bytes, are shorter than the system's read-ahead.
const AHEAD: u64 = 1 << 20;

/// A file from an offset on.
pub struct Part<'a> {
    pub file: &'a File,
    /// The path to report in errors.
    pub path: &'a Path,
    pub start: u64,
}

/// Largest request to read ahead, in bytes, that Linux fetches whole by default.
const ANNOUNCED: usize = 128 << 10;

impl Part<'_> {
    /// Has the system fetch `bytes` bytes in order: disks are slow at the short runs that blocks read.
    pub fn fetch_in_order(&self, bytes: usize) {
        (0..bytes).step_by(ANNOUNCED).all(|at| self.fetch(at as u64, ANNOUNCED.min(bytes - at)));
    }
}

impl ReadAt for Part<'_> {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, self.start + offset)
    }

    fn fetch(&self, offset: u64, bytes: usize) -> bool {
        advise(self.file, self.start + offset, bytes, true)
    }
}

impl WriteAt for Part<'_> {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut file = self.file;
        file.write_all_at(bytes, self.start + offset)
    }
}

/// Advises the system to fetch `bytes` bytes now, or not to read ahead: the bytes after a run are not read next.
fn advise(file: &File, offset: u64, bytes: usize, fetch: bool) -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::fs::{Advice, fadvise};
        let advice = if fetch { Advice::WillNeed } else { Advice::Random };
        fadvise(file, offset, std::num::NonZeroU64::new(bytes as u64), advice).is_ok()
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = (file, offset, bytes, fetch);
        false
    }
}

/// Maximum number of syncs during a move, and minimum bytes between two syncs. Without them the system begins to write to disk
/// later: 2.16 GB took 3.7 s, and 6.1 s with one sync at the end (two Xeon cores, 2026-11).
const SYNCS: (u64, u64) = (8, 64 << 20);

/// Moves `bytes` bytes from one part to the other. Meanwhile syncs the destination, on at most
/// `most_syncs` threads at a time. `scratch` creates the file between two passes.
pub fn in_blocks(
    stored: &OutOfCore,
    (from, mut onto): (Part<'_>, Part<'_>),
    (bytes, most_syncs): (usize, usize),
    scratch: impl FnOnce(u64) -> Result<File>,
    progress: &Progress,
) -> Result<()> {
    let need = stored.buffer_bytes();
    let mut buffer = AnonymousMap::new(need, Pages::Huge)?;
    let scratch = match stored.scratch_bytes() {
        0 => None,
        bytes => Some(scratch(bytes)?),
    };
    let mut between = scratch.as_ref().map(|file| Part { file, path: onto.path, start: 0 });
    if stored.shortest_run() < AHEAD {
        for file in std::iter::once(from.file).chain(&scratch) {
            // Otherwise some bytes are read in vain.
            advise(file, 0, 0, false);
        }
    }
    let all = bytes.saturating_mul(2 * stored.passes());
    progress.bytes("moving", all);
    let (count, least) = SYNCS;
    // Each byte counts when it is read and when it is written.
    let step = 2 * (bytes as u64 / count).max(least);
    let (file, mut moved, mut next) = (onto.file, 0, if most_syncs > 0 { step } else { u64::MAX });
    let buffer = &mut buffer.bytes()[..need];
    let done = thread::scope(|scope| {
        let mut syncs: Vec<ScopedJoinHandle<io::Result<()>>> = Vec::new();
        let done = stored.run_in(buffer, &from, &mut onto, between.as_mut(), |more| {
            moved += more;
            let running = |syncs: &[ScopedJoinHandle<_>]| {
                syncs.iter().filter(|sync| !sync.is_finished()).count()
            };
            if moved >= next && moved < all as u64 && running(&syncs) < most_syncs {
                next = moved + step;
                // Without a thread, all is synced at the end.
                syncs.extend(thread::Builder::new().spawn_scoped(scope, || file.sync_data()));
            }
            progress.set(usize::try_from(moved).unwrap_or(usize::MAX));
        });
        progress.waiting("syncing");
        // A later sync does not report these errors again.
        let ended = syncs.into_iter().map(|sync| sync.join().expect("a sync does not panic"));
        let synced = ended.fold(Ok(()), io::Result::and);
        done.and(synced.map_err(StoredError::Write))
    });
    match done {
        Err(StoredError::Read(error)) if error.kind() == ErrorKind::UnexpectedEof => {
            Err(changed(from.path))
        }
        Err(StoredError::Read(error)) => Err(error).on("read", from.path),
        Err(StoredError::Write(error)) => Err(error).on("write the new", onto.path),
        Err(StoredError::Engine(error)) => Err(error.into()),
        done => Ok(done?),
    }
}
