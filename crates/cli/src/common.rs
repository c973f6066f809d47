//! What the commands on files have in common on the command line, and what goes where.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::error::ErrorKind;

use crate::file::Locking;
use crate::settings::Settings;
use crate::values::{Amount, amount};

/// Said below the help of each command on files.
pub const TEMPORARY: &str = "\
Each file is replaced at once, and only when all of the new one is written: it is the old one or the new one, whole. Until then the \
new one is a temporary file in the same directory, without a name where the system has such files. Else, and for an instant before it \
takes the file's place, it is named .turntile-NAME-(16 digits).tmp; one that a killed run left is removed by the next run on that \
file. What comes from standard input, or goes to standard output, and is larger than memory lies in such files in TMPDIR meanwhile.";

/// How a command on files is used.
pub fn usage(command: &str) -> String {
    let line = |files: &str| format!("turntile {command} [OPTIONS] {files}");
    let lines = [
        "FILE             in place",
        "FILE OUT         into a new file",
        "FILE -o OUT      into a file, new or not",
        "-i FILE...       each in place",
        "- [OUT]          from standard input, to standard output or into a new file",
    ];
    lines.map(line).join("\n       ")
}

/// Which files, where results go and how the work is done.
#[derive(Debug, Args)]
pub struct Common {
    /// A .npy file, or a .npz archive (see --member); - is standard input. A second one is where the result goes, which must not
    /// be there yet; - is standard output
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Write here instead of replacing FILE, in place of what is there; - is standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Change each FILE where it is, however many. One that cannot be changed is reported and left as it is; the others are changed
    /// all the same, and the exit status is 1
    #[arg(short, long, conflicts_with = "output")]
    in_place: bool,
    /// The array to change in a .npz archive, of which all other members stay; needed if there are several
    #[arg(long, value_name = "NAME")]
    pub member: Option<String>,
    /// Check all that is checked before the work, say how it would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub settings: Settings,
    /// Most memory, e.g. 2GiB or 50% of what is free: larger files are moved block by block, through temporary files if it is
    /// very little [default: what is free, less an eighth]
    #[arg(long, value_name = "BYTES", value_parser = amount, allow_hyphen_values = true)]
    pub memory: Option<Amount>,
    /// What to do about a file that another program has locked. The lock is advisory: programs that do not ask for it are
    /// noticed, but for the instant in which the new file takes the old one's name
    #[arg(long, value_name = "WHAT", default_value = "wait")]
    pub lock: Locking,
    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    /// Print the result as JSON, a line for each file; to standard error where the data go to standard output
    #[arg(long)]
    pub json: bool,
}

/// Where a file's result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// In the file's place.
    InPlace,
    /// Where nothing is yet.
    New(PathBuf),
    /// Here, whatever is there.
    Over(PathBuf),
    /// To standard output.
    Stdout,
}

impl Goal {
    /// The output's name, if it is not the file's own.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Goal::InPlace => None,
            Goal::New(path) | Goal::Over(path) => Some(path),
            Goal::Stdout => Some(Path::new(DASH)),
        }
    }
}

/// Standard input or output.
pub const DASH: &str = "-";

impl Common {
    /// What goes where, or what is wrong with that.
    pub fn jobs(&self) -> Result<Vec<(&Path, Goal)>, clap::Error> {
        let wrong = |kind, what: &str| Err(clap::Error::raw(kind, what));
        let is_dash = |path: &Path| path == Path::new(DASH);
        let goal = |path: &Path, goal: fn(PathBuf) -> Goal| {
            if is_dash(path) { Goal::Stdout } else { goal(path.to_path_buf()) }
        };
        if self.in_place {
            if self.files.iter().any(|file| is_dash(file)) {
                let what =
                    "standard input (-) cannot be changed in place; a file of that name is ./-";
                return wrong(ErrorKind::ArgumentConflict, what);
            }
            return Ok(self.files.iter().map(|file| (&**file, Goal::InPlace)).collect());
        }
        match (&self.files[..], &self.output) {
            ([file], Some(output)) => Ok(vec![(file, goal(output, Goal::Over))]),
            (_, Some(_)) => wrong(
                ErrorKind::ArgumentConflict,
                "the option '--output <OUT>' cannot be used with a second file",
            ),
            ([file], None) if is_dash(file) => Ok(vec![(file, Goal::Stdout)]),
            ([file], None) => Ok(vec![(file, Goal::InPlace)]),
            ([file, output], None) => Ok(vec![(file, goal(output, Goal::New))]),
            (_, None) => wrong(
                ErrorKind::TooManyValues,
                "several files are changed with --in-place alone: without it the second is where the first one's result goes",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        common: Common,
    }

    #[test]
    fn what_goes_where() {
        let jobs = |line: &str| {
            let words = std::iter::once("x").chain(line.split(' '));
            let common = Alone::try_parse_from(words).unwrap().common;
            let named = |(file, goal): (&Path, Goal)| (file.to_str().unwrap().to_string(), goal);
            common.jobs().map(|jobs| jobs.into_iter().map(named).collect::<Vec<_>>()).ok()
        };
        let one = |file: &str, goal| Some(vec![(file.to_string(), goal)]);
        let b = || PathBuf::from("b");
        assert_eq!(jobs("a"), one("a", Goal::InPlace));
        assert_eq!(jobs("a b"), one("a", Goal::New(b())));
        assert_eq!(jobs("a -o b"), one("a", Goal::Over(b())));
        assert_eq!(jobs("-"), one("-", Goal::Stdout));
        assert_eq!(jobs("- b"), one("-", Goal::New(b())));
        assert_eq!(jobs("- -o -"), one("-", Goal::Stdout));
        assert_eq!(jobs("a -"), one("a", Goal::Stdout));
        let each = ["a", "b", "c"].map(|name| (name.to_string(), Goal::InPlace));
        assert_eq!(jobs("-i a b c"), Some(each.to_vec()));
        for wrong in ["a b c", "a b -o c", "-i a -"] {
            assert_eq!(jobs(wrong), None, "{wrong}");
        }
    }
}
