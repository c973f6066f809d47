//! Signals: the old file stays whole, and nothing else is left.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{directory, errors, noise, npy, transposed};

/// Returns the command, to be started with only this signal ignored. Background jobs of scripts are started with some signals
/// ignored, which children inherit.
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
    command.args(&words[1..]).env_remove("TURNTILE_WISDOM");
    command
}

/// Waits until the process has a temporary file of at least `written` bytes below the directory, with a name or without.
fn wait_for_temporary(pid: u32, directory: &Path, written: u64) {
    let directory = directory.canonicalize().unwrap();
    let paths = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let is_named = |path: &Path| path.is_file() && path.file_stem() != Some("a".as_ref());
    let is_unnamed = |path: &Path| {
        let to = fs::read_link(path).unwrap_or_default();
        to.starts_with(&directory) && to.to_string_lossy().ends_with(" (deleted)")
    };
    let start = Instant::now();
    loop {
        let mut found = paths(&directory);
        found.retain(|path| is_named(path));
        found.extend(
            paths(format!("/proc/{pid}/fd").as_ref()).into_iter().filter(|path| is_unnamed(path)),
        );
        if found.iter().any(|path| fs::metadata(path).is_ok_and(|file| file.len() >= written)) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no temporary file appeared");
        thread::sleep(Duration::from_micros(200));
    }
}

fn send(signal: &str, pid: u32) {
    let kill = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(kill.unwrap().success());
}

/// The default action ends the command: temporary files without names need no removal.
#[test]
fn a_signal_leaves_the_old_file_and_nothing_else() {
    let (rows, cols) = (4999, 5003);
    let data = noise(rows * cols * 4);
    let after = transposed(&data, rows, cols, 4);
    let line = format!("transpose a.bin -i --raw --dtype f4 --shape {rows}x{cols}");
    // Sent when the temporary file has this size: as it appears, and while it is written.
    for (ignored, sent, written, signal) in [
        (None, &["INT"][..], 0, Some(2)),
        (None, &["TERM"], 0, Some(15)),
        (None, &["HUP"], 0, Some(1)),
        (None, &["KILL"], 1, Some(9)),
        (None, &["INT"], 1, Some(2)),
        (Some("HUP"), &["HUP", "INT"], 0, Some(2)),
        (Some("HUP"), &["HUP"], 0, None),
    ] {
        let directory = directory();
        directory.write("a.bin", &data);
        let mut command = command_ignoring(ignored);
        command.args(line.split(' ')).current_dir(&directory);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_temporary(child.id(), directory.path(), written);
        for signal in sent {
            send(signal, child.id());
        }
        let output = child.wait_with_output().unwrap();
        let case = format!("{sent:?}, ignored {ignored:?}, at {written} bytes");
        // Other systems give temporary files names, which a signal leaves.
        let mut left = directory.files();
        left.retain(|file| cfg!(target_os = "linux") || file.0 == "a.bin");
        assert_eq!(left.len(), 1, "{case}: a temporary file was left");
        match output.status.code() {
            // Completed: the signal was ignored, or came too late.
            Some(0) if signal.is_none() || written > 0 => assert!(left[0].1 == after, "{case}"),
            _ => {
                assert_eq!(output.status.signal(), signal, "{case}: {:?}", output.status);
                assert!(left[0].1 == data, "{case}: interrupted, and not the old file");
            }
        }
    }
}

/// No file has its name before all are complete. The directory may be left, empty.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_leaves_all_files_of_a_directory_or_none() {
    let data = noise(13 * 2_000_000);
    let descr = "[('a', '|u1'), ('b', '<f8'), ('c', '<f4')]";
    for (sent, signal) in [("KILL", 9), ("INT", 2), ("TERM", 15)] {
        let directory = directory();
        directory.write("a.npy", npy(descr, 'C', &[2_000_000], &data));
        let mut command = command_ignoring(None);
        command.args(["split", "a.npy", "--into", "new", "-q"]).current_dir(&directory);
        let mut child = command.spawn().unwrap();
        wait_for_temporary(child.id(), directory.path(), 1);
        send(sent, child.id());
        let status = child.wait().unwrap();
        let left: Vec<String> = directory.files().into_iter().map(|file| file.0).collect();
        let is_done = status.success() && left.len() == 5;
        let is_none = left == ["a.npy"] || left == ["a.npy", "new"];
        let is_ended = status.signal() == Some(signal) && is_none;
        assert!(is_done || is_ended, "{sent}: {status:?}, {left:?}");
    }
}

/// Each row is printed when it has been measured.
#[test]
fn a_signal_leaves_the_rows_that_were_measured() {
    let directory = directory();
    for (line, rows) in [
        ("bench 30x50 4000x3000 --runs 1000", 2),
        ("bench 30x50 4000x3000 --runs 1000 --csv", 2),
        ("bench 30x50 4000x3000 --runs 1000 --json", 1),
        ("tune 2000x1500 --dtype f4 --budget 1000", 1),
    ] {
        let mut command = command_ignoring(None);
        command.args(line.split(' ')).current_dir(&directory);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap()).lines();
        let printed: Vec<_> = printed.map(Result::unwrap).take(rows).collect();
        send("INT", child.id());
        assert_eq!(child.wait().unwrap().signal(), Some(2), "{line}");
        assert_eq!(printed.len(), rows, "{line}: {printed:?}");
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error() {
    let directory = directory();
    let data = noise(1 << 20);
    directory.write("a.bin", &data);
    let line = "transpose a.bin -i --raw --dtype f4 --shape 1024x256";
    let script =
        format!("trap '' XFSZ; ulimit -f 600; exec {} {line}", env!("CARGO_BIN_EXE_turntile"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(&directory).output().unwrap();
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("a.bin: ") && errors.contains("File too large"), "{errors}");
    assert!(directory.files() == [("a.bin".to_string(), data)]);
}
