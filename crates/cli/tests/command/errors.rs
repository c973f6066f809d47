//! Exit codes and what is said, for people and for machines.

use std::fs;

use crate::{directory, ended, near, noise, npy, small};

#[test]
fn wrong_usage_is_exit_code_2() {
    let directory = directory();
    directory.write("a.npy", npy("'|u1'", false, "(2, 3)", &noise(6)));
    // More of them: `raw_options_come_together`.
    for line in ["", "turn a.npy", "transpose a.npy --sideways", "transpose a.npy --raw --rows 3"] {
        directory.bad(line, 2, &[]);
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
    let write = |name: &str, bytes: &[u8]| fs::write(directory.at(name), bytes).unwrap();
    let whole = npy("'<f4'", false, "(3, 5)", &noise(60));
    write("good.npy", &whole);
    write("short.npy", &whole[..whole.len() - 1]);
    write("long.npy", &[&whole[..], b"x"].concat());
    write("stub.npy", &whole[..40]);
    write("empty.npy", b"");
    write("named.npy", &npy("'bfloat16'", false, "(2, 3)", &noise(12)));
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
    write("nan.npy", &npy("'<f4'", false, "(nan, 5)", b""));
    write("long-axis.npy", &npy("'<f4'", false, &format!("(5, 1{})", "0".repeat(59)), b""));
    fs::create_dir(directory.at("folder")).unwrap();
    for (line, words) in [
        ("transpose nothing.npy", &["nothing.npy", "No such file"][..]),
        ("transpose folder", &["not a regular file"]),
        ("transpose short.npy", &["60 bytes", "has 59"]),
        ("transpose long.npy", &["60 bytes", "has 61"]),
        ("transpose stub.npy", &["truncated", "128", "40"]),
        ("transpose empty.npy", &["not a .npy file: it begins with '', and not"]),
        ("transpose text.npy", &["it begins with 'rows a', and not with '\\x93NUMPY'", "--raw"]),
        ("transpose named.npy", &["'bfloat16' is not a type that is read here: NumPy writes"]),
        ("permute good.npy --axes 0,1,2 nothing.npy", &["names 3 axes"]),
        (
            "rearrange point.npy 'a ... -> ... a'",
            &["the left side has 1 axis or more, the array has none"],
        ),
        ("transpose huge.npy", &["more bytes than can be counted"]),
        ("transpose big.npy", &["8000000000000 bytes", "has 0"]),
        ("reorder negative.npy --to c", &["axis 0", "-3"]),
        ("transpose object.npy", &["pickle"]),
        ("transpose braces.npy", &["malformed"]),
        ("reorder fields.npy --to c", &["malformed"]),
        ("transpose line.npy", &["at least 2 axes", "has 1"]),
        ("transpose point.npy", &["at least 2 axes", "has 0"]),
        ("permute good.npy --axes 0,2,1", &["names 3 axes", "has 2"]),
        ("permute point.npy --axes 0", &["names 1 axes", "has none"]),
        (
            "permute line.npy --axes 1,0",
            &["line.npy: --axes 1,0 names 2 axes, the array has 1, axis 0"],
        ),
        ("permute good.npy --axes 1,-1", &["--axes 1,-1 names axis 1 twice", "has 2, axes 0 to 1"]),
        (
            "rearrange good.npy 'a b -> a'",
            &["good.npy: pattern \"a b -> a\": b is only on the left: turntile rearranges only"],
        ),
        ("rearrange line.npy 'a b -> b a'", &["the left side has 2 axes, the array has 1"]),
        ("rearrange good.npy '(a b) c -> a b c' --size a=2", &["axis 0 has extent 3, which a=2"]),
        ("rearrange good.npy 'a b -> b a' --size c=2", &["a size is given for c"]),
        ("transpose nan.npy", &["axis 0 is 'nan'"]),
        (
            "transpose long-axis.npy",
            &["more bytes than", "axis 1 of 'shape' has length 1000", "0... (60 digits)"],
        ),
        ("transpose good.npy -o new.npz", &["a single array and no archive: name it .npy"]),
        ("transpose good.npy new.npz", &["name it .npy"]),
        ("bench --device h200", &["h200 is a preset", "cuda"]),
        ("tune 3x5 --elem-bytes 4 --device gtx480", &["gtx480", "cuda"]),
        ("plan 3x5 --elem-bytes 4 --into --route square", &["route square", "only in place"]),
        ("tune 3x5 --elem-bytes 4 --route out-of-place", &["out-of-place", "only out of place"]),
        ("bench --device cuda --threads 2", &["--threads", "cuda"]),
        (
            "bench --device cuda:x",
            &["\"cuda:x\"; there are host, cuda, cuda:N; for plans also h200, h100, a100"],
        ),
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
        ("plan 3x5 --elem-bytes 4 --device abacus", &["abacus", "for plans also h200"]),
        ("plan 3x5 --elem-bytes 4 --device h200 --threads 2", &["--threads", "h200"]),
    ] {
        directory.bad(line, 1, words);
    }
    let unknown: &[&str] = &["aligned-slots", "three-stage", "out-of-place"];
    for line in ["transpose good.npy --route sideways", "bench --route best,four-stage"] {
        directory.bad(line, 2, unknown);
    }
}

#[test]
fn quiet_is_quiet_and_json_is_json() {
    let directory = directory();
    directory.write("a.npy", npy("'|u1'", false, "(30, 50)", &noise(1500)));
    assert_eq!(directory.good("transpose a.npy --quiet"), "");
    let report = directory.json("transpose a.npy --json --threads 1 --workspace 1MiB");
    assert_eq!(report["before"]["shape"], serde_json::json!([50, 30]));
    assert_eq!(report["after"]["shape"], serde_json::json!([30, 50]));
    assert_eq!(report["bytes"], 1500);
    assert!(report["gb_per_s"].as_f64().unwrap() > 0.0);
    assert!(report["seconds"]["transpose"].as_f64().unwrap() > 0.0);
    assert!(report["workspace_bytes"].as_u64().unwrap() <= 1 << 20);
    assert_eq!(report["routes"].as_array().unwrap().len(), 1);
    let seconds = report["seconds"]["transpose"].as_f64().unwrap();
    near(report["gb_per_s"].as_f64().unwrap() * seconds * 1e9, 2.0 * 1500.0, 1e-9);
    let failed = directory.turntile("transpose none.npy --json");
    let failed: serde_json::Value = serde_json::from_slice(&failed.stdout).unwrap();
    assert!(failed["error"].as_str().unwrap().contains("none.npy"));
}

#[test]
fn wrong_usage_is_reported_as_json_too() {
    let directory = directory();
    for line in [
        "transpose --json",
        "plan 3x5 --elem-bytes 4 --json --device",
        "transpose a --threads 0 --json",
    ] {
        let output = directory.turntile(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(
            !report["error"].as_str().unwrap().is_empty() && !output.stderr.is_empty(),
            "{line}"
        );
    }
    assert!(directory.good("transpose --help --json").contains("Usage"));
}

#[test]
fn values_are_as_people_write_them() {
    let directory = directory();
    directory.write("a.npy", npy("'|u1'", false, "(30, 50)", &noise(1500)));
    for amount in ["64M", "1.5MiB", "10%"] {
        directory.good(&format!("transpose a.npy --workspace {amount}"));
    }
    for number in ["0", "-1", "many"] {
        for line in ["transpose a.npy", "bench --shapes 3x5", "plan 3x5 --elem-bytes 4"] {
            directory.bad(&format!("{line} --threads {number}"), 2, &["number of threads from 1"]);
        }
    }
    directory.bad("bench --shapes foo", 2, &["7200x1800"]);
}

/// As wide as the terminal, and no wider than is read with ease.
#[test]
fn help_is_wrapped() {
    let directory = directory();
    let help = |line: &str, columns: &str| {
        let output = directory.command(line).env("COLUMNS", columns).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(
        help("--help", "100")
            .starts_with("Transposes matrices and permutes axes of arrays in files")
    );
    for command in ["transpose", "layout", "plan", "tune", "bench"] {
        for (columns, most) in [("80", 80), ("300", 100)] {
            let text = help(&format!("{command} -h"), columns);
            let (_, text) = text.split_once("\n\n").unwrap();
            let (_, text) = text.split_once("\n\n").unwrap();
            let longest = text.lines().max_by_key(|line| line.len()).unwrap();
            assert!(longest.len() <= most, "{command} in {columns}: {longest}");
        }
    }
}

/// In the command's words and not in those of what it is made of.
#[test]
fn wrong_values_are_answered_with_what_is_expected() {
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
        ("transpose a --memory 101%", &["101%", "--memory", "at most 100%"]),
        ("permute --axes 0 2 1 3 a", &["joined by commas, as in --axes 0,2,1,3"]),
        ("permute a --axes 1 0", &["joined by commas, as in --axes 1,0"]),
        ("rearrange 'a (b k) -> k a b' k=32 a", &["k=32 is no file", "--size k=32"]),
        ("transpose a --axes 1,0", &["tip: --axes is an option of: permute, plan, tune"]),
        ("plan 6 --elem-bytes 4", &["a shape of 1 axis needs --axes or --pattern"]),
        ("bench --shapes 6", &["the array has 1"]),
        ("permute a --axes 1;0", &["'1;0'", "as in 2,0,1"]),
        (
            "permute a --axes 0,1,1 --raw --shape 3x4x5 --elem-bytes 1",
            &["--axes 0,1,1 names axis 1 twice"],
        ),
        (
            "plan 3x4x5 --elem-bytes 4 --batch 2 --axes 1,0",
            &["--axes 1,0 names 2 axes, the array has 3, axes 0 to 2"],
        ),
        ("rearrange a", &["a pattern is needed", "b c h w -> b h w c"]),
        ("rearrange 'a b -> b a'", &["a file is needed"]),
        ("rearrange a->b 'a b -> b a'", &["one pattern is needed", "./a b -> b a"]),
        ("rearrange a 'a b -> b a' --size a=x", &["--size", "as in p=16"]),
        (
            "rearrange f 'a b->b' --raw --shape 3x4 --elem-bytes 1",
            &["a is only on the left: turntile rearranges only"],
        ),
        ("plan 3x4 --elem-bytes 4 --pattern a->a", &["the left side has 1 axis, the array has 2"]),
        ("plan 3x4 --elem-bytes 4 --size a=1", &["--size is for axes of a --pattern"]),
        ("plan 3x4x5 --elem-bytes 4", &["a shape of 3 axes needs --axes"]),
        ("plan 7200*1800 --elem-bytes 4", &["write 7200x1800", "./7200*1800"]),
        ("plan a.npy --elem-bytes 4", &["a.npy is taken for a file"]),
        ("transpose a --memory -5M", &["-5M", "--memory", "as in 64M"]),
        ("transpose a --workspace -5%", &["-5%", "--workspace", "as in 10%"]),
        ("permute a --axes 1,0 --raw --elem-bytes 4 --shape -3x5", &["'-3'", "as in 7200x1800"]),
        ("bench --shapes 3x4x5:1-a-0", &["'a'", "as in 2-0-1"]),
        ("bench --runs none", &["--runs", "from 1"]),
        ("tune 3x5 --elem-bytes 4 --budget soon", &["--budget", "seconds, as in 5 or 0.5"]),
        ("plan 3x4 --elem-bytes 4 --rates f", &["unexpected argument '--rates'"]),
        ("calibrate", &["unrecognized subcommand 'calibrate'"]),
    ] {
        let errors = ended(line, &directory.turntile(line), 2, words);
        for word in ["invalid digit", "in string", "literal", "Duration", "usize"] {
            assert!(!errors.contains(word), "{line}: {errors}");
        }
    }
    // Of the command that was called, and not of all.
    for (line, usage) in [
        ("transpose a b c", "turntile transpose [OPTIONS] FILE OUT"),
        ("plan 3x5", "turntile plan [OPTIONS]"),
    ] {
        directory.bad(line, 2, &[usage]);
    }
}

#[cfg(unix)]
#[test]
fn names_do_no_harm_to_a_terminal() {
    let directory = directory();
    let name = "\x1b[31mred\n.npy";
    let run = |name: &str| directory.command("transpose").arg(name).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let missing = text(run(name).stderr);
    assert!(missing.contains("\\u{1b}[31mred\\n.npy") && !missing.contains('\x1b'), "{missing}");
    fs::write(directory.at(name), small()).unwrap();
    let done = text(run(name).stdout);
    assert!(done.contains("\\u{1b}[31mred\\n.npy: 3x5") && !done.contains('\x1b'), "{done}");
}

#[test]
fn no_wisdom_file_is_no_fault() {
    let directory = directory();
    directory.write("a.npy", small());
    let run = |line: &str| directory.command(line).env("TURNTILE_WISDOM", "").output().unwrap();
    assert!(run("transpose a.npy").status.success());
    let tuned = run("tune 30x50 --elem-bytes 4 --budget 0");
    assert!(String::from_utf8(tuned.stdout).unwrap().contains("not remembered"));
    let line = "tune 30x50 --elem-bytes 4 --budget 0 --wisdom no/where.json";
    directory.bad(line, 1, &["no directory no"]);
    assert!(!directory.at("no").exists());
    let (bad, line) = ("bad.json", "tune 30x50 --elem-bytes 4 --budget 0");
    directory.write(bad, b"bad");
    let run = directory.command(line).env("TURNTILE_WISDOM", bad).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("\nnot remembered: wisdom file bad.json is damaged: "), "{text}");
    // What is named is not written over where it may not be.
    let mut permissions = fs::metadata(directory.at(bad)).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(directory.at(bad), permissions).unwrap();
    let words = ["is write-protected; make it writable or name another file with --wisdom"];
    directory.bad(&format!("{line} --wisdom {bad}"), 1, &words);
}

#[test]
fn plans_begin_with_words() {
    let directory = directory();
    let text = directory.good("plan 19968x12032 --elem-bytes 4 --device h200");
    let first = text.lines().next().unwrap();
    assert_eq!(first, "Moves 961.0 MB in 2 passes, about 993 us, 234.6 KB of extra memory.");
    let becomes = "\nThe 19968 x 12032 matrix of 4-byte elements becomes 12032 x 19968 where it lies.\nFirst ";
    assert!(text.contains(becomes) && text.contains("\nThen "), "{text}");
    assert!(directory.good("plan 1x99 --elem-bytes 4").starts_with("Moves nothing.\n"));
    // A single stage is not the first of several.
    let single = directory.good("plan 1000000x1000 --elem-bytes 8000 --route one-stage");
    assert!(single.starts_with("Moves 8.00 TB in 1 pass, about "), "{single}");
    assert!(single.contains("\nAll elements are moved") && !single.contains("First"), "{single}");
}
