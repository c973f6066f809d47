//! Where an array is read from: a file, a member of an archive, standard input.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read, Seek, SeekFrom, StdinLock};
use std::path::{Path, PathBuf};

use crate::archive::{self, Archive, of_archive};
use crate::closed;
use crate::error::{ArchiveError, Error};
use crate::file::Source;
use crate::npy::Header;

/// An array's bytes, and what is before them.
pub struct Input {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    File(Source),
    Member(Source, Box<Archive>),
    Stdin(StdinLock<'static>),
}

impl Input {
    /// A file, or of an archive the member that is named.
    pub fn of_file(mut source: Source, member: Option<&str>, raw: bool) -> Result<Self, Error> {
        let path = source.path.clone();
        let is_archive =
            !raw && archive::is_archive(&mut source.file).map_err(Error::io("read", &path))?;
        let kind = match (is_archive, member) {
            (true, member) => {
                let archive = Archive::open(&path, &source.file, member)?;
                Kind::Member(source, Box::new(archive))
            }
            (false, Some(_)) => return Err(of_archive(&path, ArchiveError::NotAnArchive)),
            (false, None) => Kind::File(source),
        };
        Ok(Input { path, kind })
    }

    /// Standard input, unless somebody would have to type it.
    pub fn stdin(path: &Path, member: Option<&str>) -> Result<Self, Error> {
        if member.is_some() {
            return Err(of_archive(path, ArchiveError::FromStdin));
        }
        if closed::input() {
            return Err(Error::Closed { stream: "input" });
        }
        if io::stdin().is_terminal() {
            return Err(Error::Terminal { stream: "input" });
        }
        Ok(Input { path: path.to_path_buf(), kind: Kind::Stdin(io::stdin().lock()) })
    }

    /// As the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, if it is one.
    pub fn source(&self) -> Option<&Source> {
        match &self.kind {
            Kind::File(source) | Kind::Member(source, _) => Some(source),
            Kind::Stdin(_) => None,
        }
    }

    /// The file, if it holds the data as they are, at its end.
    pub fn plain(&self) -> Option<&File> {
        match &self.kind {
            Kind::File(source) => Some(&source.file),
            _ => None,
        }
    }

    /// The archive, if it is in one.
    pub fn archive(&mut self) -> Option<&mut Archive> {
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
    pub fn bytes(&mut self) -> Result<Option<u64>, Error> {
        match &mut self.kind {
            Kind::File(source) => Ok(Some(source.bytes())),
            Kind::Member(_, archive) => archive.bytes().map(Some),
            Kind::Stdin(_) => Ok(None),
        }
    }

    /// Reads the header.
    pub fn header(&mut self) -> Result<Header, Error> {
        let read = match &mut self.kind {
            Kind::File(source) => {
                let bytes = source.bytes();
                Header::read(&mut source.file, bytes)
            }
            Kind::Member(_, archive) => {
                let mut reader = archive.reader()?;
                let bytes = reader.size();
                let read = Header::read(&mut reader, bytes);
                drop(reader);
                if !matches!(read, Ok(Ok(_))) {
                    // Perhaps it was another header that was packed.
                    archive.verify()?;
                }
                read
            }
            Kind::Stdin(stdin) => Header::read(stdin, None),
        };
        read.map_err(Error::io("read", &self.path))?
            .map_err(|source| Error::Header { path: self.path.clone(), source })
    }

    /// Has `take` read the data, which are the last `bytes` bytes of a file, or the next ones of standard input, and makes
    /// sure that none follow. Called once at most.
    pub fn data<T>(
        &mut self,
        bytes: usize,
        take: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> Result<T, Error> {
        let mut counted = Counted { read: 0, from: self.reader(bytes)? };
        let taken = take(&mut counted).and_then(|taken| {
            // An archive's check sum is compared here.
            let more = counted.from.read(&mut [0])?;
            Ok((taken, more))
        });
        let have = counted.read;
        drop(counted);
        let taken = match (&self.kind, taken) {
            (Kind::Member(_, archive), Err(error)) => return Err(archive.unreadable(error)),
            (_, taken) => taken,
        };
        let is_stream = matches!(self.kind, Kind::Stdin(_));
        match taken {
            Ok((taken, 0)) => Ok(taken),
            Ok(_) if is_stream => Err(Error::Trailing { bytes }),
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => {
                Err(Error::io("read", &self.path)(error))
            }
            Err(_) if is_stream => Err(Error::Short { need: bytes, have }),
            _ => Err(self.changed()),
        }
    }

    fn reader(&mut self, bytes: usize) -> Result<Box<dyn Read + '_>, Error> {
        let failed = |error| Error::io("read", &self.path)(error);
        match &mut self.kind {
            Kind::File(source) => {
                let from = SeekFrom::Start(source.bytes().saturating_sub(bytes as u64));
                source.file.seek(from).map_err(failed)?;
                Ok(Box::new(&mut source.file))
            }
            Kind::Member(_, archive) => {
                let mut reader = archive.reader()?;
                let before = reader.size().saturating_sub(bytes as u64);
                io::copy(&mut (&mut reader).take(before), &mut io::sink()).map_err(failed)?;
                Ok(Box::new(reader))
            }
            Kind::Stdin(stdin) => Ok(Box::new(stdin)),
        }
    }

    /// Whether it is as it was when it was opened, as far as can be told.
    pub fn unchanged(&self) -> Result<(), Error> {
        self.source().map_or(Ok(()), Source::unchanged)
    }

    /// What to say where it is not.
    fn changed(&self) -> Error {
        Error::Changed { path: self.path.clone() }
    }
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
