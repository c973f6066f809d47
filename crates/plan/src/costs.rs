//! What a device costs, as a table in a file: how fast each of its operations is, of a copy of the same bytes.
//!
//! A device's crate names its operations and the quantities that decide how fast they are; the file says how.
//! An operation is a list of *factors*, taken in order from 1:
//!
//! ```json
//! {"set": [[64, 0.41], [128, 0.70]], "over": "unit_bytes", "from": "moves.csv"}
//! {"times": 0.85, "when": {"short_cycles": [1, 1]}, "from": "barrier.csv"}
//! {"at_most": [[1, 0.12], [2, 0.2]], "over": "word", "from": "sweeps.csv"}
//! ```
//!
//! `set`, `times` and `at_most` are a number, or points over a quantity, ascending: between points the
//! value is interpolated over the quantity's logarithm (over the quantity itself with `"linear": true`),
//! beyond the ends it stays. `when` limits a factor to quantities from one number to another, both included.
//! `from` says where it was measured. A constant is a number with a name of its own.
//!
//! No entry ever decides whether a plan is right, only which is tried first.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CostsError {
    /// It cannot be read.
    #[error("cost table {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no table.
    #[error("cost table of {device}: {source}")]
    Format {
        /// The table's device, as far as it is known.
        device: String,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// It names something that there is not, or lacks something.
    #[error("cost table of {device}: {what}")]
    Content {
        /// The table's device.
        device: String,
        /// What is wrong.
        what: String,
    },
}

/// What a table may and must name.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Operations: the table has each.
    pub operations: &'static [&'static str],
    /// Quantities that factors may be over.
    pub quantities: &'static [&'static str],
    /// Constants: the table has each.
    pub constants: &'static [&'static str],
}

/// A device's table.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    device: String,
    constants: Vec<f64>,
    operations: Vec<Vec<Factor>>,
    /// Of each operation, more than it ever reaches, or as much.
    most: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
struct Factor {
    how: How,
    value: Value,
    /// Quantity and its range.
    when: Vec<(usize, f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Set,
    Times,
    AtMost,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    /// Points over a quantity, whose places are logarithms unless linear.
    Curve {
        over: usize,
        linear: bool,
        points: Vec<(f64, f64)>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    device: String,
    #[expect(dead_code, reason = "for who reads the file")]
    about: String,
    constants: BTreeMap<String, f64>,
    operations: BTreeMap<String, Vec<FactorText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactorText {
    set: Option<ValueText>,
    times: Option<ValueText>,
    at_most: Option<ValueText>,
    over: Option<String>,
    #[serde(default)]
    linear: bool,
    #[serde(default)]
    when: BTreeMap<String, [f64; 2]>,
    #[expect(dead_code, reason = "for who reads the file")]
    from: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ValueText {
    Number(f64),
    Points(Vec<[f64; 2]>),
}

impl Costs {
    /// Reads a file.
    ///
    /// # Errors
    /// [`CostsError`].
    pub fn load(path: &Path, names: Names) -> Result<Self, CostsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| CostsError::Io { path: path.display().to_string(), source })?;
        Self::parse(&text, names)
    }

    /// Reads a table's text.
    ///
    /// # Errors
    /// [`CostsError::Format`], [`CostsError::Content`].
    pub fn parse(text: &str, names: Names) -> Result<Self, CostsError> {
        let file: File = serde_json::from_str(text)
            .map_err(|source| CostsError::Format { device: "?".into(), source })?;
        let device = file.device;
        let wrong = |what: String| CostsError::Content { device: device.clone(), what };
        let constant = |name: &&str| {
            let value = file.constants.get(*name).copied().filter(|v| v.is_finite() && *v >= 0.0);
            value.ok_or_else(|| wrong(format!("no constant {name}, or a negative one")))
        };
        let constants = names.constants.iter().map(constant).collect::<Result<_, _>>()?;
        for name in file.constants.keys() {
            known("constant", names.constants, name).map_err(wrong)?;
        }
        for name in file.operations.keys() {
            known("operation", names.operations, name).map_err(wrong)?;
        }
        let operations = names
            .operations
            .iter()
            .map(|name| {
                let factors = file.operations.get(*name);
                let factors = factors.ok_or_else(|| wrong(format!("no operation {name}")))?;
                let read = |factor| Factor::read(factor, names);
                let factors: Result<Vec<_>, _> = factors.iter().map(read).collect();
                factors.map_err(|what| wrong(format!("{name}: {what}")))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let most = operations.iter().map(|factors| most(factors)).collect();
        Ok(Costs { device, constants, operations, most })
    }

    /// The device whose table it is.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The constant of that number among the names.
    pub fn constant(&self, which: usize) -> f64 {
        self.constants[which]
    }

    /// The same table with another constant, for a device that is like this one but for that.
    #[must_use]
    pub fn with_constant(mut self, which: usize, value: f64) -> Self {
        self.constants[which] = value;
        self
    }

    /// What operation `which` reaches of a copy's speed where the quantity of each number among the names is what
    /// `quantity` says. It is asked for those alone that decide.
    pub fn fraction(&self, which: usize, quantity: impl Fn(usize) -> f64) -> f64 {
        self.operations[which].iter().fold(1.0, |so_far, factor| {
            let within =
                |&(which, from, to): &(usize, f64, f64)| (from..=to).contains(&quantity(which));
            if !factor.when.iter().all(within) {
                return so_far;
            }
            let value = factor.value.at(&quantity);
            match factor.how {
                How::Set => value,
                How::Times => so_far * value,
                How::AtMost => so_far.min(value),
            }
        })
    }

    /// More than operation `which` ever reaches, or as much.
    pub fn most(&self, which: usize) -> f64 {
        self.most[which]
    }
}

fn known(what: &str, all: &[&str], name: &str) -> Result<usize, String> {
    let found = all.iter().position(|other| *other == name);
    found.ok_or_else(|| format!("no {what} is named {name}; there are {}", all.join(", ")))
}

/// The most that factors can make: sets and products of their highest values.
fn most(factors: &[Factor]) -> f64 {
    factors.iter().fold(1.0, |best: f64, factor| {
        let most = factor.value.most();
        match (factor.how, factor.when.is_empty()) {
            (How::Set, true) => most,
            (How::Set, false) => best.max(most),
            (How::Times, true) => best * most,
            (How::Times, false) => best * most.max(1.0),
            (How::AtMost, true) => best.min(most),
            (How::AtMost, false) => best,
        }
    })
}

impl Factor {
    fn read(text: &FactorText, names: Names) -> Result<Self, String> {
        let (how, value) = match (&text.set, &text.times, &text.at_most) {
            (Some(value), None, None) => (How::Set, value),
            (None, Some(value), None) => (How::Times, value),
            (None, None, Some(value)) => (How::AtMost, value),
            _ => return Err("a factor is one of set, times and at_most".into()),
        };
        let quantity = |name: &str| known("quantity", names.quantities, name);
        let value = match (value, &text.over) {
            (ValueText::Number(number), None) if number.is_finite() && *number > 0.0 => {
                Value::Number(*number)
            }
            (ValueText::Points(points), Some(over)) => {
                let ascends = points.is_sorted_by(|a, b| a[0] < b[0]);
                let finite = points.iter().flatten().all(|x| x.is_finite());
                let places = points.iter().all(|p| p[1] > 0.0 && (text.linear || p[0] > 0.0));
                if points.is_empty() || !ascends || !finite || !places {
                    return Err(format!("points over {over} must ascend and be above 0"));
                }
                let place = |x: f64| if text.linear { x } else { x.ln() };
                let points = points.iter().map(|&[x, y]| (place(x), y)).collect();
                Value::Curve { over: quantity(over)?, linear: text.linear, points }
            }
            _ => {
                return Err("a factor is a number above 0, or points and what they are over".into());
            }
        };
        let when = text.when.iter().map(|(name, [from, to])| Ok((quantity(name)?, *from, *to)));
        let mut when = when.collect::<Result<Vec<_>, String>>()?;
        // In the order of the names: those that take longest to find out come last there.
        when.sort_by_key(|range| range.0);
        Ok(Factor { how, value, when })
    }
}

impl Value {
    fn at(&self, quantity: impl Fn(usize) -> f64) -> f64 {
        let (over, linear, points) = match self {
            Value::Number(number) => return *number,
            Value::Curve { over, linear, points } => (*over, *linear, points),
        };
        let x = if linear { quantity(over) } else { quantity(over).ln() };
        let above = points.partition_point(|point| point.0 < x);
        match (above.checked_sub(1).map(|below| points[below]), points.get(above)) {
            (Some((x0, y0)), Some(&(x1, y1))) => y0 + (x - x0) / (x1 - x0) * (y1 - y0),
            (Some((_, last)), None) => last,
            (None, Some(&(_, first))) => first,
            (None, None) => unreachable!("a curve has points"),
        }
    }

    fn most(&self) -> f64 {
        match self {
            Value::Number(number) => *number,
            Value::Curve { points, .. } => points.iter().fold(0.0, |most, p| p.1.max(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names = Names {
        operations: &["move", "turn"],
        quantities: &["bytes", "short"],
        constants: &["copy"],
    };

    fn table(moves: &str) -> Result<Costs, CostsError> {
        let text = format!(
            r#"{{"device": "toy", "about": "", "constants": {{"copy": 2.0}},
                 "operations": {{"move": [{moves}], "turn": []}}}}"#
        );
        Costs::parse(&text, NAMES)
    }

    #[test]
    fn curves_interpolate_over_the_logarithm() {
        let curve = r#"{"set": [[4, 0.2], [16, 0.4]], "over": "bytes", "from": ""}"#;
        let costs = table(curve).unwrap();
        let at = |bytes: f64| costs.fraction(0, |k| [bytes, 0.0][k]);
        assert_eq!([at(1.0), at(4.0), at(99.0)], [0.2, 0.2, 0.4]);
        assert!((at(8.0) - 0.3).abs() < 1e-12 && (at(16.0) - 0.4).abs() < 1e-12);
        assert_eq!(costs.fraction(1, |_| 8.0), 1.0, "without factors as fast as a copy");
        assert_eq!((costs.constant(0), costs.device()), (2.0, "toy"));
        let linear = curve.replace(r#""from""#, r#""linear": true, "from""#);
        assert!((table(&linear).unwrap().fraction(0, |_| 7.0) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn factors_apply_in_order_and_where_they_are_meant() {
        let costs = table(
            r#"{"set": 0.8, "from": ""},
               {"times": 0.5, "when": {"short": [1, 1]}, "from": ""},
               {"at_most": [[8, 0.1], [9, 0.6]], "over": "bytes", "from": ""},
               {"times": 2, "when": {"short": [1, 1], "bytes": [0, 8]}, "from": ""}"#,
        )
        .unwrap();
        assert_eq!(costs.fraction(0, |k| [8.0, 0.0][k]), 0.1);
        assert_eq!(costs.fraction(0, |k| [8.0, 1.0][k]), 0.2);
        assert_eq!(costs.fraction(0, |k| [9.0, 0.0][k]), 0.6);
        assert_eq!(costs.fraction(0, |k| [9.0, 1.0][k]), 0.4);
        assert_eq!(costs.most(0), 1.2);
        assert_eq!(costs.most(1), 1.0);
    }

    #[test]
    fn what_is_no_table_is_told() {
        for (factor, told) in [
            (r#"{"set": 0.8, "times": 1, "from": ""}"#, "one of set, times"),
            (r#"{"set": 0.8, "over": "bytes", "from": ""}"#, "a number above 0"),
            (r#"{"set": 0, "from": ""}"#, "a number above 0"),
            (r#"{"set": [[4, 1], [2, 1]], "over": "bytes", "from": ""}"#, "ascend"),
            (r#"{"set": [], "over": "bytes", "from": ""}"#, "ascend"),
            (r#"{"set": [[4, 1]], "over": "words", "from": ""}"#, "no quantity is named words"),
            (r#"{"set": 1, "when": {"long": [0, 1]}, "from": ""}"#, "no quantity is named long"),
            (r#"{"set": 1, "form": ""}"#, "form"),
        ] {
            let error = table(factor).unwrap_err().to_string();
            assert!(error.contains(told), "{factor}: {error}");
        }
        let lacking = r#"{"device": "toy", "about": "", "constants": {}, "operations": {}}"#;
        let error = Costs::parse(lacking, NAMES).unwrap_err().to_string();
        assert!(error.contains("no constant copy"), "{error}");
    }
}
