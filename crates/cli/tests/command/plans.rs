//! Plans, measurements, and what is remembered of them.

use std::collections::{HashMap, HashSet};
use std::fs;

use tempfile::TempDir;

use crate::{bad, directory, files, good, near, noise, npy, transposed, turntile};

#[test]
fn plans_are_printed() {
    let directory = directory();
    for device in ["host", "h100", "a100", "h200"] {
        let line = format!("plan 7200x1800 --elem-bytes 4 --device {device}");
        assert!(good(&directory, &line).contains("route"), "{line}");
        let all = good(&directory, &format!("{line} --all"));
        assert!(all.contains("GB/s") && all.contains("not possible: "), "{all}");
        let all = good(&directory, &format!("{line} --all --json"));
        let all: serde_json::Value = serde_json::from_str(&all).unwrap();
        assert!(all["candidates"].as_array().unwrap().len() > 1);
        let first = &all["candidates"][0];
        assert_eq!(first["device"], device);
        assert!(first["estimated_seconds"].as_f64().unwrap() > 0.0, "{first}");
        assert!(first["tile"]["m"].as_u64().is_some() && first["stages"][0].is_string(), "{first}");
    }
    let rules = ["model", "all"].map(|tiles| {
        let line =
            format!("plan 7200x1800 --elem-bytes 4 --threads 1 --tiles {tiles} --all --json");
        let all: serde_json::Value = serde_json::from_str(&good(&directory, &line)).unwrap();
        all["candidates"].as_array().unwrap().len()
    });
    assert!(rules[1] > rules[0], "{rules:?}");
}

#[test]
fn plans_are_made_for_files() {
    let directory = directory();
    let write = |name: &str, fortran, shape: &str, elements: usize| {
        let path = directory.path().join(name);
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
    let before = files(directory.path());
    for (of_file, of_shape) in [
        ("c.npy", "300x200"),
        ("f.npy", "200x300"),
        ("batch.npy", "40x50 --batch 3"),
        ("c.npy --axes 1,0", "300x200 --axes 1,0"),
        ("batch.npy --axes 2,0,1", "3x40x50 --axes 2,0,1"),
        ("c.npy --into", "300x200 --into"),
        ("c.npy --all --device h200", "300x200 --all --device h200"),
        ("./c.npy --threads 1", "300x200 --threads 1"),
        ("empty.npy", "0x5"),
        ("empty.npy --axes 1,0", "0x5 --axes 1,0"),
        ("empty-batch.npy", "3x5 --batch 0"),
        ("empty-f.npy", "5x0"),
    ] {
        let want = good(&directory, &format!("plan {of_shape} --elem-bytes 4"));
        assert_eq!(good(&directory, &format!("plan {of_file}")), want, "{of_file}");
    }
    assert!(good(&directory, "tune c.npy --budget 0").contains("300x200"));
    bad(&directory, "plan line.npy", 1, &["at least 2 axes"]);
    bad(&directory, "plan c.npy --axes 0,2,1", 1, &["names 3 axes"]);
    bad(&directory, "plan none.npy", 1, &["none.npy"]);
    bad(&directory, "plan empty-huge.npy", 1, &["exceed"]);
    bad(&directory, "plan c.npy --member a", 1, &["not a .npz archive"]);
    bad(&directory, "plan c.npy --elem-bytes 4", 2, &["cannot be used with a file"]);
    assert!(files(directory.path()) == before);
}

#[test]
fn measured_shapes_are_rows_of_a_table() {
    let directory = directory();
    let line = "bench --shapes 300x200,7x5 --batch 3 --elem-bytes 4,3 --runs 1 --threads 1";
    let text = good(&directory, line);
    assert!(text.contains("3 x 300x200") && text.lines().count() == 5, "{text}");
    let text = good(&directory, &format!("{line} --draw 1 --draw-most 1MiB --json"));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 5, "{text}");
    // A route that cannot serve 7x5 is told of and leaves the others be.
    let line = format!("{line} --route best,three-stage --candidates 0 --csv");
    let output = turntile(&directory, &line);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), told.lines().count()), (Some(0), 2), "{told}");
    assert!(told.contains("note: route three-stage cannot serve 3 * 7x5 w4"), "{told}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines[0].starts_with("class,batch,rows,cols,shape,axes,elem_bytes,device,threads,pages,"),
        "{text}"
    );
    assert_eq!(lines.len(), 1 + 4 + 2, "{text}");
    assert!(
        lines[2].starts_with("asked,3,300,200,3x300x200,0-2-1,4,host,1,huge,false,three-stage,"),
        "{text}"
    );
    // Where no route serves any shape there is no table, but the reason.
    let line = "bench --shapes 7x5,9x7 --route three-stage --runs 1";
    bad(&directory, line, 1, &["note: route three-stage cannot serve 7x5", "cannot serve 9x7"]);
    bad(&directory, "bench --draw 2 --draw-most 100", 1, &["100 bytes", "--draw-most"]);
    let text = good(&directory, "tune 300x200 --elem-bytes 4 --budget 0 --csv");
    assert!(text.starts_with("route,mirrored,m,n,") && text.lines().count() == 2, "{text}");
}

/// Into another buffer: planned, measured, remembered and verified as in place.
#[test]
fn into_another_buffer() {
    let directory = directory();
    let json = |line: &str| -> serde_json::Value {
        serde_json::from_str(&good(&directory, line)).unwrap()
    };
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

/// A row for each candidate: the planner's choice once, and of each route as many tiles as asked for.
#[test]
fn each_candidate_is_a_row() {
    let directory = directory();
    let line = "bench --shapes 720x180,96x96 --threads 2 --runs 1 --candidates 5 --each --csv";
    let rows = |line: &str| -> Vec<HashMap<String, String>> {
        let text = good(&directory, line);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let names = reader.headers().unwrap().clone();
        let wanted = "batch,rows,cols,shape,axes,elem_bytes,out_of_place,device,model,threads,route,mirrored,\
                      tile_m,tile_n,ways,workspace_bytes,seconds,runs,estimated_seconds,\
                      copy_gb_per_s,percent_of_copy,chosen,plan";
        assert_eq!(names.iter().collect::<Vec<_>>().join(","), wanted);
        reader.deserialize().map(Result::unwrap).collect()
    };
    let two = rows(&format!("{line} --each-tiles 2"));
    for (cols, plan) in [("180", "720x180 w4 on host: "), ("96", "96x96 w4 on host: ")] {
        let of: Vec<_> = two.iter().filter(|row| row["cols"] == cols).collect();
        let chosen: Vec<_> = of.iter().filter(|row| row["chosen"] == "1").collect();
        let planned = good(
            &directory,
            &format!("plan {}x{cols} --elem-bytes 4 --threads 2 --json", of[0]["rows"]),
        );
        let planned: serde_json::Value = serde_json::from_str(&planned).unwrap();
        assert_eq!(chosen.len(), 1, "{of:?}");
        assert_eq!(planned["candidates"][0]["plan"], chosen[0]["plan"].as_str());
        assert!(of.iter().all(|row| row["plan"].starts_with(plan) && row["device"] == "host"));
        let distinct: HashSet<_> = of
            .iter()
            .map(|row| ["route", "mirrored", "tile_m", "tile_n", "ways"].map(|name| &row[name]))
            .collect();
        assert_eq!(distinct.len(), of.len(), "{of:?}");
        for row in &of {
            let number = |name: &str| row[name].parse::<f64>().unwrap();
            let bytes = number("rows") * number("cols") * 4.0;
            assert!(number("runs") >= 1.0 && number("estimated_seconds") > 0.0);
            assert_eq!(row["ways"].matches(" -> ").count(), row["plan"].matches(" -> ").count());
            let share = 2.0 * bytes / number("seconds") / 1e9 / number("copy_gb_per_s");
            near(number("percent_of_copy"), 100.0 * share, 3e-3);
        }
        // The routes that serve it, as they are and mirrored.
        let routes: HashSet<_> = of.iter().map(|row| (&*row["route"], &*row["mirrored"])).collect();
        let serve: &[_] = match cols {
            "96" => &[("square", "0"), ("three-stage", "1")],
            _ => &[("square-tile", "0"), ("panel", "0"), ("panel", "1"), ("one-stage", "0")],
        };
        assert!(serve.iter().all(|route| routes.contains(route)), "{routes:?}");
        let tiles = |of: &[&HashMap<String, String>]| {
            let three =
                of.iter().filter(|row| row["route"] == "three-stage" && row["mirrored"] == "0");
            three.count()
        };
        assert!((1..=3).contains(&tiles(&of)), "two, and that of the planner's choice: {of:?}");
    }
    // Of routes of one stage every way.
    let square: HashSet<_> =
        two.iter().filter(|row| row["route"] == "one-stage").map(|row| &row["ways"]).collect();
    assert!(square.len() > 1, "{square:?}");
    let into = rows(&format!("{line} --into"));
    assert!(into.iter().all(|row| row["route"] == "out-of-place" && row["out_of_place"] == "1"));
    assert_eq!(into.iter().filter(|row| row["chosen"] == "1").count(), 2);
}

/// GB/s and seconds are of the same bytes, read and written; per cent are of the copy beside them.
#[test]
fn speeds_times_and_shares_agree() {
    let directory = directory();
    let line = "bench --shapes 300x200,1000x999 --batch 3 --elem-bytes 4,3 --runs 3 --threads 1";
    let text = good(&directory, &format!("{line} --candidates 0 --json"));
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 4, "{text}");
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
    let text = good(&directory, "tune 300x200 --elem-bytes 3 --budget 0.02 --json");
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
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
            let text = good(&directory, &line);
            assert!(text.contains(" - GB/s") || !text.contains("GB/s"), "{text}");
            assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
        }
        let text = good(&directory, &format!("plan {problem} --json"));
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(json["candidates"][0]["gb_per_s"].is_null(), "{text}");
    }
}

#[test]
fn plan_tune_and_transpose_have_one_workspace_by_default() {
    let directory = directory();
    fs::write(directory.path().join("m"), noise(2400 * 1801 * 4)).unwrap();
    let json = |line: String| -> serde_json::Value {
        serde_json::from_str(&good(&directory, &line)).unwrap()
    };
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
    fs::write(directory.path().join("m"), &data).unwrap();
    let shape = "--elem-bytes 4 --threads 1 --wisdom wisdom.json --json";
    let tuned = good(&directory, &format!("tune 240x180 {shape} --budget 0.05"));
    let tuned: serde_json::Value = serde_json::from_str(&tuned).unwrap();
    let winner = &tuned[0];
    assert!(winner["seconds"].as_f64() > Some(0.0) && winner["runs"].as_u64() > Some(0));
    let used = good(&directory, &format!("transpose m --raw --rows 240 --cols 180 {shape}"));
    let used: serde_json::Value = serde_json::from_str(&used).unwrap();
    assert_eq!(used["plans"][0], winner["plan"]);
    assert_eq!(used["wisdom_refused"], serde_json::json!([]));
    let planned = good(&directory, &format!("plan 240x180 {shape}"));
    let planned: serde_json::Value = serde_json::from_str(&planned).unwrap();
    assert_eq!(planned["candidates"][0]["plan"], winner["plan"]);
    assert_eq!(planned["chosen_by"], "wisdom");
    let planned = good(&directory, "plan 240x180 --elem-bytes 4 --threads 1 --json");
    let planned: serde_json::Value = serde_json::from_str(&planned).unwrap();
    assert_eq!(planned["chosen_by"], "estimate");
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

/// A processor's table for a GPU, and the other way round.
#[test]
fn rates_of_another_device_are_refused_by_name() {
    let directory = directory();
    let table =
        r#"{"device": "an abacus", "about": "", "constants": {"beads": 10}, "operations": {}}"#;
    fs::write(directory.path().join("rates.json"), table).unwrap();
    for device in ["h200", "host"] {
        let line = format!("plan 3x5 --elem-bytes 4 --device {device} --rates rates.json");
        bad(&directory, &line, 1, &["rates rates.json are of an abacus"]);
    }
}

#[test]
fn stale_wisdom_is_told_of_and_not_used() {
    let directory = directory();
    fs::write(directory.path().join("m"), noise(240 * 180 * 4)).unwrap();
    let shape = "--elem-bytes 4 --threads 1 --wisdom wisdom.json";
    good(&directory, &format!("tune 240x180 {shape} --budget 0"));
    let path = directory.path().join("wisdom.json");
    let wisdom = fs::read_to_string(&path).unwrap();
    fs::write(&path, wisdom.replace("\"signature\": \"turntile", "\"signature\": \"oldtile"))
        .unwrap();

    let line = format!("transpose m -o t --raw --rows 240 --cols 180 {shape}");
    let told = |line: &str| {
        let output = turntile(&directory, line);
        assert_eq!(output.status.code(), Some(0), "{line}");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let (_, errors) = told(&line);
    assert!(errors.contains("note: wisdom not used for 240x180 w4: measured by old"), "{errors}");
    assert_eq!(told(&format!("{line} --quiet")), (String::new(), String::new()));
    let (text, _) = told(&format!("{line} --json"));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(json["wisdom_refused"][0].as_str().unwrap().contains("oldtile"), "{text}");

    let (text, errors) = told(&format!("plan 240x180 {shape} --json"));
    assert!(errors.contains("note: wisdom.json: not used: measured by old"), "{errors}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(json["wisdom_refused"].as_str().unwrap().contains("oldtile"), "{text}");
    let (_, errors) = told(&format!("plan 240x181 {shape}"));
    assert!(errors.contains("nothing is known"), "{errors}");
    let (_, errors) = told("plan 240x180 --elem-bytes 4 --device h200 --wisdom wisdom.json");
    assert!(errors.contains("not read"), "{errors}");
}
