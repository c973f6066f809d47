//! Members of .npz archives.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::{bad, directory, files, good, noise, npy, transposed};

const STORED: CompressionMethod = CompressionMethod::Stored;
const DEFLATED: CompressionMethod = CompressionMethod::Deflated;

fn archive(path: &Path, members: &[(&str, CompressionMethod, &[u8])]) {
    let mut writer = ZipWriter::new(File::create(path).unwrap());
    for (name, method, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(*method);
        // As numpy.savez writes all of them.
        writer.start_file(*name, options.large_file(true).unix_permissions(0o600)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.set_comment("a comment").unwrap();
    writer.finish().unwrap();
}

/// Of each member the name, the method, the bytes, and the bytes as they are packed.
fn members(path: &Path) -> Vec<(String, CompressionMethod, Vec<u8>, Vec<u8>)> {
    let mut zip = ZipArchive::new(File::open(path).unwrap()).unwrap();
    assert_eq!(zip.comment(), b"a comment");
    let count = zip.len();
    let one = |k| {
        let mut member = zip.by_index(k).unwrap();
        let (mut bytes, mut packed) = (Vec::new(), Vec::new());
        member.read_to_end(&mut bytes).unwrap();
        let (name, method) = (member.name().unwrap().into_owned(), member.compression());
        assert_eq!(member.unix_mode().map(|mode| mode & 0o777), Some(0o600), "{name}");
        drop(member);
        zip.by_index_raw(k).unwrap().read_to_end(&mut packed).unwrap();
        (name, method, bytes, packed)
    };
    (0..count).map(one).collect()
}

#[test]
fn a_member_is_changed_and_all_else_stays() {
    let directory = directory();
    let (rows, cols) = (601, 403);
    let data = noise(rows * cols * 4);
    let turned = transposed(&data, rows, cols, 4);
    let before = npy("'<f4'", false, &format!("({rows}, {cols})"), &data);
    let after = npy("'<f4'", false, &format!("({cols}, {rows})"), &turned);
    let names = ["a.npy", "deep/b \u{e9}.npy", "readme.txt", "z.npy"];
    let methods = [STORED, DEFLATED, DEFLATED, STORED];
    let all: Vec<_> = names
        .iter()
        .zip(methods)
        .map(|(name, method)| match *name {
            "readme.txt" => (*name, method, &b"what this is\n"[..]),
            _ => (*name, method, &before[..]),
        })
        .collect();
    let path = directory.path().join("x.npz");
    for (k, member) in [(0, "a"), (0, "a.npy"), (1, "deep/b \u{e9}"), (3, "z")] {
        for memory in [&[][..], &["--memory", "1M"]] {
            archive(&path, &all);
            let mut want = members(&path);
            let run = |words: &[&str]| {
                let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_turntile"));
                command.args(words).args(["--member", member]).args(memory);
                let output = command.current_dir(&directory).output().unwrap();
                let errors = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
                String::from_utf8(output.stdout).unwrap()
            };
            let old = fs::read(&path).unwrap();
            run(&["transpose", "x.npz", "y.npz"]);
            assert!(fs::read(&path).unwrap() == old);
            let text = run(&["transpose", "x.npz"]);
            assert!(!text.contains(", written to") && text.contains("x.npz, "), "{text}");
            want[k].2 = after.clone();
            for path in [&path, &directory.path().join("y.npz")] {
                let mut got = members(path);
                // How well it packs is up to what packed it.
                got[k].3.clone_from(&want[k].3);
                assert!(got == want, "{member} {memory:?}");
            }
            fs::remove_file(directory.path().join("y.npz")).unwrap();
            run(&["reorder", "x.npz", "--to", "fortran"]);
            assert!(members(&path)[k].2 == npy("'<f4'", true, &format!("({cols}, {rows})"), &data));
        }
    }
    assert_eq!(files(directory.path()).len(), 1);
}

#[test]
fn the_only_array_needs_no_name() {
    let directory = directory();
    let path = directory.path().join("x.npz");
    let data = noise(15);
    let before = npy("'|u1'", false, "(3, 5)", &data);
    archive(&path, &[("note.txt", STORED, b"."), ("only.npy", STORED, &before)]);
    let report = good(&directory, "transpose x.npz --json");
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["member"], "only");
    let after = npy("'|u1'", false, "(5, 3)", &transposed(&data, 3, 5, 1));
    assert!(members(&path)[1].2 == after);
    good(&directory, "transpose x.npz --member only --dry-run");
    assert!(members(&path)[1].2 == after);
}

#[test]
fn what_cannot_be_done_leaves_the_archive() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    let array = npy("'|u1'", false, "(3, 5)", &noise(15));
    archive(&at("two.npz"), &[("first.npy", STORED, &array), ("second.npy", DEFLATED, &array)]);
    archive(&at("none.npz"), &[("readme.txt", STORED, b"nothing")]);
    archive(&at("text.npz"), &[("a.npy", STORED, b"rows and columns")]);
    archive(&at("short.npz"), &[("a.npy", STORED, &array[..array.len() - 1])]);
    let whole = fs::read(at("two.npz")).unwrap();
    // A byte of the data is not what was packed.
    let mut broken = whole.clone();
    let data = noise(15);
    let place = whole.windows(15).position(|bytes| bytes == &data[..]).unwrap();
    broken[place + 7] ^= 1;
    fs::write(at("broken.npz"), broken).unwrap();
    fs::write(at("cut.npz"), &whole[..whole.len() - 30]).unwrap();
    fs::write(at("before.npz"), [b"PK\x03\x04", &whole[..]].concat()).unwrap();
    fs::write(at("a.npy"), &array).unwrap();
    for (line, words) in [
        ("transpose two.npz", &["several arrays", "--member", "first, second"][..]),
        ("transpose two.npz --member third", &["\"third\"", "first, second"]),
        ("transpose two.npz --member readme", &["no array", "first, second"]),
        ("transpose none.npz", &["no array"]),
        ("transpose text.npz", &["not a .npy file"]),
        ("transpose short.npz", &["15 bytes of data", "has 14"]),
        ("transpose a.npy --member first", &["not a .npz archive"]),
        ("transpose broken.npz --member first", &["broken.npz: \"first\" is damaged"]),
        ("transpose cut.npz --member first", &["cut.npz: "]),
        ("transpose before.npz --member first", &["before.npz: "]),
        ("transpose two.npz --member first -o b.npy", &["name it .npz"]),
        ("transpose two.npz --member first -", &["standard output"]),
        ("permute two.npz --member first --axes 0,2,1", &["names 3 axes"]),
    ] {
        bad(&directory, line, 1, words);
    }
}

#[test]
fn members_of_one_name_are_refused() {
    let directory = directory();
    let path = directory.path().join("x.npz");
    let array = npy("'|u1'", false, "(3, 5)", &noise(15));
    archive(&path, &[("one.npy", STORED, &array), ("two.npy", STORED, &array)]);
    let mut bytes = fs::read(&path).unwrap();
    for k in 0..bytes.len() - 7 {
        if bytes[k..].starts_with(b"two.npy") {
            bytes[k..k + 3].copy_from_slice(b"one");
        }
    }
    fs::write(&path, bytes).unwrap();
    bad(&directory, "transpose x.npz --member one", 1, &["same name"]);
    bad(&directory, "transpose x.npz", 1, &["same name"]);
}

#[test]
fn what_would_be_lost_or_is_not_there_is_told() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let array = npy("'<f4'", false, "(2, 3)", &noise(24));
    archive(&path, &[("x.npy", STORED, &array)]);
    let mut more = fs::read(&path).unwrap();
    more.extend(b"more");
    fs::write(directory.path().join("more.npz"), &more).unwrap();
    archive(&directory.path().join("none.npz"), &[("readme.txt", STORED, b"nothing")]);
    let names = [("a\nb.npy", STORED, &array[..]), ("c.npy", STORED, &array[..])];
    archive(&directory.path().join("names.npz"), &names);
    let before = files(directory.path());
    bad(&directory, "transpose more.npz --member x", 1, &["bytes behind the archive"]);
    bad(&directory, "transpose none.npz", 1, &["there is no array in it"]);
    bad(&directory, "transpose names.npz", 1, &["several arrays", r"a\nb, c"]);
    assert!(files(directory.path()) == before);
    good(&directory, "transpose a.npz");
}
