//! Plans run on initialised bytes.
#![allow(unsafe_code)]

use crate::executor::{Executor, RunError, Workspace};
use crate::views;

impl Executor {
    /// [`run`](Self::run) on initialised bytes.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_bytes(&self, data: &mut [u8], workspace: &mut Workspace) -> Result<(), RunError> {
        // SAFETY: an executor moves bytes of the data, what it puts in gaps is among them, and what it puts back from
        // the workspace it has taken from there.
        let bytes = unsafe { views::any_bytes(data) };
        self.run(bytes, workspace, |_| ())
    }
}
