//! `turntile-lab bench` and `calibrate` as a maintainer runs them.

use std::collections::{HashMap, HashSet};
use std::process::{Command, Output};

use turntile::Transpose;

fn lab(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turntile-lab"));
    command.args(line.split_whitespace()).output().expect("the command starts")
}

/// Runs the command, which must succeed, and returns what it printed.
fn good(line: &str) -> String {
    let output = lab(line);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn classes_drawn_shapes_and_routes_are_rows() {
    let line = "bench --shapes 300x200,7x5 --elem-bytes 4,3 --runs 1 --threads 1";
    let text = good(&format!("{line} --draw 1 --draw-most 1MiB"));
    assert_eq!(text.lines().count(), 1 + 4 + 1, "{text}");
    // A route that is not possible for a shape is reported, and the others are measured.
    let output = lab(&format!("{line} --route best,three-stage --candidates 0"));
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), told.lines().count()), (Some(0), 2), "{told}");
    assert!(told.contains("note: route three-stage cannot be used for 7x5 w4"), "{told}");
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().next().unwrap();
    assert!(names.starts_with("class,batch,rows,cols,shape,axes,elem_bytes,device,threads,pages,"));
    assert!(names.ends_with(",plan,chosen_over_best,candidates,best_route,best_plan"), "{names}");
    assert_eq!(text.lines().count(), 1 + 4 + 2, "{text}");
    for (line, words) in [
        ("bench --shapes 7x5 --route three-stage --runs 1", "cannot be used for 7x5"),
        ("bench --draw 2 --draw-most 100", "raise --draw-most"),
        ("bench --shapes 7x5 --costs none.json", "none.json"),
        ("bench --shapes none", "there is no such class"),
    ] {
        let output = lab(line);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && errors.contains(words), "{line}: {errors}");
    }
}

#[test]
fn records_are_rows_one_for_each_way() {
    let line = "records --fields 4,12,1 --records 1001 --runs 1 --threads 1";
    let text = good(line);
    let ways = ["1,32", "32,1", "1,1001", "1001,1", "1001,32", "32,1001"];
    let begins = |way| format!("4+12+1,1,1001,{way},1,");
    assert_eq!(text.lines().count(), 1 + ways.len(), "{text}");
    for (row, way) in text.lines().skip(1).zip(ways) {
        assert!(row.starts_with(&begins(way)), "{row}");
    }
    for (line, words) in
        [("records --fields 4,0 --records 9", "0 bytes"), ("records --fields 4", "--records")]
    {
        let output = lab(line);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && errors.contains(words), "{line}: {errors}");
    }
}

#[test]
fn a_table_that_is_made_here_is_planned_by() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("table.json");
    let file = file.to_str().unwrap();
    let text = good(&format!("calibrate --threads 1 --budget 0 --output {file}"));
    assert!(text.contains("by the new table all are"), "{text}");
    let text = good(&format!("bench --shapes 300x200 --threads 1 --runs 1 --costs {file}"));
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(!lab(&format!("calibrate --budget 1e9 --output {file}/none")).status.success());
}

/// A row for each candidate: the planner's choice once, and of each route as many tiles as asked for.
#[test]
fn each_candidate_is_a_row() {
    let line = "bench --shapes 720x180,96x96 --threads 2 --runs 1 --candidates 5 --each";
    let rows = |line: &str| -> Vec<HashMap<String, String>> {
        let text = good(line);
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
        let planned = Transpose::new::<f32>(of[0]["rows"].parse().unwrap(), cols.parse().unwrap());
        let planned = planned.threads(2).plan().unwrap();
        assert_eq!(chosen.len(), 1, "{of:?}");
        assert_eq!(planned.plan().to_string(), chosen[0]["plan"]);
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
            assert!((number("percent_of_copy") / (100.0 * share) - 1.0).abs() < 3e-3, "{row:?}");
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
