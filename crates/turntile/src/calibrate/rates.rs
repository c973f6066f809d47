//! What changed from one table to another, rate by rate.

use turntile_plan::Costs;
use turntile_plan::costs::Entry;

/// A number of a table before and after a calibration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RateChange {
    /// The operation, as the table names it; `copy` for the copy that all others are shares of; a constant's name.
    pub operation: String,
    /// Of what: a quantity and its value, and where the number is for some alone, their range.
    pub of: String,
    /// What the numbers are.
    pub unit: RateUnit,
    /// Before; 1 for what scaled nothing.
    pub before: f64,
    /// After; 1 for what scales nothing now.
    pub after: f64,
}

/// What a number of a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateUnit {
    /// 10^9 bytes a second, read and written.
    GbPerS,
    /// What scales other rates.
    Times,
    /// Microseconds.
    Us,
}

impl RateUnit {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            RateUnit::GbPerS => "GB/s",
            RateUnit::Times => "times",
            RateUnit::Us => "us",
        }
    }
}

/// Numbers of a kind of device's table.
pub struct Kind {
    /// The constant that a copy's speed is.
    pub copy: usize,
    /// The operations that say how fast copies are, and what they are called.
    pub copies: &'static [(usize, &'static str)],
    /// The constants that are seconds.
    pub seconds: &'static [usize],
}

/// Numbers nearer to each other are the same.
const SAME: f64 = 0.005;

/// What two tables of devices of a kind say otherwise; of a share of a copy that is the same nothing, whatever the copy.
pub fn changes(before: &Costs, after: &Costs, kind: &Kind) -> Vec<RateChange> {
    let names = after.names();
    let speed = |costs: &Costs| costs.constant(kind.copy) * 1e-9;
    let mut all = Vec::new();
    let mut tell = |operation: &str, of: String, unit, before: f64, after: f64| {
        if (after / before - 1.0).abs() >= SAME {
            all.push(RateChange { operation: operation.into(), of, unit, before, after });
        }
    };
    for &constant in kind.seconds {
        let us = |costs: &Costs| costs.constant(constant) * 1e6;
        let name = names.constants[constant];
        tell(name, String::new(), RateUnit::Us, us(before), us(after));
    }
    if kind.copies.is_empty() {
        tell("copy", String::new(), RateUnit::GbPerS, speed(before), speed(after));
    }
    for (which, &name) in names.operations.iter().enumerate() {
        for (entry, was) in after.entries_beside(before, which) {
            let (of, value) = (of(&entry), entry.value);
            if let Some((_, name)) = kind.copies.iter().find(|copies| copies.0 == which) {
                // Other points may have been measured.
                let was = entry.at.map_or(1.0, |(_, at)| before.fraction(which, |_| at));
                tell(name, of, RateUnit::GbPerS, was * speed(before), value * speed(after));
                continue;
            }
            let was = was.unwrap_or(1.0);
            if entry.scales {
                tell(name, of, RateUnit::Times, was, value);
            } else if (value / was - 1.0).abs() >= SAME {
                tell(name, of, RateUnit::GbPerS, was * speed(before), value * speed(after));
            }
        }
        for (entry, is) in before.entries_beside(after, which) {
            if entry.scales && is.is_none() {
                tell(name, of(&entry), RateUnit::Times, entry.value, 1.0);
            }
        }
    }
    all
}

/// `unit_bytes 64, short_cycles 1`.
fn of(entry: &Entry) -> String {
    let at = entry.at.map(|(name, at)| format!("{name} {at}"));
    let range = |&(name, from, to): &(&str, f64, f64)| match from == to {
        true => format!("{name} {from}"),
        false => format!("{name} {from:.6} to {to:.6e}"),
    };
    at.into_iter().chain(entry.when.iter().map(range)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_cpu::Host;

    const KIND: Kind = Kind { copy: Host::COPY, copies: &[], seconds: &[] };

    /// A host's table with these factors of `swap` and no others.
    fn table(factors: &str) -> Costs {
        let own = Host::new(1).costs().text();
        let mut table: serde_json::Value = serde_json::from_str(&own).unwrap();
        table["operations"]["swap"] = serde_json::from_str(factors).unwrap();
        Host::costs_from(&table.to_string()).unwrap()
    }

    fn told(before: &str, after: &str) -> Vec<(String, f64, f64)> {
        let all = changes(&table(before), &table(after), &KIND);
        all.into_iter().map(|rate| (rate.of, rate.before, rate.after)).collect()
    }

    #[test]
    fn numbers_of_the_same_are_compared_wherever_they_stand() {
        let set = r#"{"set": 0.5, "from": ""}"#;
        let words = r#"{"times": [[4, 0.9], [8, 0.7]], "over": "elem_bytes", "when": {"turned": [1, 1]}, "from": ""}"#;
        let bytes = r#"{"times": [[64, 2], [256, 4]], "over": "bytes", "from": ""}"#;
        let more = r#"{"times": [[64, 2], [128, 5], [256, 4]], "over": "bytes", "from": ""}"#;
        let both = format!("[{set}, {words}, {bytes}]");
        assert_eq!(told(&both, &format!("[{set}, {bytes}, {words}]")), []);
        // Half-way between two points there was one and a half times the first.
        let point = |before: f64, after: f64| ("bytes 128".to_owned(), before, after);
        assert_eq!(told(&both, &format!("[{set}, {words}, {more}]")), [point(3.0, 5.0)]);
        assert_eq!(told(&format!("[{set}, {words}, {more}]"), &both), []);
        // What comes scaled nothing before, what goes scales nothing now.
        let without = format!("[{set}, {words}]");
        let [short, long] = ["bytes 64", "bytes 256"].map(str::to_owned);
        assert_eq!(told(&without, &both), [(short.clone(), 1.0, 2.0), (long.clone(), 1.0, 4.0)]);
        assert_eq!(told(&both, &without), [(short, 2.0, 1.0), (long, 4.0, 1.0)]);
    }
}
