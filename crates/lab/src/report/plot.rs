//! Pictures, as SVG.

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::failure::Failure;
use super::table::Table;

const SIZE: (u32, u32) = (860, 440);
/// Of it, for the names of curves.
const LEGEND: u32 = 190;
/// Colours that are told apart by most eyes (Okabe and Ito 2008).
pub const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(150, 150, 150),
];

/// A curve: its name and its points.
type Curve = (String, Vec<(f64, f64)>);

/// Curves of the columns `ys` over the column `x`, one for every different cell of `series`.
pub fn curves(
    table: &Table,
    x: &str,
    ys: &[&str],
    series: &[&str],
    log: [bool; 2],
) -> Result<String, Failure> {
    let keys: Vec<usize> = series.iter().map(|name| table.column(name)).collect();
    let at = table.column(x);
    let mut curves: Vec<Curve> = Vec::new();
    for row in &table.rows {
        let name: Vec<&str> = keys.iter().map(|&k| &*row[k]).collect();
        for y in ys {
            let mut name = name.join(" ");
            if ys.len() > 1 || name.is_empty() {
                name = format!("{name} {}", y.replace('_', " ")).trim().to_owned();
            }
            let point = (row[at].parse::<f64>(), row[table.column(y)].parse::<f64>());
            let (Ok(x), Ok(y)) = point else { continue };
            match curves.iter_mut().find(|curve| curve.0 == name) {
                Some(curve) => curve.1.push((x, y)),
                None => curves.push((name, vec![(x, y)])),
            }
        }
    }
    for (_, points) in &mut curves {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let label = if ys.len() == 1 { ys[0] } else { "GB/s" };
    let [xs, ys] = [0, 1].map(|axis| {
        let all = curves.iter().flat_map(|curve| &curve.1);
        let all = all.map(|point| if axis == 0 { point.0 } else { point.1 });
        let (low, high) = all.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            return Err(Failure::NoPoints);
        }
        // A linear axis of rates begins at nothing.
        let low = if log[axis] {
            (low * 0.9).max(1e-6)
        } else if axis == 1 {
            0.0
        } else {
            low
        };
        Ok(low..(high * 1.06).max(low + 1e-6))
    });
    let (xs, ys) = (xs?, ys?);
    match log {
        [true, true] => draw(&curves, xs.log_scale(), ys.log_scale(), [x, label]),
        [true, false] => draw(&curves, xs.log_scale(), ys, [x, label]),
        [false, true] => draw(&curves, xs, ys.log_scale(), [x, label]),
        [false, false] => draw(&curves, xs, ys, [x, label]),
    }
}

fn draw<X, Y>(curves: &[Curve], xs: X, ys: Y, labels: [&str; 2]) -> Result<String, Failure>
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        // Names stand beside the curves and not over them.
        let legend = if curves.len() > 1 { LEGEND } else { 0 };
        let (area, names) = area.split_horizontally(SIZE.0 - legend);
        let mut builder = ChartBuilder::on(&area);
        builder.margin(12).x_label_area_size(40).y_label_area_size(60);
        let mut chart = builder.build_cartesian_2d(xs, ys)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc(labels[0].replace('_', " "))
            .y_desc(labels[1].replace("gb_per_s", "GB/s").replace('_', " "))
            .x_label_formatter(&|x| short(*x))
            .y_label_formatter(&|y| short(*y))
            .draw()?;
        for (number, (name, points)) in curves.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            // Colours come again with larger marks.
            let mark = 2 + number / COLOURS.len();
            let line = LineSeries::new(points.iter().copied(), &colour).point_size(mark as u32);
            chart.draw_series(line)?;
            if legend > 0 {
                let at = 20 + 16 * number as i32;
                names.draw(&PathElement::new([(4, at), (22, at)], colour))?;
                names.draw(&Circle::new((13, at), mark as i32, colour))?;
                names.draw(&Text::new(name.as_str(), (28, at - 6), ("sans-serif", 12)))?;
            }
        }
        area.present()?;
    }
    Ok(svg)
}

/// The number of every pair of the columns `xy`, as a colour.
pub fn map(table: &Table, xy: [&str; 2], value: &str, log: bool) -> Result<String, Failure> {
    let [x, y, v] = [xy[0], xy[1], value].map(|name| table.column(name));
    let cell = |row: &Vec<String>, at: usize| row[at].parse::<f64>().ok();
    let points: Vec<(f64, f64, f64)> = (table.rows.iter())
        .filter_map(|row| Some((cell(row, x)?, cell(row, y)?, cell(row, v)?)))
        .collect();
    let most = points.iter().fold(f64::MIN, |most, point| most.max(point.2));
    let least = points.iter().fold(f64::MAX, |least, point| least.min(point.2));
    if points.is_empty() {
        return Err(Failure::NoPoints);
    }
    let range = |of: fn(&(f64, f64, f64)) -> f64| {
        let (low, high) = points
            .iter()
            .map(of)
            .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        if log { low * 0.85..high * 1.18 } else { low - 0.5..high + 0.5 }
    };
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(SIZE.0 - 90);
        let shade = |value: f64| {
            let share = if most > least { (value - least) / (most - least) } else { 1.0 };
            ViridisRGB.get_color(share)
        };
        let mut builder = ChartBuilder::on(&left);
        builder.margin(12).x_label_area_size(40).y_label_area_size(60);
        if log {
            let mut chart = builder
                .build_cartesian_2d(range(|p| p.0).log_scale(), range(|p| p.1).log_scale())?;
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .x_desc(xy[0])
                .y_desc(xy[1])
                .x_label_formatter(&|x| short(*x))
                .y_label_formatter(&|y| short(*y))
                .draw()?;
            chart.draw_series(
                points.iter().map(|&(x, y, value)| Circle::new((x, y), 5, shade(value).filled())),
            )?;
        } else {
            let xs: std::ops::Range<f64> = range(|p| p.0);
            let ys: std::ops::Range<f64> = range(|p| p.1);
            let mut chart = builder
                .build_cartesian_2d::<RangedCoordf64, RangedCoordf64>(xs.into(), ys.into())?;
            chart
                .configure_mesh()
                .disable_mesh()
                .x_desc(xy[0])
                .y_desc(xy[1])
                .x_label_formatter(&|x| short(*x))
                .y_label_formatter(&|y| short(*y))
                .draw()?;
            chart.draw_series(points.iter().map(|&(x, y, value)| {
                Rectangle::new([(x - 0.5, y - 0.5), (x + 0.5, y + 0.5)], shade(value).filled())
            }))?;
        }
        // The scale of colours, with the numbers at its ends and middle.
        for step in 0..100 {
            let share = f64::from(99 - step) / 99.0;
            let (top, bottom) = (30 + step * 3, 33 + step * 3);
            right.draw(&Rectangle::new(
                [(8, top), (28, bottom)],
                ViridisRGB.get_color(share).filled(),
            ))?;
        }
        for (share, at) in [(1.0, 30), (0.5, 178), (0.0, 327)] {
            let text = short(least + share * (most - least));
            right.draw(&Text::new(text, (32, at - 6), ("sans-serif", 12)))?;
        }
        right.draw(&Text::new(value.replace("gb_per_s", "GB/s"), (4, 8), ("sans-serif", 12)))?;
        area.present()?;
    }
    Ok(svg)
}

/// A picture as PNG, in twice as many points each way, its text in the system's fonts.
#[cfg(feature = "png")]
pub fn png(svg: &str) -> Result<Vec<u8>, Failure> {
    use resvg::{tiny_skia, usvg};
    const SCALE: f32 = 2.0;
    let mut options = usvg::Options::default();
    let wrong = |error: &dyn std::fmt::Display| Failure::Picture(error.to_string());
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    // Text in a font that is not there would be left out without a word.
    let sans =
        usvg::fontdb::Query { families: &[usvg::fontdb::Family::SansSerif], ..Default::default() };
    if fonts.query(&sans).is_none() {
        let names = || fonts.faces().filter_map(|face| Some(face.families.first()?.0.clone()));
        let plain = |name: &String| name.contains("Sans") && !name.contains("Mono");
        let name = names().find(plain).or_else(|| names().next());
        fonts.set_sans_serif_family(name.ok_or_else(|| wrong(&"the system has no fonts"))?);
    }
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| wrong(&error))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| wrong(&"no size"))?;
    let mut image = tiny_skia::Pixmap::new(size.width(), size.height())
        .ok_or_else(|| wrong(&"no memory for the image"))?;
    let twice = tiny_skia::Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, twice, &mut image.as_mut());
    image.encode_png().map_err(|error| wrong(&error))
}

/// A number in few digits.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v >= 1e6 => format!("{:.3}M", value / 1e6).replace(".000M", "M"),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 1.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "png")]
    #[test]
    fn pictures_become_images() {
        let mut table = Table::new(&["x", "y"]);
        table.push(["1", "2"].map(String::from));
        table.push(["3", "4"].map(String::from));
        let image = png(&curves(&table, "x", &["y"], &[], [false; 2]).unwrap()).unwrap();
        assert!(image.starts_with(b"\x89PNG") && image.len() > 1000);
        assert!(png("<svg").is_err());
    }

    #[test]
    fn pictures_hold_every_point() {
        let mut table = Table::new(&["side", "method", "gb_per_s"]);
        for (side, method, rate) in
            [("16", "a", "1.5"), ("32", "a", "2.5"), ("16", "b", "4"), ("32", "b", "")]
        {
            table.push([side, method, rate].map(String::from));
        }
        for log in [[false, false], [true, false], [false, true], [true, true]] {
            let svg = curves(&table, "side", &["gb_per_s"], &["method"], log).unwrap();
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            let marks = svg.matches("<circle").count();
            assert_eq!(marks, 3 + 2, "an empty cell is no point; a name has a mark");
        }
        for log in [false, true] {
            let svg = map(&table, ["side", "gb_per_s"], "gb_per_s", log).unwrap();
            assert!(svg.ends_with("</svg>\n") || svg.ends_with("</svg>"));
        }
        table.rows.clear();
        assert!(matches!(
            curves(&table, "side", &["gb_per_s"], &[], [false; 2]),
            Err(Failure::NoPoints)
        ));
    }
}
