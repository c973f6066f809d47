//! One file after the other, each done or left as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::args::{Common, Goal, Raw};
use crate::error;
use crate::file;
use crate::operation::{self, Operation};
use crate::report::Report;
use crate::say::{self, BrokenPipe, OutputStream, notify, shown};
use crate::signals;
use anyhow::{Result, bail};

/// Changes all files that are named, and reports what was done to each and all that went wrong. An error does not keep the other
/// files from being changed.
pub fn run(common: &mut Common, operation: Operation<'_>, raw: Option<Raw>) -> ExitCode {
    let ready = common.settings.find_wisdom(false, common.quiet);
    let common = &*common;
    // The command line has been checked.
    let jobs = common.jobs().unwrap_or_default();
    let first = jobs.first().map_or(OutputStream::Output, |(_, goal)| stream_of(goal));
    if let Err(error) = ready.and_then(|_| no_twins(&jobs)) {
        return failed(&error::line(&error), None, common, first);
    }
    let mut code = ExitCode::SUCCESS;
    for (number, (path, goal)) in jobs.iter().enumerate() {
        let label = match jobs.len() {
            1 => String::new(),
            all => format!("{}/{all} {}: ", number + 1, shown(path)),
        };
        let done = operation::run(common, (path, goal), (operation, raw.as_ref()), &label);
        if number == 0 && !common.quiet {
            say::note_threads();
        }
        match done {
            Ok(report) => print(&report, common, stream_of(goal)),
            Err(error) if error.is::<BrokenPipe>() => return signals::die_of_pipe(),
            Err(error) => {
                let name = shown(path).to_string();
                let mut text = error::line(&error);
                if jobs.len() > 1 && !text.contains(&name) {
                    text = format!("{name}: {text}");
                }
                code = failed(&text, Some(path), common, stream_of(goal));
            }
        }
        if number + 1 < jobs.len() {
            file::proceed();
        }
    }
    code
}

/// Where reports of the work are printed: not among the data.
fn stream_of(goal: &Goal) -> OutputStream {
    if *goal == Goal::Stdout { OutputStream::Error } else { OutputStream::Output }
}

/// Refuses names of the same file: it would be changed twice, and perhaps be as it was.
fn no_twins(jobs: &[(&Path, Goal)]) -> Result<()> {
    // What cannot be followed is reported when it is opened.
    let mut found: Vec<(PathBuf, &Path)> =
        jobs.iter().filter_map(|(path, _)| Some((fs::canonicalize(path).ok()?, *path))).collect();
    // Those of one file in the order in which they were named.
    found.sort_by(|one, other| one.0.cmp(&other.0));
    match found.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => {
            let [one, other] = [0, 1].map(|k| shown(pair[k].1));
            bail!("{one} and {other} are one file, named twice: it would be changed twice")
        }
        None => Ok(()),
    }
}

fn print(report: &Report, common: &Common, stream: OutputStream) {
    report.print_notes(common.quiet);
    let text = match (common.quiet, common.json) {
        (true, _) => return,
        (false, true) => report.json(),
        (false, false) => report.text(),
    };
    say::print(&text, stream, false);
}

fn failed(what: &str, file: Option<&Path>, common: &Common, stream: OutputStream) -> ExitCode {
    if common.json {
        let mut report = serde_json::json!({ "error": what });
        if let Some(file) = file {
            report["file"] = file.to_string_lossy().into();
        }
        say::print_error(&report, stream);
    }
    notify(&what);
    ExitCode::FAILURE
}
