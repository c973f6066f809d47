//! The command as a user runs it: results, errors, exit codes, and files that stay whole.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn turntile(directory: &TempDir, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_turntile"))
        .args(line.split_whitespace())
        .current_dir(directory)
        .output()
        .expect("the command starts")
}

/// Runs the command, which must succeed, and returns what it printed.
fn good(directory: &TempDir, line: &str) -> String {
    let output = turntile(directory, line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*errors), (Some(0), ""), "{line}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the command, which must exit with `code`, print nothing, and complain with `words`. Every file
/// must be as it was, and no other be there.
fn bad(directory: &TempDir, line: &str, code: i32, words: &[&str]) {
    let before = files(directory.path());
    let output = turntile(directory, line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}: {errors}");
    assert!(output.stdout.is_empty(), "{line}");
    for word in words {
        assert!(errors.contains(word), "{line}: {errors:?} does not tell {word:?}");
    }
    assert!(files(directory.path()) == before, "{line}: files changed");
}

fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// A version 1.0 file padded as NumPy pads.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let len = (text.len() + 11).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(len as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(10 + len - 1, b' ');
    bytes.push(b'\n');
    bytes.extend_from_slice(data);
    bytes
}

/// Bytes in which every element differs from its neighbours.
fn noise(len: usize) -> Vec<u8> {
    let mix = |k: usize| (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    (0..len).map(|k| mix(k) as u8).collect()
}

fn transposed(data: &[u8], rows: usize, cols: usize, elem: usize) -> Vec<u8> {
    let mut result = vec![0; data.len()];
    if data.is_empty() {
        return result;
    }
    for (from, to) in data.chunks(rows * cols * elem).zip(result.chunks_mut(rows * cols * elem)) {
        for k in 0..rows * cols {
            let at = (k % cols * rows + k / cols) * elem;
            to[at..at + elem].copy_from_slice(&from[k * elem..][..elem]);
        }
    }
    result
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

#[test]
fn npy_files_are_transposed_in_place_and_elsewhere() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    for (rows, cols) in [(1797, 64), (61, 67), (1, 9), (9, 1), (1, 1), (0, 5), (5, 0), (64, 64)] {
        for (descr, elem) in [("'<f4'", 4), ("'|V7'", 7), ("[('a', '<f8'), ('b', '|u1')]", 9)] {
            let data = noise(rows * cols * elem);
            fs::write(&path, npy(descr, false, &format!("({rows}, {cols})"), &data)).unwrap();
            let text = good(&directory, "transpose a.npy -o b.npy");
            assert!(text.contains(&format!("{rows}x{cols}")) && text.contains("b.npy"), "{text}");
            let want = transposed(&data, rows, cols, elem);
            let want = npy(descr, false, &format!("({cols}, {rows})"), &want);
            assert!(fs::read(directory.path().join("b.npy")).unwrap() == want, "{rows}x{cols}");
            good(&directory, "transpose a.npy");
            assert!(fs::read(&path).unwrap() == want, "{rows}x{cols}");
        }
    }
    assert_eq!(files(directory.path()).len(), 2);
}

#[test]
fn raw_files_are_transposed() {
    let directory = directory();
    let path = directory.path().join("a.bin");
    for (batch, rows, cols, elem) in
        [(1, 13, 29, 1), (3, 10, 4, 12), (2, 7, 7, 100), (1, 0, 3, 8), (5, 1, 6, 3)]
    {
        let data = noise(batch * rows * cols * elem);
        fs::write(&path, &data).unwrap();
        let line = format!(
            "transpose a.bin --raw --rows {rows} --cols {cols} --elem-bytes {elem} --batch {batch}"
        );
        good(&directory, &line);
        assert!(fs::read(&path).unwrap() == transposed(&data, rows, cols, elem), "{line}");
    }
}

#[test]
fn reordering_turns_the_axes_round() {
    let directory = directory();
    let path = directory.path().join("a.npy");
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
    assert!(good(&directory, "reorder a.npy --to c").contains("nothing to do"));
    assert!(good(&directory, "reorder a.npy --to fortran").contains("c order -> fortran order"));
    assert!(fs::read(&path).unwrap() == npy("'<i4'", true, "(2, 3, 5)", &want));
    good(&directory, "reorder a.npy --to c");
    assert!(fs::read(&path).unwrap() == c_file);
    // The same order elsewhere is a copy.
    good(&directory, "reorder a.npy --to c --output b.npy");
    assert!(fs::read(directory.path().join("b.npy")).unwrap() == c_file);
    // One axis has both orders: the header alone changes.
    fs::write(&path, npy("'<i4'", false, "(30,)", &data)).unwrap();
    assert!(good(&directory, "reorder a.npy --to fortran").contains("no element had to move"));
    assert!(fs::read(&path).unwrap() == npy("'<i4'", true, "(30,)", &data));
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let directory = directory();
    fs::write(directory.path().join("a.npy"), npy("'|u1'", false, "(2, 3)", &noise(6))).unwrap();
    for line in [
        "",
        "turn a.npy",
        "transpose",
        "transpose a.npy --sideways",
        "transpose a.npy --rows 3",
        "transpose a.npy --raw --rows 3",
        "transpose a.npy --threads none",
        "reorder a.npy",
        "plan 3x --elem-bytes 4",
        "plan 3x5",
    ] {
        bad(&directory, line, 2, &[]);
    }
}

#[test]
fn what_cannot_be_done_is_exit_code_1_and_changes_nothing() {
    let directory = directory();
    let write = |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    let whole = npy("'<f4'", false, "(3, 5)", &noise(60));
    write("good.npy", &whole);
    write("short.npy", &whole[..whole.len() - 1]);
    write("long.npy", &[&whole[..], b"x"].concat());
    write("stub.npy", &whole[..40]);
    write("empty.npy", b"");
    write("text.npy", b"rows and columns");
    write("huge.npy", &npy("'<f8'", false, "(4611686018427387904, 4611686018427387904)", b""));
    write("big.npy", &npy("'<f8'", false, "(1000000, 1000000)", b""));
    write("negative.npy", &npy("'<f8'", false, "(-3, 5)", b""));
    write("object.npy", &npy("'|O'", false, "(3, 5)", &noise(60)));
    write("line.npy", &npy("'<f4'", false, "(15,)", &noise(60)));
    write("point.npy", &npy("'<f4'", false, "()", &noise(4)));
    write("raw.bin", &noise(60));
    fs::create_dir(directory.path().join("folder")).unwrap();
    for (line, words) in [
        ("transpose nothing.npy", &["nothing.npy", "No such file"][..]),
        ("transpose folder", &["not a regular file"]),
        ("transpose short.npy", &["60 bytes", "has 59"]),
        ("transpose long.npy", &["60 bytes", "has 61"]),
        ("transpose stub.npy", &["truncated", "128", "40"]),
        ("transpose empty.npy", &["not a .npy file"]),
        ("transpose text.npy", &["not a .npy file", "--raw"]),
        ("transpose huge.npy", &["more bytes than can be counted"]),
        ("transpose big.npy", &["8000000000000 bytes", "has 0"]),
        ("reorder negative.npy --to c", &["axis 0", "-3"]),
        ("transpose object.npy", &["pickle"]),
        ("transpose line.npy", &["at least 2 axes", "has 1"]),
        ("transpose point.npy", &["at least 2 axes", "has 0"]),
        ("transpose good.npy --route sideways", &["sideways"]),
        ("transpose good.npy --route square", &["square"]),
        ("transpose good.npy --output no/where.npy", &["no directory", "no"]),
        ("transpose good.npy --output folder", &["not a regular file"]),
        ("transpose good.npy --output /dev/null", &["not a regular file"]),
        ("transpose raw.bin --raw --rows 4 --cols 4 --elem-bytes 4", &["expected 64", "got 60"]),
        (
            "transpose raw.bin --raw --rows 4294967296 --cols 4294967296 --elem-bytes 2",
            &["more bytes than can be counted"],
        ),
        ("plan 3x5 --elem-bytes 4 --device abacus", &["abacus", "h200"]),
    ] {
        bad(&directory, line, 1, words);
    }
}

#[test]
fn output_may_be_the_input() {
    let directory = directory();
    let data = noise(15);
    fs::write(directory.path().join("a.npy"), npy("'|u1'", false, "(3, 5)", &data)).unwrap();
    good(&directory, "transpose a.npy --output ./a.npy");
    let want = npy("'|u1'", false, "(5, 3)", &transposed(&data, 3, 5, 1));
    assert!(files(directory.path()) == [("a.npy".to_string(), want)]);
}

#[test]
fn quiet_is_quiet_and_json_is_json() {
    let directory = directory();
    fs::write(directory.path().join("a.npy"), npy("'|u1'", false, "(30, 50)", &noise(1500)))
        .unwrap();
    assert_eq!(good(&directory, "transpose a.npy --quiet"), "");
    let text = good(&directory, "transpose a.npy --json --threads 1 --workspace 1MiB");
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["before"]["shape"], serde_json::json!([50, 30]));
    assert_eq!(report["after"]["shape"], serde_json::json!([30, 50]));
    assert_eq!(report["bytes"], 1500);
    assert!(report["gb_per_s"].as_f64().unwrap() > 0.0);
    assert!(report["seconds"]["transpose"].as_f64().unwrap() > 0.0);
    assert!(report["workspace_bytes"].as_u64().unwrap() <= 1 << 20);
    assert_eq!(report["routes"].as_array().unwrap().len(), 1);
    let failed = turntile(&directory, "transpose none.npy --json");
    let failed: serde_json::Value = serde_json::from_slice(&failed.stdout).unwrap();
    assert!(failed["error"].as_str().unwrap().contains("none.npy"));
}

#[test]
fn plans_are_printed() {
    let directory = directory();
    for device in ["host", "k20", "a100", "h200"] {
        let line = format!("plan 7200x1800 --elem-bytes 4 --device {device}");
        assert!(good(&directory, &line).contains("route"), "{line}");
        let all = good(&directory, &format!("{line} --all"));
        assert!(all.contains("GB/s") && all.contains("not possible: "), "{all}");
        let all = good(&directory, &format!("{line} --all --json"));
        let all: serde_json::Value = serde_json::from_str(&all).unwrap();
        assert!(all["candidates"].as_array().unwrap().len() > 1);
    }
    for line in ["plan 0x5 --elem-bytes 4 --all --json", "plan 1x1 --elem-bytes 64 --batch 3"] {
        good(&directory, line);
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn links_and_permissions_stay() {
        let directory = directory();
        let path = directory.path().join("a.npy");
        fs::write(&path, npy("'|u1'", false, "(3, 5)", &noise(15))).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        symlink("a.npy", directory.path().join("link.npy")).unwrap();
        good(&directory, "transpose link.npy");
        let link = fs::symlink_metadata(directory.path().join("link.npy")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o604);
        assert!(fs::read(&path).unwrap().starts_with(&npy("'|u1'", false, "(5, 3)", b"")));
    }

    #[test]
    fn what_may_not_be_written_is_an_error() {
        let directory = directory();
        let path = directory.path().join("a.npy");
        fs::write(&path, npy("'|u1'", false, "(3, 5)", &noise(15))).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        bad(&directory, "transpose a.npy", 1, &["write-protected", "--output"]);

        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o555)).unwrap();
        // The superuser may write where nobody may.
        if fs::write(directory.path().join("probe"), b"").is_err() {
            bad(&directory, "transpose a.npy", 1, &["temporary file"]);
        }
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Whether the tests were started with this signal ignored, as a script's background jobs are:
    /// then so is the command, and rightly.
    fn ignored(signal: u32) -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    }

    #[test]
    fn an_interruption_leaves_the_old_file_and_nothing_else() {
        let (rows, cols, elem) = (4999, 5003, 4);
        let data = noise(rows * cols * elem);
        let after = transposed(&data, rows, cols, elem);
        // At once, as the temporary file appears, and while it is being written.
        for (signal, number, written) in [("INT", 2, 0), ("TERM", 15, 0), ("INT", 2, 1)] {
            if [1, 2, 15].into_iter().any(ignored) {
                eprintln!("skipped: SIG{signal} ({number}) or a fellow is ignored here");
                return;
            }
            let directory = directory();
            fs::write(directory.path().join("a.bin"), &data).unwrap();
            let line =
                format!("transpose a.bin --raw --rows {rows} --cols {cols} --elem-bytes {elem}");
            let child = Command::new(env!("CARGO_BIN_EXE_turntile"))
                .args(line.split(' '))
                .current_dir(&directory)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let temporary = || {
                fs::read_dir(&directory).unwrap().filter_map(Result::ok).any(|entry| {
                    entry.file_name() != "a.bin"
                        && entry.metadata().is_ok_and(|found| found.len() >= written)
                })
            };
            let start = Instant::now();
            while !temporary() {
                assert!(start.elapsed() < Duration::from_secs(60), "no temporary file appeared");
                thread::sleep(Duration::from_micros(200));
            }
            let pid = child.id().to_string();
            let sent = Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap();
            assert!(sent.success());
            let output = child.wait_with_output().unwrap();
            let left = files(directory.path());
            assert_eq!(left.len(), 1, "a temporary file was left");
            match output.status.code() {
                Some(130) => assert!(left[0].1 == data, "interrupted, and yet not the old file"),
                // The end of the writing may come before the signal.
                Some(0) if written > 0 => assert!(left[0].1 == after, "not the new file"),
                other => panic!("exit code {other:?}"),
            }
        }
    }
}

#[test]
fn what_tune_remembers_transpose_uses() {
    let directory = TempDir::new().unwrap();
    let data = noise(240 * 180 * 4);
    fs::write(directory.path().join("m"), &data).unwrap();
    let shape = "--elem-bytes 4 --threads 1 --wisdom wisdom.json --json";
    let tuned = good(&directory, &format!("tune 240x180 {shape} --budget 0.05"));
    let tuned: serde_json::Value = serde_json::from_str(&tuned).unwrap();
    let winner = &tuned[0];
    assert!(winner["seconds"].as_f64() > Some(0.0) && winner["runs"].as_u64() > Some(0));
    let used = good(&directory, &format!("transpose m --raw --rows 240 --cols 180 {shape}"));
    let used: serde_json::Value = serde_json::from_str(&used).unwrap();
    assert_eq!(used["plans"][0], winner["plan"]);
    assert!(fs::read(directory.path().join("m")).unwrap() == transposed(&data, 240, 180, 4));
    fs::write(directory.path().join("wisdom.json"), "{").unwrap();
    bad_json(&directory, &format!("transpose m --raw --rows 180 --cols 240 {shape}"));
}

/// Runs the command, which must fail over a damaged wisdom file and leave all files as they were.
fn bad_json(directory: &TempDir, line: &str) {
    let before = files(directory.path());
    let output = turntile(directory, line);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert!(printed.contains("error") && printed.contains("is damaged"), "{printed}");
    assert!(files(directory.path()) == before, "{line}: files changed");
}
