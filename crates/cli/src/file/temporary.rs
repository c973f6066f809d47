//! Temporary files beside a target: without a name where the system can make them, so that nothing of them stays whatever
//! ends the process, else named `.turntile-NAME-(16 digits).tmp`. A run that lives has its file locked.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::On;
use crate::file::directory::Directory;
#[cfg(target_os = "linux")]
use crate::file::directory::link_of;
use crate::file::open::Target;
use crate::say::{notify, shown};

const SUFFIX: &str = ".tmp";

/// Digits that are drawn.
const DIGITS: usize = 16;

/// Bytes of the target's name that fit beside the rest into the 255 of a name.
const NAME: usize = 180;

fn prefix(target: &Target) -> String {
    let name = target.name.to_string_lossy();
    let end = (0..=name.len().min(NAME)).rev().find(|&end| name.is_char_boundary(end));
    format!(".turntile-{}-", &name[..end.unwrap_or(0)])
}

/// Has `make` make something of a name beside the target that nothing has.
pub fn named<T>(
    target: &Target,
    mut make: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    loop {
        let drawn = RandomState::new().hash_one(std::process::id());
        let path = target.directory.at(format!("{}{drawn:0DIGITS$x}{SUFFIX}", prefix(target)));
        match make(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (made, path)),
        }
    }
}

/// A temporary file of these permissions, less the process's umask, and its name if it has one.
pub fn make(target: &Target, mode: u32) -> Result<(File, Option<PathBuf>)> {
    if let Some(file) = unnamed(&target.directory.at("."), mode) {
        return Ok((file, None));
    }
    let made = named(target, |path| create(path, mode));
    made.map(|(file, name)| (file, Some(name))).on("make a temporary file in", &target.parent())
}

/// A new file of that name and these permissions.
pub fn create(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}

/// A file that has no name yet; none where the system cannot make one or not name it later.
#[cfg(target_os = "linux")]
fn unnamed(directory: &Path, mode: u32) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file =
        rustix::fs::open(directory, flags, Mode::from_raw_mode(mode)).ok().map(File::from)?;
    link_of(&file).exists().then_some(file)
}

/// Names such a file, where nothing has that name.
#[cfg(target_os = "linux")]
pub fn name(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, link_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path, _: u32) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
pub fn name(_: &File, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// A file of so many bytes beside the target, or where temporary files lie if there is none; gone when it is closed.
pub fn scratch(target: Option<&Target>, bytes: u64) -> Result<File> {
    let of_streams;
    let (target, shown) = match target {
        Some(target) => (target, target.path.clone()),
        None => {
            let directory = std::env::temp_dir();
            of_streams = Target::new(&directory.join("-"))?;
            (&of_streams, format!("a temporary file in {} (TMPDIR)", shown(&directory)).into())
        }
    };
    let (file, name) = make(target, 0o600)?;
    if let Some(name) = name {
        // Systems that keep open files from being removed have it removed by the next run.
        let _ = fs::remove_file(name);
    }
    reserve(&file, bytes, &shown)?;
    Ok(file)
}

/// Refuses names that no file of measurements can be written to, before they are made: as where it is written.
pub fn refuse_unwritable(path: &Path) -> Result<()> {
    scratch(Some(&Target::resolve(path, "--wisdom")?), 0).map(drop)
}

/// Removes what runs on this target left that were killed, with a note unless `quiet`.
pub fn remove_leftovers(target: &Target, quiet: bool) {
    // A directory that cannot be read is reported where it matters.
    let Ok(entries) = fs::read_dir(target.directory.at(".")) else { return };
    let prefix = prefix(target);
    for entry in entries.filter_map(Result::ok) {
        let (name, path) = (entry.file_name(), entry.path());
        let drawn = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(SUFFIX));
        let is_ours = drawn.is_some_and(|drawn| {
            drawn.len() == DIGITS && drawn.bytes().all(|digit| digit.is_ascii_hexdigit())
        });
        // No link is followed and no pipe opened: anything may have that name. Others may have given it to a directory
        // whose files they cannot remove.
        let is_removed = match entry.file_type() {
            Ok(kind) if is_ours && kind.is_file() => {
                is_unlocked(&path) && fs::remove_file(&path).is_ok()
            }
            Ok(kind) if is_ours && kind.is_dir() && target.directory.is_of_user(true) => {
                Directory::open(&path, false)
                    .is_ok_and(|made| is_unlocked(&made.at(".")) && remove_made(&made, &path))
            }
            _ => false,
        };
        if is_removed && !quiet {
            let path = target.path.with_file_name(&name);
            notify(&format_args!("note: removed {}, which a killed run left", shown(&path)));
        }
    }
}

fn is_unlocked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Removes a directory that was made for files, and these. Returns whether that was all.
pub fn remove_made(made: &Directory, path: &Path) -> bool {
    let files = fs::read_dir(made.at(".")).into_iter().flatten().filter_map(Result::ok);
    files.for_each(|file| drop(fs::remove_file(file.path())));
    fs::remove_dir(path).is_ok()
}

/// Reserves so many bytes for a file, or at least checks that they are free.
#[cfg(unix)]
pub fn reserve(file: &File, bytes: u64, path: &Path) -> Result<()> {
    use rustix::io::Errno;
    if bytes == 0 {
        return Ok(());
    }
    let have =
        rustix::fs::fstatvfs(file).map(|found| found.f_bavail.saturating_mul(found.f_frsize));
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let done = rustix::io::retry_on_intr(|| {
        rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes)
    });
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let done = Err(Errno::OPNOTSUPP);
    let is_known = !done.is_err_and(|errno| super::is_unsupported(&errno.into()));
    if done == Err(Errno::NOSPC) || !is_known && have.is_ok_and(|have| have < bytes) {
        let (name, have) = (shown(path), have.unwrap_or(0));
        anyhow::bail!("no room for {name}: it takes {bytes} bytes, {have} are free");
    }
    if is_known { done.map_err(io::Error::from).on("reserve room for", path) } else { Ok(()) }
}

/// The system is not asked: writing to a full disk fails.
#[cfg(not(unix))]
pub fn reserve(_: &File, _: u64, _: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_runs_left_is_removed_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let long = "\u{e9}".repeat(127);
        let at = |name: &str| directory.path().join(name);
        for target in ["data", "a.npy", &long] {
            let target = Target::new(&at(target)).unwrap();
            let make = || named(&target, |path| create(path, 0o600)).unwrap();
            let (((_, left), (user, used)), (_, other)) = ((make(), make()), make());
            user.try_lock().unwrap();
            let known = prefix(&target);
            let kept = [
                format!("{known}0123456789abcde.tmp"),
                format!("{known}0123456789abcdeg.tmp"),
                format!("{known}0123456789abcdef.tmp2"),
                format!("{known}b-0123456789abcdef.tmp"),
                ".turntile-0123456789abcdef.tmp".to_string(),
            ];
            kept.iter().for_each(|name| fs::write(at(name), b"").unwrap());
            remove_leftovers(&target, true);
            assert!(!left.exists() && !other.exists() && used.exists());
            assert!(kept.iter().all(|name| at(name).exists()));
        }
    }

    /// Of a directory no more is removed than a run puts there, and nothing where others can give names to directories.
    #[cfg(unix)]
    #[test]
    fn directories_that_are_none_of_a_run_stay() {
        use std::os::unix::fs::PermissionsExt;
        for (mode, deep, removed) in [
            (0o755, false, true),
            (0o755, true, false),
            (0o1777, false, true),
            (0o777, false, false),
            (0o770, false, false),
        ] {
            let directory = tempfile::tempdir().unwrap();
            fs::set_permissions(&directory, fs::Permissions::from_mode(mode)).unwrap();
            let left = directory.path().join(".turntile-new-0123456789abcdef.tmp");
            let within = if deep { left.join("deep") } else { left.clone() };
            fs::create_dir_all(&within).unwrap();
            fs::write(within.join("a.npy"), b"x").unwrap();
            remove_leftovers(&Target::new(&directory.path().join("new")).unwrap(), true);
            assert_eq!(
                (left.exists(), within.join("a.npy").exists()),
                (!removed, !removed),
                "{mode:o}"
            );
        }
    }
}
