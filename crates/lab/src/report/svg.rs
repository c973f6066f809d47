//! Shapes of pictures, as SVG in the style of `style.css`: for light pages and dark ones.

use std::fmt::{Display, Write};

/// Why there is no picture, though nothing is wrong with the table.
pub const NO_POINTS: &str = "picture: no row has numbers to draw";

/// The look of every picture; `docs/pictures/draw` has the same.
const STYLE: &str = include_str!("style.css");

/// Colours and marks of series; more cannot be distinguished.
pub const SERIES: usize = 8;

/// Where a text stands to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// A picture that is being drawn; coordinates are pixels from its upper left corner.
pub struct Svg {
    width: f64,
    title: String,
    about: String,
    body: String,
}

impl Svg {
    /// Pixels across, of all pictures.
    pub const WIDTH: f64 = 860.0;

    /// A picture with a title, and words for whoever cannot see it.
    pub fn new(title: impl Into<String>, about: impl Into<String>) -> Self {
        let (title, about) = (title.into(), about.into());
        let mut svg = Svg { width: Self::WIDTH, title, about, body: String::new() };
        let title = svg.title.clone();
        svg.text([20.0, 28.0], &title, "title", Anchor::Start);
        svg
    }

    fn add(&mut self, part: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{part}");
    }

    /// A rectangle, of classes of the style.
    pub fn rect(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], class: &str) {
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        self.add(format_args!(
            r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" class="{class}"/>"#
        ));
    }

    /// A rectangle of a colour that is the same on light and dark pages.
    pub fn tile(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], colour: &str) {
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        self.add(format_args!(
            r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{colour}"/>"#
        ));
    }

    /// A text.
    pub fn text(&mut self, [x, y]: [f64; 2], words: &str, class: &str, anchor: Anchor) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let (x, y, words) = (short(x), short(y), escaped(words));
        self.add(format_args!(r#"<text x="{x}" y="{y}"{anchor} class="{class}">{words}</text>"#));
    }

    /// A text that reads upwards.
    pub fn upright(&mut self, [x, y]: [f64; 2], words: &str, class: &str) {
        let (x, y, words) = (short(x), short(y), escaped(words));
        self.add(format_args!(
            r#"<text x="{x}" y="{y}" text-anchor="middle" transform="rotate(-90 {x} {y})" class="{class}">{words}</text>"#
        ));
    }

    /// A line through points, closed or not.
    pub fn path(&mut self, points: &[[f64; 2]], closed: bool, class: &str) {
        let steps: Vec<String> =
            points.iter().map(|[x, y]| format!("{} {}", short(*x), short(*y))).collect();
        let (steps, end) = (steps.join("L"), if closed { "z" } else { "" });
        self.add(format_args!(r#"<path d="M{steps}{end}" class="{class}"/>"#));
    }

    /// The mark of a series, hollow for what a source reports.
    pub fn mark(&mut self, series: usize, [x, y]: [f64; 2], hollow: bool) {
        let hue = series % SERIES + 1;
        let class = match hollow {
            true => format!("mark hollow l{hue}"),
            false => format!("mark s{hue}"),
        };
        let around = |corners: &[[f64; 2]]| -> Vec<[f64; 2]> {
            corners.iter().map(|[dx, dy]| [x + dx, y + dy]).collect()
        };
        let corners: &[[f64; 2]] = match series % SERIES {
            0 => {
                let (x, y) = (short(x), short(y));
                return self
                    .add(format_args!(r#"<circle cx="{x}" cy="{y}" r="4" class="{class}"/>"#));
            }
            1 => &[[-3.5, -3.5], [3.5, -3.5], [3.5, 3.5], [-3.5, 3.5]],
            2 => &[[0.0, -5.0], [5.0, 0.0], [0.0, 5.0], [-5.0, 0.0]],
            3 => &[[0.0, -4.5], [4.5, 3.5], [-4.5, 3.5]],
            4 => &[[0.0, 4.5], [4.5, -3.5], [-4.5, -3.5]],
            5 => &[[-2.0, -5.0], [2.0, -5.0], [2.0, 5.0], [-2.0, 5.0]],
            6 => &[[-5.0, -2.0], [5.0, -2.0], [5.0, 2.0], [-5.0, 2.0]],
            _ => &[[-4.0, 0.0], [-2.0, -4.0], [2.0, -4.0], [4.0, 0.0], [2.0, 4.0], [-2.0, 4.0]],
        };
        self.path(&around(corners), true, &class);
    }

    /// Names of series and of the copy's line, in lines below the title; returns how far down they reach.
    pub fn legend(&mut self, names: &[(String, Key)]) -> f64 {
        let (mut x, mut y) = (20.0, 52.0);
        for (name, key) in names {
            let wide = 40.0 + 6.6 * name.chars().count() as f64;
            if x > 20.0 && x + wide > self.width - 10.0 {
                (x, y) = (20.0, y + 20.0);
            }
            match *key {
                Key::Series(series) => self.mark(series, [x + 6.0, y - 4.0], false),
                Key::Hollow(series) => self.mark(series, [x + 6.0, y - 4.0], true),
                Key::Copy => {
                    self.path(&[[x - 2.0, y - 4.0], [x + 15.0, y - 4.0]], false, "copy");
                }
                Key::Colour(colour) => self.tile([x, y - 10.0], [12.0, 12.0], colour),
                Key::Class(class) => self.rect([x, y - 10.0], [12.0, 12.0], class),
            }
            self.text([x + 20.0, y], name, "", Anchor::Start);
            x += wide;
        }
        y
    }

    /// The whole file, of that height.
    pub fn finish(self, height: f64) -> String {
        let Svg { width, title, about, body } = self;
        let (title, about) = (escaped(&title), escaped(&about));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\">\n<title>{title}</title><desc>{about}</desc>\n<style>\n{STYLE}</style>\n\
             <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" class=\"paper\"/>\n{body}</svg>\n",
            width - 1.0,
            height - 1.0
        )
    }
}

/// What stands beside a name of a legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key {
    /// The mark of a series.
    Series(usize),
    /// The same, hollow.
    Hollow(usize),
    /// The copy's line.
    Copy,
    /// A square of a colour.
    Colour(&'static str),
    /// A square of a class of the style.
    Class(&'static str),
}

/// A coordinate in few digits.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// Words as XML has them.
fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A picture as PNG, in twice as many points each way, its text in the system's fonts.
#[cfg(feature = "png")]
pub fn png(svg: &str) -> anyhow::Result<Vec<u8>> {
    use resvg::{tiny_skia, usvg};
    const SCALE: f32 = 2.0;
    let mut options = usvg::Options::default();
    let wrong = |error: &dyn std::fmt::Display| anyhow::anyhow!("picture: {error}");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_escaped_and_legends_go_on_in_the_next_line() {
        let mut svg = Svg::new("a < b", "m · n & more");
        let long = |name: &str| (name.repeat(20), Key::Series(0));
        assert_eq!(svg.legend(&[long("abc")]), 52.0);
        assert_eq!(svg.legend(&[long("abc"), long("defg"), ("copy".into(), Key::Copy)]), 72.0);
        let text = svg.finish(100.0);
        assert!(text.contains("a &lt; b") && text.contains("m · n &amp; more"));
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
        assert!(text.contains("prefers-color-scheme: dark"));
    }

    #[cfg(feature = "png")]
    #[test]
    fn pictures_become_images() {
        let image = png(&Svg::new("a title", "").finish(60.0)).unwrap();
        assert!(image.starts_with(b"\x89PNG") && image.len() > 1000);
        assert!(png("<svg").is_err());
    }
}
