//! Files larger than the memory that may be used.

use std::fs;

use crate::{directory, noise, npy, transposed};

#[test]
fn files_are_moved_block_by_block() {
    let directory = directory();
    let (rows, cols) = (4003, 3001);
    let data = noise(rows * cols * 4);
    let before = npy("'<f4'", false, &format!("({rows}, {cols})"), &data);
    let after =
        npy("'<f4'", false, &format!("({cols}, {rows})"), &transposed(&data, rows, cols, 4));
    let path = directory.at("a.npy");
    // One pass, and two in very little memory.
    for (memory, passes) in [("40MB", 1), ("1M", 2)] {
        fs::write(&path, &before).unwrap();
        let line = format!("transpose a.npy -o b.npy --memory {memory} --json");
        let report = directory.json(&line);
        assert_eq!(report["blocks"]["passes"], passes, "{report}");
        assert!(directory.read("b.npy") == after, "{memory}");
        directory.good(&format!("transpose a.npy --memory {memory}"));
        assert!(fs::read(&path).unwrap() == after, "{memory}");
        directory.good(&format!("permute a.npy --axes 1,0 --memory {memory}"));
        assert!(fs::read(&path).unwrap() == before, "{memory}");
        directory.good(&format!("reorder a.npy --to fortran --memory {memory}"));
        let turned =
            npy("'<f4'", true, &format!("({rows}, {cols})"), &transposed(&data, rows, cols, 4));
        assert!(fs::read(&path).unwrap() == turned, "{memory}");
        // The same order elsewhere is a copy.
        directory.good(&format!("reorder a.npy -o b.npy --to fortran --memory {memory}"));
        assert!(directory.read("b.npy") == turned, "{memory}");
    }
    assert_eq!(directory.files().len(), 2);
    directory.bad(
        "transpose b.npy --memory 4MB --route aligned-slots",
        1,
        &["--route", "--memory"],
    );
}

#[test]
fn headerless_batches_are_moved_block_by_block() {
    let directory = directory();
    let path = directory.at("a.bin");
    for (batch, rows, cols, elem) in
        [(3, 301, 203, 7), (5000, 9, 11, 2), (1, 3, 70_001, 5), (1, 70_001, 3, 5)]
    {
        let data = noise(batch * rows * cols * elem);
        fs::write(&path, &data).unwrap();
        let shape =
            format!("--raw --rows {rows} --cols {cols} --elem-bytes {elem} --batch {batch}");
        directory.good(&format!("transpose a.bin {shape} --memory 1M"));
        assert!(fs::read(&path).unwrap() == transposed(&data, rows, cols, elem), "{shape}");
    }
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let directory = directory();
    directory.write("a.npy", npy("'<f4'", false, "(600, 400)", &noise(960_000)));
    let before = directory.files();
    for (line, words) in [
        ("transpose a.npy --dry-run", "would become 400x600 in a.npy"),
        ("transpose a.npy b.npy --dry-run", "in b.npy"),
        ("transpose a.npy --dry-run --memory 1M", "by blocks of"),
        ("reorder a.npy --to fortran --dry-run", "would become 600x400"),
    ] {
        let text = directory.good(line);
        assert!(text.contains(words), "{text}");
        assert!(directory.files() == before, "{line}");
    }
    directory.bad("transpose a.npy no/b.npy --dry-run", 1, &["no directory"]);
    directory.bad("transpose a.npy b.npy -o c.npy", 2, &["cannot be used with"]);
}
