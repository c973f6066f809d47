//! The table of items.

use super::bench::Bench;
use super::failure::Failure;
use super::table::Table;
use super::views::View;
use super::{chapter4, chapter5, literature};

/// Where an item can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Nowhere: it is computed.
    Nowhere,
    /// Everywhere.
    Any,
    /// On a GPU alone.
    Gpu,
}

/// A figure or table of a source.
pub struct Item {
    /// Name of its files.
    pub id: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// What the source reports of it.
    pub source_says: &'static str,
    /// Where it can be measured.
    pub on: On,
    /// Columns of its table.
    pub columns: &'static [&'static str],
    /// Fills the table.
    pub measure: fn(&mut Bench, &mut Table) -> Result<(), Failure>,
    /// What its table says of the source, in a sentence.
    pub verdict: fn(&Table) -> String,
    /// How it is shown.
    pub views: &'static [View],
}

impl Item {
    /// Whether a GPU, or a host, can measure it.
    pub fn runs_on(&self, gpu: bool) -> bool {
        gpu || self.on != On::Gpu
    }
}

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
            "4.1", "4.4", "4.6", "4.11", "4.13", "4.16", "4.17", "4.18", "4.19", "4.20", "4.21",
            "5.7",
        ] {
            assert!(sources.contains(figure), "figure {figure}");
        }
        for table in ["4.1", "4.2", "4.3", "5.2", "5.3"] {
            assert!(all().any(|item| item.source == format!("thesis table {table}")), "{table}");
        }
    }
}
