//! Several programs at one file.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::{bad, directory, files, good, noise, npy, transposed};

#[test]
fn runs_at_once_take_turns() {
    let directory = directory();
    let (rows, cols) = (3001, 2003);
    let data = noise(rows * cols * 4);
    let before = npy("'<f4'", false, &format!("({rows}, {cols})"), &data);
    let turned = transposed(&data, rows, cols, 4);
    let after = npy("'<f4'", false, &format!("({cols}, {rows})"), &turned);
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
