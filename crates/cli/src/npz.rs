//! Members of .npz archives, which are read only.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

use anyhow::{Error, Result, anyhow, bail, ensure};
use zip::read::ZipFile;
use zip::{CompressionMethod, ZipArchive};

use crate::npy;
use crate::say::{escaped, shown};

/// Bytes read at a time.
const BUFFER: usize = 1 << 18;

/// Suffix of an array's name in an archive.
const SUFFIX: &str = ".npy";

/// One array of an archive.
pub struct Member {
    zip: ZipArchive<BufReader<File>>,
    index: usize,
    /// The array's name, without `.npy`.
    pub name: String,
}

/// Returns whether a file begins as archives do, including those without members.
pub fn is_archive(file: &mut File) -> io::Result<bool> {
    let mut begin = [0; 4];
    let have = file.read(&mut begin)?;
    io::Seek::rewind(file)?;
    Ok(have == 4 && matches!(&begin, b"PK\x03\x04" | b"PK\x05\x06"))
}

impl Member {
    /// Opens the array named `name` of an archive, or the only array.
    pub fn open(file: &File, name: Option<&str>) -> Result<Self> {
        let mut zip = ZipArchive::new(BufReader::with_capacity(BUFFER, file.try_clone()?))?;
        ensure!(!zip.has_duplicate_names(), "several members have the same name");
        let (index, name) = find(&mut zip, name)?;
        let found = zip.by_index_raw(index)?;
        let method = found.compression();
        let known = matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated);
        if !known || found.encrypted() {
            bail!(
                "'{}' is encrypted, or its compression is not supported ({method})",
                escaped(&name)
            );
        }
        drop(found);
        Ok(Member { zip, index, name })
    }

    /// Reads the member from its beginning. Its checksum is compared at its end.
    pub fn reader(&mut self) -> Result<ZipFile<'_, BufReader<File>>> {
        Ok(self.zip.by_index(self.index)?)
    }

    /// Reads all of the member. Returns an error if its data is damaged.
    pub fn verify(&mut self, path: &Path) -> Result<()> {
        let read = io::copy(&mut self.reader()?, &mut io::sink());
        read.map(drop).map_err(|error| self.unreadable(path, error))
    }

    /// Explains why the member could not be read.
    pub fn unreadable(&self, path: &Path, error: io::Error) -> Error {
        let (name, path) = (escaped(&self.name), shown(path));
        match error.kind() {
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => {
                anyhow!(error).context(format!("{path}: member '{name}' is damaged"))
            }
            _ => anyhow!(error).context(format!("cannot read {path}")),
        }
    }
}

/// Finds an array as NumPy does: the member of that name, with or without `.npy`. Without a name, the only member that has the
/// suffix or begins as a .npy file.
fn find(zip: &mut ZipArchive<BufReader<File>>, name: Option<&str>) -> Result<(usize, String)> {
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
    let names = arrays.iter().map(|(_, name)| escaped(name)).collect::<Vec<_>>().join(", ");
    let Some(asked) = name else {
        return match &arrays[..] {
            [one] => Ok(one.clone()),
            [] => Err(anyhow!("the archive has no arrays")),
            _ => Err(anyhow!("the archive has several arrays, name one with --member: {names}")),
        };
    };
    let named = |wanted: &str| members.iter().position(|name| name == wanted);
    let found = named(asked).or_else(|| named(&format!("{asked}{SUFFIX}")));
    let names = if names.is_empty() { "none" } else { &names };
    let name = asked.strip_suffix(SUFFIX).unwrap_or(asked).to_string();
    let missing = || anyhow!("there is no array '{}'; there are: {names}", escaped(asked));
    found.map(|index| (index, name)).ok_or_else(missing)
}

/// Returns whether a member can be read and begins with the magic bytes of a .npy file.
fn begins_as_array(zip: &mut ZipArchive<BufReader<File>>, index: usize) -> bool {
    let mut begin = [0; npy::MAGIC.len()];
    let read = zip.by_index(index).map(|mut member| member.read_exact(&mut begin));
    matches!(read, Ok(Ok(()))) && begin == *npy::MAGIC
}
