//! Pictures of passes: a strip of memory for each, the axes as boxes from the outermost to the innermost.

use anyhow::{Result, bail};

use super::svg::{Anchor, NO_POINTS, SERIES, Svg};
use super::table::Table;

const LEFT: f64 = 20.0;
/// Pixels of a strip, and between strips.
const STRIP: f64 = 34.0;
const GAP: f64 = 58.0;
const TOP: f64 = 52.0;

/// A box of a strip: indices of an axis, by the logarithms of what is below and of what is below and in it.
struct Part {
    axis: usize,
    low: f64,
    high: f64,
    text: String,
    left: f64,
    right: f64,
}

impl Part {
    /// Where a logarithm between the two lies: inner indices are on the right.
    fn at(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.right - share * (self.right - self.left)
    }

    /// The corners of the band from a part above to what is the same of it here, if anything is.
    fn band(&self, above: &Part, [high, low]: [f64; 2]) -> Option<[[f64; 2]; 4]> {
        let inner = self.low.max(above.low);
        let outer = self.high.min(above.high);
        (self.axis == above.axis && inner < outer).then(|| {
            [
                [above.at(outer), high],
                [above.at(inner), high],
                [self.at(inner), low],
                [self.at(outer), low],
            ]
        })
    }
}

/// The passes of one problem: rows of `table` whose cell of `problem` starts with its name.
pub fn passes(table: &Table, name: &str) -> Result<String> {
    let [problem, stage, memory, percent] =
        ["problem", "stage", "memory", "percent_of_copy"].map(|name| table.column(name));
    let start = format!("{name}: ");
    let rows: Vec<_> = table.rows.iter().filter(|row| row[problem].starts_with(&start)).collect();
    let Some(first) = rows.first() else { bail!(NO_POINTS) };
    let strips: Vec<Vec<Part>> = rows.iter().map(|row| parts(&row[memory])).collect();
    let speed = match &*first[percent] {
        "" => String::new(),
        percent => format!(" ({percent}% of a copy)"),
    };
    let about = format!(
        "Memory before and after each pass, axes as boxes from the outermost to the innermost. {}.",
        table.device()
    );
    let mut svg = Svg::new(format!("{}{speed}", first[problem]), about);
    let right = Svg::WIDTH - LEFT;
    for (number, (row, strip)) in rows.iter().zip(&strips).enumerate() {
        let top = TOP + (STRIP + GAP) * number as f64;
        if let Some(above) = number.checked_sub(1).map(|above| &strips[above]) {
            for (part, before) in strip.iter().flat_map(|part| above.iter().map(move |a| (part, a)))
            {
                if let Some(corners) = part.band(before, [top - GAP, top]) {
                    svg.path(&corners, true, &format!("band s{}", hue(part.axis)));
                }
            }
            let words = format!("pass {number}: {}", row[stage]);
            svg.text([LEFT + 4.0, top - GAP / 2.0 + 4.0], &words, "", Anchor::Start);
        }
        for part in strip {
            let [left, right] = [part.at(part.high), part.at(part.low)];
            svg.rect([left, top], [right - left, STRIP], &format!("t{} edge", hue(part.axis)));
            svg.text([left + 5.0, top + 21.0], &part.text, "", Anchor::Start);
        }
        if strip.is_empty() {
            svg.rect([LEFT, top], [right - LEFT, STRIP], "free");
            let text = "slots: parts of rows, out of order until the next pass";
            svg.text([LEFT + 6.0, top + 21.0], text, "", Anchor::Start);
        }
    }
    let bottom = TOP + STRIP * rows.len() as f64 + GAP * (rows.len() as f64 - 1.0);
    svg.text([LEFT, bottom + 18.0], &table.device(), "small note", Anchor::Start);
    Ok(svg.finish(bottom + 30.0))
}

fn hue(axis: usize) -> usize {
    axis % SERIES + 1
}

/// The boxes of a cell `axis:extent/step axis:extent …`, as wide as the logarithms of their extents.
fn parts(memory: &str) -> Vec<Part> {
    let parse = |word: &str| {
        let (axis, rest) = word.split_once(':')?;
        let (extent, step) = rest.split_once('/').unwrap_or((rest, "1"));
        let text = match step {
            "1" => format!("axis {axis}: {extent}"),
            _ => format!("axis {axis}: {extent} of {step}"),
        };
        let low = step.parse::<f64>().ok()?.log2();
        let high = low + extent.parse::<f64>().ok()?.log2();
        Some(Part { axis: axis.parse().ok()?, low, high, text, left: 0.0, right: 0.0 })
    };
    let mut all: Vec<Part> = memory.split(' ').filter_map(parse).collect();
    // Short axes have room for their extent.
    let width = |part: &Part| 0.8 + part.high - part.low;
    let sum: f64 = all.iter().map(width).sum();
    let mut left = LEFT;
    for part in &mut all {
        part.left = left;
        left += (Svg::WIDTH - 2.0 * LEFT) * width(part) / sum;
        part.right = left;
        if part.right - part.left < 10.0 + 6.8 * part.text.chars().count() as f64 {
            part.text = part.text.split(": ").last().unwrap_or_default().replace(" of ", "/");
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_join_what_is_the_same_of_an_axis() {
        let above = parts("0:16 1:4");
        let below = parts("0:4/4 1:4 0:4");
        let bands = below.iter().map(|part| part.band(&above[0], [0.0, 1.0]).is_some());
        assert_eq!(bands.collect::<Vec<_>>(), [true, false, true]);
        // The inner half of the axis is on the right of its box.
        let [outer, inner] = [0, 2].map(|k| below[k].band(&above[0], [0.0, 1.0]).unwrap());
        assert_eq!((outer[0][0], inner[1][0]), (above[0].at(4.0), above[0].at(0.0)));
        assert_eq!(outer[1][0], inner[0][0]);
        assert!(below[0].band(&above[1], [0.0, 1.0]).is_none());
    }

    #[test]
    fn a_strip_is_drawn_for_every_pass() {
        let mut table = Table::new(&["problem", "pass", "stage", "memory", "percent_of_copy"]);
        for cells in [
            ["a: 16x4", "0", "", "0:16 1:4", "40"],
            ["a: 16x4", "1", "gather", "", ""],
            ["b: 3", "0", "", "0:3", ""],
        ] {
            table.push(cells.map(String::from));
        }
        let svg = passes(&table, "a").unwrap();
        assert!(
            svg.contains("axis 1: 4")
                && svg.contains("pass 1: gather")
                && svg.contains("(40% of a copy)")
        );
        assert!(!svg.contains("axis 0: 3"), "another problem");
        assert!(passes(&table, "c").unwrap_err().to_string().contains("no row has numbers"));
    }
}
