//! Pictures of tables: a line for every row, a mark for every series, hollow marks for what the source reports.

use anyhow::{Result, bail};

use super::scale::{Axis, Span, short};
use super::svg::{Anchor, Key, NO_POINTS, SERIES, Svg};
use super::table::Table;

/// A picture of a table.
#[derive(Clone, Copy, Debug)]
pub struct Dots {
    /// Name within the item.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// A column; lines with the same cell stand together under it.
    pub group: Option<&'static str>,
    /// Words before a group's cell, and before a line's.
    pub named: [&'static str; 2],
    /// Columns that name a line.
    pub rows: &'static [&'static str],
    /// Column that distinguishes series.
    pub series: &'static str,
    /// The numbers.
    pub value: Axis,
    /// A column of what the source reports, and whose it is.
    pub beside: Option<(&'static str, &'static str)>,
    /// A column of the copy's speed, in the unit of the numbers.
    pub copy: Option<&'static str>,
}

const STEP: f64 = 18.0;

/// A line: its name, marks as (series, number, hollow), copies.
#[derive(Default)]
struct Line {
    heading: bool,
    name: String,
    marks: Vec<(usize, f64, bool)>,
    copies: Vec<f64>,
}

impl Dots {
    /// The columns that it reads.
    #[cfg(test)]
    pub fn columns(&self) -> Vec<&'static str> {
        let mut all = vec![self.series, self.value.column];
        all.extend(self.rows);
        all.extend(self.group);
        all.extend(self.copy);
        all.extend(self.beside.map(|beside| beside.0));
        all
    }

    fn lines(&self, table: &Table) -> (Vec<Line>, Vec<String>) {
        let cell = |row: &'_ [String], column: &str| row[table.column(column)].clone();
        let (mut lines, mut names) = (Vec::<Line>::new(), Vec::<String>::new());
        let mut groups: Vec<String> = self.group.map_or(vec![String::new()], |group| {
            table.distinct(table.column(group)).into_iter().map(str::to_owned).collect()
        });
        for group in groups.drain(..) {
            if self.group.is_some() {
                lines.push(Line {
                    heading: true,
                    name: format!("{}{group}", self.named[0]),
                    ..Line::default()
                });
            }
            let first = lines.len();
            for row in &table.rows {
                if self.group.is_some_and(|column| cell(row, column) != group) {
                    continue;
                }
                let name: Vec<String> = self.rows.iter().map(|column| cell(row, column)).collect();
                let name = format!("{}{}", self.named[1], name.join(", "));
                let at = lines[first..].iter().position(|line| line.name == name);
                let at = at.map_or(lines.len(), |at| first + at);
                if at == lines.len() {
                    lines.push(Line { name, ..Line::default() });
                }
                let series = cell(row, self.series);
                let series = names.iter().position(|known| *known == series).unwrap_or_else(|| {
                    names.push(series);
                    names.len() - 1
                });
                let number = |column: &str| cell(row, column).parse::<f64>().ok();
                let line = &mut lines[at];
                line.marks.extend(number(self.value.column).map(|value| (series, value, false)));
                let beside = self.beside.and_then(|(column, _)| number(column));
                line.marks.extend(beside.map(|value| (series, value, true)));
                line.copies.extend(self.copy.and_then(number));
            }
        }
        (lines, names)
    }

    /// The picture.
    ///
    /// # Errors
    /// Nothing to draw, or more series than can be distinguished.
    pub fn svg(&self, table: &Table) -> Result<String> {
        let (lines, names) = self.lines(table);
        if names.len() > SERIES {
            bail!("picture: {} series are too many", names.len());
        }
        let marks = || lines.iter().flat_map(|line| &line.marks);
        let copies = || lines.iter().flat_map(|line| &line.copies).copied();
        let span = Span::of(self.value.scale, marks().map(|mark| mark.1).chain(copies()));
        let Some(span) = span.filter(|_| marks().any(|mark| !mark.2)) else {
            bail!(NO_POINTS);
        };
        let mut svg = Svg::new(
            self.title,
            format!("{}, a line for every row. {}.", self.value.label, table.device()),
        );
        let mut keys: Vec<(String, Key)> =
            names.into_iter().enumerate().map(|(k, name)| (name, Key::Series(k))).collect();
        if let Some((_, whose)) = self.beside.filter(|_| marks().any(|mark| mark.2)) {
            keys.push((whose.to_owned(), Key::Hollow(0)));
        }
        if copies().next().is_some() {
            keys.push(("a copy of as many bytes".to_owned(), Key::Copy));
        }
        let top = svg.legend(&keys) + 20.0;
        let longest = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
        let (left, right) = ((44.0 + 6.8 * longest as f64).max(80.0), Svg::WIDTH - 28.0);
        let bottom = top + STEP * lines.len() as f64;
        let at = |value: f64| left + span.place(value) * (right - left);
        for tick in span.ticks() {
            svg.path(&[[at(*tick), top], [at(*tick), bottom]], false, "mesh");
            svg.text([at(*tick), bottom + 16.0], &short(*tick), "small note", Anchor::Middle);
        }
        for (number, line) in lines.iter().enumerate() {
            let y = top + STEP * (number as f64 + 0.5);
            if line.heading {
                svg.text([20.0, y + 4.0], &line.name, "head", Anchor::Start);
                continue;
            }
            svg.path(&[[left, y], [right, y]], false, "mesh");
            svg.text([left - 10.0, y + 4.0], &line.name, "", Anchor::End);
            let mut copies = line.copies.clone();
            copies.sort_by(f64::total_cmp);
            if let Some(copy) = copies.get(copies.len() / 2) {
                svg.path(&[[at(*copy), y - 8.0], [at(*copy), y + 8.0]], false, "copy");
            }
            // Filled marks lie over hollow ones.
            for hollow in [true, false] {
                for &(series, value, _) in line.marks.iter().filter(|mark| mark.2 == hollow) {
                    svg.mark(series, [at(value), y], hollow);
                }
            }
        }
        svg.path(&[[left, bottom], [right, bottom]], false, "axis");
        svg.text([(left + right) / 2.0, bottom + 36.0], self.value.label, "note", Anchor::Middle);
        svg.text([20.0, bottom + 54.0], &table.device(), "small note", Anchor::Start);
        Ok(svg.finish(bottom + 66.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::scale::Scale;
    use super::*;

    #[test]
    fn every_number_has_a_mark() {
        let mut table = Table::new(&["problem", "tile", "method", "theirs", "ours", "copy"]);
        for cells in [
            ["a", "16", "BS", "80", "900", "1000"],
            ["a", "16", "PTTWAC", "20", "300", "1000"],
            ["a", "64", "BS", "NA", "950", "1000"],
            ["b", "16", "BS", "", "", ""],
        ] {
            table.push(cells.map(String::from));
        }
        let dots = Dots {
            name: "",
            title: "a table",
            group: Some("problem"),
            named: ["matrix ", ""],
            rows: &["tile"],
            series: "method",
            value: Axis::new("ours", "GB/s", Scale::Log),
            beside: Some(("theirs", "the thesis")),
            copy: Some("copy"),
        };
        let svg = dots.svg(&table).unwrap();
        assert_eq!(svg.matches("class=\"mark s").count(), 3 + 2, "and a name for each series");
        assert_eq!(svg.matches("class=\"mark hollow").count(), 2 + 1);
        assert_eq!(svg.matches("class=\"copy\"").count(), 2 + 1);
        assert!(
            svg.contains(">matrix a<") && svg.contains(">matrix b<") && svg.contains(">64</text>")
        );
        table.rows.clear();
        assert!(dots.svg(&table).unwrap_err().to_string().contains("no row has numbers"));
    }
}
