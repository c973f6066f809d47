//! A member of a .npz archive, and the archive with another in its place.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use zip::read::ZipFile;
use zip::write::{ExtendedFileOptions, FileOptions};
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::error::On;
use crate::npy;
use crate::say::{escaped, shown};

/// Bytes that are read and written at a time.
const BUFFER: usize = 1 << 18;

/// What the name of an array has behind it in an archive.
const SUFFIX: &str = ".npy";

/// Most bytes that an archive's directory takes for a member, beyond those in the old one.
const BOOKS: u64 = 128;

/// The extra field of times, of which that of the last change alone is kept, and that of sizes above 4 GiB.
const TIMES: u16 = 0x5455;
const SIZES: u16 = 1;

/// An archive, and the array in it that is meant.
pub struct NpzArchive {
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
    file.rewind()?;
    Ok(have == 4 && matches!(&begin, b"PK\x03\x04" | b"PK\x05\x06"))
}

impl NpzArchive {
    /// Opens an archive at one of its arrays: the named one, or the only one. What would not stay, or can be read in two ways,
    /// is refused.
    pub fn open(path: &Path, file: &File, member: Option<&str>) -> Result<Self> {
        let whole = file.metadata().on("look at", path)?.len();
        let file = file.try_clone().on("open", path)?;
        Self::read(path, file, whole, member).with_context(|| shown(path).to_string())
    }

    fn read(path: &Path, mut file: File, whole: u64, member: Option<&str>) -> Result<Self> {
        let mut zip = ZipArchive::new(BufReader::with_capacity(BUFFER, file.try_clone()?))?;
        let before = zip.offset();
        ensure!(before == 0, "{before} bytes are before the archive, and would be lost");
        let comment = zip.comment().len() as u64;
        let mut end = [0; 4];
        file.seek(SeekFrom::Start(whole.saturating_sub(22 + comment)))?;
        file.read_exact(&mut end)?;
        let ends = &end == b"PK\x05\x06";
        ensure!(ends, "there are bytes behind the archive, which would be lost");
        ensure!(!zip.has_duplicate_names(), "several of its members have the same name");
        zip.validate_header_consistency()?;
        let (index, name) = find(&mut zip, member)?;
        let found = zip.by_index_raw(index)?;
        let method = found.compression();
        let known = matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated);
        if !known || found.encrypted() {
            let what = "is encrypted, or compressed in a way that is not known here";
            bail!("{name:?} {what} ({method})");
        }
        drop(found);
        for number in (0..zip.len()).filter(|&number| number != index) {
            let other = zip.by_index_raw(number)?;
            if is_far(&other)
                && (other.compression() != CompressionMethod::Stored || other.encrypted())
            {
                let what = "is compressed or encrypted, and reaches beyond 4 GiB";
                bail!("{:?} {what}: it would not stay as it is", other.name()?);
            }
        }
        Ok(NpzArchive { path: path.to_path_buf(), zip, index, name, whole })
    }

    /// Unpacks all of the member: what is wrong with its bytes comes first.
    pub fn verify(&mut self) -> Result<()> {
        let read = io::copy(&mut self.reader()?, &mut io::sink());
        read.map(drop).map_err(|error| self.unreadable(error))
    }

    /// What it means that the member could not be read.
    pub fn unreadable(&self, error: io::Error) -> Error {
        let path = shown(&self.path);
        match error.kind() {
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => {
                anyhow!(error).context(format!(
                    "{path}: {:?} is damaged, its data are not what was packed",
                    self.name
                ))
            }
            _ => anyhow!(error).context(format!("cannot read {path}")),
        }
    }

    /// The array's name, as NumPy has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the member from its beginning; at its end its check sum is compared.
    pub fn reader(&mut self) -> Result<ZipFile<'_, BufReader<File>>> {
        self.zip.by_index(self.index).with_context(|| shown(&self.path).to_string())
    }

    /// Bytes that the archive takes with a member of so many bytes in its place: no fewer than it will, if that one
    /// compresses as well as the old one.
    pub fn room(&mut self, bytes: u64) -> Result<u64> {
        let books = self.zip.len() as u64 * BOOKS;
        let member = self.reader()?;
        let was = member.compressed_size();
        let becomes = if member.compression() == CompressionMethod::Stored { bytes } else { was };
        drop(member);
        Ok(self.whole.saturating_sub(was).saturating_add(becomes).saturating_add(books))
    }

    /// Writes the archive anew into an empty file, with what `put` writes, `bytes` bytes, in the member's place. The others are
    /// copied as they are packed. What the directory holds of a member and would be lost is refused.
    pub fn rewrite(
        &mut self,
        to: &File,
        bytes: u64,
        put: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let path = self.path.clone();
        self.write(to, bytes, put).with_context(|| format!("cannot write the new {}", shown(&path)))
    }

    fn write(
        &mut self,
        to: &File,
        bytes: u64,
        put: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let mut writer = ZipWriter::new(BufWriter::with_capacity(BUFFER, to));
        writer.set_raw_comment(self.zip.comment().into())?;
        let mut put = Some(put);
        for number in 0..self.zip.len() {
            let mut member = self.zip.by_index_raw(number)?;
            let name = member.name_raw().to_vec();
            match put.take_if(|_| number == self.index) {
                Some(put) => {
                    let options = options(&member)?.large_file(bytes >= u64::from(u32::MAX));
                    drop(member);
                    writer.start_file_with_options(options.name(&name))?;
                    put(&mut writer)?;
                }
                None if is_far(&member) => {
                    writer.start_file_with_options(options(&member)?.name(&name))?;
                    io::copy(&mut member, &mut writer)?;
                }
                None => writer.raw_copy_file(member)?,
            }
        }
        let mut to = writer.finish()?;
        to.flush()?;
        // What was reserved beyond.
        let end = to.stream_position()?;
        to.get_ref().set_len(end)?;
        self.compare(to.get_ref())
    }

    /// Compares the new archive's directory with the old one's.
    fn compare(&mut self, new: &File) -> Result<()> {
        let mut new = ZipArchive::new(BufReader::new(new.try_clone()?))?;
        ensure!(new.comment() == self.zip.comment(), "the comment of the archive would not stay");
        for number in 0..self.zip.len() {
            let is_other = number != self.index;
            let was = facts(&self.zip.by_index_raw(number)?, is_other);
            let member = new.by_index_raw(number)?;
            let differs = was.into_iter().zip(facts(&member, is_other)).find(|(was, is)| was != is);
            if let Some(((what, _), _)) = differs {
                bail!("the {what} of its member {:?} would not stay", member.name()?);
            }
        }
        Ok(())
    }
}

/// The extra fields of a member but its sizes: number and content.
fn fields(mut extra: &[u8]) -> Vec<(u16, &[u8])> {
    let mut fields = Vec::new();
    while let Some((&[a, b, c, d], rest)) = extra.split_first_chunk() {
        let bytes = usize::from(u16::from_le_bytes([c, d])).min(rest.len());
        let (field, more) = rest.split_at(bytes);
        let number = u16::from_le_bytes([a, b]);
        // Of the times that of the last change, behind a byte of flags.
        let last = if number == TIMES { &field[..bytes.min(5)] } else { field };
        fields.extend((number != SIZES).then_some((number, last)));
        extra = more;
    }
    fields
}

/// Whether a member's size or place needs more than 32 bits. The crate's raw copy would keep the old one's field for them
/// beside the new one; a member that is stored can be written as any other.
fn is_far<R: Read>(member: &ZipFile<'_, R>) -> bool {
    member.size().max(member.compressed_size()).max(member.header_start()) >= u64::from(u32::MAX)
}

/// By which options a member is written again.
fn options<R: Read>(
    member: &ZipFile<'_, R>,
) -> Result<FileOptions<'static, 'static, ExtendedFileOptions>> {
    let mut options = member.options().into_full_options();
    if !member.comment().is_empty() {
        options = options.with_file_comment(member.comment());
    }
    for (number, field) in fields(&member.extra_data().unwrap_or_default()) {
        options.add_extra_field(number, field, false)?;
    }
    Ok(options)
}

/// What an archive's directory holds of a member; of its bytes if they stay.
fn facts<R: Read>(member: &ZipFile<'_, R>, and_sums: bool) -> [(&'static str, String); 6] {
    let extra = member.extra_data().unwrap_or_default();
    let sums = (member.crc32(), member.size(), member.compressed_size());
    [
        ("name", format!("{:?}", member.name_raw())),
        ("comment", format!("{:?}", member.comment_raw())),
        ("time", format!("{:?}", member.last_modified())),
        ("attributes", format!("{:?} {:x}", member.system(), member.external_attributes())),
        ("extra field", format!("{:?}", fields(&extra))),
        ("content", format!("{} {:?}", member.compression(), and_sums.then_some(sums))),
    ]
}

/// The number and the name of the array that is meant, as NumPy finds it: a member of that name, or of that name and the
/// suffix. Without a name, members that have the suffix or begin as arrays do.
fn find(zip: &mut ZipArchive<BufReader<File>>, member: Option<&str>) -> Result<(usize, String)> {
    let members = zip.file_names().map(|name| Ok(name?.to_string()));
    let members = members.collect::<Result<Vec<_>, zip::result::ZipError>>()?;
    let mut arrays = Vec::new();
    for (index, name) in members.iter().enumerate() {
        match name.strip_suffix(SUFFIX) {
            Some(name) => arrays.push((index, name.to_string())),
            None if begins_as_array(zip, index) => arrays.push((index, name.clone())),
            None => {}
        }
    }
    // Names may hold anything: what moves a terminal's cursor is escaped.
    let names: Vec<_> = arrays.iter().map(|(_, name)| escaped(name)).collect();
    let names = names.join(", ");
    let Some(asked) = member else {
        return match &arrays[..] {
            [one] => Ok(one.clone()),
            [] => Err(anyhow!("there is no array in it")),
            _ => Err(anyhow!("several arrays are in it; --member says which: {names}")),
        };
    };
    let named = |wanted: &str| members.iter().position(|name| name == wanted);
    let found = named(asked).or_else(|| named(&format!("{asked}{SUFFIX}")));
    let names = if names.is_empty() { "none" } else { &names };
    let name = asked.strip_suffix(SUFFIX).unwrap_or(asked).to_string();
    found
        .map(|index| (index, name))
        .ok_or_else(|| anyhow!("no array in it is named {asked:?}; there are: {names}"))
}

/// Whether a member can be read, and begins with the magic bytes of an array.
fn begins_as_array(zip: &mut ZipArchive<BufReader<File>>, index: usize) -> bool {
    let mut begin = [0; npy::MAGIC.len()];
    let read = zip.by_index(index).map(|mut member| member.read_exact(&mut begin));
    matches!(read, Ok(Ok(()))) && begin == *npy::MAGIC
}
