//! Destinations of results: a new file, or standard output.

use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Error, Result};

use crate::change::Change;
use crate::error::On;
use crate::file::{self, NewFile, Target, changed};
use crate::progress::Progress;
use crate::say::BrokenPipe;
use crate::source::{Source, refuse_terminal};
use crate::transfer::copy;

/// A result that is being written. Dropped before the commit, it leaves nothing but what standard output already has.
pub struct Sink(Option<NewFile>);

impl Sink {
    /// Begins the result of a change with space for all of it. Without a target it goes to standard output.
    pub fn begin(
        source: &Source,
        target: Option<Target>,
        change: &Change,
        quiet: bool,
    ) -> Result<Self> {
        let Some(target) = target else {
            refuse_terminal(io::stdout(), "output")?;
            return Ok(Sink(None));
        };
        NewFile::create(target, source.opened(), change.end() + change.tail, quiet)
            .map(Some)
            .map(Sink)
    }

    /// Returns the new file; `None` for standard output.
    pub fn file(&self) -> Option<&NewFile> {
        self.0.as_ref()
    }

    /// Creates a file of `bytes` bytes for what does not fit in memory.
    pub fn scratch(&self, bytes: u64) -> Result<File> {
        file::scratch(self.0.as_ref(), bytes)
    }

    /// Writes the whole result: what is before the data, the data, and what follows it.
    pub fn put(
        &self,
        source: &mut Source,
        change: &Change,
        data: &mut dyn BufRead,
        progress: &Progress,
    ) -> Result<()> {
        progress.bytes("writing", change.new_bytes);
        match &self.0 {
            Some(new) => {
                let mut to = new.file();
                put_before(source, change, &mut to)
                    .map_err(|error| unwritten(error, new.path()))?;
                copy(data, &mut to, change.new_bytes, progress).on("write the new", new.path())?;
                put_after(source, change, &mut to).map_err(|error| unwritten(error, new.path()))
            }
            None => {
                let mut to = io::stdout().lock();
                let name = Path::new("standard output");
                put_before(source, change, &mut to).map_err(|error| unwritten(error, name))?;
                let copied = copy(data, &mut to, change.new_bytes, progress);
                copied.map_err(|error| unwritten(error.into(), name))?;
                put_after(source, change, &mut to).map_err(|error| unwritten(error, name))?;
                to.flush().map_err(|error| unwritten(error.into(), name))
            }
        }
    }

    /// Replaces the target by the result, if the source is unchanged.
    pub fn commit(self, source: &Source) -> Result<()> {
        self.0.map_or(Ok(()), |new| new.commit(source.opened()))
    }
}

/// Adds the path to an error of writing. Returns [`BrokenPipe`] if the reader of standard output has left.
pub fn unwritten(error: Error, path: &Path) -> Error {
    let is_pipe = |error: &io::Error| error.kind() == ErrorKind::BrokenPipe;
    match error.downcast_ref::<io::Error>() {
        Some(cause) if is_pipe(cause) => BrokenPipe.into(),
        Some(_) => error.context(format!("cannot write to {}", crate::say::shown(path))),
        None => error,
    }
}

/// Writes what is before the data: the new header, then the bytes of the source between its header and the data.
pub fn put_before(source: &mut Source, change: &Change, to: &mut impl Write) -> Result<()> {
    to.write_all(&change.header)?;
    keep(source, change.replaced, change.start - change.replaced, to)
}

/// Writes what follows the data in the source.
pub fn put_after(source: &mut Source, change: &Change, to: &mut impl Write) -> Result<()> {
    keep(source, change.start + change.bytes as u64, change.tail, to)
}

/// Copies `bytes` bytes of the source from offset `from` on.
fn keep(source: &mut Source, from: u64, bytes: u64, to: &mut impl Write) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let path = source.path().to_path_buf();
    let file = source.file()?;
    file.seek(SeekFrom::Start(from)).on("read", &path)?;
    // Between files the system copies.
    let copied = io::copy(&mut file.take(bytes), to)?;
    if copied < bytes { Err(changed(&path)) } else { Ok(()) }
}
