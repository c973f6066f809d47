//! `split`: a file per field of records.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::{directory, ended, noise, npy};

/// A record with gaps, an array, a title and a record within, and the bytes of its fields.
const RECORD: &str = "[(('a title', 'rho'), '<f4'), ('u', '<f4', (3,)), ('flag', '|u1'), ('', '|V3'), \
                      ('in', [('x', '<f8'), ('y', '|u1')])]";
const SIZES: [usize; 5] = [4, 12, 1, 3, 9];

/// Returns the data of each field of records.
pub fn columns(records: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
    let record = sizes.iter().sum();
    let column = |number: usize| {
        let from = sizes[..number].iter().sum::<usize>();
        records.chunks(record).flat_map(|one| &one[from..][..sizes[number]]).copied().collect()
    };
    (0..sizes.len()).map(column).collect()
}

fn records(count: usize) -> (Vec<u8>, Vec<u8>) {
    let data = noise(count * SIZES.iter().sum::<usize>());
    (npy(RECORD, 'C', &[count], &data), data)
}

#[test]
fn fields_have_files_of_their_own() {
    let directory = directory();
    // In several blocks; the last one is shorter.
    for count in [0, 1, 70_001, 300_032] {
        let (file, data) = records(count);
        directory.write("a.npy", &file);
        let all = columns(&data, &SIZES);
        let mut want = vec![
            ("a.npy".to_string(), file),
            ("new".to_string(), Vec::new()),
            ("new/flag.npy".to_string(), npy("'|u1'", 'C', &[count], &all[2])),
            ("new/in.npy".to_string(), npy("[('x', '<f8'), ('y', '|u1')]", 'C', &[count], &all[4])),
            ("new/rho.npy".to_string(), npy("'<f4'", 'C', &[count], &all[0])),
            ("new/u.npy".to_string(), npy("'<f4'", 'C', &[count, 3], &all[1])),
        ];
        for how in ["", "--memory 1M", "--threads 1"] {
            let text = directory.good(&format!("split a.npy --into new {how}"));
            assert!(text.starts_with(&format!("a.npy: {count} V29 -> 4 files")), "{text}");
            assert!(text.ends_with(" -> new\n"), "{text}");
            assert!(directory.files() == want, "{count} {how}");
            fs::remove_dir_all(directory.at("new")).unwrap();
        }
        want.truncate(1);
        let text = directory.good("split a.npy --into new --dry-run");
        assert!(text.contains("not written") && directory.files() == want, "{text}");
    }
}

#[test]
fn fields_of_headerless_records_are_numbered() {
    let directory = directory();
    let data = noise(20 * 1003);
    let sizes = [4, 12, 2, 2];
    directory.write("a.bin", [b"head", &*data, b"tail end"].concat());
    let line = "split --raw --fields 4,V12,2*>i2 --into new";
    directory.good(&format!("{line} --offset 4 --tail 8 a.bin --memory 1M"));
    let descrs = ["'|V4'", "'|V12'", "'>i2'", "'>i2'"];
    for (number, column) in columns(&data, &sizes).iter().enumerate() {
        let want = npy(descrs[number], 'C', &[1003], column);
        assert!(directory.read(&format!("new/f{number}.npy")) == want, "{number}");
    }
    directory.write("none.bin", b"");
    directory.good(&line.replace("new", "none none.bin"));
    assert!(directory.read("none/f1.npy") == npy("'|V12'", 'C', &[0], b""));
}

#[test]
fn records_come_from_standard_input() {
    let directory = directory();
    let (file, data) = records(1003);
    let mut command = directory.command("split - --into new -q");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&file).unwrap();
    assert!(child.wait().unwrap().success());
    let want = npy("'|u1'", 'C', &[1003], &columns(&data, &SIZES)[2]);
    assert!(directory.read("new/flag.npy") == want);
}

#[test]
fn what_cannot_be_split_is_rejected() {
    let directory = directory();
    let (file, data) = records(96);
    directory.write("a.npy", &file);
    directory.write("plain.npy", npy("'<f4'", 'C', &[24], &data[..96]));
    directory.write("f.npy", npy(RECORD, 'F', &[8, 12], &data));
    directory.write("object.npy", npy("[('a', '|O'), ('b', '<f8')]", 'C', &[2], &data[..32]));
    directory.write("path.npy", npy("[('../a', '<f4'), ('b', '<f8')]", 'C', &[4], &data[..48]));
    directory.write("empty.npy", npy("[('', '<f4'), ('b', '<f8')]", 'C', &[4], &data[..48]));
    directory.write("none.npy", npy("[]", 'C', &[4], b""));
    fs::create_dir(directory.at("folder")).unwrap();
    directory.all_bad(
        1,
        r"
        split plain.npy --into new | the elements are f4
        split f.npy --into new | in F order: run `turntile reorder --order C` first
        split object.npy --into new | pickle
        split path.npy --into new | field '../a' is not a file name
        split empty.npy --into new | field '' is not a file name
        split none.npy --into new | no fields
        split a.npy --into folder | folder exists already
        split a.npy --into a.npy | a.npy exists already
        split a.npy --into no/where | cannot create no/where: No such file
        split missing.npy --into new | No such file
        split a.npy --into new --member x | not a .npz archive
        split a.npy --into new --raw --fields 4,7 | are not a multiple of 11, the bytes of an element
        split a.npy --into new --raw --fields 2147483647,9 | more bytes than
        split a.npy --into new --route square | route square
        ",
    );
    for line in
        ["a.npy", "a.npy --into new --raw", "a.npy --into new --fields 4", "a.npy b.npy --into new"]
    {
        directory.bad(&format!("split {line}"), 2, &[]);
    }
    directory.good("reorder --order C f.npy -i");
    directory.good("split f.npy --into new");
}

/// No file of a directory has its name before all are complete.
#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_completed_is_removed() {
    let directory = directory();
    directory.write("a.npy", &records(100_000).0);
    let before = directory.files();
    let turntile = env!("CARGO_BIN_EXE_turntile");
    let script = format!("trap '' XFSZ; ulimit -f 600; exec {turntile} split a.npy --into new");
    let mut command = std::process::Command::new("sh");
    let output = command.args(["-c", &script]).current_dir(&directory).output().unwrap();
    ended(&script, &output, 1, &["new/", "File too large"]);
    assert!(directory.files() == before);
    directory.good("split a.npy --into new");
}
