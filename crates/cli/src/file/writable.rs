//! Whether a file of measurements can be written, found out before the measuring.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::file::special::{directory_of, refuse};

/// Refuses names that no such file can be written to, as far as can be told without trying. Its directory must be there,
/// unless `make` says that it is to be made.
///
/// # Errors
/// [`Error::Special`], [`Error::NotAFile`], [`Error::NoDirectory`]; [`Error::Io`] where the system would refuse.
pub fn refuse_unwritable(path: &Path, make: bool) -> Result<(), Error> {
    refuse(path)?;
    let directory = directory_of(path);
    if make && !directory.is_dir() {
        let there = nearest(&directory);
        refuse(&there.join("new"))?;
        let can = if there.is_dir() {
            may_write(&there)
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        };
        return can.map_err(Error::io("make", &directory));
    }
    if !directory.is_dir() {
        return Err(Error::NoDirectory { path: path.to_path_buf(), directory });
    }
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(Error::NotAFile { path: path.to_path_buf() });
    }
    // The file that a link leads to is the one that is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => return Err(Error::NotAFile { path }),
        Ok(_) => may_write(&path).map_err(Error::io("write", &path))?,
        Err(_) => {}
    }
    let directory = directory_of(&path);
    may_write(&directory).map_err(Error::io("make files in", &directory))
}

/// The directory, or of those above it the first that is there.
fn nearest(directory: &Path) -> PathBuf {
    let there = directory.ancestors().find(|above| above.symlink_metadata().is_ok());
    there.unwrap_or(Path::new(".")).to_path_buf()
}

/// Whether this process may write to a file, or to a directory's list of files.
#[cfg(unix)]
fn may_write(path: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    let wanted = if path.is_dir() { Access::WRITE_OK | Access::EXEC_OK } else { Access::WRITE_OK };
    Ok(access(path, wanted)?)
}

/// Systems that do not tell refuse in the end.
#[cfg(not(unix))]
fn may_write(_: &Path) -> io::Result<()> {
    Ok(())
}
