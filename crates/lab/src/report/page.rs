//! The page.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;

use super::claims::{Rows, few};
use super::item::Item;
use super::table::Table;

/// An item and what became of it.
pub struct Entry {
    /// The item.
    pub item: &'static Item,
    /// Its table, and whether it was measured by this run.
    pub result: Result<(Table, bool)>,
    /// How long that took.
    pub took: Duration,
}

/// Tables longer than this are left to the CSV file.
const MOST_LINES: usize = 60;

/// What every page says, and no other.
const MADE_BY: &str = "Made by `turntile-lab report`.";
/// As pages said it while the command was one of `turntile`.
const MADE_BY_FORMERLY: &str = "Made by `turntile report`.";

/// Whether a file is a page of a report, and may be written anew.
pub fn is_page(file: &[u8]) -> bool {
    let text = String::from_utf8_lossy(file);
    text.contains(MADE_BY) || text.contains(MADE_BY_FORMERLY)
}

/// The whole page as Markdown; it writes no file.
pub fn page(entries: &[Entry], about: &str) -> String {
    let mut text = format!(
        "# The sources' figures and tables on {about}\n\n\
         {MADE_BY} Every transposition is verified, element by element, before it is timed, or where \
         its section says; times are medians. GB/s is 2 · bytes / time; *% of copy* compares with a copy of as many bytes in the \
         same run. What the source reports stands above each table; the CSV files have all rows. In \
         place the same memory is read and written, a copy touches twice as much: where a cache holds the one and not the other \
         a share is above 100%. Each *verdict* is made from its section's own numbers.\n\n"
    );
    let quick = |entry: &&Entry| entry.result.as_ref().is_ok_and(|(table, _)| table.is_quick());
    if entries.iter().find(quick).is_some() {
        text += "**Made with `--quick`: small sizes and single runs, to try the command out. No result.**\n\n";
    }
    // Writing to a string cannot fail.
    for Entry { item, result, .. } in entries {
        let state = match result {
            Ok(_) => "",
            Err(_) => " **failed**",
        };
        let anchor = format!("{}-{}", item.id, item.source);
        let short = result
            .as_ref()
            .map_or(String::new(), |(table, _)| format!(" *{}.*", opening(&(item.verdict)(table))));
        let _ =
            writeln!(text, "- [{}](#{}): {}.{short}{state}", item.id, slug(&anchor), item.shows);
    }
    for entry in entries {
        section(&mut text, entry);
    }
    text
}

/// How a verdict begins, without its numbers.
pub fn opening(verdict: &str) -> &str {
    verdict.split([':', '.']).next().unwrap_or_default()
}

/// Most that a share of a copy can be because a copy touches twice as much memory, in percent, and some more.
const MOST_SHARE: f64 = 150.0;

/// What is to be said of shares of a copy that no better reason explains than a copy that was disturbed.
fn caution(table: &Table) -> String {
    if !table.columns.iter().any(|column| column == "percent_of_copy") {
        return String::new();
    }
    let rows = Rows::of(table);
    let above = rows.all("percent_of_copy").iter().filter(|share| **share > MOST_SHARE).count();
    match above {
        0 => String::new(),
        some => format!(
            "*With care:* {some} of {} shares are above {MOST_SHARE}%, to {}%: their copies were slow ({} GB/s over all rows), so \
             compare GB/s.\n\n",
            table.rows.len(),
            few(rows.most("percent_of_copy")),
            rows.range("copy_gb_per_s")
        ),
    }
}

/// A heading's anchor as Markdown pages make it.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn section(text: &mut String, Entry { item, result, took }: &Entry) {
    let Item { id, source, shows, source_says, views, .. } = item;
    let _ = write!(text, "\n## {id} {source}\n\n{shows}.\n\n");
    if !source_says.is_empty() {
        let _ = write!(text, "*The source:* {source_says}\n\n");
    }
    let table = match result {
        Ok((table, _)) => table,
        Err(why) => {
            let _ = writeln!(text, "**Failed** after {:.1} s: {why}", took.as_secs_f64());
            return;
        }
    };
    let _ = write!(text, "**Verdict:** {}\n\n", (item.verdict)(table));
    text.push_str(&caution(table));
    for view in *views {
        if let Some(name) = view.picture().filter(|_| view.has_points(table)) {
            let _ = write!(text, "![{id}]({id}{name}.svg)\n\n");
        } else if let Some(shown) = view.markdown(table) {
            let lines = shown.lines().count();
            if lines <= MOST_LINES + 2 {
                let _ = writeln!(text, "{shown}");
            } else {
                let kept: String = shown.lines().take(12).map(|line| format!("{line}\n")).collect();
                let _ = write!(text, "{kept}\n{} more in the CSV file.\n\n", lines - 12);
            }
        }
    }
    let _ = writeln!(text, "[{id}.csv]({id}.csv): {}", table.origin);
}

#[cfg(test)]
mod tests {
    use super::super::items;
    use super::*;

    #[test]
    fn failed_items_are_on_the_page_with_their_reason() {
        let failed = Entry {
            item: items::all().next().unwrap(),
            result: Err(anyhow::anyhow!("a stage: 3 elements are wrong")),
            took: Duration::from_secs(1),
        };
        let mut table = Table::new(items::all().nth(1).unwrap().columns);
        table.push(items::all().nth(1).unwrap().columns.iter().map(|_| "1".to_owned()));
        table.origin = "there and then".into();
        let done = Entry {
            item: items::all().nth(1).unwrap(),
            result: Ok((table, true)),
            took: Duration::from_secs(1),
        };
        let text = page(&[failed, done], "a device");
        assert!(text.contains("**Failed** after 1.0 s: a stage: 3 elements are wrong"), "{text}");
        assert!(
            text.contains(&format!("](#{}", slug(items::all().next().unwrap().id)))
                && !text.contains("** failed")
        );
        assert!(text.contains(" **failed**") && text.contains("there and then"));
        assert!(!text.contains("No result") && is_page(text.as_bytes()) && !is_page(b"# A page"));
    }

    #[test]
    fn shares_that_no_copy_explains_are_told() {
        let mut table = Table::new(&["percent_of_copy", "copy_gb_per_s"]);
        table.push(["94.0", "20"].map(String::from));
        assert_eq!(caution(&table), "");
        table.push(["232", "9"].map(String::from));
        assert!(
            caution(&table).contains("1 of 2 shares are above 150%, to 232%"),
            "{}",
            caution(&table)
        );
        assert_eq!(caution(&Table::new(&["cycles"])), "");
    }

    #[test]
    fn long_tables_are_cut_and_say_so() {
        let item = items::all()
            .find(|item| {
                item.views.iter().any(|view| view.markdown(&Table::new(item.columns)).is_some())
            })
            .unwrap();
        let mut table = Table::new(item.columns);
        for k in 0..500 {
            table.push(item.columns.iter().map(|_| k.to_string()));
        }
        let entry = Entry { item, result: Ok((table, true)), took: Duration::ZERO };
        assert!(page(&[entry], "").contains("more in the CSV file"));
    }
}
