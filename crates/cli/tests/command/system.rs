//! Links, permissions, devices: what the operating system has its own ideas of.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Output;

use crate::{Directory, directory, ended, errors, noise, npy, small, transposed};

#[test]
fn links_and_permissions_stay() {
    let directory = directory();
    let path = directory.at("a.npy");
    fs::write(&path, small()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
    symlink("a.npy", directory.at("link.npy")).unwrap();
    directory.good("transpose link.npy");
    let link = fs::symlink_metadata(directory.at("link.npy")).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o604);
    assert!(fs::read(&path).unwrap().starts_with(&npy("'|u1'", false, "(5, 3)", b"")));
}

/// The note is no error: the other name keeps the old data.
#[test]
fn hard_links_part_with_a_note() {
    let directory = directory();
    for (quiet, notes) in [("", 1), ("--quiet", 0), ("--output b.npy", 0)] {
        directory.write("a.npy", small());
        fs::hard_link(directory.at("a.npy"), directory.at("other.npy")).unwrap();
        let output = directory.turntile(&format!("transpose a.npy {quiet}"));
        let note = "a.npy has other names (hard links), under which the old data stay";
        let said = ended(quiet, &output, 0, &[]);
        assert_eq!(said.matches(note).count(), notes, "{quiet}: {said:?}");
        assert!(directory.read("other.npy") == small(), "{quiet}");
        fs::remove_file(directory.at("other.npy")).unwrap();
    }
}

#[test]
fn what_may_not_be_written_is_an_error() {
    let directory = directory();
    let path = directory.at("a.npy");
    fs::write(&path, small()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    directory.bad("transpose a.npy", 1, &["write-protected", "--output"]);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser may write where nobody may.
    if fs::write(directory.at("probe"), b"").is_err() {
        directory.bad("transpose a.npy", 1, &["temporary file"]);
    }
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the command with standard output going to `to`.
fn printing_to(to: File, directory: &Directory, line: &str) -> Output {
    directory.command(line).stdout(to).output().expect("the command starts")
}

#[test]
fn outputs_that_lead_through_dev_or_proc_are_refused() {
    if !Path::new("/dev/stdout").exists() {
        return eprintln!("not tested: there is no /dev/stdout");
    }
    let directory = directory();
    directory.write("a.npy", small());
    symlink("/dev/stdout", directory.at("link")).unwrap();
    symlink("link", directory.at("longer")).unwrap();
    directory.write("log", "a log\n");
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
        let log = OpenOptions::new().append(true).open(directory.at("log")).unwrap();
        let ran = printing_to(log, &directory, &format!("transpose a.npy -o {output}"));
        // Without /proc some of these lead nowhere, which is as good.
        let words = if cfg!(target_os = "linux") { "cannot be replaced" } else { "" };
        ended(output, &ran, 1, &[words]);
        assert_eq!(fs::read_to_string(directory.at("log")).unwrap(), "a log\n");
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 4);
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_printed_is_a_warning_once_the_file_is_replaced() {
    let directory = directory();
    let data = noise(15);
    directory.write("a.npy", npy("'|u1'", false, "(3, 5)", &data));
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (line, code, words) in [
        ("transpose a.npy", 0, "warning: done, but cannot print"),
        ("tune 3x5 --elem-bytes 4 --budget 0 --wisdom w.json", 0, "warning: done"),
        ("tune 3x5 --elem-bytes 4 --budget 0", 1, "cannot print the result"),
        ("plan 3x5 --elem-bytes 4", 1, "cannot print the result"),
    ] {
        let ran = printing_to(full(), &directory, line);
        ended(line, &ran, code, &[words]);
    }
    let want = npy("'|u1'", false, "(5, 3)", &transposed(&data, 3, 5, 1));
    assert!(directory.read("a.npy") == want);
}

#[test]
fn a_directory_that_cannot_be_synced_is_a_warning() {
    let directory = directory();
    directory.write("a.npy", small());
    let set =
        |mode| fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).unwrap();
    // Files can be made and renamed there, but the directory itself cannot be opened.
    set(0o300);
    let superuser = File::open(directory.path()).is_ok();
    let output = directory.turntile("transpose a.npy --quiet");
    set(0o755);
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    if !superuser {
        assert!(errors.contains("in place, but cannot sync the directory"), "{errors}");
    }
    assert!(directory.files()[0].1.starts_with(&npy("'|u1'", false, "(5, 3)", b"")));
}
