//! Owners, permissions, access lists, attributes: no user gains access, and files of others are rejected.

use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use crate::{Directory, directory, ended, small};
use rustix::fs::{XattrFlags, fgetxattr, setxattr};

/// A user who owns nothing.
const NOBODY: u32 = 65534;

fn superuser() -> bool {
    let superuser = rustix::process::geteuid().is_root();
    if !superuser {
        eprintln!("not tested: this needs the superuser");
    }
    superuser
}

fn write(directory: &Directory, name: &str, mode: u32) {
    let path = directory.at(name);
    fs::write(&path, small()).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// Returns an access list: the owner and NOBODY may read and write, the file's group has no access.
fn access_list() -> Vec<u8> {
    let entry = |tag: u16, bits: u16, id: u32| {
        [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let [user_obj, user, group_obj, mask, other] = [0x01, 0x02, 0x04, 0x10, 0x20];
    [
        2u32.to_le_bytes().to_vec(),
        entry(user_obj, 6, u32::MAX),
        entry(user, 6, NOBODY),
        entry(group_obj, 0, u32::MAX),
        entry(mask, 6, u32::MAX),
        entry(other, 0, u32::MAX),
    ]
    .concat()
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 4096];
    let length = fgetxattr(File::open(path).unwrap(), name, &mut buffer[..]).ok()?;
    buffer.truncate(length);
    Some(buffer)
}

const LIST: &str = "system.posix_acl_access";

#[test]
fn access_lists_and_attributes_stay() {
    let directory = directory();
    let path = directory.at("a.npy");
    write(&directory, "a.npy", 0o600);
    let set = |name: &str, value: &[u8]| setxattr(&path, name, value, XattrFlags::empty());
    if set(LIST, &access_list()).is_err() || set("user.note", b"mine").is_err() {
        return eprintln!("not tested: this file system has no access lists or no attributes");
    }
    let before = (mode(&path), attribute(&path, LIST), attribute(&path, "user.note"));
    assert_eq!((before.0, before.1.is_some()), (0o660, true));
    directory.good("transpose a.npy -i");
    assert_eq!((mode(&path), attribute(&path, LIST), attribute(&path, "user.note")), before);
    // The group's bits are the mask of the list; without the list they would give the group access.
    directory.good("transpose a.npy --output b.npy");
    assert_eq!(mode(&directory.at("b.npy")), 0o600);
}

#[test]
fn default_access_lists_of_a_directory_do_not_apply() {
    let directory = directory();
    write(&directory, "a.npy", 0o640);
    let default = "system.posix_acl_default";
    if setxattr(directory.path(), default, &access_list(), XattrFlags::empty()).is_err() {
        return eprintln!("not tested: this file system has no access lists");
    }
    directory.good("transpose a.npy -i");
    let path = directory.at("a.npy");
    assert_eq!((mode(&path), attribute(&path, LIST)), (0o640, None));
}

#[test]
fn new_files_have_no_more_permissions_than_their_source() {
    let directory = directory();
    for bits in [0o600, 0o640, 0o400] {
        write(&directory, "a.npy", bits);
        let _ = fs::remove_file(directory.at("b.npy"));
        directory.good("transpose a.npy --output b.npy");
        assert_eq!(mode(&directory.at("b.npy")) & !bits, 0);
        fs::remove_file(directory.at("a.npy")).unwrap();
    }
}

/// Copies the command to where NOBODY can run it.
fn copy_command(directory: &Directory) {
    fs::create_dir(directory.at("bin")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_turntile"), directory.at("bin/turntile")).unwrap();
}

/// Runs the copied command as NOBODY.
fn as_nobody(directory: &Directory, line: &str) -> Output {
    let mut command = Command::new(directory.at("bin/turntile"));
    command.args(line.split_whitespace()).env_remove("TURNTILE_WISDOM").current_dir(directory);
    command.uid(NOBODY).gid(NOBODY);
    loop {
        match command.output() {
            // A test that forked meanwhile still has the copy open for writing.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(10));
            }
            output => return output.unwrap(),
        }
    }
}

#[test]
fn files_of_others_are_rejected_before_any_work() {
    if !superuser() {
        return;
    }
    let directory = directory();
    write(&directory, "a.npy", 0o666);
    copy_command(&directory);
    let before = directory.files();
    for bits in [0o777, 0o1777] {
        fs::set_permissions(directory.path(), Permissions::from_mode(bits)).unwrap();
        let line = "transpose a.npy -i";
        ended(line, &as_nobody(&directory, line), 1, &["belongs to user 0, group 0", "--output"]);
        assert!(directory.files() == before);
        assert_eq!(fs::metadata(directory.at("a.npy")).unwrap().uid(), 0);
    }
    let output = as_nobody(&directory, "transpose a.npy --output b.npy");
    assert!(output.status.success(), "{output:?}");
    // The superuser may, and the owner stays.
    directory.good("transpose b.npy -i");
    let metadata = fs::metadata(directory.at("b.npy")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (NOBODY, NOBODY));
}

/// Checked before measuring, which would take years.
#[test]
fn wisdom_files_that_cannot_be_written_are_rejected_before_measuring() {
    if !superuser() {
        return;
    }
    let directory = directory();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(directory.at("theirs")).unwrap();
    copy_command(&directory);
    directory.good("tune 3x4 --dtype f4 --budget 0 --wisdom theirs/fixed");
    fs::set_permissions(directory.at("theirs"), Permissions::from_mode(0o777)).unwrap();
    for (line, words) in [
        ("tune 30x40 --dtype f4 --budget 1e9 --wisdom w", "cannot write to "),
        ("tune 30x40 --dtype f4 --budget 1e9 --wisdom theirs/fixed", "fixed is write-protected"),
    ] {
        let before = directory.files();
        ended(line, &as_nobody(&directory, line), 1, &[words]);
        assert!(directory.files() == before, "{line}");
    }
}

#[test]
fn a_new_file_of_another_group_gives_that_group_no_access() {
    if !superuser() {
        return;
    }
    let directory = directory();
    write(&directory, "a.npy", 0o640);
    chown(directory.at("a.npy"), Some(0), Some(NOBODY)).unwrap();
    directory.good("transpose a.npy --output b.npy");
    assert_eq!(mode(&directory.at("b.npy")), 0o600);
}

#[test]
fn immutable_files_are_rejected_before_any_work() {
    let directory = directory();
    write(&directory, "a.npy", 0o644);
    let chattr = |flag: &str, name: &str| {
        let run = Command::new("chattr").args([flag, name]).current_dir(&directory).output();
        run.is_ok_and(|output| output.status.success())
    };
    for flag in ["i", "a"] {
        if !chattr(&format!("+{flag}"), "a.npy") {
            return eprintln!("not tested: chattr +{flag} is not possible here");
        }
        directory.bad("transpose a.npy -i", 1, &["a.npy is write-protected", "--output"]);
        assert!(chattr(&format!("-{flag}"), "a.npy"));
    }
    directory.good("transpose a.npy -i");
}
