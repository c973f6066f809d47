//! What can go wrong, with the numbers that tell why.

use std::io;
use std::path::{Path, PathBuf};

mod archive;
mod header;

pub use archive::ArchiveError;
pub use header::HeaderError;

use crate::free::{Free, Limit};
use crate::say::shown;

use turntile::plan::{PlanError, Problem, ProblemError, WisdomError};

/// Why a command did not do its work. The files are as they were before it.
///
/// What goes wrong once the new file is in place is no error any more: it is warned of.
#[derive(Debug, thiserror::Error)]
pub enum Error {
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
    /// The file is not a .npy file that can be worked on.
    #[error("{}: {source}", shown(path))]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: HeaderError,
    },
    /// A directory, a device, a pipe.
    #[error("{} is not a regular file", shown(path))]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// A name under /dev or /proc, which stands for something else.
    #[error(
        "{} leads to a device or an open file, which cannot be replaced; name a file of a directory",
        shown(path)
    )]
    Special {
        /// As the user named it.
        path: PathBuf,
    },
    /// Data from or for a terminal.
    #[error(
        "standard {stream} is a terminal: data are read from, and written to, files and pipes alone"
    )]
    Terminal {
        /// `input` or `output`.
        stream: &'static str,
    },
    /// Data from or for a stream that was closed when the command began.
    #[error("standard {stream} is closed")]
    Closed {
        /// `input` or `output`.
        stream: &'static str,
    },
    /// A table of rates is kept in a file.
    #[error("rates are not written to standard output; a file of the name - is ./-")]
    RatesToOutput,
    /// Whoever read standard output does so no more.
    #[error("nobody reads standard output any more")]
    BrokenPipe,
    /// Standard input ends too early.
    #[error("standard input ended after {have} bytes of data, there are to be {need}")]
    Short {
        /// Bytes that there are to be.
        need: usize,
        /// Bytes that came.
        have: usize,
    },
    /// Standard input goes on.
    #[error("standard input goes on after the {bytes} bytes of data that there are to be")]
    Trailing {
        /// Bytes that there are to be.
        bytes: usize,
    },
    /// A second name on the command line, of a file that is there.
    #[error(
        "{} is there already: --output replaces it, and --in-place changes all files that are named",
        shown(path)
    )]
    Exists {
        /// Where the result was to go.
        path: PathBuf,
    },
    /// A file that is named twice, to be changed twice.
    #[error(
        "{} and {} are one file, named twice: it would be changed twice",
        shown(one),
        shown(other)
    )]
    Twice {
        /// One name of the file.
        one: PathBuf,
        /// The same or another.
        other: PathBuf,
    },
    /// A new file's name that something else got while the work went on.
    #[error("{} was made by another program meanwhile; it was left as it is", shown(path))]
    Appeared {
        /// Where the result was to go.
        path: PathBuf,
    },
    /// A .npz archive that cannot be read or written.
    #[error("{}: {source}", shown(path))]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<ArchiveError>,
    },
    /// The output's directory does not exist.
    #[error("cannot write {}: there is no directory {}", shown(path), shown(directory))]
    NoDirectory {
        /// The output.
        path: PathBuf,
        /// Its directory.
        directory: PathBuf,
    },
    /// The file to replace may not be written to.
    #[error(
        "{} is write-protected; make it writable or name another file with --output",
        shown(path)
    )]
    Protected {
        /// The file.
        path: PathBuf,
    },
    /// Another program has it locked, and it is not to be waited for.
    #[error("{} is locked by another program; --lock wait waits for it", shown(path))]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The new file could not be given the old one's owner.
    #[error(
        "{} belongs to user {owner}, group {group}, which the new file cannot be given ({source}); name another file with --output",
        shown(path)
    )]
    Owner {
        /// The file.
        path: PathBuf,
        /// Its user.
        owner: u32,
        /// Its group.
        group: u32,
        /// The system's answer.
        source: io::Error,
    },
    /// The new file could not be given an attribute of the old one: an access list, a label.
    #[error(
        "{} has the attribute {name:?}, which the new file cannot be given ({source}); name another file with --output",
        shown(path)
    )]
    Attribute {
        /// The file.
        path: PathBuf,
        /// The attribute.
        name: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A file of another's, in a directory whose sticky bit keeps it from being replaced.
    #[error(
        "{} belongs to another user, and the sticky bit of {} keeps it; name another file with --output",
        shown(path),
        shown(directory)
    )]
    Sticky {
        /// The file.
        path: PathBuf,
        /// Its directory.
        directory: PathBuf,
    },
    /// A file or directory with `chattr +i` or `+a`.
    #[error(
        "{} may not be changed or only be added to (chattr +i or +a); name another file with --output",
        shown(path)
    )]
    Fixed {
        /// The file or directory.
        path: PathBuf,
    },
    /// A file that is the root of a mount.
    #[error("{} is mounted and cannot be replaced; name another file with --output", shown(path))]
    Mounted {
        /// The file.
        path: PathBuf,
    },
    /// A transposition that was measured did not do what it should.
    #[error("{problem}: element {at} of the result is wrong")]
    Wrong {
        /// What was to be done.
        problem: Box<Problem>,
        /// Which element, from 0.
        at: usize,
    },
    /// More or fewer axes than a matrix has, and no word on their order.
    #[error("{} axes: --axes is to say in which order they shall lie", shape.len())]
    AxesNeeded {
        /// Extents as given.
        shape: Vec<usize>,
    },
    /// An order of other axes than the array has.
    #[error("{}: --axes names {got} axes, the array has {axes}", shown(path))]
    OtherAxes {
        /// The file.
        path: PathBuf,
        /// Axes of the array.
        axes: usize,
        /// Axes named.
        got: usize,
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
    /// A headerless file of another length than the shape says.
    #[error(
        "{}: expected {} bytes ({} x {}), got {got}",
        shown(path),
        problem.bytes(),
        by_x(problem.extents()),
        problem.elem_bytes()
    )]
    RawLength {
        /// The file.
        path: PathBuf,
        /// What was said of it.
        problem: Box<Problem>,
        /// Bytes in the file.
        got: u64,
    },
    /// A transposition needs rows and columns.
    #[error("{}: a transposition needs at least 2 axes, the array has {axes}", shown(path))]
    TooFewAxes {
        /// The file.
        path: PathBuf,
        /// Axes of the array.
        axes: usize,
    },
    /// The system did not give as much memory as it seemed to have, or as was said.
    #[error(
        "not enough memory for {}: its data take {data} bytes, {asked} of memory were asked for and not given; {}",
        shown(path),
        there_is(free)
    )]
    Memory {
        /// The file.
        path: PathBuf,
        /// Bytes of its data.
        data: usize,
        /// Bytes that were asked for: for all, for the blocks that are moved at a time, or beside them.
        asked: usize,
        /// What is free, where the system tells.
        free: Option<Free>,
    },
    /// Less memory than any file is moved in.
    #[error(
        "{}: {need} bytes of memory are needed at least (its data take {data}), {have} may be used: {limit}",
        shown(path)
    )]
    TooLittle {
        /// The file.
        path: PathBuf,
        /// Bytes of its data.
        data: usize,
        /// Bytes that are needed at least.
        need: usize,
        /// Bytes that may be used.
        have: usize,
        /// What says so.
        limit: Limit,
    },
    /// The disk is too full for the new file.
    #[error("no room for {}: it takes {need} bytes, {have} are free", shown(path))]
    NoRoom {
        /// The new file.
        path: PathBuf,
        /// Bytes that it takes.
        need: u64,
        /// Bytes that are free.
        have: u64,
    },
    /// A route is for data that fit in memory.
    #[error(
        "{}: --route is for data in memory, which takes {need} bytes, and there are {have}; see --memory",
        shown(path)
    )]
    RouteInBlocks {
        /// The file.
        path: PathBuf,
        /// Bytes of the data, and of the workspace.
        need: usize,
        /// Bytes of memory.
        have: usize,
    },
    /// Data larger than memory could not be moved.
    #[error(transparent)]
    Stored(Box<turntile::stored::StoredError>),
    /// The file was written to while it was being transposed.
    #[error("{} changed while it was being worked on; it was left as it is now", shown(path))]
    Changed {
        /// The file.
        path: PathBuf,
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
    /// The system does not say where a user's data are.
    #[error(
        "there is no place for rates: neither XDG_DATA_HOME nor HOME names one; name a file with --output"
    )]
    NoPlace,
    /// An option that makes sense on the host only.
    #[error("{option} is for the host, not for device {device}")]
    HostOnly {
        /// The option.
        option: &'static str,
        /// The device asked for.
        device: String,
    },
    /// No drawn problem is as small.
    #[error("none of {draws} problems drawn is of {most} bytes at most; raise --draw-most")]
    DrawMost {
        /// Bytes asked for.
        most: usize,
        /// Problems that were larger.
        draws: usize,
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

/// What the system says of its memory.
fn there_is(free: &Option<Free>) -> String {
    match free {
        Some(Free { bytes, limit }) => format!("{bytes} are free ({limit})"),
        None => "--memory says how many to take at most".to_string(),
    }
}

/// `2 x 3 x 4`.
fn by_x(extents: &[usize]) -> String {
    extents.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
}
