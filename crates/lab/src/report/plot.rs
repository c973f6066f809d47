//! Pictures of numbers over numbers: marks, joined where what lies between them means something.

use anyhow::{Result, bail};

use super::scale::{Axis, Span, short};
use super::svg::{Anchor, Key, NO_POINTS, SERIES, Svg};
use super::table::Table;

/// A picture of marks over an axis.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// Name within the item.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// Columns that distinguish series.
    pub series: &'static [&'static str],
    /// Words before their cells.
    pub named: &'static str,
    /// A column, a panel for every different cell, and words before the cell.
    pub panels: Option<(&'static str, &'static str)>,
    /// Columns and the cells that they must have, to show a part of a table.
    pub only: &'static [(&'static str, &'static str)],
    /// Whether marks of a series are joined.
    pub joined: bool,
    /// A column of what the source reports, and whose it is.
    pub beside: Option<(&'static str, &'static str)>,
    /// What a mark is where there is one series.
    pub what: &'static str,
}

/// Column of the copy beside a speed.
const COPY: &str = "copy_gb_per_s";

/// A mark: panel, series, place.
struct Mark {
    panel: usize,
    series: usize,
    at: [f64; 2],
    hollow: bool,
}

impl Chart {
    /// The columns that it reads.
    #[cfg(test)]
    pub fn columns(&self) -> Vec<&'static str> {
        let mut all = vec![self.x.column, self.y.column];
        all.extend(self.series);
        all.extend(self.panels.map(|panels| panels.0));
        all.extend(self.only.iter().map(|only| only.0));
        all.extend(self.beside.map(|beside| beside.0));
        all
    }

    /// The rows that it shows.
    pub fn rows<'a>(&self, table: &'a Table) -> impl Iterator<Item = &'a Vec<String>> {
        let only: Vec<(usize, &str)> =
            self.only.iter().map(|&(column, cell)| (table.column(column), cell)).collect();
        table.rows.iter().filter(move |row| only.iter().all(|&(column, cell)| row[column] == cell))
    }

    /// The picture.
    ///
    /// # Errors
    /// Nothing to draw, or more series than can be distinguished.
    pub fn svg(&self, table: &Table) -> Result<String> {
        let number = |row: &[String], column: &str| row[table.column(column)].parse::<f64>().ok();
        let (mut names, mut panels) = (Vec::<String>::new(), Vec::<String>::new());
        let (mut marks, mut copies) = (Vec::new(), Vec::new());
        for row in self.rows(table) {
            let Some(x) = number(row, self.x.column) else { continue };
            let of = |columns: &[&str]| -> String {
                columns.iter().map(|name| &*row[table.column(name)]).collect::<Vec<_>>().join(", ")
            };
            let panel = index(
                &mut panels,
                self.panels
                    .map_or(String::new(), |(column, words)| format!("{words}{}", of(&[column]))),
            );
            let name = match self.series {
                [] => self.what.to_owned(),
                columns => format!("{}{}", self.named, of(columns)),
            };
            let series = index(&mut names, name);
            let mut mark = |y: Option<f64>, hollow| {
                marks.extend(y.map(|y| Mark { panel, series, at: [x, y], hollow }));
            };
            mark(number(row, self.y.column), false);
            mark(self.beside.and_then(|(column, _)| number(row, column)), true);
            if self.y.column == "gb_per_s" && table.columns.iter().any(|name| name == COPY) {
                copies.extend(number(row, COPY).map(|copy| (panel, [x, copy])));
            }
        }
        if names.len() > SERIES {
            bail!("picture: {} series are too many", names.len());
        }
        let all = || marks.iter().map(|mark| mark.at).chain(copies.iter().map(|copy| copy.1));
        let spans = Span::of(self.x.scale, all().map(|at| at[0]))
            .zip(Span::of(self.y.scale, all().map(|at| at[1])));
        let Some((xs, ys)) = spans.filter(|_| marks.iter().any(|mark| !mark.hollow)) else {
            bail!(NO_POINTS);
        };

        let about = format!("{} over {}. {}.", self.y.label, self.x.label, table.device());
        let mut svg = Svg::new(self.title, about);
        let mut keys: Vec<(String, Key)> =
            names.into_iter().enumerate().map(|(k, name)| (name, Key::Series(k))).collect();
        if let Some((_, whose)) = self.beside.filter(|_| marks.iter().any(|mark| mark.hollow)) {
            keys.push((whose.to_owned(), Key::Hollow(0)));
        }
        if !copies.is_empty() {
            keys.push(("a copy of as many bytes".to_owned(), Key::Copy));
        }
        let top = svg.legend(&keys) + if self.panels.is_some() { 34.0 } else { 18.0 };
        let across = match panels.len() {
            many if many <= 3 => many,
            many if many <= 6 => 3,
            _ => 5,
        };
        let wide = (Svg::WIDTH - 80.0) / across as f64;
        let high = if panels.len() == 1 { 280.0 } else { 190.0 };
        let down = panels.len().div_ceil(across);
        for (number, panel) in panels.iter().enumerate() {
            let (column, line) = (number % across, number / across);
            let left = 64.0 + wide * column as f64;
            let frame = Frame {
                left,
                right: left + wide - 18.0,
                top: top + (high + 52.0) * line as f64,
                high,
            };
            frame.draw(&mut svg, &xs, &ys, column == 0);
            svg.text([left, frame.top - 10.0], panel, "head", Anchor::Start);
            let mut line: Vec<[f64; 2]> =
                copies.iter().filter(|copy| copy.0 == number).map(|copy| copy.1).collect();
            line.sort_by(|a, b| a[0].total_cmp(&b[0]));
            if let Some(path) = copied(&line, &frame, &xs, &ys) {
                svg.path(&path, false, "copy");
            }
            for series in 0..SERIES {
                let mut own: Vec<&Mark> = (marks.iter())
                    .filter(|mark| mark.panel == number && mark.series == series)
                    .collect();
                own.sort_by(|a, b| a.at[0].total_cmp(&b.at[0]));
                let solid = own.iter().filter(|mark| !mark.hollow);
                let path: Vec<_> = solid.map(|mark| frame.at(&xs, &ys, mark.at)).collect();
                if self.joined && path.len() > 1 {
                    svg.path(&path, false, &format!("line l{}", series + 1));
                }
                // A mark for each of hundreds of points would hide the line.
                if path.len() <= MOST_MARKS || !self.joined {
                    own.iter().for_each(|mark| {
                        svg.mark(series, frame.at(&xs, &ys, mark.at), mark.hollow);
                    });
                }
            }
        }
        let bottom = top + (high + 52.0) * down as f64;
        svg.text([Svg::WIDTH / 2.0, bottom - 12.0], self.x.label, "note", Anchor::Middle);
        svg.upright([18.0, (top + bottom - 52.0) / 2.0], self.y.label, "note");
        svg.text([20.0, bottom + 10.0], &table.device(), "small note", Anchor::Start);
        Ok(svg.finish(bottom + 22.0))
    }
}

const MOST_MARKS: usize = 60;

/// The number of a name, which is added where it is new.
fn index(names: &mut Vec<String>, name: String) -> usize {
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

/// The copy's line: through the middle of all copies at a place, or level where there is one place.
fn copied(copies: &[[f64; 2]], frame: &Frame, xs: &Span, ys: &Span) -> Option<Vec<[f64; 2]>> {
    let mut path: Vec<[f64; 2]> = copies
        .chunk_by(|a, b| a[0] == b[0])
        .map(|same| {
            let mut all: Vec<f64> = same.iter().map(|copy| copy[1]).collect();
            all.sort_by(f64::total_cmp);
            frame.at(xs, ys, [same[0][0], all[all.len() / 2]])
        })
        .collect();
    if let [only] = path[..] {
        path = vec![[frame.left, only[1]], [frame.right, only[1]]];
    }
    (!path.is_empty()).then_some(path)
}

/// Where a panel lies.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    high: f64,
}

impl Frame {
    fn at(&self, xs: &Span, ys: &Span, [x, y]: [f64; 2]) -> [f64; 2] {
        let level = self.left + xs.place(x) * (self.right - self.left);
        [level, self.top + (1.0 - ys.place(y)) * self.high]
    }

    /// Axes with their numbers; those upwards where it is the first of a line.
    fn draw(&self, svg: &mut Svg, xs: &Span, ys: &Span, first: bool) {
        let bottom = self.top + self.high;
        for tick in ys.ticks() {
            let y = bottom - ys.place(*tick) * self.high;
            svg.path(&[[self.left, y], [self.right, y]], false, "mesh");
            if first {
                svg.text([self.left - 8.0, y + 4.0], &short(*tick), "small note", Anchor::End);
            }
        }
        let mut free = f64::MIN;
        for tick in xs.ticks() {
            let x = self.left + xs.place(*tick) * (self.right - self.left);
            svg.path(&[[x, bottom], [x, bottom + 4.0]], false, "axis");
            let words = short(*tick);
            let half = 3.6 * words.len() as f64;
            if x - half > free {
                svg.text([x, bottom + 17.0], &words, "small note", Anchor::Middle);
                free = x + half + 4.0;
            }
        }
        svg.path(&[[self.left, bottom], [self.right, bottom]], false, "axis");
    }
}

#[cfg(test)]
mod tests {
    use super::super::scale::Scale;
    use super::*;

    const CHART: Chart = Chart {
        name: "",
        title: "a title",
        x: Axis::new("side", "rows", Scale::Doubling),
        y: Axis::new("gb_per_s", "GB/s", Scale::Linear),
        series: &["method"],
        named: "",
        panels: None,
        only: &[],
        joined: true,
        beside: None,
        what: "",
    };

    fn table() -> Table {
        let mut table = Table::new(&["side", "method", "gb_per_s", "copy_gb_per_s"]);
        for cells in [
            ["16", "a", "1.5", "4"],
            ["32", "a", "2.5", "4"],
            ["16", "b", "4", "5"],
            ["32", "b", "", ""],
        ] {
            table.push(cells.map(String::from));
        }
        table
    }

    #[test]
    fn pictures_hold_every_point() {
        for (x, y) in [(Scale::Linear, Scale::Log), (Scale::Doubling, Scale::Linear)] {
            let chart =
                Chart { x: Axis { scale: x, ..CHART.x }, y: Axis { scale: y, ..CHART.y }, ..CHART };
            let svg = chart.svg(&table()).unwrap();
            // An empty cell is no point; a name has a mark.
            assert_eq!(svg.matches("class=\"mark ").count(), 3 + 2);
            assert!(svg.contains("a copy of as many bytes") && svg.contains(">rows<"));
            assert_eq!(svg.matches("class=\"copy\"").count(), 2, "its line and its name");
        }
        let panels =
            Chart { panels: Some(("method", "method ")), series: &[], what: "ours", ..CHART };
        let svg = panels.svg(&table()).unwrap();
        assert!(svg.contains(">method a<") && svg.contains(">method b<") && svg.contains(">ours<"));
        let mut empty = table();
        empty.rows.clear();
        assert!(CHART.svg(&empty).unwrap_err().to_string().contains("no row has numbers"));
    }

    #[test]
    fn nine_series_are_too_many() {
        let mut table = table();
        (0..9).for_each(|k| table.push(["16", &format!("m{k}"), "1", "2"].map(String::from)));
        assert!(CHART.svg(&table).unwrap_err().to_string().contains("too many"));
        assert!(Chart { only: &[("method", "m3")], ..CHART }.svg(&table).is_ok());
    }
}
