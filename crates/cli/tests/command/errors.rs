//! Exit codes and what is said, for people and for machines.

use std::fs;

use crate::{bad, directory, good, near, noise, npy, turntile};

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

/// Built with the GPU backend or not, on a machine without a driver.
const WITHOUT_A_GPU: &[&str] = if cfg!(all(feature = "cuda", target_os = "linux")) {
    &["no NVIDIA driver", "libcuda.so.1"]
} else {
    &["without the GPU backend", "feature `cuda`"]
};

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
    let deep = |open: &str| npy(&open.repeat(15_000), false, "(3, 5)", &noise(60));
    write("braces.npy", &deep("{"));
    write("fields.npy", &deep("{0:"));
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
        ("transpose braces.npy", &["malformed"]),
        ("reorder fields.npy --to c", &["malformed"]),
        ("transpose line.npy", &["at least 2 axes", "has 1"]),
        ("transpose point.npy", &["at least 2 axes", "has 0"]),
        ("plan 3x4x5 --elem-bytes 4 --batch 2 --axes 1,0", &["[1, 0] is no order of 3 axes"]),
        ("permute good.npy --axes 0,2,1", &["names 3 axes", "has 2"]),
        ("permute point.npy --axes 0", &["names 1 axes", "has 0"]),
        ("permute line.npy --axes 1,0", &["names 2 axes", "has 1"]),
        ("bench --device h200", &["h200 is a preset", "cuda"]),
        ("tune 3x5 --elem-bytes 4 --device gtx480", &["gtx480", "cuda"]),
        ("plan 3x5 --elem-bytes 4 --into --route square", &["route square", "in place alone"]),
        ("tune 3x5 --elem-bytes 4 --route out-of-place", &["out-of-place", "out of place alone"]),
        ("bench --device cuda --threads 2", &["--threads", "cuda"]),
        ("bench --device cuda:x", &["cuda:x"]),
        ("bench --device cuda", WITHOUT_A_GPU),
        ("tune 3x5 --elem-bytes 4 --device cuda", WITHOUT_A_GPU),
        ("plan 3x5 --elem-bytes 4 --device cuda:7", WITHOUT_A_GPU),
        ("transpose good.npy --route square", &["square"]),
        ("transpose good.npy --output no/where.npy", &["no directory", "no"]),
        ("transpose good.npy --output folder", &["not a regular file"]),
        ("transpose good.npy --output /dev/null", &["/dev/null leads to a device"]),
        ("transpose raw.bin --raw --rows 4 --cols 4 --elem-bytes 4", &["expected 64", "got 60"]),
        ("transpose raw.bin --raw --rows 4294967296 --cols 4294967296 --elem-bytes 2", &["exceed"]),
        ("transpose good.npy --wisdom none.json", &["no wisdom file none.json", "tune"]),
        ("reorder good.npy --to c --wisdom none.json", &["no wisdom file none.json"]),
        ("plan 3x5 --elem-bytes 4 --wisdom none.json", &["no wisdom file none.json"]),
        ("plan 3x5 --elem-bytes 4 --device abacus", &["abacus", "h200"]),
        ("plan 3x5 --elem-bytes 4 --device h200 --threads 2", &["--threads", "h200"]),
    ] {
        bad(&directory, line, 1, words);
    }
    let unknown: &[&str] = &["aligned-slots", "three-stage", "out-of-place"];
    for line in ["transpose good.npy --route sideways", "bench --route best,four-stage"] {
        bad(&directory, line, 2, unknown);
    }
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
    let seconds = report["seconds"]["transpose"].as_f64().unwrap();
    near(report["gb_per_s"].as_f64().unwrap() * seconds * 1e9, 2.0 * 1500.0, 1e-9);
    let failed = turntile(&directory, "transpose none.npy --json");
    let failed: serde_json::Value = serde_json::from_slice(&failed.stdout).unwrap();
    assert!(failed["error"].as_str().unwrap().contains("none.npy"));
}

#[test]
fn wrong_usage_is_told_to_machines_too() {
    let directory = directory();
    for line in [
        "transpose --json",
        "plan 3x5 --elem-bytes 4 --json --device",
        "transpose a --threads 0 --json",
    ] {
        let output = turntile(&directory, line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!told["error"].as_str().unwrap().is_empty() && !output.stderr.is_empty(), "{line}");
    }
    assert!(good(&directory, "transpose --help --json").contains("Usage"));
}

#[test]
fn values_are_as_people_write_them() {
    let directory = directory();
    fs::write(directory.path().join("a.npy"), npy("'|u1'", false, "(30, 50)", &noise(1500)))
        .unwrap();
    for amount in ["64M", "1.5MiB", "10%"] {
        good(&directory, &format!("transpose a.npy --workspace {amount}"));
    }
    for number in ["0", "-1", "many"] {
        for line in ["transpose a.npy", "bench --shapes 3x5", "plan 3x5 --elem-bytes 4"] {
            bad(
                &directory,
                &format!("{line} --threads {number}"),
                2,
                &["number of threads from 1"],
            );
        }
    }
    bad(&directory, "bench --shapes foo", 2, &["7200x1800"]);
}

/// In the command's words and not in those of what it is made of.
#[test]
fn values_that_are_wrong_are_told_what_is_expected() {
    let directory = directory();
    let raw = "transpose a --raw --rows 3 --cols 5 --elem-bytes 4";
    for (line, words) in [
        (
            &*raw.replace("--rows 3", "--rows three"),
            &["--rows", "whole number from 0", "as in 4"][..],
        ),
        (&raw.replace("--cols 5", "--cols -5"), &["--cols"]),
        (&raw.replace("--elem-bytes 4", "--elem-bytes 0"), &["--elem-bytes", "from 1", "as in 4"]),
        (&format!("{raw} --batch 1.5"), &["--batch", "whole number", "as in 4"]),
        ("plan 3x5 --elem-bytes 99999999999999999999", &["--elem-bytes", "from 1"]),
        ("plan 3x-5 --elem-bytes 4", &["'-5'", "as in 7200x1800"]),
        ("permute a --axes 1,zero", &["'zero'", "as in 2,0,1"]),
        ("permute a --axes -1,0", &["'-1'", "as in 2,0,1"]),
        ("transpose a --memory -5M", &["-5M", "--memory", "as in 64M"]),
        ("transpose a --workspace -5%", &["-5%", "--workspace", "as in 10%"]),
        ("permute a --axes 1,0 --raw --elem-bytes 4 --shape -3x5", &["'-3'", "as in 7200x1800"]),
        ("bench --shapes 3x4x5:1-a-0", &["'a'", "as in 2-0-1"]),
        ("bench --runs none", &["--runs", "from 1"]),
        ("tune 3x5 --elem-bytes 4 --budget soon", &["--budget", "seconds, as in 5 or 0.5"]),
        ("plan 3x4 --elem-bytes 4 --rates f", &["unexpected argument '--rates'"]),
        ("calibrate", &["unrecognized subcommand 'calibrate'"]),
    ] {
        let output = turntile(&directory, line);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {told}");
        for word in words {
            assert!(told.contains(word), "{line}: {told:?} does not tell {word:?}");
        }
        for word in ["invalid digit", "in string", "literal", "Duration", "usize"] {
            assert!(!told.contains(word), "{line}: {told}");
        }
    }
    // Of the command that was called, and not of all.
    for (line, usage) in [
        ("transpose a b c", "turntile transpose [OPTIONS] FILE OUT"),
        ("plan 3x5", "turntile plan [OPTIONS]"),
    ] {
        bad(&directory, line, 2, &[usage]);
    }
}

#[cfg(unix)]
#[test]
fn names_do_no_harm_to_a_terminal() {
    use std::process::Command;
    let directory = directory();
    let name = "\x1b[31mred\n.npy";
    let run = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turntile"));
        command.args(["transpose", name]).current_dir(&directory).output().unwrap()
    };
    let told = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let missing = told(run(name).stderr);
    assert!(missing.contains("\\u{1b}[31mred\\n.npy") && !missing.contains('\x1b'), "{missing}");
    fs::write(directory.path().join(name), npy("'|u1'", false, "(3, 5)", &noise(15))).unwrap();
    let done = told(run(name).stdout);
    assert!(done.contains("\\u{1b}[31mred\\n.npy: 3x5") && !done.contains('\x1b'), "{done}");
}

#[test]
fn no_wisdom_file_is_no_fault() {
    let directory = directory();
    fs::write(directory.path().join("a.npy"), npy("'|u1'", false, "(3, 5)", &noise(15))).unwrap();
    let run = |line: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_turntile"));
        command
            .args(line.split(' '))
            .env("TURNTILE_WISDOM", "")
            .current_dir(&directory)
            .output()
            .unwrap()
    };
    assert!(run("transpose a.npy").status.success());
    let tuned = run("tune 30x50 --elem-bytes 4 --budget 0");
    assert!(String::from_utf8(tuned.stdout).unwrap().contains("not remembered"));
    let line = "tune 30x50 --elem-bytes 4 --budget 0 --wisdom no/where.json";
    bad(&directory, line, 1, &["no directory no"]);
    assert!(!directory.path().join("no").exists());
}

#[test]
fn plans_begin_with_words() {
    let directory = directory();
    let text = good(&directory, "plan 7200x1800 --elem-bytes 4 --threads 2");
    let first = text.lines().next().unwrap();
    assert_eq!(
        first,
        "The 7200 x 1800 matrix of elements of 4 B, 51.8 MB in all, becomes 1800 x 7200 where it lies."
    );
    assert!(text.contains("All is read and written 2 times"), "{text}");
    assert!(good(&directory, "plan 1x99 --elem-bytes 4").contains("No element has to move."));
}
