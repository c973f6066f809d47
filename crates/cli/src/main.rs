//! The `turntile` command.
//!
//! | module | holds |
//! |---|---|
//! | `args` | the command line |
//! | `transpose`, `reorder` | what each command makes of a file: a new header and transpositions |
//! | `plan`, `tune` | plans without a file, by estimate and by stopwatch |
//! | `work` | read, transpose, write: the same for every command on a file |
//! | `engine` | the one place that calls the library |
//! | `npy`, `dtype`, `literal` | .npy headers |
//! | `replace` | files replaced whole or not at all |
//! | `report`, `progress` | what the user sees |
//! | `error` | what can go wrong |
//!
//! Exit codes: 0 done, 1 not done (the files are as they were), 2 wrong usage, 130 interrupted (as they were, too).

mod args;
mod dtype;
mod engine;
mod error;
mod literal;
mod npy;
mod plan;
mod progress;
mod reorder;
mod replace;
mod report;
mod transpose;
mod tune;
mod work;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::error::Error;
use crate::report::Report;

/// What a shell reports of a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // An error means that the signals were ignored when the process began (nohup, a job of a script
    // in the background): then they stay so.
    let _ = ctrlc::try_set_handler(|| replace::abandon(|| complain(&"interrupted"), INTERRUPTED));
    let json = match &cli.command {
        Command::Transpose(args) => args.common.json,
        Command::Reorder(args) => args.common.json,
        Command::Plan(args) => args.json,
        Command::Tune(args) => args.json,
    };
    match run(&cli.command) {
        Ok(text) => print(&text),
        Err(error) => {
            if json {
                print(&serde_json::json!({ "error": error.to_string() }).to_string());
            }
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// Tells standard error what went wrong, if anybody listens there.
fn complain(error: &dyn std::fmt::Display) {
    let _ = writeln!(io::stderr(), "turntile: {error}");
}

/// Does the command's work and returns what to print, nothing if it is to be quiet.
fn run(command: &Command) -> Result<String, Error> {
    let (common, report): (_, Report) = match command {
        Command::Transpose(args) => (&args.common, transpose::run(args)?),
        Command::Reorder(args) => (&args.common, reorder::run(args)?),
        Command::Plan(args) => return plan::run(args),
        Command::Tune(args) => return tune::run(args),
    };
    Ok(match (common.quiet, common.json) {
        (true, _) => String::new(),
        (false, true) => report.json(),
        (false, false) => report.text(),
    })
}

/// Prints to standard output. Nobody listening there any more is no fault of the work done.
fn print(text: &str) -> ExitCode {
    if text.is_empty() {
        return ExitCode::SUCCESS;
    }
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format_args!("cannot print the result: {error}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
