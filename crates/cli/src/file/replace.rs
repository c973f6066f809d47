//! A new file until it replaces its target: written next to it without a name, synced, renamed.

use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use atomic_write_file::AtomicWriteFile;

use crate::error::On;
use crate::file::keep;
use crate::file::open::{Opened, Target, changed};
use crate::say::{note, shown};

/// A file that will replace its target. Dropped before the commit, it leaves nothing.
#[derive(Debug)]
pub struct NewFile {
    file: AtomicWriteFile,
    target: Target,
}

impl NewFile {
    /// Creates a new file of `bytes` bytes, with the owner, permissions and attributes of the file that it replaces, or
    /// otherwise with no more access than `source`.
    pub fn create(
        target: Target,
        source: Option<&Opened>,
        bytes: u64,
        quiet: bool,
    ) -> Result<Self> {
        if target.has_other_names() && !quiet {
            let what = "has other names (hard links), which keep the old data";
            note(&format_args!("{} {what}", shown(&target.path)));
        }
        let mode = match (&target.replaced, source) {
            (Some(_), _) => 0o600,
            (None, None) => 0o666,
            (None, Some(source)) => keep::mode_of_new(&source.file, &source.metadata),
        };
        let file = create(&target.path, mode).on("create", &target.path)?;
        let new = NewFile { file, target };
        match (&new.target.replaced, source) {
            (Some(old), _) => keep::keep(new.file(), &old.file, &old.metadata, new.path())?,
            (None, Some(source)) => keep::narrow(new.file(), &source.metadata, new.path())?,
            (None, None) => {}
        }
        reserve(new.file(), bytes, new.path())?;
        Ok(new)
    }

    /// Returns the new file.
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Returns the path of the target.
    pub fn path(&self) -> &Path {
        &self.target.path
    }

    /// Syncs the new file and renames it over the target, if target and source are unchanged.
    pub fn commit(self, source: Option<&Opened>) -> Result<()> {
        let NewFile { file, target } = self;
        file.as_file().sync_all().on("sync the new", &target.path)?;
        // Checked last: only a write in the instant of the rename is missed.
        source.map_or(Ok(()), Opened::unchanged)?;
        if !target.is_unchanged() {
            let what = "was created by another program meanwhile and is unchanged";
            let created = || anyhow!("{} {what}", shown(&target.path));
            return Err(if target.replaced.is_some() { changed(&target.path) } else { created() });
        }
        file.commit().on("replace", &target.path)
    }
}

/// Creates a file next to `path` that has no name where the system supports that.
fn create(path: &Path, mode: u32) -> io::Result<AtomicWriteFile> {
    let mut options = AtomicWriteFile::options();
    options.read(true);
    #[cfg(unix)]
    {
        use atomic_write_file::unix::OpenOptionsExt;
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(mode).preserve_mode(false).preserve_owner(false);
    }
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}

/// Creates a file of `bytes` bytes without a name in the target's directory, or in TMPDIR if there is no target.
pub fn scratch(target: Option<&NewFile>, bytes: u64) -> Result<File> {
    let folder = match target {
        Some(new) => new.target.parent(),
        None => std::env::temp_dir(),
    };
    let file = tempfile::tempfile_in(&folder).on("create a temporary file in", &folder)?;
    reserve(&file, bytes, &folder)
        .with_context(|| format!("a temporary file in {} (see TMPDIR)", shown(&folder)))?;
    Ok(file)
}

/// Reserves the space of a file, so that a full disk is detected before the work.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn reserve(file: &File, bytes: u64, path: &Path) -> Result<()> {
    use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
    use rustix::io::{Errno, retry_on_intr};
    if bytes == 0 {
        return Ok(());
    }
    match retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, bytes)) {
        Err(Errno::NOSPC) => {
            let free =
                fstatvfs(file).map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize));
            bail!("no room for {}: it takes {bytes} bytes, {free} are free", shown(path));
        }
        Err(errno) if !super::is_unsupported(&errno.into()) => {
            Err(io::Error::from(errno)).on("reserve space for", path)
        }
        _ => Ok(()),
    }
}

/// Does nothing: on other systems a full disk is detected when the file is written.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn reserve(_: &File, _: u64, _: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{LockRequest, Locking, open};
    use std::fs;
    use std::io::Write;
    use std::thread;
    use std::time::Duration;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn begun(path: &Path, output: Option<&Path>) -> (Opened, NewFile) {
        let request = LockRequest::new(Locking::Fail, true);
        let (source, target) = open(Some(path), Some(output.unwrap_or(path)), &request).unwrap();
        let (source, target) = (source.unwrap(), target.unwrap());
        let new = NewFile::create(target, Some(&source), 0, true).unwrap();
        new.file().write_all(b"new").unwrap();
        (source, new)
    }

    fn refused(new: NewFile, source: &Opened) -> String {
        new.commit(Some(source)).unwrap_err().to_string()
    }

    #[test]
    fn a_commit_replaces_and_a_drop_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        drop(begun(&path, None));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["data"]);

        let (source, new) = begun(&path, None);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        new.commit(Some(&source)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(directory.path()), ["data"]);
    }

    #[test]
    fn a_change_by_another_program_meanwhile_stays() {
        let directory = tempfile::tempdir().unwrap();
        let [path, output] = ["data", "output"].map(|name| directory.path().join(name));
        fs::write(&path, b"old").unwrap();
        // Writes right before the commit, with the same length and modification time. The change is detected with the source
        // as target, and with another target.
        for output in [None, Some(&*output)] {
            // File times count in ticks of some milliseconds.
            thread::sleep(Duration::from_millis(20));
            let (source, new) = begun(&path, output);
            let writer = File::options().write(true).open(&path).unwrap();
            let modified = writer.metadata().unwrap().modified().unwrap();
            (&writer).write_all(b"not").unwrap();
            writer.set_modified(modified).unwrap();
            assert!(refused(new, &source).contains("data changed while"));
            assert_eq!(fs::read(&path).unwrap(), b"not");
        }
        assert_eq!(names(directory.path()), ["data"]);

        // Another file by that name, or by the name of a new one.
        let (source, new) = begun(&path, None);
        fs::write(directory.path().join("mv"), b"another").unwrap();
        fs::rename(directory.path().join("mv"), &path).unwrap();
        assert!(refused(new, &source).contains("data changed while"));
        assert_eq!(fs::read(&path).unwrap(), b"another");
        let (source, new) = begun(&path, Some(&output));
        fs::write(&output, b"another").unwrap();
        assert!(refused(new, &source).contains("output was created by another program"));
        assert_eq!(fs::read(&output).unwrap(), b"another");
        assert_eq!(names(directory.path()), ["data", "output"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_replaced_meanwhile_is_not_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let [shared, moved, victim] =
            ["shared", "moved", "victim"].map(|name| directory.path().join(name));
        for path in [&shared, &victim] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("data"), b"old").unwrap();
        }
        let (source, new) = begun(&shared.join("data"), None);
        // Simulates another user with write access to the parent directory.
        fs::rename(&shared, &moved).unwrap();
        std::os::unix::fs::symlink(&victim, &shared).unwrap();
        refused(new, &source);
        for path in [&victim, &moved] {
            assert_eq!(names(path), ["data"]);
            assert_eq!(fs::read(path.join("data")).unwrap(), b"old");
        }
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for (k, bits) in [0o600, 0o640, 0o604, 0o777].into_iter().enumerate() {
            fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
            let (source, new) = begun(&path, None);
            new.commit(Some(&source)).unwrap();
            assert_eq!(mode(&path), bits);
            // A new file has at most these permissions, and is never executable.
            let output = directory.path().join(format!("output {k}"));
            let (source, new) = begun(&path, Some(&output));
            new.commit(Some(&source)).unwrap();
            assert_eq!(mode(&output) & !bits, 0);
            assert_eq!(mode(&output) & 0o111, 0);
        }
    }
}
