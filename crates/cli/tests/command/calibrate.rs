//! Rates made, found, named and refused.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::{bad, directory, good, turntile};

/// The one file below the user's data.
fn kept(directory: &TempDir) -> PathBuf {
    let rates = directory.path().join("data/turntile/rates");
    let mut files: Vec<_> = fs::read_dir(rates).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.swap_remove(0)
}

fn rates_of(directory: &TempDir, more: &str) -> Value {
    let line = format!("plan 720x180 --elem-bytes 4 --threads 1 --json {more}");
    let json: Value = serde_json::from_str(&good(directory, &line)).unwrap();
    json["rates"].clone()
}

fn with_environment(directory: &TempDir, line: &str, rates: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_turntile"))
        .args(line.split_whitespace())
        .env("TURNTILE_RATES", rates)
        .env("XDG_DATA_HOME", directory.path().join("data"))
        .current_dir(directory)
        .output()
        .unwrap()
}

#[test]
fn what_is_calibrated_is_found_named_and_ignored() {
    let directory = directory();
    assert_eq!(rates_of(&directory, ""), Value::Null);
    let text = good(&directory, "calibrate --threads 1 --budget 0");
    assert!(text.contains("copy, threads 1") && text.contains("commands find it there"), "{text}");
    let file = kept(&directory);
    assert_eq!(rates_of(&directory, ""), *file.to_str().unwrap());
    assert_eq!(rates_of(&directory, "--no-rates"), Value::Null);
    assert_eq!(rates_of(&directory, "--rates="), Value::Null);
    let text = good(&directory, "plan 720x180 --elem-bytes 4 --threads 1 --all");
    assert!(text.ends_with(&format!("estimated by the rates in {}\n", file.display())), "{text}");
    let text = good(&directory, "plan 720x180 --elem-bytes 4 --device h200");
    assert!(text.ends_with("estimated by turntile's own rates\n"), "{text}");

    // JSON has the file's own name, which a program can open.
    fs::copy(&file, directory.path().join("a\u{202e}b")).unwrap();
    assert_eq!(rates_of(&directory, "--rates a\u{202e}b"), "a\u{202e}b");

    // Named for a place of its own, and compared with what is planned by now.
    let line = "calibrate --threads 1 --budget 0 --output m\u{202e}.json --json";
    let json: Value = serde_json::from_str(&good(&directory, line)).unwrap();
    assert!(json["stages"].as_u64() >= Some(1) && json["gain"].as_f64() >= Some(1.0), "{json}");
    assert_eq!(json["file"], "m\u{202e}.json");
    fs::rename(directory.path().join("m\u{202e}.json"), directory.path().join("mine.json"))
        .unwrap();
    assert_eq!(rates_of(&directory, "--rates mine.json"), "mine.json");
    let line = "plan 720x180 --elem-bytes 4 --threads 1 --json";
    for (environment, expected) in [("mine.json", Value::from("mine.json")), ("", Value::Null)] {
        let output = with_environment(&directory, line, environment);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((json["rates"].clone(), &*output.stderr), (expected, &b""[..]));
    }
    let output = with_environment(&directory, line, "none.json");
    assert_eq!((output.status.code(), output.stdout.starts_with(b"{\"error\"")), (Some(1), true));
}

/// Named they are refused, found they are passed over with a word.
#[test]
fn another_machine_s_rates() {
    let directory = directory();
    good(&directory, "calibrate --threads 1 --budget 0");
    let file = kept(&directory);
    let table = fs::read_to_string(&file).unwrap();
    let mut other: Value = serde_json::from_str(&table).unwrap();
    other["device"] = "an abacus".into();
    fs::write(&file, other.to_string()).unwrap();
    fs::write(directory.path().join("other.json"), other.to_string()).unwrap();
    fs::write(directory.path().join("m.raw"), [0; 24]).unwrap();
    let raw = "--raw --rows 2 --cols 3 --elem-bytes 4";
    for line in [
        "plan 3x4 --elem-bytes 4 --rates other.json".to_string(),
        format!("transpose m.raw {raw} --rates other.json"),
        "bench --shapes 3x4 --rates other.json".to_string(),
        "tune 3x4 --elem-bytes 4 --rates other.json".to_string(),
    ] {
        bad(&directory, &line, 1, &["rates other.json are of an abacus, this is "]);
    }
    bad(&directory, "plan 3x4 --elem-bytes 4 --rates none.json", 1, &["rates none.json: "]);
    for line in [
        "plan 30x40 --elem-bytes 4".to_string(),
        format!("transpose m.raw out.raw {raw}"),
        "bench --shapes 30x40 --runs 1 --threads 1".to_string(),
    ] {
        let output = turntile(&directory, &line);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), errors.lines().count()),
            (Some(0), 1),
            "{line}: {errors}"
        );
        assert!(errors.starts_with("turntile: note: not used: rates "), "{errors}");
        assert!(errors.contains("are of an abacus, this is "), "{errors}");
    }
    good(&directory, &format!("transpose m.raw out2.raw {raw} --quiet"));
    good(&directory, "plan 30x40 --elem-bytes 4 --no-rates");
}

#[test]
fn what_cannot_be_calibrated_is_told_before_it_is_tried() {
    let directory = directory();
    fs::write(directory.path().join("file"), "").unwrap();
    bad(&directory, "calibrate --output none/rates.json", 1, &["there is no directory none"]);
    bad(&directory, "calibrate --output .", 1, &["is not a regular file"]);
    bad(&directory, "calibrate --output -", 1, &["not written to standard output"]);
    bad(&directory, "calibrate --device h100", 1, &["h100 only plans can be made for"]);
    bad(&directory, "calibrate --device abacus", 1, &["no device is named \"abacus\""]);
    bad(&directory, "calibrate --device cuda --threads 2", 1, &["--threads is for the host"]);
    bad(&directory, "calibrate --budget x", 2, &["--budget"]);
    let output = Command::new(env!("CARGO_BIN_EXE_turntile"))
        .arg("calibrate")
        .env_clear()
        .current_dir(&directory)
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("there is no place for rates"), "{errors}");
}

/// The place where all commands look is no other than one that is named.
#[cfg(unix)]
#[test]
fn where_rates_cannot_be_kept_is_told_before_they_are_measured() {
    let directory = directory();
    good(&directory, "calibrate --threads 1 --budget 0");
    let (file, data) = (kept(&directory), directory.path().join("data"));
    // Were it measured first, it would take years.
    let line = "calibrate --threads 1 --budget 1e9 --no-rates";
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    bad(&directory, line, 1, &[".json is not a regular file"]);
    fs::remove_dir_all(&data).unwrap();
    fs::write(&data, "").unwrap();
    bad(&directory, line, 1, &["Not a directory"]);
    fs::remove_file(&data).unwrap();
    std::os::unix::fs::symlink("/proc", &data).unwrap();
    bad(&directory, line, 1, &["leads to a device"]);
}

/// Nothing is written before all is measured.
#[cfg(unix)]
#[test]
fn an_interrupted_calibration_writes_nothing() {
    use rustix::process::{Pid, Signal, kill_process};
    let directory = directory();
    let mut child = Command::new(env!("CARGO_BIN_EXE_turntile"))
        .args(["calibrate", "--threads", "1", "--budget", "60"])
        .env("XDG_DATA_HOME", directory.path().join("data"))
        .current_dir(&directory)
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}
