//! Cost tables: the speed of each operation of a device, relative to a copy of the same bytes.
//!
//! The crate of a device names its operations and the quantities that affect them. The table, a
//! JSON file, has the numbers. An operation is a list of *factors*, applied in order to 1:
//!
//! ```json
//! {"set": [[64, 0.41], [128, 0.70]], "over": "unit_bytes", "from": "moves.csv"}
//! {"times": 0.85, "when": {"short_cycles": [1, 1]}, "from": "barrier.csv"}
//! {"at_most": [[1, 0.12], [2, 0.2]], "over": "word", "from": "sweeps.csv"}
//! ```
//!
//! `set`, `times` and `at_most` are a number, or points over a quantity in ascending order. Between
//! points, the value is interpolated linearly over the logarithm of the quantity, or over the
//! quantity if `"linear": true`. Beyond the ends, it is constant. `when` limits a factor to
//! inclusive ranges of quantities. `from` names the measurement. A constant is a named number.
//!
//! Tables only affect which plan is chosen, never whether a plan is correct.

mod text;

/// Reason why a cost table is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CostTableError {
    /// The text is not the JSON of a cost table.
    #[error("cost table of {device}: {source}")]
    Format {
        /// Device of the table, or `?` if it is not known.
        device: String,
        /// Error of the JSON parser.
        source: serde_json::Error,
    },
    /// The table has an unknown name, lacks a required one, or has an invalid number.
    #[error("cost table of {device}: {what}")]
    Content {
        /// Device of the table.
        device: String,
        /// Description of the error.
        what: String,
    },
}

/// Names of the operations, quantities and constants of a cost table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostSchema {
    /// Operations, all required.
    pub operations: &'static [&'static str],
    /// Quantities over which factors may be defined.
    pub quantities: &'static [&'static str],
    /// Constants, all required.
    pub constants: &'static [&'static str],
}

/// Measurement of one operation, to which cost tables are fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Index of the operation in the schema.
    pub operation: usize,
    /// Values of all quantities, in the order of the schema.
    pub quantities: Vec<f64>,
    /// Measured speed, as a fraction of the copy bandwidth.
    pub fraction: f64,
}

/// Cost table of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTable {
    names: CostSchema,
    device: String,
    about: String,
    constants: Vec<f64>,
    operations: Vec<Vec<Factor>>,
    /// Upper bound of the speed of each operation, as a fraction of the copy bandwidth.
    most: Vec<f64>,
}

/// Factor of an operation: one step of the computation of its speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Rule that combines the factor with the factors before it.
    pub how: FactorOp,
    /// Value by which the rule sets, multiplies or limits the product.
    pub value: Value,
    /// Conditions, all required: index of a quantity and its inclusive range, by ascending index.
    pub when: Vec<(usize, f64, f64)>,
    /// Measurement or reason behind the factor.
    pub from: String,
}

/// Rule that combines a factor with the product of the factors before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorOp {
    /// Replaces the product.
    Set,
    /// Multiplies the product.
    Times,
    /// Limits the product from above.
    AtMost,
}

/// Value of a factor: a number or a curve.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Constant value.
    Number(f64),
    /// Value that depends on a quantity.
    Curve(Curve),
}

/// Piecewise-linear curve over a quantity or its logarithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Index of the quantity.
    pub over: usize,
    /// `true` to interpolate over the quantity, `false` to interpolate over its logarithm.
    pub linear: bool,
    /// Points in ascending order, at least one.
    pub points: Vec<Point>,
}

/// Point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Value of the quantity.
    pub quantity: f64,
    /// Coordinate for interpolation: the quantity or its logarithm.
    pub place: f64,
    /// Value of the curve.
    pub value: f64,
}

impl CostTable {
    /// Returns the name of the table's device.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Returns the description of how the table was made.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Returns the table with its device name and description replaced.
    #[must_use]
    pub fn named(mut self, device: &str, about: &str) -> Self {
        (self.device, self.about) = (device.to_owned(), about.to_owned());
        self
    }

    /// Returns the schema of the table.
    pub fn names(&self) -> CostSchema {
        self.names
    }

    /// Returns the factors that give the speed of operation `which`, in the order in which they
    /// apply.
    pub fn factors(&self, which: usize) -> &[Factor] {
        &self.operations[which]
    }

    /// Returns the table with `factors` as the factors that give the speed of operation `which`.
    #[must_use]
    #[doc(hidden)]
    pub fn with_factors(mut self, which: usize, factors: Vec<Factor>) -> Self {
        self.most[which] = most(&factors);
        self.operations[which] = factors;
        self
    }

    /// Returns the constant at index `which` of the schema.
    pub fn constant(&self, which: usize) -> f64 {
        self.constants[which]
    }

    /// Returns the table with constant `which` of the schema replaced.
    #[must_use]
    pub fn with_constant(mut self, which: usize, value: f64) -> Self {
        self.constants[which] = value;
        self
    }

    /// Returns the speed of operation `which`, as a fraction of the copy bandwidth.
    ///
    /// `quantity` returns the value of the quantity at an index of the schema. It is called only
    /// for quantities that the operation's factors use.
    pub fn fraction(&self, which: usize, quantity: impl Fn(usize) -> f64) -> f64 {
        self.decided(which, quantity).0
    }

    /// Returns the [`fraction`](Self::fraction) of operation `which`, and the index of the factor
    /// that decides it, if any.
    ///
    /// That factor is the last one that set the value or lowered it to a limit, else the first
    /// `times` that applies.
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

    /// Returns an upper bound of the [`fraction`](Self::fraction) of operation `which`.
    pub fn most(&self, which: usize) -> f64 {
        self.most[which]
    }
}

/// Returns an upper bound of the speed that `factors` give when applied in order, for any
/// quantities. Computed from the highest value of each factor.
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
    /// Creates a curve from ascending `(quantity, value)` points; without points, it is 1.
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

    /// Returns the coordinate of a quantity for interpolation.
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
    fn curves_interpolate_over_the_logarithm_unless_linear() {
        let curve = r#"{"set": [[4, 0.2], [16, 0.4]], "over": "bytes", "from": ""}"#;
        let costs = table(curve).unwrap();
        let at = |bytes: f64| costs.fraction(0, |k| [bytes, 0.0][k]);
        assert_eq!([at(1.0), at(4.0), at(99.0)], [0.2, 0.2, 0.4]);
        assert!((at(8.0) - 0.3).abs() < 1e-12 && (at(16.0) - 0.4).abs() < 1e-12);
        assert_eq!(
            costs.fraction(1, |_| 8.0),
            1.0,
            "an operation without factors is as fast as a copy"
        );
        assert_eq!((costs.constant(0), costs.device()), (2.0, "toy"));
        let linear = curve.replace(r#""from""#, r#""linear": true, "from""#);
        assert!((table(&linear).unwrap().fraction(0, |_| 7.0) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn factors_apply_in_order_when_their_conditions_hold() {
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
    fn parse_reports_what_is_wrong_when_a_table_is_invalid() {
        for (factor, expected) in [
            (r#"{"set": 0.8, "times": 1, "from": ""}"#, "exactly one of set, times"),
            (r#"{"set": 0.8, "over": "bytes", "from": ""}"#, "a positive number"),
            (r#"{"set": 0, "from": ""}"#, "a positive number"),
            (r#"{"set": [[4, 1], [2, 1]], "over": "bytes", "from": ""}"#, "must be ascending"),
            (r#"{"set": [], "over": "bytes", "from": ""}"#, "must be ascending"),
            (r#"{"set": [[4, 1]], "over": "words", "from": ""}"#, "unknown quantity words"),
            (r#"{"set": 1, "when": {"long": [0, 1]}, "from": ""}"#, "unknown quantity long"),
            (r#"{"set": 1, "form": ""}"#, "form"),
            // Estimated seconds would be infinite or zero.
            (r#"{"set": 1e-320, "from": ""}"#, "move: the product"),
            (r#"{"set": [[4, 1], [8, 1e-320]], "over": "bytes", "from": ""}"#, "the product"),
            (r#"{"times": 1e-60, "from": ""}, {"times": 1e-60, "from": ""}"#, "the product"),
            (r#"{"times": 1e60, "from": ""}, {"times": 1e60, "from": ""}"#, "the product"),
        ] {
            let error = table(factor).unwrap_err().to_string();
            assert!(error.contains(expected), "{factor}: {error}");
        }
        let incomplete = r#"{"device": "toy", "about": "", "constants": {}, "operations": {}}"#;
        let error = CostTable::parse(incomplete, NAMES).unwrap_err().to_string();
        assert!(error.contains("constant copy is missing"), "{error}");
        // A speed of 0 would be a divisor.
        for copy in ["0", "1e-300", "-1", "1e300"] {
            let invalid = incomplete.replacen("{}", &format!(r#"{{"copy": {copy}}}"#), 1);
            let error = CostTable::parse(&invalid, NAMES).unwrap_err().to_string();
            assert!(error.contains("constant copy is missing"), "{copy}: {error}");
        }
    }
}
