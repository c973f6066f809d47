//! Sources of arrays: a file, a member of an archive, standard input.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read, Seek, SeekFrom, StdinLock};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::args::DASH;
use crate::error::On;
use crate::file::{Opened, changed};
use crate::npy::Header;
use crate::npz::{self, Member};
use crate::say::shown;
use crate::transfer::{Part, is_unwritten};

/// A readable source.
pub struct Source {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    File(Opened),
    Member(Opened, Box<Member>),
    Stdin(StdinLock<'static>),
}

impl Source {
    /// Takes an opened file, or of an archive the array `member`; without a file, standard input.
    pub fn new(path: &Path, file: Option<Opened>, member: Option<&str>, raw: bool) -> Result<Self> {
        let path = path.to_path_buf();
        let Some(mut file) = file else {
            ensure!(member.is_none(), "--member needs a file, not standard input");
            refuse_terminal(io::stdin(), "input")?;
            return Ok(Source { path, kind: Kind::Stdin(io::stdin().lock()) });
        };
        if !raw && npz::is_archive(&mut file.file).on("read", &path)? {
            let member =
                Member::open(&file.file, member).with_context(|| shown(&path).to_string())?;
            return Ok(Source { path, kind: Kind::Member(file, Box::new(member)) });
        }
        ensure!(
            member.is_none(),
            "{} is not a .npz archive, --member does not apply",
            shown(&path)
        );
        Ok(Source { path, kind: Kind::File(file) })
    }

    /// Returns the path as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file, unless it is standard input.
    pub fn opened(&self) -> Option<&Opened> {
        match &self.kind {
            Kind::File(source) | Kind::Member(source, _) => Some(source),
            Kind::Stdin(_) => None,
        }
    }

    /// Returns the file that holds the array uncompressed.
    pub fn file(&mut self) -> Result<&mut File> {
        match &mut self.kind {
            Kind::File(source) => Ok(&mut source.file),
            _ => bail!("{} is not a plain file", shown(&self.path)),
        }
    }

    /// Returns the part of the file from byte `start` on, if the file holds the data uncompressed.
    pub fn part(&self, start: u64) -> Option<Part<'_>> {
        match &self.kind {
            Kind::File(source) => Some(Part { file: &source.file, path: &self.path, start }),
            _ => None,
        }
    }

    /// Returns the name of the archive's member.
    pub fn member(&self) -> Option<&str> {
        match &self.kind {
            Kind::Member(_, member) => Some(&member.name),
            _ => None,
        }
    }

    /// Returns the number of bytes of the file or member; `None` for standard input.
    pub fn bytes(&mut self) -> Result<Option<u64>> {
        match &mut self.kind {
            Kind::File(source) => Ok(Some(source.bytes())),
            Kind::Member(_, member) => Ok(Some(member.reader()?.size())),
            Kind::Stdin(_) => Ok(None),
        }
    }

    /// Reads a .npy header.
    pub fn header(&mut self) -> Result<Header> {
        let bytes = self.bytes()?;
        match &mut self.kind {
            Kind::File(source) => {
                source.file.rewind()?;
                let read = Header::read(&mut source.file, bytes);
                let is_other = self.path.extension().is_some_and(|kind| kind == "safetensors");
                ensure!(read.is_ok() || !is_other, "a .safetensors file needs --tensor NAME");
                read
            }
            Kind::Stdin(stdin) => Header::read(stdin, None),
            Kind::Member(_, member) => {
                let read = Header::read(&mut member.reader()?, bytes);
                if read.is_err() {
                    // A damaged member is the better explanation.
                    member.verify(&self.path)?;
                }
                read
            }
        }
    }

    /// Has `take` read the `bytes` bytes of data that follow the first `start`; of standard input, where those have been
    /// read, the next. Checks that `tail` bytes follow. Called once at most.
    pub fn data<T>(
        &mut self,
        (start, bytes, tail): (u64, usize, u64),
        take: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> Result<T> {
        let mut counted = Counted { read: 0, from: self.reader(start)? };
        let taken = take(&mut counted).and_then(|taken| {
            // The checksum of a member is compared here.
            let more = if tail > 0 { 0 } else { counted.from.read(&mut [0])? };
            Ok((taken, more))
        });
        let have = counted.read;
        drop(counted);
        match (&self.kind, taken) {
            (_, Ok((taken, 0))) => Ok(taken),
            (_, Err(error)) if is_unwritten(&error) => {
                Err(error).on("write a temporary file for", &self.path)
            }
            (Kind::Member(_, member), Err(error)) => Err(member.unreadable(&self.path, error)),
            (Kind::Stdin(_), Ok(_)) => {
                bail!("standard input continues after the expected {bytes} bytes of data")
            }
            (Kind::Stdin(_), Err(error)) if error.kind() == ErrorKind::UnexpectedEof => {
                bail!("standard input ended after {have} of {bytes} bytes of data")
            }
            (_, Err(error)) if error.kind() != ErrorKind::UnexpectedEof => {
                Err(error).on("read", &self.path)
            }
            _ => Err(changed(&self.path)),
        }
    }

    fn reader(&mut self, start: u64) -> Result<Box<dyn Read + '_>> {
        Ok(match &mut self.kind {
            Kind::File(source) => {
                source.file.seek(SeekFrom::Start(start)).on("read", &self.path)?;
                Box::new(&mut source.file)
            }
            Kind::Member(_, member) => {
                let mut reader = member.reader()?;
                let skipped = io::copy(&mut (&mut reader).take(start), &mut io::sink());
                skipped.on("read", &self.path)?;
                Box::new(reader)
            }
            Kind::Stdin(stdin) => Box::new(stdin),
        })
    }
}

/// Returns whether a path stands for standard input or output.
pub fn is_dash(path: &Path) -> bool {
    path == Path::new(DASH)
}

/// Rejects a standard stream that is a terminal.
pub fn refuse_terminal(stream: impl IsTerminal, name: &str) -> Result<()> {
    ensure!(!stream.is_terminal(), "standard {name} is a terminal: use a file or a pipe");
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
