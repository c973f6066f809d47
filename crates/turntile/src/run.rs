//! Options, workspaces, data and threads of runs on the host.

use std::fmt;
use std::mem::MaybeUninit;

pub use turntile_cpu::{Workspace, pool};

pub use crate::elements::{Data, Source};

/// Options of an in-place run on the host.
#[derive(Default)]
#[must_use]
pub struct RunOptions<'a> {
    pub(crate) workspace: Option<&'a mut [MaybeUninit<u64>]>,
    pub(crate) progress: Option<&'a mut dyn FnMut(usize)>,
}

impl<'a> RunOptions<'a> {
    /// Creates the default options: the run allocates its workspace and reports no progress.
    pub fn new() -> Self {
        RunOptions::default()
    }

    /// Sets the workspace of the run, allocated by the caller with
    /// [`Transposer::workspace`](crate::Transposer::workspace). The run then makes no large
    /// allocation.
    pub fn workspace(self, workspace: &'a mut Workspace) -> Self {
        self.workspace_in(workspace.words_mut())
    }

    /// Sets `words` as the workspace of the run: any host memory of at least
    /// [`Transposer::workspace_bytes`](crate::Transposer::workspace_bytes) bytes.
    ///
    /// ```
    /// use std::mem::MaybeUninit;
    /// use turntile::Transpose;
    /// use turntile::run::RunOptions;
    ///
    /// let planned = Transpose::new::<u16>(300, 200).plan()?;
    /// let mut words = vec![MaybeUninit::<u64>::uninit(); planned.workspace_bytes().div_ceil(8)];
    /// planned.run_with(&mut vec![0u16; 300 * 200], RunOptions::new().workspace_in(&mut words))?;
    /// # Ok::<(), turntile::Error>(())
    /// ```
    pub fn workspace_in(self, words: &'a mut [MaybeUninit<u64>]) -> Self {
        RunOptions { workspace: Some(words), ..self }
    }

    /// Sets a progress callback. It is called after each stage that counts as a pass, with the
    /// number of completed passes over the data, out of
    /// [`Plan::passes`](crate::plan::Plan::passes).
    ///
    /// If `done` panics, it is not called again. The transposition is completed, and then the panic
    /// continues.
    pub fn progress(self, done: &'a mut dyn FnMut(usize)) -> Self {
        RunOptions { progress: Some(done), ..self }
    }
}

impl fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("workspace_bytes", &self.workspace.as_deref().map(size_of_val))
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
