//! The one place that calls the library: what a command needs of a transposition.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::error::Error;

/// `batch` row-major `rows` by `cols` matrices of elements of `elem_bytes` bytes, each to be
/// transposed in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Matrices, one after the other.
    pub batch: usize,
    /// Rows of each before.
    pub rows: usize,
    /// Columns of each before.
    pub cols: usize,
    /// Bytes of an element.
    pub elem_bytes: usize,
}

/// What the user may set.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Threads; as many as there are processors if not set.
    pub threads: Option<NonZeroUsize>,
    /// A route by name, in place of the planner's choice.
    pub route: Option<String>,
    /// Most bytes beside the data.
    pub workspace: Option<usize>,
    /// A file of measured winners.
    pub wisdom: Option<PathBuf>,
}

impl Settings {
    /// The cap on the workspace for `bytes` bytes of data: 2%, and 16 MiB where that is more.
    fn cap(&self, bytes: usize) -> usize {
        self.workspace.unwrap_or((bytes / 50).max(16 << 20))
    }

    /// `step`, whose data are `bytes` bytes, as the library is to plan or tune it.
    pub fn transpose(&self, step: Step, bytes: usize) -> turntile::Transpose {
        let mut builder = turntile::Transpose::new(step.rows, step.cols)
            .batch(step.batch)
            .workspace_cap(self.cap(bytes));
        if let Some(threads) = self.threads {
            builder = builder.threads(threads.get());
        }
        if let Some(route) = &self.route {
            builder = builder.route(route);
        }
        if let Some(file) = &self.wisdom {
            builder = builder.wisdom(file);
        }
        builder
    }
}

/// A step with its plan.
pub struct Planned(turntile::Planned);

impl Planned {
    /// Plans `step`, whose data are `bytes` bytes.
    pub fn new(step: Step, bytes: usize, settings: &Settings) -> Result<Self, Error> {
        Ok(Planned(settings.transpose(step, bytes).plan_bytes(step.elem_bytes)?))
    }

    /// The plan on a line.
    pub fn line(&self) -> String {
        self.0.plan().to_string()
    }

    /// The name of its route.
    pub fn route(&self) -> String {
        self.0.plan().route.to_string()
    }

    /// Trips of the data through memory; 0 when nothing has to move.
    pub fn passes(&self) -> usize {
        self.0.plan().passes()
    }

    /// Bytes that it needs beside the data.
    pub fn workspace_bytes(&self) -> usize {
        self.0.workspace_bytes()
    }

    /// Runs it on `data`, and says after each pass how many are done.
    pub fn run(&self, data: &mut [u8], done: impl FnMut(usize)) -> Result<(), Error> {
        let mut workspace = self.0.workspace()?;
        Ok(self.0.run_bytes(data, &mut workspace, done)?)
    }
}
