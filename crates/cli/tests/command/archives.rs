//! Arrays of .npz archives, which are read only.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::{directory, noise, npy, pair, small, transposed};

const STORED: CompressionMethod = CompressionMethod::Stored;
const DEFLATED: CompressionMethod = CompressionMethod::Deflated;

fn archive(path: &Path, members: &[(&str, CompressionMethod, &[u8])]) {
    let mut writer = ZipWriter::new(File::create(path).unwrap());
    for (name, method, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(*method);
        // numpy.savez writes all of its members this way.
        writer.start_file(*name, options.large_file(true)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap();
}

/// numpy/numpy#5976 and #28795: one array out of an archive that does not fit in memory.
#[test]
fn members_are_read() {
    let directory = directory();
    let [before, after] = pair(601, 403);
    archive(
        &directory.at("x.npz"),
        &[
            ("a.npy", STORED, &before),
            ("deep/b \u{e9}.npy", DEFLATED, &before),
            ("readme.txt", DEFLATED, b"what this is\n"),
            ("z", STORED, &before),
        ],
    );
    let archive = directory.read("x.npz");
    for member in ["a", "a.npy", "deep/b \u{e9}", "z"] {
        for memory in ["", "--memory 1M"] {
            let line = format!("x.npz --member '{member}' -o y.npy {memory}");
            let text = directory.good(&format!("transpose {line}"));
            assert!(text.contains("]: 601x403 f4 -> 403x601 f4"), "{text}");
            assert!(directory.read("y.npy") == after, "{line}");
            directory.good(&format!("reorder --order C {line}"));
            assert!(directory.read("y.npy") == before, "{line}");
        }
    }
    // Several at once, into a directory that is created.
    for memory in ["", "--memory 1M"] {
        let members = "--member a --member z";
        let text = directory.good(&format!("transpose x.npz {members} -o new {memory}"));
        assert!(text.contains("x.npz[a]") && text.contains(" -> new/a.npy\n"), "{text}");
        for name in ["new/a.npy", "new/z.npy"] {
            assert!(directory.read(name) == after);
        }
        fs::remove_dir_all(directory.at("new")).unwrap();
    }
    assert!(directory.read("x.npz") == archive);
    assert_eq!(directory.files().len(), 2);
}

/// With `.npy` in its name or without, as other programs than NumPy write it and NumPy reads it; a full name comes first.
#[test]
fn the_only_array_needs_no_name() {
    let directory = directory();
    let (path, before) = (directory.at("x.npz"), small());
    let after = npy("'|u1'", 'C', &[5, 3], &transposed(&noise(15), 3, 5, 1));
    for name in ["only.npy", "only"] {
        archive(&path, &[("note.txt", STORED, b"."), (name, DEFLATED, &before)]);
        assert_eq!(directory.json("transpose x.npz -o y.npy --json")["member"], "only");
        assert!(directory.read("y.npy") == after);
    }
    archive(&path, &[("a.npy", STORED, &after), ("a", STORED, &before), ("b", STORED, b".")]);
    directory.good("reorder --order C x.npz --member a -o y.npy");
    assert!(directory.read("y.npy") == before);
    directory.good("reorder --order C x.npz --member a.npy -o y.npy");
    assert!(directory.read("y.npy") == after);
    directory.bad("transpose x.npz --member b -o y.npy", 1, &["not a .npy file"]);
}

#[test]
fn what_cannot_be_read_changes_nothing() {
    let directory = directory();
    let at = |name: &str| directory.at(name);
    let array = small();
    archive(&at("two.npz"), &[("first.npy", STORED, &array), ("../b.npy", DEFLATED, &array)]);
    archive(&at("none.npz"), &[("readme.txt", STORED, b"nothing")]);
    archive(&at("text.npz"), &[("a.npy", STORED, b"rows and columns")]);
    archive(&at("short.npz"), &[("a.npy", STORED, &array[..array.len() - 1])]);
    let names = [("a\nb.npy", STORED, &array[..]), ("c.npy", STORED, &array[..])];
    archive(&at("names.npz"), &names);
    let whole = directory.read("two.npz");
    // A byte of the data is not what was stored.
    let mut broken = whole.clone();
    let place = whole.windows(15).position(|bytes| bytes == noise(15)).unwrap();
    broken[place + 7] ^= 1;
    directory.write("broken.npz", broken);
    // Neither stored nor deflated, in the member's header and in the directory.
    let mut method = whole.clone();
    for (name, offset) in [(&b"PK\x03\x04"[..], 8), (b"PK\x01\x02", 10)] {
        let at = whole.windows(4).position(|bytes| bytes == name).unwrap();
        method[at + offset] = 12;
    }
    directory.write("method.npz", method);
    directory.write("cut.npz", &whole[..whole.len() - 30]);
    directory.write("a.npy", &array);
    directory.all_bad(
        1,
        r"
        transpose two.npz -o b.npy | several arrays | --member: first, ../b
        transpose two.npz --member third -o b.npy | no array 'third' | first, ../b
        transpose two.npz --member first --member ../b -o new | '../b' is not a file name
        transpose two.npz -i | several arrays
        transpose two.npz --member first -i | read only | -o OUT.npy
        transpose short.npz -i | read only | -o OUT.npy
        transpose two.npz --member first -o b.npz | name it .npy
        transpose two.npz a.npy --member first -o new | --member needs one archive
        transpose none.npz -o b.npy | no arrays
        transpose text.npz -o b.npy | not a .npy file
        transpose short.npz -o b.npy | expected 15 bytes of data | got 14
        transpose a.npy --member first -o b.npy | not a .npz archive
        transpose a.npy -o b.npz | name it .npy
        transpose broken.npz --member first -o b.npy | broken.npz: member 'first' is damaged
        transpose method.npz --member first -o b.npy | compression is not supported
        transpose cut.npz --member first -o b.npy | cut.npz: 
        transpose names.npz -o b.npy | a\nb, c
        ",
    );
}
