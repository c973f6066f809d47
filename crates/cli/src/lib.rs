//! The `turntile` command.
//!
//! **No stable interface**, except [`run`] and [`transpose_file`], which the Python package calls. The rest is public for
//! `turntile-lab`, which measures as the command does.
//!
//! | module | holds |
//! |---|---|
//! | `command`, `args`, [`values`] | the command line, the options that subcommands share, how sizes, shapes and types are written |
//! | `jobs` | inputs paired with outputs, one after another |
//! | `operation` | what each subcommand does to the axes of an array |
//! | `array`, `stored`, `npy`, `dtype`, `safetensors` | arrays, where a file stores one, and the headers that describe it |
//! | `source`, `npz`, `sink` | what arrays are read from and written to |
//! | `change`, `work`, `transfer` | read, permute, write: in memory or in blocks |
//! | `split` | fields of records in separate files |
//! | `file` | files replaced atomically |
//! | `plan`, `tune`, [`mod@bench`], [`measure`], [`device`] | plans by estimate and by measurement |
//! | [`memory`] | memory in pages of a kind, and how much is free |
//! | `report`, `say`, [`progress`], [`error`] | what the user sees |
//! | `pages` | shell completions and manual pages |
//!
//! Exit codes: 0 success, 1 failure, 2 wrong usage, 141 if the reader of standard output has left. Signals end the program as
//! usual. In all these cases each file is the complete old one or the complete new one. Of several files, the
//! reported ones are new.

mod args;
mod array;
pub mod bench;
mod change;
mod command;
pub mod device;
mod dtype;
pub mod error;
mod file;
mod jobs;
pub mod measure;
pub mod memory;
mod npy;
mod npz;
mod operation;
mod pages;
mod plan;
pub mod progress;
mod report;
mod safetensors;
mod say;
mod sink;
mod source;
mod split;
mod stored;
mod transfer;
mod tune;
pub mod values;
mod work;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::Path;

use clap::CommandFactory;
use turntile::bits::BitOrder;

use crate::command::{Cli, Command};
use crate::error::{FAILED, PIPE};
use crate::operation::{Axes, Operation};
use crate::say::BrokenPipe;

/// Runs a command line, which begins with the program's name, and returns the exit code.
pub fn run(words: &[OsString]) -> u8 {
    let mut cli = match Cli::read(words) {
        Ok(cli) => cli,
        Err(error) => return wrong_usage(&error, words),
    };
    if cli.command.settings().is_some_and(|settings| settings.threads != NonZeroUsize::new(1)) {
        // Threads start before free memory is measured.
        turntile::run::pool::thread_count();
    }
    let (json, printed) = match &mut cli.command {
        Command::Transpose(args) => {
            let axes = match args.packed.bits {
                Some(bits) => Axes::Packed {
                    bits,
                    order: args.packed.bitorder.unwrap_or(BitOrder::Big),
                    cols: args.packed.cols,
                },
                None if args.matrices => Axes::Matrices,
                None => Axes::Transpose(args.axes.as_deref()),
            };
            return jobs::run(
                &mut args.files,
                Operation {
                    name: "transpose",
                    axes,
                    flip: args.flip.as_deref().unwrap_or_default(),
                    order: args.order,
                },
            );
        }
        Command::Rot90(args) => {
            let axes = Axes::Rotate(args.k, &args.axes);
            return jobs::run(
                &mut args.files,
                Operation { name: "rot90", axes, flip: &[], order: args.order },
            );
        }
        Command::Rearrange(args) => {
            let axes = Axes::Rearrange(args.sizes.of(&args.pattern));
            return jobs::run(
                &mut args.files,
                Operation { name: "rearrange", axes, flip: &[], order: args.order },
            );
        }
        Command::Reorder(args) => {
            let (axes, order) = (Axes::Keep, Some(args.order));
            return jobs::run(
                &mut args.files,
                Operation { name: "reorder", axes, flip: &[], order },
            );
        }
        Command::Split(args) => {
            let ready = args.common.settings.find_wisdom(false, args.common.quiet);
            let done = ready.and_then(|()| split::run(args));
            (args.common.json, done.and_then(|report| jobs::print(&report, &args.common, false)))
        }
        Command::Plan(args) => (args.json, plan::run(args).and_then(print)),
        Command::Bench(args) => (args.json, bench::run(args)),
        Command::Tune(args) => (args.json, tune::run(args).and_then(print)),
        Command::Completions(args) => (false, print(pages::completions(args, &mut Cli::command()))),
        Command::Man(args) => (false, pages::manual(args, Cli::command()).and_then(print)),
    };
    say::note_threads();
    exit_code(printed, json)
}

/// Returns the exit code, and prints an error.
fn exit_code(done: anyhow::Result<()>, json: bool) -> u8 {
    match done {
        Ok(()) => 0,
        Err(error) if error.is::<BrokenPipe>() => PIPE,
        Err(error) => {
            let what = error::line(&error);
            if json {
                let _ = print(serde_json::json!({ "error": what }).to_string());
            }
            say::error(&what);
            FAILED
        }
    }
}

fn print(text: String) -> anyhow::Result<()> {
    say::print(text.trim_end(), false)
}

/// Transposes the array of a .npy file as `numpy.transpose(a, axes)`: `None` reverses the axes. The result replaces `path`, or
/// is written to `out`.
///
/// # Errors
/// The file cannot be read, replaced or written, has no valid header, or `axes` is not a permutation. `path` is then unchanged.
pub fn transpose_file(
    path: &Path,
    axes: Option<&[isize]>,
    out: Option<&Path>,
) -> anyhow::Result<()> {
    let axes = axes.map_or(Axes::Reverse, |axes| Axes::Transpose(Some(axes)));
    jobs::transpose_file(path, Operation { name: "transpose", axes, flip: &[], order: None }, out)
}

/// Prints the help that was asked for, or what is wrong with the command line, and returns the exit code.
fn wrong_usage(error: &clap::Error, words: &[OsString]) -> u8 {
    let text = error.render();
    let plain = text.to_string();
    if !error.use_stderr() {
        let help = if io::stdout().is_terminal() { text.ansi().to_string() } else { plain };
        return exit_code(print(help), false);
    }
    if words.iter().take_while(|word| *word != "--").any(|word| word == "--json") {
        let what = plain.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
        let _ = print(serde_json::json!({ "error": what.trim_end() }).to_string());
    }
    let text = if io::stderr().is_terminal() { text.ansi().to_string() } else { plain };
    let _ = io::Write::write_all(&mut io::stderr(), text.as_bytes());
    u8::try_from(error.exit_code()).unwrap_or(FAILED)
}
