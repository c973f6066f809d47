//! Links, permissions, devices: what the operating system has its own ideas of.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::{bad, directory, files, good, noise, npy, transposed};

#[test]
fn links_and_permissions_stay() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    fs::write(&path, npy("'|u1'", false, "(3, 5)", &noise(15))).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
    symlink("a.npy", directory.path().join("link.npy")).unwrap();
    good(&directory, "transpose link.npy");
    let link = fs::symlink_metadata(directory.path().join("link.npy")).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o604);
    assert!(fs::read(&path).unwrap().starts_with(&npy("'|u1'", false, "(5, 3)", b"")));
}

#[test]
fn what_may_not_be_written_is_an_error() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    fs::write(&path, npy("'|u1'", false, "(3, 5)", &noise(15))).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    bad(&directory, "transpose a.npy", 1, &["write-protected", "--output"]);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser may write where nobody may.
    if fs::write(directory.path().join("probe"), b"").is_err() {
        bad(&directory, "transpose a.npy", 1, &["temporary file"]);
    }
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the command with standard output going to `to`.
fn printing_to(to: File, directory: &TempDir, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_turntile"))
        .args(line.split_whitespace())
        .env_remove("TURNTILE_WISDOM")
        .current_dir(directory)
        .stdout(to)
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|child| child.wait_with_output())
        .expect("the command starts")
}

#[test]
fn outputs_that_lead_through_dev_or_proc_are_refused() {
    if !Path::new("/dev/stdout").exists() {
        return eprintln!("not tested: there is no /dev/stdout");
    }
    let directory = directory();
    fs::write(directory.path().join("a.npy"), npy("'|u1'", false, "(3, 5)", &noise(15))).unwrap();
    symlink("/dev/stdout", directory.path().join("link")).unwrap();
    symlink("link", directory.path().join("longer")).unwrap();
    fs::write(directory.path().join("log"), "a log\n").unwrap();
    let up = "../".repeat(40);
    for output in [
        "/dev/stdout",
        "/dev/../dev/stdout",
        &format!("{up}dev/stdout"),
        "/dev/fd/1",
        "/dev/a-new-file",
        "/proc/self/fd/1",
        "link",
        "longer",
    ] {
        let log = OpenOptions::new().append(true).open(directory.path().join("log")).unwrap();
        let ran = printing_to(log, &directory, &format!("transpose a.npy -o {output}"));
        let errors = String::from_utf8(ran.stderr).unwrap();
        // Without /proc some of these lead nowhere, which is as good.
        assert_eq!(ran.status.code(), Some(1), "{output}: {errors}");
        if cfg!(target_os = "linux") {
            assert!(errors.contains("cannot be replaced"), "{output}: {errors}");
        }
        assert_eq!(fs::read_to_string(directory.path().join("log")).unwrap(), "a log\n");
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 4);
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_printed_is_a_warning_once_the_file_is_replaced() {
    let directory = directory();
    let data = noise(15);
    fs::write(directory.path().join("a.npy"), npy("'|u1'", false, "(3, 5)", &data)).unwrap();
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (line, code, words) in [
        ("transpose a.npy", 0, "warning: done, but cannot print"),
        ("tune 3x5 --elem-bytes 4 --budget 0 --wisdom w.json", 0, "warning: done"),
        ("tune 3x5 --elem-bytes 4 --budget 0", 1, "cannot print the result"),
        ("plan 3x5 --elem-bytes 4", 1, "cannot print the result"),
    ] {
        let ran = printing_to(full(), &directory, line);
        let errors = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(code), "{line}: {errors}");
        assert!(errors.contains(words), "{line}: {errors}");
    }
    let want = npy("'|u1'", false, "(5, 3)", &transposed(&data, 3, 5, 1));
    assert!(fs::read(directory.path().join("a.npy")).unwrap() == want);
}

#[test]
fn a_directory_that_cannot_be_synced_is_a_warning() {
    let directory = directory();
    fs::write(directory.path().join("a.npy"), npy("'|u1'", false, "(3, 5)", &noise(15))).unwrap();
    let set =
        |mode| fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).unwrap();
    // Files can be made and renamed there, but the directory itself cannot be opened.
    set(0o300);
    let superuser = File::open(directory.path()).is_ok();
    let output = crate::turntile(&directory, "transpose a.npy --quiet");
    set(0o755);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    if !superuser {
        assert!(errors.contains("in place, but cannot sync the directory"), "{errors}");
    }
    assert!(files(directory.path())[0].1.starts_with(&npy("'|u1'", false, "(5, 3)", b"")));
}
