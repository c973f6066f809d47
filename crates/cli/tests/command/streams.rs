//! Standard input and output.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use crate::{Directory, directory, ended, errors, noise, npy, pair, transposed};

fn command(directory: &Directory, line: &str) -> Command {
    let mut command = directory.command(line);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the command with these bytes on standard input.
fn fed(directory: &Directory, line: &str, bytes: &[u8]) -> Output {
    let mut child = command(directory, line).spawn().expect("the command starts");
    let mut input = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A command that fails early does not read everything.
        scope.spawn(move || drop(input.write_all(bytes)));
        child.wait_with_output().unwrap()
    })
}

const ROWS: usize = 601;
const COLS: usize = 403;

/// Returns a file, the file of the result, and the data.
fn example() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let [before, after] = pair(ROWS, COLS);
    (before, after, noise(ROWS * COLS * 4))
}

#[test]
fn arrays_come_from_and_go_to_pipes() {
    let directory = directory();
    let (before, after, data) = example();
    let turned = transposed(&data, ROWS, COLS, 4);
    directory.write("a.npy", &before);
    let raw = format!("transpose - --raw --dtype f4 --shape {ROWS}x{COLS}");
    let fifth = [&before[..], &turned].concat();
    let report = "standard input: 601x403 f4 -> 403x601 f4";
    // In memory, and through temporary files.
    for memory in ["", "--memory 1M"] {
        for (line, input, output, words) in [
            ("transpose -", &before, &after, report),
            ("transpose - -o -", &before, &after, report),
            ("transpose --axes 1,0 -", &before, &after, report),
            ("rearrange 'a b -> b a' -", &before, &after, report),
            ("reorder --order C - -q", &before, &before, ""),
            ("transpose a.npy -o -", &fifth, &after, "a.npy: 601x403 f4"),
            ("transpose a.npy --output - -q", &before, &after, ""),
            (&raw, &data, &turned, report),
        ] {
            let ran = fed(&directory, &format!("{line} {memory}"), input);
            let errors = ended(line, &ran, 0, &[words]);
            assert!(ran.stdout == *output, "{line} {memory}");
            assert_eq!(errors.is_empty(), words.is_empty(), "{line}: {errors}");
        }
        let output = fed(&directory, &format!("transpose - -o b.npy {memory} --json"), &before);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["file"], &report["output"]), (&"-".into(), &"b.npy".into()));
        assert!(directory.read("b.npy") == after);
        fs::remove_file(directory.at("b.npy")).unwrap();
    }
    assert!(directory.files() == [("a.npy".to_string(), before)]);
}

/// A file that a shell opened for `> out.npy` is written, not replaced, under all its names.
#[test]
fn a_file_that_a_shell_opened_is_written_and_not_replaced() {
    let directory = directory();
    let (before, after, _) = example();
    directory.write("a.npy", &before);
    directory.write("out.npy", b"old");
    fs::hard_link(directory.at("out.npy"), directory.at("other.npy")).unwrap();
    for memory in ["", "--memory 1M"] {
        let opened = fs::File::create(directory.at("out.npy")).unwrap();
        let mut run = command(&directory, &format!("transpose a.npy -o - {memory} -q"));
        assert!(run.stdout(opened).status().unwrap().success(), "{memory}");
        assert!(directory.read("other.npy") == after, "{memory}");
    }
}

#[test]
fn streams_that_are_too_short_or_too_long_are_errors() {
    let directory = directory();
    let (before, _, data) = example();
    let raw = format!("transpose - --raw --dtype f4 --shape {ROWS}x{COLS}");
    directory.write("old.npy", b"old");
    let all = data.len();
    let more = |bytes: &[u8]| [bytes, b"x"].concat();
    for (line, bytes, words) in [
        (
            "transpose -",
            before[..before.len() - 1].to_vec(),
            format!("ended after {} of {all} bytes", all - 1),
        ),
        ("transpose -", more(&before), format!("continues after the expected {all} bytes")),
        ("transpose -", before[..40].to_vec(), "truncated".to_string()),
        ("transpose -", b"rows and columns".to_vec(), "not a .npy file".to_string()),
        ("transpose -", Vec::new(), "empty: expected a .npy header".to_string()),
        ("transpose -", npy("'<f8'", 'C', &[1_000_000_000_000, 1_000_000], b""), String::new()),
        (&raw, data[..all - 3].to_vec(), format!("ended after {} of {all} bytes", all - 3)),
        (&raw, more(&data), "continues after".to_string()),
    ] {
        for rest in ["", " --memory 1M", " -o old.npy", " --memory 1M -o old.npy", " -o new.npy"] {
            let output = fed(&directory, &format!("{line}{rest}"), &bytes);
            let errors = ended(&format!("{line}{rest}"), &output, 1, &["error: ", &words]);
            assert_eq!(errors.lines().count(), 1, "{errors}");
            assert!(output.stdout.is_empty(), "{line}{rest}");
            assert!(directory.files() == [("old.npy".to_string(), b"old".to_vec())]);
        }
    }
}

#[test]
fn options_for_files_do_not_apply_to_streams() {
    let directory = directory();
    let (before, after, data) = example();
    for (line, bytes, words) in [
        ("transpose - --member a", &before, "--member needs a file, not standard input"),
        ("transpose - --tensor a", &before, "--tensor needs a file, not standard input"),
        ("transpose - --raw --dtype f4 --shape -1x403", &data, "-1 in --shape needs a file"),
        (
            "transpose - --raw --dtype f4 --shape 2x403 --offset 4",
            &data,
            "--offset and --tail need a file",
        ),
        // Errors in JSON do not go between the data either.
        ("transpose none.npy -o - --json", &data, "{\"error\":"),
    ] {
        let output = fed(&directory, line, bytes);
        ended(line, &output, 1, &[words]);
        assert!(output.stdout.is_empty());
    }
    let output = fed(&directory, "transpose - --dry-run", &before);
    assert!(output.stdout.is_empty());
    assert!(errors(&output).contains("-> 403x601 f4, not written"));
    // A file of that name.
    directory.write("-", &before);
    directory.good("transpose ./- -i");
    assert!(directory.read("-") == after);
}

/// Exit code 141 and no message, as of programs that SIGPIPE ends.
#[cfg(unix)]
#[test]
fn a_reader_that_has_left_ends_the_command_quietly() {
    let directory = directory();
    let [before, _] = pair(ROWS, COLS);
    directory.write("a.npy", &before);
    for line in ["transpose a.npy -o -", "transpose a.npy -o - --memory 1M"] {
        let mut child = command(&directory, line).spawn().unwrap();
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_exact(&mut [0; 100]).unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &*errors(&output)), (Some(141), ""), "{line}");
    }
    assert_eq!(directory.files().len(), 1);
}

#[cfg(unix)]
#[test]
fn temporary_files_of_streams_are_in_tmpdir() {
    let directory = directory();
    directory.write("a.npy", npy("'|u1'", 'C', &[2048, 1024], &noise(2 << 20)));
    let turntile = env!("CARGO_BIN_EXE_turntile");
    let script = format!(
        "trap '' XFSZ; ulimit -f 600; exec {turntile} transpose - --memory 1M < a.npy | cat > out"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env("TMPDIR", directory.path()).current_dir(&directory);
    let errors = errors(&command.output().unwrap());
    let words = format!("a temporary file in {} (see TMPDIR): ", directory.path().display());
    assert!(errors.contains(&words), "{errors}");
}
