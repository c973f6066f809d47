//! Several programs at one file.

use std::fs::{self, File};
use std::process::Stdio;

use crate::{directory, errors, pair, small};

#[test]
fn runs_at_once_take_turns() {
    let directory = directory();
    let [before, after] = pair(3001, 2003);
    directory.write("a.npy", &before);
    for (runs, want) in [(2, &before), (3, &after)] {
        let start =
            |_| directory.command("transpose a.npy --quiet").stderr(Stdio::null()).spawn().unwrap();
        let started: Vec<_> = (0..runs).map(start).collect();
        for mut run in started {
            assert!(run.wait().unwrap().success());
        }
        assert!(directory.files() == [("a.npy".to_string(), want.clone())], "{runs} runs");
    }
}

/// One makes the new file; the other is refused, before the work or after it.
#[test]
fn one_of_two_makes_a_new_file() {
    let directory = directory();
    let [before, after] = pair(3001, 2003);
    directory.write("a.npy", &before);
    for _ in 0..3 {
        let start = |_| {
            directory.command("transpose a.npy b.npy -q").stderr(Stdio::piped()).spawn().unwrap()
        };
        let started = [0, 1].map(start);
        let mut ends = started.map(|run| run.wait_with_output().unwrap());
        ends.sort_by_key(|end| end.status.code());
        assert_eq!(ends.each_ref().map(|end| end.status.code()), [Some(0), Some(1)]);
        let errors = errors(&ends[1]);
        assert!(errors.contains("b.npy was made") || errors.contains("b.npy is there"), "{errors}");
        assert!(directory.read("b.npy") == after);
        fs::remove_file(directory.at("b.npy")).unwrap();
    }
}

/// However often the file is replaced and locked anew meanwhile.
#[cfg(unix)]
#[test]
fn waiting_is_reported_once_or_not_at_all() {
    use std::thread::sleep;
    use std::time::Duration;
    let array = small();
    for (quiet, lines) in [("", 1), ("-q", 0)] {
        let directory = directory();
        let at = |name: &str| directory.at(name);
        let locked = |name: &str| {
            fs::write(at(name), &array).unwrap();
            let file = File::open(at(name)).unwrap();
            file.lock().unwrap();
            file
        };
        let mut first = locked("a.npy");
        let mut command = directory.command(&format!("transpose a.npy {quiet}"));
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
        let errors = errors(&output);
        assert_eq!(output.status.code(), Some(0), "{errors}");
        assert_eq!(errors.matches("waiting for ").count(), lines, "{errors}");
        assert_eq!(errors.lines().count(), lines, "{errors}");
    }
}

#[test]
fn a_locked_file_is_refused_where_it_is_not_to_be_waited_for() {
    let directory = directory();
    directory.write("a.npy", small());
    let reader = File::open(directory.at("a.npy")).unwrap();
    reader.lock_shared().unwrap();
    directory.bad("transpose a.npy --lock refuse", 1, &["a.npy is locked", "--lock wait"]);
    directory.good("transpose a.npy --lock refuse --output b.npy");
    directory.bad("transpose b.npy --lock refuse --output a.npy", 1, &["a.npy is locked"]);
    directory.good("transpose a.npy --lock off");
}
