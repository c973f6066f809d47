//! Interruptions: the old file stays whole, and nothing else is left.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{directory, files, noise, transposed};

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

#[test]
fn an_interruption_leaves_the_old_file_and_nothing_else() {
    let (rows, cols, elem) = (4999, 5003, 4);
    let data = noise(rows * cols * elem);
    let after = transposed(&data, rows, cols, elem);
    let line = format!("transpose a.bin --raw --rows {rows} --cols {cols} --elem-bytes {elem}");
    // Sent as soon as the temporary file has so many bytes: as it appears, and while it is written.
    for (ignored, sent, written, code) in [
        (None, &["INT"][..], 0, 130),
        (None, &["TERM"], 0, 143),
        (None, &["HUP"], 0, 129),
        (None, &["INT"], 1, 130),
        (Some("HUP"), &["HUP", "INT"], 0, 130),
        (Some("INT"), &["INT", "TERM"], 0, 143),
        (Some("HUP"), &["HUP"], 0, 0),
    ] {
        let directory = directory();
        fs::write(directory.path().join("a.bin"), &data).unwrap();
        let child = command_ignoring(ignored)
            .args(line.split(' '))
            .current_dir(&directory)
            .env_remove("TURNTILE_WISDOM")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let temporary = || {
            fs::read_dir(&directory).unwrap().filter_map(Result::ok).any(|entry| {
                entry.file_name() != "a.bin"
                    && entry.metadata().is_ok_and(|found| found.len() >= written)
            })
        };
        let start = Instant::now();
        while !temporary() {
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
        let left = files(directory.path());
        assert_eq!(left.len(), 1, "{case}: a temporary file was left");
        match output.status.code() {
            // Done, where the signal is ignored or comes after the end of the writing.
            Some(0) if code == 0 || written > 0 => {
                assert!(left[0].1 == after, "{case}: no new file")
            }
            got => {
                assert_eq!(got, Some(code), "{case}");
                assert!(left[0].1 == data, "{case}: interrupted, and yet not the old file");
            }
        }
    }
}
