//! Names of temporary files, and the removal of those that a killed run left.
//!
//! `.turntile-NAME-RANDOM.tmp` lies beside NAME. A run that lives has its temporary file locked, so one that can be
//! locked is nobody's any more.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::hash::BuildHasher;
use std::path::Path;

use crate::file::target::Target;
use crate::say::{shown, tell};

const SUFFIX: &str = ".tmp";

/// Digits of what is drawn.
const DRAWN: usize = 16;

/// Bytes of the target's name that fit beside the rest into the 255 of a name.
const NAME: usize = 180;

/// A name for a temporary file beside the target, drawn anew every time.
pub fn name(target: &Path) -> OsString {
    let drawn = RandomState::new().hash_one(std::process::id());
    let mut name = prefix(target);
    name.push(format!("{drawn:0DRAWN$x}{SUFFIX}"));
    name
}

fn prefix(target: &Path) -> OsString {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut end = name.len().min(NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!(".turntile-{}-", &name[..end]).into()
}

/// Whether `name` is one that [`name`] draws for the target.
fn is_of(name: &OsStr, target: &Path) -> bool {
    let prefix = prefix(target);
    let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    let drawn = rest.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    drawn.is_some_and(|drawn| drawn.len() == DRAWN && drawn.iter().all(u8::is_ascii_hexdigit))
}

/// Removes what runs on this target left that were killed, and tells of it unless `quiet`.
pub fn remove(target: &Target, quiet: bool) {
    // Who may not look into the directory finds out when it matters.
    let Ok(entries) = fs::read_dir(&target.directory) else { return };
    for entry in
        entries.filter_map(Result::ok).filter(|entry| is_of(&entry.file_name(), &target.path))
    {
        let path = entry.path();
        if is_left(&path, target) && fs::remove_file(&path).is_ok() && !quiet {
            tell(&format_args!("note: removed {}, which a killed run left", shown(&path)));
        }
    }
}

/// Whether it is a file of this user's, or of the target's owner, that no run works on.
fn is_left(path: &Path, target: &Target) -> bool {
    // No link is followed and no pipe opened: in a directory for all, anything may have that name.
    let regular = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    regular && open(path).is_some_and(|file| is_ours(&file, target) && file.try_lock().is_ok())
}

#[cfg(unix)]
fn open(path: &Path) -> Option<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path).ok()
}

#[cfg(not(unix))]
fn open(path: &Path) -> Option<File> {
    OpenOptions::new().read(true).open(path).ok()
}

#[cfg(unix)]
fn is_ours(file: &File, target: &Target) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = target.replaced.as_ref().map(|replaced| replaced.metadata.uid());
    let me = rustix::process::geteuid().as_raw();
    file.metadata().is_ok_and(|found| found.uid() == me || Some(found.uid()) == owner)
}

#[cfg(not(unix))]
fn is_ours(_: &File, _: &Target) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_again() {
        let long = "\u{e9}".repeat(127);
        for target in ["a.npy", "a", "no extension", &long] {
            let drawn = name(Path::new(target));
            assert!(is_of(&drawn, Path::new(target)), "{drawn:?}");
            assert!(drawn.len() <= 255 && drawn != name(Path::new(target)));
            assert!(!is_of(&drawn, Path::new("b.npy")));
        }
        let target = Path::new("a.npy");
        for other in [
            "a.npy",
            ".turntile-a.npy-.tmp",
            ".turntile-a.npy-0123456789abcde.tmp",
            ".turntile-a.npy-0123456789abcdeg.tmp",
            ".turntile-a.npy-0123456789abcdef.tmp2",
            ".turntile-a.npy-b-0123456789abcdef.tmp",
            ".turntile-0123456789abcdef.tmp",
        ] {
            assert!(!is_of(OsStr::new(other), target), "{other}");
        }
    }
}
