//! Advisory locks on the files themselves: who changes a file has it alone, as far as others ask for the lock too.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;

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

/// Who else may have the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nobody: the file is replaced.
    Alone,
    /// Others that read it.
    Shared,
}

/// Takes the lock of an open file; it lasts until the file is closed.
pub fn lock(file: &File, path: &Path, kind: Kind, locking: Locking) -> Result<(), Error> {
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
            tell(&format_args!("waiting for {}, which another program has locked", shown(path)));
            match wait(file, kind) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            }
        }
        (Err(TryLockError::Error(error)), _) => error,
    };
    if has_no_locks(&error) {
        let what = "this file system has no locks: let nobody else change the file meanwhile";
        tell(&format_args!("note: {}: {what}", shown(path)));
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
