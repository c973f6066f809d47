//! The command line.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use turntile::plan::Route;
use turntile_cli::memory::Pages;
use turntile_cli::values::{byte_count, seconds};
use turntile_plan::UnknownRoute;

use crate::shapes::{self, Shapes};

/// Reproduces turntile's sources: their kernels, their figures and tables.
#[derive(Debug, Parser)]
#[command(name = "turntile-lab", version, about, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure the figures and tables of turntile's sources on this machine, on one page: takes hours on a host, less on a
    /// GPU; each item is kept as soon as it is measured, and what was interrupted goes on where it stopped
    Report(ReportArgs),
    /// Verify and time transpositions as `turntile bench` does, of classes of shapes and drawn ones, with candidates beside
    /// the planner's choice; as CSV
    Bench(BenchArgs),
    /// Verify and time records between AoS, ASTA and SoA in place on this machine, as CSV
    Records(RecordsArgs),
    /// Make a table of costs of this machine's processor or GPU: turntile plans by such tables
    Calibrate(CalibrateArgs),
    /// Compare every kernel of the lab's on a GPU, element by element
    Check(GpuArgs),
    /// Time the ladder and the filter on a GPU at the sources' sizes, as CSV
    Tables(TablesArgs),
    /// Does a pitch of a power of two hurt here? Lines down columns of rows that lie a pitch apart, a line more apart, and in the
    /// same pages; as CSV, with a verdict on each pitch
    Steering(SteeringArgs),
}

/// Class of problems that `turntile-lab bench --draw` draws.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DrawClass {
    /// Matrices, every third skinny.
    Matrices,
    /// Permutations of axes, none a transposition of matrices.
    Axes,
    /// Two axes exchanged before a long last one.
    LongRuns,
    /// Batches of matrices of 3.6 to 29 MB.
    Batches,
}

/// Options of `turntile-lab bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Where to measure: host, cuda (the first GPU) or cuda:N
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    pub device: String,
    /// Shapes as for `turntile bench`, or classes of them: host, thesis, large, primes, skinny, square, batch, small-batch,
    /// tiny, huge, permuted, permuted-host [default: those that the device's document reports]
    #[arg(long, value_name = "MxN,...", value_delimiter = ',', value_parser = shapes::read)]
    pub shapes: Vec<Shapes>,
    /// Bytes of an element, one or more [default: 4, or a class's own]
    #[arg(long, value_name = "B,...", value_delimiter = ',')]
    pub elem_bytes: Vec<usize>,
    /// Matrices, one after the other; a class's own batches are multiplied
    #[arg(long, value_name = "K", default_value = "1")]
    pub batch: usize,
    /// As many problems drawn at random, beside or instead of --shapes
    #[arg(long, value_name = "COUNT")]
    pub draw: Option<usize>,
    /// Class to draw: matrices, of words of 1 to 16 bytes; or, of --elem-bytes or 4 bytes, permutations of three to five axes,
    /// arrays of few long runs, or batches of matrices that a GPU holds on chip
    #[arg(long, value_enum, default_value = "matrices", requires = "draw")]
    pub draw_class: DrawClass,
    /// The draw's seed
    #[arg(long, value_name = "S", default_value = "1", requires = "draw")]
    pub seed: u64,
    /// The largest matrix to draw; the smallest have some 10^6 elements
    #[arg(long, value_name = "BYTES", default_value = "8GiB", value_parser = byte_count, requires = "draw")]
    pub draw_most: usize,
    /// Threads to use [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Plan by this table of costs, as `turntile-lab calibrate` writes it
    #[arg(long, value_name = "FILE")]
    pub costs: Option<PathBuf>,
    /// Into another buffer instead of in place
    #[arg(long)]
    pub into: bool,
    /// Take these routes, a line each; best is the planner's choice
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = choice)]
    pub route: Vec<Choice>,
    /// Choose from every tile of a route, and not from the best by the cost model alone
    #[arg(long)]
    pub all_tiles: bool,
    /// Most memory beside the data [default: as for `turntile bench`]
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    pub workspace: Option<usize>,
    /// Runs of each, of which the median counts [default: 7, on a GPU 21]
    #[arg(long, value_name = "N")]
    pub runs: Option<NonZeroUsize>,
    /// The pages that the matrices lie in, on the host
    #[arg(long, value_name = "KIND", default_value = "huge")]
    pub pages: Pages,
    /// Spend so long on each shape to see whether another candidate would have been faster
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub candidates: Option<Duration>,
    /// Print every candidate that was measured instead: of each route, as it is and mirrored, the best tiles by estimate,
    /// and of routes of one stage all ways; none that is estimated to take a thousand times as long as the chosen one
    #[arg(long, requires = "candidates")]
    pub each: bool,
    /// Tiles of a route that --each tries
    #[arg(long, value_name = "COUNT", default_value = "3", requires = "each")]
    pub each_tiles: usize,
    /// Print as CSV, which is all that there is
    #[arg(long, hide = true)]
    pub csv: bool,
}

/// Options of `turntile-lab records`.
#[derive(Debug, Args)]
pub struct RecordsArgs {
    /// Bytes of the fields of records of one's own [default: shapes of each kind]
    #[arg(long, value_name = "B,...", value_delimiter = ',', requires = "records")]
    pub fields: Vec<usize>,
    /// How many records
    #[arg(long, value_name = "N", requires = "fields")]
    pub records: Option<usize>,
    /// Threads to use [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Runs of each, of which the median counts [default: 7]
    #[arg(long, value_name = "N")]
    pub runs: Option<NonZeroUsize>,
    /// The pages that the records lie in
    #[arg(long, value_name = "KIND", default_value = "huge")]
    pub pages: Pages,
}

/// Options of `turntile-lab calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// What to measure: host, cuda (the first GPU) or cuda:N
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    pub device: String,
    /// Threads to measure, and fewer of them [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Where the table is written
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Seconds to measure for, about; a few stages are measured in any case
    #[arg(long, value_name = "SECONDS", default_value = "90", value_parser = seconds)]
    pub budget: Duration,
}

/// A route, or the planner's choice of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The fastest by estimate.
    Best,
    /// This one.
    Route(Route),
}

/// A route by its name, or `best`.
///
/// # Errors
/// There is no such route.
pub fn choice(text: &str) -> Result<Choice, UnknownRoute> {
    if text == "best" { Ok(Choice::Best) } else { text.parse().map(Choice::Route) }
}

/// Options of what runs on a GPU alone.
#[derive(Debug, Args)]
pub struct GpuArgs {
    /// The GPU's number, from 0
    #[arg(long, value_name = "N", default_value = "0")]
    pub gpu: usize,
}

/// Options of `turntile-lab tables`.
#[derive(Debug, Args)]
pub struct TablesArgs {
    /// Folder for the CSV files
    pub folder: PathBuf,
    /// These tables alone: ladder, gaussian
    pub tables: Vec<String>,
    /// Which GPU
    #[command(flatten)]
    pub on: GpuArgs,
}

/// Options of `turntile-lab steering`.
#[derive(Debug, Args)]
pub struct SteeringArgs {
    /// Where to measure: host, cuda (the first GPU) or cuda:N
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    pub device: String,
    /// The table to write
    #[arg(value_name = "OUT.csv")]
    pub file: PathBuf,
    /// Bytes from row to row [default: powers of two and three halves of them, 256 to 3 MiB]
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', value_parser = byte_count)]
    pub pitches: Vec<usize>,
    /// Walks of each kind, each of another seed
    #[arg(long, value_name = "N", default_value = "3")]
    pub seeds: NonZeroU64,
    /// Runs of each, of which the median counts, on a host of pieces of about a millisecond
    #[arg(long, value_name = "N", default_value = "5")]
    pub runs: NonZeroUsize,
    /// The last cache, of which lines of four times as much are walked over [default: 32 MiB, on a GPU 50 MiB]
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    pub cache: Option<usize>,
    /// The pages that the rows lie in, on the host
    #[arg(long, value_name = "KIND", default_value = "huge")]
    pub pages: Pages,
}

/// Options of `turntile-lab report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Where to measure: host, cuda (the first GPU) or cuda:N
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    pub device: String,
    /// Folder for the page (README.md), the CSV files and the pictures; what is there already is kept
    /// and not measured again
    #[arg(long, value_name = "DIR", default_value = "report")]
    pub out: PathBuf,
    /// Measure these items alone; of the others the page has what is there
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    pub items: Vec<String>,
    /// Measure again what is there already
    #[arg(long)]
    pub again: bool,
    /// Measure nothing: page and pictures from the CSV files that are there, whatever device made them
    #[arg(long, conflicts_with_all = ["again", "items"])]
    pub draw: bool,
    /// Threads to use [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Small sizes and single runs, to try the command out
    #[arg(long, hide = true)]
    pub quick: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
