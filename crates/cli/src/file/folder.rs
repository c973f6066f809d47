//! A folder of new files until it is in place: made beside, under a name that the next run knows, and renamed once all is written.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, ensure};

use crate::error::On;
use crate::file::open::{Opened, Target};
use crate::file::pending::{Stage, stage, sync_directory};
use crate::file::{keep, temporary};
use crate::say::shown;

/// Dropped before it is committed, it leaves nothing.
#[derive(Debug)]
pub struct Folder {
    target: Target,
    /// The temporary one, until it is in place.
    made: Option<PathBuf>,
    /// Locked, a sign to others that it is in use.
    _lock: Option<File>,
}

/// Refuses a name that something has.
pub fn refuse_existing(folder: &Path) -> Result<()> {
    let is_there = folder.symlink_metadata().is_ok() || folder.file_name().is_none();
    ensure!(!is_there, "{} is there already; --split makes a new directory", shown(folder));
    Ok(())
}

impl Folder {
    /// What killed runs left of it is removed, with a note unless `quiet`.
    pub fn begin(path: &Path, quiet: bool) -> Result<Self> {
        let target = Target { path: path.to_path_buf(), replaced: None };
        temporary::remove_leftovers(&target, quiet);
        let mut stage = stage();
        let made = temporary::named(path, |path| fs::create_dir(path));
        let ((), made) = made.on("make a directory in", &target.directory())?;
        *stage = Stage::Writing(made.clone());
        let lock = File::open(&made).ok();
        let _ = lock.as_ref().map(File::try_lock);
        Ok(Folder { target, made: Some(made), _lock: lock })
    }

    /// A new file in it, which lets in nobody whom the source keeps out, with room for so many bytes.
    pub fn file(&self, name: &str, source: Option<&Opened>, bytes: u64) -> Result<File> {
        let shown = self.target.path.join(name);
        let made = self.made.as_deref().unwrap_or(Path::new(""));
        let mode = source.map_or(0o666, |source| keep::mode_of_new(&source.file, &source.metadata));
        // None appears while all are removed.
        let held = stage();
        let file = temporary::create(&made.join(name), mode).on("make", &shown)?;
        drop(held);
        if let Some(source) = source {
            keep::narrow(&file, &source.metadata, &shown)?;
        }
        temporary::reserve(&file, bytes, &shown)?;
        Ok(file)
    }

    /// Puts it in its place, if the source is as it was and nothing has come there; returns what may have to be warned of. Its files have
    /// been synced.
    pub fn commit(mut self, source: Option<&Opened>) -> Result<Option<Error>> {
        let path = self.target.path.clone();
        let made = self.made.clone().unwrap_or_default();
        sync_directory(&made)?;
        let mut stage = stage();
        source.map_or(Ok(()), Opened::unchanged)?;
        refuse_existing(&path)?;
        fs::rename(&made, &path).on("make", &path)?;
        self.made = None;
        *stage = Stage::Replaced;
        drop(stage);
        Ok(sync_directory(&self.target.directory()).err())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(made) = self.made.take() {
            let mut stage = stage();
            let _ = fs::remove_dir_all(made);
            *stage = Stage::Clear;
        }
    }
}
