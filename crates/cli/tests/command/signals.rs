//! Interruptions: the old file stays whole, and nothing else is left.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{directory, errors, noise, npy, transposed};

/// The command, to be started with this signal ignored and no other, whatever the tests were started
/// with: background jobs of scripts begin with some ignored, and children inherit that.
fn command_ignoring(signal: Option<&str>) -> Command {
    let reset =
        Command::new("env").args(["--default-signal", "true"]).stderr(Stdio::null()).status();
    let mut words = Vec::new();
    if reset.is_ok_and(|status| status.success()) {
        words.extend(["env", "--default-signal"].map(String::from));
    } else {
        eprintln!(
            "env cannot reset signals here: this fails where the tests were started with some ignored"
        );
    }
    if let Some(signal) = signal {
        let script = format!("trap '' {signal}; exec \"$@\"");
        words.extend(["sh", "-c", &script, "sh"].map(String::from));
    }
    words.push(env!("CARGO_BIN_EXE_turntile").to_string());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Whether the process has a temporary file of so many bytes in the directory, with a name or without.
fn has_temporary(pid: u32, directory: &Path, written: u64) -> bool {
    let large = |path: &Path| fs::metadata(path).is_ok_and(|found| found.len() >= written);
    let mut named = fs::read_dir(directory).unwrap().filter_map(Result::ok);
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().filter_map(Result::ok);
    let unnamed = |path: &Path| {
        let to = fs::read_link(path).unwrap_or_default();
        to.starts_with(directory) && to.to_string_lossy().ends_with(" (deleted)")
    };
    named.any(|entry| {
        !["a.bin", "a.npy"].iter().any(|name| entry.file_name() == *name) && large(&entry.path())
    }) || open.into_iter().any(|entry| unnamed(&entry.path()) && large(&entry.path()))
}

#[test]
fn an_interruption_leaves_the_old_file_and_nothing_else() {
    let (rows, cols, elem) = (4999, 5003, 4);
    let data = noise(rows * cols * elem);
    let after = transposed(&data, rows, cols, elem);
    let line = format!("transpose a.bin --raw --rows {rows} --cols {cols} --elem-bytes {elem}");
    // Sent as soon as the temporary file has so many bytes: as it appears, and while it is written. It dies of the
    // signal itself, by which a shell knows to end its loop.
    for (ignored, sent, written, signal) in [
        (None, &["INT"][..], 0, Some(2)),
        (None, &["TERM"], 0, Some(15)),
        (None, &["HUP"], 0, Some(1)),
        (None, &["QUIT"], 0, Some(3)),
        (None, &["KILL"], 1, Some(9)),
        (None, &["ABRT"], 1, Some(6)),
        (None, &["INT"], 1, Some(2)),
        (Some("HUP"), &["HUP", "INT"], 0, Some(2)),
        (Some("INT"), &["INT", "TERM"], 0, Some(15)),
        (Some("HUP"), &["HUP"], 0, None),
    ] {
        // Those that cannot be caught leave nothing where temporary files need no names.
        if cfg!(not(target_os = "linux")) && matches!(sent, ["KILL"] | ["ABRT"]) {
            continue;
        }
        let directory = directory();
        directory.write("a.bin", &data);
        let child = command_ignoring(ignored)
            .args(line.split(' '))
            .current_dir(&directory)
            .env_remove("TURNTILE_WISDOM")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while !has_temporary(child.id(), &directory.path().canonicalize().unwrap(), written) {
            assert!(start.elapsed() < Duration::from_secs(60), "no temporary file appeared");
            thread::sleep(Duration::from_micros(200));
        }
        let pid = child.id().to_string();
        for signal in sent {
            let kill = Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap();
            assert!(kill.success());
        }
        let output = child.wait_with_output().unwrap();
        let case = format!("{sent:?}, ignored {ignored:?}, at {written} bytes");
        let left = directory.files();
        assert_eq!(left.len(), 1, "{case}: a temporary file was left");
        match output.status.code() {
            // Done, where the signal is ignored or comes after the end of the writing.
            Some(0) if signal.is_none() || written > 0 => {
                assert!(left[0].1 == after, "{case}: no new file")
            }
            _ => {
                assert_eq!(output.status.signal(), signal, "{case}: {:?}", output.status);
                assert!(left[0].1 == data, "{case}: interrupted, and yet not the old file");
            }
        }
    }
}

/// Not even SIGKILL leaves anything of a directory that is not done, where temporary files need no names.
#[test]
fn an_interruption_leaves_nothing_of_a_directory() {
    let data = noise(13 * 2_000_000);
    let text = "[('a', '|u1'), ('b', '<f8'), ('c', '<f4')]";
    for (sent, signal) in [("KILL", 9), ("INT", 2), ("TERM", 15), ("HUP", 1)] {
        if cfg!(not(target_os = "linux")) && sent == "KILL" {
            continue;
        }
        let directory = directory();
        directory.write("a.npy", npy(text, false, "(2000000,)", &data));
        let mut child = command_ignoring(None)
            .args(["layout", "a.npy", "--split", "new", "-q"])
            .current_dir(&directory)
            .env_remove("TURNTILE_WISDOM")
            .spawn()
            .unwrap();
        let path = directory.path().canonicalize().unwrap();
        while !has_temporary(child.id(), &path, 1) && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_micros(200));
        }
        Command::new("kill").args([&format!("-{sent}"), &child.id().to_string()]).status().unwrap();
        let status = child.wait().unwrap();
        let left: Vec<_> =
            fs::read_dir(&directory).unwrap().map(|one| one.unwrap().file_name()).collect();
        let is_done = status.success() && left.len() == 2 && directory.at("new").exists();
        let is_ended = status.signal() == Some(signal) && left == ["a.npy"];
        assert!(is_done || is_ended, "{sent}: {status:?}, {left:?}");
    }
}

/// What is measured is printed at once, and stays.
#[test]
fn an_interruption_leaves_the_rows_that_were_measured() {
    let directory = directory();
    for (line, rows) in [
        ("bench --shapes 30x50,4000x3000 --runs 1000", 2),
        ("bench --shapes 30x50,4000x3000 --runs 1000 --csv", 2),
        ("bench --shapes 30x50,4000x3000 --runs 1000 --json", 1),
        ("tune 2000x1500 --elem-bytes 4 --budget 1000", 1),
    ] {
        let mut command = command_ignoring(None);
        command.args(line.split(' ')).current_dir(&directory).env_remove("TURNTILE_WISDOM");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap()).lines();
        let printed: Vec<_> = printed.map(Result::unwrap).take(rows).collect();
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(2), "{line}");
        assert_eq!(printed.len(), rows, "{line}: {printed:?}");
    }
}

#[test]
fn a_limit_on_files_is_an_error() {
    let directory = directory();
    let data = noise(1 << 20);
    directory.write("a.bin", &data);
    let line = "transpose a.bin --raw --rows 1024 --cols 256 --elem-bytes 4";
    let script = format!("ulimit -f 600; exec {} {line}", env!("CARGO_BIN_EXE_turntile"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(&directory).output().unwrap();
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("a.bin: File too large") && !errors.contains(".turntile-"), "{errors}");
    assert!(directory.files() == [("a.bin".to_string(), data)]);
}
