//! A member of a .npz archive, and the archive with another in its place.

mod books;
mod pack;
mod records;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use self::books::{Books, Sums, descriptor};
use self::pack::Pack;
use crate::error::{ArchiveError, Error};

/// Bytes that are read and written at a time.
const BUFFER: usize = 1 << 18;

/// Most bytes of what says, behind a member's data, what they are.
const MOST_DESCRIPTOR: u64 = 24;

/// What the name of an array has behind it in an archive.
const SUFFIX: &str = ".npy";

/// Bytes of an archive's books that a member may take more than it did: a longer header for large files, twice.
const BOOKS: u64 = 128;

/// An archive, and the array in it that is meant.
pub struct Archive {
    path: PathBuf,
    file: File,
    books: Books,
    /// It reads what the books tell of.
    zip: ZipArchive<BufReader<File>>,
    /// The member's number.
    index: usize,
    name: String,
    /// Bytes behind the member's data that say what they are.
    descriptor: u64,
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
        let mut books_of = file.try_clone().map_err(Error::io("open", path))?;
        let zip = ZipArchive::new(BufReader::with_capacity(BUFFER, file))
            .map_err(|source| wrong(source.into()))?;
        if zip.offset() > 0 {
            return Err(wrong(ArchiveError::Prefix { bytes: zip.offset() }));
        }
        if !ends(&books_of, whole, zip.comment().len()).map_err(Error::io("read", path))? {
            return Err(wrong(ArchiveError::Suffix));
        }
        if zip.has_duplicate_names() {
            return Err(wrong(ArchiveError::Duplicates));
        }
        let books = Books::read(&mut books_of, whole, zip.comment().len()).map_err(wrong)?;
        let (index, name) = find(&zip, member).map_err(wrong)?;
        let path = path.to_path_buf();
        let mut archive =
            Archive { path, file: books_of, books, zip, index, name, descriptor: 0, whole };
        archive.compare_readers()?;
        archive.descriptor = archive.find_descriptor()?;
        let wrong = |source| of_archive(&archive.path, source);
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

    /// Whether both readers of the books have read the same.
    fn compare_readers(&mut self) -> Result<(), Error> {
        let wrong = |source| of_archive(&self.path, source);
        for (number, entry) in self.books.entries.iter().enumerate() {
            let found = self.zip.by_index_raw(number).map_err(|source| wrong(source.into()))?;
            let same = found.name_raw() == entry.name
                && found.header_start() == entry.offset
                && found.compressed_size() == entry.sums.packed
                && found.size() == entry.sums.bytes;
            if !same {
                return Err(wrong(ArchiveError::Books { what: "members can be read in two ways" }));
            }
        }
        Ok(())
    }

    /// Bytes of what follows the member's data and says what they are, if its header says that something does.
    fn find_descriptor(&mut self) -> Result<u64, Error> {
        let entry = &self.books.entries[self.index];
        if !entry.has_descriptor() {
            return Ok(0);
        }
        let failed = |error| Error::io("read", &self.path)(error);
        let mut after = Vec::new();
        let end = entry.data_end().unwrap_or(self.books.start);
        self.file.seek(SeekFrom::Start(end)).map_err(failed)?;
        let most = (self.books.start - end).min(MOST_DESCRIPTOR);
        (&self.file).take(most).read_to_end(&mut after).map_err(failed)?;
        let bytes = descriptor(&entry.sums, &after).ok_or_else(|| {
            let (name, what) = (self.name.clone(), "sizes or check sum");
            of_archive(&self.path, ArchiveError::Disagree { name, what })
        })?;
        Ok(bytes as u64)
    }

    /// Unpacks all of the member: what is wrong with its bytes comes first.
    pub fn verify(&mut self) -> Result<(), Error> {
        let mut reader = self.reader()?;
        let read = io::copy(&mut reader, &mut io::sink());
        drop(reader);
        read.map(drop).map_err(|error| self.unreadable(error))
    }

    /// What it means that the member could not be read.
    pub fn unreadable(&self, source: io::Error) -> Error {
        match source.kind() {
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => {
                let name = self.name.clone();
                of_archive(&self.path, ArchiveError::Damaged { name, source })
            }
            _ => Error::io("read", &self.path)(source),
        }
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
    /// are copied as they are, not unpacked; so is all that is said of any member but its sizes, its check sum and its place.
    pub fn rewrite(
        &mut self,
        to: &File,
        bytes: u64,
        put: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |error| Error::io("write the new", &self.path)(error);
        let mut from = self.file.try_clone().map_err(Error::io("read", &self.path))?;
        let mut to = BufWriter::with_capacity(BUFFER, to);
        let mut put = Some(put);
        let (mut read, order) = (0, self.books.in_order());
        let mut books = self.books.clone();
        for (k, &number) in order.iter().enumerate() {
            let entry = &self.books.entries[number];
            let next = order.get(k + 1);
            let next = next.map_or(self.books.start, |&next| self.books.entries[next].offset);
            // What is before the first member.
            copy(&mut from, read..entry.offset, &mut to).map_err(failed)?;
            let offset = to.stream_position().map_err(failed)?;
            books.entries[number].offset = offset;
            read = entry.offset;
            if let Some(put) = put.take_if(|_| number == self.index) {
                let new = entry.anew(offset, Sums { crc: 0, packed: 0, bytes }, most_packed(bytes));
                // Its sums are known once it is packed.
                to.write_all(&new.local()).map_err(failed)?;
                let start = to.stream_position().map_err(failed)?;
                let mut pack = Pack::new(&mut to, entry.method());
                put(&mut pack)?;
                let (crc, bytes) = pack.finish().map_err(failed)?;
                let end = to.stream_position().map_err(failed)?;
                let sums = Sums { crc, packed: end - start, bytes };
                let new = entry.anew(offset, sums, most_packed(bytes));
                to.seek(SeekFrom::Start(offset)).map_err(failed)?;
                to.write_all(&new.local()).map_err(failed)?;
                to.seek(SeekFrom::Start(end)).map_err(failed)?;
                books.entries[number] = new;
                read = entry.data_end().unwrap_or(next) + self.descriptor;
            }
            copy(&mut from, read..next, &mut to).map_err(failed)?;
            read = next;
        }
        let start = to.stream_position().map_err(failed)?;
        to.write_all(&books.directory(start)).map_err(failed)?;
        // What was reserved beyond.
        let end = to.flush().and_then(|()| to.stream_position());
        end.and_then(|end| to.get_ref().set_len(end)).map_err(failed)
    }
}

/// Bytes that deflating makes of so many, at most: it adds some to what it cannot compress.
fn most_packed(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 1000).saturating_add(1 << 10)
}

/// Copies these bytes of a file.
fn copy(from: &mut File, bytes: Range<u64>, to: &mut impl Write) -> io::Result<()> {
    from.seek(SeekFrom::Start(bytes.start))?;
    let all = bytes.end.saturating_sub(bytes.start);
    match io::copy(&mut from.take(all), to)? {
        copied if copied < all => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
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
