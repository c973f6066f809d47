//! Source and target of a change, opened, locked and recognised again; what cannot be replaced is rejected before any work.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail, ensure};

use crate::error::On;
use crate::file::lock::LockRequest;
use crate::say::shown;

/// Most links that Linux follows in a path.
const LINKS: usize = 40;

/// An open file.
#[derive(Debug)]
pub struct Opened {
    /// Its path.
    pub path: PathBuf,
    /// A source is open for reading; a target for writing, and for reading if that is allowed.
    pub file: File,
    /// Metadata when it was opened.
    pub metadata: Metadata,
}

/// A file to be replaced or created.
#[derive(Debug)]
pub struct Target {
    /// Its path with symbolic links followed: their target is replaced, they stay.
    pub path: PathBuf,
    /// The existing file.
    pub replaced: Option<Opened>,
}

/// Identity, length and times of a file: it is unchanged if these are.
#[cfg(unix)]
fn stamp(metadata: &Metadata) -> (Option<(u64, u64)>, u64, [i64; 4]) {
    use std::os::unix::fs::MetadataExt;
    // No program can set the time of change.
    let changed = [metadata.ctime(), metadata.ctime_nsec()];
    let [seconds, more] = changed;
    let times = [metadata.mtime(), metadata.mtime_nsec(), seconds, more];
    (Some((metadata.dev(), metadata.ino())), metadata.len(), times)
}

#[cfg(not(unix))]
fn stamp(metadata: &Metadata) -> (Option<(u64, u64)>, u64, Option<std::time::SystemTime>) {
    (None, metadata.len(), metadata.modified().ok())
}

/// Device and inode of a file; `None` where the system does not report them.
fn id(metadata: &Metadata) -> Option<(u64, u64)> {
    stamp(metadata).0
}

impl Opened {
    fn new(path: &Path, opened: io::Result<File>) -> Result<Self> {
        let file = opened.on("open", path)?;
        let metadata = file.metadata().on("look at", path)?;
        Ok(Opened { path: path.to_path_buf(), file, metadata })
    }

    fn source(path: &Path) -> Result<Self> {
        // Checked before it is opened: opening a pipe would wait for a writer.
        refuse_irregular(path, &fs::metadata(path).on("open", path)?)?;
        Self::new(path, File::open(path))
    }

    /// Returns the length of the file.
    pub fn bytes(&self) -> u64 {
        self.metadata.len()
    }

    fn id(&self) -> Option<(u64, u64)> {
        id(&self.metadata)
    }

    /// Returns whether its path still leads to this file, with the same length and times.
    fn is_current(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|now| stamp(&now) == stamp(&self.metadata))
    }

    /// Returns an error if the file has changed.
    pub fn unchanged(&self) -> Result<()> {
        if self.is_current() { Ok(()) } else { Err(changed(&self.path)) }
    }
}

/// The error for a file that has changed.
pub fn changed(path: &Path) -> anyhow::Error {
    anyhow!("{} changed while it was read; the result is discarded", shown(path))
}

fn refuse_irregular(path: &Path, metadata: &Metadata) -> Result<()> {
    ensure!(metadata.is_file(), "{} is not a regular file", shown(path));
    Ok(())
}

impl Target {
    /// Checks that `path` may be replaced or created. `option` is the option that names another file.
    pub fn resolve(path: &Path, option: &str) -> Result<Self> {
        refuse_special(path)?;
        if fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            let directory = directory_of(path);
            if !directory.is_dir() {
                let directory = shown(&directory);
                bail!("cannot write {}: there is no directory {directory}", shown(path));
            }
            let name = path.file_name();
            let is_name = !path.as_os_str().as_encoded_bytes().ends_with(b"/");
            let Some(name) = name.filter(|_| is_name) else {
                bail!("cannot write {}: it is not a file name", shown(path))
            };
            let directory = fs::canonicalize(&directory).on("open", &directory)?;
            return Ok(Target { path: directory.join(name), replaced: None });
        }
        let path = fs::canonicalize(path).on("follow", path)?;
        let metadata = fs::symlink_metadata(&path).on("look at", &path)?;
        refuse_irregular(&path, &metadata)?;
        let with = |read| OpenOptions::new().read(read).write(true).open(&path);
        let opened = with(true).or_else(|_| with(false));
        let is_kept = |error: &io::Error| error.kind() == ErrorKind::PermissionDenied;
        if metadata.permissions().readonly() || opened.as_ref().is_err_and(is_kept) {
            bail!("{} is write-protected; name another file with {option}", shown(&path));
        }
        let replaced = Some(Opened::new(&path, opened)?);
        Ok(Target { path, replaced })
    }

    /// Returns the directory.
    pub fn parent(&self) -> PathBuf {
        directory_of(&self.path)
    }

    /// Returns whether the existing file has other names (hard links).
    pub fn has_other_names(&self) -> bool {
        #[cfg(unix)]
        return self
            .replaced
            .as_ref()
            .is_some_and(|old| std::os::unix::fs::MetadataExt::nlink(&old.metadata) > 1);
        #[cfg(not(unix))]
        false
    }

    /// Returns whether the path still leads to the same file in the same state, or still to none.
    pub fn is_unchanged(&self) -> bool {
        match (&self.replaced, fs::symlink_metadata(&self.path)) {
            (Some(replaced), Ok(now)) => stamp(&now) == stamp(&replaced.metadata),
            (None, Err(error)) => error.kind() == ErrorKind::NotFound,
            _ => false,
        }
    }
}

/// Rejects paths that lead through /dev or /proc: `/dev/stdout` links to the file that standard output was redirected to, and
/// a rename would replace that file unseen by the shell that has it open. Files in /dev/shm are ordinary ones.
fn refuse_special(path: &Path) -> Result<()> {
    let mut at = path.to_path_buf();
    for _ in 0..LINKS {
        // A link that cannot be followed is reported when it is opened.
        let Ok(directory) = fs::canonicalize(directory_of(&at)) else { return Ok(()) };
        let within = |root| directory.starts_with(root);
        if (within("/dev") && !within("/dev/shm")) || within("/proc") {
            bail!("{} leads to a device or an open file, which cannot be replaced", shown(path));
        }
        let Ok(link) = fs::read_link(&at) else { return Ok(()) };
        at = directory.join(link);
    }
    Ok(())
}

/// Returns the directory of a path.
fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Opens and locks a source and a target, so that no other program that locks them changes them. After a wait both are opened
/// again: their paths may lead to other files.
pub fn open(
    source: Option<&Path>,
    target: Option<&Path>,
    request: &LockRequest,
) -> Result<(Option<Opened>, Option<Target>)> {
    let is_in_place = source.is_some() && source == target;
    loop {
        // The source first: its error is the better explanation.
        let mut source = source.map(Opened::source).transpose()?;
        let target = target.map(|path| Target::resolve(path, "--output")).transpose()?;
        lock(source.as_mut(), target.as_ref(), request)?;
        let replaced = target.as_ref().and_then(|target| target.replaced.as_ref());
        let is_one = source.as_ref().zip(replaced).is_some_and(|(one, other)| is_same(one, other));
        let is_current = source.as_ref().is_none_or(Opened::is_current);
        let is_current = is_current && target.as_ref().is_none_or(Target::is_unchanged);
        if is_current && is_one >= is_in_place {
            return Ok((source, target));
        }
    }
}

fn lock(source: Option<&mut Opened>, target: Option<&Target>, request: &LockRequest) -> Result<()> {
    let replaced = target.and_then(|target| target.replaced.as_ref());
    let alone = |file: &Opened| request.lock(&file.file, &file.path, false);
    let shared = |file: &Opened| request.lock(&file.file, &file.path, true);
    match (source, replaced) {
        (None, replaced) => replaced.map_or(Ok(()), alone),
        (Some(source), None) => shared(source),
        (Some(source), Some(replaced)) if is_same(source, replaced) => {
            alone(replaced)?;
            if cfg!(not(unix)) {
                // Some systems lock a file against all other handles, including the process's own.
                source.file = replaced.file.try_clone().on("open", &replaced.path)?;
            }
            Ok(())
        }
        // In an order that all runs share, so that no two wait for each other.
        (Some(source), Some(replaced)) if source.id() < replaced.id() => {
            shared(source).and_then(|()| alone(replaced))
        }
        (Some(source), Some(replaced)) => alone(replaced).and_then(|()| shared(source)),
    }
}

fn is_same(source: &Opened, replaced: &Opened) -> bool {
    match (source.id(), replaced.id()) {
        (Some(one), Some(other)) => one == other,
        _ => fs::canonicalize(&source.path).is_ok_and(|path| path == replaced.path),
    }
}

/// Rejects paths to which no file of measurements can be written, before the measurements.
pub fn refuse_unwritable(path: &Path) -> Result<()> {
    let target = Target::resolve(path, "--wisdom")?;
    tempfile::tempfile_in(target.parent()).on("write to", &target.parent()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Locking;
    use std::sync::mpsc;
    use std::thread;

    fn open(path: &Path, output: &Path, locking: Locking) -> Result<(Opened, Target)> {
        let (source, target) =
            super::open(Some(path), Some(output), &LockRequest::new(locking, true))?;
        Ok((source.unwrap(), target.unwrap()))
    }

    #[test]
    fn who_waited_has_the_file_that_is_there_now() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        let first = open(&path, &path, Locking::Wait).unwrap();
        let refused = open(&path, &path, Locking::Fail).unwrap_err();
        assert!(refused.to_string().contains("is locked"), "{refused}");
        let (started, start) = mpsc::channel();
        let second = thread::spawn({
            let path = path.clone();
            move || {
                started.send(()).unwrap();
                open(&path, &path, Locking::Wait).unwrap().0.bytes()
            }
        });
        start.recv().unwrap();
        fs::write(directory.path().join("new"), b"the new one").unwrap();
        fs::rename(directory.path().join("new"), &path).unwrap();
        drop(first);
        assert_eq!(second.join().unwrap(), 11);
    }

    #[test]
    fn readers_share_a_source() {
        let directory = tempfile::tempdir().unwrap();
        let [path, one, other] = ["data", "one", "other"].map(|name| directory.path().join(name));
        fs::write(&path, b"old").unwrap();
        let first = open(&path, &one, Locking::Fail).unwrap();
        let second = open(&path, &other, Locking::Fail).unwrap();
        assert!(open(&path, &path, Locking::Fail).is_err());
        // Without locks nothing is refused.
        assert!(open(&path, &path, Locking::Off).is_ok());
        drop((first, second));
        assert!(open(&path, &path, Locking::Fail).is_ok());
    }

    #[test]
    fn changes_show() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        // Times count in ticks of some milliseconds.
        thread::sleep(std::time::Duration::from_millis(20));
        let (source, target) = open(&path, &path, Locking::Wait).unwrap();
        assert!(source.unchanged().is_ok() && target.is_unchanged());
        let modified = source.metadata.modified().unwrap();
        fs::write(&path, b"new").unwrap();
        // `touch --reference` and `cp --preserve` do the same.
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert!(source.unchanged().unwrap_err().to_string().contains("changed while"));
        assert!(!target.is_unchanged());
    }

    #[test]
    fn what_cannot_be_a_target_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let refused = |path: &Path| Target::resolve(path, "--output").unwrap_err().to_string();
        assert!(refused(&directory.path().join("no").join("new")).contains("no directory"));
        assert!(refused(directory.path()).contains("not a regular file"));
        for path in [Path::new("/"), Path::new(""), &directory.path().join("x/")] {
            refused(path);
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        symlink("data", directory.path().join("link")).unwrap();
        let target = Target::resolve(&directory.path().join("link"), "--output").unwrap();
        assert_eq!(target.path, fs::canonicalize(&path).unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(
            Target::resolve(&path, "--wisdom")
                .unwrap_err()
                .to_string()
                .contains("another file with --wisdom")
        );
        let dangling = directory.path().join("dangling");
        symlink("nothing", &dangling).unwrap();
        assert!(Target::resolve(&dangling, "--output").is_err());
    }
}
