//! Several programs at one file.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::{bad, directory, files, good, noise, npy, pair};

#[test]
fn runs_at_once_take_turns() {
    let directory = directory();
    let [before, after] = pair(3001, 2003);
    fs::write(directory.path().join("a.npy"), &before).unwrap();
    for (runs, want) in [(2, &before), (3, &after)] {
        let start = |_| {
            Command::new(env!("CARGO_BIN_EXE_turntile"))
                .args(["transpose", "a.npy", "--quiet"])
                .env_remove("TURNTILE_WISDOM")
                .current_dir(&directory)
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        let started: Vec<_> = (0..runs).map(start).collect();
        for mut run in started {
            assert!(run.wait().unwrap().success());
        }
        assert!(files(directory.path()) == [("a.npy".to_string(), want.clone())], "{runs} runs");
    }
}

/// One makes the new file; the other is told that it is there, before the work or after it.
#[test]
fn one_of_two_makes_a_new_file() {
    let directory = directory();
    let [before, after] = pair(3001, 2003);
    fs::write(directory.path().join("a.npy"), &before).unwrap();
    for _ in 0..3 {
        let start = |_| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_turntile"));
            command.args(["transpose", "a.npy", "b.npy", "-q"]).current_dir(&directory);
            command.env_remove("TURNTILE_WISDOM").stderr(Stdio::piped()).spawn().unwrap()
        };
        let started = [0, 1].map(start);
        let mut ends = started.map(|run| run.wait_with_output().unwrap());
        ends.sort_by_key(|end| end.status.code());
        assert_eq!(ends.each_ref().map(|end| end.status.code()), [Some(0), Some(1)]);
        let told = String::from_utf8_lossy(&ends[1].stderr);
        assert!(told.contains("b.npy was made") || told.contains("b.npy is there"), "{told}");
        assert!(fs::read(directory.path().join("b.npy")).unwrap() == after);
        fs::remove_file(directory.path().join("b.npy")).unwrap();
    }
}

/// However often the file is replaced and locked anew meanwhile.
#[cfg(unix)]
#[test]
fn waiting_is_told_of_once_or_not_at_all() {
    use std::thread::sleep;
    use std::time::Duration;
    let array = npy("'|u1'", false, "(3, 5)", &noise(15));
    for (quiet, lines) in [("", 1), ("-q", 0)] {
        let directory = directory();
        let at = |name: &str| directory.path().join(name);
        let locked = |name: &str| {
            fs::write(at(name), &array).unwrap();
            let file = File::open(at(name)).unwrap();
            file.lock().unwrap();
            file
        };
        let mut first = locked("a.npy");
        let mut command = Command::new(env!("CARGO_BIN_EXE_turntile"));
        command.args(["transpose", "a.npy"]).args(quiet.split_whitespace());
        command.current_dir(&directory).env_remove("TURNTILE_WISDOM");
        let run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        for _ in 0..3 {
            // By now it waits for the file that is there.
            sleep(Duration::from_millis(200));
            let next = locked("next.npy");
            fs::rename(at("next.npy"), at("a.npy")).unwrap();
            first = next;
        }
        drop(first);
        let output = run.wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{told}");
        assert_eq!(told.matches("waiting for ").count(), lines, "{told}");
        assert_eq!(told.lines().count(), lines, "{told}");
    }
}

#[test]
fn a_locked_file_is_refused_where_it_is_not_to_be_waited_for() {
    let directory = directory();
    fs::write(directory.path().join("a.npy"), npy("'|u1'", false, "(3, 5)", &noise(15))).unwrap();
    let reader = File::open(directory.path().join("a.npy")).unwrap();
    reader.lock_shared().unwrap();
    bad(&directory, "transpose a.npy --lock refuse", 1, &["a.npy is locked", "--lock wait"]);
    good(&directory, "transpose a.npy --lock refuse --output b.npy");
    bad(&directory, "transpose b.npy --lock refuse --output a.npy", 1, &["a.npy is locked"]);
    good(&directory, "transpose a.npy --lock off");
}
