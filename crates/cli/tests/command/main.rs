//! The command as users run it: results, errors, exit codes, and files that stay whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

mod archives;
mod errors;
mod files;
#[cfg(target_os = "linux")]
mod guarantees;
mod large;
#[cfg(unix)]
mod limits;
#[cfg(target_os = "linux")]
mod owners;
mod packed;
mod plans;
mod public;
mod races;
mod reference;
mod several;
#[cfg(unix)]
mod signals;
mod split;
mod streams;
#[cfg(unix)]
mod system;

/// A temporary directory in which the command runs.
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

    /// Returns names and contents of all files in order, of subdirectories too, and names of subdirectories.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self).unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                    files.push((name, Vec::new()));
                } else {
                    files.push((name, fs::read(path).unwrap()));
                }
            }
        }
        files.sort();
        files
    }

    /// Returns the command with the words of a line; words in single quotes may have spaces.
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

    /// Runs the command, which must succeed and print nothing on standard error, and returns what it printed.
    #[track_caller]
    fn good(&self, line: &str) -> String {
        let output = self.turntile(line);
        assert_eq!((output.status.code(), &*errors(&output)), (Some(0), ""), "{line}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Like `good`, for output in JSON.
    #[track_caller]
    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.good(line)).unwrap()
    }

    /// Runs the command, which must fail as [`ended`] checks, print nothing, and leave all files unchanged.
    #[track_caller]
    fn bad(&self, line: &str, code: i32, words: &[&str]) {
        let before = self.files();
        let output = self.turntile(line);
        let errors = ended(line, &output, code, words);
        assert!(errors.starts_with("error: "), "{line}: {errors}");
        assert!(code == 2 || errors.trim_end().lines().count() == 1, "{line}: {errors}");
        assert!(output.stdout.is_empty(), "{line}");
        assert!(self.files() == before, "{line}: files changed");
    }

    /// Calls `bad` for each row of a table: the command line, and words that standard error contains.
    #[track_caller]
    fn all_bad(&self, code: i32, text: &str) {
        for row in table(text) {
            self.bad(row[0], code, &row[1..]);
        }
    }
}

/// Returns what was printed on standard error.
fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks the exit code, and that standard error contains the words. Returns what was printed there.
#[track_caller]
fn ended(line: &str, output: &Output, code: i32, words: &[&str]) -> String {
    let errors = errors(output);
    assert_eq!(output.status.code(), Some(code), "{line}: {errors}");
    for word in words {
        assert!(errors.contains(word), "{line}: {errors:?} does not contain {word:?}");
    }
    errors
}

/// Returns a .npy file of version 1.0 or 2.0, padded as NumPy pads.
fn with_header(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
    let start = if version == 1 { 10 } else { 12 };
    let len = (text.len() + start + 1).next_multiple_of(64) - start;
    let mut bytes = [&b"\x93NUMPY"[..], &[version, 0]].concat();
    bytes.extend_from_slice(&(len as u32).to_le_bytes()[..start - 8]);
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(start + len - 1, b' ');
    bytes.push(b'\n');
    [bytes, data.to_vec()].concat()
}

/// Returns the header's text as NumPy writes it. `shape` is a Python tuple.
fn header(descr: &str, order: char, shape: &str) -> String {
    let fortran = if order == 'F' { "True" } else { "False" };
    format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

/// Returns a .npy file as NumPy writes it.
fn npy(descr: &str, order: char, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let shape = match shape {
        [one] => format!("({one},)"),
        all => format!("{all:?}").replace('[', "(").replace(']', ")"),
    };
    with_header(1, &header(descr, order, &shape), data)
}

/// Returns `count` bytes without a pattern.
fn noise(count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count.next_multiple_of(8)];
    for (k, word) in bytes.chunks_exact_mut(8).enumerate() {
        let mixed = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word.copy_from_slice(&(mixed ^ mixed >> 32).to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}

/// Returns the data of `a.transpose(axes)` in C order, of an array `a` in C order.
fn permuted(data: &[u8], shape: &[usize], axes: &[usize], itemsize: usize) -> Vec<u8> {
    let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let mut outer: Vec<(usize, usize)> =
        axes.iter().map(|&axis| (shape[axis], stride(axis))).collect();
    let (inner, step) = outer.pop().unwrap_or((1, 0));
    let mut result = Vec::with_capacity(data.len());
    for number in 0..outer.iter().map(|(extent, _)| extent).product() {
        let (mut rest, mut from) = (number, 0);
        for (extent, stride) in outer.iter().rev() {
            from += rest % extent * stride;
            rest /= extent;
        }
        for _ in 0..inner {
            result.extend_from_slice(&data[from * itemsize..][..itemsize]);
            from += step;
        }
    }
    result
}

/// Returns the data as a file in this memory order stores it, of an array whose data is given in C order.
fn stored(data: &[u8], order: char, shape: &[usize], itemsize: usize) -> Vec<u8> {
    let axes: Vec<usize> = (0..shape.len()).rev().collect();
    if order == 'F' { permuted(data, shape, &axes, itemsize) } else { data.to_vec() }
}

/// Returns the rows of a table: its lines, whose columns are separated by bars between spaces.
fn table(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| line.split(" | ").map(str::trim).collect())
}

/// Parses extents or axes: `3x5` or `1,0`; none are `-`.
fn numbers(text: &str) -> Vec<usize> {
    text.split(['x', ',']).filter_map(|number| number.parse().ok()).collect()
}

/// An operation, and what NumPy makes of an array by it.
struct Operation<'a> {
    /// The subcommand and its options.
    line: &'a str,
    /// Memory order and shape of the source.
    from: (char, Vec<usize>),
    /// Shape after the axes are split, and the permutation of these axes.
    step: (Vec<usize>, Vec<usize>),
    /// Memory order and shape of the result.
    to: (char, Vec<usize>),
    /// Axes of the result that are reversed.
    flip: Vec<usize>,
}

impl<'a> Operation<'a> {
    /// Parses columns of a table: `F 5x7`, `transpose --flip 0`, `5x7 1,0`, `F 7x5`, and, if axes are
    /// reversed, `0`.
    fn parse(columns: &[&'a str]) -> Self {
        let array = |text: &str| (text.chars().next().unwrap(), numbers(text[1..].trim()));
        let (split, axes) = columns[2].split_once(' ').unwrap();
        Operation {
            line: columns[1],
            from: array(columns[0]),
            step: (numbers(split), numbers(axes)),
            to: array(columns[3]),
            flip: numbers(columns.get(4).unwrap_or(&"")),
        }
    }

    /// Returns the data in the file, and that of the result.
    fn data(&self, itemsize: usize) -> [Vec<u8>; 2] {
        let data = noise(self.from.1.iter().product::<usize>() * itemsize);
        let moved = permuted(&data, &self.step.0, &self.step.1, itemsize);
        let (from, to) = (&self.from, &self.to);
        let moved = flipped(&moved, &to.1, &self.flip, itemsize);
        [stored(&data, from.0, &from.1, itemsize), stored(&moved, to.0, &to.1, itemsize)]
    }

    /// Returns .npy files with the data.
    fn files(&self, descr: &str, data: &[Vec<u8>; 2]) -> [Vec<u8>; 2] {
        let (from, to) = (&self.from, &self.to);
        [npy(descr, from.0, &from.1, &data[0]), npy(descr, to.0, &to.1, &data[1])]
    }
}

/// Returns the data of a row-major array with reversed axes.
fn flipped(data: &[u8], shape: &[usize], flip: &[usize], itemsize: usize) -> Vec<u8> {
    let source = |k: usize| {
        let (mut rest, mut at, mut stride) = (k, 0, 1);
        for (axis, &extent) in shape.iter().enumerate().rev() {
            let index = rest % extent;
            at += stride * if flip.contains(&axis) { extent - 1 - index } else { index };
            (rest, stride) = (rest / extent, stride * extent);
        }
        at
    };
    let elements = (0..data.len() / itemsize).map(|k| &data[source(k) * itemsize..][..itemsize]);
    elements.flatten().copied().collect()
}

/// Returns the data of the transposed matrix.
fn transposed(data: &[u8], rows: usize, cols: usize, itemsize: usize) -> Vec<u8> {
    permuted(data, &[rows, cols], &[1, 0], itemsize)
}

/// Returns a file with a matrix of floats, and that of the transposed matrix.
fn pair(rows: usize, cols: usize) -> [Vec<u8>; 2] {
    let data = noise(rows * cols * 4);
    let turned = transposed(&data, rows, cols, 4);
    [npy("'<f4'", 'C', &[rows, cols], &data), npy("'<f4'", 'C', &[cols, rows], &turned)]
}

/// Returns a file with a matrix of 3 x 5 bytes.
fn small() -> Vec<u8> {
    npy("'|u1'", 'C', &[3, 5], &noise(15))
}

/// Checks that `got` is within a relative error of `within` of `want`.
#[track_caller]
fn near(got: f64, want: f64, within: f64) {
    assert!((got - want).abs() <= within * want.abs(), "{got} is not {want}");
}
