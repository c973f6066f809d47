//! Options that several subcommands share: how the work is done, which files, and what a headerless file holds.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use turntile::Transpose;
use turntile::bits::{BitOrder, Bits};
use turntile::mode::Mode;
use turntile::plan::{Route, TileRule, Wisdom};
use turntile_plan::ROUTES;

use crate::array::AxisOrder;
use crate::error;
use crate::file::{self, Locking};
use crate::say::{note, shown};
use crate::values::{Dtype, PatternArg, RawShape, byte_count, dtype, raw_shape, size, threads};

/// Options of plan and execution. The library chooses a value for each option that is not set.
#[derive(Debug, Args)]
#[command(next_help_heading = "Advanced options")]
pub struct Settings {
    /// Threads to use [default: all]
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<NonZeroUsize>,
    /// Workspace limit, for example 64M [default: 2% of the data plus 1M per thread]
    #[arg(long, value_name = "BYTES", value_parser = byte_count, allow_hyphen_values = true)]
    workspace_limit: Option<usize>,
    /// Use this route instead of the planner's choice (see `turntile plan --all`)
    #[arg(long, value_name = "NAME", value_parser = route(), hide_possible_values = true)]
    pub route: Option<Route>,
    /// File of measured plans, written by `turntile tune`; '' for none [default: $TURNTILE_WISDOM]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = OsStringValueParser::new())]
    wisdom: Option<OsString>,
    /// Why the wisdom file that the environment names is ignored.
    #[arg(skip)]
    pub ignored: Option<String>,
    /// Whether `--wisdom` names the file, not the environment.
    #[arg(skip)]
    names_wisdom: bool,
}

/// Environment variable that names a wisdom file.
const WISDOM: &str = "TURNTILE_WISDOM";

/// Parses a route's name.
fn route() -> impl TypedValueParser<Value = Route> {
    PossibleValuesParser::new(ROUTES.iter().map(|row| row.route.name()))
        .try_map(|name| name.parse::<Route>())
}

/// Parses a tile rule.
pub fn tiles() -> impl TypedValueParser<Value = TileRule> {
    let model = PossibleValue::new("model").help("The best of each route by the cost model");
    let all = PossibleValue::new("all").help("Every feasible one");
    PossibleValuesParser::new([model, all]).map(|name| match &*name {
        "all" => TileRule::Exhaustive,
        _ => TileRule::CostModel,
    })
}

impl Settings {
    /// Applies the settings to a transposition.
    pub fn apply<M: Mode>(&self, transpose: Transpose<M>) -> Transpose<M> {
        let mut transpose = self.on_threads(transpose);
        if let Some(route) = self.route {
            transpose = transpose.route(route);
        }
        if let Some(bytes) = self.workspace_limit {
            transpose = transpose.workspace_limit(bytes);
        }
        if let Some(file) = self.wisdom() {
            transpose = transpose.wisdom(file);
        }
        transpose
    }

    /// Applies the number of threads only.
    pub fn on_threads<M: Mode>(&self, transpose: Transpose<M>) -> Transpose<M> {
        match self.threads {
            Some(threads) => transpose.threads(threads.get()),
            None => transpose,
        }
    }

    /// Returns whether an option is set that only applies if all data are in memory. A wisdom file
    /// that only the environment names does not count: it applies to every call.
    pub fn need_memory(&self) -> bool {
        self.route.is_some() || self.workspace_limit.is_some() || self.names_wisdom
    }

    /// Returns the wisdom file, if there is one.
    pub fn wisdom(&self) -> Option<&Path> {
        self.wisdom.as_deref().map(Path::new)
    }

    /// Finds the wisdom file and reads it, before any work. An unusable file is an error if `--wisdom` names it, and is
    /// ignored with a note if only the environment does. It may be missing if it will be `written`.
    pub fn find_wisdom(&mut self, written: bool, quiet: bool) -> anyhow::Result<()> {
        let is_named = self.wisdom.is_some();
        let name = self.wisdom.take().or_else(|| std::env::var_os(WISDOM));
        let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(()) };
        match is_usable(Path::new(&name), written) {
            Ok(()) => {
                self.wisdom = Some(name);
                self.names_wisdom = is_named;
            }
            Err(error) if is_named => return Err(error),
            Err(error) => {
                let error = error::line(&error);
                if !quiet {
                    note(&format_args!("{WISDOM} is ignored: {error}"));
                }
                self.ignored = Some(error);
            }
        }
        Ok(())
    }
}

fn is_usable(wisdom: &Path, written: bool) -> anyhow::Result<()> {
    // The library takes a missing file for an empty one; a missing file that is named is more likely a mistake.
    if written {
        file::refuse_unwritable(wisdom)?;
    } else if std::fs::metadata(wisdom).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    {
        bail!("there is no wisdom file {}; `turntile tune` writes one", shown(wisdom));
    }
    Ok(Wisdom::load(wisdom).map(drop)?)
}

/// Extents of named axes of a pattern.
#[derive(Debug, Args)]
pub struct Sizes {
    /// Extent of an axis of the pattern, for example --size p=16,q=16; of an axis that is split, all parts but one are needed
    #[arg(long = "size", value_name = "AXIS=N", value_parser = size, value_delimiter = ',')]
    pub sizes: Vec<(String, usize)>,
}

impl Sizes {
    /// Adds the extents to a pattern.
    pub fn of<'a>(&'a self, text: &'a str) -> PatternArg<'a> {
        PatternArg { text, sizes: &self.sizes }
    }
}

/// Location of the array in a file that does not have a .npy header.
#[derive(Debug, Args)]
pub struct Place {
    /// The input has no .npy header: --dtype and --shape describe the array
    #[arg(long, conflicts_with = "tensor", help_heading = "Data without a .npy header")]
    pub raw: bool,
    /// Element type, for example f4, >i2, bfloat16, or V12 for elements of 12 bytes
    #[arg(long, value_name = "TYPE", value_parser = dtype, requires = "raw", help_heading = "Data without a .npy header")]
    pub dtype: Option<Dtype>,
    /// Shape of the array, for example 64x256x112; one extent may be -1: it follows from the file size
    #[arg(long, value_name = "AxBx...", value_parser = raw_shape, allow_hyphen_values = true, requires = "raw", help_heading = "Data without a .npy header")]
    pub shape: Option<RawShape>,
    /// Bytes before the array [default: 0]; they stay unchanged, as do the bytes after the array
    #[arg(long, value_name = "BYTES", value_parser = byte_count, requires = "raw", help_heading = "Data without a .npy header")]
    pub offset: Option<usize>,
    /// Bytes after the array [default: 0, or any number with --offset and a full shape]
    #[arg(long, value_name = "BYTES", value_parser = byte_count, requires = "raw", help_heading = "Data without a .npy header")]
    pub tail: Option<usize>,
    /// The input is a .safetensors file: change this tensor and its entry in the header
    #[arg(long, value_name = "NAME", conflicts_with = "member")]
    pub tensor: Option<String>,
}

impl Place {
    /// The array of a .npy file.
    pub fn npy() -> Self {
        Place { raw: false, dtype: None, shape: None, offset: None, tail: None, tensor: None }
    }
}

/// Input and output files, and how they are handled.
#[derive(Debug, Args)]
pub struct Files {
    /// .npy, .npz or .safetensors file, or - for standard input
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Write the result to OUT, or into the directory OUT; - is standard output
    #[arg(short, long, value_name = "OUT", conflicts_with = "in_place")]
    pub output: Option<PathBuf>,
    /// Replace each INPUT by its result
    #[arg(short, long)]
    pub in_place: bool,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub common: Common,
}

impl Files {
    /// Checks that an output is given, and that options fit each other.
    pub fn check(&self) -> Result<(), clap::Error> {
        let place = &self.place;
        let input = self.inputs.first().map(|path| shown(path)).unwrap_or_default();
        let has_goal = self.in_place || self.output.is_some();
        let what = match &self.inputs[..] {
            all if self.in_place && all.iter().any(|path| path.as_os_str() == DASH) => {
                "--in-place needs files, not standard input".to_string()
            }
            _ if place.raw && (place.dtype.is_none() || place.shape.is_none()) => {
                "--raw needs --dtype and --shape".to_string()
            }
            _ if place.raw && !self.common.member.is_empty() => {
                "--raw and --member exclude each other".to_string()
            }
            [one] if has_goal || one.as_os_str() == DASH => return Ok(()),
            _ if has_goal => return Ok(()),
            [_, other] => {
                let other = shown(other);
                format!("no output: add -i to replace both files, or write `{input} -o {other}`")
            }
            _ => format!(
                "no output: add -o OUT to write the result to OUT, or -i to replace {input}"
            ),
        };
        Err(clap::Error::raw(clap::error::ErrorKind::MissingRequiredArgument, what))
    }
}

/// Options of all subcommands on files.
#[derive(Debug, Args)]
pub struct Common {
    /// Array of a .npz archive; repeat it for several, with -o DIR
    #[arg(long, value_name = "NAME")]
    pub member: Vec<String>,
    /// Validate the input and print the plan, write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Memory limit, for example 2G; larger data is moved in blocks [default: 7/8 of the free memory]
    #[arg(long, value_name = "BYTES", value_parser = byte_count, allow_hyphen_values = true)]
    pub memory: Option<usize>,
    /// Action if another program has locked a file (flock)
    #[arg(long, value_name = "WHAT", default_value = "wait", hide_default_value = true)]
    pub lock: Locking,
    /// Print only errors
    #[arg(short, long, conflicts_with_all = ["json", "verbose"])]
    pub quiet: bool,
    /// Print the route, the stages and where the time went
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,
    /// Print one line of JSON per file
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
pub struct TransposeArgs {
    /// Permutation of the axes, for example 2,0,1; as in NumPy, -1 is the last axis [default for two axes: 1,0]
    #[arg(long, value_name = "I,J,...", value_parser = crate::values::axes, allow_hyphen_values = true)]
    pub axes: Option<crate::values::Axes>,
    /// Transpose each matrix: swap the last two axes
    #[arg(long, conflicts_with = "axes")]
    pub matrices: bool,
    /// Axes of the result to reverse, for example 0,-1, as numpy.flip
    #[arg(long, value_name = "I,J,...", value_parser = crate::values::axes, allow_hyphen_values = true)]
    pub flip: Option<crate::values::Axes>,
    /// Memory order of the result: C (row-major) or F (column-major) [default: that of the input]; with --raw also the order of the input
    #[arg(long, value_name = "ORDER", ignore_case = true)]
    pub order: Option<AxisOrder>,
    #[command(flatten)]
    pub packed: PackedArgs,
    #[command(flatten)]
    pub files: Files,
}

/// Elements of less than a byte.
#[derive(Debug, Args)]
pub struct PackedArgs {
    /// Bits per element, 1, 2 or 4: each byte of the array holds several, and the last two axes are swapped
    #[arg(long, value_name = "N", value_parser = crate::values::bits, conflicts_with_all = ["axes", "matrices", "flip", "order"])]
    pub bits: Option<Bits>,
    /// Order of the elements in a byte, as numpy.packbits: the first is in the high (big) or low (little) bits [default: big]
    #[arg(long, value_name = "ORDER", value_parser = crate::values::bit_order(), requires = "bits")]
    pub bitorder: Option<BitOrder>,
    /// Elements per row, if the last byte of a row is not full
    #[arg(long, value_name = "N", requires = "bits")]
    pub cols: Option<usize>,
}

#[derive(Debug, Args)]
pub struct RotateArgs {
    /// Number of quarter turns, from the first axis towards the second; negative ones go back
    #[arg(short, long, value_name = "N", default_value_t = 1, allow_hyphen_values = true)]
    pub k: i64,
    /// Axes of the plane that is rotated
    #[arg(long, value_name = "I,J", value_parser = crate::values::axes, default_value = "0,1", allow_hyphen_values = true)]
    pub axes: crate::values::Axes,
    /// Memory order of the result: C (row-major) or F (column-major) [default: that of the input]; with --raw also the order of the input
    #[arg(long, value_name = "ORDER", ignore_case = true)]
    pub order: Option<AxisOrder>,
    #[command(flatten)]
    pub files: Files,
}

#[derive(Debug, Args)]
pub struct RearrangeArgs {
    /// Pattern as of einops' rearrange, for example 'b c (h p) w -> b (h w) (p c)'
    #[arg(value_name = "PATTERN", allow_hyphen_values = true)]
    pub pattern: String,
    #[command(flatten)]
    pub sizes: Sizes,
    /// Memory order of the result: C (row-major) or F (column-major) [default: that of the input]; with --raw also the order of the input
    #[arg(long, value_name = "ORDER", ignore_case = true)]
    pub order: Option<AxisOrder>,
    #[command(flatten)]
    pub files: Files,
}

#[derive(Debug, Args)]
pub struct ReorderArgs {
    /// Memory order of the result: C (row-major) or F (column-major); a --raw input has the other one
    #[arg(long, value_name = "ORDER", ignore_case = true)]
    pub order: AxisOrder,
    #[command(flatten)]
    pub files: Files,
}

/// Standard input or output.
pub const DASH: &str = "-";
