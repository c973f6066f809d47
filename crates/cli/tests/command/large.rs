//! Files larger than the memory limit.

use crate::{directory, noise, npy, pair, permuted, transposed};

#[test]
fn files_are_moved_in_blocks() {
    let directory = directory();
    let (rows, cols) = (2003, 3001);
    let [before, after] = pair(rows, cols);
    let data = &before[before.len() - rows * cols * 4..];
    let turned = npy("'<f4'", 'F', &[rows, cols], &transposed(data, rows, cols, 4));
    // One pass, and two in very little memory.
    for (memory, passes) in [("20M", 1), ("1M", 2)] {
        directory.write("a.npy", &before);
        let line = format!("transpose a.npy -o b.npy --memory {memory} --json");
        let report = directory.json(&line);
        assert_eq!(report["blocks"]["passes"], passes, "{report}");
        assert!(directory.read("b.npy") == after, "{memory}");
        directory.good(&format!("transpose a.npy -i --memory {memory}"));
        assert!(directory.read("a.npy") == after, "{memory}");
        directory.good(&format!("transpose a.npy -i --axes 1,0 --memory {memory}"));
        assert!(directory.read("a.npy") == before, "{memory}");
        directory.good(&format!("reorder a.npy -i --order F --memory {memory}"));
        assert!(directory.read("a.npy") == turned, "{memory}");
        // Without a change of the order the other file is a copy.
        directory.good(&format!("reorder a.npy -o b.npy --order F --memory {memory}"));
        assert!(directory.read("b.npy") == turned, "{memory}");
    }
    assert_eq!(directory.files().len(), 2);
    let words = &["--route needs the data in memory", "see --memory"];
    directory.bad("transpose b.npy -i --memory 4M --route aligned-slots", 1, words);
}

#[test]
fn headerless_batches_are_moved_in_blocks() {
    let directory = directory();
    for (batch, rows, cols, itemsize) in
        [(3, 301, 203, 7), (5000, 9, 11, 2), (1, 3, 70_001, 5), (1, 70_001, 3, 5)]
    {
        let data = noise(batch * rows * cols * itemsize);
        directory.write("a.bin", [b"head", &*data, b"tail"].concat());
        let line = format!(
            "transpose --matrices -i a.bin --raw --dtype V{itemsize} --shape {batch}x{rows}x{cols} --offset 4"
        );
        directory.good(&format!("{line} --memory 1M"));
        let want = permuted(&data, &[batch, rows, cols], &[0, 2, 1], itemsize);
        assert!(directory.read("a.bin") == [b"head", &*want, b"tail"].concat(), "{line}");
    }
}
