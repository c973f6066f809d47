//! Room on the disk, asked for before any work.

use std::fs::File;
use std::path::Path;

use crate::error::Error;

/// Reserves room for a file of so many bytes, or at least finds out that there is as much.
#[cfg(unix)]
pub fn reserve(file: &File, bytes: u64, path: &Path) -> Result<(), Error> {
    use rustix::io::Errno;
    if bytes == 0 {
        return Ok(());
    }
    let no_room = |have| Error::NoRoom { path: path.to_path_buf(), need: bytes, have };
    let have =
        rustix::fs::fstatvfs(file).map(|found| found.f_bavail.saturating_mul(found.f_frsize));
    match allocate(file, bytes) {
        Ok(()) => Ok(()),
        Err(Errno::NOSPC) => Err(no_room(have.unwrap_or(0))),
        // Not every file system can.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => match have {
            Ok(have) if have < bytes => Err(no_room(have)),
            _ => Ok(()),
        },
        Err(errno) => Err(Error::io("reserve room for", path)(errno.into())),
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn allocate(file: &File, bytes: u64) -> Result<(), rustix::io::Errno> {
    loop {
        match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            Err(rustix::io::Errno::INTR) => {}
            done => return done,
        }
    }
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn allocate(_: &File, _: u64) -> Result<(), rustix::io::Errno> {
    Err(rustix::io::Errno::OPNOTSUPP)
}

/// The system is not asked: a full disk is found out by writing.
#[cfg(not(unix))]
pub fn reserve(_: &File, _: u64, _: &Path) -> Result<(), Error> {
    Ok(())
}
