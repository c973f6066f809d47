//! The `turntile` command.
//!
//! **No stable interface.** This library is for the command, and for `turntile-lab`, which measures as it does: what is
//! public here changes with either.
//!
//! | module | holds |
//! |---|---|
//! | `command`, `args`, `common`, [`values`] | the command line, what the commands on files share of it, and how it spells sizes, shapes and times |
//! | `several` | one file after the other |
//! | `rearrange` | what each command makes of a file: a new header and a permutation |
//! | `plan`, `words`, `tune`, `subject` | plans, by estimate and by stopwatch, and what they are for |
//! | [`mod@bench`], [`measure`] | transpositions compared and timed beside a copy, and the unit of their speed |
//! | [`device`] | the host or a GPU by name |
//! | [`memory`] | memory in pages of a kind |
//! | `input`, `output`, `archive` | files, archives and streams that arrays come from and go to |
//! | `work`, `blocks`, `copy` | read, transpose, write: the same for every command on a file, in memory or block by block |
//! | `free` | how much memory there is |
//! | [`settings`] | what the user may set, and how it is passed to the library |
//! | `npy`, `dtype` | .npy headers |
//! | `closed` | standard streams that were closed at the start |
//! | `file`, `signals` | files replaced whole or not at all, interruptions included |
//! | `report`, `say`, [`progress`] | what the user sees |
//! | [`error`] | what can go wrong |
//!
//! Exit codes: 0 done; 1 not done; 2 wrong usage. SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGQUIT end it as they end any
//! program, which shells call 130, 143, 129, 131; so does SIGPIPE, 141, where the reader of a pipe has left. With any but 0 the
//! file is as it was; of several files those that were not reported as done are. Once the new file is in place the work is done: what fails then (the printing of the result, the syncing of the directory) is warned of, with exit
//! code 0.

mod archive;
mod args;
pub mod bench;
mod blocks;
mod closed;
mod command;
mod common;
mod copy;
pub mod device;
mod dtype;
pub mod error;
mod file;
mod free;
mod input;
pub mod measure;
pub mod memory;
mod npy;
mod output;
mod plan;
pub mod progress;
mod rearrange;
mod report;
mod say;
pub mod settings;
mod several;
mod signals;
mod subject;
mod tune;
pub mod values;
mod words;
mod work;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use crate::command::{Cli, Command};
use crate::rearrange::Operation;
use crate::say::{Stream, tell};

/// Runs the command line.
pub fn main() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return wrong_usage(&error),
    };
    signals::clean_up_on_signals();
    let (json, done) = match &cli.command {
        Command::Transpose(args) => {
            return several::run(&args.common, |asked| {
                rearrange::run(asked, Operation::Transpose, args.raw_problem()?)
            });
        }
        Command::Permute(args) => {
            return several::run(&args.common, |asked| {
                rearrange::run(asked, Operation::Permute(&args.axes.0), args.raw_problem()?)
            });
        }
        Command::Reorder(args) => {
            return several::run(&args.common, |asked| {
                rearrange::run(asked, Operation::Reorder(args.to), None)
            });
        }
        Command::Plan(args) => (args.json, plan::run(args).map(|text| (text, true))),
        Command::Bench(args) => (args.json, bench::run(args).map(|text| (text, true))),
        Command::Tune(args) => {
            // What is remembered is done, whether it can be printed or not.
            let is_all = args.problem.settings.wisdom().is_none();
            (args.json, tune::run(args).map(|text| (text, is_all)))
        }
    };
    say::note_threads();
    match done {
        Ok((text, is_all)) => say::print(&text, Stream::Output, is_all),
        Err(error) => {
            let what = error::line(&error);
            if json {
                say::print_error(&serde_json::json!({ "error": what }), Stream::Output);
            }
            tell(&what);
            ExitCode::FAILURE
        }
    }
}

/// Says what is wrong with the command line, for machines too if they asked, or prints the help that was asked for.
fn wrong_usage(error: &clap::Error) -> ExitCode {
    let text = error.render();
    let plain = text.to_string();
    if !error.use_stderr() {
        let help = if io::stdout().is_terminal() { text.ansi().to_string() } else { plain };
        return say::print(help.trim_end(), Stream::Output, true);
    }
    if std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json") {
        let what = plain.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
        say::print_error(&serde_json::json!({ "error": what }), Stream::Output);
    }
    // In one write, as all that is said.
    let text = if io::stderr().is_terminal() { text.ansi().to_string() } else { plain };
    let _ = io::stderr().write_all(text.as_bytes());
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}
