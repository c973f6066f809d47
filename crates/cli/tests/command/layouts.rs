//! Records from one layout to another, against places computed one by one.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::{Directory, directory, ended, errors, noise, npy};

/// A record with gaps, an array, a title and a record within; bytes of its fields.
const RECORD: &str = "[(('a title', 'rho'), '<f4'), ('u', '<f4', (3,)), ('flag', '|u1'), ('', '|V3'), \
                      ('in', [('x', '<f8'), ('y', '|u1')])]";
const SIZES: [usize; 5] = [4, 12, 1, 3, 9];

/// The same description with fields of so many records.
fn tiled(tile: usize) -> String {
    format!(
        "[(('a title', 'rho'), '<f4', ({tile},)), ('u', '<f4', ({tile}, 3)), ('flag', '|u1', ({tile},)), \
         ('', '|V3', ({tile},)), ('in', [('x', '<f8'), ('y', '|u1')], ({tile},))]"
    )
}

/// Records in tiles, the last of which may be shorter.
fn relaid(records: &[u8], sizes: &[usize], tile: usize) -> Vec<u8> {
    let bytes = sizes.iter().sum::<usize>();
    let mut all = Vec::new();
    for tile in records.chunks(tile.max(1) * bytes) {
        let mut begin = 0;
        for size in sizes {
            tile.chunks(bytes).for_each(|record| all.extend(&record[begin..][..*size]));
            begin += size;
        }
    }
    all
}

fn records(count: usize) -> (Vec<u8>, Vec<u8>) {
    let data = noise(count * SIZES.iter().sum::<usize>());
    (npy(RECORD, false, &format!("({count},)"), &data), data)
}

#[test]
fn files_say_what_lies_in_them() {
    let directory = directory();
    for (count, tile) in [(96, 32), (96, 1), (96, 96), (0, 8), (35, 7), (100_000, 32)] {
        let (before, data) = records(count);
        directory.write("a.npy", &before);
        let text = directory.good(&format!("layout a.npy --to asta:{tile}"));
        assert!(text.contains(&format!("aos -> asta:{tile}")), "{text}");
        let tiles =
            npy(&tiled(tile), false, &format!("({},)", count / tile), &relaid(&data, &SIZES, tile));
        assert!(directory.read("a.npy") == tiles, "{count} in {tile}");
        directory.good(&format!("layout a.npy --from asta:{tile} --to soa"));
        let columns = npy(&tiled(count), false, "(1,)", &relaid(&data, &SIZES, count));
        assert!(directory.read("a.npy") == columns, "{count} from {tile}");
        directory.good("layout a.npy b.npy --from soa --to aos");
        assert!(directory.read("b.npy")[..] == before[..] && directory.read("a.npy") == columns);
        fs::remove_file(directory.at("b.npy")).unwrap();
    }
    let report = directory.json("layout a.npy -o b.npy --from soa --to asta:4 --json");
    assert_eq!(report["before"]["layout"], "soa");
    assert_eq!(report["after"]["layout"], "asta:4");
    assert_eq!(report["after"]["shape"], serde_json::json!([25_000]));
}

#[test]
fn headerless_files_have_a_shorter_tile_at_their_end() {
    let directory = directory();
    let data = noise(25 * 1003);
    let sizes = [4, 12, 1, 8];
    directory.write("a.bin", &data);
    directory.good("layout a.bin --raw --fields 4,12,1,8 --to asta:32");
    assert!(directory.read("a.bin") == relaid(&data, &sizes, 32));
    directory.good("layout a.bin --raw --fields 4,12,1,8 --from asta:32 --to soa");
    assert!(directory.read("a.bin") == relaid(&data, &sizes, 1003));
    directory.good("layout a.bin --raw --fields 4,12,1,8 --from soa --to aos --records 1003");
    assert!(directory.read("a.bin") == data);
    directory.write("none.bin", b"");
    directory.good("layout none.bin --raw --fields 4,12 --to soa");
    let line = "layout - --raw --fields 4,12,1,8 --records 1003 --to soa";
    let mut child =
        directory.command(line).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&data).unwrap();
    assert!(child.wait_with_output().unwrap().stdout == relaid(&data, &sizes, 1003));
    directory.bad(
        "layout a.bin --raw --fields 4,12,2 --to soa",
        1,
        &["expected 25074 bytes (1393 records of 4 + 12 + 2 = 18), got 25075"],
    );
    let fields = vec!["2"; 385].join(",");
    directory.bad(
        &format!("layout a.bin --raw --fields {fields} --to soa"),
        1,
        &["expected 24640 bytes (32 records of 385 fields = 770), got 25075"],
    );
}

/// As NumPy writes them: an array of arrays, and 8-bit floats of another package.
#[test]
fn arrays_of_arrays_and_small_floats_are_read() {
    let directory = directory();
    let data = noise(17 * 6);
    let of = |first: &str, second: &str, shape: &str, data: &[u8]| {
        let descr = format!("[('a', ('<u4', (2,)), {first}), ('b', '<f1'{second})]");
        npy(&descr, false, shape, data)
    };
    let before = of("(2,)", "", "(6,)", &data);
    let tiles = of("(3, 2)", ", (3,)", "(2,)", &relaid(&data, &[16, 1], 3));
    directory.write("a.npy", &before);
    directory.good("layout a.npy --to asta:3");
    assert!(directory.read("a.npy") == tiles);
    directory.good("layout a.npy --from asta:3 --to aos");
    assert!(directory.read("a.npy") == before);
    directory.good("layout a.npy --split fields");
    let soa = relaid(&data, &[16, 1], 6);
    let want = [
        ("a.npy".to_string(), npy("'<u4'", false, "(6, 2, 2)", &soa[..96])),
        ("b.npy".to_string(), npy("'<f1'", false, "(6,)", &soa[96..])),
    ];
    assert!(columns(&directory, "fields") == want);
    for line in [
        "permute a.npy --axes 0",
        "reorder a.npy --to fortran",
        "rearrange a.npy '(a b) -> b a' --size a=2",
    ] {
        directory.good(line);
    }
    directory.write("m.npy", npy("'<f1'", false, "(2, 3)", b"abcdef"));
    directory.good("transpose m.npy");
    assert!(directory.read("m.npy") == npy("'<f1'", false, "(3, 2)", b"adbecf"));
}

/// What NumPy could not load, or would load without the field, is not written.
#[test]
fn fields_that_numpy_reads_no_arrays_of_are_refused() {
    let directory = directory();
    directory.write("text.npy", npy("[('NAME', '|S0'), ('RA', '>f8')]", false, "(4,)", &noise(32)));
    directory.write("unnamed.npy", npy("[('', '<f4'), ('b', '<u4')]", false, "(4,)", &noise(32)));
    directory.write(
        "within.npy",
        npy("[('a', [('b', '|S0')]), ('c', '<u4')]", false, "(4,)", &noise(16)),
    );
    for to in ["soa", "asta:2"] {
        for (file, words) in [
            (
                "text",
                "text.npy: field 'NAME' is of type '|S0': NumPy reads no arrays of it; --split",
            ),
            (
                "unnamed",
                "unnamed.npy: a field of type '<f4' has no name: as an array NumPy would take it for a gap",
            ),
        ] {
            directory.bad(&format!("layout {file}.npy --to {to}"), 1, &[words]);
        }
    }
    directory.good("layout text.npy --split fields");
    assert!(directory.at("fields/NAME.npy").exists());
    directory.good("layout within.npy --to soa");
}

/// The data of the files that are in a directory.
fn columns(directory: &Directory, name: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(directory.at(name)).unwrap().map(Result::unwrap);
    let mut all: Vec<_> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    all.sort();
    all
}

#[test]
fn fields_have_files_of_their_own() {
    let directory = directory();
    // Of several chunks, the last of which is shorter.
    for count in [0, 1, 70_001, 300_032] {
        let (before, data) = records(count);
        let soa = relaid(&data, &SIZES, count);
        let column = |skip: usize, size: usize| &soa[skip * count..][..size * count];
        let want = [
            ("flag.npy", npy("'|u1'", false, &format!("({count},)"), column(16, 1))),
            (
                "in.npy",
                npy("[('x', '<f8'), ('y', '|u1')]", false, &format!("({count},)"), column(20, 9)),
            ),
            ("rho.npy", npy("'<f4'", false, &format!("({count},)"), column(0, 4))),
            ("u.npy", npy("'<f4'", false, &format!("({count}, 3)"), column(4, 12))),
        ];
        let mut sources = vec![(before, "--to soa")];
        if count == 300_032 {
            let text = format!("({},)", count / 32);
            sources.push((
                npy(&tiled(32), false, &text, &relaid(&data, &SIZES, 32)),
                "--from asta:32",
            ));
        }
        if count > 0 {
            sources.push((npy(&tiled(count), false, "(1,)", &soa), "--from soa --to soa"));
            sources.push((npy(&tiled(count), false, "(1,)", &soa), "--from soa --memory 1MiB"));
            sources.push((sources[0].0.clone(), "--memory 1MiB"));
        }
        for (source, how) in sources {
            directory.write("a.npy", &source);
            let text = directory.good(&format!("layout a.npy {how} --split fields"));
            assert!(text.contains("soa") && text.contains("written to fields"), "{text}");
            let made = columns(&directory, "fields");
            assert_eq!(made.len(), want.len());
            for ((name, bytes), (known, want)) in made.iter().zip(&want) {
                assert!(name == known && bytes == want, "{name} of {count}, {how}");
            }
            assert!(directory.read("a.npy") == source);
            fs::remove_dir_all(directory.at("fields")).unwrap();
        }
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing else stays");
}

/// Their shape stays in the file of each field.
#[test]
fn records_along_any_axes_are_split() {
    let directory = directory();
    let data = noise(24 * 5);
    let kind = "[('a', '<f4'), ('b', '|u1')]";
    for (shape, count, axes) in [("(2, 3, 4)", 24, 3), ("(3, 5)", 15, 2), ("()", 1, 0)] {
        let data = &data[..5 * count];
        directory.write("a.npy", npy(kind, false, shape, data));
        let soa = relaid(data, &[4, 1], count);
        directory.good("layout a.npy --split fields");
        let want = [
            ("a.npy".to_string(), npy("'<f4'", false, shape, &soa[..4 * count])),
            ("b.npy".to_string(), npy("'|u1'", false, shape, &soa[4 * count..])),
        ];
        assert!(columns(&directory, "fields") == want, "{shape}");
        fs::remove_dir_all(directory.at("fields")).unwrap();
        let words = format!(
            "one axis, the array has {axes}; join them by `turntile rearrange '... -> (...)'`"
        );
        directory.bad("layout a.npy --to soa", 1, &[&words, "--split"]);
        directory.good("rearrange '... -> (...)' a.npy");
        directory.good("layout a.npy --to soa");
        let one = npy(
            &format!("[('a', '<f4', ({count},)), ('b', '|u1', ({count},))]"),
            false,
            "(1,)",
            &soa,
        );
        assert!(directory.read("a.npy") == one, "{shape}");
    }
    directory.write("a.npy", npy(kind, true, "(3, 5)", &data[..75]));
    directory.bad(
        "layout a.npy --split fields",
        1,
        &["Fortran order", "`turntile reorder --to c`"],
    );
    directory.good("reorder a.npy --to c");
    directory.good("layout a.npy --split fields");
}

/// The memory that is said to be needed is enough, and what is advised works.
#[test]
fn too_little_memory_is_reported_with_all_that_is_needed() {
    let directory = directory();
    let (file, data) = records(40_000);
    directory.write("a.npy", &file);
    directory.write("a.bin", &data);
    let bytes = data.len();
    for (line, hint) in [
        ("layout a.npy --to soa", "; --split writes a file of each field in less\n"),
        ("layout a.bin --to soa --raw --fields 4,12,1,3,9", "\n"),
    ] {
        let line = format!("{line} -o new --threads 1");
        let output = directory.turntile(&format!("{line} --memory 1160000"));
        let said =
            ended(&line, &output, 1, &[&format!("{bytes} bytes of data, "), " of workspace and "]);
        assert!(said.ends_with(&format!(", and 1160000 may be used{hint}")), "{said}");
        let need = said.split(" command are ").nth(1).unwrap().split(',').next().unwrap();
        let need: usize = need.parse().unwrap();
        assert!(need > 1_160_000, "{said}");
        directory.good(&format!("{line} --memory {need}"));
        directory.bad(&format!("{line} --memory {}", need - 1), 1, &["of the command are"]);
    }
    directory.good("layout a.npy --split fields --memory 1160000");
    assert_eq!(columns(&directory, "fields").len(), 4);
    directory.bad("layout a.npy --split -", 2, &["--split makes a directory", "./-"]);
    directory.good("layout a.npy --split ./-");
}

/// Nothing is said of a split that is not so.
#[test]
fn the_report_of_a_split_says_what_was_done() {
    let directory = directory();
    let (file, _) = records(700_000);
    directory.write("a.npy", &file);
    let text = directory.good("layout a.npy --split new");
    assert!(text.starts_with("a.npy: 700000 items record of 29 bytes, aos -> soa in "), "{text}");
    assert!(text.ends_with(", with reading and writing, written to new, 4 files\n"), "{text}");
    let text = directory.good("layout a.npy --split other --dry-run");
    assert!(text.ends_with("in other: 20.3 MB moved some records at a time\n"), "{text}");
}

#[test]
fn what_has_no_such_layout_is_refused() {
    let directory = directory();
    let (file, data) = records(96);
    directory.write("a.npy", &file);
    directory.write("plain.npy", npy("'<f4'", false, "(24,)", &data[..96]));
    directory.write("grid.npy", npy(RECORD, false, "(8, 12)", &data));
    directory.write("object.npy", npy("[('a', '|O'), ('b', '<f8')]", false, "(2,)", &data[..32]));
    directory.write(
        "mixed.npy",
        npy("[('a', '<f4', (4,)), ('b', '<f8', (2,))]", false, "(3,)", &data[..96]),
    );
    directory.write("path.npy", npy("[('../a', '<f4'), ('b', '<f8')]", false, "(4,)", &data[..48]));
    let many = "[('a', '|S0', (4611686018427387904,))]";
    directory.write("many.npy", npy(many, false, "(4,)", b""));
    directory.write("none.npy", npy("[]", false, "(4,)", b""));
    directory.write("x.bin", &data);
    fs::create_dir(directory.at("folder")).unwrap();
    for (line, words) in [
        (
            "layout a.npy --to asta:36",
            &["a.npy: tiles of 36 do not divide 96 records", "--raw"][..],
        ),
        (
            "layout a.npy --from asta:32 --to aos",
            &["every field is an array of as many records: 'rho' is no array"],
        ),
        ("layout a.npy --from soa --to aos", &["all fields are of one record, the array has 96"]),
        ("layout plain.npy --to soa", &["records have fields, the array's items are f4"]),
        ("layout grid.npy --to soa", &["one axis, the array has 2", "rearrange"]),
        ("layout object.npy --to soa", &["pickle"]),
        ("layout mixed.npy --from asta:4 --to aos", &["'b' has 2"]),
        ("layout path.npy --split new", &["'../a'", "no file's name"]),
        ("layout many.npy --from asta:4611686018427387904 --split new", &["more records than"]),
        ("layout none.npy --to soa", &["no fields"]),
        ("layout a.npy --split folder", &["folder is there already"]),
        ("layout a.npy --split no/where", &["cannot make no/where: cannot open no: No such file"]),
        ("layout a.npy --split a.npy", &["is there already"]),
        ("layout missing.npy --split new", &["No such file"]),
    ] {
        directory.bad(line, 1, words);
    }
    assert!(directory.good("layout a.npy --split new --dry-run").contains("would become"));
    assert!(!directory.at("new").exists());
    // Before a byte of the data is read.
    let text = npy("[('a', '|u1'), ('b', '|V32767')]", false, "(65536,)", b"");
    directory.write("long.npy", &text);
    let file = fs::File::options().write(true).open(directory.at("long.npy")).unwrap();
    file.set_len(text.len() as u64 + (1 << 31)).unwrap();
    for (line, words) in [
        ("layout long.npy --to soa", &["more bytes than can be counted"][..]),
        ("layout long.npy --to asta:32 --memory 64M", &["in memory", "--split"]),
    ] {
        ended(line, &directory.turntile(line), 1, words);
        assert!(
            fs::metadata(directory.at("long.npy")).unwrap().len() == text.len() as u64 + (1 << 31)
        );
    }
}

/// Nothing stays of a directory whose files could not be written.
#[cfg(unix)]
#[test]
fn a_directory_is_there_whole_or_not_at_all() {
    let directory = directory();
    let (file, _) = records(100_000);
    directory.write("a.npy", &file);
    let line = "layout a.npy --split new";
    let script = format!("ulimit -f 600; exec {} {line}", env!("CARGO_BIN_EXE_turntile"));
    let mut command = std::process::Command::new("sh");
    let output = command.args(["-c", &script]).current_dir(&directory).output().unwrap();
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("File too large") && !errors.contains(".turntile-"), "{errors}");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    // What a killed run left.
    let left = directory.at(".turntile-new-0123456789abcdef.tmp");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("rho.npy"), b"x").unwrap();
    let output = directory.turntile(line);
    assert!(output.status.success() && crate::errors(&output).contains("which a killed run left"));
    assert!(!left.exists() && directory.at("new").join("rho.npy").exists());
}
