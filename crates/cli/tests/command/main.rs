//! The command as a user runs it: results, errors, exit codes, and files that stay whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

mod archives;
mod books;
mod errors;
mod files;
mod large;
mod layouts;
#[cfg(unix)]
mod limits;
#[cfg(target_os = "linux")]
mod owners;
mod plans;
mod races;
mod several;
#[cfg(unix)]
mod signals;
mod streams;
#[cfg(unix)]
mod system;

/// A directory of a test's own, and the command run in it.
struct Directory(TempDir);

fn directory() -> Directory {
    Directory(tempfile::tempdir().expect("a temporary directory"))
}

impl AsRef<Path> for Directory {
    fn as_ref(&self) -> &Path {
        self.0.path()
    }
}

impl Directory {
    fn path(&self) -> &Path {
        self.0.path()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.at(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap()
    }

    /// Names and contents of all files.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(self)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().is_file())
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }

    /// The command with these words, some in single quotes, not yet started.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turntile"));
        for (number, part) in line.split('\'').enumerate() {
            if number % 2 == 1 {
                command.arg(part);
            } else {
                command.args(part.split_whitespace());
            }
        }
        command.env_remove("TURNTILE_WISDOM").current_dir(self);
        command
    }

    fn turntile(&self, line: &str) -> Output {
        self.command(line).output().expect("the command starts")
    }

    /// Runs the command, which must succeed without a word on standard error, and returns what it printed.
    fn good(&self, line: &str) -> String {
        let output = self.turntile(line);
        assert_eq!((output.status.code(), &*errors(&output)), (Some(0), ""), "{line}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same of what it prints for machines.
    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.good(line)).unwrap()
    }

    /// Runs the command, which must exit with `code`, print nothing, and complain with `words`. Every file
    /// must be as it was, and no other be there.
    fn bad(&self, line: &str, code: i32, words: &[&str]) {
        let before = self.files();
        let output = self.turntile(line);
        ended(line, &output, code, words);
        assert!(output.stdout.is_empty(), "{line}");
        assert!(self.files() == before, "{line}: files changed");
    }
}

/// What was printed on standard error.
fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What ended so: with this exit code, and these words on standard error, which it returns.
#[track_caller]
fn ended(line: &str, output: &Output, code: i32, words: &[&str]) -> String {
    let errors = errors(output);
    assert_eq!(output.status.code(), Some(code), "{line}: {errors}");
    for word in words {
        assert!(errors.contains(word), "{line}: {errors:?} does not contain {word:?}");
    }
    errors
}

/// A version 1.0 file padded as NumPy pads.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let len = (text.len() + 11).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(len as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(10 + len - 1, b' ');
    bytes.push(b'\n');
    bytes.extend_from_slice(data);
    bytes
}

/// Bytes in which every element differs from its neighbours.
fn noise(len: usize) -> Vec<u8> {
    let mix = |k: usize| (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    (0..len).map(|k| mix(k) as u8).collect()
}

fn transposed(data: &[u8], rows: usize, cols: usize, elem: usize) -> Vec<u8> {
    let mut result = vec![0; data.len()];
    if data.is_empty() {
        return result;
    }
    for (from, to) in data.chunks(rows * cols * elem).zip(result.chunks_mut(rows * cols * elem)) {
        for k in 0..rows * cols {
            let at = (k % cols * rows + k / cols) * elem;
            to[at..at + elem].copy_from_slice(&from[k * elem..][..elem]);
        }
    }
    result
}

/// A file with a matrix of floats, and what it is transposed.
fn pair(rows: usize, cols: usize) -> [Vec<u8>; 2] {
    let data = noise(rows * cols * 4);
    let turned = transposed(&data, rows, cols, 4);
    [
        npy("'<f4'", false, &format!("({rows}, {cols})"), &data),
        npy("'<f4'", false, &format!("({cols}, {rows})"), &turned),
    ]
}

/// A file with a matrix of bytes.
fn small() -> Vec<u8> {
    npy("'|u1'", false, "(3, 5)", &noise(15))
}

/// `got` is `want` but for a share of `within` of it.
#[track_caller]
fn near(got: f64, want: f64, within: f64) {
    assert!((got - want).abs() <= within * want.abs(), "{got} is not {want}");
}
