//! A member of a .npz archive, and the archive with another in its place.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::error::{ArchiveError, Error};

/// Bytes that are read and written at a time.
const BUFFER: usize = 1 << 18;

/// What the name of an array has behind it in an archive.
const SUFFIX: &str = ".npy";

/// Bytes of an archive's books that a member may take more than it did: a longer header for large files, twice.
const BOOKS: u64 = 128;

/// Bytes from which on a member's sizes take a large file's header. Compression may add some to what it cannot compress.
const LARGE: u64 = (1 << 32) - (1 << 24);

/// An archive, and the array in it that is meant.
pub struct Archive {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
    /// The member's number.
    index: usize,
    name: String,
    /// Bytes of the archive.
    whole: u64,
}

/// Whether a file begins as archives do, those without members included.
pub fn is_archive(file: &mut File) -> io::Result<bool> {
    let mut begin = [0; 4];
    let have = file.read(&mut begin)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(have == 4 && matches!(&begin, b"PK\x03\x04" | b"PK\x05\x06"))
}

/// Whether the archive's last record, with a comment of so many bytes, ends where the file does.
fn ends(mut file: &File, whole: u64, comment: usize) -> io::Result<bool> {
    let Some(at) = whole.checked_sub(22 + comment as u64) else { return Ok(false) };
    let mut begin = [0; 4];
    let before = file.stream_position()?;
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut begin)?;
    file.seek(SeekFrom::Start(before))?;
    Ok(&begin == b"PK\x05\x06")
}

impl Archive {
    /// Opens an archive at an array of its: the named one, or the only one.
    pub fn open(path: &Path, file: &File, member: Option<&str>) -> Result<Self, Error> {
        let wrong = |source| of_archive(path, source);
        let file = file.try_clone().map_err(Error::io("open", path))?;
        let whole = file.metadata().map_err(Error::io("look at", path))?.len();
        let file_of_end = file.try_clone().map_err(Error::io("open", path))?;
        let zip = ZipArchive::new(BufReader::with_capacity(BUFFER, file))
            .map_err(|source| wrong(source.into()))?;
        if zip.offset() > 0 {
            return Err(wrong(ArchiveError::Prefix { bytes: zip.offset() }));
        }
        if !ends(&file_of_end, whole, zip.comment().len()).map_err(Error::io("read", path))? {
            return Err(wrong(ArchiveError::Suffix));
        }
        if zip.has_duplicate_names() {
            return Err(wrong(ArchiveError::Duplicates));
        }
        let (index, name) = find(&zip, member).map_err(wrong)?;
        let mut archive = Archive { path: path.to_path_buf(), zip, index, name, whole };
        let found = archive.zip.by_index_raw(index).map_err(|source| wrong(source.into()))?;
        let (method, encrypted) = (found.compression(), found.encrypted());
        let known = matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated);
        drop(found);
        if encrypted || !known {
            let (name, method) = (archive.name, method.to_string());
            return Err(wrong(ArchiveError::Method { name, method }));
        }
        // Its local header and its sizes are looked at before any work.
        archive.reader()?;
        Ok(archive)
    }

    /// The array's name, as NumPy has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the member.
    pub fn bytes(&mut self) -> Result<u64, Error> {
        Ok(self.reader()?.size())
    }

    /// Reads the member from its beginning; at its end its check sum is compared.
    pub fn reader(&mut self) -> Result<zip::read::ZipFile<'_, BufReader<File>>, Error> {
        let wrong = |source: ZipError| of_archive(&self.path, source.into());
        self.zip.by_index(self.index).map_err(wrong)
    }

    /// Bytes that the archive takes with a member of so many bytes in its place: no fewer than it will, if that one
    /// compresses as well as the old one.
    pub fn room(&mut self, bytes: u64) -> Result<u64, Error> {
        let all = self.zip.len() as u64 * BOOKS;
        let member = self.reader()?;
        let (was, method) = (member.compressed_size(), member.compression());
        drop(member);
        let whole = self.whole;
        let becomes = if method == CompressionMethod::Stored { bytes } else { was };
        Ok(whole.saturating_sub(was).saturating_add(becomes).saturating_add(all))
    }

    /// Writes the archive anew into an empty file, with what `put` writes, `bytes` bytes, in the member's place. All others
    /// are copied as they are, not unpacked.
    pub fn rewrite(
        &mut self,
        to: &File,
        bytes: u64,
        put: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let path = self.path.clone();
        let wrong = |source: ZipError| match source {
            ZipError::Io(error) => Error::io("write the new", &path)(error),
            other => of_archive(&path, other.into()),
        };
        let mut writer = ZipWriter::new(BufWriter::with_capacity(BUFFER, to));
        let mut put = Some(put);
        for number in 0..self.zip.len() {
            let member = self.zip.by_index_raw(number).map_err(wrong)?;
            let Some(put) = put.take_if(|_| number == self.index) else {
                writer.raw_copy_file(member).map_err(wrong)?;
                continue;
            };
            let options = member.options().large_file(bytes >= LARGE).into_full_options();
            let options = options.with_file_comment(member.comment());
            let name = member.name_raw().to_vec();
            drop(member);
            writer.start_file_with_options(options.name(&name)).map_err(wrong)?;
            put(&mut writer)?;
        }
        writer.set_raw_comment(self.zip.comment().into()).map_err(wrong)?;
        let mut buffered = writer.finish().map_err(wrong)?;
        let end = buffered.flush().and_then(|()| buffered.stream_position());
        // What was reserved beyond.
        end.and_then(|end| to.set_len(end)).map_err(Error::io("write the new", &path))
    }
}

/// Says which archive it is.
pub fn of_archive(path: &Path, source: ArchiveError) -> Error {
    Error::Archive { path: path.to_path_buf(), source: Box::new(source) }
}

/// The number and the name of the array that is meant: NumPy leaves out the suffix, other tools show it.
fn find(
    zip: &ZipArchive<BufReader<File>>,
    member: Option<&str>,
) -> Result<(usize, String), ArchiveError> {
    let mut arrays = Vec::new();
    for (index, name) in zip.file_names().enumerate() {
        if let Some(name) = name?.strip_suffix(SUFFIX) {
            arrays.push((index, name.to_string()));
        }
    }
    let names = || arrays.iter().map(|(_, name)| name.clone()).collect();
    let Some(asked) = member else {
        return match &arrays[..] {
            [one] => Ok(one.clone()),
            [] => Err(ArchiveError::Empty),
            _ => Err(ArchiveError::Several { names: names() }),
        };
    };
    let named = |wanted: &str| arrays.iter().find(|(_, name)| name == wanted).cloned();
    let found = named(asked).or_else(|| named(asked.strip_suffix(SUFFIX)?));
    found.ok_or_else(|| ArchiveError::NoMember { name: asked.to_string(), names: names() })
}
