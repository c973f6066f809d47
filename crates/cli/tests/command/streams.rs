//! Standard input and output.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use crate::{Directory, directory, ended, errors, noise, npy, transposed};

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
        // Who refuses early does not read all.
        scope.spawn(move || drop(input.write_all(bytes)));
        child.wait_with_output().unwrap()
    })
}

const ROWS: usize = 601;
const COLS: usize = 403;

/// A file, what it becomes, and its data.
fn example() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let data = noise(ROWS * COLS * 4);
    let turned = transposed(&data, ROWS, COLS, 4);
    let before = npy("'<f4'", false, &format!("({ROWS}, {COLS})"), &data);
    (before, npy("'<f4'", false, &format!("({COLS}, {ROWS})"), &turned), data)
}

#[test]
fn arrays_come_from_and_go_to_pipes() {
    let directory = directory();
    let (before, after, _) = example();
    directory.write("a.npy", &before);
    // In memory, and through temporary files of which none stays.
    for memory in ["", "--memory 1M"] {
        for line in [
            "transpose -",
            "transpose - -",
            "transpose - -o -",
            "permute --axes 1,0 -",
            "rearrange 'a b -> b a' -",
        ] {
            let output = fed(&directory, &format!("{line} {memory}"), &before);
            let errors = errors(&output);
            assert_eq!(output.status.code(), Some(0), "{line} {memory}: {errors}");
            assert!(output.stdout == after, "{line} {memory}");
            assert!(errors.contains("standard input: 601x403 f4 -> 403x601"), "{errors}");
        }
        for line in ["transpose a.npy -", "transpose a.npy --output - --quiet"] {
            let output = fed(&directory, &format!("{line} {memory}"), b"");
            assert!(output.stdout == after, "{line} {memory}");
            assert_eq!(output.stderr.is_empty(), line.ends_with("--quiet"));
        }
        let output = fed(&directory, &format!("transpose - b.npy {memory} --json"), &before);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["file"], &report["output"]), (&"-".into(), &"b.npy".into()));
        assert!(directory.read("b.npy") == after);
        fs::remove_file(directory.at("b.npy")).unwrap();
    }
    assert!(directory.files() == [("a.npy".to_string(), before)]);
}

/// As a shell opens it for `> out.npy`: written where it is, by whatever names it has.
#[test]
fn a_file_that_a_shell_opened_is_written_and_not_replaced() {
    let directory = directory();
    let (before, after, _) = example();
    let at = |name: &str| directory.at(name);
    fs::write(at("a.npy"), &before).unwrap();
    fs::write(at("out.npy"), b"old").unwrap();
    fs::hard_link(at("out.npy"), at("other.npy")).unwrap();
    for memory in ["", "--memory 1M"] {
        let opened = fs::File::create(at("out.npy")).unwrap();
        let mut run = command(&directory, &format!("transpose a.npy - {memory} -q"));
        assert!(run.stdout(opened).status().unwrap().success(), "{memory}");
        assert!(fs::read(at("other.npy")).unwrap() == after, "{memory}");
    }
}

#[test]
fn headerless_arrays_come_from_pipes_too() {
    let directory = directory();
    let (_, _, data) = example();
    let line = format!("transpose - --raw --rows {ROWS} --cols {COLS} --elem-bytes 4");
    for memory in ["", "--memory 1M"] {
        let output = fed(&directory, &format!("{line} {memory}"), &data);
        assert!(output.stdout == transposed(&data, ROWS, COLS, 4), "{memory}");
    }
}

#[test]
fn streams_that_are_too_short_or_too_long_are_errors() {
    let directory = directory();
    let (before, _, data) = example();
    let raw = format!("transpose - --raw --rows {ROWS} --cols {COLS} --elem-bytes 4");
    directory.write("old.npy", b"old");
    let all = data.len();
    let more = |bytes: &[u8]| [bytes, b"x"].concat();
    for (line, bytes, words) in [
        (
            "transpose -",
            before[..before.len() - 1].to_vec(),
            format!("{} bytes of data, {all} were expected", all - 1),
        ),
        ("transpose -", more(&before), format!("continues after the {all} bytes")),
        ("transpose -", before[..40].to_vec(), "truncated".to_string()),
        ("transpose -", b"rows and columns".to_vec(), "not a .npy file".to_string()),
        ("transpose -", Vec::new(), "not a .npy file".to_string()),
        ("transpose -", npy("'<f8'", false, "(1000000000000, 1000000)", b""), String::new()),
        (&raw, data[..all - 3].to_vec(), format!("{} bytes of data", all - 3)),
        (&raw, more(&data), "continues after".to_string()),
    ] {
        for rest in ["", " --memory 1M", " -o old.npy", " --memory 1M -o old.npy", " new.npy"] {
            let output = fed(&directory, &format!("{line}{rest}"), &bytes);
            ended(&format!("{line}{rest}"), &output, 1, &[&words]);
            assert!(output.stdout.is_empty(), "{line}{rest}");
            assert!(directory.files() == [("old.npy".to_string(), b"old".to_vec())]);
        }
    }
}

#[test]
fn what_makes_no_sense_with_streams_is_refused() {
    let directory = directory();
    directory.write("a.npy", &example().0);
    directory.bad("transpose -i - a.npy", 2, &["standard input", "./-"]);
    directory.bad("transpose - a.npy", 1, &["a.npy is there already"]);
    let output = fed(&directory, "transpose - --member a", &example().0);
    ended("--member", &output, 1, &["name the file"]);
    // Errors for machines do not go among the data either.
    let output = fed(&directory, "transpose none.npy - --json", b"");
    assert!(output.stdout.is_empty());
    assert!(errors(&output).contains("{\"error\":"));
    let output = fed(&directory, "transpose - --dry-run", &example().0);
    assert!(output.stdout.is_empty());
    assert!(errors(&output).contains("would become 403x601"));
    // A file of that name is one like others.
    directory.write("-", &example().0);
    directory.good("transpose ./-");
    assert!(directory.read("-") == example().1);
}

/// As `cat` and others do.
#[cfg(unix)]
#[test]
fn who_writes_to_nobody_dies_of_it() {
    use std::os::unix::process::ExitStatusExt;
    let directory = directory();
    directory.write("a.npy", &example().0);
    for memory in ["", "--memory 1M"] {
        let mut child =
            command(&directory, &format!("transpose a.npy - {memory}")).spawn().unwrap();
        let mut begin = [0; 100];
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_exact(&mut begin).unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(13), "{:?}", output.status);
        assert!(output.stderr.is_empty());
    }
    assert_eq!(directory.files().len(), 1);
}

/// Temporary files of streams have no target whose name could be told.
#[cfg(unix)]
#[test]
fn where_a_stream_finds_no_room_is_said() {
    let directory = directory();
    directory.write("a.npy", npy("'|u1'", false, "(2048, 1024)", &noise(2 << 20)));
    let script = format!(
        "ulimit -f 600; exec {} transpose - --memory 1M < a.npy | cat > out",
        env!("CARGO_BIN_EXE_turntile")
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).env("TMPDIR", directory.path()).current_dir(&directory);
    let errors = errors(&command.output().unwrap());
    let words = format!("a temporary file in {} (TMPDIR): ", directory.path().display());
    assert!(errors.contains(&words), "{errors}");
}
