//! Compares the repository's documents with the planner and with the files of the repository. Links are checked by
//! lychee, in .ci/run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use turntile_plan::routes::{ROUTES, RouteSpec};

/// The table of the documentation has every route, in the planner's order, the thesis's with a star.
#[test]
fn routes_are_documented() {
    let (_, table) = include_str!("../docs/explanation/how-it-works.md")
        .split_once("|---|---|---|---|\n")
        .unwrap();
    let rows = table.lines().map_while(|line| line.strip_prefix("| "));
    let documented: Vec<_> = rows.filter_map(|row| row.split(" |").next()).collect();
    let name = |row: &RouteSpec| format!("{}{}", row.route, if row.in_thesis { "*" } else { "" });
    assert_eq!(documented, ROUTES.each_ref().map(name));
}

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns names and texts of the files in the working tree that match the patterns, without ignored ones.
fn files(patterns: &[&str]) -> Vec<(String, String)> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", "--"]).args(patterns);
    let listed = git.current_dir(ROOT).output().expect("git lists files").stdout;
    let names: BTreeSet<String> =
        String::from_utf8(listed).unwrap().lines().map(String::from).collect();
    let read = |name: String| Some((fs::read_to_string(Path::new(ROOT).join(&name)).ok()?, name));
    names.into_iter().filter_map(read).map(|(text, name)| (name, text)).collect()
}

/// Every block of Rust is compiled by the lab, or marked `rust,ignore`; every block of the first pages is of a kind that
/// .ci/run tries (scripts/run-blocks, the lab, scripts/check-python, scripts/check-c), or text.
#[test]
fn blocks_of_code_are_tried() {
    const TRIED: [&str; 9] =
        ["sh", "sh gpu", "rust", "rust,ignore", "python", "c", "cpp", "fortran", "text"];
    let compiled = include_str!("../crates/lab/src/lib.rs");
    let pages = files(&["README.md", "docs/*.md"]);
    assert!(pages.len() > 20);
    for (page, text) in pages {
        let fences = text.lines().filter_map(|line| line.strip_prefix("```")).step_by(2);
        for kind in fences {
            // Its values stand for the reader's own.
            let is_compiled =
                compiled.contains(&format!("/{page}\"")) || page.ends_with("imatcopy.md");
            assert!(
                kind != "rust" || is_compiled,
                "{page}: crates/lab/src/lib.rs does not compile it"
            );
            let is_first = ["README.md", "docs/tutorial.md"].contains(&&*page);
            assert!(
                !is_first || TRIED.contains(&kind),
                "{page}: nothing tries a block of kind {kind}"
            );
        }
        assert!(!text.contains("![]("), "{page}: a picture without words");
    }
}

#[test]
fn pages_that_sources_name_exist() {
    let sources = [
        "crates/*.rs",
        "crates/*.toml",
        "crates/*.py",
        "kernels/*.cu*",
        "scripts",
        "benches/*.rs",
        ".ci",
    ];
    let mut count = 0;
    for (file, text) in files(&sources) {
        for part in text.split("docs/").skip(1) {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && !"/-_.".contains(c));
            let name = part[..end.unwrap_or(part.len())].trim_end_matches('.');
            if [".md", ".svg", ".csv"].iter().any(|kind| name.ends_with(kind)) {
                count += 1;
                assert!(
                    Path::new(ROOT).join("docs").join(name).exists(),
                    "{file}: docs/{name} does not exist"
                );
            }
        }
    }
    assert!(count > 20);
}
