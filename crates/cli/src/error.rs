//! Errors: what was tried, on what, and the system's cause.
//!
//! The files are as they were before. What fails once the new file is in place is a warning.

use std::fmt::Display;
use std::io;
use std::path::Path;

use anyhow::Context;

use crate::say::shown;

/// Adds to an error what was tried, and on what.
pub trait On<T> {
    /// `cannot open a.npy`, before what refused it.
    fn on(self, action: impl Display, path: &Path) -> anyhow::Result<T>;
}

impl<T> On<T> for io::Result<T> {
    fn on(self, action: impl Display, path: &Path) -> anyhow::Result<T> {
        self.with_context(|| format!("cannot {action} {}", shown(path)))
    }
}

/// An error in one line: what was tried, then the causes, each where those before do not say it already.
pub fn line(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .reduce(|said, cause| if said.contains(&cause) { said } else { format!("{said}: {cause}") })
        .unwrap_or_default()
}
