//! Names that stand for something else than a file of a directory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Most links that Linux follows in a path.
const LINKS: usize = 40;

/// Refuses names that lead through /dev or /proc: `/dev/stdout` is a link to the file that standard
/// output was redirected to, and a rename would put another in that file's place, unseen by the shell
/// that holds it open. Every link on the way counts, not only the last. What lies in /dev/shm are
/// ordinary files.
pub fn refuse(path: &Path) -> Result<(), Error> {
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

/// Where a name is looked up.
pub fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
