//! Axes: which numbers are written on them, and where a number lies.

use std::ops::Range;

/// What an axis shows, and how.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Column of its numbers.
    pub column: &'static str,
    /// The same in words, with its unit.
    pub label: &'static str,
    /// How numbers lie on it.
    pub scale: Scale,
}

impl Axis {
    /// An axis.
    pub const fn new(column: &'static str, label: &'static str, scale: Scale) -> Self {
        Axis { column, label, scale }
    }
}

/// How numbers lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From nothing on.
    Linear,
    /// From the least of them on.
    Between,
    /// By their logarithms, written at 1, 2 and 5 times powers of ten.
    Log,
    /// By their logarithms, written at powers of two.
    Doubling,
}

/// An axis between two numbers.
#[derive(Clone, Debug)]
pub struct Span {
    scale: Scale,
    range: Range<f64>,
    ticks: Vec<f64>,
}

/// The most numbers that are written on an axis.
const MOST: usize = 8;

impl Span {
    /// An axis that all of `values` lie on; none where there are none.
    pub fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) =
            values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            return None;
        }
        let (range, ticks) = match scale {
            Scale::Linear => {
                let ticks = steps(0.0, high.max(1e-9));
                (0.0..ticks.last().copied().unwrap_or(1.0).max(high), ticks)
            }
            Scale::Between => {
                let room = ((high - low) * 0.04).max(1e-3 * high.abs()).max(1e-9);
                let range = low - room..high + room;
                let ticks = steps(range.start, range.end);
                (range, ticks)
            }
            Scale::Log => logarithmic(low.max(1e-9), high.max(1e-9)),
            Scale::Doubling => {
                let (low, high) = (low.max(1e-9), high.max(1e-9));
                let powers = low.log2().floor() as i32..=high.log2().ceil() as i32;
                let ticks = powers.map(|k| 2f64.powi(k)).filter(|t| (low..=high).contains(t));
                (low / 1.15..high * 1.15, thinned(ticks.collect()))
            }
        };
        Some(Span { scale, range, ticks })
    }

    /// Where a number lies, from 0 to 1.
    pub fn place(&self, value: f64) -> f64 {
        let Range { start, end } = self.range;
        match self.scale {
            Scale::Linear | Scale::Between => (value - start) / (end - start),
            Scale::Log | Scale::Doubling => (value.max(1e-9) / start).log2() / (end / start).log2(),
        }
    }

    /// The numbers that are written on it.
    pub fn ticks(&self) -> &[f64] {
        &self.ticks
    }
}

/// Round numbers between two, and the next one above.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|s| *s >= rough);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step).ceil() as i64;
    let last = if low == 0.0 { (high / step).ceil() } else { (high / step).floor() } as i64;
    (first..=last).map(|k| k as f64 * step).collect()
}

/// A logarithmic axis: decades where there are many, else also 2 and 5 times them, from the number below to the one above.
fn logarithmic(low: f64, high: f64) -> (Range<f64>, Vec<f64>) {
    let decades = (high / low).log10();
    let factors: &[f64] = match decades {
        d if d > 3.5 => &[1.0],
        d if d > 2.0 => &[1.0, 3.0],
        d if d < 0.5 => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
        _ => &[1.0, 2.0, 5.0],
    };
    let powers = low.log10().floor() as i32 - 1..=high.log10().ceil() as i32 + 1;
    let all: Vec<f64> =
        powers.flat_map(|k| factors.iter().map(move |f| f * 10f64.powi(k))).collect();
    let start = all.iter().copied().rfind(|t| *t <= low).unwrap_or(low);
    let end = all.iter().copied().find(|t| *t >= high).unwrap_or(high);
    let end = if end > start { end } else { start * 10.0 };
    let ticks = all.into_iter().filter(|t| (start..=end).contains(t)).collect();
    (start..end, ticks)
}

/// Every second, third and so on, so that few enough are left.
fn thinned(ticks: Vec<f64>) -> Vec<f64> {
    let every = ticks.len().div_ceil(MOST).max(1);
    ticks.into_iter().step_by(every).collect()
}

/// A number in few digits.
pub fn short(value: f64) -> String {
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    match value.abs() {
        0.0 => "0".into(),
        v if v >= 1e6 => format!("{}M", trimmed(format!("{:.3}", value / 1e6))),
        v if v >= 100.0 => format!("{value:.0}"),
        _ => trimmed(format!("{value:.3}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_numbers_and_are_labelled_throughout() {
        let cases: [&[f64]; 6] = [
            &[21.0, 4220.0],
            &[1.08, 3697.0],
            &[0.98, 1.16],
            &[3.0],
            &[13.0, 526.0],
            &[0.5, 900.0],
        ];
        for values in cases {
            for scale in [Scale::Linear, Scale::Between, Scale::Log, Scale::Doubling] {
                let span = Span::of(scale, values.iter().copied()).unwrap();
                for value in values {
                    let place = span.place(*value);
                    assert!((-1e-9..=1.0 + 1e-9).contains(&place), "{scale:?} {values:?}: {place}");
                }
                let places: Vec<f64> = span.ticks().iter().map(|tick| span.place(*tick)).collect();
                assert!(places.is_sorted() && places.len() <= 3 * MOST, "{scale:?} {values:?}");
                if scale == Scale::Log {
                    // No gap of much more than half of the axis is without a number, nor are its ends.
                    assert!(places.len() >= 2 && places[0].abs() < 1e-9, "{values:?}: {places:?}");
                    assert!(places.windows(2).all(|pair| pair[1] - pair[0] <= 0.6), "{places:?}");
                }
            }
        }
        assert!(Span::of(Scale::Log, std::iter::empty()).is_none());
    }

    #[test]
    fn powers_of_two_are_written_where_sizes_double() {
        let span = Span::of(Scale::Doubling, [128.0, 192.0, 16384.0].into_iter()).unwrap();
        assert_eq!(span.ticks(), [128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0]);
        assert_eq!(
            [0.0, 1.5, 128.0, 0.25, 3e6, 1000.0].map(short),
            ["0", "1.5", "128", "0.25", "3M", "1000"]
        );
    }
}
