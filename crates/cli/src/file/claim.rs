//! Source and target of a change, opened and locked: nobody who asks for the locks too is at work on them.

use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::file::lock::{Asking, Kind, lock};
use crate::file::stamp::{self, Stamp};
use crate::file::target::{Replaced, Target};

/// A file to work on.
#[derive(Debug)]
pub struct Source {
    /// As the user named it.
    pub path: PathBuf,
    /// Open for reading.
    pub file: File,
    /// As it was when it was locked.
    pub metadata: Metadata,
    stamp: Stamp,
}

impl Source {
    /// Opens a regular file.
    fn open(path: &Path) -> Result<Self, Error> {
        // Asked before it is opened: opening a pipe would wait for a writer.
        let metadata = fs::metadata(path).map_err(Error::io("open", path))?;
        if !metadata.is_file() {
            return Err(Error::NotAFile { path: path.to_path_buf() });
        }
        let file = File::open(path).map_err(Error::io("open", path))?;
        let metadata = file.metadata().map_err(Error::io("look at", path))?;
        let stamp = Stamp::of(&metadata);
        Ok(Source { path: path.to_path_buf(), file, metadata, stamp })
    }

    /// Length of the file.
    pub fn bytes(&self) -> u64 {
        self.stamp.bytes()
    }

    /// Whether the file is as it was when it was locked, as far as its length and times tell.
    pub fn unchanged(&self) -> Result<(), Error> {
        let now = fs::metadata(&self.path).map_err(Error::io("look at", &self.path))?;
        if Stamp::of(&now) == self.stamp { Ok(()) } else { Err(self.changed()) }
    }

    /// What to say of a file that is not as it was.
    pub fn changed(&self) -> Error {
        Error::Changed { path: self.path.clone() }
    }

    fn settle(&mut self) -> Result<(), Error> {
        self.stamp = stamp::settled(&self.file).map_err(Error::io("look at", &self.path))?;
        self.metadata = self.file.metadata().map_err(Error::io("look at", &self.path))?;
        Ok(())
    }
}

/// Opens and locks a source and the target that its result goes to: `output`, or the source itself.
///
/// Who has waited opens the files anew: the names lead to others since.
pub fn claim(
    path: &Path,
    output: Option<&Path>,
    asking: &Asking,
) -> Result<(Source, Target), Error> {
    loop {
        // The source first: that it is missing or no file is the better word.
        let source = Source::open(path)?;
        let target = Target::resolve(output.unwrap_or(path))?;
        if let Some(claimed) = lock_both(source, target, output.is_none(), asking)? {
            return Ok(claimed);
        }
    }
}

/// Opens and locks a file that is read alone.
pub fn claim_source(path: &Path, asking: &Asking) -> Result<Source, Error> {
    loop {
        let mut source = Source::open(path)?;
        lock(&source.file, &source.path, Kind::Shared, asking)?;
        if source.is_current() {
            source.settle()?;
            return Ok(source);
        }
    }
}

/// Opens and locks a file that is to be replaced, or finds out that there is none yet.
pub fn claim_target(path: &Path, asking: &Asking) -> Result<Target, Error> {
    loop {
        let mut target = Target::resolve(path)?;
        let Some(replaced) = &target.replaced else { return Ok(target) };
        lock(&replaced.file, &target.path, Kind::Alone, asking)?;
        if is_at(&target.path, &replaced.stamp) {
            target.settle()?;
            return Ok(target);
        }
    }
}

/// Both locked, or nothing where one of the names leads elsewhere by now.
fn lock_both(
    mut source: Source,
    mut target: Target,
    same_name: bool,
    asking: &Asking,
) -> Result<Option<(Source, Target)>, Error> {
    let Some(replaced) = &mut target.replaced else {
        lock(&source.file, &source.path, Kind::Shared, asking)?;
        if !source.is_current() {
            return Ok(None);
        }
        source.settle()?;
        return Ok(Some((source, target)));
    };
    let (of_source, of_target) = (source.stamp.id(), replaced.stamp.id());
    let in_place = same_name || of_source.is_some() && of_source == of_target;
    if in_place {
        // One handle: some systems keep a locked file from all others, those of the process included.
        lock(&replaced.file, &target.path, Kind::Alone, asking)?;
        if cfg!(not(unix)) {
            source.file = replaced.file.try_clone().map_err(Error::io("open", &target.path))?;
        }
    } else {
        // In an order that is the same for all, so that no two wait for each other.
        let lock_source = || lock(&source.file, &source.path, Kind::Shared, asking);
        let lock_target = || lock(&replaced.file, &target.path, Kind::Alone, asking);
        if of_source < of_target {
            lock_source()?;
            lock_target()?;
        } else {
            lock_target()?;
            lock_source()?;
        }
    }
    if !source.is_current() || !is_at(&target.path, &replaced.stamp) {
        return Ok(None);
    }
    source.settle()?;
    target.settle()?;
    let changed = |replaced: &Replaced| source.stamp != replaced.stamp;
    if in_place && target.replaced.as_ref().is_some_and(changed) {
        return Ok(None);
    }
    Ok(Some((source, target)))
}

impl Target {
    /// Takes the state from which on every change of the file shows.
    fn settle(&mut self) -> Result<(), Error> {
        let Some(replaced) = &mut self.replaced else { return Ok(()) };
        let failed = |error| Error::io("look at", &self.path)(error);
        replaced.stamp = stamp::settled(&replaced.file).map_err(failed)?;
        replaced.metadata = replaced.file.metadata().map_err(failed)?;
        Ok(())
    }
}

impl Source {
    fn is_current(&self) -> bool {
        is_at(&self.path, &self.stamp)
    }
}

/// Whether the name leads to that file, in whatever state.
fn is_at(path: &Path, stamp: &Stamp) -> bool {
    fs::metadata(path).is_ok_and(|now| !Stamp::of(&now).is_other_than(stamp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Locking;
    use std::sync::mpsc;
    use std::thread;

    fn quietly(locking: Locking) -> Asking {
        Asking::new(locking, true)
    }

    #[test]
    fn who_waited_has_the_file_that_is_there_now() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        let first = claim(&path, None, &quietly(Locking::Wait)).unwrap();
        let refused = claim(&path, None, &quietly(Locking::Refuse)).unwrap_err();
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
        let (tell, told) = mpsc::channel();
        let second = thread::spawn({
            let path = path.clone();
            move || {
                tell.send(()).unwrap();
                claim(&path, None, &quietly(Locking::Wait)).unwrap().0.bytes()
            }
        });
        told.recv().unwrap();
        fs::write(directory.path().join("new"), b"the new one").unwrap();
        fs::rename(directory.path().join("new"), &path).unwrap();
        drop(first);
        assert_eq!(second.join().unwrap(), 11);
    }

    #[test]
    fn readers_share_a_source() {
        let directory = tempfile::tempdir().unwrap();
        let [path, one, other] = ["data", "one", "other"].map(|name| directory.path().join(name));
        fs::write(&path, b"old").unwrap();
        let first = claim(&path, Some(&one), &quietly(Locking::Refuse)).unwrap();
        let second = claim(&path, Some(&other), &quietly(Locking::Refuse)).unwrap();
        assert!(matches!(claim(&path, None, &quietly(Locking::Refuse)), Err(Error::Locked { .. })));
        // A file that nobody locks is none to be kept from.
        assert!(claim(&path, None, &quietly(Locking::Off)).is_ok());
        drop((first, second));
        assert!(claim(&path, None, &quietly(Locking::Refuse)).is_ok());
    }

    #[test]
    fn a_change_is_found_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        let (source, target) = claim(&path, None, &quietly(Locking::Wait)).unwrap();
        assert!(source.unchanged().is_ok() && target.is_unchanged());
        fs::write(&path, b"new").unwrap();
        assert!(matches!(source.unchanged(), Err(Error::Changed { .. })));
        assert!(!target.is_unchanged());
    }
}
