//! Where a result goes: a new file, an archive with a new member, standard output.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::path::Path;

use crate::archive::of_archive;
use crate::closed;
use crate::common::Goal;
use crate::error::{ArchiveError, Error};
use crate::file::{self, Asking, Pending, Target};
use crate::input::Input;
use crate::progress::Progress;

/// Bytes written between two movements of the progress bar.
const CHUNK: usize = 8 << 20;

/// Bytes copied at a time from one file to another.
const COPIED: usize = 1 << 18;

/// Where a result is to go; nothing is made yet.
pub enum Output {
    /// A file to be replaced or made.
    File(Box<Target>),
    /// Standard output.
    Stdout,
}

/// Opens and locks what is read and what is replaced.
pub fn open(
    path: &Path,
    goal: &Goal,
    (member, raw): (Option<&str>, bool),
    asking: &Asking,
) -> Result<(Input, Output), Error> {
    if let Goal::New(output) = goal
        && output.symlink_metadata().is_ok()
    {
        return Err(Error::Exists { path: output.clone() });
    }
    if *goal == Goal::Stdout {
        refuse_output()?;
    }
    let is_stdin = path == Path::new(crate::common::DASH);
    let (input, output) = match (is_stdin, goal) {
        (true, Goal::InPlace | Goal::Stdout) => (Input::stdin(path, member)?, Output::Stdout),
        (true, Goal::New(output) | Goal::Over(output)) => {
            let target = file::claim_target(output, asking)?;
            (Input::stdin(path, member)?, Output::File(Box::new(target)))
        }
        (false, Goal::Stdout) => {
            let source = file::claim_source(path, asking)?;
            (Input::of_file(source, member, raw)?, Output::Stdout)
        }
        (false, _) => {
            let (source, target) = file::claim(path, goal.path(), asking)?;
            (Input::of_file(source, member, raw)?, Output::File(Box::new(target)))
        }
    };
    let is_member = input.member().is_some();
    let Output::File(target) = &output else {
        let no_archive = Err(of_archive(path, ArchiveError::ToStdout));
        return if is_member { no_archive } else { Ok((input, output)) };
    };
    // Made since it was looked for.
    if matches!(goal, Goal::New(_)) && target.replaced.is_some() {
        return Err(Error::Exists { path: target.path.clone() });
    }
    if is_member && goal.path().is_some_and(|path| path.extension().is_some_and(|end| end == "npy"))
    {
        return Err(of_archive(&target.path, ArchiveError::OutputName));
    }
    Ok((input, output))
}

/// Refuses standard output where data would come to nobody, or to somebody's eyes.
fn refuse_output() -> Result<(), Error> {
    let stream = "output";
    match closed::output() {
        true => Err(Error::Closed { stream }),
        false if io::stdout().is_terminal() => Err(Error::Terminal { stream }),
        false => Ok(()),
    }
}

/// A result's data.
pub enum Data<'a> {
    /// In memory.
    Memory(&'a [u8]),
    /// In a file, from its beginning on.
    File(&'a File, usize),
}

/// A result that is being written; dropped before it is committed it leaves nothing, but for what standard output has had.
pub enum Sink {
    /// As it is.
    File(Pending),
    /// As a member among others.
    Archive(Pending),
    /// To whoever reads it.
    Stdout,
}

impl Sink {
    /// Begins a result of so many bytes, with room for all of it.
    pub fn begin(
        input: &mut Input,
        output: Output,
        bytes: u64,
        quiet: bool,
    ) -> Result<Self, Error> {
        let Output::File(target) = output else { return Ok(Sink::Stdout) };
        let room = match input.archive() {
            Some(archive) => archive.room(bytes)?,
            None => bytes,
        };
        let source = input.source().map(|source| (&source.file, &source.metadata));
        let pending = file::begin(*target, source, room, quiet)?;
        Ok(if input.member().is_some() { Sink::Archive(pending) } else { Sink::File(pending) })
    }

    /// The new file, if the data go into it as they are.
    pub fn plain(&self) -> Option<&Pending> {
        match self {
            Sink::File(pending) => Some(pending),
            _ => None,
        }
    }

    /// A file of so many bytes for what does not fit in memory.
    pub fn scratch(&self, bytes: u64) -> Result<File, Error> {
        match self {
            Sink::File(pending) | Sink::Archive(pending) => {
                file::scratch(Some(pending.target()), bytes)
            }
            Sink::Stdout => file::scratch(None, bytes),
        }
    }

    /// Writes all of the result, once.
    pub fn put(
        &self,
        input: &mut Input,
        header: &[u8],
        data: Data<'_>,
        progress: &Progress,
    ) -> Result<(), Error> {
        match (self, input.archive()) {
            (Sink::Archive(pending), Some(archive)) => {
                let bytes = header.len() + data.bytes();
                archive.rewrite(pending.file(), bytes as u64, |to| {
                    put(to, header, &data, progress)
                        .map_err(Error::io("write the new", pending.path()))
                })
            }
            (Sink::File(pending) | Sink::Archive(pending), _) => {
                put(&mut pending.file(), header, &data, progress)
                    .map_err(Error::io("write the new", pending.path()))
            }
            (Sink::Stdout, _) => {
                let mut to = io::stdout().lock();
                let done = put(&mut to, header, &data, progress).and_then(|()| to.flush());
                done.map_err(|error| match error.kind() {
                    ErrorKind::BrokenPipe => Error::BrokenPipe,
                    _ => Error::io("write to", Path::new("standard output"))(error),
                })
            }
        }
    }

    /// Puts what was written in its place, if the input is as it was; returns what may have to be warned of.
    pub fn commit(self, input: &Input) -> Result<Option<Error>, Error> {
        match self {
            Sink::File(pending) | Sink::Archive(pending) => pending.commit(|| input.unchanged()),
            Sink::Stdout => Ok(None),
        }
    }
}

impl Data<'_> {
    fn bytes(&self) -> usize {
        match self {
            Data::Memory(data) => data.len(),
            Data::File(_, bytes) => *bytes,
        }
    }
}

fn put(to: &mut dyn Write, header: &[u8], data: &Data<'_>, progress: &Progress) -> io::Result<()> {
    progress.bytes("writing", data.bytes());
    to.write_all(header)?;
    let mut written = 0;
    let mut told = |more| {
        written += more;
        progress.set(written);
    };
    match data {
        Data::Memory(data) => {
            for chunk in data.chunks(CHUNK) {
                to.write_all(chunk)?;
                told(chunk.len());
            }
        }
        Data::File(file, bytes) => {
            io::Seek::rewind(&mut &**file)?;
            copy(&mut (&mut &**file).take(*bytes as u64), to, *bytes, &mut told)?;
        }
    }
    Ok(())
}

/// Copies so many bytes, and tells how many more.
pub fn copy(
    from: &mut dyn Read,
    to: &mut (impl Write + ?Sized),
    bytes: usize,
    told: &mut dyn FnMut(usize),
) -> io::Result<()> {
    let mut buffer = vec![0; COPIED.min(bytes)];
    let mut left = bytes;
    while left > 0 {
        let part = &mut buffer[..COPIED.min(left)];
        from.read_exact(part)?;
        to.write_all(part)?;
        left -= part.len();
        told(part.len());
    }
    Ok(())
}
