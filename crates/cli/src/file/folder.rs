//! New files in a new directory: each is a temporary file beside it until all are written, then they are moved into a directory of
//! a temporary name, which takes its own by one rename.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, ensure};

use crate::error::On;
use crate::file::directory::Directory;
use crate::file::open::{Opened, Target, id};
use crate::file::pending::{PendingStage, stage, sync};
use crate::file::{keep, temporary};
use crate::say::shown;

/// A directory that is to be made. Dropped before it is committed, it leaves nothing.
#[derive(Debug)]
pub struct Folder {
    target: Target,
    files: Vec<Made>,
}

/// A file that will be in the directory.
#[derive(Debug)]
struct Made {
    name: String,
    file: File,
    /// The temporary file, if it has a name.
    temporary: Option<PathBuf>,
}

/// Refuses a name that something has.
pub fn refuse_existing(folder: &Path, name: &Path) -> Result<()> {
    let is_there = folder.symlink_metadata().is_ok() || folder.file_name().is_none();
    ensure!(!is_there, "{} is there already; --split makes a new directory", shown(name));
    Ok(())
}

impl Folder {
    /// Begins a directory. What killed runs left of it is removed, with a note unless `quiet`.
    pub fn begin(path: &Path, quiet: bool) -> Result<Self> {
        let target = Target::new(path).with_context(|| format!("cannot make {}", shown(path)))?;
        temporary::remove_leftovers(&target, quiet);
        Ok(Folder { target, files: Vec::new() })
    }

    /// Makes a file of that name, which lets in nobody whom the source keeps out, with room for so many bytes. Returns its number.
    pub fn add(&mut self, name: &str, source: Option<&Opened>, bytes: u64) -> Result<usize> {
        let shown = self.target.path.join(name);
        let mode = source.map_or(0o666, |source| keep::mode_of_new(&source.file, &source.metadata));
        let mut stage = stage();
        let (file, temporary) = temporary::make(&self.target, mode)?;
        // A sign to others that it is in use; no other program can have locked it.
        let _ = file.try_lock();
        self.files.push(Made { name: name.into(), file, temporary });
        let names = self.files.iter().filter_map(|made| made.temporary.clone());
        *stage = PendingStage::Writing(names.collect());
        drop(stage);
        let number = self.files.len() - 1;
        if let Some(source) = source {
            keep::narrow(self.file(number), &source.metadata, &shown)?;
        }
        temporary::reserve(self.file(number), bytes, &shown)?;
        Ok(number)
    }

    /// The file of that number.
    pub fn file(&self, number: usize) -> &File {
        &self.files[number].file
    }

    /// Syncs the files and puts the directory in its place, if the source is as it was and nothing has come there; returns what may
    /// have to be warned of.
    pub fn commit(mut self, source: Option<&Opened>) -> Result<Option<Error>> {
        let path = self.target.path.clone();
        for made in &self.files {
            made.file.sync_all().on("sync", &path.join(&made.name))?;
        }
        let mut stage = stage();
        let made = temporary::named(&self.target, Directory::make);
        let (made, name) = made.on("make a directory in", &self.target.parent())?;
        // A sign to others that it is in use.
        let lock = File::open(made.at("."));
        let _ = lock.as_ref().map(File::try_lock);
        let placed = self.place((&made, &name), source);
        if placed.is_err() {
            temporary::remove_made(&made, &name);
        } else {
            *stage = PendingStage::Replaced;
        }
        drop(stage);
        placed?;
        Ok(sync(&self.target.directory, &self.target.parent()).err())
    }

    fn place(&mut self, (made, name): (&Directory, &Path), source: Option<&Opened>) -> Result<()> {
        let Target { directory, path, name: own, .. } = &self.target;
        for file in &mut self.files {
            let moved = match file.temporary.take() {
                Some(temporary) => fs::rename(temporary, made.at(&file.name)),
                None => temporary::name(&file.file, &made.at(&file.name)),
            };
            moved.on("make", &path.join(&file.name))?;
        }
        sync(made, path)?;
        source.map_or(Ok(()), Opened::unchanged)?;
        let own = directory.at(own);
        refuse_existing(&own, path)?;
        fs::rename(name, &own).on("make", path)?;
        let [is, made] = [fs::symlink_metadata(own), fs::metadata(made.at("."))].map(Result::ok);
        let what = "is not what was written: another program replaced it meanwhile";
        ensure!(is.as_ref().map(id) == made.as_ref().map(id), "{} {what}", shown(path));
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let mut stage = stage();
        let names = self.files.iter().filter_map(|made| made.temporary.as_ref());
        names.for_each(|name| drop(fs::remove_file(name)));
        if let PendingStage::Writing(..) = *stage {
            *stage = PendingStage::Clear;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use crate::file::pending::tests::ONE_AT_A_TIME;

    fn names(path: &Path) -> Vec<String> {
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = fs::read_dir(path).unwrap().map(name).collect();
        names.sort();
        names.into_iter().map(|name| name.into_string().unwrap()).collect()
    }

    /// Two files, whose temporary ones have names or not.
    fn begun(path: &Path, named: bool) -> Folder {
        let mut folder = Folder::begin(path, true).unwrap();
        for name in ["a.npy", "b.npy"] {
            if named {
                let create = |path: &Path| temporary::create(path, 0o600);
                let (file, temporary) = temporary::named(&folder.target, create).unwrap();
                let temporary = Some(temporary);
                folder.files.push(Made { name: name.into(), file, temporary });
            } else {
                assert_eq!(folder.add(name, None, 1).unwrap(), folder.files.len() - 1);
            }
        }
        (0..2).for_each(|number| folder.file(number).write_all(b"x").unwrap());
        folder
    }

    fn places() -> (tempfile::TempDir, [PathBuf; 3]) {
        let place = tempfile::tempdir().unwrap();
        let paths = ["shared", "moved", "victim"].map(|name| place.path().join(name));
        for path in [&paths[0], &paths[2]] {
            fs::create_dir(path).unwrap();
        }
        (place, paths)
    }

    #[test]
    fn a_directory_is_made_where_it_was_begun() {
        let _one = ONE_AT_A_TIME.lock();
        for named in [false, true] {
            let (_place, [shared, moved, victim]) = places();
            let folder = begun(&shared.join("new"), named);
            assert_eq!(names(&shared).len(), if named { 2 } else { 0 });
            // As another user does who may write where the directory lies.
            fs::rename(&shared, &moved).unwrap();
            symlink(&victim, &shared).unwrap();
            folder.commit(None).unwrap();
            assert!(names(&victim).is_empty());
            assert_eq!(names(&moved), ["new"]);
            assert_eq!(names(&moved.join("new")), ["a.npy", "b.npy"]);
        }
    }

    #[test]
    fn nothing_stays_of_a_directory_that_is_not_made() {
        let _one = ONE_AT_A_TIME.lock();
        for named in [false, true] {
            let (_place, [shared, ..]) = places();
            let path = shared.join("new");
            drop(begun(&path, named));
            assert!(names(&shared).is_empty());
            let folder = begun(&path, named);
            symlink("nothing", &path).unwrap();
            assert!(folder.commit(None).unwrap_err().to_string().contains("is there already"));
            assert_eq!(names(&shared), ["new"]);
        }
    }
}
