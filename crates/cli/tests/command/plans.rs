//! Plans, measurements, and wisdom.

use std::fs;

use serde_json::{Value, json};

use crate::{directory, ended, near, noise, npy, small, transposed};

#[test]
fn plans_are_printed() {
    let directory = directory();
    for device in ["cpu", "h100", "a100", "h200"] {
        let line = format!("plan 7200x1800 --dtype f4 --device {device}");
        let text = directory.good(&line);
        assert!(text.starts_with("Moves 51.8 MB in ") && text.lines().count() == 1, "{text}");
        let text = directory.good(&format!("{line} -v"));
        assert!(text.contains("\nroute ") && text.ends_with("chosen by estimate\n"), "{text}");
        let all = directory.good(&format!("{line} --all"));
        assert!(all.contains("GB/s") && all.contains("not possible: "), "{all}");
        let all = directory.json(&format!("{line} --all --json"));
        assert!(all["candidates"].as_array().unwrap().len() > 1);
        let first = &all["candidates"][0];
        assert_eq!(first["device"], if device == "cpu" { "host" } else { device });
        assert!(first["estimated_seconds"].as_f64().unwrap() > 0.0, "{first}");
        assert!(first["tile"]["m"].as_u64().is_some() && first["stages"][0].is_string(), "{first}");
    }
    let rules = ["model", "all"].map(|tiles| {
        let line = format!("plan 7200x1800 --dtype f4 --threads 1 --tiles {tiles} --all --json");
        directory.json(&line)["candidates"].as_array().unwrap().len()
    });
    assert!(rules[1] > rules[0], "{rules:?}");
    assert_eq!(directory.good("plan 1x99 --dtype f4"), "Moves nothing.\n");
}

#[test]
fn plans_of_files_are_those_of_their_shapes() {
    let directory = directory();
    for (name, order, shape) in [
        ("c.npy", 'C', &[300, 200][..]),
        ("f.npy", 'F', &[300, 200]),
        ("cube.npy", 'C', &[3, 40, 50]),
        ("line.npy", 'C', &[5]),
        ("empty.npy", 'C', &[0, 5]),
        ("empty-f.npy", 'F', &[0, 5]),
        ("huge.npy", 'C', &[0, 4_611_686_018_427_387_904, 4]),
    ] {
        directory
            .write(name, npy("'<f4'", order, shape, &noise(shape.iter().product::<usize>() * 4)));
    }
    let before = directory.files();
    for (of_file, of_shape) in [
        ("c.npy", "300x200"),
        ("f.npy", "200x300"),
        ("cube.npy --axes 0,2,1", "40x50 --batch 3"),
        ("c.npy --axes 1,0", "300x200 --axes 1,0"),
        ("cube.npy --axes 2,0,1", "3x40x50 --axes 2,0,1"),
        ("c.npy --pattern '(a b) c -> c b a' --size b=3", "100x3x200 --axes 2,1,0"),
        ("f.npy --pattern '(a b) c -> c b a' --size b=3", "200x100x3 --axes 1,2,0"),
        ("cube.npy --pattern '... a b -> b (... a)'", "3x40x50 --axes 2,0,1"),
        ("c.npy --out-of-place", "300x200 --out-of-place"),
        ("c.npy --all --device h200", "300x200 --all --device h200"),
        ("./c.npy --threads 1", "300x200 --threads 1"),
        ("line.npy", "5"),
        ("empty.npy", "0x5"),
        ("empty-f.npy", "5x0"),
    ] {
        let want = directory.good(&format!("plan {of_shape} --dtype f4"));
        assert_eq!(directory.good(&format!("plan {of_file}")), want, "{of_file}");
    }
    assert!(directory.good("tune c.npy --budget 0").contains("300x200"));
    directory.all_bad(
        1,
        r"
        plan c.npy --axes 0,2,1 | axes don't match array
        plan none.npy | none.npy
        plan huge.npy --axes 2,1,0 | exceed
        plan c.npy --member a | not a .npz archive
        ",
    );
    assert!(directory.files() == before);
}

#[test]
fn measured_shapes_are_rows_of_a_table() {
    let directory = directory();
    let line = "bench 300x200 7x5 --batch 3 --dtype f4,V3 --runs 1 --threads 1";
    let text = directory.good(line);
    assert!(text.contains("3 x 300x200") && text.lines().count() == 5, "{text}");
    let rows = directory.json(&format!("{line} --json"));
    assert_eq!(rows.as_array().unwrap().len(), 4, "{rows}");
    for row in rows.as_array().unwrap() {
        let of = |name: &str| row[name].as_f64().unwrap();
        // Speeds and times are of the same bytes, read and written; each has four digits.
        let bytes = of("batch") * of("rows") * of("cols") * of("elem_bytes");
        near(of("gb_per_s") * of("seconds") * 1e9, 2.0 * bytes, 2e-3);
        near(of("percent_of_copy") * of("copy_gb_per_s"), 100.0 * of("gb_per_s"), 2e-3);
        for name in ["gb_per_s", "copy_gb_per_s", "estimated_gb_per_s"] {
            assert!((1e-3..1e4).contains(&of(name)), "{name}: {row}");
        }
        assert!((1e-2..1e7).contains(&of("planning_us")), "{row}");
    }
    let line = "bench 3x4x5 --axes 2,0,1 --batch 3 --dtype f4 --runs 1 --threads 1";
    let text = directory.good(&format!("{line} --route one-stage --csv"));
    let lines: Vec<_> = text.lines().collect();
    let names = "batch,rows,cols,shape,axes,elem_bytes,device,threads,pages,out_of_place,route,";
    assert!(lines[0].starts_with(names) && lines.len() == 2, "{text}");
    assert!(lines[1].contains(",host,1,huge,false,one-stage,"), "{text}");
    // A route that does not apply is reported before any row.
    let line = "bench 300x200 7x5 --route three-stage --runs 1";
    directory.bad(line, 1, &["cannot be used for 7x5"]);
    directory.bad("bench 7x5 --wisdom none.json", 1, &["there is no wisdom file"]);

    let text = directory.good("tune 300x200 --dtype f4 --budget 0 --csv");
    assert!(text.starts_with("route,mirrored,m,n,") && text.lines().count() == 2, "{text}");
    let rows = directory.json("tune 300x200 --dtype V3 --budget 0.02 --json");
    for row in rows.as_array().unwrap() {
        let gb = row["gb_per_s"].as_f64().unwrap() * row["seconds"].as_f64().unwrap();
        near(gb * 1e9, 2.0 * 300.0 * 200.0 * 3.0, 1e-9);
    }
}

#[test]
fn out_of_place_is_planned_measured_and_remembered() {
    let directory = directory();
    for (shape, device) in [("7919x3001", "cpu"), ("7919x3001", "h200"), ("1x99", "cpu")] {
        let line = format!("plan {shape} --dtype f4 --out-of-place --json --device {device}");
        let plan = &directory.json(&line)["candidates"][0];
        // A single row is copied, which in place would not move.
        assert_eq!((&plan["route"], &plan["passes"]), (&json!("out-of-place"), &json!(1)));
        assert_eq!(plan["workspace_bytes"], 0, "{plan}");
    }
    let shape = "300x200 --dtype f4 --out-of-place --threads 1 --wisdom wisdom.json --json";
    let tuned = directory.json(&format!("tune {shape} --budget 0.01"));
    assert_eq!(tuned[0]["route"], "out-of-place");
    let plan = directory.json(&format!("plan {shape}"));
    assert_eq!(plan["candidates"][0]["plan"], tuned[0]["plan"]);
    let rows = directory.json("bench 300x200 1x77 --dtype f4 --out-of-place --runs 1 --json");
    for row in rows.as_array().unwrap() {
        assert_eq!((&row["route"], &row["out_of_place"]), (&json!("out-of-place"), &json!(true)));
    }
}

#[test]
fn there_is_no_speed_if_nothing_moves() {
    let directory = directory();
    for problem in ["0x5 --dtype f4", "1x1 --dtype V64 --batch 3"] {
        for line in ["plan {}", "plan {} -v", "plan {} --all", "tune {} --budget 0"] {
            let text = directory.good(&line.replace("{}", problem));
            assert!(text.contains(" - GB/s") || !text.contains("GB/s"), "{text}");
            assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
        }
        let json = directory.json(&format!("plan {problem} --json"));
        assert!(json["candidates"][0]["gb_per_s"].is_null(), "{json}");
    }
}

#[test]
fn plan_tune_and_transpose_choose_the_same_plan() {
    let directory = directory();
    directory.write("m", noise(2400 * 1801 * 4));
    for limit in ["", "--workspace-limit 100K"] {
        let rest = format!("--dtype f4 --threads 2 --json {limit}");
        let plan = directory.json(&format!("plan 2400x1801 {rest}"));
        let used = directory.json(&format!("transpose m -o t --raw --shape 2400x1801 {rest}"));
        let tuned = directory.json(&format!("tune 2400x1801 {rest} --tiles model --budget 0"));
        assert_eq!(used["plan"], plan["candidates"][0]["plan"]);
        assert_eq!(used["route"], plan["candidates"][0]["route"]);
        assert_eq!(tuned[0]["plan"], plan["candidates"][0]["plan"]);
    }
}

#[test]
fn transpose_uses_what_tune_remembers() {
    let directory = directory();
    let data = noise(240 * 180 * 4);
    directory.write("m", &data);
    let rest = "--dtype f4 --threads 1 --wisdom wisdom.json --json";
    let tuned = directory.json(&format!("tune 240x180 {rest} --budget 0.05"));
    assert!(tuned[0]["seconds"].as_f64() > Some(0.0) && tuned[0]["runs"].as_u64() > Some(0));
    let used = directory.json(&format!("transpose m -i --raw --shape 240x180 {rest}"));
    assert_eq!((&used["plan"], &used["wisdom_rejected"]), (&tuned[0]["plan"], &Value::Null));
    assert!(directory.read("m") == transposed(&data, 240, 180, 4));
    let planned = directory.json(&format!("plan 240x180 {rest}"));
    assert_eq!(planned["candidates"][0]["plan"], tuned[0]["plan"]);
    assert_eq!(planned["chosen_by"], "wisdom");

    // Without the option, the file that the environment names.
    let chosen_by = |line: &str| {
        let mut command =
            directory.command(&format!("plan 240x180 --dtype f4 --threads 1 --json {line}"));
        let output = command.env("TURNTILE_WISDOM", "wisdom.json").output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["chosen_by"].clone()
    };
    directory.write("empty.json", "");
    for (line, want) in
        [("", "wisdom"), ("--wisdom empty.json", "estimate"), ("--wisdom ''", "estimate")]
    {
        assert_eq!(chosen_by(line), want, "{line}");
    }
}

/// Ignored with one note if the environment names it, an error if an option does; never replaced.
#[test]
fn unusable_wisdom_files_are_reported() {
    let directory = directory();
    directory.write("a.npy", small());
    directory.write("v.npy", small());
    for line in [
        "transpose -i a.npy",
        "transpose a.npy -o b.npy --memory 1M",
        "plan 3x5 --dtype f4",
        "tune 3x5 --dtype f4 --budget 0 --csv",
        "bench 3x5 --runs 1",
    ] {
        for (name, why) in [("v.npy", "v.npy is damaged"), ("no/where.json", "no/where.json")] {
            let mut command = directory.command(line);
            let output = command.env("TURNTILE_WISDOM", name).output().unwrap();
            let errors = ended(line, &output, 0, &["note: TURNTILE_WISDOM is ignored: ", why]);
            assert_eq!(errors.lines().count(), 1, "{line}: {errors}");
            assert!(!output.stdout.is_empty(), "{line}");
        }
        directory.bad(&format!("{line} --wisdom v.npy"), 1, &["v.npy is damaged"]);
    }
    let line = "tune 30x50 --dtype f4 --budget 0";
    for (name, want) in [("", "not remembered: name a file"), ("v.npy", "v.npy is damaged")] {
        let output = directory.command(line).env("TURNTILE_WISDOM", name).output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().contains(want), "{name}");
    }
    directory.bad(&format!("{line} --wisdom no/w.json"), 1, &["no directory no"]);
    let mut quiet = directory.command("transpose a.npy -i --quiet");
    assert!(quiet.env("TURNTILE_WISDOM", "v.npy").output().unwrap().stderr.is_empty());
    assert_eq!(directory.read("v.npy"), small());
    let mut permissions = fs::metadata(directory.at("v.npy")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(directory.at("v.npy"), permissions).unwrap();
    let words = ["is write-protected; name another file with --wisdom"];
    directory.bad(&format!("{line} --wisdom v.npy"), 1, &words);
}

#[test]
fn stale_wisdom_is_reported_and_not_used() {
    let directory = directory();
    directory.write("m", noise(240 * 180 * 4));
    let rest = "--dtype f4 --threads 1 --wisdom wisdom.json";
    directory.good(&format!("tune 240x180 {rest} --budget 0"));
    let wisdom = String::from_utf8(directory.read("wisdom.json")).unwrap();
    let old = wisdom.replace("\"signature\": \"turntile", "\"signature\": \"oldtile");
    directory.write("wisdom.json", old);
    let line = format!("transpose m -o t --raw --shape 240x180 {rest}");
    for (line, note) in [
        (&*line, "note: wisdom is not used for 240x180 w4: measured by old"),
        (&format!("{line} --quiet"), ""),
        (&format!("{line} --json"), "note: wisdom is not used"),
        (&format!("plan 240x180 {rest} --json"), "note: wisdom.json: not used: measured by old"),
        (&format!("plan 240x181 {rest}"), "note: wisdom.json: it has no plan for this problem"),
        (
            "plan 240x180 --dtype f4 --device h200 --wisdom wisdom.json",
            "note: wisdom.json: not read",
        ),
    ] {
        let output = directory.turntile(line);
        let errors = ended(line, &output, 0, &[note]);
        assert_eq!(errors.is_empty(), note.is_empty(), "{line}: {errors}");
        if line.ends_with("--json") {
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            let rejected = report["wisdom_rejected"].as_str().unwrap();
            assert!(rejected.contains("oldtile"), "{line}: {rejected}");
        }
    }
}
