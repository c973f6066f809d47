//! The table of items.

use super::item::Item;
use super::{chapter4, chapter5, literature};

/// All names, for whoever asks for another.
pub fn ids() -> String {
    all().map(|item| item.id).collect::<Vec<_>>().join(", ")
}

/// Every item, in the order of the page.
pub fn all() -> impl Iterator<Item = &'static Item> {
    chapter4::ITEMS.iter().chain(&chapter5::ITEMS).chain(&literature::ITEMS)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::page::opening;
    use super::super::table::Table;
    use super::super::views::View;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn items_are_told_apart_and_documented() {
        let ids: BTreeSet<&str> = all().map(|item| item.id).collect();
        assert_eq!(ids.len(), all().count());
        for item in all() {
            assert!(item.id.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)));
            assert!(!item.shows.is_empty() && !item.shows.ends_with('.'), "{}", item.id);
            assert!(
                ["thesis ", "Khan, ", "two "].iter().any(|start| item.source.starts_with(start))
            );
            assert!(
                item.source_says.ends_with('.') || item.source_says.ends_with(')'),
                "{}",
                item.id
            );
            assert!(!item.columns.is_empty() && !item.views.is_empty());
            let columns: BTreeSet<_> = item.columns.iter().collect();
            assert_eq!(columns.len(), item.columns.len());
            for view in item.views {
                let missing = view.columns().into_iter().find(|name| !item.columns.contains(name));
                assert_eq!(missing, None, "{}", item.id);
            }
            let pictures: Vec<_> = item.views.iter().filter_map(View::picture).collect();
            assert_eq!(pictures.iter().collect::<BTreeSet<_>>().len(), pictures.len());
        }
    }

    #[test]
    fn every_figure_that_the_page_promises_is_there() {
        let sources: String = all().map(|item| item.source).collect::<Vec<_>>().join("; ");
        for figure in [
            "2.2", "3.7", "4.1", "4.4", "4.6", "4.11", "4.13", "4.16", "4.17", "4.18", "4.19",
            "4.20", "4.21", "5.2", "5.4", "5.7",
        ] {
            assert!(sources.contains(figure), "figure {figure}");
        }
        for table in ["4.1", "4.2", "4.3", "5.2", "5.3"] {
            assert!(all().any(|item| item.source == format!("thesis table {table}")), "{table}");
        }
    }

    /// The page of sources links every item once, beside how its verdict on an H200 begins.
    #[test]
    fn the_page_of_sources_agrees_with_the_verdicts() {
        let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = fs::read_to_string(lab.join("sources.md")).unwrap();
        for item in all() {
            let csv = lab.join(format!("report/h200/{}.csv", item.id));
            let (link, to_be) = match csv.exists() {
                true => (format!("[{}](report/h200/README.md#", item.id), ""),
                false => (format!("*{}*", item.id), "to be measured"),
            };
            let rows: Vec<&str> = page.lines().filter(|line| line.contains(&link)).collect();
            assert!(rows.len() == 1, "{} stands in {} rows", item.id, rows.len());
            let said = rows[0].rsplit(" | ").next().unwrap();
            if !to_be.is_empty() {
                assert!(said.starts_with(to_be), "{}: {said:?}", item.id);
                continue;
            }
            let verdict = (item.verdict)(&Table::load(&csv, item.columns).unwrap().unwrap());
            let want = opening(&verdict).to_lowercase();
            assert!(said.to_lowercase().starts_with(&want), "{}: {said:?}, but {want:?}", item.id);
        }
    }

    /// What is committed: tables have today's columns, a verdict with numbers in it, and the pictures beside them
    /// (`turntile-lab report --draw --out FOLDER` draws them anew).
    #[test]
    fn committed_tables_have_verdicts_and_pictures() {
        let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("report");
        let mut drawn = 0;
        for folder in ["h200", "host"].map(|name| reports.join(name)) {
            for item in all() {
                let path = folder.join(format!("{}.csv", item.id));
                if !path.exists() {
                    continue;
                }
                let table = Table::load(&path, item.columns).unwrap();
                let table = table.unwrap_or_else(|| panic!("{}: other columns", path.display()));
                let verdict = (item.verdict)(&table);
                let wrong =
                    ["NaN", "inf", "nothing", "-0.00"].iter().any(|word| verdict.contains(word));
                assert!(verdict.ends_with(['.', ')']) && !wrong, "{}: {verdict}", path.display());
                for view in item.views {
                    let Some(svg) = view.svg(&table).unwrap() else { continue };
                    let name = format!("{}{}.svg", item.id, view.picture().unwrap());
                    let there = fs::read_to_string(folder.join(&name)).unwrap();
                    assert!(there == svg, "{name} of {} is another", folder.display());
                    drawn += 1;
                }
            }
        }
        assert!(drawn > 30, "{drawn} pictures");
    }
}
