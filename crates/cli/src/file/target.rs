//! Where a result goes, and all that can be refused before any work.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::file::special::{self, directory_of};
use crate::file::stamp::Stamp;

/// A file to be replaced or to be made.
#[derive(Debug)]
pub struct Target {
    /// With symbolic links followed: their target is replaced, they stay.
    pub path: PathBuf,
    /// Where it lies.
    pub directory: PathBuf,
    /// The file that is there now.
    pub replaced: Option<Replaced>,
}

/// A file that is to be replaced.
#[derive(Debug)]
pub struct Replaced {
    /// Open for reading and writing, or for writing alone where it may not be read.
    pub file: File,
    /// As it was when it was opened.
    pub metadata: Metadata,
    /// The same, when it was locked.
    pub stamp: Stamp,
}

impl Target {
    /// Finds out what `path` is, and whether it may be replaced or made.
    pub fn resolve(path: &Path) -> Result<Self, Error> {
        special::refuse(path)?;
        if let Err(error) = fs::symlink_metadata(path)
            && error.kind() == io::ErrorKind::NotFound
        {
            return Self::absent(path);
        }
        let path = fs::canonicalize(path).map_err(Error::io("follow", path))?;
        // Asked before it is opened: opening a pipe would wait for a reader.
        let metadata = fs::metadata(&path).map_err(Error::io("look at", &path))?;
        if !metadata.is_file() {
            return Err(Error::NotAFile { path });
        }
        if metadata.permissions().readonly() {
            return Err(Error::Protected { path });
        }
        let directory = directory_of(&path);
        refuse_fixed(&path, &directory)?;
        refuse_sticky(&path, &directory, &metadata)?;
        let file = open(&path)?;
        let metadata = file.metadata().map_err(Error::io("look at", &path))?;
        let stamp = Stamp::of(&metadata);
        Ok(Target { path, directory, replaced: Some(Replaced { file, metadata, stamp }) })
    }

    fn absent(path: &Path) -> Result<Self, Error> {
        let directory = directory_of(path);
        if !directory.is_dir() {
            return Err(Error::NoDirectory { path: path.to_path_buf(), directory });
        }
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(Error::NotAFile { path: path.to_path_buf() });
        }
        Ok(Target { path: path.to_path_buf(), directory, replaced: None })
    }

    /// Whether its name still leads to what it led to, in the same state.
    pub fn is_unchanged(&self) -> bool {
        let now = fs::metadata(&self.path).map(|metadata| Stamp::of(&metadata));
        match (&self.replaced, now) {
            (Some(replaced), Ok(now)) => now == replaced.stamp,
            (None, Err(error)) => error.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }
}

/// Opens the file as one that is to be changed: who may not write to it may not replace it either.
fn open(path: &Path) -> Result<File, Error> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    let opened = opened.or_else(|_| OpenOptions::new().write(true).open(path));
    opened.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Error::Protected { path: path.to_path_buf() },
        _ => Error::io("open for writing", path)(error),
    })
}

/// Refuses what the system keeps as it is: files and directories with `chattr +i` or `+a`, files that are mounted.
#[cfg(target_os = "linux")]
fn refuse_fixed(path: &Path, directory: &Path) -> Result<(), Error> {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    let fixed = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
    for (what, attributes) in [(path, fixed | StatxAttributes::MOUNT_ROOT), (directory, fixed)] {
        // Systems that do not tell refuse in the end.
        let Ok(found) = statx(CWD, what, AtFlags::empty(), StatxFlags::BASIC_STATS) else {
            continue;
        };
        let found = found.stx_attributes & attributes;
        if found.contains(StatxAttributes::MOUNT_ROOT) {
            return Err(Error::Mounted { path: what.to_path_buf() });
        }
        if !found.is_empty() {
            return Err(Error::Fixed { path: what.to_path_buf() });
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn refuse_fixed(_: &Path, _: &Path) -> Result<(), Error> {
    Ok(())
}

/// Refuses files that the sticky bit of their directory reserves for others.
#[cfg(unix)]
fn refuse_sticky(path: &Path, directory: &Path, metadata: &Metadata) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let within = fs::metadata(directory).map_err(Error::io("look at", directory))?;
    let me = rustix::process::geteuid().as_raw();
    let sticky = within.mode() & 0o1000 != 0;
    if sticky && me != 0 && ![within.uid(), metadata.uid()].contains(&me) {
        return Err(Error::Sticky { path: path.to_path_buf(), directory: directory.to_path_buf() });
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_sticky(_: &Path, _: &Path, _: &Metadata) -> Result<(), Error> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_target_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("no").join("new");
        assert!(matches!(Target::resolve(&missing), Err(Error::NoDirectory { .. })));
        assert!(matches!(Target::resolve(directory.path()), Err(Error::NotAFile { .. })));
        assert!(Target::resolve(Path::new("/")).is_err());
        assert!(Target::resolve(Path::new("")).is_err());
        assert!(Target::resolve(&directory.path().join("x/")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        symlink("data", directory.path().join("link")).unwrap();
        let target = Target::resolve(&directory.path().join("link")).unwrap();
        assert_eq!(target.path, fs::canonicalize(&path).unwrap());
        assert!(target.is_unchanged());
        fs::write(&path, b"newer").unwrap();
        assert!(!target.is_unchanged());

        fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(matches!(Target::resolve(&path), Err(Error::Protected { .. })));
        let dangling = directory.path().join("dangling");
        symlink("nothing", &dangling).unwrap();
        assert!(matches!(Target::resolve(&dangling), Err(Error::Io { .. })));
    }
}
