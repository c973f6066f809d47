//! Exit codes and messages, for people and for machines.

use std::fs;

use serde_json::{Value, json};

use crate::{directory, ended, header, near, noise, npy, small, table, with_header};

/// Built with the GPU backend or without, on a machine without a driver.
const WITHOUT_A_GPU: &[&str] = if cfg!(all(feature = "cuda", target_os = "linux")) {
    &["no NVIDIA driver", "libcuda.so.1"]
} else {
    &["without the GPU backend", "feature `cuda`"]
};

#[test]
fn failures_have_exit_code_1_and_change_nothing() {
    let directory = directory();
    let write = |name: &str, bytes: &[u8]| directory.write(name, bytes);
    let (whole, data) = (npy("'<f4'", 'C', &[3, 5], &noise(60)), noise(60));
    write("good.npy", &whole);
    write("short.npy", &whole[..whole.len() - 1]);
    write("long.npy", &[&whole[..], b"x"].concat());
    write("stub.npy", &whole[..40]);
    write("empty.npy", b"");
    write("text.npy", b"rows and columns");
    write("cube.npy", &npy("'<f4'", 'C', &[3, 1, 5], &data));
    write("line.npy", &npy("'<f4'", 'C', &[15], &data));
    write("point.npy", &npy("'<f4'", 'C', &[], &data[..4]));
    write("object.npy", &npy("'|O'", 'C', &[3, 5], &data));
    write("named.npy", &npy("'float32'", 'C', &[3, 5], &data));
    for (name, descr, shape) in [
        ("huge.npy", "'<f8'", "(4611686018427387904, 4611686018427387904)"),
        ("big.npy", "'<f8'", "(1000000, 1000000)"),
        ("negative.npy", "'<f8'", "(-3, 5)"),
        ("nan.npy", "'<f8'", "(nan, 5)"),
        ("digits.npy", "'<f8'", &format!("(5, 1{})", "0".repeat(59))),
        ("braces.npy", &"{".repeat(15_000), "(3, 5)"),
        ("fields.npy", &"{0:".repeat(15_000), "(3, 5)"),
    ] {
        write(name, &with_header(1, &header(descr, 'C', shape), b""));
    }
    write("raw.bin", &data);
    write("a.safetensors", b"");
    fs::create_dir(directory.at("folder")).unwrap();
    directory.all_bad(
        1,
        r#"
        transpose -i nothing.npy | cannot open nothing.npy: No such file
        transpose -i folder | folder is not a regular file
        transpose -i short.npy | short.npy: expected 60 bytes of data | got 59
        transpose -i long.npy | 60 bytes | got 61
        transpose -i stub.npy | truncated: the header takes 128 bytes, the file has 40
        transpose -i empty.npy | empty: expected a .npy header
        transpose -i text.npy | it begins with 'rows a' instead of '\x93NUMPY' (see --raw
        transpose -i named.npy | 'float32'
        transpose -i huge.npy | more bytes than can be addressed
        transpose -i big.npy | 8000000000000 bytes | got 0
        reorder -i negative.npy --order C | -3
        transpose -i object.npy | pickle
        transpose -i braces.npy | malformed
        reorder -i fields.npy --order C | malformed
        transpose -i nan.npy | nan
        transpose -i digits.npy | 1000000
        transpose -i a.safetensors | needs --tensor NAME
        transpose -i a.safetensors --tensor w | truncated: the file has 0 bytes
        transpose -i cube.npy | 3 axes need --axes, for example --axes 2,1,0 | --matrices
        transpose -i line.npy --matrices | needs at least 2 axes, the array has 1
        transpose -i good.npy --axes 0,2,1 | axes don't match array: --axes 0,2,1 has 3, the array has 2
        transpose -i good.npy --axes 1,-1 | --axes 1,-1: repeated axis 1
        transpose -i good.npy --axes 1,2 | axis 2 is out of bounds for an array of dimension 2
        rearrange 'a b -> a' -i good.npy | good.npy: pattern "a b -> a": b is only on the left
        rearrange 'a ... -> ... a' -i point.npy | the left side has 1 axis or more, the array has none
        rearrange '(a b) c -> a b c' --size a=2 -i good.npy | axis 0 has extent 3, which a=2
        transpose -i point.npy --axes 0 | axes don't match array
        rearrange 'a b -> b a' -i line.npy | the left side has 2 axes, the array has 1
        rearrange 'a b -> b a' --size c=2 -i good.npy | a size is given for c
        transpose good.npy -o no/where.npy | there is no directory no
        transpose good.npy -o no/ | cannot write no/: it is not a file name
        transpose good.npy -o /dev/null | /dev/null leads to a device
        transpose good.npy line.npy -o raw.bin | raw.bin is not a directory
        transpose good.npy line.npy -o - | several results do not go to standard output
        transpose -i good.npy --route square | good.npy: route square
        transpose -i good.npy --wisdom none.json | no wisdom file none.json | tune
        plan 3x5 --dtype f4 --wisdom none.json | no wisdom file none.json
        plan 3x5 --dtype f4 --device abacus | "abacus" | cpu, cuda or cuda:N | h200
        plan 3x5 --dtype f4 --device h200 --threads 2 | --threads is for the CPU
        plan 3x5 --dtype f4 --out-of-place --route square | route square | only in place
        plan cube.npy | 3 axes need --axes
        tune 3x5 --dtype f4 --device gtx480 | "gtx480" | cpu, cuda or cuda:N
        tune 3x5 --dtype f4 --route out-of-place | out-of-place | only out of place
        bench --device h200 | h200 | cuda
        bench --device cuda --threads 2 | --threads | cuda
        bench --device cuda:x | "cuda:x" | cpu, cuda or cuda:N
        bench 0x5 | 0x5 has no elements to measure
        "#,
    );
    for line in [
        "plan 3x5 --dtype f4 --device cuda:7",
        "tune 3x5 --dtype f4 --device cuda",
        "bench --device cuda",
    ] {
        directory.bad(line, 1, WITHOUT_A_GPU);
    }
}

/// In the words of the command, not in those of the libraries that parse it.
#[test]
fn wrong_usage_has_exit_code_2() {
    let directory = directory();
    directory.write("a.npy", small());
    ended("", &directory.turntile(""), 2, &["Usage: turntile <COMMAND>"]);
    let no_output = "no output: add -o OUT to write the result to OUT, or -i to replace a.npy";
    let text = r#"
        turn a.npy | unrecognized subcommand 'turn'
        permute --axes 1,0 a.npy | `permute` is now: turntile transpose --axes
        layout a.npy --to soa | `layout` is now: turntile split
        transpose a.npy | NO_OUTPUT | Usage: turntile transpose [OPTIONS] INPUT... (-o OUT
        transpose a.npy b.npy | add -i to replace both files, or write `a.npy -o b.npy`
        transpose a.npy b.npy c.npy | NO_OUTPUT
        transpose a.npy -i -o b.npy | cannot be used with
        transpose - -i | --in-place needs files, not standard input
        transpose a.npy -i --sideways | --sideways
        transpose a.npy -i --axes 1,zero | 'zero' | for example 2,0,1
        transpose a.npy -i --axes 1;0 | '1;0' | for example 2,0,1
        transpose a.npy -i --axes 1,0 --matrices | cannot be used with
        transpose a.npy -i --order x | 'x' | C, F
        transpose a.npy -i --memory 50% | --memory | K, M, G or T, for example 64M
        transpose a.npy -i --memory -5M | -5M | --memory | for example 64M
        transpose a.npy -i --workspace-limit -5 | --workspace-limit | for example 64M
        transpose a.npy -i --threads 0 | number of threads from 1 to 65535
        transpose a.npy -i --threads many | number of threads from 1 to 65535
        transpose a.npy -i --lock refuse | wait, fail, off
        transpose a.npy -i --pattern x | tip: --pattern is an option of: plan, tune
        transpose a.npy -i --route sideways | aligned-slots | three-stage | out-of-place
        transpose a.npy -i --raw | --raw needs --dtype and --shape
        transpose a.npy -i --raw --dtype f4 | --raw needs --dtype and --shape
        transpose a.npy -i --dtype f4 | --raw
        transpose a.npy -i --offset 8 | --raw
        transpose a.npy -i --raw --dtype 4 --shape 3x5 | '4' | V12 for any elements of 12 bytes
        transpose a.npy -i --raw --dtype V0 --shape 3x5 | 'V0'
        transpose a.npy -i --raw --dtype f4 --shape 3x-5 | '-5' | for example 7200x1800
        transpose a.npy -i --raw --dtype f4 --shape -1x-1 | 2 extents are -1
        transpose a.npy -i --raw --dtype f4 --shape 3x5 --tensor w | cannot be used with
        transpose a.npy -i --raw --dtype f4 --shape 3x5 --member w | --raw and --member
        transpose a.npy -i --tensor w --member v | cannot be used with
        rearrange 'a b -> b a' | <INPUT>
        rearrange 'a b -> b a' a.npy | NO_OUTPUT
        rearrange 'a b -> b a' a.npy -i --size a=x | --size | for example p=16
        reorder a.npy -i | --order
        plan 3x5 | a shape needs --dtype | Usage: turntile plan [OPTIONS]
        plan 3x-5 --dtype f4 | '-5' | for example 7200x1800
        plan 7200*1800 --dtype f4 | write 7200x1800 | ./7200*1800
        plan 3x5 --dtype f3 | 'f3'
        plan 3x4x5 --dtype f4 | 3 axes need --axes
        plan 3x4x5 --dtype f4 --batch 2 --axes 1,0 | axes don't match array
        plan 3x4 --dtype f4 --pattern a->a | the left side has 1 axis, the array has 2
        plan 3x4 --dtype f4 --size a=1 | --size is for axes of a --pattern
        plan 3x5 --dtype f4 --batch 1.5 | --batch | integer from 1 | for example 4
        plan a.npy --dtype f4 | --dtype and --batch are for a shape, a.npy is a file
        tune 3x5 --dtype f4 --budget soon | --budget | seconds, for example 5 or 0.5
        bench foo | 'foo' | for example 7200x1800
        bench 3x5 --runs none | --runs | from 1
        bench 3x5 --route best,four-stage | aligned-slots | out-of-place
        "#;
    for row in table(&text.replace("NO_OUTPUT", no_output)) {
        let line = row[0];
        directory.bad(line, 2, &row[1..]);
        let errors = crate::errors(&directory.turntile(line));
        for word in ["invalid digit", "in string", "literal", "Duration", "usize"] {
            assert!(!errors.contains(word), "{line}: {errors}");
        }
    }
}

#[test]
fn reports_and_errors_are_json_if_asked_for() {
    let directory = directory();
    directory.write("a.npy", npy("'|u1'", 'C', &[30, 50], &noise(1500)));
    assert_eq!(directory.good("transpose a.npy -i --quiet"), "");
    let report = directory.json("transpose a.npy -i --json --threads 1 --workspace-limit 1M");
    let array =
        |shape: [usize; 2]| json!({ "shape": shape, "dtype": "u1", "itemsize": 1, "order": "C" });
    assert_eq!(report["before"], array([50, 30]));
    assert_eq!(report["after"], array([30, 50]));
    for (name, want) in [
        ("operation", json!("transpose")),
        ("file", json!("a.npy")),
        ("output", json!("a.npy")),
        ("bytes", json!(1500)),
        ("written", json!(true)),
        ("dry_run", json!(false)),
        ("blocks", Value::Null),
        ("wisdom_rejected", Value::Null),
    ] {
        assert_eq!(report[name], want, "{name}");
    }
    assert!(report["route"].is_string() && report["plan"].as_str().unwrap().contains("50x30 w1"));
    assert!(report["workspace_bytes"].as_u64().unwrap() <= 1 << 20);
    let seconds = report["seconds"]["transpose"].as_f64().unwrap();
    near(report["gb_per_s"].as_f64().unwrap() * seconds * 1e9, 2.0 * 1500.0, 1e-9);
    let unmoved = directory.json("reorder a.npy --order C -i --json");
    assert_eq!((&unmoved["written"], &unmoved["gb_per_s"]), (&json!(false), &Value::Null));

    for (line, code) in [
        ("transpose none.npy -i --json", 1),
        ("plan 3x5 --dtype f4 --json --device abacus", 1),
        ("split none.npy --into new --json", 1),
        ("transpose --json", 2),
        ("transpose a.npy --json", 2),
        ("plan 3x5 --dtype f4 --json --device", 2),
    ] {
        let output = directory.turntile(line);
        let errors = ended(line, &output, code, &["error: "]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let error = report["error"].as_str().unwrap();
        assert!(errors.contains(error.lines().next().unwrap()), "{line}: {error}");
    }
    assert!(directory.good("transpose --help --json").contains("Usage"));
}

/// Sizes have units of powers of 1024.
#[test]
fn verbose_reports_have_the_plan() {
    let directory = directory();
    directory.write("a.npy", npy("'<f4'", 'C', &[600, 400], &noise(960_000)));
    for (line, words) in [
        ("-i --dry-run", &["a.npy: 600x400 f4 -> 400x600 f4, not written\n"][..]),
        ("-o b.npy --dry-run", &[", not written -> b.npy\n"]),
        ("-i --dry-run -v", &["600x400 w4 on ", " workspace ", "960.0 KB of data"]),
        ("-i --dry-run -v --memory 1M", &[" in blocks of 736.0 KB, runs of at least "]),
        ("-o b.npy -v --memory 1.5M", &["read in ", "memory limit 1.6 MB"]),
    ] {
        let text = directory.good(&format!("transpose a.npy {line}"));
        for word in words {
            assert!(text.contains(word), "{line}: {text}");
        }
        assert_eq!(text.lines().count() > 1, line.contains("-v"), "{text}");
    }
    directory.bad("transpose a.npy -o no/b.npy --dry-run", 1, &["no directory"]);
    assert!(directory.read("a.npy").len() == 960_128);
}

#[cfg(unix)]
#[test]
fn names_are_escaped() {
    let directory = directory();
    let name = "\x1b[31mred\n.npy";
    let run = |name: &str| directory.command("transpose -i").arg(name).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let missing = text(run(name).stderr);
    assert!(missing.contains("\\u{1b}[31mred\\n.npy") && !missing.contains('\x1b'), "{missing}");
    directory.write(name, small());
    let done = text(run(name).stdout);
    assert!(done.contains("\\u{1b}[31mred\\n.npy: 3x5") && !done.contains('\x1b'), "{done}");
}
