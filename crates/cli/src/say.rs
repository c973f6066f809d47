//! Messages on standard error, with names escaped that could harm a terminal.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use crate::closed;

/// The reader of standard output has left: the command ends by SIGPIPE, as others do.
#[derive(Debug, thiserror::Error)]
#[error("the reader of standard output has left")]
pub struct BrokenPipe;

/// Prints a message on standard error; failures are ignored.
pub fn notify(what: &dyn Display) {
    let _ = io::stderr().write_all(format!("turntile: {}\n", Harmless(what)).as_bytes());
}

/// Prints a note if threads could not be started.
pub fn note_threads() {
    if let Some(why) = turntile::run::pool::start_error() {
        let count = turntile::run::pool::thread_count();
        let what = "at work, other threads cannot be started";
        notify(&format_args!("note: no more than {count} {what}: {why}"));
    }
}

/// Where a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Output,
    /// Standard error, while standard output has data.
    Error,
}

/// Prints a result, a line or more, in one write: lines of others that write to the same file do not come between. A reader who
/// has left is no failure. Any other error is a failure if the result `is_all` that was asked for, else a warning.
pub fn print(text: &str, stream: OutputStream, is_all: bool) -> ExitCode {
    match write(text, stream) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            if is_all {
                notify(&format_args!("cannot print the result: {error}"));
                return ExitCode::FAILURE;
            }
            notify(&format_args!("warning: done, but cannot print the result: {error}"));
            ExitCode::SUCCESS
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Prints a part of a result as soon as there is one: what is printed stays, whatever ends the process.
pub fn put(text: &str) -> anyhow::Result<()> {
    match write(text, OutputStream::Output) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(BrokenPipe.into()),
        written => written.context("cannot print the result"),
    }
}

/// Prints an error for machines; people read it on standard error in any case.
pub fn print_error(error: &serde_json::Value, stream: OutputStream) {
    let _ = write(&error.to_string(), stream);
}

fn write(text: &str, stream: OutputStream) -> io::Result<()> {
    let line = format!("{text}\n");
    match stream {
        OutputStream::Output => {
            closed::output()?;
            io::stdout().write_all(line.as_bytes())
        }
        OutputStream::Error => io::stderr().write_all(line.as_bytes()),
    }
}

/// A name as it is shown: what a terminal would take for an instruction is escaped, as are bytes that are no text.
pub fn shown(path: &Path) -> impl Display + '_ {
    Shown(path.as_os_str().as_encoded_bytes())
}

/// The same of a text.
pub fn escaped(text: &str) -> String {
    Shown(text.as_bytes()).to_string()
}

struct Shown<'a>(&'a [u8]);

impl Display for Shown<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            chunk.valid().chars().try_for_each(|c| write_char(c, to))?;
            chunk.invalid().iter().try_for_each(|byte| write!(to, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

/// Quotes and backslashes as they are, all else as for debugging: controls, and marks that turn the direction of text.
fn write_char(c: char, to: &mut impl fmt::Write) -> fmt::Result {
    match c {
        '\'' | '"' | '\\' => to.write_char(c),
        // Behind a letter: alone a mark, as of an accent or a vowel, would be escaped too.
        _ => ['a', c]
            .iter()
            .collect::<String>()
            .escape_debug()
            .skip(1)
            .try_for_each(|c| to.write_char(c)),
    }
}

/// A message, in which others may have put names as they are.
struct Harmless<'a>(&'a dyn Display);

impl Display for Harmless<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.to_string().chars() {
            if c.is_control() && c != '\n' { write_char(c, to)? } else { to.write_char(c)? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_without_harm() {
        for (name, want) in [
            ("a \u{e9} 'b' \"c\" \\d.npy", "a \u{e9} 'b' \"c\" \\d.npy"),
            (
                "e\u{301}.npy \u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}",
                "e\u{301}.npy \u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}",
            ),
            ("\x1b[31mred\x07\n", "\\u{1b}[31mred\\u{7}\\n"),
            ("fdp.\u{202e}ypn", "fdp.\\u{202e}ypn"),
            ("\u{9b}2J", "\\u{9b}2J"),
        ] {
            assert_eq!(shown(Path::new(name)).to_string(), want);
        }
        assert_eq!(Harmless(&"one\n\x1b[2Jtwo").to_string(), "one\n\\u{1b}[2Jtwo");
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_not_text_stay_distinct() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let name = OsStr::from_bytes(b"a\xff\xe9.npy");
        assert_eq!(shown(Path::new(name)).to_string(), "a\\xff\\xe9.npy");
    }
}
