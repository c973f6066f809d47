//! The `turntile` command.
//!
//! **No stable interface.** This library is for the command, and for `turntile-lab`, which measures as it does: what is
//! public here changes with either.
//!
//! | module | holds |
//! |---|---|
//! | `args`, `values` | the command line, and how it spells sizes, shapes and times |
//! | `transpose`, `permute`, `reorder` | what each command makes of a file: a new header and transpositions |
//! | `plan`, `words`, `tune` | plans without a file, by estimate and by stopwatch |
//! | `bench`, [`speed`] | transpositions timed beside a copy, and the unit of their speed |
//! | [`device`] | the host or a GPU by name |
//! | [`memory`] | what is measured on: pages of a kind |
//! | `work`, `blocks` | read, transpose, write: the same for every command on a file, in memory or block by block |
//! | `free` | how much memory there is |
//! | `calibrate`, `rates` | this machine measured; which table of its rates is planned by, and where it is kept |
//! | `settings` | what the user may set, and what the library is told of it |
//! | `npy`, `dtype`, `scalar`, `literal` | .npy headers |
//! | `file`, `signals` | files replaced whole or not at all, interruptions included |
//! | `report`, `say`, [`progress`] | what the user sees |
//! | [`error`] | what can go wrong |
//!
//! Exit codes: 0 done; 1 not done; 2 wrong usage. SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGQUIT end it as they end any
//! program, which shells call 130, 143, 129, 131. With any but 0 the files are as they were. Once the new file is in place the work is done:
//! what fails then (the printing of the result, the syncing of the directory) is warned of, with exit
//! code 0.

mod args;
mod bench;
mod blocks;
mod calibrate;
pub mod device;
mod dtype;
pub mod error;
mod file;
mod free;
mod literal;
pub mod memory;
mod npy;
mod permute;
mod plan;
pub mod progress;
mod rates;
mod reorder;
mod report;
mod say;
mod scalar;
mod settings;
mod signals;
pub mod speed;
mod transpose;
mod tune;
mod values;
mod words;
mod work;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

pub use crate::bench::{copy, fill};

use crate::args::{Cli, Command};
use crate::error::Error;
use crate::report::Report;
use crate::say::tell;

/// What a command has to print.
struct Output {
    text: String,
    /// Whether printing it is all there was to do, and not a word about what is done.
    is_all: bool,
}

/// Does what the command line says.
pub fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| wrong_usage(&error));
    signals::clean_up_on_signals();
    let json = match &cli.command {
        Command::Transpose(args) => args.common.json,
        Command::Permute(args) => args.common.json,
        Command::Reorder(args) => args.common.json,
        Command::Plan(args) => args.json,
        Command::Tune(args) => args.json,
        Command::Bench(args) => args.json,
        Command::Calibrate(args) => args.json,
    };
    match run(&cli.command) {
        Ok(output) => print(&output),
        Err(error) => {
            if json {
                let text = serde_json::json!({ "error": error.to_string() }).to_string();
                print(&Output { text, is_all: true });
            }
            tell(&error);
            ExitCode::FAILURE
        }
    }
}

/// Tells what is wrong with the command line, for machines too if they asked, or prints the help that was asked for.
fn wrong_usage(error: &clap::Error) -> ! {
    let is_json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    if error.use_stderr() && is_json {
        let text = error.render().to_string();
        let what = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
        let _ = writeln!(io::stdout(), "{}", serde_json::json!({ "error": what }));
    }
    error.exit()
}

/// Does the command's work and returns what to print, nothing if it is to be quiet.
fn run(command: &Command) -> Result<Output, Error> {
    let (common, report): (_, Report) = match command {
        Command::Transpose(args) => (&args.common, transpose::run(args)?),
        Command::Permute(args) => (&args.common, permute::run(args)?),
        Command::Reorder(args) => (&args.common, reorder::run(args)?),
        Command::Plan(args) => return Ok(Output { text: plan::run(args)?, is_all: true }),
        Command::Bench(args) => return Ok(Output { text: bench::run(args)?, is_all: true }),
        // Printing is a word about what is done: the file is written.
        Command::Calibrate(args) => {
            return Ok(Output { text: calibrate::run(args)?, is_all: false });
        }
        Command::Tune(args) => {
            let is_all = args.problem.settings.wisdom().is_none();
            return Ok(Output { text: tune::run(args)?, is_all });
        }
    };
    report.tell_notes(common.quiet);
    let text = match (common.quiet, common.json) {
        (true, _) => String::new(),
        (false, true) => report.json(),
        (false, false) => report.text(),
    };
    Ok(Output { text, is_all: false })
}

/// Prints to standard output. Nobody listening there any more is no failure.
fn print(output: &Output) -> ExitCode {
    if output.text.is_empty() {
        return ExitCode::SUCCESS;
    }
    match writeln!(io::stdout(), "{}", output.text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            if output.is_all {
                tell(&format_args!("cannot print the result: {error}"));
                return ExitCode::FAILURE;
            }
            tell(&format_args!("warning: done, but cannot print the result: {error}"));
            ExitCode::SUCCESS
        }
        _ => ExitCode::SUCCESS,
    }
}
