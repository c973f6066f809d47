//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

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
    /// Compare every kernel of the lab's on a GPU, element by element
    Check(GpuArgs),
    /// Time the ladder and the filter on a GPU at the sources' sizes, as CSV
    Tables(TablesArgs),
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

/// Options of `turntile-lab report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Where to measure: host, cuda (the first GPU) or cuda:N
    #[arg(long, value_name = "NAME", default_value = "host")]
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
