//! Where an array is read from: a file, a member of an archive, standard input.

use std::io::{self, ErrorKind, IsTerminal, Read, Seek, SeekFrom, StdinLock};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::archive::{self, NpzArchive};
use crate::closed;
use crate::error::On;
use crate::file::{Opened, changed};
use crate::npy::Header;
use crate::say::shown;
use crate::transfer::{Part, is_unwritten};

/// An array's bytes, and what is before them.
pub struct Input {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    File(Opened),
    Member(Opened, Box<NpzArchive>),
    Stdin(StdinLock<'static>),
}

impl Input {
    /// A file, or of an archive the member that is named.
    pub fn of_file(mut source: Opened, member: Option<&str>, raw: bool) -> Result<Self> {
        let path = source.path.clone();
        let kind = if !raw && archive::is_archive(&mut source.file).on("read", &path)? {
            let archive = NpzArchive::open(&path, &source.file, member)?;
            Kind::Member(source, Box::new(archive))
        } else {
            let what = "not a .npz archive, of which --member could name an array";
            ensure!(member.is_none(), "{}: {what}", shown(&path));
            Kind::File(source)
        };
        Ok(Input { path, kind })
    }

    /// Standard input, unless somebody would have to type it.
    pub fn stdin(path: &Path, member: Option<&str>) -> Result<Self> {
        let no_archive = "an archive does not come from standard input; name the file";
        ensure!(member.is_none(), "{}: {no_archive}", shown(path));
        closed::input()?;
        refuse_terminal(io::stdin(), "input")?;
        Ok(Input { path: path.to_path_buf(), kind: Kind::Stdin(io::stdin().lock()) })
    }

    /// As the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, if it is one.
    pub fn source(&self) -> Option<&Opened> {
        match &self.kind {
            Kind::File(source) | Kind::Member(source, _) => Some(source),
            Kind::Stdin(_) => None,
        }
    }

    /// The last `bytes` bytes of a file that holds the data as they are.
    pub fn part(&self, bytes: usize) -> Option<Part<'_>> {
        match &self.kind {
            Kind::File(source) => {
                let start = source.bytes().saturating_sub(bytes as u64);
                Some(Part { file: &source.file, path: &self.path, start })
            }
            _ => None,
        }
    }

    /// The archive, if it is in one.
    pub fn archive(&mut self) -> Option<&mut NpzArchive> {
        match &mut self.kind {
            Kind::Member(_, archive) => Some(archive),
            _ => None,
        }
    }

    /// The name of the member, if it is in an archive.
    pub fn member(&self) -> Option<&str> {
        match &self.kind {
            Kind::Member(_, archive) => Some(archive.name()),
            _ => None,
        }
    }

    /// All its bytes, if they can be counted before they are read.
    pub fn bytes(&mut self) -> Result<Option<u64>> {
        match &mut self.kind {
            Kind::File(source) => Ok(Some(source.bytes())),
            Kind::Member(_, archive) => Ok(Some(archive.reader()?.size())),
            Kind::Stdin(_) => Ok(None),
        }
    }

    /// Reads the header.
    pub fn header(&mut self) -> Result<Header> {
        let bytes = self.bytes()?;
        let read = match &mut self.kind {
            Kind::File(source) => Header::read(&mut source.file, bytes),
            Kind::Stdin(stdin) => Header::read(stdin, None),
            Kind::Member(_, archive) => {
                let read = Header::read(&mut archive.reader()?, bytes);
                if read.is_err() {
                    // Perhaps it was another header that was packed.
                    archive.verify()?;
                }
                read
            }
        };
        read.with_context(|| shown(&self.path).to_string())
    }

    /// Has `take` read the data, which are the last `bytes` bytes of a file, or the next ones of standard input, and makes
    /// sure that none follow. Called once at most.
    pub fn data<T>(
        &mut self,
        bytes: usize,
        take: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> Result<T> {
        let mut counted = Counted { read: 0, from: self.reader(bytes)? };
        let taken = take(&mut counted).and_then(|taken| {
            // An archive's check sum is compared here.
            let more = counted.from.read(&mut [0])?;
            Ok((taken, more))
        });
        let have = counted.read;
        drop(counted);
        let input = "standard input";
        match (&self.kind, taken) {
            (_, Ok((taken, 0))) => Ok(taken),
            (_, Err(error)) if is_unwritten(&error) => {
                Err(error).on("write a temporary file for", &self.path)
            }
            (Kind::Member(_, archive), Err(error)) => Err(archive.unreadable(error)),
            (Kind::Stdin(_), Ok(_)) => {
                bail!("{input} continues after the {bytes} bytes of data that were expected")
            }
            (Kind::Stdin(_), Err(error)) if error.kind() == ErrorKind::UnexpectedEof => {
                bail!("{input} ended after {have} bytes of data, {bytes} were expected")
            }
            (_, Err(error)) if error.kind() != ErrorKind::UnexpectedEof => {
                Err(error).on("read", &self.path)
            }
            _ => Err(changed(&self.path)),
        }
    }

    fn reader(&mut self, bytes: usize) -> Result<Box<dyn Read + '_>> {
        Ok(match &mut self.kind {
            Kind::File(source) => {
                let from = SeekFrom::Start(source.bytes().saturating_sub(bytes as u64));
                source.file.seek(from).on("read", &self.path)?;
                Box::new(&mut source.file)
            }
            Kind::Member(_, archive) => {
                let mut reader = archive.reader()?;
                let before = reader.size().saturating_sub(bytes as u64);
                let skipped = io::copy(&mut (&mut reader).take(before), &mut io::sink());
                skipped.on("read", &self.path)?;
                Box::new(reader)
            }
            Kind::Stdin(stdin) => Box::new(stdin),
        })
    }
}

/// Refuses a standard stream that is a terminal.
pub fn refuse_terminal(stream: impl IsTerminal, name: &str) -> Result<()> {
    let what = "data are read from, and written to, files and pipes alone";
    ensure!(!stream.is_terminal(), "standard {name} is a terminal: {what}");
    Ok(())
}

/// A reader that counts.
struct Counted<'a> {
    from: Box<dyn Read + 'a>,
    read: usize,
}

impl Read for Counted<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(bytes)?;
        self.read += read;
        Ok(read)
    }
}
