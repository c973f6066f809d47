//! Advisory locks on the files themselves: one program changes a file at a time, if all of them lock it.

use std::cell::Cell;
use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::error::On;
use crate::file::is_unsupported;
use crate::say::{note, shown};

/// Action if another program has locked a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Locking {
    /// Wait until it is unlocked
    Wait,
    /// Fail
    Fail,
    /// Take no lock
    Off,
}

/// Lock mode for the files of one change.
#[derive(Debug)]
pub struct LockRequest {
    locking: Locking,
    quiet: Cell<bool>,
}

impl LockRequest {
    /// Creates a request that prints at most one note, and none if `quiet`.
    pub fn new(locking: Locking, quiet: bool) -> Self {
        LockRequest { locking, quiet: Cell::new(quiet) }
    }

    fn note(&self, what: &str) {
        if !self.quiet.replace(true) {
            note(&what);
        }
    }

    /// Locks an open file until it is closed; `shared` allows other readers.
    pub fn lock(&self, file: &File, path: &Path, shared: bool) -> Result<()> {
        if self.locking == Locking::Off {
            return Ok(());
        }
        let tried = if shared { file.try_lock_shared() } else { file.try_lock() };
        let locked = match tried {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if self.locking == Locking::Fail => {
                bail!("{} is locked by another program; --lock wait waits for it", shown(path))
            }
            Err(TryLockError::WouldBlock) => {
                self.note(&format!(
                    "waiting for {}, which another program has locked",
                    shown(path)
                ));
                if shared { file.lock_shared() } else { file.lock() }
            }
            Err(TryLockError::Error(error)) => Err(error),
        };
        if locked.as_ref().is_err_and(is_unsupported) {
            let what =
                "this file system has no locks, other programs are not kept from changing it";
            self.note(&format!("{}: {what}", shown(path)));
            return Ok(());
        }
        locked.on("lock", path)
    }
}
