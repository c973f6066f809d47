//! One array after another, each with its result or an error.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail, ensure};
use turntile::Transpose;

use crate::args::{Common, Files, Place};
use crate::change::Change;
use crate::error::{self, FAILED, On, PIPE};
use crate::file::{self, LockRequest};
use crate::operation::Operation;
use crate::progress::Progress;
use crate::report::Report;
use crate::say::{self, BrokenPipe, shown};
use crate::source::{Source, is_dash};
use crate::stored::StoredArray;
use crate::work::{self, Done};

/// One array to change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Job {
    input: PathBuf,
    /// Array of an archive.
    member: Option<String>,
    /// Destination of the result: the input itself, another file, or `-`.
    output: PathBuf,
}

impl Job {
    /// Returns the names of the input and of its member, for errors.
    fn source(&self) -> String {
        let member = self.member.iter().map(|name| format!("[{}]", say::escaped(name)));
        std::iter::once(shown(&self.input).to_string()).chain(member).collect()
    }
}

/// Pairs inputs, or members of one input, with outputs. With several, OUT is a directory, which is created.
fn jobs(files: &Files) -> Result<Vec<Job>> {
    let members = &files.common.member;
    let job = |input: &PathBuf, member: Option<&String>, output: PathBuf| Job {
        input: input.clone(),
        member: member.cloned(),
        output,
    };
    if files.in_place {
        ensure!(
            members.is_empty(),
            "archives are read only: write the array to a file with -o OUT.npy"
        );
        return Ok(files.inputs.iter().map(|input| job(input, None, input.clone())).collect());
    }
    let several = files.inputs.len().max(members.len()) > 1;
    // Checked with the command line: without an output the input is standard input.
    let Some(output) = &files.output else {
        let stream = |input: &PathBuf| job(input, members.first(), input.clone());
        return Ok(files.inputs.iter().map(stream).collect());
    };
    if !several && !output.is_dir() {
        let input = &files.inputs[0];
        return Ok(vec![job(input, members.first(), output.clone())]);
    }
    ensure!(
        !is_dash(output),
        "several results do not go to standard output: name a directory with -o DIR"
    );
    ensure!(
        members.is_empty() || files.inputs.len() == 1,
        "--member needs one archive, got {} inputs",
        files.inputs.len()
    );
    let is_new = !output.exists();
    ensure!(
        is_new || output.is_dir(),
        "{} is not a directory, which several results need",
        shown(output)
    );
    let of_member = |member: &String| {
        let name = member.strip_suffix(".npy").unwrap_or(member);
        let is_name = !name.is_empty() && !name.contains(['/', '\\']) && name != "..";
        ensure!(
            is_name,
            "member '{}' is not a file name: write it with -o FILE",
            say::escaped(member)
        );
        Ok(job(&files.inputs[0], Some(member), output.join(format!("{name}.npy"))))
    };
    let of_input = |input: &PathBuf| {
        let name = input.file_name().filter(|_| !is_dash(input));
        let name = name.ok_or_else(|| {
            anyhow!("{} has no name for a file in {}", shown(input), shown(output))
        })?;
        let name = Path::new(name);
        let name = if name.extension().is_some_and(|kind| kind == "npz") {
            name.with_extension("npy")
        } else {
            name.into()
        };
        Ok(job(input, members.first(), output.join(name)))
    };
    let jobs: Result<Vec<Job>> = if members.len() > 1 {
        members.iter().map(of_member).collect()
    } else {
        files.inputs.iter().map(of_input).collect()
    };
    let jobs = jobs?;
    ensure_separate(&jobs)?;
    if is_new && !files.common.dry_run {
        fs::create_dir(output).on("create", output)?;
    }
    Ok(jobs)
}

/// Checks that no result replaces another result, or the input of another job.
fn ensure_separate(jobs: &[Job]) -> Result<()> {
    let existing = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let inputs: Vec<PathBuf> = jobs.iter().map(|job| existing(&job.input)).collect();
    let readers: HashMap<&Path, usize> = inputs.iter().map(PathBuf::as_path).zip(0..).collect();
    let mut outputs = HashMap::new();
    for (number, job) in jobs.iter().enumerate() {
        let output = existing(&job.output);
        if let Some(&reader) = readers.get(output.as_path())
            && inputs[reader] != inputs[number]
        {
            bail!(
                "the result of {} would replace the input {}: name another directory with -o DIR",
                shown(&job.input),
                shown(&jobs[reader].input)
            );
        }
        if let Some(other) = outputs.insert(output, job) {
            bail!(
                "the results of {} and {} are both named {}: use one command for each",
                other.source(),
                job.source(),
                shown(&job.output)
            );
        }
    }
    Ok(())
}

/// Changes all inputs, prints what was done to each and all errors, and returns the exit code. After an error the next input
/// follows.
pub fn run(files: &mut Files, operation: Operation<'_>) -> u8 {
    let ready = files.common.settings.find_wisdom(false, files.common.quiet);
    let files = &*files;
    let common = &files.common;
    let jobs = match ready.and_then(|()| jobs(files)) {
        Ok(jobs) => jobs,
        Err(error) => return failed(&error::line(&error), None, common, false),
    };
    let mut code = 0;
    for (number, job) in jobs.iter().enumerate() {
        let label = match jobs.len() {
            1 => String::new(),
            all => format!("{}/{all} {}: ", number + 1, shown(&job.input)),
        };
        let done = change(job, operation, &files.place, common, &label);
        if number == 0 && !common.quiet {
            say::note_threads();
        }
        // Reports do not go between the data.
        let to_stderr = is_dash(&job.output);
        match done.and_then(|report| print(&report, common, to_stderr)) {
            Ok(()) => {}
            Err(error) if error.is::<BrokenPipe>() => return PIPE,
            Err(error) => {
                let name =
                    if is_dash(&job.input) { "standard input".into() } else { shown(&job.input) };
                let text = error::line(&error);
                let text = if text.contains(&name) { text } else { format!("{name}: {text}") };
                code = failed(&text, Some(&job.input), common, to_stderr);
            }
        }
    }
    code
}

/// Changes one array.
fn change(
    job: &Job,
    operation: Operation<'_>,
    place: &Place,
    common: &Common,
    label: &str,
) -> Result<Report> {
    let request = LockRequest::new(common.lock, common.quiet);
    let named = |path: &'_ Path| (!is_dash(path)).then(|| path.to_path_buf());
    let (input, output) = (named(&job.input), named(&job.output));
    let (opened, target) = file::open(input.as_deref(), output.as_deref(), &request)?;
    let mut source = Source::new(
        &job.input,
        opened,
        job.member.as_deref(),
        place.raw || place.tensor.is_some(),
    )?;
    let member = source.member().map(String::from);
    let is_archive = job.output.extension().is_some_and(|kind| kind == "npz");
    ensure!(
        member.is_none() || job.output != job.input,
        "archives are read only: write the array to a file with -o OUT.npy"
    );
    ensure!(
        !is_archive || place.raw,
        "{} would hold a single array: name it .npy",
        shown(&job.output)
    );
    let found = StoredArray::find(&mut source, place, operation.raw_order())?;
    let (after, step, packed) = match operation.packed(&found.array)? {
        Some((after, matrix)) => (after, matrix.byte_permutation().ok(), Some(matrix)),
        None => {
            let (after, step) = operation.of(&found.array)?;
            (after, moves(&step)?.then_some(step), None)
        }
    };
    let (header, replaced) = found.rewritten(&after)?;
    let moves = found.bytes > 0 && (step.is_some() || packed.is_some());
    let change = Change {
        header,
        replaced,
        start: found.start,
        bytes: found.bytes,
        tail: found.tail,
        step: step.filter(|_| moves),
        packed: packed.filter(|_| moves),
        new_bytes: after.bytes()?,
    };
    let before = found.array;
    let unchanged = before == after && !moves && job.input == job.output && !is_dash(&job.input);
    let done = if unchanged {
        Done { dry: common.dry_run, ..Done::default() }
    } else {
        let progress = Progress::new(!common.quiet, label);
        work::apply((source, target), &change, common, &progress)?
    };
    Ok(Report {
        operation: operation.name,
        file: job.input.clone(),
        member,
        output: job.output.clone(),
        unchanged,
        before,
        after,
        bytes: change.bytes,
        done,
    })
}

/// Returns whether the permutation moves an element.
fn moves(step: &Transpose) -> Result<bool> {
    let problem = step.problem()?;
    Ok(problem.is_flipped() || !problem.order().enumerate().all(|(to, from)| to == from))
}

/// Prints a report.
pub fn print(report: &Report, common: &Common, to_stderr: bool) -> Result<()> {
    report.print_notes(common.quiet);
    match (common.quiet, common.json) {
        (true, _) => Ok(()),
        (false, true) => say::print(&report.json(), to_stderr),
        (false, false) => say::print(&report.text(common.verbose), to_stderr),
    }
}

/// Prints an error and returns the exit code.
pub fn failed(what: &str, file: Option<&Path>, common: &Common, to_stderr: bool) -> u8 {
    if common.json {
        let mut report = serde_json::json!({ "error": what });
        if let Some(file) = file {
            report["file"] = file.to_string_lossy().into();
        }
        // The error follows on standard error in any case.
        let _ = say::print(&report.to_string(), to_stderr);
    }
    say::error(&what);
    FAILED
}

/// Changes one .npy file without a word, as a library call.
pub fn transpose_file(path: &Path, operation: Operation<'_>, out: Option<&Path>) -> Result<()> {
    #[derive(clap::Parser)]
    struct Defaults {
        #[command(flatten)]
        common: Common,
    }
    let Defaults { common } = clap::Parser::try_parse_from(["turntile", "--quiet"])?;
    let job = Job { input: path.into(), member: None, output: out.unwrap_or(path).into() };
    change(&job, operation, &Place::npy(), &common, "").map(drop)
}
