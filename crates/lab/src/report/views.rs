//! How a table is shown on the page.

use std::cmp::Ordering;
use std::fmt::Write;

use anyhow::Result;

use super::dots::Dots;
use super::map::Map;
use super::plot::Chart;
use super::strips;
use super::table::Table;

/// A way to show a table.
#[derive(Clone, Copy, Debug)]
pub enum View {
    /// Row by row.
    Rows,
    /// One column's cells down, another's across, a third's (or several, in a cell each) within.
    Pivot {
        /// Columns whose cells name a line.
        down: &'static [&'static str],
        /// Column whose cells name a column.
        across: &'static str,
        /// Column of the cells.
        cell: &'static str,
    },
    /// A picture of marks over an axis.
    Chart(&'static Chart),
    /// A picture of a table, a line for every row.
    Dots(&'static Dots),
    /// A picture of a number for every pair of two others.
    Map(&'static Map),
    /// A picture of how the axes of a problem lie after each pass.
    Passes {
        /// Name within the item.
        name: &'static str,
        /// What the cells of `problem` begin with.
        problem: &'static str,
    },
}

impl View {
    /// The columns that it reads.
    #[cfg(test)]
    pub fn columns(&self) -> Vec<&'static str> {
        match *self {
            View::Rows => Vec::new(),
            View::Pivot { down, across, cell } => [down, &[across, cell]].concat(),
            View::Chart(chart) => chart.columns(),
            View::Dots(dots) => dots.columns(),
            View::Map(map) => map.columns(),
            View::Passes { .. } => vec!["problem", "stage", "memory", "percent_of_copy"],
        }
    }

    /// The name of its picture, if it is one.
    pub fn picture(&self) -> Option<&'static str> {
        match *self {
            View::Rows | View::Pivot { .. } => None,
            View::Chart(chart) => Some(chart.name),
            View::Dots(dots) => Some(dots.name),
            View::Map(map) => Some(map.name),
            View::Passes { name, .. } => Some(name),
        }
    }

    /// Whether the table has numbers for its picture: some are measured on a GPU alone.
    pub fn has_points(&self, table: &Table) -> bool {
        let some = |column: &str, mut rows: Box<dyn Iterator<Item = &Vec<String>> + '_>| {
            let column = table.column(column);
            rows.any(|row| row[column].parse::<f64>().is_ok())
        };
        match self {
            View::Rows | View::Pivot { .. } => false,
            View::Chart(chart) => some(chart.y.column, Box::new(chart.rows(table))),
            View::Dots(dots) => some(dots.value.column, Box::new(table.rows.iter())),
            View::Map(map) => some(map.value, Box::new(map.rows(table))),
            View::Passes { .. } => some("pass", Box::new(table.rows.iter())),
        }
    }

    /// Its picture as SVG.
    pub fn svg(&self, table: &Table) -> Result<Option<String>> {
        Ok(match *self {
            _ if !self.has_points(table) => None,
            View::Rows | View::Pivot { .. } => None,
            View::Chart(chart) => Some(chart.svg(table)?),
            View::Dots(dots) => Some(dots.svg(table)?),
            View::Map(map) => Some(map.svg(table)?),
            View::Passes { problem, .. } => Some(strips::passes(table, problem)?),
        })
    }

    /// Its table as Markdown.
    pub fn markdown(&self, table: &Table) -> Option<String> {
        match *self {
            View::Rows => Some(markdown(&table.columns, &table.rows)),
            View::Pivot { down, across, cell } => Some(pivot(table, down, across, cell)),
            View::Chart(_) | View::Dots(_) | View::Map(_) | View::Passes { .. } => None,
        }
    }
}

fn markdown(columns: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | ").replace('\n', " "));
    let rule = vec!["---".to_owned(); columns.len()];
    let names: Vec<String> = columns.iter().map(|name| name.replace('_', " ")).collect();
    let mut text = line(&names) + &line(&rule);
    rows.iter().for_each(|row| text += &line(row));
    text
}

fn pivot(table: &Table, down: &[&str], across: &str, cell: &str) -> String {
    let keys: Vec<usize> = down.iter().map(|name| table.column(name)).collect();
    let (across, cell) = (table.column(across), table.column(cell));
    let mut names = table.distinct(across);
    let value = |name: &str| name.parse::<f64>().ok();
    if names.iter().all(|name| value(name).is_some()) {
        names.sort_by(|a, b| value(a).partial_cmp(&value(b)).unwrap_or(Ordering::Equal));
    }
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in &table.rows {
        let key: Vec<String> = keys.iter().map(|&k| row[k].clone()).collect();
        let at = lines.iter().position(|line| line[..key.len()] == key[..]);
        let at = at.unwrap_or_else(|| {
            let mut line = key.clone();
            line.resize(key.len() + names.len(), String::new());
            lines.push(line);
            lines.len() - 1
        });
        let column = names.iter().position(|&name| name == row[across]).unwrap_or(0);
        let place = &mut lines[at][key.len() + column];
        // Writing to a string cannot fail.
        let _ = write!(place, "{}{}", if place.is_empty() { "" } else { ", " }, row[cell]);
    }
    let columns: Vec<String> = down.iter().chain(&names).map(|&name| name.to_owned()).collect();
    markdown(&columns, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_turned_for_reading() {
        let mut table = Table::new(&["route", "shape", "gb_per_s"]);
        for (route, shape, rate) in [("a", "3x4", "1"), ("b", "3x4", "2"), ("a", "5x6", "3")] {
            table.push([route, shape, rate].map(String::from));
        }
        let pivot = View::Pivot { down: &["route"], across: "shape", cell: "gb_per_s" };
        let want = "| route | 3x4 | 5x6 |\n| --- | --- | --- |\n| a | 1 | 3 |\n| b | 2 |  |\n";
        assert_eq!(pivot.markdown(&table).unwrap(), want);
        let numbers = View::Pivot { down: &["route"], across: "gb_per_s", cell: "shape" };
        table.push(["b", "7x8", "0.5"].map(String::from));
        assert!(numbers.markdown(&table).unwrap().starts_with("| route | 0.5 | 1 | 2 | 3 |"));
        table.rows.pop();
        assert!(View::Rows.markdown(&table).unwrap().ends_with("| a | 5x6 | 3 |\n"));
    }
}
