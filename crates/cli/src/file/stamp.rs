//! By what a file is known again, and whether it is still as it was.

use std::fs::{File, Metadata};
use std::io;
use std::thread;
use std::time::{Duration, SystemTime};

/// Times of change are counted in ticks of the system's clock, of 10 ms at most: two changes within one look like one.
const TICK: Duration = Duration::from_millis(12);

/// Ticks waited for at most: a file that changes all the time is found out in the end.
const TICKS: usize = 5;

/// A file and a state of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    id: Option<(u64, u64)>,
    bytes: u64,
    modified: Option<SystemTime>,
    changed: Option<SystemTime>,
}

impl Stamp {
    /// The file's of these metadata.
    pub fn of(metadata: &Metadata) -> Self {
        Stamp {
            id: id(metadata),
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            changed: changed(metadata),
        }
    }

    /// Length of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The file that it is, whatever its state; none where the system does not tell.
    pub fn id(&self) -> Option<(u64, u64)> {
        self.id
    }

    /// Whether it is another file than `other`, as far as the system tells.
    pub fn is_other_than(&self, other: &Stamp) -> bool {
        self.id != other.id
    }

    /// What is left of the tick in which the file changed last.
    fn rest_of_tick(&self, now: SystemTime) -> Option<Duration> {
        let age = |time: Option<SystemTime>| time.and_then(|time| now.duration_since(time).ok());
        let age = [age(self.modified), age(self.changed)].into_iter().flatten().min()?;
        TICK.checked_sub(age).filter(|rest| !rest.is_zero())
    }
}

/// The state of an open file, from which on every change shows: one that is of this very moment is waited out.
pub fn settled(file: &File) -> io::Result<Stamp> {
    let mut stamp = Stamp::of(&file.metadata()?);
    for _ in 0..TICKS {
        let Some(rest) = stamp.rest_of_tick(SystemTime::now()) else { break };
        thread::sleep(rest);
        stamp = Stamp::of(&file.metadata()?);
    }
    Ok(stamp)
}

#[cfg(unix)]
fn id(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn id(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// The time of any change, that of the times included, which nobody can set.
#[cfg(unix)]
fn changed(metadata: &Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    let seconds = Duration::from_secs(u64::try_from(metadata.ctime()).ok()?);
    let more = Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(seconds + more)
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> Option<SystemTime> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    #[test]
    fn every_change_shows() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, b"old").unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let before = settled(&file).unwrap();
        assert_eq!(settled(&file).unwrap(), before);
        let modified = file.metadata().unwrap().modified().unwrap();
        (&file).write_all(b"new").unwrap();
        let written = settled(&file).unwrap();
        assert_ne!(written, before);
        // As `touch --reference` and `cp --preserve` do.
        file.set_modified(modified).unwrap();
        let restored = settled(&file).unwrap();
        assert_eq!((restored.bytes, restored.modified), (before.bytes, before.modified));
        assert_ne!(restored, before);
        assert!(!restored.is_other_than(&before));
        fs::rename(&path, directory.path().join("other")).unwrap();
        fs::write(&path, b"old").unwrap();
        assert!(Stamp::of(&fs::metadata(&path).unwrap()).is_other_than(&before));
    }
}
