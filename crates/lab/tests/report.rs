//! The report, in small: everything that a host can measure, kept, measured again, and refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn lab(directory: &TempDir, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_turntile-lab"))
        .args(line.split_whitespace())
        .current_dir(directory)
        .output()
        .expect("the command starts")
}

/// Runs the command, which must succeed, and returns what it printed.
fn good(directory: &TempDir, line: &str) -> String {
    let output = lab(directory, line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*errors), (Some(0), ""), "{line}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the command, which must exit with `code`, print nothing, and complain with `words`. Every file of the
/// directory itself must be as it was, and no other be there.
fn bad(directory: &TempDir, line: &str, code: i32, words: &[&str]) {
    let files = || -> BTreeSet<_> {
        let entries = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_file()).map(|path| (fs::read(&path).unwrap(), path)).collect()
    };
    let before = files();
    let output = lab(directory, line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}: {errors}");
    assert!(output.stdout.is_empty(), "{line}");
    for word in words {
        assert!(errors.contains(word), "{line}: {errors:?} does not tell {word:?}");
    }
    assert!(files() == before, "{line}: files changed");
}

#[test]
fn pitches_are_measured() {
    let directory = directory();
    let line = "steering --pitches 4096,6144 --seeds 2 --runs 1 --cache 64KiB out.csv";
    let told = good(&directory, line);
    assert!(told.contains("memory      4096 places, pitch     6144"), "{told}");
    let csv = fs::read_to_string(directory.path().join("out.csv")).unwrap();
    // Four forms, two pitches, three walks, two seeds.
    assert_eq!(csv.lines().count(), 1 + 4 * 2 * 3 * 2);
    bad(&directory, "steering --pitches 100 other.csv", 1, &["100", "256"]);
    bad(&directory, "steering --cache 1KiB other.csv", 1, &["1024", "65536"]);
    bad(&directory, "steering --device h200 other.csv", 1, &["preset"]);
    bad(&directory, "steering --runs 0 other.csv", 2, &["--runs", "zero"]);
    bad(&directory, "steering --seeds 0 other.csv", 2, &["--seeds", "zero"]);
}

#[test]
fn a_report_is_made_resumed_and_measured_again() {
    let directory = directory();
    let out = directory.path().join("page");
    let line = "report --quick --quiet --threads 2 --out page";
    let told = good(&directory, line);
    assert!(told.contains(", 0 there already, 0 failed"), "{told}");
    let page = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(page.contains("No result") && page.contains("; 2 threads"), "{page}");
    // Every file is on the page, and the page names no file that there is not.
    let files: BTreeSet<String> = fs::read_dir(&out)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    assert!(files.len() > 20, "{files:?}");
    let named: BTreeSet<String> = page
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.starts_with('#'))
        .map(str::to_owned)
        .collect();
    assert_eq!(files, named);
    for file in &files {
        let text = fs::read_to_string(out.join(file)).unwrap();
        match file.rsplit('.').next() {
            Some("svg") => assert!(text.starts_with("<svg"), "{file}"),
            _ => assert!(text.starts_with("# ") && text.contains("turntile-lab report"), "{file}"),
        }
    }

    shares_are_of_the_copies(&out);

    // A table that is damaged is measured again, the others are kept; pictures are drawn again.
    let kept = fs::read(out.join("table-4.2.csv")).unwrap();
    fs::write(out.join("figure-4.6.csv"), "# half of a").unwrap();
    fs::remove_file(out.join("figure-4.1.svg")).unwrap();
    let told = good(&directory, line);
    assert!(told.contains(": 1 items measured") && told.contains(", 0 failed"), "{told}");
    assert_eq!(fs::read(out.join("table-4.2.csv")).unwrap(), kept);
    assert!(out.join("figure-4.1.svg").exists());
    let told = good(&directory, &format!("{line} --items figure-4.6,table-4.1 --again"));
    assert!(told.contains(": 2 items measured") && told.contains(", 0 failed"), "{told}");
    let again = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(again.contains("## table-5.3"), "the page has all that is there");

    // Drawn from the files alone, the page is the same.
    fs::remove_file(out.join("README.md")).unwrap();
    fs::remove_file(out.join("figure-4.21.svg")).unwrap();
    let told = good(&directory, "report --draw --out page");
    assert!(told.contains(": 0 items measured") && told.contains(", 0 failed"), "{told}");
    assert_eq!(fs::read_to_string(out.join("README.md")).unwrap(), again);
    assert!(out.join("figure-4.21.svg").exists());
}

/// In every table with speeds: per cent of the copy beside them, as far as the digits printed tell.
fn shares_are_of_the_copies(folder: &Path) {
    let mut checked = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        let mut table = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(&path).unwrap();
        let names = table.headers().unwrap().clone();
        let places = ["gb_per_s", "copy_gb_per_s", "percent_of_copy"]
            .map(|name| names.iter().position(|column| column == name));
        let [Some(speed), Some(copy), Some(percent)] = places else { continue };
        for cells in table.records().map(Result::unwrap) {
            // What the device cannot do has no speed.
            if cells[speed].is_empty() {
                continue;
            }
            let range = |place: usize| {
                let digits = cells[place].split_once('.').map_or(0, |(_, digits)| digits.len());
                let (value, half) =
                    (cells[place].parse::<f64>().unwrap(), 0.5 / 10f64.powi(digits as i32));
                (value - half, value + half)
            };
            let (speed, copy, percent) = (range(speed), range(copy), range(percent));
            // A rate that is next to nothing, of a machine at work elsewhere, is any share.
            let most = if copy.0 > 0.0 { 100.0 * speed.1 / copy.0 } else { f64::INFINITY };
            let least = 100.0 * speed.0 / copy.1;
            assert!(percent.0 <= most && least <= percent.1, "{cells:?}: {least} to {most}");
            assert!(copy.1 < 1e4, "{cells:?}: no host copies so fast");
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked} rows");
}

#[test]
fn failed_items_are_told_and_shown() {
    let directory = directory();
    // A folder in the place of the item's file: it can neither be read nor written.
    fs::create_dir_all(directory.path().join("page/table-4.1.csv")).unwrap();
    let line = "report --quick --quiet --out page --items table-4.1,figure-4.6";
    let failed = ["1 items measured, 0 there already, 1 failed", "table-4.1 failed: "];
    bad(&directory, line, 1, &failed);
    // Nor is it passed over where it is not asked for.
    bad(&directory, "report --draw --out page", 1, &["table-4.1 failed: "]);
    let page = fs::read_to_string(directory.path().join("page/README.md")).unwrap();
    assert!(page.contains("**failed**") && page.contains("**Failed** after"), "{page}");
}

#[test]
fn tables_of_a_trial_are_called_so_and_measured_again() {
    let directory = directory();
    let line = "report --quiet --out page --items figure-4.6";
    let page = || fs::read_to_string(directory.path().join("page/README.md")).unwrap();
    good(&directory, &format!("{line} --quick"));
    assert!(page().contains("No result"));
    good(&directory, "report --draw --out page");
    assert!(page().contains("No result"), "drawn, they are still no result");
    let told = good(&directory, line);
    assert!(told.contains("1 items measured, 0 there already"), "{told}");
    assert!(!page().contains("No result"));
    let told = good(&directory, &format!("{line} --quick"));
    assert!(told.contains("0 items measured, 1 there already"), "{told}");
}

#[test]
fn a_page_of_somebody_else_is_left_alone() {
    let directory = directory();
    fs::write(directory.path().join("README.md"), "# My project\n").unwrap();
    for line in ["report --quick --items figure-4.6 --out .", "report --draw --out ."] {
        bad(&directory, line, 1, &["README.md", "not made by", "--out"]);
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let directory = directory();
    bad(&directory, "report --items figure-9.9", 1, &["figure-9.9", "figure-4.21"]);
    bad(&directory, "report --device h200", 1, &["h200"]);
    bad(&directory, "report --items figure-4.6,ladder", 1, &["ladder", "--device cuda"]);
    bad(&directory, "report --device abacus", 1, &["abacus"]);
    bad(&directory, "tables out ladder abacus", 1, &["abacus", "ladder, gaussian"]);
    #[cfg(not(feature = "cuda"))]
    for line in ["report --device cuda", "check", "tables out", "tables out gaussian"] {
        bad(&directory, line, 1, &["without the GPU backend"]);
    }
    assert!(!directory.path().join("out").exists());
}

/// A page that was made when this was a command of `turntile` is the report's own.
#[test]
fn pages_of_old_are_written_anew() {
    let directory = directory();
    let page = directory.path().join("README.md");
    fs::write(&page, "# The sources\n\nMade by `turntile report`.\n").unwrap();
    good(&directory, "report --quick --quiet --items figure-4.6 --out .");
    assert!(fs::read_to_string(page).unwrap().contains("Made by `turntile-lab report`."));
}
