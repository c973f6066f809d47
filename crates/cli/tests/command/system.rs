//! Links, permissions, devices, and results that cannot be printed.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::{directory, ended, small};

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn links_and_permissions_stay() {
    let directory = directory();
    let path = directory.at("a.npy");
    directory.write("a.npy", small());
    set_mode(&path, 0o604);
    symlink("a.npy", directory.at("link.npy")).unwrap();
    directory.good("transpose link.npy -i");
    assert!(fs::symlink_metadata(directory.at("link.npy")).unwrap().is_symlink());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o604);
    assert!(directory.read("a.npy") != small());
    directory.good("transpose a.npy -o link.npy");
    assert!(directory.read("a.npy") == small());
}

#[test]
fn hard_links_keep_the_old_data_with_a_note() {
    let directory = directory();
    for (options, notes) in [("-i", 1), ("-i --quiet", 0), ("--output b.npy", 0)] {
        directory.write("a.npy", small());
        fs::hard_link(directory.at("a.npy"), directory.at("other.npy")).unwrap();
        let output = directory.turntile(&format!("transpose a.npy {options}"));
        let errors = ended(options, &output, 0, &[]);
        let note = "a.npy has other names (hard links), which keep the old data\n";
        assert_eq!(errors.matches(note).count(), notes, "{options}: {errors:?}");
        assert!(directory.read("other.npy") == small(), "{options}");
        fs::remove_file(directory.at("other.npy")).unwrap();
    }
}

#[test]
fn write_protected_files_are_rejected() {
    let directory = directory();
    directory.write("a.npy", small());
    set_mode(&directory.at("a.npy"), 0o444);
    directory.bad("transpose a.npy -i", 1, &["a.npy is write-protected", "--output"]);
    set_mode(&directory.at("a.npy"), 0o644);
    set_mode(directory.path(), 0o555);
    // The superuser may write anyway.
    if fs::write(directory.at("probe"), b"").is_err() {
        directory.bad("transpose a.npy -i", 1, &["cannot create", "Permission denied"]);
    }
    set_mode(directory.path(), 0o755);
}

#[test]
fn outputs_in_dev_or_proc_are_rejected() {
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
        let mut command = directory.command(&format!("transpose a.npy -o {output}"));
        let ran = command.stdout(log).output().unwrap();
        // Without /proc some of these lead nowhere.
        let words = if cfg!(target_os = "linux") { "cannot be replaced" } else { "" };
        ended(output, &ran, 1, &[words]);
        assert_eq!(fs::read_to_string(directory.at("log")).unwrap(), "a log\n");
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 4);
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_printed_are_errors() {
    let directory = directory();
    for line in [
        "transpose a.npy -i",
        "transpose a.npy -o -",
        "tune 3x5 --dtype f4 --budget 0",
        "plan 3x5 --dtype f4",
        "bench 3x5 --runs 1",
        "--help",
        "--version",
        "transpose --help",
    ] {
        directory.write("a.npy", small());
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = directory.command(line).stdout(full).output().unwrap();
        ended(line, &ran, 1, &["No space left on device"]);
        // The change itself is complete.
        assert_eq!(directory.read("a.npy") != small(), line == "transpose a.npy -i", "{line}");
    }
}
