//! Errors: what failed, on which file, and the system's reason.

use std::fmt::Display;
use std::io;
use std::path::Path;

use anyhow::Context;

use crate::say::shown;

/// Exit code of a failure.
pub const FAILED: u8 = 1;

/// Exit code if the reader of standard output has left, as of a program that ends by SIGPIPE.
pub const PIPE: u8 = 141;

/// Adds to an error what failed, and on which file.
pub trait On<T> {
    /// Adds `cannot ACTION PATH` to the system's reason.
    fn on(self, action: impl Display, path: &Path) -> anyhow::Result<T>;
}

impl<T> On<T> for io::Result<T> {
    fn on(self, action: impl Display, path: &Path) -> anyhow::Result<T> {
        self.with_context(|| format!("cannot {action} {}", shown(path)))
    }
}

/// Formats an error on one line: what failed, then the causes that are not contained in it already.
pub fn line(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .reduce(|said, cause| if said.contains(&cause) { said } else { format!("{said}: {cause}") })
        .unwrap_or_default()
        .replace('\n', " ")
}
