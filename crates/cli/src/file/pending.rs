//! A result until it is in place: written beside, synced, given the target's name.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::file::target::Target;
use crate::file::{keep, leftover, room, unnamed};

/// How far the process's replacement has come.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is there that would have to be removed.
    Clear,
    /// This temporary file is.
    Writing(PathBuf),
    /// The new file is in place, and no other has begun.
    Replaced,
}

/// For whoever must clean up before the process ends.
static STAGE: Mutex<Stage> = Mutex::new(Stage::Clear);

/// Told when the stage is no longer that of a file in place.
static BEGUN: Condvar = Condvar::new();

/// Whether somebody waits to end the process as soon as there is something to give up.
static ENDING: AtomicBool = AtomicBool::new(false);

fn stage() -> MutexGuard<'static, Stage> {
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells that the work is given up, removes the temporary file, if there is one with a name, and ends the process as `end` does.
///
/// Once the last new file is in place there is nothing to give up: this waits, without a word, for a file that follows, or
/// for the end of the process. Who is told of an interruption can rely on the old file of all that were not told to be
/// done. The lock is held to the end: a rename that has begun is finished first, none begins after, and no new temporary
/// file appears.
#[cfg(unix)]
pub fn abandon(tell: impl FnOnce(), end: impl FnOnce()) {
    let mut stage = stage();
    while *stage == Stage::Replaced {
        ENDING.store(true, Ordering::Relaxed);
        stage = BEGUN.wait(stage).unwrap_or_else(PoisonError::into_inner);
    }
    if let Stage::Writing(path) = &*stage {
        let _ = fs::remove_file(path);
    }
    tell();
    end();
}

/// Tells that another file follows. Who was told to end while the last one took its place does so here.
pub fn proceed() {
    let mut stage = stage();
    *stage = Stage::Clear;
    BEGUN.notify_all();
    while ENDING.load(Ordering::Relaxed) {
        stage = BEGUN.wait(stage).unwrap_or_else(PoisonError::into_inner);
    }
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
/// are no wider than those of `source`. Room for `bytes` bytes is reserved. What killed runs left is removed, without a word
/// if `quiet`.
pub fn begin(
    target: Target,
    source: Option<(&File, &Metadata)>,
    bytes: u64,
    quiet: bool,
) -> Result<Pending, Error> {
    leftover::remove(&target, quiet);
    let mode = match (&target.replaced, source) {
        (Some(_), _) => 0o600,
        (None, None) => 0o666,
        (None, Some((file, metadata))) => mode_of_new(file, metadata),
    };
    let failed = |error| Error::io("make a temporary file in", &target.directory)(error);
    let mut stage = stage();
    let (file, name) = match unnamed::open(&target.directory, mode) {
        Some(file) => (file, None),
        None => named(&target, mode).map(|(file, name)| (file, Some(name))).map_err(failed)?,
    };
    *stage = name.clone().map_or(Stage::Clear, Stage::Writing);
    drop(stage);
    // A sign to others that it is in use; nobody else can have it locked.
    let _ = file.try_lock();
    let pending = Pending { file, name, target };
    match (&pending.target.replaced, source) {
        (Some(old), _) => keep::keep(&pending.file, &old.file, &old.metadata, pending.path())?,
        #[cfg(unix)]
        (None, Some((_, metadata))) => keep::narrow(&pending.file, metadata, pending.path())?,
        _ => {}
    }
    room::reserve(&pending.file, bytes, pending.path())?;
    Ok(pending)
}

/// A file of so many bytes beside the target, or where temporary files lie if there is none; gone when it is closed.
pub fn scratch(target: Option<&Target>, bytes: u64) -> Result<File, Error> {
    let directory = std::env::temp_dir();
    let of_streams = Target { path: directory.join("-"), directory, replaced: None };
    let target = target.unwrap_or(&of_streams);
    let Target { path, directory, .. } = target;
    let failed = |error| Error::io("make a temporary file in", directory)(error);
    let file = match unnamed::open(directory, 0o600) {
        Some(file) => file,
        None => {
            let (file, name) = named(target, 0o600).map_err(failed)?;
            // Systems that keep open files from being removed have it removed by the next run.
            let _ = fs::remove_file(name);
            file
        }
    };
    room::reserve(&file, bytes, path)?;
    Ok(file)
}

#[cfg(unix)]
fn mode_of_new(source: &File, metadata: &Metadata) -> u32 {
    keep::mode_of_new(source, metadata)
}

#[cfg(not(unix))]
fn mode_of_new(_: &File, _: &Metadata) -> u32 {
    0o666
}

/// A temporary file with a name that nothing has.
fn named(target: &Target, mode: u32) -> io::Result<(File, PathBuf)> {
    loop {
        let path = target.directory.join(leftover::name(&target.path));
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        #[cfg(not(unix))]
        let _ = mode;
        match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, path)),
        }
    }
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

    /// Syncs what was written and puts it in the target's place, if that and what else `unchanged` asks about are as
    /// they were. Then the work is done; what may still fail, that the new name outlasts a power cut, is returned to be
    /// warned of.
    pub fn commit(
        mut self,
        unchanged: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Option<Error>, Error> {
        self.file.sync_all().map_err(Error::io("sync the new", self.path()))?;
        let mut stage = stage();
        // Asked last: whoever writes now does so in the instant of the rename.
        unchanged()?;
        let path = || self.path().to_path_buf();
        let is_new = self.target.replaced.is_none();
        if !self.target.is_unchanged() {
            let path = path();
            return Err(if is_new { Error::Appeared { path } } else { Error::Changed { path } });
        }
        let placed = if is_new { self.make() } else { self.replace() };
        if placed.is_ok() {
            self.name = None;
            *stage = Stage::Replaced;
        }
        drop(stage);
        placed.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists if is_new => {
                Error::Appeared { path: self.path().to_path_buf() }
            }
            _ => Error::io(if is_new { "make" } else { "replace" }, self.path())(error),
        })?;
        Ok(sync_directory(&self.target.directory).err())
    }

    /// Over the file that is there.
    fn replace(&mut self) -> io::Result<()> {
        if self.name.is_none() {
            // Nothing but a rename replaces a file, and that takes a name.
            let name = self.target.directory.join(leftover::name(&self.target.path));
            unnamed::name(&self.file, &name)?;
            self.name = Some(name);
        }
        let name = self.name.as_ref().expect("it has one by now");
        fs::rename(name, &self.target.path)
    }

    /// Where nothing is: what has come there meanwhile stays.
    fn make(&mut self) -> io::Result<()> {
        let Some(name) = &self.name else { return unnamed::name(&self.file, &self.target.path) };
        // Two names for a moment, where there can be: a rename would replace what came meanwhile.
        match fs::hard_link(name, &self.target.path) {
            Ok(()) => fs::remove_file(name),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            Err(_) => rename_to_new(name, &self.target.path),
        }
    }
}

/// Where there are no second names: the system makes sure that nothing is replaced, if it can.
#[cfg(target_os = "linux")]
fn rename_to_new(name: &Path, target: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, name, CWD, target, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::rename(name, target),
        done => Ok(done?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_to_new(name: &Path, target: &Path) -> io::Result<()> {
    fs::rename(name, target)
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            let mut stage = stage();
            let _ = fs::remove_file(name);
            *stage = Stage::Clear;
        }
    }
}

/// Makes the new name itself outlast a power cut.
fn sync_directory(directory: &Path) -> Result<(), Error> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    match synced {
        // Some file systems cannot sync a directory; the rename is done all the same.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        other => other.map_err(Error::io("sync the directory", directory)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Asking, Locking, Source, claim};
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

    fn claimed(path: &Path, output: Option<&Path>) -> (Source, Target) {
        claim(path, output, &Asking::new(Locking::Refuse, true)).unwrap()
    }

    fn begun(path: &Path, output: Option<&Path>) -> (Source, Pending) {
        let (source, target) = claimed(path, output);
        let pending = begin(target, Some((&source.file, &source.metadata)), 0, true).unwrap();
        pending.file().write_all(b"new").unwrap();
        (source, pending)
    }

    #[test]
    fn a_commit_replaces_and_a_drop_does_not() {
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        drop(begun(&path, None));
        assert_eq!(*stage(), Stage::Clear);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["data"]);

        let (source, pending) = begun(&path, None);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert!(pending.commit(|| source.unchanged()).unwrap().is_none());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(directory.path()), ["data"]);
        assert_eq!(*stage(), Stage::Replaced);
    }

    #[test]
    fn temporary_files_with_names_do_the_same() {
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        for (output, placed) in [(None, true), (Some("other"), true), (None, false)] {
            let output = output.map(|name| directory.path().join(name));
            let (source, target) = claimed(&path, output.as_deref());
            let (file, name) = named(&target, 0o600).unwrap();
            (&file).write_all(b"new").unwrap();
            let pending = Pending { file, name: Some(name), target };
            let before = names(directory.path()).len();
            if placed {
                pending.commit(|| source.unchanged()).unwrap();
                assert_eq!(fs::read(output.as_deref().unwrap_or(&path)).unwrap(), b"new");
            } else {
                drop(pending);
                assert_eq!(names(directory.path()).len(), before - 1);
            }
        }
        assert_eq!(names(directory.path()), ["data", "other"]);
    }

    #[test]
    fn what_is_written_meanwhile_stays() {
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        let (source, pending) = begun(&path, None);
        // As late as can be, of the same length, and with the time of the old contents.
        let writer = File::options().write(true).open(&path).unwrap();
        let modified = writer.metadata().unwrap().modified().unwrap();
        (&writer).write_all(b"not").unwrap();
        writer.set_modified(modified).unwrap();
        let error = pending.commit(|| source.unchanged()).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"not");

        // Another file by that name, or by the name of a new one.
        let (_source, pending) = begun(&path, None);
        fs::write(directory.path().join("mv"), b"another").unwrap();
        fs::rename(directory.path().join("mv"), &path).unwrap();
        assert!(pending.commit(|| Ok(())).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"another");
        let output = directory.path().join("output");
        let (_source, mut pending) = begun(&path, Some(&output));
        fs::write(&output, b"another").unwrap();
        assert_eq!(pending.make().unwrap_err().kind(), ErrorKind::AlreadyExists);
        let error = pending.commit(|| Ok(())).unwrap_err();
        assert!(matches!(error, Error::Appeared { .. }), "{error}");
        assert_eq!(fs::read(&output).unwrap(), b"another");
        assert_eq!(names(directory.path()), ["data", "output"]);
    }

    #[test]
    fn what_killed_runs_left_is_removed_and_nothing_else() {
        let _one = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        let at = |name: &str| directory.path().join(name);
        let left = at(".turntile-data-0123456789abcdef.tmp");
        let used = at(".turntile-data-fedcba9876543210.tmp");
        let other = at(".turntile-other-0123456789abcdef.tmp");
        for name in [&left, &used, &other] {
            fs::write(name, b"half").unwrap();
        }
        let user = File::open(&used).unwrap();
        user.try_lock().unwrap();
        drop(begun(&path, None));
        assert!(!left.exists() && used.exists() && other.exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_rename_to_a_new_name_replaces_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
        fs::write(&one, b"one").unwrap();
        fs::write(&other, b"other").unwrap();
        assert_eq!(rename_to_new(&one, &other).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&other).unwrap(), b"other");
        rename_to_new(&one, &directory.path().join("new")).unwrap();
        assert_eq!(names(directory.path()), ["new", "other"]);
    }

    /// Told to end while a file took its place, the process ends before the next one begins; not if none follows.
    #[cfg(unix)]
    #[test]
    fn who_is_to_end_waits_for_the_next_file() {
        let _one = ONE_AT_A_TIME.lock();
        *stage() = Stage::Replaced;
        let told = std::sync::Arc::new(AtomicBool::new(false));
        let teller = std::thread::spawn({
            let told = told.clone();
            move || {
                // In place of the process's end: whoever proceeds may go on.
                let end = || {
                    ENDING.store(false, Ordering::Relaxed);
                    BEGUN.notify_all();
                };
                abandon(|| told.store(true, Ordering::Relaxed), end);
            }
        });
        while !ENDING.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        drop(stage());
        assert!(!told.load(Ordering::Relaxed));
        proceed();
        assert!(told.load(Ordering::Relaxed));
        teller.join().unwrap();
        assert_eq!(*stage(), Stage::Clear);
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
            pending.commit(|| source.unchanged()).unwrap();
            assert_eq!(mode(&path), bits);
            // A new file's are no wider, and no program's.
            let output = directory.path().join(format!("output {k}"));
            let (source, pending) = begun(&path, Some(&output));
            pending.commit(|| source.unchanged()).unwrap();
            assert_eq!(mode(&output) & !bits, 0);
            assert_eq!(mode(&output) & 0o111, 0);
        }
    }
}
