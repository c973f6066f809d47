//! Where a result goes: a new file, an archive with a new member, standard output.

use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Write};
use std::path::Path;

use anyhow::{Error, Result, ensure};

use crate::args::{DASH, Goal};
use crate::closed;
use crate::error::On;
use crate::file::{self, Asking, Pending, Target};
use crate::input::{Input, refuse_terminal};
use crate::progress::Progress;
use crate::say::{BrokenPipe, shown};
use crate::transfer::copy;

/// Opens and locks what is read and what is replaced; without a target the result goes to standard output.
pub fn open(
    path: &Path,
    goal: &Goal,
    (member, raw): (Option<&str>, bool),
    asking: &Asking,
) -> Result<(Input, Option<Target>)> {
    let exists = |path: &Path| {
        let what = "--output replaces it, and --in-place changes all files that are named";
        format!("{} is there already: {what}", shown(path))
    };
    if let Goal::New(output) = goal {
        ensure!(output.symlink_metadata().is_err(), exists(output));
    }
    if *goal == Goal::Stdout {
        // Data would be lost, or fill a terminal.
        closed::output()?;
        refuse_terminal(io::stdout(), "output")?;
    }
    let is_stdin = path == Path::new(DASH);
    let to = match goal {
        Goal::InPlace => Some(path),
        Goal::New(output) | Goal::Over(output) => Some(&**output),
        Goal::Stdout => None,
    };
    let (source, target) = file::open((!is_stdin).then_some(path), to, asking)?;
    let input = match source {
        Some(source) => Input::of_file(source, member, raw)?,
        None => Input::stdin(path, member)?,
    };
    let is_member = input.member().is_some();
    let Some(to) = &target else {
        let what = "an archive does not go to standard output; name a file with --output";
        ensure!(!is_member, "{}: {what}", shown(path));
        return Ok((input, target));
    };
    // Made since it was looked for.
    ensure!(!matches!(goal, Goal::New(_)) || to.replaced.is_none(), exists(&to.path));
    let ends = |with: &str| goal.path().is_some_and(|path| path.extension() == Some(with.as_ref()));
    let what = "the result is an archive of all members: name it .npz";
    ensure!(!(is_member && ends("npy")), "{}: {what}", shown(&to.path));
    let what = "the result is a single array and no archive: name it .npy";
    ensure!(is_member || !ends("npz"), "{}: {what}", shown(&to.path));
    Ok((input, target))
}

/// A result that is being written; dropped before it is committed it leaves nothing, except what was already written to standard output.
pub struct Sink {
    /// The new file; without one the result goes to standard output.
    pending: Option<Pending>,
    /// Whether the file holds the result as it is, and not as a member of an archive.
    is_plain: bool,
}

impl Sink {
    /// Begins a result of so many bytes, with room for all of it.
    pub fn begin(
        input: &mut Input,
        target: Option<Target>,
        bytes: u64,
        quiet: bool,
    ) -> Result<Self> {
        let room = input.archive().map_or(Ok(bytes), |archive| archive.room(bytes))?;
        let begin = |target| file::begin(target, input.source(), room, quiet);
        let pending = target.map(begin).transpose()?;
        Ok(Sink { pending, is_plain: input.member().is_none() })
    }

    /// The new file, if the data go into it as they are.
    pub fn plain(&self) -> Option<&Pending> {
        self.pending.as_ref().filter(|_| self.is_plain)
    }

    /// A file of so many bytes for what does not fit in memory.
    pub fn scratch(&self, bytes: u64) -> Result<File> {
        file::scratch(self.pending.as_ref().map(Pending::target), bytes)
    }

    /// Writes all of the result, once: the header, and so many bytes of data.
    pub fn put(
        &self,
        input: &mut Input,
        header: &[u8],
        (data, bytes): (&mut dyn BufRead, usize),
        progress: &Progress,
    ) -> Result<()> {
        let mut put = |to: &mut dyn Write| {
            progress.bytes("writing", bytes);
            to.write_all(header)?;
            copy(data, to, bytes, progress)
        };
        let Some(pending) = &self.pending else {
            let mut to = io::stdout().lock();
            let done = put(&mut to).and_then(|()| to.flush());
            if done.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
                return Err(BrokenPipe.into());
            }
            return done.on("write to", Path::new("standard output"));
        };
        match input.archive() {
            None => put(&mut pending.file()).on("write the new", pending.path()),
            Some(archive) => {
                let bytes = (header.len() + bytes) as u64;
                archive.rewrite(pending.file(), bytes, |to| Ok(put(to)?))
            }
        }
    }

    /// Puts what was written in its place, if the input is as it was; returns what may have to be warned of.
    pub fn commit(self, input: &Input) -> Result<Option<Error>> {
        self.pending.map_or(Ok(None), |pending| pending.commit(input.source()))
    }
}
