//! Files larger than the memory that may be used.

use std::fs;

use crate::{bad, directory, files, good, noise, npy, transposed};

#[test]
fn files_are_moved_block_by_block() {
    let directory = directory();
    let (rows, cols) = (4003, 3001);
    let data = noise(rows * cols * 4);
    let before = npy("'<f4'", false, &format!("({rows}, {cols})"), &data);
    let after =
        npy("'<f4'", false, &format!("({cols}, {rows})"), &transposed(&data, rows, cols, 4));
    let path = directory.path().join("a.npy");
    // One pass, and two in very little memory.
    for (memory, passes) in [("40MB", 1), ("1M", 2)] {
        fs::write(&path, &before).unwrap();
        let line = format!("transpose a.npy -o b.npy --memory {memory} --json");
        let report: serde_json::Value = serde_json::from_str(&good(&directory, &line)).unwrap();
        assert_eq!(report["blocks"]["passes"], passes, "{report}");
        assert!(fs::read(directory.path().join("b.npy")).unwrap() == after, "{memory}");
        good(&directory, &format!("transpose a.npy --memory {memory}"));
        assert!(fs::read(&path).unwrap() == after, "{memory}");
        good(&directory, &format!("permute a.npy --axes 1,0 --memory {memory}"));
        assert!(fs::read(&path).unwrap() == before, "{memory}");
        good(&directory, &format!("reorder a.npy --to fortran --memory {memory}"));
        let turned =
            npy("'<f4'", true, &format!("({rows}, {cols})"), &transposed(&data, rows, cols, 4));
        assert!(fs::read(&path).unwrap() == turned, "{memory}");
        // The same order elsewhere is a copy.
        good(&directory, &format!("reorder a.npy -o b.npy --to fortran --memory {memory}"));
        assert!(fs::read(directory.path().join("b.npy")).unwrap() == turned, "{memory}");
    }
    assert_eq!(files(directory.path()).len(), 2);
    bad(&directory, "transpose b.npy --memory 4MB --route panel", 1, &["--route", "--memory"]);
}

#[test]
fn headerless_batches_are_moved_block_by_block() {
    let directory = directory();
    let path = directory.path().join("a.bin");
    for (batch, rows, cols, elem) in
        [(3, 301, 203, 7), (5000, 9, 11, 2), (1, 3, 70_001, 5), (1, 70_001, 3, 5)]
    {
        let data = noise(batch * rows * cols * elem);
        fs::write(&path, &data).unwrap();
        let shape =
            format!("--raw --rows {rows} --cols {cols} --elem-bytes {elem} --batch {batch}");
        good(&directory, &format!("transpose a.bin {shape} --memory 1M"));
        assert!(fs::read(&path).unwrap() == transposed(&data, rows, cols, elem), "{shape}");
    }
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let directory = directory();
    fs::write(directory.path().join("a.npy"), npy("'<f4'", false, "(600, 400)", &noise(960_000)))
        .unwrap();
    let before = files(directory.path());
    for (line, words) in [
        ("transpose a.npy --dry-run", "would become 400x600 in a.npy"),
        ("transpose a.npy b.npy --dry-run", "in b.npy"),
        ("transpose a.npy --dry-run --memory 1M", "by blocks of"),
        ("reorder a.npy --to fortran --dry-run", "would become 600x400"),
    ] {
        let text = good(&directory, line);
        assert!(text.contains(words), "{text}");
        assert!(files(directory.path()) == before, "{line}");
    }
    bad(&directory, "transpose a.npy no/b.npy --dry-run", 1, &["no directory"]);
    bad(&directory, "transpose a.npy b.npy -o c.npy", 2, &["cannot be used with"]);
}
