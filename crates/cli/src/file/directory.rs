//! An open directory: what is made, renamed and removed in it stays in it, also if its path leads elsewhere meanwhile, as to a
//! symbolic link that another user put there.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A directory. On Linux with `/proc` it stays the same one; elsewhere its path is followed each time.
#[derive(Debug)]
pub struct Directory {
    link: PathBuf,
    /// What `link` leads to.
    _open: Option<File>,
}

impl Directory {
    /// Opens a directory, which need not be readable; a symbolic link in its place only if `follow`.
    #[cfg(target_os = "linux")]
    pub fn open(path: &Path, follow: bool) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
        let open = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let link = link_of(&open);
        let is_there = link.exists();
        Ok(Directory { link: if is_there { link } else { path.into() }, _open: Some(open) })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn open(path: &Path, _: bool) -> io::Result<Self> {
        fs::read_dir(path).map(|_| Directory { link: path.into(), _open: None })
    }

    /// Makes a directory and opens it. Fails if another one is found in its place.
    pub fn make(path: &Path) -> io::Result<Self> {
        fs::create_dir(path)?;
        let made = Self::open(path, false)?;
        let is_new = made.is_of_user(false) && fs::read_dir(made.at("."))?.next().is_none();
        is_new.then_some(made).ok_or_else(|| io::Error::other("another program replaced it"))
    }

    /// Returns the path of an entry, which is valid while this directory is open.
    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.link.join(name)
    }

    /// Whether it belongs to the user who runs the command. If `alone`, whether only that user and the superuser can rename what
    /// the user has in it.
    #[cfg(unix)]
    pub fn is_of_user(&self, alone: bool) -> bool {
        use std::os::unix::fs::MetadataExt;
        let user = rustix::process::geteuid().as_raw();
        fs::metadata(self.at(".")).is_ok_and(|found| {
            let is_kept = found.mode() & 0o022 == 0 || found.mode() & 0o1000 != 0;
            found.uid() == user && (is_kept || !alone) || alone && found.uid() == 0 && is_kept
        })
    }

    #[cfg(not(unix))]
    pub fn is_of_user(&self, _: bool) -> bool {
        true
    }
}

/// The path of an open file. To link to its number needs a privilege, to this path none.
#[cfg(target_os = "linux")]
pub fn link_of(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
