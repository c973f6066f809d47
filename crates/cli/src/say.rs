//! Messages for people. Characters of names that a terminal would obey are escaped.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;

/// The reader of standard output has left.
#[derive(Debug, thiserror::Error)]
#[error("the reader of standard output has left")]
pub struct BrokenPipe;

/// Prints an error on standard error.
pub fn error(what: &dyn Display) {
    message("error", what);
}

/// Prints a note on standard error.
pub fn note(what: &dyn Display) {
    message("note", what);
}

fn message(kind: &str, what: &dyn Display) {
    // In one write, so that lines of other programs do not come between. Nothing can report a failure.
    let _ = io::stderr().write_all(format!("{kind}: {}\n", escaped(&what.to_string())).as_bytes());
}

/// Prints a note if threads could not be started.
pub fn note_threads() {
    if let Some(why) = turntile::run::pool::start_error() {
        let count = turntile::run::pool::thread_count();
        note(&format_args!("only {count} threads are used, others cannot be started: {why}"));
    }
}

/// Prints a result on standard output, or on standard error while standard output has data.
pub fn print(text: &str, to_stderr: bool) -> anyhow::Result<()> {
    let line = format!("{text}\n");
    let written = if to_stderr {
        io::stderr().write_all(line.as_bytes())
    } else {
        io::stdout().write_all(line.as_bytes())
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(BrokenPipe.into()),
        written => written.context("cannot print the result"),
    }
}

/// Formats a path. Control characters are escaped, bytes that are not text replaced.
pub fn shown(path: &Path) -> String {
    escaped(&path.to_string_lossy())
}

/// Escapes characters that a terminal would obey: controls, and marks that change the direction of text.
pub fn escaped(text: &str) -> String {
    let is_harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let escape =
        |c: char| if is_harmful(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_without_harm() {
        for (name, want) in [
            ("a \u{e9} 'b' \"c\" \\d.npy", "a \u{e9} 'b' \"c\" \\d.npy"),
            ("\x1b[31mred\x07\n", "\\u{1b}[31mred\\u{7}\\n"),
            ("fdp.\u{202e}ypn", "fdp.\\u{202e}ypn"),
            ("\u{9b}2J", "\\u{9b}2J"),
        ] {
            assert_eq!(shown(Path::new(name)), want);
        }
    }
}
