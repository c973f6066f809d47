//! Locked, atomic replacement of the wisdom file: one writer at a time, all or nothing.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, Metadata};
use std::hash::BuildHasher;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Replaces the contents of a file atomically with the bytes that `change` returns.
///
/// `change` gets the resolved path, and runs while this process has the lock on the file. `io`
/// converts I/O errors. Readers see either the old or the new contents. If `path` is a symbolic
/// link, its target is replaced. The directory must exist.
pub fn rewrite<E>(
    path: &Path,
    io: impl Fn(io::Error) -> E,
    change: impl FnOnce(&Path) -> Result<Vec<u8>, E>,
) -> Result<(), E> {
    let path = resolve(path).map_err(&io)?;
    require_regular_file(&path).map_err(&io)?;
    let (lock, created) = lock(&path).map_err(&io)?;
    let written = change(&path)
        .and_then(|text| lock.metadata().and_then(|old| replace(&path, &text, &old)).map_err(&io));
    if written.is_err() && created {
        // The file was created only for its lock.
        let _ = fs::remove_file(&path);
    }
    written
}

/// Resolves symbolic links. The target does not have to exist.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
        path => return path,
    };
    // A cycle of links cannot reach this loop: `canonicalize` then fails with another error kind.
    while let Ok(target) = fs::read_link(&path) {
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Ok(path)
}

/// Returns an error if `path` exists and is not a regular file. Opening a pipe would block.
pub fn require_regular_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(io::Error::other("not a regular file")),
        _ => Ok(()),
    }
}

/// Creates a temporary file with an unused random name in the directory of `path`.
fn create_temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let random = RandomState::new().hash_one(std::process::id());
        let new = path.with_file_name(format!(".turntile-{random:016x}.tmp"));
        match File::create_new(&new) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (new, file)),
        }
    }
}

/// Writes `text` to a temporary file and renames it to `path`.
fn replace(path: &Path, text: &[u8], old: &Metadata) -> io::Result<()> {
    let (new, file) = create_temporary(path)?;
    let written = write_all(file, text, old);
    let replaced = written.and_then(|()| fs::rename(&new, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// Writes, synchronises and closes a file. On Unix, sets the permissions of `old`.
fn write_all(mut file: File, text: &[u8], old: &Metadata) -> io::Result<()> {
    if cfg!(unix) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(text)?;
    file.sync_all()
}

/// Opens and locks a file. Returns it, and `true` if it had to be created.
///
/// Tries again if another writer has replaced the file before the lock was granted.
#[cfg(unix)]
fn lock(path: &Path) -> io::Result<(File, bool)> {
    use std::os::unix::fs::MetadataExt;
    loop {
        let created = !path.exists();
        let file =
            File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        file.lock()?;
        let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        let locked = id(file.metadata()?);
        if fs::metadata(path).is_ok_and(|now| id(now) == locked) {
            return Ok((file, created));
        }
    }
}

/// Locks a separate file `NAME.lock`, which is not deleted. Systems other than Unix do not report
/// whether two open files are the same.
#[cfg(not(unix))]
fn lock(path: &Path) -> io::Result<(File, bool)> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = File::create(name)?;
    file.lock()?;
    Ok((file, false))
}
