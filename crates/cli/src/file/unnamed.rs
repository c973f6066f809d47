//! Temporary files without a name: whatever ends the process, nothing of them stays.

use std::fs::File;
use std::io;
use std::path::Path;

/// A file of that directory that has no name yet; none where the system cannot make one or not name it later.
#[cfg(target_os = "linux")]
pub fn open(directory: &Path, mode: u32) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file =
        rustix::fs::open(directory, flags, Mode::from_raw_mode(mode)).ok().map(File::from)?;
    link_of(&file).exists().then_some(file)
}

#[cfg(not(target_os = "linux"))]
pub fn open(_: &Path, _: u32) -> Option<File> {
    None
}

/// Names such a file, where nothing has that name.
#[cfg(target_os = "linux")]
pub fn name(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, link_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
pub fn name(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// To link by number needs a privilege, by this name none.
#[cfg(target_os = "linux")]
fn link_of(file: &File) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
