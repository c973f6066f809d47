//! Several programs and one file.

use std::fs::{self, File};
use std::process::Stdio;

use crate::{directory, errors, pair, small};

#[test]
fn concurrent_runs_take_turns() {
    let directory = directory();
    let [before, after] = pair(3001, 2003);
    directory.write("a.npy", &before);
    for (runs, want) in [(2, &before), (3, &after)] {
        let start =
            |_| directory.command("transpose a.npy -i -q").stderr(Stdio::null()).spawn().unwrap();
        let started: Vec<_> = (0..runs).map(start).collect();
        for mut run in started {
            assert!(run.wait().unwrap().success());
        }
        assert!(directory.files() == [("a.npy".to_string(), want.clone())], "{runs} runs");
    }
}

/// One creates the file. The other replaces it afterwards, or fails and leaves it.
#[test]
fn concurrent_runs_create_one_file() {
    let directory = directory();
    let [before, after] = pair(3001, 2003);
    directory.write("a.npy", &before);
    for _ in 0..3 {
        let start = |_| {
            let mut command = directory.command("transpose a.npy -o b.npy -q");
            command.stderr(Stdio::piped()).spawn().unwrap()
        };
        for run in [0, 1].map(start) {
            let end = run.wait_with_output().unwrap();
            let errors = errors(&end);
            let is_second = errors.contains("b.npy was created by another program");
            assert_eq!(end.status.code(), Some(i32::from(is_second)), "{errors}");
        }
        assert!(directory.read("b.npy") == after);
        fs::remove_file(directory.at("b.npy")).unwrap();
    }
    assert_eq!(directory.files().len(), 1);
}

/// However often the file is replaced and locked again meanwhile.
#[cfg(unix)]
#[test]
fn waiting_is_reported_once() {
    use std::thread::sleep;
    use std::time::Duration;
    for (quiet, lines) in [("", 1), ("-q", 0)] {
        let directory = directory();
        let locked = |name: &str| {
            directory.write(name, small());
            let file = File::open(directory.at(name)).unwrap();
            file.lock().unwrap();
            file
        };
        let mut first = locked("a.npy");
        let mut command = directory.command(&format!("transpose a.npy -i {quiet}"));
        let run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        for _ in 0..3 {
            // By now the run waits for the current file.
            sleep(Duration::from_millis(200));
            let next = locked("next.npy");
            fs::rename(directory.at("next.npy"), directory.at("a.npy")).unwrap();
            first = next;
        }
        drop(first);
        let output = run.wait_with_output().unwrap();
        let errors = errors(&output);
        assert_eq!(output.status.code(), Some(0), "{errors}");
        assert_eq!(errors.matches("note: waiting for ").count(), lines, "{errors}");
        assert_eq!(errors.lines().count(), lines, "{errors}");
    }
}

#[test]
fn locked_files_are_rejected_if_asked_for() {
    let directory = directory();
    directory.write("a.npy", small());
    let reader = File::open(directory.at("a.npy")).unwrap();
    reader.lock_shared().unwrap();
    directory.bad("transpose a.npy -i --lock fail", 1, &["a.npy is locked", "--lock wait"]);
    directory.good("transpose a.npy --lock fail --output b.npy");
    directory.bad("transpose b.npy --lock fail --output a.npy", 1, &["a.npy is locked"]);
    directory.good("transpose a.npy -i --lock off");
}
