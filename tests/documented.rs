//! Compares the repository's documents with the planner.

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
