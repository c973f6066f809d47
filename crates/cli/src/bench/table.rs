//! Figures as a table, as CSV and as JSON.

use std::fmt::Write;

use super::Row;
use crate::report::bytes;

/// A table to read; with candidates measured, how often the cost model chose well.
pub fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<14} {:>5} {:>7} {:>8} {:>7} {:>8}  {:<14} {:>9}",
        "shape", "bytes", "threads", "GB/s", "copy", "of copy", "route", "workspace"
    );
    // Writing to a string cannot fail.
    for row in rows {
        let _ = write!(
            text,
            "\n{:<14} {:>5} {:>7} {:>8.2} {:>7.2} {:>7.1}%  {:<14} {:>9}",
            format!("{}x{}", row.rows, row.cols),
            row.elem_bytes,
            row.threads,
            row.gb_per_s,
            row.copy_gb_per_s,
            row.percent_of_copy,
            row.route,
            bytes(row.workspace_bytes),
        );
        if let (Some(ratio), Some(best)) = (row.chosen_over_best, row.best_route) {
            let _ = write!(text, "  {ratio:.2} of the best, {best}");
        }
    }
    let ratios: Vec<f64> = rows.iter().filter_map(|row| row.chosen_over_best).collect();
    if !ratios.is_empty() {
        let good = ratios.iter().filter(|&&ratio| ratio <= 1.15).count();
        let _ = write!(text, "\nchosen within 15% of the best: {good} of {}", ratios.len());
    }
    text
}

/// A line of names, then a line for each row.
pub fn csv(rows: &[Row]) -> String {
    let mut text = "rows,cols,elem_bytes,threads,pages,route,passes,workspace_bytes,gb_per_s,\
                    copy_gb_per_s,percent_of_copy,estimated_gb_per_s,chosen_over_best,best_route,plan"
        .to_string();
    for row in rows {
        let _ = write!(
            text,
            "\n{},{},{},{},{},{},{},{},{:.3},{:.3},{:.1},{:.3},{},{},\"{}\"",
            row.rows,
            row.cols,
            row.elem_bytes,
            row.threads,
            row.pages,
            row.route,
            row.passes,
            row.workspace_bytes,
            row.gb_per_s,
            row.copy_gb_per_s,
            row.percent_of_copy,
            row.estimated_gb_per_s,
            row.chosen_over_best.map_or(String::new(), |ratio| format!("{ratio:.3}")),
            row.best_route.unwrap_or(""),
            row.plan,
        );
    }
    text
}

/// One array.
pub fn json(rows: &[Row]) -> String {
    serde_json::to_string(rows).expect("strings and numbers always serialise")
}
