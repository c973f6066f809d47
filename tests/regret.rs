//! The planner's choices replayed over records of candidates: what it chooses now, over the fastest measured.
//!
//! A record is what `turntile-lab bench --candidates BUDGET --each` wrote on a machine: a row for every candidate
//! that was measured. A change of a cost table shows here at once what it gained and lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turntile::plan::{CpuDevice, GpuDevice, Plan, Planner, Problem, TileSize};
use turntile_plan::{Device, PhaseRecipe, Recipe};

/// A choice this much slower than the best is a miss, and this share of all may be misses.
const REGRET: f64 = 1.10;
const MISSES: f64 = 0.05;

/// A row of a record, by the names of its columns.
type Row = BTreeMap<String, String>;

/// A line's cells; those in quotes may have commas.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    cells
}

fn rows(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names = cells(lines.next().unwrap());
    lines.map(|line| renamed(names.iter().cloned().zip(cells(line)).collect())).collect()
}

/// Hosts' records call the swapping of squares side by side a barrier, which it never was.
fn renamed(mut row: Row) -> Row {
    if row["device"] == "host" {
        let stage = |stage: &str| match stage.contains("210!(") {
            true => stage.replace(" barrier", " tile-swap"),
            false => stage.to_owned(),
        };
        let plan: Vec<String> = row["plan"].split(" -> ").map(stage).collect();
        let way = |(way, stage): (&str, &String)| match stage.contains(" tile-swap") {
            true => way.replace("barrier", "tile-swap"),
            false => way.to_owned(),
        };
        let ways: Vec<String> = row["ways"].split(" -> ").zip(&plan).map(way).collect();
        row.insert("plan".to_owned(), plan.join(" -> "));
        row.insert("ways".to_owned(), ways.join(" -> "));
    }
    row
}

fn number(row: &Row, name: &str) -> usize {
    row[name].parse().unwrap_or_else(|_| panic!("{name} of {row:?}"))
}

fn problem(row: &Row) -> Problem {
    let n = |name| number(row, name);
    let list = |text: &str, by| text.split(by).map(|n| n.parse().unwrap()).collect::<Vec<usize>>();
    let problem = match (row.get("shape"), row.get("axes")) {
        (Some(shape), Some(axes)) => {
            Problem::permuted(&list(shape, 'x'), &list(axes, '-'), n("elem_bytes"))
        }
        // Records of matrices alone do without.
        _ => Problem::with_batch(n("batch"), n("rows"), n("cols"), n("elem_bytes")),
    };
    let problem = problem.unwrap();
    if row["out_of_place"] == "1" { problem.out_of_place().unwrap() } else { problem }
}

/// The device that the record is of, as it is known without being there.
fn device(row: &Row) -> Arc<dyn Device> {
    if row["device"] != "host" {
        let chip = GpuDevice::presets()
            .into_iter()
            .find(|chip| row["device"].to_lowercase().contains(chip.name()));
        return Arc::new(chip.unwrap_or_else(|| panic!("no preset is {}", row["device"])));
    }
    let scratch = row["model"].rsplit(' ').next().and_then(|bytes| bytes.parse().ok());
    Arc::new(
        CpuDevice::new(number(row, "threads")).with_scratch(scratch.expect("a host's scratch")),
    )
}

fn recipe(row: &Row) -> Recipe {
    let leg = PhaseRecipe {
        order: problem(row).fused().order().to_vec(),
        route: row["route"].clone(),
        mirrored: row["mirrored"] == "1",
        tile: TileSize { m: number(row, "tile_m"), n: number(row, "tile_n") },
        variants: row["ways"]
            .split(" -> ")
            .filter(|way| !way.is_empty())
            .map(String::from)
            .collect(),
    };
    Recipe { phases: vec![leg] }
}

/// A plan's line without the problem and the device.
fn stages(plan: &str) -> &str {
    plan.split_once(": ").map_or(plan, |(_, stages)| stages)
}

/// Records below `benches/records`, by machine.
fn records() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/records");
    let machines = fs::read_dir(folder).unwrap().map(|machine| machine.unwrap().path());
    let files = machines
        .filter(|path| path.is_dir())
        .flat_map(|machine| fs::read_dir(machine).unwrap().map(|file| file.unwrap().path()));
    let candidates = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("candidates"))
    };
    let mut files: Vec<_> = files.filter(candidates).collect();
    files.sort();
    files
}

/// Kernels that are newer than some records. A choice of one that the record has not is not judged, until the record is
/// measured again.
const NEWER: [&str; 2] = ["barrier/team ", "pieces"];

/// Returns `true` if a plan uses a kernel that is newer than the record.
///
/// Kernels for slots of matrices with rows or columns of at most 256 bytes are: since November 2026
/// they transpose whole chunks.
fn newer(plan: &Plan, rows: &[Row]) -> bool {
    let text = plan.to_string();
    let narrow = number(&rows[0], "rows").min(number(&rows[0], "cols"));
    NEWER.iter().any(|way| text.contains(way) && !rows.iter().any(|row| row["plan"].contains(way)))
        || plan.device == "host"
            && text.contains("slot-gather")
            && narrow * plan.problem.itemsize() <= 256
}

#[test]
fn choices_are_within_a_tenth_of_the_best_measured() {
    let records = records();
    assert!(!records.is_empty(), "there are records to replay");
    let mut failures = Vec::new();
    for path in records {
        let mut problems: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        for row in rows(&path) {
            problems.entry(problem(&row).to_string()).or_default().push(row);
        }
        let (mut missed, mut count) = (Vec::new(), problems.len());
        for (name, rows) in problems {
            let seconds = |row: &Row| row["seconds"].parse::<f64>().unwrap();
            let best = rows.iter().min_by(|a, b| seconds(a).total_cmp(&seconds(b))).unwrap();
            let plan = Planner::on(device(&rows[0])).plan(&problem(&rows[0])).unwrap();
            let several = plan.phases.len() > 1;
            let is_chosen = |row: &&Row| match several {
                true => stages(&row["plan"]) == stages(&plan.to_string()),
                false => recipe(row) == plan.recipe(),
            };
            let chosen = rows.iter().find(is_chosen);
            match chosen.map(|row| seconds(row) / seconds(best)) {
                Some(regret) if regret <= REGRET => {}
                Some(regret) => {
                    missed.push(format!("{name}: {regret:.2} {plan}\n    not {}", best["plan"]))
                }
                None if newer(&plan, &rows) => count -= 1,
                None => missed.push(format!("{name}: not measured: {plan}")),
            }
        }
        println!("{}: {} of {count} missed", path.display(), missed.len());
        missed.iter().for_each(|miss| println!("  {miss}"));
        if missed.len() as f64 > MISSES * count as f64 {
            failures.push(format!("{}: {} of {count}", path.display(), missed.len()));
        }
    }
    assert!(failures.is_empty(), "choices missed the best by more than a tenth: {failures:#?}");
}
