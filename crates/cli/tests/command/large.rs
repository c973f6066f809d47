//! Files larger than the memory limit.

use std::fs::File;

use serde_json::Value;

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

/// 139 MB from file to file move in blocks even if they fit in memory, unless an option only applies in memory.
#[test]
fn large_files_are_moved_in_blocks_without_a_limit() {
    let directory = directory();
    let (rows, cols, itemsize) = (200, 170, 4096);
    let mut data = vec![0; rows * cols * itemsize];
    for (number, element) in data.chunks_mut(itemsize).enumerate() {
        element[..4].copy_from_slice(&(number as u32).to_ne_bytes());
        element[itemsize - 4..].copy_from_slice(&(number as u32).to_be_bytes());
    }
    directory.write("a.bin", &data);
    directory.good("tune 30x50 --dtype f4 --budget 0 --wisdom w.json");
    let line = format!("transpose a.bin --raw --dtype V{itemsize} --shape");
    for (options, in_blocks) in [
        ("200x170 -i", true),
        ("200x170 -o b.bin --threads 1 --memory 1G", true),
        ("200x170 -i --workspace-limit 64M", false),
        ("200x170 -i --route aligned-slots", false),
        ("200x170 -i --wisdom w.json", false),
        ("160x200 --offset 0 -i", false),
    ] {
        let report = directory.json(&format!("{line} {options} --dry-run --json"));
        assert_eq!(report["blocks"].is_object(), in_blocks, "{options}: {report}");
        assert_eq!(report["plan"].is_string(), !in_blocks, "{options}: {report}");
    }
    // Data beyond the memory limit use all of it.
    let block_bytes = |options: &str| {
        let report = directory.json(&format!("{line} 200x170 -i {options} --dry-run --json"));
        report["blocks"]["block_bytes"].as_u64().unwrap()
    };
    assert!(block_bytes("") < data.len() as u64 / 4);
    assert!(block_bytes("--memory 100M") > data.len() as u64 / 2);
    let want = permuted(&data, &[rows, cols], &[1, 0], itemsize);
    // A wisdom file that only the environment names does not matter, and one thread needs no other.
    let mut command = directory.command(&format!("{line} 200x170 -i --json --threads 1"));
    let output = command.env("TURNTILE_WISDOM", "w.json").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["blocks"].is_object(), "{report}");
    assert!(directory.read("a.bin") == want);
}

/// `plan` prints what `transpose` does with a file, also in blocks.
#[test]
fn plans_of_large_files_are_in_blocks() {
    let directory = directory();
    for (name, shape, is_large) in
        [("small.npy", [200, 1000], false), ("a.npy", [20_000, 3000], true)]
    {
        // The data are a hole.
        directory.write(name, npy("'<f4'", 'C', &shape, &[]));
        let file = File::options().write(true).open(directory.at(name)).unwrap();
        let header = file.metadata().unwrap().len();
        file.set_len(header + 4 * (shape[0] * shape[1]) as u64).unwrap();
        for (options, in_blocks) in
            [("", is_large), ("--threads 1", is_large), ("--route cut", false)]
        {
            let plan = directory.json(&format!("plan {name} --json {options}"));
            let line = format!("transpose {name} -o b.npy --dry-run --json {options}");
            let mut done = directory.json(&line)["blocks"].take();
            assert_eq!(done.is_object(), in_blocks, "{name} {options}: {done}");
            done.as_object_mut().map(|blocks| blocks.remove("memory"));
            assert_eq!(plan["blocks"], done, "{name} {options}");
            let text = directory.good(&format!("plan {name} {options}"));
            assert_eq!(text.contains(" in 1 pass in blocks of "), in_blocks, "{text}");
        }
    }
}

/// A workspace limit keeps data in memory only if they fit.
#[cfg(target_os = "linux")]
#[test]
fn plans_of_files_larger_than_the_memory_are_in_blocks() {
    let directory = directory();
    directory.write("a.npy", npy("'<f4'", 'C', &[1_000_001, 1_000_000], &[]));
    let file = File::options().write(true).open(directory.at("a.npy")).unwrap();
    let header = file.metadata().unwrap().len();
    // The data are a hole of 4 TB, which not all file systems support.
    if file.set_len(header + 4_000_004_000_000).is_err() {
        return;
    }
    for options in ["", "--workspace-limit 64M"] {
        for line in ["plan a.npy --json", "transpose a.npy -i --dry-run --json"] {
            let report = directory.json(&format!("{line} {options}"));
            assert!(report["blocks"].is_object(), "{line} {options}: {report}");
        }
    }
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
