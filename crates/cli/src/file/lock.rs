//! Advisory locks on the files themselves: who changes a file has it alone, as far as others ask for the lock too.

use std::cell::RefCell;
use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::error::Error;
use crate::say::{shown, tell};

/// What to do about a file that another program has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Locking {
    /// Wait until it lets go
    Wait,
    /// Give up at once
    Refuse,
    /// Ask for no lock
    Off,
}

/// How locks are asked for, in the course of one change.
#[derive(Debug)]
pub struct Asking {
    locking: Locking,
    /// Whether nothing but errors is told.
    quiet: bool,
    /// What was told of already.
    told: RefCell<Vec<PathBuf>>,
}

impl Asking {
    /// No word on it if `quiet`, else one for each file.
    pub fn new(locking: Locking, quiet: bool) -> Self {
        Asking { locking, quiet, told: RefCell::default() }
    }

    fn tell(&self, path: &Path, what: impl Display) {
        let mut told = self.told.borrow_mut();
        if !self.quiet && !told.iter().any(|known| known == path) {
            tell(&what);
            told.push(path.to_path_buf());
        }
    }
}

/// Who else may have the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nobody: the file is replaced.
    Alone,
    /// Others that read it.
    Shared,
}

/// Takes the lock of an open file; it lasts until the file is closed.
pub fn lock(file: &File, path: &Path, kind: Kind, asking: &Asking) -> Result<(), Error> {
    let locking = asking.locking;
    if locking == Locking::Off {
        return Ok(());
    }
    let tried = match kind {
        Kind::Alone => file.try_lock(),
        Kind::Shared => file.try_lock_shared(),
    };
    let error = match (tried, locking) {
        (Ok(()), _) => return Ok(()),
        (Err(TryLockError::WouldBlock), Locking::Refuse) => {
            return Err(Error::Locked { path: path.to_path_buf() });
        }
        (Err(TryLockError::WouldBlock), _) => {
            let name = shown(path);
            asking.tell(path, format_args!("waiting for {name}, which another program has locked"));
            match wait(file, kind) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            }
        }
        (Err(TryLockError::Error(error)), _) => error,
    };
    if has_no_locks(&error) {
        let what = "this file system has no locks: let nobody else change the file meanwhile";
        asking.tell(path, format_args!("note: {}: {what}", shown(path)));
        return Ok(());
    }
    Err(Error::io("lock", path)(error))
}

fn wait(file: &File, kind: Kind) -> io::Result<()> {
    loop {
        let locked = match kind {
            Kind::Alone => file.lock(),
            Kind::Shared => file.lock_shared(),
        };
        match locked {
            // By a signal that is not for us to die of.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            locked => return locked,
        }
    }
}

/// Whether the system says that it has no locks, and not that this one cannot be had.
fn has_no_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) {
        return true;
    }
    error.kind() == ErrorKind::Unsupported
}
