//! The command line.

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::args::{PermuteArgs, ReorderArgs, TransposeArgs};
use crate::bench::BenchArgs;
use crate::common::{TEMPORARY, usage};
use crate::plan::PlanArgs;
use crate::tune::TuneArgs;

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
        let mut definition = Cli::command();
        let matches = definition.try_get_matches_from_mut(words)?;
        let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))?;
        let checked = match &cli.command {
            Command::Plan(args) => args.problem.check(),
            Command::Tune(args) => args.problem.check(),
            Command::Bench(_) => Ok(()),
            Command::Transpose(TransposeArgs { common, .. })
            | Command::Permute(PermuteArgs { common, .. })
            | Command::Reorder(ReorderArgs { common, .. }) => common.jobs().map(drop),
        };
        // With the usage of this command, not that of all of them.
        let name = matches.subcommand_name().unwrap_or_default();
        let of_command = definition.find_subcommand_mut(name);
        checked.map_err(|error| match of_command {
            Some(command) => error.format(command),
            None => error,
        })?;
        Ok(cli)
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Swap the last two axes of an array: (..., M, N) becomes (..., N, M)
    #[command(override_usage = usage("transpose"), after_help = TEMPORARY)]
    Transpose(TransposeArgs),
    /// Permute the axes of an array: axis i of the result is axis AXES[i], as NumPy's transpose(AXES)
    #[command(override_usage = usage("permute --axes I,J,..."), after_help = TEMPORARY)]
    Permute(PermuteArgs),
    /// Store the same array in the other memory order
    #[command(override_usage = usage("reorder --to ORDER"), after_help = TEMPORARY)]
    Reorder(ReorderArgs),
    /// Print how a matrix or a file's array would be transposed, or the axes of an array permuted
    Plan(PlanArgs),
    /// Measure candidate plans on this machine, and remember the fastest
    Tune(TuneArgs),
    /// Verify and time transpositions on this machine, beside a copy of the same bytes
    Bench(BenchArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile::plan::Problem;

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
            "turntile bench --route sideways",
            "turntile tune 3x4",
            "turntile bench --shapes 3",
            "turntile bench --shapes 0x4",
            "turntile bench --shapes 3x4x5",
            "turntile bench --shapes 3x4x5:1-0",
            "turntile bench --shapes 3x4x5:1-0-0",
            "turntile permute f",
            "turntile permute f --axes 1,1",
            "turntile permute f --axes 1,0 --raw",
            "turntile permute f --axes 1,0 --shape 3x4",
            "turntile plan 3x4x5 --elem-bytes 4 --axes 0,1,3",
            "turntile bench --elem-bytes 0",
            "turntile bench --csv --json",
            "turntile bench --shapes 3x4,none",
            "turntile bench --draw 3",
            "turntile bench --batch 0",
            "turntile calibrate",
            "turntile plan 3x4 --elem-bytes 4 --rates f",
            "turntile tune 3x4 --elem-bytes 4 --csv --json",
            "turntile tune 3x4 --elem-bytes 4 --budget -1",
            "turntile tune 3x4 --elem-bytes 4 --budget NaN",
            "turntile tune 3x4 --elem-bytes 4 --tiles some",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
