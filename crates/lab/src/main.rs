//! The `turntile-lab` command. Exit codes: 0 done, 1 not done, 2 wrong usage.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use turntile_cli::error::line;
use turntile_lab::command::{Cli, Command};
use turntile_lab::{bench, calibrate, check, records, report, steering, tables};

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Report(args) => report::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Records(args) => records::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Tables(args) => tables::run(&args),
        Command::Steering(args) => steering::run(&args),
    };
    match done {
        Ok(text) => {
            // Nobody listening is no failure: what was made is in its files.
            let _ = writeln!(io::stdout(), "{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "turntile-lab: {}", line(&error));
            ExitCode::FAILURE
        }
    }
}
