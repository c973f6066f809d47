//! Source and target of a change, opened, locked and known again; what cannot be replaced is refused before any work.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::error::On;
use crate::file::directory::Directory;
use crate::file::lock::Asking;
use crate::say::shown;

/// Most links that Linux follows in a path.
const LINKS: usize = 40;

/// A file to work on.
#[derive(Debug)]
pub struct Opened {
    /// Its name.
    pub path: PathBuf,
    /// Open for reading if it is a source; if it is to be replaced for writing, and for reading where that is allowed.
    pub file: File,
    /// As it was when it was opened.
    pub metadata: Metadata,
}

/// A file to be replaced or to be made.
#[derive(Debug)]
pub struct Target {
    /// With symbolic links followed: their target is replaced, they stay.
    pub path: PathBuf,
    /// Where it lies, looked up once: what leads there may be replaced meanwhile.
    pub directory: Directory,
    /// Its name there.
    pub name: OsString,
    /// The file that is there now.
    pub replaced: Option<Opened>,
}

/// By what a file is known again: which it is, its length and times.
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

/// Which file it is; `None` where the system does not report it.
pub(super) fn id(metadata: &Metadata) -> Option<(u64, u64)> {
    stamp(metadata).0
}

impl Opened {
    fn new(path: &Path, opened: io::Result<File>) -> Result<Self> {
        let file = opened.on("open", path)?;
        let metadata = file.metadata().on("look at", path)?;
        Ok(Opened { path: path.to_path_buf(), file, metadata })
    }

    fn source(path: &Path) -> Result<Self> {
        // Asked before it is opened: opening a pipe would wait for a writer.
        refuse_irregular(path, &fs::metadata(path).on("open", path)?)?;
        Self::new(path, File::open(path))
    }

    /// Length of the file.
    pub fn bytes(&self) -> u64 {
        self.metadata.len()
    }

    /// Which file it is; none where the system does not report it.
    fn id(&self) -> Option<(u64, u64)> {
        id(&self.metadata)
    }

    /// Whether its name leads to this file, and its length and times are as they were.
    fn is_current(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|now| stamp(&now) == stamp(&self.metadata))
    }

    /// Refuses a file that is not as it was.
    pub fn unchanged(&self) -> Result<()> {
        if self.is_current() { Ok(()) } else { Err(changed(&self.path)) }
    }
}

/// What to say of a file that is not as it was.
pub fn changed(path: &Path) -> anyhow::Error {
    anyhow!("{} changed while it was being worked on; it was left as it is now", shown(path))
}

fn refuse_irregular(path: &Path, metadata: &Metadata) -> Result<()> {
    ensure!(metadata.is_file(), "{} is not a regular file", shown(path));
    Ok(())
}

impl Target {
    /// Finds out what `path` is, and whether it may be replaced or made. `option` names another.
    pub fn resolve(path: &Path, option: &str) -> Result<Self> {
        refuse_special(path)?;
        if fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            let directory = directory_of(path);
            if !directory.is_dir() {
                let directory = shown(&directory);
                bail!("cannot write {}: there is no directory {directory}", shown(path));
            }
            let is_name = !path.as_os_str().as_encoded_bytes().ends_with(b"/");
            ensure!(is_name, "{} is not a regular file", shown(path));
            return Self::new(path);
        }
        let path = fs::canonicalize(path).on("follow", path)?;
        let mut target = Self::new(&path)?;
        let at = target.directory.at(&target.name);
        let metadata = fs::symlink_metadata(&at).on("look at", &path)?;
        refuse_irregular(&path, &metadata)?;
        let with = |read| OpenOptions::new().read(read).write(true).open(&at);
        let opened = with(true).or_else(|_| with(false));
        let is_kept = |error: &io::Error| error.kind() == ErrorKind::PermissionDenied;
        if metadata.permissions().readonly() || opened.as_ref().is_err_and(is_kept) {
            let what = "write-protected; make it writable or name another file with";
            bail!("{} is {what} {option}", shown(&path));
        }
        target.replaced = Some(Opened::new(&path, opened)?);
        Ok(target)
    }

    /// A name in a directory, whatever has it.
    pub fn new(path: &Path) -> Result<Self> {
        let (directory, name) = (directory_of(path), path.file_name());
        let name = name.with_context(|| format!("{} is not a regular file", shown(path)))?;
        let directory = Directory::open(&directory, true).on("open", &directory)?;
        Ok(Target { path: path.to_path_buf(), directory, name: name.to_owned(), replaced: None })
    }

    /// The path of the directory.
    pub fn parent(&self) -> PathBuf {
        directory_of(&self.path)
    }

    /// Whether the file that is there now has other names: hard links.
    pub fn has_other_names(&self) -> bool {
        #[cfg(unix)]
        return self
            .replaced
            .as_ref()
            .is_some_and(|old| std::os::unix::fs::MetadataExt::nlink(&old.metadata) > 1);
        #[cfg(not(unix))]
        false
    }

    /// Whether its name still leads to what it led to, in the same state.
    pub fn is_unchanged(&self) -> bool {
        match (&self.replaced, fs::symlink_metadata(self.directory.at(&self.name))) {
            (Some(replaced), Ok(now)) => stamp(&now) == stamp(&replaced.metadata),
            (None, Err(error)) => error.kind() == ErrorKind::NotFound,
            _ => false,
        }
    }
}

/// Refuses names that lead through /dev or /proc: `/dev/stdout` is a link to the file that standard
/// output was redirected to, and a rename would put another in that file's place, unseen by the shell
/// that holds it open. Every link on the way counts. What lies in /dev/shm are ordinary files.
fn refuse_special(path: &Path) -> Result<()> {
    let mut at = path.to_path_buf();
    for _ in 0..LINKS {
        // What cannot be followed is reported when it is opened.
        let Ok(directory) = fs::canonicalize(directory_of(&at)) else { return Ok(()) };
        let within = |root| directory.starts_with(root);
        if (within("/dev") && !within("/dev/shm")) || within("/proc") {
            let what = "a device or an open file, which cannot be replaced";
            bail!("{} leads to {what}; name a file of a directory", shown(path));
        }
        let Ok(link) = fs::read_link(&at) else { return Ok(()) };
        at = directory.join(link);
    }
    Ok(())
}

/// Where a name is looked up.
fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Opens and locks a source and a target, each if there is one: no other program that locks them changes them.
///
/// After a wait the files are opened again: their names may lead to others.
pub fn open(
    source: Option<&Path>,
    target: Option<&Path>,
    asking: &Asking,
) -> Result<(Option<Opened>, Option<Target>)> {
    let is_in_place = source.is_some() && source == target;
    loop {
        // The source first: that it is missing or no file is the better word.
        let mut source = source.map(Opened::source).transpose()?;
        let target = target.map(|path| Target::resolve(path, "--output")).transpose()?;
        lock(source.as_mut(), target.as_ref(), asking)?;
        let replaced = target.as_ref().and_then(|target| target.replaced.as_ref());
        let is_one = source.as_ref().zip(replaced).is_some_and(|(one, other)| is_same(one, other));
        let is_current = source.as_ref().is_none_or(Opened::is_current);
        let is_current = is_current && target.as_ref().is_none_or(Target::is_unchanged);
        if is_current && is_one >= is_in_place {
            return Ok((source, target));
        }
    }
}

fn lock(source: Option<&mut Opened>, target: Option<&Target>, asking: &Asking) -> Result<()> {
    let replaced = target.and_then(|target| target.replaced.as_ref());
    let alone = |file: &Opened| asking.lock(&file.file, &file.path, false);
    let shared = |file: &Opened| asking.lock(&file.file, &file.path, true);
    match (source, replaced) {
        (None, replaced) => replaced.map_or(Ok(()), alone),
        (Some(source), None) => shared(source),
        (Some(source), Some(replaced)) if is_same(source, replaced) => {
            alone(replaced)?;
            if cfg!(not(unix)) {
                // Some systems keep a locked file from all other handles, those of the process included.
                source.file = replaced.file.try_clone().on("open", &replaced.path)?;
            }
            Ok(())
        }
        // In an order that is the same for all, so that no two wait for each other.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Locking;
    use std::sync::mpsc;
    use std::thread;

    fn open(path: &Path, output: &Path, locking: Locking) -> Result<(Opened, Target)> {
        let (source, target) = super::open(Some(path), Some(output), &Asking::new(locking, true))?;
        Ok((source.unwrap(), target.unwrap()))
    }

    #[test]
    fn who_waited_has_the_file_that_is_there_now() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        let first = open(&path, &path, Locking::Wait).unwrap();
        let refused = open(&path, &path, Locking::Refuse).unwrap_err();
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
        let first = open(&path, &one, Locking::Refuse).unwrap();
        let second = open(&path, &other, Locking::Refuse).unwrap();
        assert!(open(&path, &path, Locking::Refuse).is_err());
        // Without locks nothing is refused.
        assert!(open(&path, &path, Locking::Off).is_ok());
        drop((first, second));
        assert!(open(&path, &path, Locking::Refuse).is_ok());
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
        // As `touch --reference` and `cp --preserve` do.
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
