//! Figures as a table, as CSV and as JSON.

use std::fmt::Write;

use serde::Serialize;

use super::row::Row;
use crate::report::bytes;

/// A table to read; with candidates measured, how often the cost model chose well.
pub fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<20} {:>5} {:>8} {:>7} {:>8}  {:<20} {:>11} {:>9}",
        "shape", "bytes", "GB/s", "copy", "of copy", "route", "tile", "workspace"
    );
    // Writing to a string cannot fail.
    for row in rows {
        let batch = if row.batch == 1 { String::new() } else { format!("{} x ", row.batch) };
        let shape = match row.axes.as_str() {
            "0-2-1" => format!("{batch}{}x{}", row.rows, row.cols),
            axes => format!("{}:{axes}", row.shape),
        };
        let _ = write!(
            text,
            "\n{:<20} {:>5} {:>8.2} {:>7.2} {:>7.1}%  {:<20} {:>11} {:>9}",
            shape,
            row.elem_bytes,
            row.gb_per_s,
            row.copy_gb_per_s,
            row.percent_of_copy,
            format!("{}{}", row.route, if row.mirrored { " mirrored" } else { "" }),
            format!("{}x{}", row.tile_m, row.tile_n),
            bytes(row.workspace_bytes),
        );
        if let (Some(ratio), Some(best)) = (row.chosen_over_best, &row.best_route) {
            let _ = write!(text, "  {ratio:.2} of the best, {best}");
        }
    }
    let ratios: Vec<f64> = rows.iter().filter_map(|row| row.chosen_over_best).collect();
    if !ratios.is_empty() {
        let within = |most: f64| ratios.iter().filter(|&&ratio| ratio <= most).count();
        let (near, nearly, all) = (within(1.10), within(1.15), ratios.len());
        let _ = write!(text, "\nchosen within 10% of the best: {near} of {all}, 15%: {nearly}");
    }
    text
}

/// A line of names, then a line for each row.
pub fn csv(rows: &[impl Serialize]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).expect("a row is flat, and memory takes all of it");
    }
    let bytes = writer.into_inner().expect("as above");
    let text = String::from_utf8(bytes).expect("the fields are strings and numbers");
    text.trim_end().to_string()
}

/// One array.
pub fn json(rows: &[Row]) -> String {
    serde_json::to_string(rows).expect("strings and numbers always serialise")
}
