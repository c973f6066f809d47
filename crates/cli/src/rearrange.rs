//! A change of a file, whatever it is: opened, changed, told of.

use std::path::Path;

use turntile::plan::Problem;

use crate::common::{Common, Goal};
use crate::error::Error;
use crate::file::Asking;
use crate::input::Input;
use crate::npy::Header;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::report::{Array, Report};
use crate::work::{self, Change, Done};

/// A file that is to be changed, and all that is said of how.
pub struct Asked<'a> {
    /// The file.
    pub file: &'a Path,
    /// Where its result goes.
    pub goal: &'a Goal,
    /// All else.
    pub common: &'a Common,
    /// Which of how many it is, for the progress bar; nothing if it is alone.
    pub label: String,
}

impl Asked<'_> {
    /// Opens what is read and what is replaced.
    pub fn open(&self, raw: bool) -> Result<(Input, Output), Error> {
        let Common { member, lock, quiet, .. } = self.common;
        let asking = Asking::new(*lock, *quiet);
        output::open(self.file, self.goal, (member.as_deref(), raw), &asking)
    }

    /// Makes a change of what was opened.
    pub fn apply(&self, opened: (Input, Output), change: &Change) -> Result<Done, Error> {
        let progress = Progress::labelled(!self.common.quiet, &self.label);
        work::apply(opened, change, self.common, &progress)
    }
}

/// Changes a file: a headerless one as `raw` says, the array of a .npy file as `of_npy` does, which answers the shape that it
/// has then too.
pub fn rearrange(
    operation: &'static str,
    asked: &Asked<'_>,
    raw: Option<Problem>,
    of_npy: impl FnOnce(&Header) -> Result<(Change, Vec<usize>), Error>,
) -> Result<Report, Error> {
    let (mut input, output) = asked.open(raw.is_some())?;
    let (change, before, after) = match raw {
        Some(problem) => of_raw(problem, asked.file, input.bytes()?)?,
        None => {
            let header = input.header()?;
            let (change, shape) = of_npy(&header)?;
            (change, Array::of(&header), Array { shape, ..Array::of(&header) })
        }
    };
    let member = input.member().map(String::from);
    let done = asked.apply((input, output), &change)?;
    let named = (asked.file, member, asked.goal.path());
    Ok(Report::new(operation, named, (before, after), change.data_bytes, done))
}

/// The change of a headerless file, whose length must be the problem's.
fn of_raw(
    problem: Problem,
    path: &Path,
    got: Option<u64>,
) -> Result<(Change, Array, Array), Error> {
    let data_bytes = problem.bytes();
    if let Some(got) = got.filter(|&got| got != data_bytes as u64) {
        let problem = Box::new(problem);
        return Err(Error::RawLength { path: path.to_path_buf(), problem, got });
    }
    let step = Some(problem).filter(|problem| !problem.is_empty());
    let [before, after] = Array::of_raw(&problem);
    Ok((Change { header: Vec::new(), data_bytes, step }, before, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_lengths_are_checked() {
        let path = Path::new("x");
        let problem = Problem::with_batch(2, 3, 5, 12).unwrap();
        assert_eq!(of_raw(problem, path, Some(360)).unwrap().0.step, Some(problem));
        let error = of_raw(problem, path, Some(361)).unwrap_err();
        assert!(matches!(error, Error::RawLength { got: 361, .. }), "{error}");
        let empty = Problem::with_batch(0, 3, 5, 12).unwrap();
        assert_eq!(of_raw(empty, path, Some(0)).unwrap().0.step, None);
    }
}
