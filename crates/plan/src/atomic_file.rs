//! One writer of a wisdom file at a time, whose additions are there whole or not at all.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, Metadata};
use std::hash::BuildHasher;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Has `change` make the file's new contents, alone among all who ask for the lock. Readers see the old contents or the new.
///
/// A symbolic link stays, the file that it leads to is replaced. The directory must be there.
pub fn rewrite<E>(
    path: &Path,
    io: impl Fn(io::Error) -> E,
    change: impl FnOnce(&Path) -> Result<Vec<u8>, E>,
) -> Result<(), E> {
    let path = followed(path).map_err(&io)?;
    refuse_others(&path).map_err(&io)?;
    let (lock, made) = hold(&path).map_err(&io)?;
    let written = change(&path)
        .and_then(|text| lock.metadata().and_then(|old| replace(&path, &text, &old)).map_err(&io));
    if written.is_err() && made {
        // Made for its lock alone.
        let _ = fs::remove_file(&path);
    }
    written
}

/// Where a path leads: to a file, or to where one would be made.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
        path => return path,
    };
    // Links in a circle are another error.
    while let Ok(target) = fs::read_link(&path) {
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Ok(path)
}

/// Refuses pipes, which would be waited for, and all else that is no file.
pub fn refuse_others(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(io::Error::other("it is not a regular file")),
        _ => Ok(()),
    }
}

/// A new file beside it, of a drawn name that nothing has.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let drawn = RandomState::new().hash_one(std::process::id());
        let new = path.with_file_name(format!(".turntile-{drawn:016x}.tmp"));
        match File::create_new(&new) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (new, file)),
        }
    }
}

fn replace(path: &Path, text: &[u8], old: &Metadata) -> io::Result<()> {
    let (new, file) = create_beside(path)?;
    let written = fill(file, text, old);
    let replaced = written.and_then(|()| fs::rename(&new, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// Writes a file of the old one's permissions, and closes it.
fn fill(mut file: File, text: &[u8], old: &Metadata) -> io::Result<()> {
    if cfg!(unix) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(text)?;
    file.sync_all()
}

/// The file itself, locked, and whether it had to be made. Who has waited looks again: it has been replaced since.
#[cfg(unix)]
fn hold(path: &Path) -> io::Result<(File, bool)> {
    use std::os::unix::fs::MetadataExt;
    loop {
        let made = !path.exists();
        let file =
            File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        file.lock()?;
        let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        let held = id(file.metadata()?);
        if fs::metadata(path).is_ok_and(|now| id(now) == held) {
            return Ok((file, made));
        }
    }
}

/// A file beside it, which stays: there the system does not report whether two files are one.
#[cfg(not(unix))]
fn hold(path: &Path) -> io::Result<(File, bool)> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = File::create(name)?;
    file.lock()?;
    Ok((file, false))
}
