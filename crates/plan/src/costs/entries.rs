//! The numbers of a table, one by one: what changed from one to another.

use super::{Costs, Factor, How, Value};

/// A number of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The operation's number among the names.
    pub operation: usize,
    /// Number of the factor, and of the point of its curve.
    pub place: [usize; 2],
    /// The quantity that it is over and what that is, of a point of a curve.
    pub at: Option<(&'static str, f64)>,
    /// Quantities and their ranges where it is for some alone.
    pub when: Vec<(&'static str, f64, f64)>,
    /// Whether it scales what the factors before it say; otherwise it is a share of a copy's speed.
    pub scales: bool,
    /// The number.
    pub value: f64,
}

impl Costs {
    /// Every number of operation `which`, in the order in which they count.
    pub fn entries(&self, which: usize) -> Vec<Entry> {
        let names = self.names.quantities;
        let of = |(number, factor): (usize, &Factor)| -> Vec<Entry> {
            let when = factor.when.iter().map(|&(which, from, to)| (names[which], from, to));
            let entry = |point, at, value| Entry {
                operation: which,
                place: [number, point],
                at,
                when: when.clone().collect(),
                scales: factor.how == How::Times,
                value,
            };
            match &factor.value {
                Value::Number(number) => vec![entry(0, None, *number)],
                Value::Curve(curve) => {
                    let points = curve.points.iter().enumerate();
                    let at = |quantity| Some((names[curve.over], quantity));
                    points.map(|(k, point)| entry(k, at(point.quantity), point.value)).collect()
                }
            }
        };
        self.operations[which].iter().enumerate().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Names;

    #[test]
    fn every_number_has_its_place() {
        let names =
            Names { operations: &["move"], quantities: &["bytes", "short"], constants: &["copy"] };
        let text = r#"{"device": "toy", "about": "", "constants": {"copy": 1}, "operations": {"move": [
            {"set": [[4, 0.2], [16, 0.4]], "over": "bytes", "from": ""},
            {"times": 0.5, "when": {"short": [1, 1]}, "from": ""}]}}"#;
        let entry = |place, at, value| Entry {
            operation: 0,
            place,
            at,
            when: Vec::new(),
            scales: false,
            value,
        };
        let scales =
            Entry { when: vec![("short", 1.0, 1.0)], scales: true, ..entry([1, 0], None, 0.5) };
        assert_eq!(
            Costs::parse(text, names).unwrap().entries(0),
            [
                entry([0, 0], Some(("bytes", 4.0)), 0.2),
                entry([0, 1], Some(("bytes", 16.0)), 0.4),
                scales,
            ]
        );
    }
}
