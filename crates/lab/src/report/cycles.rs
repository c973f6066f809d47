//! Figure 4.6: how many cycles a transposition has.

use anyhow::Result;

use super::bench::Bench;
use super::table::Table;
use crate::transposition::Transposition;

pub const COLUMNS: &[&str] = &["rows", "cols", "cycles", "longest"];

/// Cycles of more than one element, of every matrix below 30 by 30 (in closed form: no device).
pub fn figure_4_6(_: &mut Bench, table: &mut Table) -> Result<()> {
    for rows in 1..30 {
        for cols in 1..30 {
            let map = Transposition { rows, cols };
            let count = |number: Option<u64>| number.map_or(String::new(), |n| n.to_string());
            let (cycles, longest) = (map.nontrivial_cycle_count(), map.longest_cycle());
            table.push([rows.to_string(), cols.to_string(), count(cycles), count(longest)]);
        }
    }
    Ok(())
}
