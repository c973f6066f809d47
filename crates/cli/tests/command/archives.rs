//! Members of .npz archives.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::{directory, ended, noise, npy, small, transposed};

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
    let path = directory.at("x.npz");
    for (k, member) in [(0, "a"), (0, "a.npy"), (1, "deep/b \u{e9}"), (3, "z")] {
        for memory in [&[][..], &["--memory", "1M"]] {
            archive(&path, &all);
            let mut want = members(&path);
            let run = |words: &[&str]| {
                let mut command = directory.command("");
                command.args(words).args(["--member", member]).args(memory);
                let output = command.output().unwrap();
                ended(words[0], &output, 0, &[]);
                String::from_utf8(output.stdout).unwrap()
            };
            let old = fs::read(&path).unwrap();
            run(&["transpose", "x.npz", "y.npz"]);
            assert!(fs::read(&path).unwrap() == old);
            let text = run(&["transpose", "x.npz"]);
            assert!(!text.contains(", written to") && text.contains("x.npz, "), "{text}");
            want[k].2 = after.clone();
            for path in [&path, &directory.at("y.npz")] {
                let mut got = members(path);
                // How well it packs is up to what packed it.
                got[k].3.clone_from(&want[k].3);
                assert!(got == want, "{member} {memory:?}");
            }
            fs::remove_file(directory.at("y.npz")).unwrap();
            run(&["reorder", "x.npz", "--to", "fortran"]);
            assert!(members(&path)[k].2 == npy("'<f4'", true, &format!("({cols}, {rows})"), &data));
        }
    }
    assert_eq!(directory.files().len(), 1);
}

#[test]
fn the_only_array_needs_no_name() {
    let directory = directory();
    let path = directory.at("x.npz");
    let data = noise(15);
    let before = npy("'|u1'", false, "(3, 5)", &data);
    archive(&path, &[("note.txt", STORED, b"."), ("only.npy", STORED, &before)]);
    let report = directory.json("transpose x.npz --json");
    assert_eq!(report["member"], "only");
    let after = npy("'|u1'", false, "(5, 3)", &transposed(&data, 3, 5, 1));
    assert!(members(&path)[1].2 == after);
    directory.good("transpose x.npz --member only --dry-run");
    assert!(members(&path)[1].2 == after);
    // Without the suffix, as others than NumPy write them and NumPy reads them; a name in full comes first.
    archive(&path, &[("note.txt", STORED, b"."), ("only", DEFLATED, &before)]);
    assert_eq!(directory.json("transpose x.npz --json")["member"], "only");
    assert!(members(&path)[1].2 == after);
    archive(&path, &[("a.npy", STORED, &after), ("a", STORED, &before), ("b", STORED, b".")]);
    directory.good("transpose x.npz --member a");
    assert!(members(&path)[0].2 == after && members(&path)[1].2 == after);
    directory.bad("transpose x.npz --member b", 1, &["not a .npy file"]);
}

#[test]
fn what_cannot_be_done_leaves_the_archive() {
    let directory = directory();
    let at = |name: &str| directory.at(name);
    let array = small();
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
    fs::write(at("more.npz"), [&whole[..], b"more"].concat()).unwrap();
    let names = [("a\nb.npy", STORED, &array[..]), ("c.npy", STORED, &array[..])];
    archive(&at("names.npz"), &names);
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
        ("transpose more.npz --member first", &["bytes behind the archive"]),
        ("transpose names.npz", &["several arrays", r"a\nb, c"]),
        ("transpose two.npz --member first -o b.npy", &["name it .npz"]),
        ("transpose two.npz --member first -", &["standard output"]),
        ("permute two.npz --member first --axes 0,2,1", &["names 3 axes"]),
        (
            "rearrange two.npz --member first '(a) -> a'",
            &["the left side has 1 axis, the array has 2"],
        ),
    ] {
        directory.bad(line, 1, words);
    }
}
