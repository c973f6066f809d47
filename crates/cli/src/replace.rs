//! Files replaced whole or not at all: written beside, synced, renamed.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::error::Error;

/// How far the process's replacement has come.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is there that would have to be removed.
    Clear,
    /// This temporary file is.
    Writing(PathBuf),
    /// The new file is in place.
    Replaced,
}

/// For whoever must clean up before the process ends.
static STAGE: Mutex<Stage> = Mutex::new(Stage::Clear);

fn stage() -> MutexGuard<'static, Stage> {
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells that the work is given up, removes the temporary file, if there is one, and ends the process.
///
/// Once the new file is in place there is nothing to give up, and this returns without a word: who is
/// told of an interruption can rely on the old file. The lock is held to the end: a rename that has
/// begun is finished first, none begins after, and no new temporary file appears.
pub fn abandon(tell: impl FnOnce(), exit_code: i32) {
    let stage = stage();
    match &*stage {
        Stage::Replaced => return,
        Stage::Clear => {}
        Stage::Writing(path) => {
            let _ = fs::remove_file(path);
        }
    }
    tell();
    std::process::exit(exit_code)
}

/// Where a result goes: a file to be replaced or to be made.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    directory: PathBuf,
    replaced: Option<Metadata>,
}

impl Target {
    /// Finds out what `path` is. Symbolic links are followed: their target is replaced, they stay.
    pub fn resolve(path: &Path) -> Result<Self, Error> {
        refuse_special(path)?;
        if let Err(error) = fs::symlink_metadata(path)
            && error.kind() == io::ErrorKind::NotFound
        {
            return Self::absent(path);
        }
        let path = fs::canonicalize(path).map_err(Error::io("follow", path))?;
        let metadata = fs::metadata(&path).map_err(Error::io("look at", &path))?;
        if !metadata.is_file() {
            return Err(Error::NotAFile { path });
        }
        if metadata.permissions().readonly() {
            return Err(Error::Protected { path });
        }
        let directory = directory_of(&path);
        Ok(Target { path, directory, replaced: Some(metadata) })
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

    /// Opens the temporary file beside the target.
    pub fn begin(self) -> Result<Pending, Error> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".turntile-").suffix(".tmp");
        #[cfg(unix)]
        if self.replaced.is_none() {
            use std::os::unix::fs::PermissionsExt;
            // Less the process's umask, as for any new file.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut stage = stage();
        let temp = builder
            .tempfile_in(&self.directory)
            .map_err(Error::io("make a temporary file in", &self.directory))?;
        *stage = Stage::Writing(temp.path().to_path_buf());
        drop(stage);
        let pending = Pending { temp: Some(temp), target: self };
        if let Some(metadata) = &pending.target.replaced {
            keep_owner(pending.file(), metadata);
            pending.file().set_permissions(metadata.permissions()).map_err(Error::io(
                "set the permissions of the temporary file for",
                pending.path(),
            ))?;
        }
        Ok(pending)
    }
}

/// A result that is being written. Dropped before it is committed, it leaves nothing.
#[derive(Debug)]
pub struct Pending {
    /// `None` only once committed or dropped.
    temp: Option<NamedTempFile>,
    target: Target,
}

impl Pending {
    /// The temporary file.
    pub fn file(&self) -> &File {
        self.temp.as_ref().expect("present until committed or dropped").as_file()
    }

    /// The file that will be replaced or made.
    pub fn path(&self) -> &Path {
        &self.target.path
    }

    /// Syncs what was written and puts it in the target's place. Then the work is done; what may
    /// still fail, that the rename outlasts a power cut, is returned to be warned of.
    pub fn commit(mut self) -> Result<Option<Error>, Error> {
        self.file().sync_all().map_err(Error::io("sync the new", self.path()))?;
        let mut stage = stage();
        let temp = self.temp.take().expect("present until committed or dropped");
        let renamed = temp.persist(&self.target.path);
        *stage = if renamed.is_ok() { Stage::Replaced } else { Stage::Clear };
        drop(stage);
        match renamed {
            Ok(_) => Ok(sync_directory(&self.target.directory).err()),
            Err(error) => Err(Error::io("replace", &self.target.path)(error.error)),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut stage = stage();
        if self.temp.take().is_some() {
            *stage = Stage::Clear;
        }
    }
}

/// Most links that Linux follows in a path.
const LINKS: usize = 40;

/// Refuses names that lead through /dev or /proc: `/dev/stdout` is a link to the file that standard
/// output was redirected to, and a rename would put another in that file's place, unseen by the shell
/// that holds it open. Every link on the way counts, not only the last. What lies in /dev/shm are
/// ordinary files.
fn refuse_special(path: &Path) -> Result<(), Error> {
    let mut at = path.to_path_buf();
    for _ in 0..LINKS {
        // What cannot be followed is reported by whoever opens it.
        let Ok(directory) = fs::canonicalize(directory_of(&at)) else { return Ok(()) };
        let within = |root| directory.starts_with(root);
        if (within("/dev") && !within("/dev/shm")) || within("/proc") {
            return Err(Error::Special { path: path.to_path_buf() });
        }
        let Ok(link) = fs::read_link(&at) else { return Ok(()) };
        at = directory.join(link);
    }
    Ok(())
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Gives the new file the old one's owner and group, where the system lets us.
fn keep_owner(file: &File, metadata: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let _ = fchown(file, Some(metadata.uid()), Some(metadata.gid()));
    }
    #[cfg(not(unix))]
    let _ = (file, metadata);
}

/// Makes the rename itself outlast a power cut.
fn sync_directory(directory: &Path) -> Result<(), Error> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    match synced {
        // Some file systems cannot sync a directory; the rename is done all the same.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other.map_err(Error::io("sync the directory", directory)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// The registry of the temporary file is one for the process: so are the tests that use it.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_commit_replaces_and_a_drop_does_not() {
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        let pending = Target::resolve(&path).unwrap().begin().unwrap();
        pending.file().write_all(b"half").unwrap();
        assert_eq!(names(directory.path()).len(), 2);
        drop(pending);
        assert_eq!(*stage(), Stage::Clear);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["data"]);

        let pending = Target::resolve(&path).unwrap().begin().unwrap();
        pending.file().write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert!(pending.commit().unwrap().is_none());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(directory.path()), ["data"]);
        assert_eq!(*stage(), Stage::Replaced);
    }

    #[test]
    fn a_new_file_is_made_and_a_missing_directory_is_an_error() {
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new");
        Target::resolve(&path).unwrap().begin().unwrap().commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        let missing = directory.path().join("no").join("new");
        assert!(matches!(Target::resolve(&missing), Err(Error::NoDirectory { .. })));
        assert!(matches!(Target::resolve(directory.path()), Err(Error::NotAFile { .. })));
        assert!(Target::resolve(Path::new("/")).is_err());
        assert!(Target::resolve(Path::new("")).is_err());
        assert!(Target::resolve(&directory.path().join("x/")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("data"), directory.path().join("link"));
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("data", &link).unwrap();
        let pending = Target::resolve(&link).unwrap().begin().unwrap();
        pending.file().write_all(b"new").unwrap();
        pending.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());

        fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(matches!(Target::resolve(&path), Err(Error::Protected { .. })));
        let dangling = directory.path().join("dangling");
        symlink("nothing", &dangling).unwrap();
        assert!(matches!(Target::resolve(&dangling), Err(Error::Io { .. })));
    }
}
