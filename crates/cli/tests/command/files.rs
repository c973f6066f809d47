//! What becomes of files.

use std::fs;

use crate::{directory, noise, npy, transposed};

#[test]
fn npy_files_are_transposed_in_place_and_elsewhere() {
    let directory = directory();
    let path = directory.at("a.npy");
    for (rows, cols) in [(1797, 64), (61, 67), (1, 9), (9, 1), (1, 1), (0, 5), (5, 0), (64, 64)] {
        for (descr, elem) in [("'<f4'", 4), ("'|V7'", 7), ("[('a', '<f8'), ('b', '|u1')]", 9)] {
            let data = noise(rows * cols * elem);
            fs::write(&path, npy(descr, false, &format!("({rows}, {cols})"), &data)).unwrap();
            let text = directory.good("transpose a.npy -o b.npy");
            assert!(text.contains(&format!("{rows}x{cols}")) && text.contains("b.npy"), "{text}");
            let want = transposed(&data, rows, cols, elem);
            let want = npy(descr, false, &format!("({cols}, {rows})"), &want);
            assert!(directory.read("b.npy") == want, "{rows}x{cols}");
            directory.good("transpose a.npy");
            assert!(fs::read(&path).unwrap() == want, "{rows}x{cols}");
        }
    }
    assert_eq!(directory.files().len(), 2);
}

#[test]
fn raw_files_are_transposed() {
    let directory = directory();
    let path = directory.at("a.bin");
    for (batch, rows, cols, elem) in
        [(1, 13, 29, 1), (3, 10, 4, 12), (2, 7, 7, 100), (1, 0, 3, 8), (5, 1, 6, 3)]
    {
        let data = noise(batch * rows * cols * elem);
        fs::write(&path, &data).unwrap();
        let line = format!(
            "transpose a.bin --raw --rows {rows} --cols {cols} --elem-bytes {elem} --batch {batch}"
        );
        directory.good(&line);
        assert!(fs::read(&path).unwrap() == transposed(&data, rows, cols, elem), "{line}");
    }
}

#[test]
fn raw_arrays_are_reported_by_their_extents() {
    let directory = directory();
    directory.write("a.bin", noise(3 * 10 * 4 * 12));
    // A batch of one is no axis.
    for (extents, before, after, text) in [
        (
            "--rows 10 --cols 4 --batch 3",
            vec![3, 10, 4],
            vec![3, 4, 10],
            "3x10x4 elements of 12 bytes -> 3x4x10 ",
        ),
        ("--rows 30 --cols 4", vec![30, 4], vec![4, 30], "30x4 elements of 12 bytes -> 4x30 "),
        ("--rows 1 --cols 120", vec![1, 120], vec![120, 1], "1x120 elements of 12 bytes -> 120x1;"),
    ] {
        let line = format!("transpose a.bin -o b.bin --raw {extents} --elem-bytes 12");
        let report = directory.json(&format!("{line} --json"));
        let array = |shape| serde_json::json!({ "shape": shape, "type": null, "elem_bytes": 12, "order": null });
        assert_eq!(report["before"], array(before), "{line}");
        assert_eq!(report["after"], array(after), "{line}");
        assert!(directory.good(&line).contains(text), "{line}");
    }
}

#[test]
fn reordering_turns_the_axes_round() {
    let directory = directory();
    let path = directory.at("a.npy");
    let data = noise(2 * 3 * 5 * 4);
    let c_file = npy("'<i4'", false, "(2, 3, 5)", &data);
    let (mut want, mut at) = (vec![0; data.len()], 0);
    for i in 0..2 {
        for j in 0..3 {
            for k in 0..5 {
                let to = (k * 6 + j * 2 + i) * 4;
                want[to..to + 4].copy_from_slice(&data[at..at + 4]);
                at += 4;
            }
        }
    }
    fs::write(&path, &c_file).unwrap();
    assert!(directory.good("reorder a.npy --to c").contains("nothing to do"));
    assert!(directory.good("reorder a.npy --to fortran").contains("c order -> fortran order"));
    assert!(fs::read(&path).unwrap() == npy("'<i4'", true, "(2, 3, 5)", &want));
    directory.good("reorder a.npy --to c");
    assert!(fs::read(&path).unwrap() == c_file);
    // The same order elsewhere is a copy.
    directory.good("reorder a.npy --to c --output b.npy");
    assert!(directory.read("b.npy") == c_file);
    // One axis has both orders: the header alone changes.
    fs::write(&path, npy("'<i4'", false, "(30,)", &data)).unwrap();
    assert!(directory.good("reorder a.npy --to fortran").contains("no element had to move"));
    assert!(fs::read(&path).unwrap() == npy("'<i4'", true, "(30,)", &data));
}

#[test]
fn axes_are_permuted() {
    let directory = directory();
    let path = directory.at("a.npy");
    let (extents, axes) = ([4, 3, 5, 2], [2, 0, 3, 1]);
    let data = noise(4 * 3 * 5 * 2 * 6);
    let mut want = Vec::new();
    for (c, a, d, b) in (0..5 * 4 * 2 * 3).map(|k| (k / 24, k / 6 % 4, k / 3 % 2, k % 3)) {
        let at = (((a * extents[1] + b) * extents[2] + c) * extents[3] + d) * 6;
        want.extend_from_slice(&data[at..at + 6]);
    }
    let named = axes.map(|axis| axis.to_string()).join(",");
    fs::write(&path, npy("'|V6'", false, "(4, 3, 5, 2)", &data)).unwrap();
    let text = directory.good(&format!("permute a.npy --axes {named}"));
    assert!(text.contains("4x3x5x2") && text.contains("5x4x2x3"), "{text}");
    assert!(fs::read(&path).unwrap() == npy("'|V6'", false, "(5, 4, 2, 3)", &want));
    // Back again, headerless.
    directory.write("b.bin", &want);
    let raw = "permute b.bin -o c.bin --raw --shape 5x4x2x3 --elem-bytes 6 --axes 1,3,0,2";
    let report = directory.json(&format!("{raw} --json"));
    assert_eq!(report["after"]["shape"], serde_json::json!([4, 3, 5, 2]));
    assert!(directory.read("c.bin") == data);
    // In Fortran order the axes lie the other way round: transpose().transpose(axes) of what was written.
    fs::write(&path, npy("'|V6'", true, "(2, 5, 3, 4)", &data)).unwrap();
    directory.good("permute a.npy --axes 2,0,3,1");
    assert!(
        fs::read(&path).unwrap()
            == npy("'|V6'", true, "(3, 2, 4, 5)", &{
                let mut want = Vec::new();
                // Memory lay as [4][3][5][2] = (d, c, b, a); it is to lie as [5][4][2][3] = (b, d, a, c).
                for (b, d, a, c) in (0..120).map(|k| (k / 24, k / 6 % 4, k / 3 % 2, k % 3)) {
                    let at = (((d * 3 + c) * 5 + b) * 2 + a) * 6;
                    want.extend_from_slice(&data[at..at + 6]);
                }
                want
            })
    );
}

#[test]
fn patterns_split_permute_and_join() {
    let directory = directory();
    let data = noise(4 * 6 * 5 * 6);
    // a (b c) d -> (d b) c a, of b = 2 and c = 3.
    let mut want = Vec::new();
    for (d, b, c, a) in (0..120).map(|k| (k / 24, k / 12 % 2, k / 4 % 3, k % 4)) {
        let at = ((a * 6 + b * 3 + c) * 5 + d) * 6;
        want.extend_from_slice(&data[at..at + 6]);
    }
    let before = npy("'|V6'", false, "(4, 6, 5)", &data);
    let after = npy("'|V6'", false, "(10, 3, 4)", &want);
    let pattern = "'a (b c) d -> (d b) c a' --size c=3";
    for line in [
        format!("rearrange a.npy {pattern}"),
        format!("rearrange {pattern} a.npy --memory 1M"),
        format!("rearrange -i {pattern},b=2 a.npy"),
    ] {
        directory.write("a.npy", &before);
        let text = directory.good(&line);
        assert!(text.contains("4x6x5") && text.contains("10x3x4"), "{text}");
        assert!(directory.read("a.npy") == after, "{line}");
    }
    // Back again, into another file.
    let back = "'(d b) c a -> a (b c) d' --size d=5";
    directory.good(&format!("rearrange a.npy {back} b.npy"));
    assert!(directory.read("b.npy") == before);
    // Headerless, where the shape is an option.
    directory.write("b.bin", &want);
    let raw = format!("rearrange b.bin {back} -o c.bin --raw --shape 10x3x4 --elem-bytes 6");
    let report = directory.json(&format!("{raw} --json"));
    assert_eq!(report["before"]["shape"], serde_json::json!([10, 3, 4]));
    assert_eq!(report["after"]["shape"], serde_json::json!([4, 6, 5]));
    assert!(directory.read("c.bin") == data);
    directory.bad(&raw.replace("10x3x4", "10x3x8"), 1, &["expected 1440 bytes (10 x 3 x 8 x 6)"]);
    // One axis, and none; and axes of 1 alone, which move nothing.
    for (pattern, shape) in [("'... -> (...)'", "(120,)"), ("'a b c -> a 1 (b c)'", "(4, 1, 30)")] {
        directory.write("a.npy", &before);
        directory.good(&format!("rearrange a.npy {pattern}"));
        assert!(directory.read("a.npy") == npy("'|V6'", false, shape, &data), "{pattern}");
    }
    // In Fortran order the array of that shape is rearranged, and the result is in that order too: here [d][bc][a].
    directory.write("a.npy", npy("'|V6'", true, "(5, 6, 4)", &data));
    directory.good("rearrange a.npy 'd (b c) a -> a (c b) d' --size c=3");
    let mut want = Vec::new();
    for (d, c, b, a) in (0..120).map(|k| (k / 24, k / 8 % 3, k / 4 % 2, k % 4)) {
        let at = ((a * 6 + b * 3 + c) * 5 + d) * 6;
        want.extend_from_slice(&data[at..at + 6]);
    }
    assert!(directory.read("a.npy") == npy("'|V6'", true, "(4, 6, 5)", &want));
}

#[test]
fn output_may_be_the_input() {
    let directory = directory();
    let data = noise(15);
    directory.write("a.npy", npy("'|u1'", false, "(3, 5)", &data));
    directory.good("transpose a.npy --output ./a.npy");
    let want = npy("'|u1'", false, "(5, 3)", &transposed(&data, 3, 5, 1));
    assert!(directory.files() == [("a.npy".to_string(), want)]);
}

/// Flat data are an array of one axis.
#[test]
fn one_axis_is_a_shape() {
    let directory = directory();
    directory.write("flat", b"abcdef");
    let raw = "--raw --shape 6 --elem-bytes 1 flat";
    directory.good(&format!("rearrange '(n c) -> c n' --size c=2 {raw}"));
    assert_eq!(directory.read("flat"), b"acebdf");
    directory.good(&format!("permute --axes 0 {raw}"));
    assert_eq!(directory.read("flat"), b"acebdf");
    let pattern = "6 --elem-bytes 1 --pattern '(a b) -> b a' --size a=2";
    assert!(directory.good(&format!("plan {pattern}")).contains("The 2 x 3 matrix"));
    directory.good(&format!("tune {pattern} --budget 0"));
    directory.bad(
        &raw.replace("--raw", "rearrange 'a -> a' --raw").replace('6', "5"),
        1,
        &["got 6"],
    );
}
