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

mod text;

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CostTableError {
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostSchema {
    /// Operations: the table has each.
    pub operations: &'static [&'static str],
    /// Quantities that factors may be over.
    pub quantities: &'static [&'static str],
    /// Constants: the table has each.
    pub constants: &'static [&'static str],
}

/// An operation, measured: what tables are fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its number among the names.
    pub operation: usize,
    /// The quantities that decide, in the order of their names.
    pub quantities: Vec<f64>,
    /// What it reached of a copy's speed.
    pub fraction: f64,
}

/// A device's table.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTable {
    names: CostSchema,
    device: String,
    about: String,
    constants: Vec<f64>,
    operations: Vec<Vec<Factor>>,
    /// Of each operation, more than it ever reaches, or as much.
    most: Vec<f64>,
}

/// A factor of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// What it does to those before it.
    pub how: FactorOp,
    /// Its number, or its curve.
    pub value: Value,
    /// Numbers of quantities in ascending order, each with its range: where the factor applies.
    pub when: Vec<(usize, f64, f64)>,
    /// Where it was measured.
    pub from: String,
}

/// What a factor does to the product of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorOp {
    /// Replaces it.
    Set,
    /// Multiplies it.
    Times,
    /// Limits it.
    AtMost,
}

/// A number, or a curve.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The same everywhere.
    Number(f64),
    /// Over a quantity.
    Curve(Curve),
}

/// Points over a quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The quantity's number.
    pub over: usize,
    /// Whether it is interpolated over the quantity itself, and not over its logarithm.
    pub linear: bool,
    /// At least one, in ascending order.
    pub points: Vec<Point>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// What the quantity is there.
    pub quantity: f64,
    /// The quantity, or its logarithm: what is interpolated over.
    pub place: f64,
    /// The value there.
    pub value: f64,
}

impl CostTable {
    /// The device whose table it is.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// How it was made.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The same table of another device.
    #[must_use]
    pub fn named(mut self, device: &str, about: &str) -> Self {
        (self.device, self.about) = (device.to_owned(), about.to_owned());
        self
    }

    /// What the table may and must name.
    pub fn names(&self) -> CostSchema {
        self.names
    }

    /// The factors of operation `which`, in the order in which they apply.
    pub fn factors(&self, which: usize) -> &[Factor] {
        &self.operations[which]
    }

    /// The same table with other factors of operation `which`.
    #[must_use]
    pub fn with_factors(mut self, which: usize, factors: Vec<Factor>) -> Self {
        self.most[which] = most(&factors);
        self.operations[which] = factors;
        self
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
        self.decided(which, quantity).0
    }

    /// The same, and the number of the factor that decides it: the last that set it or limited what was more.
    pub fn decided(&self, which: usize, quantity: impl Fn(usize) -> f64) -> (f64, Option<usize>) {
        let mut decided = (1.0, None);
        for (number, factor) in self.operations[which].iter().enumerate() {
            let within =
                |&(which, from, to): &(usize, f64, f64)| (from..=to).contains(&quantity(which));
            if !factor.when.iter().all(within) {
                continue;
            }
            let value = factor.value.at(&quantity);
            match factor.how {
                FactorOp::Set => decided = (value, Some(number)),
                FactorOp::Times => decided = (decided.0 * value, decided.1.or(Some(number))),
                FactorOp::AtMost if decided.0 > value => decided = (value, Some(number)),
                FactorOp::AtMost => {}
            }
        }
        decided
    }

    /// More than operation `which` ever reaches, or as much.
    pub fn most(&self, which: usize) -> f64 {
        self.most[which]
    }
}

/// The most that factors can make: sets and products of their highest values.
fn most(factors: &[Factor]) -> f64 {
    factors.iter().fold(1.0, |best: f64, factor| {
        let most = factor.value.most();
        match (factor.how, factor.when.is_empty()) {
            (FactorOp::Set, true) => most,
            (FactorOp::Set, false) => best.max(most),
            (FactorOp::Times, true) => best * most,
            (FactorOp::Times, false) => best * most.max(1.0),
            (FactorOp::AtMost, true) => best.min(most),
            (FactorOp::AtMost, false) => best,
        }
    })
}

impl Value {
    fn at(&self, quantity: impl Fn(usize) -> f64) -> f64 {
        match self {
            Value::Number(number) => *number,
            Value::Curve(curve) => curve.at(quantity(curve.over)),
        }
    }

    fn most(&self) -> f64 {
        self.fold(0.0, f64::max)
    }

    fn least(&self) -> f64 {
        self.fold(f64::INFINITY, f64::min)
    }

    fn fold(&self, first: f64, choose: fn(f64, f64) -> f64) -> f64 {
        match self {
            Value::Number(number) => *number,
            Value::Curve(Curve { points, .. }) => {
                points.iter().map(|point| point.value).fold(first, choose)
            }
        }
    }
}

impl Curve {
    /// Of quantities and the values there, ascending. Without points it is 1 everywhere: a factor that changes nothing.
    pub fn new(over: usize, linear: bool, points: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut curve = Curve { over, linear, points: Vec::new() };
        curve.points = points
            .map(|(quantity, value)| Point { quantity, place: curve.place(quantity), value })
            .collect();
        if curve.points.is_empty() {
            curve.points.push(Point { quantity: 1.0, place: curve.place(1.0), value: 1.0 });
        }
        curve
    }

    /// Where a quantity lies on the curve.
    pub fn place(&self, quantity: f64) -> f64 {
        if self.linear { quantity } else { quantity.ln() }
    }

    fn at(&self, quantity: f64) -> f64 {
        let (x, points) = (self.place(quantity), &self.points);
        let above = points.partition_point(|point| point.place < x);
        match (above.checked_sub(1).map(|below| points[below]), points.get(above)) {
            (Some(a), Some(b)) => {
                a.value + (x - a.place) / (b.place - a.place) * (b.value - a.value)
            }
            (Some(last), None) => last.value,
            (None, Some(first)) => first.value,
            (None, None) => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: CostSchema = CostSchema {
        operations: &["move", "turn"],
        quantities: &["bytes", "short"],
        constants: &["copy"],
    };

    fn table(moves: &str) -> Result<CostTable, CostTableError> {
        let text = format!(
            r#"{{"device": "toy", "about": "", "constants": {{"copy": 2.0}},
                 "operations": {{"move": [{moves}], "turn": []}}}}"#
        );
        CostTable::parse(&text, NAMES)
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
            // Seconds would be infinite, or zero.
            (r#"{"set": 1e-320, "from": ""}"#, "move: its factors"),
            (r#"{"set": [[4, 1], [8, 1e-320]], "over": "bytes", "from": ""}"#, "its factors"),
            (r#"{"times": 1e-60, "from": ""}, {"times": 1e-60, "from": ""}"#, "its factors"),
            (r#"{"times": 1e60, "from": ""}, {"times": 1e60, "from": ""}"#, "its factors"),
        ] {
            let error = table(factor).unwrap_err().to_string();
            assert!(error.contains(told), "{factor}: {error}");
        }
        let lacking = r#"{"device": "toy", "about": "", "constants": {}, "operations": {}}"#;
        let error = CostTable::parse(lacking, NAMES).unwrap_err().to_string();
        assert!(error.contains("no constant copy"), "{error}");
        // Nothing is divided by a speed of 0.
        for copy in ["0", "1e-300", "-1", "1e300"] {
            let still = lacking.replacen("{}", &format!(r#"{{"copy": {copy}}}"#), 1);
            let error = CostTable::parse(&still, NAMES).unwrap_err().to_string();
            assert!(error.contains("no constant copy"), "{copy}: {error}");
        }
    }
}
