//! What an item is: a figure or a table of a source.

use anyhow::Result;

use super::bench::Bench;
use super::table::Table;
use super::views::View;

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
    pub measure: fn(&mut Bench, &mut Table) -> Result<()>,
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
