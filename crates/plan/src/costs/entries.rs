//! The numbers of a table, one by one: what changed from one to another.

use super::{Costs, Curve, Factor, How, Names, Value};

/// A number of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
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
        self.operations[which].iter().flat_map(|factor| factor.entries(self.names)).collect()
    }

    /// The same, each with what `other`, a table of the same names, has there: by the factor that does the same, over the same,
    /// where the same is; none where it has none.
    pub fn entries_beside(&self, other: &Costs, which: usize) -> Vec<(Entry, Option<f64>)> {
        let mut others: Vec<&Factor> = other.operations[which].iter().collect();
        let mut all = Vec::new();
        for factor in &self.operations[which] {
            // Of several the first: what other factors there are before it is of no matter.
            let alike = others.iter().position(|other| factor.is_like(other));
            let alike = alike.map(|number| others.remove(number));
            all.extend(factor.entries(self.names).into_iter().map(|entry| {
                let there = |_| entry.at.map_or(0.0, |(_, quantity)| quantity);
                let value = alike.map(|factor| factor.value.at(there));
                (entry, value)
            }));
        }
        all
    }
}

impl Factor {
    fn entries(&self, names: Names) -> Vec<Entry> {
        let names = names.quantities;
        let entry = |at, value| Entry {
            at,
            when: self.when.iter().map(|&(which, from, to)| (names[which], from, to)).collect(),
            scales: self.how == How::Times,
            value,
        };
        match &self.value {
            Value::Number(number) => vec![entry(None, *number)],
            Value::Curve(Curve { over, points, .. }) => points
                .iter()
                .map(|point| entry(Some((names[*over], point.quantity)), point.value))
                .collect(),
        }
    }

    /// Whether it is one that differs in its numbers at most.
    fn is_like(&self, other: &Factor) -> bool {
        let over = |factor: &Factor| match &factor.value {
            Value::Number(_) => None,
            Value::Curve(curve) => Some(curve.over),
        };
        (self.how, over(self), &self.when) == (other.how, over(other), &other.when)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_an_entry() {
        let names =
            Names { operations: &["move"], quantities: &["bytes", "short"], constants: &["copy"] };
        let text = r#"{"device": "toy", "about": "", "constants": {"copy": 1}, "operations": {"move": [
            {"set": [[4, 0.2], [16, 0.4]], "over": "bytes", "from": ""},
            {"times": 0.5, "when": {"short": [1, 1]}, "from": ""}]}}"#;
        let entry = |at, value| Entry { at, when: Vec::new(), scales: false, value };
        let scales = Entry { when: vec![("short", 1.0, 1.0)], scales: true, ..entry(None, 0.5) };
        assert_eq!(
            Costs::parse(text, names).unwrap().entries(0),
            [entry(Some(("bytes", 4.0)), 0.2), entry(Some(("bytes", 16.0)), 0.4), scales,]
        );
    }
}
