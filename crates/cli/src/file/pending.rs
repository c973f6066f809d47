//! A result until it is in place: written beside, synced, given the target's name.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::{Error, Result, anyhow};

use crate::error::On;
use crate::file::directory::Directory;
use crate::file::open::{Opened, Target, changed};
use crate::file::{is_unsupported, keep, temporary};
use crate::say::{notify, shown};

/// How far the process's replacement has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PendingStage {
    /// Nothing is there that would have to be removed.
    Clear,
    /// These temporary files are.
    Writing(Vec<PathBuf>),
    /// The new file is in place, and no other has begun.
    Replaced,
}

/// What has to be cleaned up before the process ends.
static STAGE: Mutex<PendingStage> = Mutex::new(PendingStage::Clear);

/// Notified when the stage is no longer that of a file in place.
static BEGUN: Condvar = Condvar::new();

pub(super) fn stage() -> MutexGuard<'static, PendingStage> {
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports that the work is given up, removes the temporary file, if there is one with a name, and ends the process as `end` does.
///
/// Once the last new file is in place there is nothing to give up: this waits, and prints nothing, for a file that follows, or
/// for the end of the process. The lock is held to the end: a rename that has begun is finished first, none begins after, and
/// no new temporary file appears.
#[cfg(unix)]
pub fn abandon(report: impl FnOnce(), end: impl FnOnce()) {
    let stage = BEGUN.wait_while(stage(), |stage| *stage == PendingStage::Replaced);
    // Bound to a name: a temporary would release the lock before `end`.
    let stage = stage.unwrap_or_else(PoisonError::into_inner);
    if let PendingStage::Writing(paths) = &*stage {
        paths.iter().for_each(|path| drop(fs::remove_file(path)));
    }
    report();
    end();
}

/// Announces that another file follows: a signal that came while the last one took its place ends the process before that.
pub fn proceed() {
    *stage() = PendingStage::Clear;
    BEGUN.notify_all();
}

/// A result that is being written. Dropped before it is committed, it leaves nothing.
#[derive(Debug)]
pub struct Pending {
    file: File,
    /// The temporary file's name, if it has one.
    name: Option<PathBuf>,
    target: Target,
}

/// Opens the temporary file of a target, with all that the file has which it is to replace; a new file's permissions
/// are no wider than those of `source`. Room for `bytes` bytes is reserved. What killed runs left is removed, with a note
/// unless `quiet`.
pub fn begin(target: Target, source: Option<&Opened>, bytes: u64, quiet: bool) -> Result<Pending> {
    temporary::remove_leftovers(&target, quiet);
    if target.has_other_names() && !quiet {
        let what = "has other names (hard links), under which the old data stay";
        notify(&format_args!("note: {} {what}", shown(&target.path)));
    }
    let mode = match (&target.replaced, source) {
        (Some(_), _) => 0o600,
        (None, None) => 0o666,
        (None, Some(source)) => keep::mode_of_new(&source.file, &source.metadata),
    };
    let mut stage = stage();
    let (file, name) = temporary::make(&target, mode)?;
    *stage = name.clone().map_or(PendingStage::Clear, |name| PendingStage::Writing(vec![name]));
    drop(stage);
    // A sign to others that it is in use; no other program can have locked it.
    let _ = file.try_lock();
    let pending = Pending { file, name, target };
    match (&pending.target.replaced, source) {
        (Some(old), _) => keep::keep(&pending.file, &old.file, &old.metadata, pending.path())?,
        (None, Some(source)) => keep::narrow(&pending.file, &source.metadata, pending.path())?,
        (None, None) => {}
    }
    temporary::reserve(&pending.file, bytes, pending.path())?;
    Ok(pending)
}

impl Pending {
    /// The temporary file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What will be replaced or made.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.target.path
    }

    /// Syncs what was written and puts it in the target's place, if that and the source are as they were. Then the work is
    /// done; what may still fail, that the new name outlasts a power cut, is returned to be warned of.
    pub fn commit(mut self, source: Option<&Opened>) -> Result<Option<Error>> {
        self.file.sync_all().on("sync the new", self.path())?;
        let mut stage = stage();
        // Asked last: only a write in the instant of the rename is missed.
        source.map_or(Ok(()), Opened::unchanged)?;
        let is_new = self.target.replaced.is_none();
        let path = self.target.path.clone();
        let appeared = || {
            let what = "was made by another program meanwhile; it was left as it is";
            anyhow!("{} {what}", shown(&path))
        };
        if !self.target.is_unchanged() {
            return Err(if is_new { appeared() } else { changed(&path) });
        }
        let placed = if is_new { self.make() } else { self.replace() };
        if placed.is_ok() {
            self.name = None;
            *stage = PendingStage::Replaced;
        }
        drop(stage);
        match placed {
            Err(error) if is_new && error.kind() == ErrorKind::AlreadyExists => {
                return Err(appeared());
            }
            placed => placed.on(if is_new { "make" } else { "replace" }, &path)?,
        }
        Ok(sync(&self.target.directory, &self.target.parent()).err())
    }

    /// Over the file that is there: nothing but a rename replaces a file, and that takes a name.
    fn replace(&mut self) -> io::Result<()> {
        let name = match self.name.take() {
            Some(name) => name,
            None => temporary::named(&self.target, |path| temporary::name(&self.file, path))?.1,
        };
        let name = self.name.insert(name);
        fs::rename(name, self.target.directory.at(&self.target.name))
    }

    /// Where nothing is: what has come there meanwhile stays.
    fn make(&mut self) -> io::Result<()> {
        let path = self.target.directory.at(&self.target.name);
        let Some(name) = &self.name else { return temporary::name(&self.file, &path) };
        // Two names for a moment, where there can be: a rename would replace what came meanwhile.
        match fs::hard_link(name, &path) {
            Ok(()) => fs::remove_file(name),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            Err(_) => fs::rename(name, &path),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            let mut stage = stage();
            let _ = fs::remove_file(name);
            *stage = PendingStage::Clear;
        }
    }
}

/// Makes the new name itself outlast a power cut.
pub(super) fn sync(directory: &Directory, path: &Path) -> Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(directory.at(".")).and_then(|directory| directory.sync_all()) {
        // Some file systems cannot sync a directory; the rename is done all the same.
        Err(error) if is_unsupported(&error) => Ok(()),
        synced => synced.on("sync the directory", path),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::file::{Asking, Locking, open};
    use std::io::Write;
    use std::thread;
    use std::time::Duration;

    /// The registry of the temporary file is one for the process: so are the tests that use it.
    pub static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn opened(path: &Path, output: Option<&Path>) -> (Opened, Target) {
        let asking = Asking::new(Locking::Refuse, true);
        let (source, target) = open(Some(path), Some(output.unwrap_or(path)), &asking).unwrap();
        (source.unwrap(), target.unwrap())
    }

    fn begun(path: &Path, output: Option<&Path>) -> (Opened, Pending) {
        let (source, target) = opened(path, output);
        let pending = begin(target, Some(&source), 0, true).unwrap();
        pending.file().write_all(b"new").unwrap();
        (source, pending)
    }

    fn refused(pending: Pending, source: &Opened) -> String {
        pending.commit(Some(source)).unwrap_err().to_string()
    }

    #[test]
    fn a_commit_replaces_and_a_drop_does_not() {
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        drop(begun(&path, None));
        assert_eq!(*stage(), PendingStage::Clear);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["data"]);

        let (source, pending) = begun(&path, None);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert!(pending.commit(Some(&source)).unwrap().is_none());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(directory.path()), ["data"]);
        assert_eq!(*stage(), PendingStage::Replaced);
    }

    #[test]
    fn temporary_files_with_names_do_the_same() {
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        for (output, placed) in [(None, true), (Some("other"), true), (None, false)] {
            let output = output.map(|name| directory.path().join(name));
            let (source, target) = opened(&path, output.as_deref());
            let create = |path: &Path| temporary::create(path, 0o600);
            let (file, name) = temporary::named(&target, create).unwrap();
            (&file).write_all(b"new").unwrap();
            let pending = Pending { file, name: Some(name), target };
            let before = names(directory.path()).len();
            if placed {
                pending.commit(Some(&source)).unwrap();
                assert_eq!(fs::read(output.as_deref().unwrap_or(&path)).unwrap(), b"new");
            } else {
                drop(pending);
                assert_eq!(names(directory.path()).len(), before - 1);
            }
        }
        assert_eq!(names(directory.path()), ["data", "other"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_replaced_where_it_was_found() {
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let [shared, moved, victim] =
            ["shared", "moved", "victim"].map(|name| directory.path().join(name));
        for output in [None, Some("output")] {
            for path in [&shared, &victim] {
                fs::create_dir(path).unwrap();
            }
            for path in [&shared, &victim] {
                fs::write(path.join("data"), b"old").unwrap();
            }
            let output = output.map(|name| shared.join(name));
            let (_, pending) = begun(&shared.join("data"), output.as_deref());
            // As another user does who may write where the directory lies.
            fs::rename(&shared, &moved).unwrap();
            std::os::unix::fs::symlink(&victim, &shared).unwrap();
            pending.commit(None).unwrap();
            assert_eq!(names(&victim), ["data"]);
            assert_eq!(fs::read(victim.join("data")).unwrap(), b"old");
            let made = if output.is_some() { "output" } else { "data" };
            assert_eq!(fs::read(moved.join(made)).unwrap(), b"new");
            fs::remove_file(&shared).unwrap();
            for path in [&moved, &victim] {
                fs::remove_dir_all(path).unwrap();
            }
        }
    }

    #[test]
    fn what_is_written_meanwhile_stays() {
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        let output = directory.path().join("output");
        fs::write(&path, b"old").unwrap();
        // As late as can be, of the same length, and with the time of the old contents: found where the source is
        // replaced, and where it stays.
        for output in [None, Some(&*output)] {
            // Times count in ticks of some milliseconds.
            thread::sleep(Duration::from_millis(20));
            let (source, pending) = begun(&path, output);
            let writer = File::options().write(true).open(&path).unwrap();
            let modified = writer.metadata().unwrap().modified().unwrap();
            (&writer).write_all(b"not").unwrap();
            writer.set_modified(modified).unwrap();
            assert!(refused(pending, &source).contains("data changed while"));
            assert_eq!(fs::read(&path).unwrap(), b"not");
        }
        assert_eq!(names(directory.path()), ["data"]);

        // Another file by that name, or by the name of a new one.
        let (source, pending) = begun(&path, None);
        fs::write(directory.path().join("mv"), b"another").unwrap();
        fs::rename(directory.path().join("mv"), &path).unwrap();
        assert!(refused(pending, &source).contains("data changed while"));
        assert_eq!(fs::read(&path).unwrap(), b"another");
        let (source, mut pending) = begun(&path, Some(&output));
        fs::write(&output, b"another").unwrap();
        assert_eq!(pending.make().unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert!(refused(pending, &source).contains("output was made by another program"));
        assert_eq!(fs::read(&output).unwrap(), b"another");
        assert_eq!(names(directory.path()), ["data", "output"]);
    }

    /// No file is made and none renamed between the cleaning up after a signal and the end of the process.
    #[cfg(unix)]
    #[test]
    fn an_interruption_holds_the_lock_to_the_end() {
        let _one = ONE_AT_A_TIME.lock();
        *stage() = PendingStage::Writing(Vec::new());
        let is_held = || assert!(STAGE.try_lock().is_err());
        abandon(is_held, is_held);
        *stage() = PendingStage::Clear;
    }

    /// A signal that comes while a file takes its place ends the process once another begins; not if none follows.
    #[cfg(unix)]
    #[test]
    fn an_interruption_waits_for_the_next_file() {
        let _one = ONE_AT_A_TIME.lock();
        *stage() = PendingStage::Replaced;
        let (reported, report) = std::sync::mpsc::channel();
        let signals = thread::spawn(move || abandon(|| reported.send(()).unwrap(), || ()));
        assert!(report.recv_timeout(Duration::from_millis(50)).is_err());
        proceed();
        report.recv().unwrap();
        signals.join().unwrap();
        assert_eq!(*stage(), PendingStage::Clear);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for (k, bits) in [0o600, 0o640, 0o604, 0o777].into_iter().enumerate() {
            fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
            let (source, pending) = begun(&path, None);
            pending.commit(Some(&source)).unwrap();
            assert_eq!(mode(&path), bits);
            // A new file's are no wider, and no program's.
            let output = directory.path().join(format!("output {k}"));
            let (source, pending) = begun(&path, Some(&output));
            pending.commit(Some(&source)).unwrap();
            assert_eq!(mode(&output) & !bits, 0);
            assert_eq!(mode(&output) & 0o111, 0);
        }
    }
}
