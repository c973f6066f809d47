//! A new file until it replaces its target: written next to it without a name, synced, renamed.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use tempfile::TempPath;

use crate::error::On;
use crate::file::keep;
use crate::file::open::{Opened, Target, changed};
use crate::say::{note, shown};

/// A file that will replace its target. Dropped before the commit, it leaves nothing.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    /// Its temporary name, removed on drop; `None` while it has no name.
    name: Option<TempPath>,
    directory: Directory,
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
        let directory = Directory::open(&target).on("open", &target.parent())?;
        let (file, name) = directory.create(&target, mode).on("create", &target.path)?;
        let new = NewFile { file, name, directory, target };
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
        &self.file
    }

    /// Returns the path of the target.
    pub fn path(&self) -> &Path {
        &self.target.path
    }

    /// Syncs the new file and renames it over the target, if target and source are unchanged.
    pub fn commit(mut self, source: Option<&Opened>) -> Result<()> {
        let target = &self.target;
        self.file.sync_all().on("sync the new", &target.path)?;
        let name = match self.name.take() {
            Some(name) => name,
            None => self.directory.link(&self.file, target).on("name the new", &target.path)?,
        };
        // Checked last: only a write in the instant of the rename is missed.
        source.map_or(Ok(()), Opened::unchanged)?;
        if !target.is_unchanged() {
            let what = "was created by another program meanwhile and is unchanged";
            let created = || anyhow!("{} {what}", shown(&target.path));
            return Err(if target.replaced.is_some() { changed(&target.path) } else { created() });
        }
        let renamed = name.persist(self.directory.path_of(target)).map_err(|failed| failed.error);
        renamed.on("replace", &target.path)?;
        self.directory.sync().on("sync the directory of", &target.path)
    }
}

/// The directory of a target. On Linux its path leads through the open directory: it stays the same directory even if another
/// takes the place of it.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    #[cfg(unix)]
    file: File,
}

impl Directory {
    fn open(target: &Target) -> io::Result<Self> {
        let path = target.parent();
        #[cfg(unix)]
        {
            use std::os::fd::AsRawFd;
            let file = File::open(&path)?;
            let open = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
            Ok(Directory { path: if open.is_dir() { open } else { path }, file })
        }
        #[cfg(not(unix))]
        Ok(Directory { path })
    }

    fn path_of(&self, target: &Target) -> PathBuf {
        self.path.join(target.path.file_name().unwrap_or_default())
    }

    /// Creates a file without a name where the system supports that, otherwise with a temporary one.
    fn create(&self, target: &Target, mode: u32) -> io::Result<(File, Option<TempPath>)> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.path.starts_with("/proc") {
            use rustix::fs::{Mode, OFlags, openat};
            use rustix::io::Errno;
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            match openat(&self.file, ".", flags, Mode::from_raw_mode(mode)) {
                Err(Errno::OPNOTSUPP | Errno::ISDIR) => {}
                opened => return Ok((opened?.into(), None)),
            }
        }
        let prefix = prefix(target);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        #[cfg(not(unix))]
        let _ = mode;
        let (file, name) = builder.tempfile_in(&self.path)?.into_parts();
        Ok((file, Some(name)))
    }

    /// Gives an unnamed file a temporary name.
    #[cfg(unix)]
    fn link(&self, file: &File, target: &Target) -> io::Result<TempPath> {
        use rustix::fs::{AtFlags, CWD, linkat};
        use std::os::fd::AsRawFd;
        let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
        let link = |name: &Path| {
            linkat(CWD, &*unnamed, CWD, name, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
        };
        let prefix = prefix(target);
        let linked = tempfile::Builder::new().prefix(&prefix).make_in(&self.path, link)?;
        // Some file systems (btrfs) do not sync files without a name.
        file.sync_data()?;
        Ok(linked.into_temp_path())
    }

    #[cfg(not(unix))]
    fn link(&self, _: &File, _: &Target) -> io::Result<TempPath> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        #[cfg(unix)]
        self.file.sync_all()?;
        Ok(())
    }
}

/// Returns the beginning of the temporary name `.NAME.XXXXXX`.
fn prefix(target: &Target) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(target.path.file_name().unwrap_or_default());
    prefix.push(".");
    prefix
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
