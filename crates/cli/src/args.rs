//! The command line.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use turntile::TileRule;
use turntile::plan::{Problem, ProblemError, Route};

use crate::bench::{self, Shapes};
use crate::common::{Common, TEMPORARY, usage};
use crate::memory::Pages;
use crate::npy::Order;
use crate::rates::RatesArgs;
use crate::settings::Settings;
use crate::values::{
    Amount, Axes, Extents, Subject, amount, axes, byte_count, count, extents, positive, seconds,
    seed, subject, threads,
};

/// Transposes matrices and permutes axes of arrays in files, in place: no second copy in memory, no half-written file on disk.
#[derive(Debug, Parser)]
#[command(name = "turntile", version, about, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads a command line, the command's name first.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let cli = Cli::try_parse_from(words)?;
        let checked = match &cli.command {
            Command::Plan(args) => args.problem.check(),
            Command::Tune(args) => args.problem.check(),
            Command::Bench(_) | Command::Calibrate(_) => Ok(()),
            Command::Transpose(TransposeArgs { common, .. })
            | Command::Permute(PermuteArgs { common, .. })
            | Command::Reorder(ReorderArgs { common, .. }) => common.jobs().map(drop),
        };
        // Its own usage, and not that of all commands.
        checked.map_err(|error| error.format(&mut command_named(cli.command.name())))?;
        Ok(cli)
    }
}

/// The definition of the command of that name.
fn command_named(name: &str) -> clap::Command {
    let mut all = Cli::command();
    all.build();
    all.find_subcommand(name).cloned().unwrap_or(all)
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Swap the last two axes of an array: (..., M, N) becomes (..., N, M)
    #[command(override_usage = usage!("transpose"), after_help = TEMPORARY)]
    Transpose(TransposeArgs),
    /// Permute the axes of an array: axis i of the result is axis AXES[i], as NumPy's transpose(AXES)
    #[command(override_usage = usage!("permute --axes I,J,..."), after_help = TEMPORARY)]
    Permute(PermuteArgs),
    /// Store the same array in the other memory order
    #[command(override_usage = usage!("reorder --to ORDER"), after_help = TEMPORARY)]
    Reorder(ReorderArgs),
    /// Print how a matrix or a file's array would be transposed, or the axes of an array permuted
    Plan(PlanArgs),
    /// Measure candidate plans on this machine, and remember the fastest
    Tune(TuneArgs),
    /// Verify and time transpositions on this machine, beside a copy of the same bytes
    Bench(BenchArgs),
    /// Measure how fast this machine is at what plans are made of, for all later plans here
    Calibrate(CalibrateArgs),
}

impl Command {
    /// As the command line spells it.
    fn name(&self) -> &'static str {
        match self {
            Command::Transpose(_) => "transpose",
            Command::Permute(_) => "permute",
            Command::Reorder(_) => "reorder",
            Command::Plan(_) => "plan",
            Command::Tune(_) => "tune",
            Command::Bench(_) => "bench",
            Command::Calibrate(_) => "calibrate",
        }
    }
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
    /// What was given with `--raw`, `None` for a .npy file.
    pub fn raw_problem(&self) -> Result<Option<Problem>, ProblemError> {
        // The parser has made sure that all three come with --raw, and only with it.
        let (Some(rows), Some(cols), Some(elem_bytes)) = (self.rows, self.cols, self.elem_bytes)
        else {
            return Ok(None);
        };
        Problem::with_batch(self.batch.unwrap_or(1), rows, cols, elem_bytes.get()).map(Some)
    }
}

#[derive(Debug, Args)]
pub struct PermuteArgs {
    /// The order of the axes in the result, e.g. 2,0,1
    #[arg(long, value_name = "I,J,...", value_parser = axes, allow_hyphen_values = true)]
    pub axes: Axes,
    #[command(flatten)]
    pub common: Common,
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

impl PermuteArgs {
    /// What was given with `--raw`, `None` for a .npy file.
    pub fn raw_problem(&self) -> Result<Option<Problem>, ProblemError> {
        let (Some(Extents(shape)), Some(elem_bytes)) = (&self.shape, self.elem_bytes) else {
            return Ok(None);
        };
        Problem::permuted(shape, &self.axes.0, elem_bytes.get()).map(Some)
    }
}

#[derive(Debug, Args)]
pub struct ReorderArgs {
    /// The order to store the array in
    #[arg(long, value_name = "ORDER")]
    pub to: OrderArg,
    #[command(flatten)]
    pub common: Common,
}

/// A memory order, as the command line spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderArg {
    /// The last axis runs fastest (row-major)
    C,
    /// The first axis runs fastest (column-major)
    Fortran,
}

impl OrderArg {
    /// The order.
    pub fn order(self) -> Order {
        match self {
            OrderArg::C => Order::C,
            OrderArg::Fortran => Order::Fortran,
        }
    }
}

/// A problem, by its numbers or by a file.
#[derive(Debug, Args)]
pub struct ProblemArgs {
    /// Rows and columns, e.g. 7200x1800, or with --axes the extents of any array; or a .npy or .npz file that holds one (./3x5 if
    /// its name is such)
    #[arg(value_name = "MxN|FILE", value_parser = OsStringValueParser::new().try_map(subject))]
    pub subject: Subject,
    /// The order of the axes in the result, e.g. 2,0,1 [default: the last two change places]
    #[arg(long, value_name = "I,J,...", value_parser = axes, allow_hyphen_values = true)]
    pub axes: Option<Axes>,
    /// Bytes of an element, of a shape
    #[arg(long, value_name = "B", value_parser = positive, allow_negative_numbers = true)]
    pub elem_bytes: Option<NonZeroUsize>,
    /// Matrices or arrays, one after the other [default: 1]
    #[arg(long, value_name = "K", value_parser = count, allow_negative_numbers = true)]
    pub batch: Option<usize>,
    /// The array of a .npz archive
    #[arg(long, value_name = "NAME")]
    pub member: Option<String>,
    /// Into another buffer instead of in place
    #[arg(long)]
    pub into: bool,
    #[command(flatten)]
    pub settings: Settings,
}

impl ProblemArgs {
    /// What is wrong with the options beside a shape, or beside a file.
    fn check(&self) -> Result<(), clap::Error> {
        let wrong = |kind, what: &str| Err(clap::Error::raw(kind, what));
        match &self.subject {
            Subject::Extents(_) if self.elem_bytes.is_none() => {
                wrong(ErrorKind::MissingRequiredArgument, "a shape needs --elem-bytes <B>")
            }
            Subject::Extents(_) if self.member.is_some() => wrong(
                ErrorKind::ArgumentConflict,
                "--member is for a file, and cannot be used with a shape",
            ),
            Subject::File(_) if self.elem_bytes.is_some() || self.batch.is_some() => wrong(
                ErrorKind::ArgumentConflict,
                "--elem-bytes and --batch cannot be used with a file, which says both",
            ),
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// The device to plan for: host, cuda (this machine's GPU; cuda:1 its second), or one that need not
    /// be here: h200, h100, a100. Threads are the host's alone, wisdom that of host and cuda
    #[arg(long, value_name = "NAME", default_value = "host")]
    pub device: String,
    /// Which tiles of each route to consider
    #[arg(long, value_name = "RULE", default_value = "model")]
    pub tiles: TilesArg,
    /// Print every candidate by estimate, wisdom aside, and why the others are not possible
    #[arg(long)]
    pub all: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// Where to measure: host, cuda or cuda:N
    #[arg(long, value_name = "NAME", default_value = "host")]
    pub device: String,
    /// Which tiles of each route to try
    #[arg(long, value_name = "RULE", default_value = "all")]
    pub tiles: TilesArg,
    /// Seconds to spend; at least one candidate is measured
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds, allow_negative_numbers = true)]
    pub budget: Duration,
    /// Print all as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print all as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Where to measure: host, cuda (the first GPU) or cuda:N
    #[arg(long, value_name = "NAME", default_value = "host")]
    pub device: String,
    /// Shapes, e.g. 7200x1800,4000x3200, or 64x256x112x112:0-2-3-1 with the order of the axes, or classes of them:
    /// host, thesis, large, primes, skinny, square, batch, small-batch, tiny, huge, permuted, permuted-host [default: those that the device's document reports]
    #[arg(long, value_name = "MxN,...", value_delimiter = ',', value_parser = bench::read)]
    pub shapes: Vec<Shapes>,
    /// Bytes of an element, one or more [default: 4, or a class's own]
    #[arg(long, value_name = "B,...", value_parser = positive, allow_negative_numbers = true, value_delimiter = ',')]
    pub elem_bytes: Vec<NonZeroUsize>,
    /// Matrices, one after the other; a class's own batches are multiplied
    #[arg(long, value_name = "K", value_parser = positive, allow_negative_numbers = true, default_value = "1")]
    pub batch: NonZeroUsize,
    /// As many problems drawn at random, beside or instead of --shapes
    #[arg(long, value_name = "COUNT", value_parser = positive, allow_negative_numbers = true)]
    pub draw: Option<NonZeroUsize>,
    /// Draw permutations of three to five axes, of --elem-bytes or 4 bytes, in place of matrices
    #[arg(long, requires = "draw")]
    pub draw_axes: bool,
    /// The draw's seed
    #[arg(long, value_name = "S", value_parser = seed, allow_negative_numbers = true, default_value = "1", requires = "draw")]
    pub seed: u64,
    /// The largest matrix to draw; the smallest have some 10^6 elements
    #[arg(long, value_name = "BYTES", default_value = "8GiB", value_parser = byte_count, allow_hyphen_values = true, requires = "draw")]
    pub draw_most: usize,
    /// Threads to use [default: all]
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub rates: RatesArgs,
    /// Into another buffer instead of in place
    #[arg(long)]
    pub into: bool,
    /// Take these routes, a line each; best is the planner's choice
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = choice)]
    pub route: Vec<Choice>,
    /// Which tiles of a route to choose from
    #[arg(long, value_name = "RULE", default_value = "model")]
    pub tiles: TilesArg,
    /// Most memory beside the data [default: as for transpose; on a GPU 2%, or 16MiB if that is more]
    #[arg(long, value_name = "BYTES", value_parser = amount, allow_hyphen_values = true)]
    pub workspace: Option<Amount>,
    /// Runs of each, of which the median counts [default: 7, on a GPU 21]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub runs: Option<NonZeroUsize>,
    /// The pages that the matrices lie in, on the host
    #[arg(long, value_name = "KIND", default_value = "huge")]
    pub pages: Pages,
    /// Spend so long on each shape to see whether another candidate would have been faster
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub candidates: Option<Duration>,
    /// Print every candidate that was measured instead, as CSV: of each route, as it is and mirrored, the best tiles by
    /// estimate, and of routes of one stage all ways; none that is estimated to take a thousand times as long as the chosen one
    #[arg(long, requires = "candidates", conflicts_with = "json")]
    pub each: bool,
    /// Tiles of a route that --each tries
    #[arg(long, value_name = "COUNT", value_parser = positive, allow_negative_numbers = true, default_value = "3", requires = "each")]
    pub each_tiles: NonZeroUsize,
    /// Print as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// What to measure: host, cuda (the first GPU) or cuda:N
    #[arg(long, value_name = "NAME", default_value = "host")]
    pub device: String,
    /// Threads to measure, and fewer of them [default: all]
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<NonZeroUsize>,
    /// Write here, where --rates is to find it [default: where all commands do, for this model of device:
    /// turntile/rates/MODEL.json in XDG_DATA_HOME or ~/.local/share]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Seconds to measure for, about; a few stages are measured in any case
    #[arg(long, value_name = "SECONDS", default_value = "90", value_parser = seconds, allow_negative_numbers = true)]
    pub budget: Duration,
    /// What to compare with
    #[command(flatten)]
    pub rates: RatesArgs,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// A rule for tiles, as the command line spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TilesArg {
    /// The best of each route by the cost model
    Model,
    /// Every feasible one
    All,
}

impl TilesArg {
    /// The rule.
    pub fn rule(self) -> TileRule {
        match self {
            TilesArg::Model => TileRule::CostModel,
            TilesArg::All => TileRule::Exhaustive,
        }
    }
}

/// A route, or the planner's choice of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The fastest by estimate.
    Best,
    /// This one.
    Route(Route),
}

fn choice(text: &str) -> Result<Choice, turntile::plan::UnknownRoute> {
    if text.eq_ignore_ascii_case("best") {
        Ok(Choice::Best)
    } else {
        text.parse().map(Choice::Route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn raw_options_come_together() {
        let parse = |line: &str| Cli::read(line.split(' ').map(OsString::from));
        let good = "turntile transpose f --raw --rows 3 --cols 4 --elem-bytes 8";
        let Command::Transpose(args) = parse(good).unwrap().command else { panic!("{good}") };
        assert_eq!(args.raw_problem(), Problem::new(3, 4, 8).map(Some));
        let Command::Transpose(args) = parse("turntile transpose f").unwrap().command else {
            panic!("not a transposition")
        };
        assert_eq!(args.raw_problem(), Ok(None));
        for bad in [
            "turntile",
            "turntile transpose",
            "turntile transpose f --raw",
            "turntile transpose f --raw --rows 3 --cols 4",
            "turntile transpose f --rows 3",
            "turntile transpose f --batch 3",
            "turntile transpose f --raw --rows 3 --cols 4 --elem-bytes 0",
            "turntile transpose f --raw --rows -3 --cols 4 --elem-bytes 1",
            "turntile transpose f --threads 0",
            "turntile transpose f --quiet --json",
            "turntile reorder f",
            "turntile reorder f --to rows",
            "turntile transpose f g h",
            "turntile transpose f g -o h",
            "turntile transpose -i f -o h",
            "turntile transpose -i f -",
            "turntile transpose f --member a --raw --rows 3 --cols 4 --elem-bytes 8",
            "turntile plan f --elem-bytes 4",
            "turntile plan f --batch 4",
            "turntile plan 3x4 --elem-bytes 4 --member a",
            "turntile plan 3x4",
            "turntile plan 3 --elem-bytes 4",
            "turntile plan 3x4 --elem-bytes 4 --cap 1",
            "turntile plan 3x4 --elem-bytes 4 --tiles some",
            "turntile plan 3x4 --elem-bytes 4 --route sideways",
            "turntile bench --route square,sideways",
            "turntile bench --each",
            "turntile bench --each-tiles 2",
            "turntile tune 3x4",
            "turntile bench --shapes 3",
            "turntile bench --shapes 0x4",
            "turntile bench --shapes 3x4x5",
            "turntile bench --shapes 3x4x5:1-0",
            "turntile bench --shapes 3x4x5:1-0-0",
            "turntile bench --draw-axes",
            "turntile permute f",
            "turntile permute f --axes 1,1",
            "turntile permute f --axes 1,0 --raw",
            "turntile permute f --axes 1,0 --shape 3x4",
            "turntile plan 3x4x5 --elem-bytes 4 --axes 0,1,3",
            "turntile bench --elem-bytes 0",
            "turntile bench --csv --json",
            "turntile bench --shapes thesis,none",
            "turntile bench --batch 0",
            "turntile bench --seed 3",
            "turntile bench --draw 0",
            "turntile calibrate --threads 0",
            "turntile calibrate --budget -1",
            "turntile calibrate --rates f --no-rates",
            "turntile plan 3x4 --elem-bytes 4 --rates f --no-rates",
            "turntile bench --no-rates --rates f",
            "turntile tune 3x4 --elem-bytes 4 --csv --json",
            "turntile tune 3x4 --elem-bytes 4 --budget -1",
            "turntile tune 3x4 --elem-bytes 4 --budget NaN",
            "turntile tune 3x4 --elem-bytes 4 --tiles some",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
