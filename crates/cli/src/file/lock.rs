//! Advisory locks on the files themselves: one program changes a file at a time, if all of them lock it.

use std::cell::Cell;
use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::error::On;
use crate::file::is_unsupported;
use crate::say::{notify, shown};

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
    /// Whether nothing more is said.
    quiet: Cell<bool>,
}

impl Asking {
    /// No word on it if `quiet`, else one at most.
    pub fn new(locking: Locking, quiet: bool) -> Self {
        Asking { locking, quiet: Cell::new(quiet) }
    }

    fn notify(&self, what: &str) {
        if !self.quiet.replace(true) {
            notify(&what);
        }
    }

    /// Takes the lock of an open file, with others that read it if `shared`; it lasts until the file is closed.
    pub fn lock(&self, file: &File, path: &Path, shared: bool) -> Result<()> {
        if self.locking == Locking::Off {
            return Ok(());
        }
        let tried = if shared { file.try_lock_shared() } else { file.try_lock() };
        let locked = match tried {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if self.locking == Locking::Refuse => {
                bail!("{} is locked by another program; --lock wait waits for it", shown(path))
            }
            Err(TryLockError::WouldBlock) => {
                let name = shown(path);
                self.notify(&format!("waiting for {name}, which another program has locked"));
                if shared { file.lock_shared() } else { file.lock() }
            }
            Err(TryLockError::Error(error)) => Err(error),
        };
        if locked.as_ref().is_err_and(is_unsupported) {
            let what =
                "this file system has no locks: no other program may change the file meanwhile";
            self.notify(&format!("note: {}: {what}", shown(path)));
            return Ok(());
        }
        locked.on("lock", path)
    }
}
