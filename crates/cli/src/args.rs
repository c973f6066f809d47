//! Options: those of any transposition, and those of the commands on files, with what goes where.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, ValueHint};
use turntile::Transpose;
use turntile::layout::Rearrangement;
use turntile::mode::Mode;
use turntile::plan::{Route, TileRule, Wisdom};
use turntile_plan::ROUTES;

use crate::error;
use crate::file::{self, Locking};
use crate::npy::AxisOrder;
use crate::say::{escaped, notify, shown};
use crate::values::{
    Amount, Axes, Extents, PatternArg, amount, axes, count, extents, joined, order_of, positive,
    share, size, threads,
};

/// How the work is done; what is not set is the library's choice.
#[derive(Debug, Args)]
pub struct Settings {
    /// Threads to use [default: all]
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<NonZeroUsize>,
    /// Take this route instead of the planner's choice (`turntile plan --all` names them)
    #[arg(long, value_name = "NAME", value_parser = route(), hide_possible_values = true)]
    pub route: Option<Route>,
    /// Most memory beside the data, e.g. 64M or 10% of the data [default: 2% of the data, plus 1MiB a thread up to
    /// 32MiB]
    #[arg(long, value_name = "BYTES", value_parser = amount, allow_hyphen_values = true)]
    workspace: Option<Amount>,
    /// A file of measured winners, as `turntile tune` writes it; an empty name is none [default: the one that
    /// TURNTILE_WISDOM names]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = OsStringValueParser::new())]
    wisdom: Option<OsString>,
    /// Why the wisdom file that the environment names is ignored.
    #[arg(skip)]
    pub ignored: Option<String>,
}

/// Names a wisdom file where no option does.
const WISDOM: &str = "TURNTILE_WISDOM";

/// Reads a route's name.
fn route() -> impl TypedValueParser<Value = Route> {
    PossibleValuesParser::new(ROUTES.iter().map(|row| row.route.name()))
        .try_map(|name| name.parse::<Route>())
}

/// Reads a rule for tiles.
pub fn tiles() -> impl TypedValueParser<Value = TileRule> {
    let model = PossibleValue::new("model").help("The best of each route by the cost model");
    let all = PossibleValue::new("all").help("Every feasible one");
    PossibleValuesParser::new([model, all]).map(|name| match &*name {
        "all" => TileRule::Exhaustive,
        _ => TileRule::CostModel,
    })
}

impl Settings {
    /// The same transposition with these settings.
    pub fn apply<M: Mode>(&self, transpose: Transpose<M>) -> Result<Transpose<M>, turntile::Error> {
        let mut transpose = self.on_threads(transpose);
        if let Some(route) = self.route {
            transpose = transpose.route(route);
        }
        if let Some(amount) = self.workspace {
            let bytes = transpose.problem()?.bytes();
            transpose = transpose.workspace_limit(amount.of(bytes));
        }
        if let Some(file) = self.wisdom() {
            transpose = transpose.wisdom(file);
        }
        Ok(transpose)
    }

    /// On the threads that were asked for.
    pub fn on_threads<M: Mode>(&self, transpose: Transpose<M>) -> Transpose<M> {
        match self.threads {
            Some(threads) => transpose.threads(threads.get()),
            None => transpose,
        }
    }

    /// The wisdom file, if there is one.
    pub fn wisdom(&self) -> Option<&Path> {
        self.wisdom.as_deref().map(Path::new)
    }

    /// Finds the wisdom file and reads it, before any work. A named one that is of no use is an error; one that the
    /// environment alone names is ignored, with a note unless `quiet`. It may be missing if it is `written`.
    pub fn find_wisdom(&mut self, written: bool, quiet: bool) -> anyhow::Result<()> {
        let is_named = self.wisdom.is_some();
        let name = self.wisdom.take().or_else(|| std::env::var_os(WISDOM));
        let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(()) };
        match is_of_use(Path::new(&name), written) {
            Ok(()) => self.wisdom = Some(name),
            Err(error) if is_named => return Err(error),
            Err(error) => {
                let error = error::line(&error);
                if !quiet {
                    notify(&format_args!("note: the file that {WISDOM} names is ignored: {error}"));
                }
                self.ignored = Some(error);
            }
        }
        Ok(())
    }
}

fn is_of_use(wisdom: &Path, written: bool) -> anyhow::Result<()> {
    // The library takes a missing one for an empty one, but here it is more likely a mistake.
    if written {
        file::refuse_unwritable(wisdom)?;
    } else if std::fs::metadata(wisdom).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    {
        bail!("there is no wisdom file {}; `turntile tune` makes one", shown(wisdom));
    }
    Ok(Wisdom::load(wisdom).map(drop)?)
}

/// Printed below the help of each command on files.
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
    let mut lines = lines.map(line).to_vec();
    if command.starts_with("layout") {
        lines.push("turntile layout [OPTIONS] FILE --split DIR".to_string());
    }
    lines.join("\n       ")
}

#[derive(Debug, Args)]
pub struct TransposeArgs {
    #[command(flatten)]
    pub common: Common,
    /// The file has no header: K row-major MxN matrices of B-byte elements and nothing else
    #[arg(
        long,
        requires_all = ["rows", "cols", "elem_bytes"],
        conflicts_with = "member",
        help_heading = "Headerless files"
    )]
    raw: bool,
    /// Rows of the matrix
    #[arg(long, value_name = "M", value_parser = count, allow_negative_numbers = true, requires = "raw", help_heading = "Headerless files")]
    rows: Option<usize>,
    /// Columns of the matrix
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true, requires = "raw", help_heading = "Headerless files")]
    cols: Option<usize>,
    /// Bytes of an element
    #[arg(long, value_name = "B", value_parser = positive, allow_negative_numbers = true, requires = "raw", help_heading = "Headerless files")]
    elem_bytes: Option<NonZeroUsize>,
    /// Matrices, one after the other [default: 1]
    #[arg(long, value_name = "K", value_parser = count, allow_negative_numbers = true, requires = "raw", help_heading = "Headerless files")]
    batch: Option<usize>,
}

impl TransposeArgs {
    /// What was given with `--raw`, `None` for a .npy file: the parser requires all three with it, and only with it.
    pub fn raw(&self) -> Option<Raw> {
        let (rows, cols, batch) = (self.rows?, self.cols?, self.batch.unwrap_or(1));
        let transpose =
            Transpose::new::<u8>(rows, cols).itemsize(self.elem_bytes?.get()).batch(batch);
        let shapes = [[batch, rows, cols], [batch, cols, rows]];
        let shapes = shapes.map(|shape| shape[usize::from(batch == 1)..].to_vec());
        Some(Raw { transpose, shapes })
    }
}

/// What is done to the array of a headerless file.
#[derive(Debug)]
pub struct Raw {
    /// How it is permuted.
    pub transpose: Transpose,
    /// Its shape, before and after.
    pub shapes: [Vec<usize>; 2],
}

#[derive(Debug, Args)]
pub struct PermuteArgs {
    /// The order of the axes in the result, e.g. 2,0,1; as in NumPy -1 is the last
    #[arg(long, value_name = "I,J,...", value_parser = axes, allow_hyphen_values = true)]
    pub axes: Axes,
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    headerless: Headerless,
}

impl PermuteArgs {
    /// What is wrong if axes were given as words of their own, which are files then.
    pub fn check(&self) -> Result<(), clap::Error> {
        let others = self.common.no_files(|word| word.parse::<isize>().is_ok());
        if self.axes.len() > 1 || others.is_empty() {
            return self.common.jobs().map(drop);
        }
        let all = format!("{},{}", joined(&self.axes, ","), others.join(","));
        let what = format!("axes are joined by commas, as in --axes {all}");
        Err(clap::Error::raw(ErrorKind::ValueValidation, what))
    }

    /// What was given with `--raw`, `None` for a .npy file; or what is wrong with the axes.
    pub fn raw(&self) -> Result<Option<Raw>, String> {
        self.headerless.raw(|shape| {
            let order =
                order_of(&self.axes, shape.len()).map_err(|what| format!("--axes {what}"))?;
            Ok(Rearrangement::of_axes(shape, &order))
        })
    }
}

#[derive(Debug, Args)]
pub struct RearrangeArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub sizes: Sizes,
    #[command(flatten)]
    headerless: Headerless,
    /// Among the files until it is taken out.
    #[arg(skip)]
    pub pattern: String,
}

impl RearrangeArgs {
    /// Finds the pattern: the word with an arrow.
    pub fn find_pattern(&mut self) -> Result<(), clap::Error> {
        let is_pattern = |word: &Path| {
            word.to_str().is_some_and(|word| word.contains("->") && !word.contains('/'))
        };
        if let [word, ..] = self.common.no_files(|word| size(word).is_ok())[..] {
            let word = escaped(word);
            let what = format!("{word} is no file; the size of an axis is --size {word}");
            return Err(clap::Error::raw(ErrorKind::ValueValidation, what));
        }
        let (found, files) = self.common.files.drain(..).partition(|word| is_pattern(word));
        self.common.files = files;
        let found: Vec<PathBuf> = found;
        let what = match (&found[..], &self.common.files[..]) {
            ([], _) => "a pattern is needed, as in 'b c h w -> b h w c'".to_string(),
            ([_], []) => "a file is needed beside the pattern".to_string(),
            ([pattern], _) => {
                self.pattern = pattern.to_string_lossy().into_owned();
                return Ok(());
            }
            ([one, other, ..], _) => {
                let [one, other] = [one, other].map(|word| shown(word));
                format!(
                    "one pattern is needed, {one} and {other} are two; a file of that name is ./{other}"
                )
            }
        };
        Err(clap::Error::raw(ErrorKind::ValueValidation, what))
    }

    /// What was given with `--raw`, `None` for a .npy file; or what is wrong with the pattern.
    pub fn raw(&self) -> Result<Option<Raw>, String> {
        let pattern = self.sizes.of(&self.pattern);
        self.headerless.raw(|shape| pattern.of(shape).map_err(|error| error.to_string()))
    }
}

#[derive(Debug, Args)]
pub struct Sizes {
    /// The size of an axis of the pattern, e.g. --size p=16 --size q=16, or p=16,q=16. Of the parts of an axis that is split, all
    /// but one are needed
    #[arg(long = "size", value_name = "AXIS=N", value_parser = size, value_delimiter = ',')]
    pub sizes: Vec<(String, usize)>,
}

impl Sizes {
    /// With this pattern.
    pub fn of<'a>(&'a self, text: &'a str) -> PatternArg<'a> {
        PatternArg { text, sizes: &self.sizes }
    }
}

/// A headerless array of any number of axes.
#[derive(Debug, Args)]
struct Headerless {
    /// The file has no header: a row-major array of B-byte elements and nothing else
    #[arg(
        long,
        requires_all = ["shape", "elem_bytes"],
        conflicts_with = "member",
        help_heading = "Headerless files"
    )]
    raw: bool,
    /// Extents of the array, e.g. 64x256x112
    #[arg(long, value_name = "AxBx...", value_parser = extents, allow_hyphen_values = true, requires = "raw", help_heading = "Headerless files")]
    shape: Option<Extents>,
    /// Bytes of an element
    #[arg(long, value_name = "B", value_parser = positive, allow_negative_numbers = true, requires = "raw", help_heading = "Headerless files")]
    elem_bytes: Option<NonZeroUsize>,
}

impl Headerless {
    fn raw(
        &self,
        axes: impl FnOnce(&[usize]) -> Result<Rearrangement, String>,
    ) -> Result<Option<Raw>, String> {
        let (Some(shape), Some(elem_bytes)) = (&self.shape, self.elem_bytes) else {
            return Ok(None);
        };
        let all = axes(shape)?;
        let transpose =
            Transpose::permute::<u8>(all.extents(), all.order()).itemsize(elem_bytes.get());
        Ok(Some(Raw { transpose, shapes: [shape.clone(), all.shape()] }))
    }
}

#[derive(Debug, Args)]
pub struct ReorderArgs {
    /// The order to store the array in
    #[arg(long, value_name = "ORDER")]
    pub to: AxisOrder,
    #[command(flatten)]
    pub common: Common,
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
    #[arg(long, value_name = "BYTES", value_parser = share, allow_hyphen_values = true)]
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
    /// Words among the files that something else is meant by, and that are no files.
    fn no_files(&self, is_other: impl Fn(&str) -> bool) -> Vec<&str> {
        let words = self.files.iter().filter(|word| !word.exists());
        words.filter_map(|word| word.to_str()).filter(|word| is_other(word)).collect()
    }

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
