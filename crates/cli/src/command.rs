//! The command line.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::args::{RearrangeArgs, ReorderArgs, RotateArgs, Settings, TransposeArgs};
use crate::bench::BenchArgs;
use crate::pages::{CompletionsArgs, ManArgs};
use crate::plan::PlanArgs;
use crate::split::SplitArgs;
use crate::tune::TuneArgs;

/// Transposes matrices and permutes the axes of arrays in .npy, .safetensors and headerless files, without a second copy in
/// memory. Files are replaced atomically
#[derive(Debug, Parser)]
#[command(name = "turntile", version, max_term_width = 80)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Parses a command line, which begins with the program's name.
    pub fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        let mut definition = Cli::command();
        let matches = definition.try_get_matches_from_mut(words);
        let matches = matches.map_err(|error| explained(error, words, &definition))?;
        let mut cli =
            Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))?;
        let checked = match &mut cli.command {
            Command::Plan(args) => args.problem.check(),
            Command::Tune(args) => args.problem.check(),
            Command::Transpose(args) => args.files.check(),
            Command::Rot90(args) => args.files.check(),
            Command::Rearrange(args) => args.files.check(),
            Command::Reorder(args) => args.files.check(),
            _ => Ok(()),
        };
        // With the usage of this subcommand, not that of all of them.
        let name = matches.subcommand_name().unwrap_or_default();
        let of_command = definition.find_subcommand_mut(name);
        checked.map_err(|error| match of_command {
            Some(command) => error.format(command),
            None => error,
        })?;
        Ok(cli)
    }
}

/// Subcommands of version 0.3, and what replaces them.
const REPLACED: [(&str, &str); 2] = [
    ("permute", "turntile transpose --axes I,J,... INPUT (-o OUT | -i)"),
    ("layout", "turntile split INPUT --into DIR"),
];

/// Adds to an error what replaces a removed subcommand, or which subcommands have an unknown option.
fn explained(
    mut error: clap::Error,
    words: &[OsString],
    definition: &clap::Command,
) -> clap::Error {
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some((old, new)) =
            REPLACED.iter().find(|(old, _)| words.iter().any(|word| word == old))
    {
        return clap::Error::raw(ErrorKind::InvalidSubcommand, format!("`{old}` is now: {new}\n"));
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let option = option.trim_start_matches('-');
    let has = |command: &&clap::Command| {
        command.get_arguments().any(|arg| arg.get_long() == Some(option))
    };
    let names: Vec<_> =
        definition.get_subcommands().filter(has).map(clap::Command::get_name).collect();
    if error.kind() == ErrorKind::UnknownArgument && !names.is_empty() {
        let what = format!("--{option} is an option of: {}", names.join(", "));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![what.into()]));
    }
    error
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Transpose an array, as numpy.transpose
    #[command(
        override_usage = "turntile transpose [OPTIONS] INPUT... (-o OUT | -i)",
        after_help = "\
Examples:
  turntile transpose a.npy -o b.npy                   # a matrix
  turntile transpose --axes 0,2,3,1 images.npy -i     # NCHW to NHWC, in place
  turntile transpose --axes 0,1 --flip 0 image.npy -i # rows in reverse order
  turntile transpose --raw --dtype f4 --shape 7200x1800 --offset 352 x.img -i
  turntile transpose --tensor w.0 model.safetensors -i
  turntile transpose --bits 4 --bitorder little codes.npy -i"
    )]
    Transpose(TransposeArgs),
    /// Rotate an array by quarter turns, as numpy.rot90
    #[command(
        override_usage = "turntile rot90 [OPTIONS] INPUT... (-o OUT | -i)",
        after_help = "\
Example:
  turntile rot90 -k -1 image.npy -i                   # clockwise, in place"
    )]
    Rot90(RotateArgs),
    /// Split, permute and join axes by a pattern, as einops.rearrange
    #[command(
        override_usage = "turntile rearrange [OPTIONS] PATTERN INPUT... (-o OUT | -i)",
        after_help = "\
Example:
  turntile rearrange 'b c (h p) w -> b (h w) (p c)' --size p=16 a.npy -o b.npy"
    )]
    Rearrange(RearrangeArgs),
    /// Store an array in the other memory order, as numpy.asfortranarray
    #[command(override_usage = "turntile reorder --order ORDER INPUT... (-o OUT | -i)")]
    Reorder(ReorderArgs),
    /// Write each field of records to a separate .npy file
    #[command(after_help = "\
Examples:
  turntile split events.npy --into columns
  turntile split --raw --fields 240,V2000 --offset 3600 line.sgy --into traces")]
    Split(SplitArgs),
    /// Print how an array would be transposed
    Plan(PlanArgs),
    /// Measure plans on this machine and remember the fastest
    Tune(TuneArgs),
    /// Verify and time transpositions on this machine, next to a copy
    Bench(BenchArgs),
    /// Print completions for a shell, for bash: source <(turntile completions bash)
    Completions(CompletionsArgs),
    /// Print the manual page, or write the pages of all subcommands
    Man(ManArgs),
}

impl Command {
    /// Returns how the work is done.
    pub fn settings(&self) -> Option<&Settings> {
        Some(match self {
            Command::Transpose(args) => &args.files.common.settings,
            Command::Rot90(args) => &args.files.common.settings,
            Command::Rearrange(args) => &args.files.common.settings,
            Command::Reorder(args) => &args.files.common.settings,
            Command::Split(args) => &args.common.settings,
            Command::Plan(args) => &args.problem.settings,
            Command::Tune(args) => &args.problem.settings,
            Command::Bench(args) => &args.settings,
            Command::Completions(_) | Command::Man(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile::plan::Problem;

    fn read(line: &str) -> Result<Command, clap::Error> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Cli::read(&words).map(|cli| cli.command)
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_help_line_is_longer_than_80_columns() {
        for name in Cli::command()
            .get_subcommands()
            .map(|command| command.get_name().to_string())
            .chain([String::new()])
        {
            for flag in ["-h", "--help"] {
                let line = format!("turntile {name} {flag}").replace("  ", " ");
                let help = read(&line).unwrap_err().to_string();
                let longest =
                    help.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
                assert!(longest.chars().count() <= 80, "{line}: {longest}");
            }
        }
    }

    /// Made from the definition: of each subcommand, with its options.
    #[test]
    fn completions_and_pages_know_every_command() {
        let folder = tempfile::tempdir().unwrap();
        let pages = format!("turntile man {}", folder.path().join("man1").display());
        let Command::Man(pages) = read(&pages).unwrap() else { panic!("no pages") };
        crate::pages::manual(&pages, Cli::command()).unwrap();
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let Command::Completions(args) =
                read(&format!("turntile completions {shell}")).unwrap()
            else {
                panic!("{shell}")
            };
            let text = crate::pages::completions(&args, &mut Cli::command());
            for command in Cli::command().get_subcommands() {
                assert!(text.contains(command.get_name()), "{shell}: {}", command.get_name());
                let page = format!("man1/turntile-{}.1", command.get_name());
                let page = std::fs::read_to_string(folder.path().join(&page)).unwrap();
                for long in command.get_arguments().filter_map(clap::Arg::get_long) {
                    assert!(text.contains(long), "{shell}: {long}");
                    assert!(page.replace("\\-", "-").contains(&format!("--{long}")), "{long}");
                }
            }
        }
    }

    #[test]
    fn removed_subcommands_name_their_successors() {
        for (line, words) in [
            ("turntile permute --axes 2,0,1 a.npy", "`permute` is now: turntile transpose --axes"),
            ("turntile layout a.npy --to soa", "`layout` is now: turntile split"),
            ("turntile transpose a.npy --pattern x", "--pattern is an option of: plan, tune"),
        ] {
            let error = read(line).unwrap_err().to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn problems_are_read() {
        let problem = |line: &str| {
            let line = format!("turntile plan {line}");
            let Ok(Command::Plan(args)) = read(&line) else { panic!("{line}") };
            args.problem.transpose().unwrap().problem().unwrap()
        };
        assert_eq!(problem("3x5 --dtype f4"), Problem::new(3, 5, 4).unwrap());
        assert_eq!(problem("3x5 --dtype V7 --batch 2"), Problem::with_batch(2, 3, 5, 7).unwrap());
        let permuted = Problem::permuted(&[2, 3, 5], &[2, 0, 1], 8).unwrap();
        assert_eq!(problem("2x3x5 --dtype f8 --axes 2,0,-2"), permuted);
        for (line, words) in [
            ("3x5", "a shape needs --dtype"),
            ("3x5x7 --dtype f4", "3 axes need --axes"),
            ("3x5 --dtype f4 --axes 0,1,2", "axes don't match"),
            ("3x5 --dtype f4 --member a", "--member is for a file"),
            ("a.npy --dtype f4", "--dtype and --batch are for a shape"),
            ("3x5 --dtype f4 --size p=2", "--size is for axes of a --pattern"),
        ] {
            let error = read(&format!("turntile plan {line}")).unwrap_err().to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
