//! What changed from one table to another, rate by rate.

use turntile_plan::Costs;
use turntile_plan::costs::Entry;

/// A number of a table before and after a calibration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RateChange {
    /// The operation, as the table names it; `copy` for the copy that all others are shares of.
    pub operation: String,
    /// Of what: a quantity and its value, and where the number is for some alone, their range.
    pub of: String,
    /// Whether the numbers scale rates; otherwise they are GB/s, read and written.
    pub scales: bool,
    /// Before; 1 for what scaled nothing.
    pub before: f64,
    /// After.
    pub after: f64,
}

/// Numbers nearer to each other are the same.
const SAME: f64 = 0.005;

/// What two tables of devices of a kind say otherwise, in GB/s where it is a rate: `copy` is a constant's number, `shares`
/// the operation, if there is one, that says what several threads copy.
pub fn changes(
    before: &Costs,
    after: &Costs,
    copy: usize,
    shares: Option<usize>,
) -> Vec<RateChange> {
    let names = after.names().operations;
    let speed = |costs: &Costs| costs.constant(copy) * 1e-9;
    let mut all = Vec::new();
    let mut tell = |operation: &str, of: String, scales, [before, after]: [f64; 2]| {
        if (after / before - 1.0).abs() >= SAME {
            all.push(RateChange { operation: operation.into(), of, scales, before, after });
        }
    };
    if shares.is_none() {
        tell("copy", String::new(), false, [speed(before), speed(after)]);
    }
    for (which, &name) in names.iter().enumerate() {
        let old = before.entries(which);
        for entry in after.entries(which) {
            let was = match Some(which) == shares {
                // Other numbers of threads may have been measured.
                true => entry.at.map(|(_, at)| before.fraction(which, |_| at)),
                false => old.iter().find(|old| old.place == entry.place).map(|old| old.value),
            };
            let pair = [was.unwrap_or(1.0), entry.value];
            let (scales, operation) =
                (entry.scales, if Some(which) == shares { "copy" } else { name });
            let [old, new] =
                if scales { pair } else { [pair[0] * speed(before), pair[1] * speed(after)] };
            tell(operation, of(&entry), scales, [old, new]);
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
