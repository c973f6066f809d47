//! Plans, measurements, and what is remembered of them.

use crate::{Directory, directory, ended, near, noise, npy, small, transposed};
use std::fs;

#[test]
fn plans_are_printed() {
    let directory = directory();
    for device in ["host", "h100", "a100", "h200"] {
        let line = format!("plan 7200x1800 --elem-bytes 4 --device {device}");
        assert!(directory.good(&line).contains("route"), "{line}");
        let all = directory.good(&format!("{line} --all"));
        assert!(all.contains("GB/s") && all.contains("not possible: "), "{all}");
        let all = directory.json(&format!("{line} --all --json"));
        assert!(all["candidates"].as_array().unwrap().len() > 1);
        let first = &all["candidates"][0];
        assert_eq!(first["device"], device);
        assert!(first["estimated_seconds"].as_f64().unwrap() > 0.0, "{first}");
        assert!(first["tile"]["m"].as_u64().is_some() && first["stages"][0].is_string(), "{first}");
    }
    let rules = ["model", "all"].map(|tiles| {
        let line =
            format!("plan 7200x1800 --elem-bytes 4 --threads 1 --tiles {tiles} --all --json");
        let all = directory.json(&line);
        all["candidates"].as_array().unwrap().len()
    });
    assert!(rules[1] > rules[0], "{rules:?}");
}

#[test]
fn plans_over_several_memories_are_printed() {
    let directory = directory();
    let text = directory.good("plan 4096x2048 --elem-bytes 4 --parts 8 --threads 1");
    assert!(text.starts_with("rank 0: 4194304 bytes before, 4194304 after\n  local: "), "{text}");
    assert!(text.contains("exchange: 3670016 bytes to 7 others, 524288 at a time"), "{text}");
    let text = directory.good("plan 7x5x3 --axes 0,2,1 --elem-bytes 4 --parts 3");
    assert!(!text.contains("exchange"), "{text}");
    directory.write("a.npy", npy("'<f4'", false, "(2, 3)", &noise(24)));
    directory.bad("plan a.npy --parts 2", 1, &["--parts is for a shape"]);
    directory.bad("plan 3x5 --elem-bytes 4 --parts 0", 2, &["--parts"]);
    directory.bad("plan 3x5 --elem-bytes 4 --parts 2 --device h200", 2, &["cannot be used with"]);
}

#[test]
fn plans_are_made_for_files() {
    let directory = directory();
    let write = |name: &str, fortran, shape: &str, elements: usize| {
        let path = directory.at(name);
        fs::write(path, npy("'<f4'", fortran, shape, &noise(elements * 4))).unwrap();
    };
    write("c.npy", false, "(300, 200)", 60_000);
    write("f.npy", true, "(300, 200)", 60_000);
    write("batch.npy", false, "(3, 40, 50)", 6000);
    write("line.npy", false, "(5,)", 5);
    write("empty.npy", false, "(0, 5)", 0);
    write("empty-f.npy", true, "(0, 5)", 0);
    write("empty-batch.npy", false, "(0, 3, 5)", 0);
    write("empty-huge.npy", false, "(0, 4611686018427387904, 4)", 0);
    let before = directory.files();
    for (of_file, of_shape) in [
        ("c.npy", "300x200"),
        ("f.npy", "200x300"),
        ("batch.npy", "40x50 --batch 3"),
        ("c.npy --axes 1,0", "300x200 --axes 1,0"),
        ("batch.npy --axes 2,0,1", "3x40x50 --axes 2,0,1"),
        ("c.npy --pattern '(a b) c -> c b a' --size b=3", "100x3x200 --axes 2,1,0"),
        ("f.npy --pattern '(a b) c -> c b a' --size b=3", "200x100x3 --axes 1,2,0"),
        ("batch.npy --pattern '... a b -> b (... a)'", "3x40x50 --axes 2,0,1"),
        ("c.npy --into", "300x200 --into"),
        ("c.npy --all --device h200", "300x200 --all --device h200"),
        ("./c.npy --threads 1", "300x200 --threads 1"),
        ("empty.npy", "0x5"),
        ("empty.npy --axes 1,0", "0x5 --axes 1,0"),
        ("empty-batch.npy", "0x3x5 --axes 0,2,1"),
        ("empty-f.npy", "5x0"),
    ] {
        let want = directory.good(&format!("plan {of_shape} --elem-bytes 4"));
        assert_eq!(directory.good(&format!("plan {of_file}")), want, "{of_file}");
    }
    assert!(directory.good("tune c.npy --budget 0").contains("300x200"));
    directory.bad("plan line.npy", 1, &["at least 2 axes"]);
    directory.bad("plan c.npy --axes 0,2,1", 1, &["names 3 axes"]);
    directory.bad("plan none.npy", 1, &["none.npy"]);
    directory.bad("plan empty-huge.npy", 1, &["exceed"]);
    directory.bad("plan c.npy --member a", 1, &["not a .npz archive"]);
    directory.bad("plan c.npy --elem-bytes 4", 2, &["c.npy is taken for a file"]);
    assert!(directory.files() == before);
}

#[test]
fn measured_shapes_are_rows_of_a_table() {
    let directory = directory();
    let line = "bench --shapes 300x200,7x5 --batch 3 --elem-bytes 4,3 --runs 1 --threads 1";
    let text = directory.good(line);
    assert!(text.contains("3 x 300x200") && text.lines().count() == 5, "{text}");
    let json = directory.json(&format!("{line} --json"));
    assert_eq!(json.as_array().unwrap().len(), 4, "{json}");
    let text = directory.good(&format!("{line} --shapes 3x4x5:2-0-1 --route one-stage --csv"));
    let lines: Vec<_> = text.lines().collect();
    let names = "batch,rows,cols,shape,axes,elem_bytes,device,threads,pages,out_of_place,route,";
    assert!(lines[0].starts_with(names), "{text}");
    assert!(
        lines[1].starts_with("3,300,200,3x300x200,0-2-1,4,host,1,huge,false,one-stage,"),
        "{text}"
    );
    assert_eq!(lines.len(), 1 + 6, "{text}");
    // Where the route cannot be used for a shape there is no table, but the reason.
    let line = "bench --shapes 7x5 --route three-stage --runs 1";
    directory.bad(line, 1, &["cannot be used for 7x5"]);
    directory.bad("bench --shapes 7x5 --wisdom none.json", 1, &["there is no wisdom file"]);
    let text = directory.good("tune 300x200 --elem-bytes 4 --budget 0 --csv");
    assert!(text.starts_with("route,mirrored,m,n,") && text.lines().count() == 2, "{text}");
}

/// Into another buffer: planned, measured, remembered and verified as in place.
#[test]
fn into_another_buffer() {
    let directory = directory();
    let json = |line: &str| directory.json(line);
    for device in ["host", "h200"] {
        let plan = json(&format!("plan 7919x3001 --elem-bytes 4 --into --json --device {device}"));
        let plan = &plan["candidates"][0];
        assert_eq!(
            (&plan["route"], &plan["passes"]),
            (&"out-of-place".into(), &1.into()),
            "{plan}"
        );
        assert_eq!(plan["workspace_bytes"], 0, "{plan}");
    }
    // A row is copied, where in place nothing moves.
    assert_eq!(json("plan 1x99 --elem-bytes 4 --into --json")["candidates"][0]["passes"], 1);
    let shape = "300x200 --elem-bytes 4 --into --threads 1 --wisdom wisdom.json --json";
    let tuned = json(&format!("tune {shape} --budget 0.01"));
    assert_eq!(tuned[0]["route"], "out-of-place");
    assert_eq!(json(&format!("plan {shape}"))["candidates"][0]["plan"], tuned[0]["plan"]);
    let rows =
        json("bench --shapes 300x200,1x77 --batch 2 --elem-bytes 4,3 --into --runs 1 --json");
    assert_eq!(rows.as_array().unwrap().len(), 4, "{rows}");
    for row in rows.as_array().unwrap() {
        assert_eq!((&row["route"], &row["out_of_place"]), (&"out-of-place".into(), &true.into()));
        assert_eq!(row["workspace_bytes"], 0, "{row}");
    }
}

/// GB/s and seconds are of the same bytes, read and written; per cent are of the copy beside them.
#[test]
fn speeds_times_and_shares_agree() {
    let directory = directory();
    let line = "bench --shapes 300x200,1000x999 --batch 3 --elem-bytes 4,3 --runs 3 --threads 1";
    let rows = directory.json(&format!("{line} --json"));
    assert_eq!(rows.as_array().unwrap().len(), 4, "{rows}");
    for row in rows.as_array().unwrap() {
        let of = |name: &str| row[name].as_f64().unwrap();
        let bytes = of("batch") * of("rows") * of("cols") * of("elem_bytes");
        // Each figure has four digits.
        near(of("gb_per_s") * of("seconds") * 1e9, 2.0 * bytes, 2e-3);
        near(of("percent_of_copy") * of("copy_gb_per_s"), 100.0 * of("gb_per_s"), 2e-3);
        // From a disk's speed to more than any host's.
        for name in ["gb_per_s", "copy_gb_per_s", "estimated_gb_per_s"] {
            assert!((1e-2..1e4).contains(&of(name)), "{name}: {row}");
        }
        assert!((1e-2..1e7).contains(&of("planning_us")), "{row}");
    }
    let rows = directory.json("tune 300x200 --elem-bytes 3 --budget 0.02 --json");
    for row in rows.as_array().unwrap() {
        let gb = row["gb_per_s"].as_f64().unwrap() * row["seconds"].as_f64().unwrap();
        near(gb * 1e9, 2.0 * 300.0 * 200.0 * 3.0, 1e-9);
    }
}

#[test]
fn where_nothing_moves_there_is_no_speed() {
    let directory = directory();
    for problem in ["0x5 --elem-bytes 4", "1x1 --elem-bytes 64 --batch 3"] {
        for line in ["plan {}", "plan {} --all", "tune {} --budget 0"] {
            let line = line.replace("{}", problem);
            let text = directory.good(&line);
            assert!(text.contains(" - GB/s") || !text.contains("GB/s"), "{text}");
            assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
        }
        let json = directory.json(&format!("plan {problem} --json"));
        assert!(json["candidates"][0]["gb_per_s"].is_null(), "{json}");
    }
}

#[test]
fn plan_tune_and_transpose_have_one_workspace_by_default() {
    let directory = directory();
    directory.write("m", noise(2400 * 1801 * 4));
    let json = |line: String| directory.json(&line);
    for more in ["", "--workspace 100KiB"] {
        let rest = format!("--elem-bytes 4 --threads 2 --json {more}");
        let plan = json(format!("plan 2400x1801 {rest}"));
        let used = json(format!("transpose m -o t --raw --rows 2400 --cols 1801 {rest}"));
        let tuned = json(format!("tune 2400x1801 {rest} --tiles model --budget 0"));
        assert_eq!(used["plans"][0], plan["candidates"][0]["plan"]);
        assert_eq!(tuned[0]["plan"], plan["candidates"][0]["plan"]);
    }
}

#[test]
fn what_tune_remembers_transpose_uses() {
    let directory = directory();
    let data = noise(240 * 180 * 4);
    directory.write("m", &data);
    let shape = "--elem-bytes 4 --threads 1 --wisdom wisdom.json --json";
    let tuned = directory.json(&format!("tune 240x180 {shape} --budget 0.05"));
    let winner = &tuned[0];
    assert!(winner["seconds"].as_f64() > Some(0.0) && winner["runs"].as_u64() > Some(0));
    let used = directory.json(&format!("transpose m --raw --rows 240 --cols 180 {shape}"));
    assert_eq!(used["plans"][0], winner["plan"]);
    assert_eq!(used["wisdom_refused"], serde_json::json!([]));
    let planned = directory.json(&format!("plan 240x180 {shape}"));
    assert_eq!(planned["candidates"][0]["plan"], winner["plan"]);
    assert_eq!(planned["chosen_by"], "wisdom");
    let planned = directory.json("plan 240x180 --elem-bytes 4 --threads 1 --json");
    assert_eq!(planned["chosen_by"], "estimate");
    assert!(directory.read("m") == transposed(&data, 240, 180, 4));
    directory.write("wisdom.json", "{");
    bad_json(&directory, &format!("transpose m --raw --rows 180 --cols 240 {shape}"));
}

/// Without `--wisdom` the file that the environment names; the option comes first.
#[test]
fn the_environment_names_a_wisdom_file() {
    let directory = directory();
    let run = |line: &str| -> serde_json::Value {
        let mut command = directory.command(line);
        let output = command.env("TURNTILE_WISDOM", "named.json").output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let shape = "240x180 --elem-bytes 4 --threads 1 --json";
    run(&format!("tune {shape} --budget 0"));
    assert!(directory.at("named.json").exists());
    assert_eq!(run(&format!("plan {shape}"))["chosen_by"], "wisdom");
    directory.write("empty.json", "");
    assert_eq!(run(&format!("plan {shape} --wisdom empty.json"))["chosen_by"], "estimate");
}

/// It is ignored where it is of no use, with one note, and never replaced; one that an option names is an error.
#[test]
fn a_file_that_the_environment_names_stops_nothing() {
    let directory = directory();
    directory.write("a.npy", small());
    directory.write("v.npy", small());
    let ignored = "note: the file that TURNTILE_WISDOM names is ignored: ";
    for line in [
        "transpose -i a.npy",
        "transpose a.npy -o b.npy --memory 1M",
        "plan 3x5 --elem-bytes 4",
        "tune 3x5 --elem-bytes 4 --budget 0 --csv",
        "bench --shapes 3x5 --runs 1",
    ] {
        for (name, why) in [("v.npy", "v.npy is damaged"), ("no/where.json", "no/where.json")] {
            let mut command = directory.command(line);
            let output = command.env("TURNTILE_WISDOM", name).output().unwrap();
            let errors = ended(line, &output, 0, &[ignored, why]);
            assert_eq!(errors.lines().count(), 1, "{line}: {errors}");
            assert!(!output.stdout.is_empty(), "{line}");
        }
        ended(line, &directory.turntile(&format!("{line} --wisdom v.npy")), 1, &["is damaged"]);
    }
    let mut quiet = directory.command("transpose a.npy --quiet");
    assert!(quiet.env("TURNTILE_WISDOM", "v.npy").output().unwrap().stderr.is_empty());
    assert_eq!(directory.read("v.npy"), small());
}

/// Runs the command, which must fail over a damaged wisdom file and leave all files as they were.
fn bad_json(directory: &Directory, line: &str) {
    let before = directory.files();
    let output = directory.turntile(line);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert!(printed.contains("error") && printed.contains("is damaged"), "{printed}");
    assert!(directory.files() == before, "{line}: files changed");
}

/// Tables of costs were once named so.
#[test]
fn a_variable_of_former_versions_is_ignored() {
    let directory = directory();
    directory.write("m", noise(24));
    for line in [
        "plan 3x2 --elem-bytes 4",
        "tune 3x2 --elem-bytes 4 --budget 0",
        "bench --shapes 3x2 --runs 1",
        "transpose m --raw --rows 3 --cols 2 --elem-bytes 4",
    ] {
        let mut command = directory.command(line);
        let output = command.env("TURNTILE_RATES", "none.json").output().unwrap();
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{line}");
    }
}

#[test]
fn stale_wisdom_is_reported_and_not_used() {
    let directory = directory();
    directory.write("m", noise(240 * 180 * 4));
    let shape = "--elem-bytes 4 --threads 1 --wisdom wisdom.json";
    directory.good(&format!("tune 240x180 {shape} --budget 0"));
    let path = directory.at("wisdom.json");
    let wisdom = fs::read_to_string(&path).unwrap();
    fs::write(&path, wisdom.replace("\"signature\": \"turntile", "\"signature\": \"oldtile"))
        .unwrap();

    let line = format!("transpose m -o t --raw --rows 240 --cols 180 {shape}");
    let run = |line: &str| {
        let output = directory.turntile(line);
        assert_eq!(output.status.code(), Some(0), "{line}");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let (_, errors) = run(&line);
    assert!(errors.contains("note: wisdom not used for 240x180 w4: measured by old"), "{errors}");
    assert_eq!(run(&format!("{line} --quiet")), (String::new(), String::new()));
    let (text, _) = run(&format!("{line} --json"));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(json["wisdom_refused"][0].as_str().unwrap().contains("oldtile"), "{text}");

    let (text, errors) = run(&format!("plan 240x180 {shape} --json"));
    assert!(errors.contains("note: wisdom.json: not used: measured by old"), "{errors}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(json["wisdom_refused"].as_str().unwrap().contains("oldtile"), "{text}");
    let (_, errors) = run(&format!("plan 240x181 {shape}"));
    assert!(errors.contains("nothing is known"), "{errors}");
    let (_, errors) = run("plan 240x180 --elem-bytes 4 --device h200 --wisdom wisdom.json");
    assert!(errors.contains("not read"), "{errors}");
}
