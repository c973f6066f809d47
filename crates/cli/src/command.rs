//! The command line.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::args::{
    PermuteArgs, RearrangeArgs, ReorderArgs, Settings, TEMPORARY, TransposeArgs, usage,
};
use crate::bench::BenchArgs;
use crate::pages::{CompletionsArgs, ManArgs};
use crate::plan::PlanArgs;
use crate::records::LayoutArgs;
use crate::tune::TuneArgs;

/// Transposes matrices and permutes axes of arrays in files (.npy, .npz, headerless), in place: no second copy in memory, no
/// half-written file on disk.
#[derive(Debug, Parser)]
#[command(name = "turntile", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads a command line, the command's name first.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut definition = Cli::command();
        let matches = definition.try_get_matches_from_mut(words);
        let matches = matches.map_err(|error| of_another(error, &definition))?;
        let mut cli =
            Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))?;
        let wrong = |what| clap::Error::raw(ErrorKind::ValueValidation, what);
        let checked = match &mut cli.command {
            Command::Plan(args) => args.problem.check(),
            Command::Tune(args) => args.problem.check(),
            Command::Bench(_) | Command::Completions(_) | Command::Man(_) => Ok(()),
            Command::Transpose(args) => args.common.jobs().map(drop),
            Command::Permute(args) => args.raw().map_err(wrong).and_then(|_| args.check()),
            Command::Rearrange(args) => args
                .find_pattern()
                .and_then(|()| args.raw().map_err(wrong))
                .and_then(|_| args.common.jobs())
                .map(drop),
            Command::Reorder(args) => args.common.jobs().map(drop),
            Command::Layout(args) => args.check(),
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

/// Says of an unknown option which other commands have it.
fn of_another(mut error: clap::Error, definition: &clap::Command) -> clap::Error {
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
    /// Swap the last two axes of an array: (..., M, N) becomes (..., N, M)
    #[command(override_usage = usage("transpose"), after_help = TEMPORARY)]
    Transpose(TransposeArgs),
    /// Permute the axes of an array: axis i of the result is axis AXES[i], as NumPy's transpose(AXES)
    #[command(override_usage = usage("permute --axes I,J,..."), after_help = TEMPORARY)]
    Permute(PermuteArgs),
    /// Split, permute and join the axes of an array by a pattern, as einops' rearrange: 'b c (h p) w -> b (h w) (p c)'
    #[command(override_usage = usage("rearrange PATTERN"), after_help = TEMPORARY)]
    Rearrange(RearrangeArgs),
    /// Store the same array in the other memory order
    #[command(override_usage = usage("reorder --to ORDER"), after_help = TEMPORARY)]
    Reorder(ReorderArgs),
    /// Bring the records of a structured array, or of a headerless file, to another layout: AoS, SoA, or ASTA in tiles
    #[command(override_usage = usage("layout --to LAYOUT"), after_help = TEMPORARY)]
    Layout(LayoutArgs),
    /// Print how a matrix or a file's array would be transposed, or the axes of an array permuted
    Plan(PlanArgs),
    /// Measure candidate plans on this machine, and remember the fastest
    Tune(TuneArgs),
    /// Verify and time transpositions on this machine, beside a copy of the same bytes
    Bench(BenchArgs),
    /// Print what a shell needs to complete the command's words, e.g. bash: source <(turntile completions bash)
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands
    Man(ManArgs),
}

impl Command {
    /// How the work is done, of those that work.
    pub fn settings(&self) -> Option<&Settings> {
        Some(match self {
            Command::Transpose(args) => &args.common.settings,
            Command::Permute(args) => &args.common.settings,
            Command::Rearrange(args) => &args.common.settings,
            Command::Reorder(args) => &args.common.settings,
            Command::Layout(args) => &args.common.settings,
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

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    /// Made from the definition: of each command, with its options.
    #[test]
    fn completions_and_pages_know_every_command() {
        let folder = tempfile::tempdir().unwrap();
        let read = |line: &str| Cli::read(line.split(' ').map(OsString::from)).unwrap().command;
        let pages = format!("turntile man {}", folder.path().join("man1").display());
        let Command::Man(pages) = read(&pages) else { panic!("no pages") };
        crate::pages::manual(&pages, Cli::command()).unwrap();
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let Command::Completions(args) = read(&format!("turntile completions {shell}")) else {
                panic!("{shell}")
            };
            let text = crate::pages::completions(&args, &mut Cli::command());
            for command in Cli::command().get_subcommands() {
                let name = command.get_name();
                assert!(text.contains(name), "{shell}: {name}");
                let page = folder.path().join(format!("man1/turntile-{name}.1"));
                let page = std::fs::read_to_string(page).unwrap().replace('\\', "");
                for option in command.get_arguments().filter_map(clap::Arg::get_long) {
                    assert!(text.contains(option), "{shell}: {option}");
                    assert!(page.contains(&format!("--{option}")), "{name}: {option}");
                }
            }
            // Two of them complete no values.
            let of_values = !matches!(shell, "elvish" | "powershell");
            assert!(!of_values || text.contains("aligned-slots"), "{shell}");
        }
    }

    #[test]
    fn raw_options_come_together() {
        let parse = |line: &str| Cli::read(line.split(' ').map(OsString::from));
        let good = "turntile transpose f --raw --rows 3 --cols 4 --elem-bytes 8";
        let Command::Transpose(args) = parse(good).unwrap().command else { panic!("{good}") };
        let raw = args.raw().map(|raw| raw.transpose.problem().unwrap());
        assert_eq!(raw, Problem::new(3, 4, 8).ok());
        let Command::Transpose(args) = parse("turntile transpose f").unwrap().command else {
            panic!("not a transposition")
        };
        assert!(args.raw().is_none());
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
            "turntile layout f --split -",
            "turntile bench --shapes 0x4",
            "turntile bench --shapes 3x4x5",
            "turntile bench --shapes 3x4x5:1-0",
            "turntile bench --shapes 3x4x5:1-0-0",
            "turntile permute f",
            "turntile permute f --axes 1,0 --raw",
            "turntile permute f --axes 1,0 --shape 3x4",
            "turntile permute f --axes 1,1 --raw --shape 3x4 --elem-bytes 1",
            "turntile rearrange f",
            "turntile rearrange a->a",
            "turntile rearrange f a->a b->b",
            "turntile rearrange f a->a --size a",
            "turntile rearrange f a->a --size a=x",
            "turntile rearrange f ab->ba --raw --shape 3x4 --elem-bytes 1",
            "turntile plan 3x4 --elem-bytes 4 --pattern a->a",
            "turntile plan 3x4 --elem-bytes 4 --axes 1,0 --pattern a->a",
            "turntile plan 3x4 --elem-bytes 4 --size a=1",
            "turntile layout f",
            "turntile layout f --to rows",
            "turntile layout f --to asta:0",
            "turntile layout f --to aos",
            "turntile layout f --from soa --to soa",
            "turntile layout f --to soa --raw",
            "turntile layout f --to soa --fields 4,8",
            "turntile layout f --to soa --raw --fields 4,0",
            "turntile layout f --to soa --records 3",
            "turntile layout - --to soa --raw --fields 4,8",
            "turntile layout f --to asta:4 --split d",
            "turntile layout f g --split d",
            "turntile layout f --split d -o g",
            "turntile layout f --split d --raw --fields 4",
            "turntile completions",
            "turntile completions tcsh",
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
