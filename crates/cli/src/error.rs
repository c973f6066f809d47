//! What can go wrong: words around what was refused, with the numbers that say why.
//!
//! The files are as they were before. What goes wrong once the new file is in place is no error any more: it is warned of.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use turntile::plan::{PlanError, Problem, ProblemError, WisdomError};

use crate::say::shown;

/// Nobody reads standard output any more: the command dies of it as others do.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads standard output any more")]
pub struct BrokenPipe;

/// Says what was tried, and on what.
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

/// Why a measurement was not made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Anything else.
    #[error("{}", line(.0))]
    Other(anyhow::Error),
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", shown(path))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A transposition that was measured did not do what it should.
    #[error("{problem}: element {at} of the result is wrong")]
    Wrong {
        /// What was to be done.
        problem: Box<Problem>,
        /// Which element, from 0.
        at: usize,
    },
    /// The same on a GPU, which counts.
    #[error("{wrong} of {elements} elements are wrong after {plan}")]
    WrongOnGpu {
        /// What ran.
        plan: String,
        /// Elements that are not what they should be.
        wrong: u64,
        /// All elements.
        elements: usize,
    },
    /// The transposition could not be planned or run.
    #[error(transparent)]
    Engine(#[from] turntile::Error),
    /// The GPU, or its absence.
    #[error(transparent)]
    Cuda(#[from] turntile::gpu::CudaError),
    /// The extents do not make a problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// There is no such plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The wisdom file cannot be used.
    #[error(transparent)]
    Wisdom(#[from] WisdomError),
    /// The wisdom file does not exist.
    #[error("there is no wisdom file {}; `turntile tune` makes one", shown(path))]
    NoWisdom {
        /// The file.
        path: PathBuf,
    },
    /// An option that makes sense on the host only.
    #[error("{option} is for the host, not for device {device}")]
    HostOnly {
        /// The option.
        option: &'static str,
        /// The device asked for.
        device: String,
    },
    /// No device of that name.
    #[error("no device is named {name:?}; there are cuda, {}", device_names())]
    UnknownDevice {
        /// The name asked for.
        name: String,
    },
    /// A device that only plans are made for.
    #[error("{name} only plans can be made for; what is measured is measured on host or cuda")]
    NotHere {
        /// The name asked for.
        name: String,
    },
}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Self {
        Error::Other(error)
    }
}

fn device_names() -> String {
    use turntile::plan::{Chip, Device};
    let presets = Chip::presets();
    let names: Vec<&str> = std::iter::once("host").chain(presets.iter().map(Chip::name)).collect();
    names.join(", ")
}

impl Error {
    /// Says what was tried, and on what, when the system refused.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { action, path: path.to_path_buf(), source }
    }
}
