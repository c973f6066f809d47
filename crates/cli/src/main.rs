//! The `turntile` command; see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    turntile_cli::run(&words).into()
}
