//! The `turntile` command.
//!
//! **No stable interface.** This library is for the command, and for `turntile-lab`, which measures as it does: what is
//! public here changes with either.
//!
//! | module | holds |
//! |---|---|
//! | `command`, `args`, [`values`] | the command line, what the commands share of it, and how it spells sizes, shapes and times |
//! | `several` | one file after the other |
//! | `records`, `split` | `turntile layout`: records in a file, each field in one of its own |
//! | `operation` | what each command makes of a file: a new header and a permutation |
//! | `plan`, `words`, `tune` | plans, by estimate and by stopwatch |
//! | [`mod@bench`], [`measure`] | transpositions compared and timed beside a copy, and the unit of their speed |
//! | [`device`] | the host or a GPU by name |
//! | [`memory`] | memory in pages of a kind, and how much there is |
//! | `input`, `output`, `archive` | files, archives and streams that arrays come from and go to |
//! | `work`, `transfer` | read, transpose, write: the same for every command on a file, in memory or block by block |
//! | `npy`, `dtype` | .npy headers |
//! | `closed` | standard streams that were closed at the start |
//! | `file`, `signals` | files replaced whole or not at all, interruptions included |
//! | `report`, `say`, [`progress`] | what the user sees |
//! | `pages` | completions for shells, manual pages |
//! | [`error`] | what can go wrong |
//!
//! Exit codes: 0 done; 1 not done; 2 wrong usage. SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGQUIT end it as they end any
//! program, which shells call 130, 143, 129, 131; so does SIGPIPE, 141, where the reader of a pipe has left. With any but 0 the
//! file is as it was; of several files those that were not reported as done are. Once the new file is in place the work is done: what fails then (the printing of the result, the syncing of the directory) is warned of, with exit
//! code 0.

mod archive;
mod args;
pub mod bench;
mod closed;
mod command;
pub mod device;
mod dtype;
pub mod error;
mod file;
mod input;
pub mod measure;
pub mod memory;
mod npy;
mod operation;
mod output;
mod pages;
mod plan;
pub mod progress;
mod records;
mod report;
mod say;
mod several;
mod signals;
mod split;
mod transfer;
mod tune;
pub mod values;
mod words;
mod work;

use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::command::{Cli, Command};
use crate::operation::Operation;
use crate::say::{BrokenPipe, OutputStream, notify};

/// Runs the command line.
pub fn main() -> ExitCode {
    if memory::room().is_none() {
        let what = "are needed beside the program; see ulimit -v";
        notify(&format_args!("not enough memory to begin with: {} bytes {what}", memory::ROOM));
        return ExitCode::FAILURE;
    }
    let mut cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return wrong_usage(&error),
    };
    // Its thread begins while there is room: without, Rust would end the process.
    signals::clean_up_on_signals();
    let room = memory::room();
    if cli.command.settings().is_some_and(|settings| settings.threads != NonZeroUsize::new(1)) {
        // They are started here: what memory is free is asked afterwards.
        turntile::run::pool::thread_count();
    }
    drop(room);
    let (json, done) = match &mut cli.command {
        Command::Transpose(args) => {
            let raw = args.raw();
            return several::run(&mut args.common, Operation::Transpose, raw);
        }
        Command::Permute(args) => {
            // The command line has been checked.
            let raw = args.raw().unwrap_or_default();
            return several::run(&mut args.common, Operation::Permute(&args.axes), raw);
        }
        Command::Rearrange(args) => {
            let raw = args.raw().unwrap_or_default();
            let pattern = args.sizes.of(&args.pattern);
            return several::run(&mut args.common, Operation::Rearrange(pattern), raw);
        }
        Command::Reorder(args) => {
            return several::run(&mut args.common, Operation::Reorder(args.to), None);
        }
        Command::Layout(args) => {
            return several::run(&mut args.common, Operation::Layout(&args.change), None);
        }
        Command::Plan(args) => (args.json, plan::run(args).map(|text| (text, true))),
        Command::Bench(args) => (args.json, bench::run(args).map(|()| (String::new(), true))),
        Command::Tune(args) => {
            let done = tune::run(args);
            // What is remembered is done, whether it can be printed or not.
            let is_all = args.problem.settings.wisdom().is_none();
            (args.json, done.map(|text| (text, is_all)))
        }
        Command::Completions(args) => {
            (false, Ok((pages::completions(args, &mut Cli::command()), true)))
        }
        Command::Man(args) => (false, pages::manual(args, Cli::command()).map(|text| (text, true))),
    };
    say::note_threads();
    match done {
        // All of it has been printed.
        Ok((text, _)) if text.is_empty() => ExitCode::SUCCESS,
        Ok((text, is_all)) => say::print(text.trim_end(), OutputStream::Output, is_all),
        Err(error) if error.is::<BrokenPipe>() => signals::die_of_pipe(),
        Err(error) => {
            let what = error::line(&error);
            if json {
                say::print_error(&serde_json::json!({ "error": what }), OutputStream::Output);
            }
            notify(&what);
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
        return say::print(help.trim_end(), OutputStream::Output, true);
    }
    if std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json") {
        let what = plain.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
        say::print_error(&serde_json::json!({ "error": what }), OutputStream::Output);
    }
    // In one write, as all that is said.
    let text = if io::stderr().is_terminal() { text.ansi().to_string() } else { plain };
    let _ = io::stderr().write_all(text.as_bytes());
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}
