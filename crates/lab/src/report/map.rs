//! Pictures of a number for every pair of two others, in colours.

use anyhow::{Result, bail};

use super::scale::short;
use super::svg::{Anchor, Key, NO_POINTS, Svg};
use super::table::Table;

/// A column, and what it is in words.
pub type Labelled = (&'static str, &'static str);

/// A picture in colours.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    /// Name within the item.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Across.
    pub x: Labelled,
    /// Upwards.
    pub y: Labelled,
    /// Column of the numbers.
    pub value: &'static str,
    /// How numbers become colours.
    pub shades: Shades,
    /// Columns and the cells that they must have, to show a part of a table.
    pub only: &'static [(&'static str, &'static str)],
    /// Whether the thesis's rules for tiles are drawn in.
    pub rules: bool,
}

/// How numbers become colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shades {
    /// Sixths of the largest, in GB/s; the best are outlined.
    Sixths,
    /// Doublings from 1 on.
    Doublings,
}

/// From low to high, distinct on light pages and dark ones.
const COLOURS: [&str; 8] =
    ["#5b4a8a", "#46659b", "#2f7f95", "#249689", "#37ad74", "#72c25a", "#b5d13c", "#f4dd3a"];

/// Elements of a tile that the thesis's K20 held on chip (section 4.8.4), and sides that it advises.
const THESIS_PRODUCT: f64 = 3600.0;
const THESIS_SIDES: [f64; 2] = [50.0, 100.0];

/// Numbers of an axis at equal distances, however far apart they are.
struct Ranks(Vec<f64>);

impl Ranks {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut all: Vec<f64> = values.collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        Ranks(all)
    }

    /// The middle of a number's place, from 0 to 1; of others between those beside them.
    fn place(&self, value: f64) -> f64 {
        let Ranks(all) = self;
        let above = all.partition_point(|known| *known < value);
        let rank = match (above.checked_sub(1).map(|k| all[k]), all.get(above)) {
            (Some(below), Some(&next)) => above as f64 - (next / value).ln() / (next / below).ln(),
            (None, _) => 0.0,
            (_, None) => all.len() as f64 - 1.0,
        };
        (rank + 0.5) / all.len() as f64
    }
}

impl Shades {
    fn shade(self, value: f64, most: f64) -> usize {
        match self {
            Shades::Sixths => ((value / most * 6.0) as usize).min(5) + 2,
            Shades::Doublings => (value.max(1.0).log2() as usize).min(7),
        }
    }

    /// A name for every colour.
    fn names(self, most: f64) -> Vec<(String, Key)> {
        match self {
            Shades::Sixths => (0..6)
                .map(|k| (format!("from {:.0} GB/s", most * f64::from(k) / 6.0), k as usize + 2))
                .map(|(name, shade)| (name, Key::Colour(COLOURS[shade])))
                .collect(),
            Shades::Doublings => (0..8)
                .map(|k| match k {
                    0 => "1".to_owned(),
                    7 => "128 and more".to_owned(),
                    k => format!("{} to {}", 1 << k, (2 << k) - 1),
                })
                .zip(COLOURS)
                .map(|(name, colour)| (name, Key::Colour(colour)))
                .collect(),
        }
    }
}

impl Map {
    /// The columns that it reads.
    #[cfg(test)]
    pub fn columns(&self) -> Vec<&'static str> {
        let only = self.only.iter().map(|only| only.0);
        [self.x.0, self.y.0, self.value].into_iter().chain(only).collect()
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
    /// Nothing to draw.
    pub fn svg(&self, table: &Table) -> Result<String> {
        let columns = [self.x.0, self.y.0, self.value].map(|name| table.column(name));
        let numbers = |row: &Vec<String>| -> Option<[f64; 3]> {
            let [x, y, v] = columns.map(|column| row[column].parse::<f64>().ok());
            Some([x?, y?, v?])
        };
        let points: Vec<[f64; 3]> = self.rows(table).filter_map(numbers).collect();
        if points.is_empty() {
            bail!(NO_POINTS);
        }
        let [xs, ys] = [0, 1].map(|k| Ranks::of(points.iter().map(|point| point[k])));
        let most = points.iter().fold(f64::MIN, |most, point| most.max(point[2]));
        let about = format!("{} across, {} upwards. {}.", self.x.1, self.y.1, table.device());
        let mut svg = Svg::new(self.title, about);
        let mut keys = self.shades.names(most);
        if self.shades == Shades::Sixths {
            keys.push((format!("at least 80% of the best, {most:.0} GB/s"), Key::Class("frame")));
        } else {
            keys.push(("none".to_owned(), Key::Class("free")));
        }
        let top = svg.legend(&keys) + 20.0;
        let (left, right, high) = (70.0, Svg::WIDTH - 28.0, 440.0);
        let bottom = top + high;
        let place =
            |[x, y]: [f64; 2]| [left + xs.place(x) * (right - left), bottom - ys.place(y) * high];
        let side = [(right - left) / xs.0.len() as f64 - 1.5, high / ys.0.len() as f64 - 1.5];
        for &[x, y, value] in &points {
            let [x, y] = place([x, y]);
            let corner = [x - side[0] / 2.0, y - side[1] / 2.0];
            if value > 0.0 {
                svg.tile(corner, side, COLOURS[self.shades.shade(value, most)]);
            } else {
                svg.rect(corner, side, "free");
            }
            if self.shades == Shades::Sixths && value >= 0.8 * most {
                svg.rect(corner, side, "frame");
            }
        }
        let mut free = f64::MIN;
        for tick in &xs.0 {
            let ([x, _], words) = (place([*tick, 1.0]), short(*tick));
            if x - 3.6 * words.len() as f64 > free {
                svg.text([x, bottom + 16.0], &words, "small note", Anchor::Middle);
                free = x + 3.6 * words.len() as f64 + 2.0;
            }
        }
        let mut free = f64::MAX;
        for tick in &ys.0 {
            let [_, y] = place([1.0, *tick]);
            if y < free {
                svg.text([left - 8.0, y + 4.0], &short(*tick), "small note", Anchor::End);
                free = y - 11.0;
            }
        }
        if self.rules {
            self.rule(&mut svg, &points, place);
        }
        svg.text([(left + right) / 2.0, bottom + 36.0], self.x.1, "note", Anchor::Middle);
        svg.upright([18.0, (top + bottom) / 2.0], self.y.1, "note");
        svg.text([20.0, bottom + 56.0], &table.device(), "small note", Anchor::Start);
        Ok(svg.finish(bottom + 68.0))
    }

    /// The thesis's rules: the curve below which tiles fit, and the box that it advises.
    fn rule(&self, svg: &mut Svg, points: &[[f64; 3]], place: impl Fn([f64; 2]) -> [f64; 2]) {
        let ends = |k: usize| {
            let all = points.iter().map(|point| point[k]);
            all.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)))
        };
        let ((low, high), (bottom, top)) = (ends(0), ends(1));
        let (from, to) = (low.max(THESIS_PRODUCT / top), high.min(THESIS_PRODUCT / bottom));
        if from < to {
            let curve: Vec<_> = (0..=40)
                .map(|k| from * (to / from).powf(f64::from(k) / 40.0))
                .map(|x| place([x, THESIS_PRODUCT / x]))
                .collect();
            svg.path(&curve, false, "line l6");
            let [x, y] = curve[0];
            label(svg, [x + 10.0, y + 6.0], "m · n = 3600, what the K20 held on chip");
        }
        let [a, b] = THESIS_SIDES;
        let corners = [[a, a], [b, a], [b, b], [a, b]].map(&place);
        svg.path(&corners, true, "line l6");
        label(svg, [corners[1][0] + 8.0, corners[1][1]], "sides from 50 to 100");
    }
}

/// Words on paper of their own, over the colours.
fn label(svg: &mut Svg, [x, y]: [f64; 2], words: &str) {
    svg.rect([x, y - 10.0], [14.0 + 6.4 * words.chars().count() as f64, 20.0], "paper");
    svg.text([x + 7.0, y + 4.0], words, "", Anchor::Start);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_a_colour() {
        let mut table = Table::new(&["m", "n", "gb_per_s"]);
        for cells in [["8", "8", "10"], ["60", "60", "100"], ["300", "8", "90"], ["9", "9", ""]] {
            table.push(cells.map(String::from));
        }
        let (x, y) = (("n", "columns"), ("m", "rows"));
        let map = Map {
            name: "",
            title: "t",
            x,
            y,
            value: "gb_per_s",
            shades: Shades::Sixths,
            rules: true,
            only: &[],
        };
        let svg = map.svg(&table).unwrap();
        assert_eq!(svg.matches("fill=\"#").count(), 3 + 6, "and a name for each colour");
        assert_eq!(svg.matches("class=\"frame\"").count(), 2 + 1);
        assert!(svg.contains("m · n = 3600") && svg.contains("sides from 50"));
        let map = Map { shades: Shades::Doublings, rules: false, ..map };
        assert_eq!(map.svg(&table).unwrap().matches("fill=\"#").count(), 3 + 8);
        let ranks = Ranks::of([8.0, 2.0, 8.0, 4.0].into_iter());
        let places = [2.0, 4.0, 8.0, 1.0, 9.0, 32f64.sqrt()].map(|value| ranks.place(value) * 6.0);
        let want = [1.0, 3.0, 5.0, 1.0, 5.0, 4.0];
        assert!(
            places.iter().zip(want).all(|(place, want)| (place - want).abs() < 1e-9),
            "{places:?}"
        );
        assert_eq!(
            [0.0, 1.0, 2.0, 3.0, 4.0, 900.0].map(|v| Shades::Doublings.shade(v, 0.0)),
            [0, 0, 1, 1, 2, 7]
        );
        table.rows.clear();
        assert!(map.svg(&table).unwrap_err().to_string().contains("no row has numbers"));
    }
}
